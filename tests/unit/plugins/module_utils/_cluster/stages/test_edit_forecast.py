# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The forecast of a plan, with its requests counted."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import (
    ApiError,
    ClusterError,
    NodesFailed,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import edit
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan
from tests.support.calls import NODES, PAGE, Call, Calls
from tests.support.objects import HEADER, items, live, node, workload


def options(config: t.Any = None, names: str = "n1", node_configs: t.Any = None, **given: t.Any) -> dict[str, t.Any]:
    row = {"variant": "v", "kubelet_version": "v1.20.2", "source": None, "status": None}
    current = {"variants": {"v": {**HEADER, **live(maxPods=110)}}, "nodes": {name: dict(row) for name in names.split()}}
    return {
        "plan": plan.make_plan(plan.Request(current, config, node_configs, allow_effect="reboot")),
        "current": current,
        "refuse": True,
        "allow_pods": 0,
        **given,
    }


def listed(*names: str) -> Call:
    shown = [node(name) for name in names]
    for one in shown:
        one["status"]["capacity"] = {"cpu": "4", "memory": "8Gi"}
    only = (("fieldSelector", f"metadata.name={names[0]}"),) if len(names) == 1 else ()
    return Call("GET", NODES, items(*shown), (*only, *(PAGE if only else [("limit", 4 * len(names))])))


def pods(name: str, *answer: dict[str, t.Any]) -> Call:
    return Call(
        "GET",
        "/api/v1/pods",
        items(*answer),
        [("fieldSelector", f"spec.nodeName={name},status.phase!=Succeeded,status.phase!=Failed")],
    )


def stats(name: str, answer: t.Any = None) -> Call:
    return Call("GET", f"{NODES}/{name}/proxy/stats/summary", answer or {})


@pytest.mark.parametrize(
    "config",
    [None, {"kubeAPIQPS": 7}, {"maxPods": 110}, {"evictionHard": live()["evictionHard"], "syncFrequency": "90s"}],
)
def test_a_change_that_moves_no_pod_costs_no_request(config: t.Any) -> None:
    with Calls() as session:
        result = edit.forecast(session, options(config), False)
    assert (result["changed"], result["summary"]["pods_refused"]) == (False, 0)
    assert result["text"][0].endswith("0 pods at risk (0 evicted, 0 refused), 0 pods not known")


def test_only_nodes_whose_change_matters_are_asked() -> None:
    """One LIST of nodes, and a LIST and a GET for each that matters: n1 has another change, n3 none."""
    given = options(None, "n1 n2 n3", {"n1": {"kubeAPIQPS": 7}, "n2": {"maxPods": 1}})
    with (
        Calls(listed("n2"), pods("n2", workload("a"), workload("b")), stats("n2")) as session,
        pytest.raises(ClusterError) as caught,
    ):
        edit.forecast(session, given, False)
    assert list(caught.value.result["nodes"]) == ["n1", "n2"]
    given = options({"maxPods": 5}, "n1 n2 n3")
    calls = [listed("n1", "n2", "n3"), *(call for name in ("n1", "n2", "n3") for call in (pods(name), stats(name)))]
    with Calls(*calls) as session:
        assert edit.forecast(session, given, True)["summary"]["nodes_to_restart"] == 3


def test_a_refused_forecast_keeps_the_result_and_names_what_is_lost() -> None:
    given = options({"maxPods": 1})
    with (
        Calls(listed("n1"), pods("n1", workload("a"), workload("b")), stats("n1")) as session,
        pytest.raises(ClusterError) as caught,
    ):
        edit.forecast(session, given, False)
    assert caught.value.message.startswith(
        "the forecast is refused. Nothing was written: 1 pod at risk, 0 allowed.\n"
        "1 pod (default/b) would be refused at this restart or the next on 1 node (n1): OutOfpods"
    )
    result = caught.value.result
    assert [row["pod"] for row in result["nodes"]["n1"]["refused"]] == ["b"]
    assert (result["summary"]["nodes_at_risk"], result["summary"]["pods_refused"]) == (1, 1)
    assert result["text"][1].endswith(
        "OutOfpods: maxPods or podsPerCore allows fewer pods than the node runs (n1: 1 allocatable)"
    )


def test_pods_that_the_labels_of_their_node_cost() -> None:
    """The same requests, the same refusal."""
    calls = listed("n1"), pods("n1", workload("a", nodeSelector={"zone": "a"}), workload("b")), stats("n1")
    with Calls(*calls) as session, pytest.raises(ClusterError) as caught:
        edit.forecast(session, options({"maxPods": 100}), False)
    assert (
        "1 pod (default/a) would be refused at this restart or the next on 1 node (n1): NodeAffinity: the node's "
        "labels no longer match the pod's node selector or node affinity (n1: zone=a, the node does not have it)"
    ) in caught.value.message


