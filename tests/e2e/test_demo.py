# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo tells the truth: it shows the main job, notices when it goes wrong, and leaves things as they were."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.support.ansible import ROOT, Ansible
from tools.demo import Demo, DemoError

COMMAND = [sys.executable, str(ROOT / "tools" / "demo.py")]
PROGRAMS = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def test_demo_on_a_lab_that_is_up(lab: Lab, fleet: tuple[str, ...], ansible: Ansible) -> None:
    """All steps, with the values and the error in the output; the lab stays up."""
    done = subprocess.run(
        COMMAND,
        check=False,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env={**ansible.environment, "PATH": PROGRAMS},
    )
    assert done.returncode == 0, done.stdout
    for text in (
        "$ ansible-playbook -i inventory livenodes.kubelet.plan -e kubelet_config_hosts=workers_a",
        "maxPods: 110 -> 80",
        "Untouched hosts: n3",
        "kubeAPIQPS (--kube-api-qps) -1 must not be a negative number",
        '1 node (n3): evictionHard["memory.available"]: quantities must match',
        "kill -9",
        "config: deadly",
        "config: the good one; it answers",
        '"error": "the kubelet ended 2 times"',
        "went back to last-known-good",
        "to use /api/v1/namespaces/kube-system/configmaps/livenodes-kubelet-",
        "stays up",
    ):
        assert text in " ".join(done.stdout.split()), done.stdout
    assert "\033" not in done.stdout
    assert_given_back(lab)


def test_demo_notices_what_goes_other_than_it_should(
    lab: Lab, tmp_path: Path, ansible: Ansible, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A playbook that succeeds where it must fail, and the reverse."""
    monkeypatch.setenv("PATH", PROGRAMS)
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", ansible.environment["ANSIBLE_COLLECTIONS_PATH"])
    demo = Demo(lab, tmp_path / "demo")
    demo.playbook("plan", "-e", "kubelet_config_hosts=n1")
    with pytest.raises(DemoError, match="plan should have failed and exited 0"):
        demo.playbook("plan", "-e", "kubelet_config_hosts=n1", fails=True)
    demo.playbook("plan", "-e", "kubelet_config_hosts=nobody", fails=True)
    with pytest.raises(DemoError, match="plan should have succeeded and exited"):
        demo.playbook("plan", "-e", "kubelet_config_hosts=nobody")


# The demo with a lab that it believes to have brought up itself: the tests' own, so that this takes seconds.
OWN = """
import os, sys
sys.path.insert(0, os.getcwd())
from tests.lab.console import LabError, say
from tools import demo

class Lab(demo.Lab):
    known = []

    @classmethod
    def attach(cls):
        if not cls.known:
            raise LabError("no lab is up")

    @classmethod
    def up(cls, nodes):
        cls.known.append(nodes)
        return attach()

    @classmethod
    def down(cls):
        open(sys.argv[1], "w").write("taken down")

attach, demo.Lab = demo.Lab.attach, Lab
sys.exit(demo.main())
"""


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_demo_takes_its_own_lab_down_when_stopped(
    fleet: tuple[str, ...], ansible: Ansible, tmp_path: Path, stop: signal.Signals
) -> None:
    """Stopped in the middle of a playbook, by Ctrl-C, by kill, or because the terminal is gone."""
    mark = tmp_path / "down"
    with subprocess.Popen(
        [sys.executable, "-c", OWN, str(mark)],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        env={**ansible.environment, "PATH": PROGRAMS},
        start_new_session=True,
    ) as process:
        assert process.stdout
        said = []
        for line in process.stdout:
            said.append(line)
            if "livenodes.kubelet.plan" in line:
                time.sleep(1)
                # As a terminal does: to all of the foreground's processes.
                os.killpg(process.pid, stop)
        assert process.wait(60) == 130, "".join(said)
    assert mark.read_text() == "taken down", "".join(said)


NODE_PART = """
import os, pathlib, signal, sys
sys.path.insert(0, os.getcwd())
from tools import demo

signal.signal(signal.SIGTERM, demo.end)
shown = demo.Demo(demo.Lab.attach(), pathlib.Path(sys.argv[1]))
(shown.inventory / "host_vars/n3.yml").write_text(demo.EXCEPTION)
with shown.without_dynamic_config() as node:
    shown.on_the_node(node)
"""


def test_demo_gives_the_node_back_when_stopped(
    lab: Lab, fleet: tuple[str, ...], ansible: Ansible, tmp_path: Path
) -> None:
    """Stopped while Ansible is dead and the kubelet too: store, guard, ConfigMap and the missing flag are no more."""
    with subprocess.Popen(
        [sys.executable, "-c", NODE_PART, str(tmp_path / "demo")],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        env={**ansible.environment, "PATH": PROGRAMS},
    ) as process:
        assert process.stdout
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith("$ kill -9"):
                process.terminate()
        assert process.wait(120), "".join(said)
    assert_given_back(lab)


def assert_given_back(lab: Lab) -> None:
    """Nothing of the demo is left on n3."""
    assert lab.is_whole()
    lab.wait_listening(0)
    assert lab.node("n3").run("ls -d /var/lib/kubelet-config", check=False).startswith("ls: cannot access")
    assert lab.kubectl("get", "configmap", "-n", "kube-system", "deadly", "--ignore-not-found") == ""
