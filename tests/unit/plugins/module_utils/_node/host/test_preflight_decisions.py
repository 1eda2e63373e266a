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
    Answers,
    Findings,
    Terms,
    decide,
    masked,
    waiting,
    waiting_edits,
)

CPU = "/var/lib/kubelet/cpu_manager_state"
KUBELET: dict[str, t.Any] = {
    "unit": "kubelet.service",
    "form": "kubeadm",
    "reason": "",
    "config": "/var/lib/kubelet/config.yaml",
    "local_config": "/etc/kubelet.yaml",
}
HOST: dict[str, t.Any] = {"state_files": {"cpu": {"path": CPU, "policy": "none"}, "memory": None}}
POLICY = Problem(WARNING, "cpuManagerPolicy", f"{CPU} is for the policy none", "Drain.", "manager-state")
DRIVER = Problem(WARNING, "cgroupDriver", "the runtime uses systemd", "Set it.", "cgroup-driver")
VALID = {"verdict": "valid", "messages": [], "unknown_fields": []}
UNCHECKED = {"verdict": "not checked", "messages": ["systemd provides no sandbox"], "unknown_fields": []}
IGNORED = {"verdict": "valid", "messages": [], "unknown_fields": ["maxPodz", "memorySwap"]}
UNNAMED = {"verdict": "valid", "messages": ["the kubelet ignores unknown fields"], "unknown_fields": []}
INVALID = {"verdict": "invalid", "messages": ["maxPods is negative", "so is podsPerCore"], "unknown_fields": []}


def decided(purpose: str = SWITCH, terms: Terms = DEFAULTS, **changes: t.Any) -> t.Any:
    given = {"kubelet": {}, "host": HOST, "check": VALID if purpose == SWITCH else None, "problems": [], **changes}
    answers = Answers(**{name: given.pop(name) for name in Answers._fields if name in given})
    return decide(purpose, terms, **{**given, "kubelet": {**KUBELET, **given["kubelet"]}, "answers": answers})


@pytest.mark.parametrize(
    ("purpose", "changes", "reasons"),
    [
        (SWITCH, {"kubelet": {"form": "refused", "reason": "no unit. Add one."}}, ["no unit. Add one."]),
        (LOOK, {"kubelet": {"form": "refused", "reason": "no unit. Add one."}}, ["no unit. Add one."]),
        (RESET, {"kubelet": {"form": "refused", "reason": "no unit. Add one."}}, []),
        (SWITCH, {"check": INVALID}, INVALID["messages"]),
        (SWITCH, {"check": UNCHECKED}, ["the kubelet binary did not check the configuration: systemd provides no"]),
        (SWITCH, {"check": IGNORED}, ["this kubelet does not know maxPodz, memorySwap and would ignore"]),
        (
            SWITCH,
            {"check": IGNORED, "found": Findings(ignored=["memorySwap"])},
            ["this kubelet does not know maxPodz and"],
        ),
        (SWITCH, {"check": IGNORED, "found": Findings(ignored=["memorySwap", "maxPodz"])}, []),
        (SWITCH, {"check": UNNAMED}, ["the kubelet ignores unknown fields"]),
        (SWITCH, {"edits": ["+ --event-qps=7"]}, ["edits of kubelet.service wait for a restart: + --event-qps=7."]),
        (LOOK, {"edits": ["+ --event-qps=7"]}, ["edits of kubelet.service wait for a restart: + --event-qps=7."]),
        (SWITCH, {"found": Findings(["a is absent"], ["b is unsure"])}, ["a is absent"]),
        (SWITCH, {"problems": [POLICY]}, [f"{CPU} is for the policy none. Drain the node, then switch it"]),
        (RESET, {"problems": [POLICY]}, [f"{CPU} is for the policy none. Drain the node, then reset it"]),
        (LOOK, {"problems": [POLICY]}, []),
        (RESET, {"check": INVALID}, ["the kubelet binary refuses /etc/kubelet.yaml, the node's own file: maxPods is"]),
        (RESET, {"own_unreadable": "No such"}, ["/etc/kubelet.yaml, the node's own file: No such. Restore it"]),
        (RESET, {"check": IGNORED}, []),
        (RESET, {"kubelet": {"local_config": None}}, []),
    ],
)
@pytest.mark.fault(case=42)
def test_what_is_refused(purpose: str, changes: dict[str, t.Any], reasons: list[str]) -> None:
    found = decided(purpose, **changes)
    assert [reason[: len(start)] for reason, start in zip(found.reasons, reasons)] == reasons
    assert len(found.reasons) == len(reasons)


