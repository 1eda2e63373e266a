# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from the facts of a preflight: no files, no commands. Roles branch on this and on nothing else."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from ..._config.rules.problem import Problem
from ..system import binary
from ..unit import unit_override
from .host_checks import MANAGER_STATE, state_file_of

SWITCH, RESET, LOOK = "switch", "reset", "look"
"""What the preflight is for: a configuration that will be assigned, the removal of this collection, or nothing."""


class Terms(NamedTuple):
    """What the caller wants and allows. `config_dir`: folder of the store. `state_files`: `keep` or `switch`."""

    config_dir: str = "/var/lib/kubelet-config"
    state_files: str = "keep"


DEFAULTS = Terms()


class Decisions(NamedTuple):
    """The decisions, as the module returns them."""

    reasons: list[str]
    """Why nothing may be written; empty if the switch or reset may begin."""
    warnings: list[str]
    """What the operator should know and what does not prevent the switch or reset."""
    state_files: list[str]
    """Paths of the manager state files that must be moved away before the kubelet starts with another policy."""
    reads_store: bool
    """Whether the kubelet reads its configuration from the store already, so that the local one is stored."""


def decide(
    purpose: str,
    terms: Terms,
    kubelet: Mapping[str, Any],
    host: Mapping[str, Any],
    check: Mapping[str, Any] | None,
    problems: Sequence[Problem],
) -> Decisions:
    """Return the decisions from what the module returns as `kubelet`, `host` and `check`, and from the problems."""
    conflicts = [problem for problem in problems if problem.rule == MANAGER_STATE]
    others = [f"{problem.path}: {problem.message}" for problem in problems if problem.rule != MANAGER_STATE]
    reasons = [*_unit(purpose, kubelet), *_binary(check)]
    switched: list[str] = []
    if terms.state_files == "switch":
        switched = [state_file_of(problem.path, host["state_files"]) for problem in conflicts]
    elif purpose != LOOK:
        verb = "reset it" if purpose == RESET else "switch it"
        remedy = f"Drain the node, then {verb} with kubelet_config_state_files: switch"
        reasons += [f"{problem.message}. {remedy}" for problem in conflicts]
    return Decisions(
        reasons,
        [] if purpose == LOOK else others,
        switched,
        (kubelet["config"] or "").startswith(f"{terms.config_dir.rstrip('/')}/"),
    )


def _unit(purpose: str, kubelet: Mapping[str, Any]) -> list[str]:
    """Return why the unit cannot be pointed at the store. A reset only removes what points it there."""
    return [kubelet["reason"]] if purpose != RESET and kubelet["form"] == unit_override.REFUSED else []


def _binary(check: Mapping[str, Any] | None) -> list[str]:
    """Return why the node's kubelet refuses the configuration."""
    return list(check["messages"]) if check and check["verdict"] == binary.INVALID else []
