# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo on real kubelets: it shows what happens, fails when a step does not end as expected, restores the lab."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.support.plays.ansible import ROOT, Ansible
from tools.demo.real.steps import Demo
from tools.demo.steps import DemoError

COMMAND = [sys.executable, "-m", "tools.demo"]
PROGRAMS = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


@pytest.mark.long
def test_demo_on_a_lab_that_is_up(lab: Lab, fleet: tuple[str, ...], ansible: Ansible) -> None:
    """Every step runs, the output contains the values and the error, and the lab stays up."""
    done = subprocess.run(
        COMMAND,
        check=False,
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        env={**ansible.environment, "PATH": PROGRAMS, "LAB": "real"},
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
        "config: good; the kubelet answers",
        '"error": "the kubelet refused the configuration: ',
        "reverted to last-known-good",
        "to use /api/v1/namespaces/kube-system/configmaps/livenodes-kubelet-",
        "keeps running",
    ):
        assert text in " ".join(done.stdout.split()), done.stdout
    assert "\033" not in done.stdout
    assert_restored(lab)


def test_demo_fails_when_a_playbook_does_not_end_as_expected(
    lab: Lab, tmp_path: Path, ansible: Ansible, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A playbook that succeeds where the demo expects a failure, and the reverse."""
    monkeypatch.setenv("PATH", PROGRAMS)
    monkeypatch.setenv("ANSIBLE_COLLECTIONS_PATH", ansible.environment["ANSIBLE_COLLECTIONS_PATH"])
    demo = Demo(lab, tmp_path / "demo")
    with pytest.raises(DemoError, match="plan should have failed and exited 0"):
        demo.playbook("plan", "-e", "kubelet_config_hosts=n1", fails=True)
    with pytest.raises(DemoError, match="plan should have succeeded and exited"):
        demo.playbook("plan", "-e", "kubelet_config_hosts=absent")


# Makes the demo treat the tests' lab as one that it started: this takes seconds instead of a whole start.
OWN = """
import os, sys
sys.path.insert(0, os.getcwd())
from tests.lab.console import LabError
from tools.demo.real import run as demo

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
        open(sys.argv[1], "w").write("removed")

attach, demo.Lab = demo.Lab.attach, Lab
sys.exit(demo.main())
"""


@pytest.mark.parametrize(
    "stop", [signal.SIGINT, *(pytest.param(stop, marks=pytest.mark.long) for stop in (signal.SIGTERM, signal.SIGHUP))]
)
def test_interrupted_demo_removes_its_own_lab(
    fleet: tuple[str, ...], ansible: Ansible, tmp_path: Path, stop: signal.Signals
) -> None:
    """Interrupted during a playbook: by Ctrl-C, by kill, or because the terminal closed."""
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
        output = []
        for line in process.stdout:
            output.append(line)
            if "livenodes.kubelet.plan" in line:
                time.sleep(1)
                # A terminal signals all processes in the foreground, too.
                os.killpg(process.pid, stop)
        assert process.wait(60) == 130, "".join(output)
    assert mark.read_text() == "removed", "".join(output)


NODE_PART = """
import os, pathlib, signal, sys
sys.path.insert(0, os.getcwd())
from tests.lab.lab import Lab
from tools.demo.real import checkpoint, steps
from tools.demo.steps import end

signal.signal(signal.SIGTERM, end)
demo = steps.Demo(Lab.attach(), pathlib.Path(sys.argv[1]))
(demo.inventory / "host_vars/n3.yml").write_text(steps.EXCEPTION)
with checkpoint.without_dynamic_config(demo) as node:
    checkpoint.run(demo, node)
"""


@pytest.mark.long
def test_interrupted_demo_restores_the_node(lab: Lab, fleet: tuple[str, ...], ansible: Ansible, tmp_path: Path) -> None:
    """Interrupted with Ansible and the kubelet dead: store, guard and ConfigMap are removed, the flag is restored."""
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
        output = []
        for line in process.stdout:
            output.append(line)
            if line.startswith("$ kill -9"):
                process.terminate()
        assert process.wait(120), "".join(output)
    assert_restored(lab)


def assert_restored(lab: Lab) -> None:
    """Nothing of the demo is left on n3 or in the cluster."""
    assert lab.is_whole()
    lab.wait_listening(0)
    assert lab.node("n3").run("ls -d /var/lib/kubelet-config", check=False).startswith("ls: cannot access")
    assert lab.kubectl("get", "configmap", "-n", "kube-system", "deadly", "--ignore-not-found") == ""