@pytest.mark.parametrize("purpose", [SWITCH, RESET, LOOK])
def test_a_healthy_node_is_not_refused_but_the_host_of_another_one_is(purpose: str) -> None:
    assert decided(purpose) == ([], [], [], False, True)
    found = decided(purpose, terms=Terms(allow_offline_guard=True), elsewhere="this is the host of the node n2")
    assert found.reasons == ["this is the host of the node n2"]


@pytest.mark.parametrize(("purpose", "warned"), [(SWITCH, 1), (RESET, 1), (LOOK, 0)])
def test_other_problems_are_warnings(purpose: str, warned: int) -> None:
    found = decided(purpose, problems=[DRIVER])
    assert (found.reasons, found.warnings) == ([], ["cgroupDriver: the runtime uses systemd"] * warned)


@pytest.mark.parametrize(
    ("purpose", "terms", "changes", "warning"),
    [
        (SWITCH, Terms(allow_unchecked=True), {"check": UNCHECKED}, "the kubelet binary did not check"),
        (SWITCH, Terms(allow_pending_edits=True), {"edits": ["+ --v=2"]}, "edits of kubelet.service wait"),
        (RESET, DEFAULTS, {"edits": ["+ --v=2"]}, "edits of kubelet.service wait"),
        (RESET, DEFAULTS, {"check": UNCHECKED}, "the kubelet binary did not check"),
        (SWITCH, DEFAULTS, {"found": Findings([], ["b is unsure"])}, "b is unsure"),
    ],
)
@pytest.mark.fault(case=42)
def test_what_is_allowed_is_a_warning(purpose: str, terms: Terms, changes: dict[str, t.Any], warning: str) -> None:
    found = decided(purpose, terms, **changes)
    assert found.reasons == [] and [text[: len(warning)] for text in found.warnings] == [warning]


@pytest.mark.fault(case=44)
def test_a_guard_that_cannot_ask_needs_consent() -> None:
    refused = decided(unasked="GET https://api/: 403")
    assert (len(refused.reasons), refused.node_proof) == (1, True)
    assert refused.reasons[0].startswith("the guard cannot ask the API server for its Node: GET https://api/: 403.")
    allowed = decided(terms=Terms(allow_offline_guard=True), unasked="GET https://api/: 403")
    assert (allowed.reasons, len(allowed.warnings), allowed.node_proof) == ([], 1, False)
    assert decided(terms=Terms(allow_offline_guard=True)).node_proof


OWN, OURS = "--config=/etc/kubelet.yaml", "--config=/var/lib/kubelet-config/active/kubelet"


@pytest.mark.parametrize(
    ("now", "upcoming", "words"),
    [
        ([OWN, "--v=2"], [OWN, "--v=2"], []),
        ([OWN], [OWN, "--event-qps=7"], ["+ --event-qps=7"]),
        ([OWN, "--v=2"], [OWN, "--v=3"], ["- --v=2", "+ --v=3"]),
        (["--v=2", "--v=3"], ["--v=3", "--v=2"], ["the order of its words"]),
        ([OWN], ["--config=/etc/other.yaml"], ["- --config=/etc/kubelet.yaml", "+ --config=/etc/other.yaml"]),
        # An interrupted switch or reset changed nothing but the config file.
        ([OWN, "--v=2"], [OURS, "--v=2"], []),
        (["--config", "/etc/kubelet.yaml", "--v=2"], [OURS, "--v=2"], []),
        ([OURS], [OWN], []),
        ([OURS], [OWN, "--v=2"], ["+ --v=2"]),
    ],
)
@pytest.mark.fault(case=43)
def test_which_edits_wait_for_a_restart(now: list[str], upcoming: list[str], words: list[str]) -> None:
    assert waiting_edits(now, upcoming, "/var/lib/kubelet-config") == words


def test_what_waits_is_shown_without_secrets() -> None:
    words = ["--manifest-url-header", "{}", "--max-pods", "1", "--manifest_url_header={}"]
    assert masked([word.format("A:hunter2") for word in words]) == [word.format("********") for word in words]
    now = [OWN, "--manifest-url-header=A:hunter2"]
    assert waiting(now, now, "/store", False) == []
    assert waiting(now, [OWN, "--manifest-url-header=A:hunter3"], "/store", False) == ["the value of a secret flag"]
    assert waiting([OWN], now, "/store", False) == ["+ --manifest-url-header=********"]
    assert ["daemon-reload" in text for text in waiting(now, now, "/store", True)] == [True]


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