@pytest.mark.parametrize("given", [{"refuse": False}, {"allow_pods": 1}])
def test_what_may_be_lost_is_shown_only(given: dict[str, t.Any]) -> None:
    with Calls(listed("n1"), pods("n1", workload("a"), workload("b")), stats("n1")) as session:
        assert edit.forecast(session, options({"maxPods": 1}, **given), False)["summary"]["pods_refused"] == 1


IGNORED, WARNED = {"forecast": "ignore"}, {"forecast": "warn", "pods": 0}


@pytest.mark.parametrize(
    ("by_node", "message"),
    [
        ({}, "4 pods at risk, 0 allowed"),
        # Each number of pods is that of all nodes that have it.
        ({"n1": {"pods": 2}}, "2 pods at risk, 0 allowed"),
        ({"n1": {"pods": 2}, "n2": {"pods": 2}}, "4 pods at risk, 2 allowed"),
        ({"n1": {"pods": 2}, "n2": {"pods": 3}}, ""),
        ({"n1": {"pods": 1}, "n2": {"pods": 5}}, "2 pods at risk, 1 allowed"),
        ({"n1": {"pods": 4}, "n2": {"pods": 4}}, ""),
        ({"n1": WARNED}, "2 pods at risk, 0 allowed"),
        ({"n1": WARNED, "n2": WARNED}, ""),
        ({"n1": IGNORED}, "2 pods at risk, 0 allowed"),
        ({"n1": IGNORED, "n2": WARNED}, ""),
        ({"n1": {"forecast": "wran"}}, "4 pods at risk, 0 allowed"),
    ],
)
def test_each_node_has_its_own_limits(by_node: dict[str, t.Any], message: str) -> None:
    """And not those of the first one."""
    asked = [name for name in ("n1", "n2") if by_node.get(name) != IGNORED]
    lost = workload("a"), workload("b"), workload("c")
    calls = [listed(*asked), *(call for name in asked for call in (pods(name, *lost), stats(name)))]
    given = options({"maxPods": 1}, "n1 n2", by_node=by_node)
    try:
        with Calls(*calls) as session:
            found = edit.forecast(session, given, False)
    except ClusterError as error:
        assert message and message in error.message, error.message
    else:
        assert not message and list(found["nodes"]) == asked


def test_what_is_not_known_refuses_nothing() -> None:
    calls = listed("n1"), pods("n1", workload("a", {"cpu": "1"}, qos="Guaranteed")), stats("n1", ApiError(503, "away"))
    with Calls(*calls) as session:
        result = edit.forecast(
            session, options({"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1", "memory": "1Gi"}}), False
        )
    assert (
        result["summary"]["pods_unknown"],
        result["summary"]["nodes_unknown"],
        result["summary"]["nodes_at_risk"],
    ) == (1, 1, 0)
    assert any("statistics cannot be read (n1: away)" in line and "warning: " in line for line in result["text"])


def test_every_node_whose_pods_cannot_be_listed_is_named() -> None:
    refused = [Call("GET", "/api/v1/pods", ApiError(403, "words"), pods(name).query) for name in ("n1", "n3")]
    calls = listed("n1", "n2", "n3"), refused[0], pods("n2"), stats("n2"), refused[1]
    with Calls(*calls) as session, pytest.raises(NodesFailed) as caught:
        edit.forecast(session, options({"maxPods": 5}, "n1 n2 n3"), False)
    assert set(caught.value.failures) == {"n1", "n3"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"current": {}},
        {"current": {"variants": {}}},
        {"plan": {"nodes": {"n1": {"action": "assign"}}}},
        {"plan": {}},
        {"plan": {"nodes": {"n1": {}}}},
    ],
)
def test_what_does_not_belong_together(wrong: dict[str, t.Any]) -> None:
    with Calls() as session, pytest.raises(ClusterError, match="plan and current do not match"):
        edit.forecast(session, {**options({"maxPods": 5}), **wrong}, False)


def test_flags_of_one_node_are_not_those_of_another() -> None:
    """Nodes that are alike share the work, those whose flags hide the change do not."""
    given = options({"maxPods": 1}, "n1 n2")
    for change in given["plan"]["nodes"]["n1"]["changes"]:
        given["plan"]["nodes"]["n1"] = {
            **given["plan"]["nodes"]["n1"],
            "changes": [{**change, "shadowed_by": "--max-pods=110"}],
        }
    with Calls(listed("n2"), pods("n2", workload("a")), stats("n2")) as session:
        result = edit.forecast(session, given, False)
    assert list(result["nodes"]) == ["n1", "n2"]
