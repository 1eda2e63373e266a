# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs as AWX runs them: ansible-runner, a private data dir, an inventory script, answers to a survey, and at the end
the removal of all processes, as with the job's container.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

from tests.support.plays.ansible import ONE_OUTPUT, ROOT, Ansible, inventory

PROJECT = ROOT / "playbooks/awx/project"
# AWX sets this for every job.
MARK = "AWX_PRIVATE_DATA_DIR"
# The runner looks up ansible-playbook by name.
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


@dataclasses.dataclass
class Job:
    """What AWX knows about a finished job. `artifacts`: the set_stats data for the next job."""

    code: int
    output: str
    events: list[dict[str, t.Any]]

    @property
    def artifacts(self) -> dict[str, t.Any]:
        """Return the artifacts of the event that ends a playbook; empty when the playbook did not finish."""
        return next(
            (
                event["event_data"].get("artifact_data", {})
                for event in self.events
                if event["event"] == "playbook_on_stats"
            ),
            {},
        )

    def result(self, task: str) -> dict[str, t.Any]:
        """Return the result of a task on the first host."""
        return next(
            event["event_data"]["res"]
            for event in self.events
            if event["event"] == "runner_on_ok" and event["event_data"]["task"] == task
        )


def answers(*nodes: str) -> dict[str, t.Any]:
    """Return answers for a rollout to these nodes: text, integer, multiple choice and multiselect, as surveys have."""
    return {
        "kubelet_config_hosts": list(nodes),
        "kubelet_config_allow_effect": "disrupt",
        "kubelet_config_allow_invalid": "false",
        "kubelet_config_kubeadm": "ignore",
        "kubelet_config_serial": "1,50%",
        "kubelet_config_max_unavailable": "100%",
        "kubelet_config_max_failed": 0,
        "kubelet_config_control_plane": "last",
        "kubelet_config_unready_first": "false",
        "kubelet_config_soak_seconds": 2,
        "kubelet_config_allow_pod_loss": "true",
        "kubelet_config_drain": "never",
        "kubelet_config_drain_timeout": 60,
        "kubelet_config_drain_emptydir": "false",
        "kubelet_config_drain_force": "true",
        "kubelet_config_wait_timeout": 120,
        "kubelet_config_pause": "false",
        "kubelet_config_lease_seconds": 5,
    }


class Controller:
    """Launches jobs and numbers them from 1."""

    def __init__(self, ansible: Ansible) -> None:
        self._ansible = ansible
        self._count = 0

    def launch(
        self, playbook: str, answers: dict[str, t.Any], stop: signal.Signals | None = None, at: str = "", **more: t.Any
    ) -> Job:
        """Run a playbook of the project. `more` are variables that AWX adds.

        `stop`: send this signal to the runner when a task whose name contains `at` begins. Its children end with it, as
        they do in AWX's container.
        """
        self._count += 1
        place = self._ansible.home / f"job-{self._count}"
        self._prepare(place, {**answers, "awx_job_id": self._count, "awx_user_name": "admin", **more})
        command = [sys.executable, "-m", "ansible_runner", "run", str(place), "-p", playbook, "-i", "job"]
        variables = {**self._ansible.environment, MARK: str(place), "PATH": PATH, "PYTHONUNBUFFERED": "1"}
        with subprocess.Popen(command, **ONE_OUTPUT, start_new_session=True, env=variables) as process:
            try:
                output = self._follow(process, stop, at)
                process.wait(timeout=600)
            finally:
                end(place)
        return Job(process.returncode, output, self._events(place))

    def _prepare(self, place: Path, variables: dict[str, t.Any]) -> None:
        shutil.copytree(PROJECT, place / "project")
        (place / "env").mkdir()
        (place / "env/extravars").write_text(json.dumps(variables))
        (place / "env/settings").write_text(json.dumps({"pexpect_timeout": 1}))
        hosts = inventory(self._ansible.environment, self._ansible.inventory)
        assert hosts.returncode == 0, hosts.stderr
        (place / "inventory").mkdir()
        script = place / "inventory/hosts"
        script.write_text(f"#!/usr/bin/env python3\nprint({hosts.stdout!r})\n")
        script.chmod(0o700)

    @staticmethod
    def _follow(process: subprocess.Popen[str], stop: signal.Signals | None, at: str) -> str:
        output, stopped = [], False
        for line in process.stdout or ():
            output.append(line)
            if stop and not stopped and line.startswith(("TASK [", "RUNNING HANDLER [")) and at in line:
                os.killpg(process.pid, stop)
                stopped = True
                if stop == signal.SIGKILL:
                    break
        assert stopped == bool(stop), f"no task {at} in\n" + "".join(output)
        return "".join(output)

    @staticmethod
    def _events(place: Path) -> list[dict[str, t.Any]]:
        found = []
        for path in (place / "artifacts/job/job_events").glob("*.json"):
            # What was being written when the job ended is no event, nor is what the runner had not taken up.
            with contextlib.suppress(ValueError):
                found.append(json.loads(path.read_text()))
        found = [event for event in found if "counter" in event]
        return sorted(found, key=lambda event: event["counter"])


def end(place: Path) -> None:
    """Kill the remaining processes of a job, as the end of its container does.

    Ansible's workers have their own sessions and survive the runner.
    """
    word = f"{MARK}={place}".encode()
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if word in path.read_bytes().split(b"\0"):
                os.kill(int(path.parent.name), signal.SIGKILL)
