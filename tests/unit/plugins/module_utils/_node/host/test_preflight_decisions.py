# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import WARNING, Problem
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host.preflight_decisions import (
    DEFAULTS,
    LOOK,
    RESET,
    SWITCH,
    Terms,
    decide,
)

CPU = "/var/lib/kubelet/cpu_manager_state"
KUBELET: dict[str, t.Any] = {"form": "kubeadm", "reason": "", "config": "/var/lib/kubelet/config.yaml"}
HOST: dict[str, t.Any] = {"state_files": {"cpu": {"path": CPU, "policy": "none"}, "memory": None}}
POLICY = Problem(WARNING, "cpuManagerPolicy", f"{CPU} is for the policy none", "Drain.", "manager-state")
DRIVER = Problem(WARNING, "cgroupDriver", "the runtime uses systemd", "Set it.", "cgroup-driver")
VALID = {"verdict": "valid", "messages": [], "unknown_fields": []}
INVALID = {"verdict": "invalid", "messages": ["maxPods is negative", "so is podsPerCore"], "unknown_fields": []}


def decided(purpose: str = SWITCH, terms: Terms = DEFAULTS, **changes: t.Any) -> t.Any:
    given = {"kubelet": {}, "host": HOST, "check": VALID if purpose == SWITCH else None, "problems": [], **changes}
    return decide(purpose, terms, **{**given, "kubelet": {**KUBELET, **given["kubelet"]}})


def test_a_healthy_node_is_switched_and_reset() -> None:
    for purpose in (SWITCH, RESET, LOOK):
        assert decided(purpose) == ([], [], [], False)


@pytest.mark.parametrize(
    ("purpose", "changes", "reasons"),
    [
        (SWITCH, {"kubelet": {"form": "refused", "reason": "no unit. Add one."}}, ["no unit. Add one."]),
        (LOOK, {"kubelet": {"form": "refused", "reason": "no unit. Add one."}}, ["no unit. Add one."]),
        (RESET, {"kubelet": {"form": "refused", "reason": "no unit. Add one."}}, []),
        (SWITCH, {"check": INVALID}, INVALID["messages"]),
        (SWITCH, {"problems": [POLICY]}, [f"{CPU} is for the policy none. Drain the node, then switch it"]),
        (RESET, {"problems": [POLICY]}, [f"{CPU} is for the policy none. Drain the node, then reset it"]),
        (LOOK, {"problems": [POLICY]}, []),
    ],
)
def test_what_is_refused(purpose: str, changes: dict[str, t.Any], reasons: list[str]) -> None:
    found = decided(purpose, **changes)
    assert [reason[: len(start)] for reason, start in zip(found.reasons, reasons)] == reasons
    assert len(found.reasons) == len(reasons) and found.warnings == []


@pytest.mark.parametrize(("purpose", "warned"), [(SWITCH, 1), (RESET, 1), (LOOK, 0)])
def test_other_problems_are_warnings(purpose: str, warned: int) -> None:
    found = decided(purpose, problems=[DRIVER])
    assert (found.reasons, found.warnings) == ([], ["cgroupDriver: the runtime uses systemd"] * warned)


@pytest.mark.parametrize("purpose", [SWITCH, RESET])
def test_a_state_file_is_switched_on_request(purpose: str) -> None:
    assert decided(purpose, Terms(state_files="switch"), problems=[POLICY, DRIVER])[0:3:2] == ([], [CPU])
    assert decided(purpose, Terms(state_files="switch")).state_files == []


@pytest.mark.parametrize(
    ("config", "folder", "reads"),
    [
        ("/var/lib/kubelet-config/active/kubelet", "/var/lib/kubelet-config", True),
        ("/var/lib/kubelet-config/active/kubelet", "/var/lib/kubelet-config/", True),
        ("/var/lib/kubelet-configured/kubelet", "/var/lib/kubelet-config", False),
        (None, "/var/lib/kubelet-config", False),
    ],
)
def test_whether_the_kubelet_reads_the_store(config: str | None, folder: str, reads: bool) -> None:
    assert decided(terms=Terms(folder), kubelet={"config": config}).reads_store is reads
