# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What former sources replaced: which values are undeclared, and what a node reverts to."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.compare import Change
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import former
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.layers import Declared
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.own_values import NO_RECORD

LIVE: dict[str, Any] = {
    "maxPods": 50,
    "evictionHard": {"memory.available": "1Gi"},
    "authentication": {"webhook": {"enabled": True, "cacheTTL": "5m0s"}},
    "featureGates": {"A": True},
}
MEMORY, NODEFS = 'evictionHard["memory.available"]', 'evictionHard["nodefs.available"]'


@pytest.mark.parametrize(
    ("own", "layers", "known", "unknown"),
    [
        ({"maxPods": [110]}, [], {"maxPods": 110}, []),
        ({"maxPods": [110]}, [{"maxPods": 50}], {}, []),
        ({"maxPods": [110]}, [{"maxPods": None}], {}, []),
        ({"maxPods": [110]}, [{"kind": "KubeletConfiguration", "eventBurst": 1}], {"maxPods": 110}, []),
        # Nothing to revert: the live value is the node's own.
        ({"maxPods": [50]}, [], {}, []),
        ({"clusterDNS": [None]}, [], {}, []),
        ({"maxPods": [None]}, [], {"maxPods": None}, []),
        ({"maxPods": []}, [], {}, ["maxPods"]),
        ({"maxPods": []}, [{}, {"maxPods": 1}], {}, []),
        # A map that is replaced as a whole is declared as a whole; others key by key.
        ({MEMORY: ["100Mi"], NODEFS: ["10%"]}, [{"evictionHard": {"imagefs.available": "5%"}}], {}, []),
        ({MEMORY: ["100Mi"], NODEFS: ["10%"]}, [], {MEMORY: "100Mi", NODEFS: "10%"}, []),
        ({"featureGates.A": [None]}, [{"featureGates": {"B": True}}], {"featureGates.A": None}, []),
        ({"authentication.webhook.enabled": [False]}, [{"authentication": None}], {}, []),
        ({"featureGates": [{}]}, [{"featureGates": {"B": True}}], {}, []),
        # The type of a parent has changed since.
        ({"maxPods.a": [1]}, [], {}, ["maxPods.a"]),
        ({"maxPods.a.b": [1]}, [], {}, ["maxPods.a.b"]),
    ],
)
def test_undeclared(own: dict[str, Any], layers: list[Any], known: dict[str, Any], unknown: list[str]) -> None:
    found = former.undeclared({**NO_RECORD, "own": own}, Declared(layers), LIVE, 30)
    assert (found.known, found.unknown) == (known, unknown)


@pytest.mark.parametrize(
    ("config", "known", "after"),
    [
        # A kubelet may show a mapping where another type belongs: then a change of it names its keys, too.
        ({"maxPods": {"a": 1}}, {"maxPods": 80, "maxPods.a": None}, {"maxPods": 80}),
        ({"evictionHard": 5}, {"evictionHard": None, MEMORY: "1Gi"}, {"evictionHard": {"memory.available": "1Gi"}}),
        ({"evictionHard": 5}, {MEMORY: "1Gi"}, {"evictionHard": {"memory.available": "1Gi"}}),
    ],
)
def test_revert_where_a_value_has_another_type(
    config: dict[str, Any], known: dict[str, Any], after: dict[str, Any]
) -> None:
    assert former.revert(config, known) == after


def test_a_drop_in_may_have_removed_a_threshold_that_the_own_file_merges() -> None:
    live = {"mergeDefaultEvictionSettings": True, "evictionHard": {"memory.available": "1Gi"}}
    found = former.undeclared({**NO_RECORD, "own": {NODEFS: ["10%"]}}, Declared([]), live, 36, True)
    assert found.known == {NODEFS: "10%"}


def test_revert_modifies_nothing() -> None:
    before = {"maxPods": 50, "evictionHard": {"memory.available": "1Gi"}}
    known = {"maxPods": 110, MEMORY: None, NODEFS: "10%", "kubeReserved.cpu": "1", "clusterDNS": ["a"], "gone": None}
    after = former.revert(before, known)
    assert after == {
        "maxPods": 110,
        "evictionHard": {"nodefs.available": "10%"},
        "kubeReserved": {"cpu": "1"},
        "clusterDNS": ["a"],
    }
    assert before == {"maxPods": 50, "evictionHard": {"memory.available": "1Gi"}}


REPLACED = {
    "maxPods": 110,
    "clusterDNS": None,
    "cgroupDriver": "systemd",
    'staticPodURLHeader["Authorization"]': ["secret"],
    "ofTheFuture": 1,
}


def test_the_record_after_an_assignment() -> None:
    """A secret is not written to a Node, nor the value of a field that may be one."""
    before = {**NO_RECORD, "own": {"maxPods": [200], "eventBurst": [5]}}
    made = former.record_after(before, "config-a", REPLACED, ["cgroupDriver"])
    assert made == {
        "complete": True,
        "source": "config-a",
        "absent": ["cgroupDriver"],
        "own": {
            "maxPods": [200],
            "eventBurst": [5],
            "clusterDNS": [None],
            "cgroupDriver": ["systemd"],
            'staticPodURLHeader["Authorization"]': [],
            "ofTheFuture": [],
        },
    }


def test_a_value_found_after_sources_without_a_record_may_be_theirs() -> None:
    before = {**NO_RECORD, "complete": False, "own": {"eventBurst": [5]}}
    made = former.record_after(before, "config-a", REPLACED, [])
    assert made["complete"] is False
    assert {path: held for path, held in made["own"].items() if held} == {"eventBurst": [5]}
    assert set(made["own"]) == {"eventBurst", *REPLACED}


def test_only_a_removal_with_an_unknown_default_is_left_to_the_kubelet() -> None:
    changes = [Change("a", 1, 2, True), Change("b", 1, None, True), Change("c", 1, None, False)]
    assert former.absent_after([*changes, Change("d", None, 2, False)]) == ["c"]


def test_the_warning_names_what_to_do() -> None:
    [problem] = former.warnings(["maxPods"])
    assert (problem.severity, problem.path, problem.rule) == ("warning", "maxPods", "no-longer-declared")
    assert "no longer declared" in problem.message and "reset" in problem.remedy


def test_revert_below_a_value_of_another_type() -> None:
    """A kubelet may serve a mapping where a number belongs: the number takes its place with all that was in it."""
    assert former.revert({"maxPods": {"a": 1}}, {"maxPods": 80, "maxPods.a": None}) == {"maxPods": 80}
    assert former.revert({"maxPods": 5}, {"maxPods": None, "maxPods.a": 1}) == {"maxPods": {"a": 1}}
