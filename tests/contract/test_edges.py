# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every edge between seven kinds of config source, in both directions."""

from __future__ import annotations

import itertools
import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verify
from tests.contract.clusters import NAMES, Contracted, place
from tests.contract.source_model import STATES, Model, circuit
from tests.support.api.assigning import patiently
from tests.support.lab.views import View, eventually

CIRCUIT = circuit()
# The local config differs from both good sources, so that the live value shows which one runs.
PODS = {"good_a": 41, "good_b": 42}


def test_the_circuit_has_every_edge() -> None:
    """The walk below covers the whole matrix."""
    assert sorted(CIRCUIT) == sorted((one, other) for one in STATES for other in STATES if one != other)
    assert all(before[1] == after[0] for before, after in itertools.pairwise(CIRCUIT))


@pytest.fixture
def sources(cluster: Contracted) -> dict[str, dict[str, dict[str, str]]]:
    """Return each node's sources by kind, created from its live configuration."""
    table: dict[str, dict[str, dict[str, str]]] = {}
    for name in NAMES:
        live = {
            "kind": "KubeletConfiguration",
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "enforceNodeAllocatable": [],
            **cluster.look(name).configz,
        }
        if live["cgroupsPerQOS"]:
            live["enforceNodeAllocatable"] = ["pods"]
        contents = {
            "good_a": json.dumps({**live, "maxPods": PODS["good_a"], "eventBurst": 41}),
            "good_b": json.dumps({**live, "maxPods": PODS["good_b"], "eventBurst": 42}),
            "unparsable": "maxPods: [not, closed",
            "invalid": json.dumps({**live, "kubeAPIQPS": -1}),
            "missing_key": json.dumps(live),
        }
        table[name] = {"missing_configmap": place(f"edge-{name}-missing")}
        for kind, text in contents.items():
            key = "other" if kind == "missing_key" else "kubelet"
            table[name][kind] = cluster.apply(f"edge-{name}-{kind.replace('_', '-')}", {key: text})
    return table


SHARE = len(CIRCUIT) // 3
# Into and out of each kind of source.
SOME = (
    ("nil", "good_a", "good_b", "invalid", "nil"),
    ("nil", "unparsable", "good_a", "missing_configmap", "nil"),
    ("nil", "missing_key", "good_b", "missing_configmap", "good_a"),
)
EVERY = tuple(
    (CIRCUIT[start][0], *(after for _before, after in CIRCUIT[start : start + SHARE])) for start in range(0, 42, SHARE)
)


@pytest.mark.parametrize(
    "walks", [pytest.param(SOME, id="some edges"), pytest.param(EVERY, id="every edge", marks=pytest.mark.long_on_lab)]
)
@pytest.mark.fault(case=1)
def test_edges(
    cluster: Contracted,
    sources: dict[str, dict[str, dict[str, str]]],
    walks: tuple[tuple[str, ...], ...],
) -> None:
    """Three nodes walk a third of the circuit each, in sync; after every step the four views match the model."""
    models = {name: Model() for name in NAMES}
    local_pods = {name: cluster.look(name).configz["eventBurst"] for name in NAMES}
    for states in zip(*walks, strict=True):
        _step(cluster, sources, models, dict(zip(NAMES, states, strict=True)), local_pods)


def _step(
    cluster: Contracted,
    sources: dict[str, dict[str, dict[str, str]]],
    models: dict[str, Model],
    states: dict[str, str],
    local: dict[str, int],
) -> None:
    before = {name: cluster.look(name) for name in states}
    wanted = {name: None if state == "nil" else sources[name][state] for name, state in states.items()}
    rows = {
        **_assign(cluster.session, {name: place for name, place in wanted.items() if place}, "present"),
        **_assign(cluster.session, [name for name, place in wanted.items() if not place], "absent"),
    }
    for name, state in states.items():
        came_from = models[name].disk
        restarts = models[name].assign(state)
        edge = f"{name}: {came_from} -> {state}"
        eventually(
            lambda name=name: _as_modelled(cluster.look(name), models[name], sources[name]),
            60,
            f"{edge}: the status of {models[name]}",
            now=lambda name=name: (cluster.look(name).status, rows[name]["message"]),
        )
        _four_views(edge, before[name], cluster.look(name), wanted[name], models[name], restarts, local[name])
        _verdict(edge, rows[name], state, models[name])


def _assign(session: Session, what: t.Any, state: str) -> dict[str, dict[str, t.Any]]:
    """Assign and wait with the module's own code; return the rows, also when nodes fail."""
    if not what:
        return {}
    options = patiently(
        state=state,
        nodes=what if state == "absent" else None,
        sources=what if state == "present" else None,
        check_source=False,
        wait_timeout=60,
    )
    try:
        return t.cast("dict[str, dict[str, t.Any]]", verify.config_source(session, options, False)["nodes"])
    except NodesFailed as error:
        return t.cast("dict[str, dict[str, t.Any]]", error.result["nodes"])


def _as_modelled(view: View, model: Model, places: dict[str, dict[str, str]]) -> bool:
    names = {kind: place["name"] for kind, place in places.items()}
    parts = {part: names.get(kind or "") for part, kind in (("assigned", model.assigned), ("active", model.active))}
    return view.error == model.error and all(view.name_of(part) == name for part, name in parts.items())


def _four_views(
    edge: str, before: View, now: View, wanted: dict[str, str] | None, model: Model, restarts: bool, local: int
) -> None:
    assert now.spec == wanted, edge
    assert now.name_of("lastKnownGood") is None, edge
    assert now.configz["eventBurst"] == PODS.get(model.active or "", local), f"{edge}: live configuration"
    assert (now.invocation != before.invocation) == restarts, (
        f"{edge}: the kubelet was {'not ' if restarts else ''}restarted"
    )
    assert (now.restarts > before.restarts) == restarts, f"{edge}: restart counter {before.restarts} -> {now.restarts}"


def _verdict(edge: str, row: dict[str, t.Any], state: str, model: Model) -> None:
    """Check what the module reports about this step."""
    expected = {"nil": "local", "good_a": "active", "good_b": "active", "missing_configmap": "sync_error"}.get(
        state, "fell_back"
    )
    if expected == "active" and edge.startswith("n2"):
        # This node's kubelet has --max-pods on its command line.
        expected = "differs"
        assert "--max-pods" in row["message"], edge
    assert row["state"] == expected, f"{edge}: {row['message']}"
    hints = {
        "unparsable": "key kubelet",
        "invalid": "kubeAPIQPS",
        "missing_key": "it has no key kubelet (it has: other)",
        "missing_configmap": "does not exist",
    }
    assert hints.get(state, "") in row["message"], f"{edge}: {row['message']}"
