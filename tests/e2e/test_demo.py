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
    """All steps in less than 3 minutes, with the values and the error in the output; the lab stays up."""
    started = time.monotonic()
    done = subprocess.run(COMMAND, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          env={**ansible.environment, "PATH": PROGRAMS})
    assert done.returncode == 0, done.stdout
    assert time.monotonic() - started < 180
    for text in ("$ ansible-playbook -i inventory livenodes.kubelet.plan -e kubelet_config_hosts=workers_a", "maxPods: 110 -> 80", "Untouched hosts: n3",
                 "kubeAPIQPS (--kube-api-qps) -1 must not be a negative number", "stays up"):
        assert text in " ".join(done.stdout.split()), done.stdout
    assert "\033" not in done.stdout
    assert lab.is_whole()


def test_demo_notices_what_goes_other_than_it_should(lab: Lab, tmp_path: Path, ansible: Ansible, monkeypatch: pytest.MonkeyPatch) -> None:
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


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGHUP], ids=["Ctrl-C", "terminal gone"])
def test_demo_takes_its_own_lab_down_when_stopped(lab: Lab, ansible: Ansible, tmp_path: Path, stop: signal.Signals) -> None:
    """A lab beside the tests' own, brought up by the demo, is gone after it was stopped in the middle."""
    other = tmp_path / "lab"
    place = {"LIVENODES_LAB_DIR": str(other), "LIVENODES_LAB_BRIDGE": "lnk-demo", "LIVENODES_LAB_SUBNET": "10.213.7.0/24"}
    environment = {**ansible.environment, "PATH": PROGRAMS, **place}
    with subprocess.Popen(COMMAND, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=environment,
                          start_new_session=True) as process:
        assert process.stdout
        said = []
        for line in process.stdout:
            said.append(line)
            if "livenodes.kubelet.rollout" in line:
                time.sleep(3)
                # As a terminal does: to all of the foreground's processes.
                os.killpg(process.pid, stop)
        assert process.wait(60) == 130, "".join(said)
    assert not other.exists()
    assert "lnk-demo" not in subprocess.run(["ip", "link"], check=True, capture_output=True, text=True).stdout
    assert lab.is_whole()
