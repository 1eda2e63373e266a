# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The labs around the gates that need one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.lab import releases
from tools.gates import process
from tools.gates.outcome import Outcome

LAB = [sys.executable, "-m", "tests.lab"]
DOWN = 180
RECORDED = " and ".join(sorted({path.stem.rpartition("-")[2] for path in process.ROOT.glob("tests/facts/*-v*.json")}))
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


class Lab:
    """A lab around the gates that need it: its name here, the options of `up`, and its names in the environment."""

    def __init__(
        self, name: str, options: list[str], environment: dict[str, str], kubernetes: tuple[str, ...] = ()
    ) -> None:
        self.name = name
        self.kubernetes = kubernetes
        self.options = [*options, *(("--kubernetes", *kubernetes) if kubernetes else ())]
        self.environment = environment
        self.ours = False
        # Why no gate can run on it: None before its first gate, empty when all is well.
        self.trouble: str | None = None

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
        title = f"{self.name} up"
        status = subprocess.run(
            [*LAB, "status"],
            cwd=process.ROOT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env={**os.environ, **self.environment},
        )
        if status.returncode == 0:
            return Outcome(title, "passed", reason="was up, stays up", passed=1)
        self.ours = True
        return self._run(title, ["up", *self.options], limit, leave=True)

    def down(self) -> Outcome | None:
        """Take the lab down if this run brought it up; None if not. Raises Interrupted."""
        if not self.ours:
            return None
        self.ours = False
        outcome = self._run(f"{self.name} down", ["down"], DOWN)
        if outcome.failed:
            names = " ".join(f"{name}={value}" for name, value in self.environment.items())
            outcome.reason = f"parts of the lab may be left: `{f'{names} make lab-down'.strip()}`"
        return outcome

    def _run(self, title: str, words: list[str], limit: float, leave: bool = False) -> Outcome:
        status, seconds, log = process.run(title, [*LAB, *words], limit, leave=leave, environment=self.environment)
        if status == 0:
            return Outcome(title, "passed", seconds, passed=1)
        process.show(log)
        reason = f"not done within {limit:.0f} s" if status is None else f"exit status {status}"
        return Outcome(title, "failed", seconds, reason, failed=1, cases=process.last_lines(log))


def labs() -> dict[str, Lab]:
    """Return the labs by the lane of the gates that need them."""
    return {
        "lab": Lab("lab", ["--nodes", "3"], {}),
        "lab_static": Lab("static lab", ["--nodes", "2", "--no-dynamic"], _names(2)),
        "lab_second": Lab("second lab", ["--nodes", "3"], _names(4)),
        "lab_guard": Lab("guard lab", ["--nodes", "2", "--no-dynamic"], _names(5)),
        "lab_fleet": Lab("fleet lab", ["--nodes", "7", "--no-dynamic"], _names(3)),
        "lab_modern": Lab("modern lab", ["--nodes", "3", "--no-dynamic"], _names(6), releases.UPGRADED),
        "lab_node_modern": Lab("modern node lab", ["--nodes", "2", "--no-dynamic"], _names(7), releases.NODE_SIDE),
    }


def _names(number: int) -> dict[str, str]:
    """Return the names of a further lab, unless the environment has other names for it."""
    default = {
        "DIR": f"/var/lib/livenodes-kubelet-lab{number}",
        "BRIDGE": f"lnk-br{number - 1}",
        "SUBNET": f"10.{210 + number}.0.0/24",
    }
    return {
        f"LIVENODES_LAB_{part}": os.environ.get(f"LIVENODES_LAB{number}_{part}", name) for part, name in default.items()
    }
