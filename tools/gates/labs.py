# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab around the gates that need one."""

from __future__ import annotations

import dataclasses
import os
import shutil
import sys
from pathlib import Path

from tests.lab import releases
from tools.collection_tree import ROOT
from tools.gates.steps import Outcome, run, run_step

LAB = [sys.executable, "-m", "tests.lab"]
DOWN = 180
RECORDED = " and ".join(sorted({path.stem.rpartition("-")[2] for path in ROOT.glob("tests/facts/*-v*.json")}))
INSTEAD = f"instead, the gate unit compares rules and the model of drop-ins with the answers recorded from {RECORDED}"


def no_lab_here() -> str:
    """Return why this machine cannot run the lab, or an empty string."""
    if os.environ.get("LAB") == "skip":
        return "LAB=skip"
    if not Path("/etc/debian_version").exists():
        return "the lab consists of Debian's packages and this is not Debian"
    if os.geteuid() != 0:
        return "the lab needs root (network namespaces, systemd containers)"
    if not shutil.which("apt-get"):
        return "no apt-get"
    return ""


@dataclasses.dataclass
class Lab:
    """The lab of one lane: its name here, its number in the environment, options of `up`, and versions of Kubernetes.

    `ours`: this run brought it up. `trouble`: why no gate can run on it, None before its first gate, empty if all is
    well.
    """

    name: str
    number: int
    options: list[str]
    kubernetes: tuple[str, ...] = ()
    ours: bool = False
    trouble: str | None = None

    def environment(self) -> dict[str, str]:
        """Return the names of a further lab, by default others than those of the first."""
        if self.number == 1:
            return {}
        given = f"LIVENODES_LAB{self.number}"
        return {
            "LIVENODES_LAB_DIR": os.environ.get(f"{given}_DIR", f"/var/lib/livenodes-kubelet-lab{self.number}"),
            "LIVENODES_LAB_BRIDGE": os.environ.get(f"{given}_BRIDGE", f"lnk-br{self.number - 1}"),
            "LIVENODES_LAB_SUBNET": os.environ.get(f"{given}_SUBNET", f"10.{210 + self.number}.0.0/24"),
        }

    def obstacle(self) -> str:
        """Return why this lab cannot run here, or an empty string."""
        absent = releases.missing(self.kubernetes)
        return no_lab_here() or (absent and f"{absent}; {INSTEAD}")

    def is_required(self) -> bool:
        """Return whether it is a failure to leave out the gates of this lab."""
        variable = "LAB_KUBERNETES" if releases.missing(self.kubernetes) else "LAB"
        return os.environ.get(variable) == "require"

    def up(self, limit: float) -> Outcome:
        """Bring the lab up, unless it is up. Raises Interrupted."""
        title, environment = f"{self.name} up", self.environment()
        status, _seconds, _log = run(f"{self.name} status", [*LAB, "status"], limit, environment=environment)
        if status == 0:
            return Outcome(title, "passed", reason="was up, stays up", passed=1)
        self.ours = True
        command = [*LAB, "up", *self.options]
        if self.kubernetes:
            command += ["--kubernetes", *self.kubernetes]
        return run_step(title, command, limit, leave=True, environment=environment)

    def down(self) -> Outcome | None:
        """Take the lab down if this run brought it up; None if not. Raises Interrupted."""
        if not self.ours:
            return None
        self.ours = False
        environment = self.environment()
        outcome = run_step(f"{self.name} down", [*LAB, "down"], DOWN, environment=environment)
        if outcome.failed:
            words = [*(f"{name}={value}" for name, value in environment.items()), "make lab-down"]
            outcome.reason = f"parts of the lab may be left: `{' '.join(words)}`"
        return outcome
