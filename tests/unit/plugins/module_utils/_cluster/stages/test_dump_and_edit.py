# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stages dump and edit: live configurations, the plan as a module's result, and its forecast with its requests."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import (
    ApiError,
    ClusterError,
    NodesFailed,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import dump, edit
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document, following
from tests.support.api.calls import CONFIGMAPS, NODES, PAGE, Call, Calls, by_name
from tests.support.api.objects import HEADER, configmap, items, live, node, place, reference, status, workload

ALL: dict[str, t.Any] = {"nodes": None, "label_selectors": None, "facts": True}


def configz(name: str, answer: t.Any) -> Call:
    return Call(
        "GET", f"{NODES}/{name}/proxy/configz", answer if isinstance(answer, ApiError) else {"kubeletconfig": answer}
    )


def test_dump() -> None:
    """One LIST and one GET a node; equal configurations stand once. A row has what its node has, and its own values.

    What its follower reports is one text: Ansible visits each value of a row in every task that it goes through.
    """
    own = {"complete": True, "source": "config-a", "absent": [], "own": {"maxPods": [110]}}
    has = {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi"}
    third = node("n3", own=own)
    third["status"]["capacity"] = {**has, "pods": "110", "example.com/gpu": "2"}
    third["metadata"]["annotations"][following.FOLLOWER] = '{"facts": {"own": []}, "format": 1}'
    listed = items(node("n1", place(), status(reference())), node("n2", version="v1.22.1"), third)
    live_pods = {"n1": 110, "n2": 50, "n3": 110}
    reads = [configz(name, {"maxPods": pods}) for name, pods in live_pods.items()]
    with Calls(Call("GET", NODES, listed, PAGE), *reads) as session:
        result = dump.dump(session, ALL, False)
    assert result["changed"] is False
    table = result["ansible_facts"]["kubelet_configz"]
    first, second, third = table["nodes"].values()
    assert first["variant"] == third["variant"] != second["variant"]
    assert set(table["variants"]) == {first["variant"], second["variant"]}
    for variant, config in table["variants"].items():
        assert document.variant(config) == variant
        assert HEADER.items() <= config.items()
    assert table["variants"][second["variant"]]["maxPods"] == 50
    found = {"delivery": "native", "source": place(), "status": status(reference())}
    made = {"variant": first["variant"], "restored": first["restored"], "machine_specific": []}
    assert first == {"kubelet_version": "v1.20.2", **found, **made}
    assert [second[key] for key in ("kubelet_version", "source", "status")] == ["v1.22.1", None, None]
    assert (third["own"], third["capacity"], third["follower"]) == (own, has, '{"own":[]}')


@pytest.mark.parametrize(("read", "shown"), [("node", "node"), ("kubelet", None), ("proxy", None), (None, None)])
def test_a_row_says_that_the_host_of_the_node_was_asked(read: str | None, shown: str | None) -> None:
    with Calls(Call("GET", NODES, items(node("n1")), PAGE), configz("n1", {"maxPods": 50})) as session:
        table = dump.dump(session, {**ALL, "read": read}, False)["ansible_facts"]["kubelet_configz"]
    assert table["nodes"]["n1"].get("read") == shown


def test_options_choose_the_nodes_and_the_facts() -> None:
    """Without facts for tasks that register the result."""
    both = Call("GET", NODES, items(node("n1"), node("n2")), (("labelSelector", "a"), *PAGE))
    calls = both, configz("n2", {}), configz("n1", {})
    given = {"nodes": ["n2", "n1"], "label_selectors": ["a"]}
    with Calls(*calls) as session, Calls(*calls) as other:
        facts = dump.dump(session, {**given, "facts": True}, True)
        result = dump.dump(other, {**given, "facts": False}, False)
    assert list(facts["ansible_facts"]["kubelet_configz"]["nodes"]) == ["n2", "n1"]
    assert result == {"changed": False, "kubelet_configz": facts["ansible_facts"]["kubelet_configz"]}


def test_every_node_that_cannot_be_read_is_named() -> None:
    """The result keeps the other nodes."""
    refused = ApiError(403, "words")
    listed = Call("GET", NODES, items(node("n1"), node("n2"), node("n3")), PAGE)
    reads = configz("n1", refused), configz("n2", {"maxPods": 1}), configz("n3", refused)
    with Calls(listed, *reads) as session, pytest.raises(NodesFailed) as caught:
        dump.dump(session, ALL, False)
    assert caught.value.message.startswith("reading live kubelet configurations: 2 nodes failed.\nn1: reading /configz")
    assert set(caught.value.failures) == {"n1", "n3"}
    assert list(caught.value.result["ansible_facts"]["kubelet_configz"]["nodes"]) == ["n2"]


SOURCE = {"namespace": "kube-system", "name": "config-a", "kubelet_config_key": "kubelet"}


def test_a_configmap_is_read_first_and_returned() -> None:
    """One that holds no configuration is named, and nothing else is read."""
    given = {**ALL, "facts": False, "configmap": SOURCE}
    read = Call("GET", f"{CONFIGMAPS}/config-a", configmap("config-a", json.dumps({**HEADER, "maxPods": 70})))
    with Calls(read, Call("GET", NODES, items(node("n1")), PAGE), configz("n1", {"maxPods": 110})) as session:
        result = dump.dump(session, given, False)
    assert result["configmap"] == {**HEADER, "maxPods": 70}
    assert list(result["kubelet_configz"]["nodes"]) == ["n1"]
    words = "kube-system/config-a.*apiVersion is missing.*kubectl get configmaps -n kube-system"
    read = Call("GET", f"{CONFIGMAPS}/config-a", configmap("config-a", "maxPods: 70"))
    with Calls(read) as session, pytest.raises(ClusterError, match=words):
        dump.dump(session, given, False)


CONFIG = fields.restore(live())
VARIANT = document.variant(CONFIG)
ROW = {"variant": VARIANT, "kubelet_version": "v1.20.2", "source": None, "status": None}
CURRENT = {"variants": {VARIANT: CONFIG}, "nodes": {"n1": ROW}}


def edited(config: t.Any, **options: t.Any) -> dict[str, t.Any]:
    return edit.edit({"current": CURRENT, "name": "base", "config": config, **options}, False)


def test_a_plan() -> None:
    """The diff has one entry for a node that changes, and the ConfigMap has the given name."""
    result = edited({"maxPods": 50})
    assert not result["changed"] and not result["plan"]["refused"]
    row = result["plan"]["nodes"]["n1"]
    assert (row["action"], row["configmap"].startswith("base-"), len(result["diff"])) == ("assign", True, 1)
    result = edited({})
    assert (result["plan"]["nodes"]["n1"]["action"], result["diff"]) == ("none", [])


def test_a_refusal_is_a_failure_with_the_plan_as_its_result() -> None:
    """The option is not named where it does not help. What cannot be read has no plan."""
    with pytest.raises(ClusterError, match="maxPodz") as caught:
        edited({"maxPodz": -1}, allow_invalid=True)
    assert caught.value.result["plan"]["refused"] and "allow_invalid" not in caught.value.message
    assert not edited({"kubeAPIQPS": -1}, allow_invalid=True)["plan"]["refused"]
    with pytest.raises(ClusterError, match="maxPods"):
        edited({"maxPods": 50}, allow_effect="safe")
    with pytest.raises(ClusterError, match="line 1") as caught:
        edited("maxPods: [")
    assert caught.value.result == {}


@pytest.mark.parametrize(
    "current",
    [
        {},
        {"kubelet_configz": CURRENT},
        {"variants": {}, "nodes": []},
        {"variants": [], "nodes": {}},
        {"variants": {}, "nodes": {"n1": ROW}},
        {"variants": {VARIANT: CONFIG}, "nodes": {"n1": "text"}},
    ],
)
@pytest.mark.parametrize("back", [False, True])
def test_what_is_no_dump_is_refused(current: dict[str, t.Any], back: bool) -> None:
    with pytest.raises(ClusterError, match="current is not a result of kubelet_configz_facts"):
        edited({}, current=current, back=back)


def options(config: t.Any = None, names: str = "n1", node_configs: t.Any = None, **given: t.Any) -> dict[str, t.Any]:
    row = {**ROW, "variant": "v"}
    current = {"variants": {"v": {**HEADER, **live(maxPods=110)}}, "nodes": {name: dict(row) for name in names.split()}}
    made = plan.make_plan(plan.Request(current, config, node_configs, allow_effect="reboot"))
    return {"plan": made, "current": current, "refuse": True, "allow_pods": 0, **given}


def listed(*names: str) -> Call:
    shown = [node(name) for name in names]
    for one in shown:
        one["status"]["capacity"] = {"cpu": "4", "memory": "8Gi"}
    return Call("GET", NODES, items(*shown), by_name(*names))


def pods(name: str, *answer: dict[str, t.Any]) -> Call:
    query = [("fieldSelector", f"spec.nodeName={name},status.phase!=Succeeded,status.phase!=Failed")]
    return Call("GET", "/api/v1/pods", items(*answer), query)


def stats(name: str, answer: t.Any = None) -> Call:
    return Call("GET", f"{NODES}/{name}/proxy/stats/summary", answer or {})


TWO = workload("a"), workload("b")


def asked(*names: str, lost: t.Sequence[dict[str, t.Any]] = ()) -> list[Call]:
    """Return the requests of a forecast for nodes that run these pods."""
    calls = [listed(*names)]
    for name in names:
        calls += [pods(name, *lost), stats(name)]
    return calls


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
    with Calls(*asked("n2", lost=TWO)) as session, pytest.raises(ClusterError) as caught:
        edit.forecast(session, given, False)
    assert list(caught.value.result["nodes"]) == ["n1", "n2"]
    with Calls(*asked("n1", "n2", "n3")) as session:
        assert edit.forecast(session, options({"maxPods": 5}, "n1 n2 n3"), True)["summary"]["nodes_to_restart"] == 3
    # Nodes that are alike share the work, those whose flags hide the change do not.
    given = options({"maxPods": 1}, "n1 n2")
    row = given["plan"]["nodes"]["n1"]
    given["plan"]["nodes"]["n1"] = {**row, "changes": [{**row["changes"][0], "shadowed_by": "--max-pods=110"}]}
    with Calls(*asked("n2", lost=TWO[:1])) as session:
        assert list(edit.forecast(session, given, False)["nodes"]) == ["n1", "n2"]


def test_a_refused_forecast_keeps_the_result_and_names_what_is_lost() -> None:
    with Calls(*asked("n1", lost=TWO)) as session, pytest.raises(ClusterError) as caught:
        edit.forecast(session, options({"maxPods": 1}), False)
    assert caught.value.message.startswith(
        "the forecast is refused. Nothing was written: 1 pod at risk, 0 allowed.\n"
        "1 pod (default/b) would be refused at this restart or the next on 1 node (n1): OutOfpods"
    )
    result = caught.value.result
    assert [row["pod"] for row in result["nodes"]["n1"]["refused"]] == ["b"]
    assert (result["summary"]["nodes_at_risk"], result["summary"]["pods_refused"]) == (1, 1)
    assert result["text"][1].endswith("maxPods or podsPerCore allows fewer pods than the node runs (n1: 1 allocatable)")


@pytest.mark.parametrize("given", [{"refuse": False}, {"allow_pods": 1}])
def test_what_may_be_lost_is_shown_only(given: dict[str, t.Any]) -> None:
    with Calls(*asked("n1", lost=TWO)) as session:
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
    names = [name for name in ("n1", "n2") if by_node.get(name) != IGNORED]
    calls = asked(*names, lost=(*TWO, workload("c")))
    given = options({"maxPods": 1}, "n1 n2", by_node=by_node)
    try:
        with Calls(*calls) as session:
            found = edit.forecast(session, given, False)
    except ClusterError as error:
        assert message and message in error.message, error.message
    else:
        assert not message and list(found["nodes"]) == names


def test_what_is_not_known_refuses_nothing() -> None:
    calls = listed("n1"), pods("n1", workload("a", {"cpu": "1"}, qos="Guaranteed")), stats("n1", ApiError(503, "away"))
    given = options({"cpuManagerPolicy": "static", "kubeReserved": {"cpu": "1", "memory": "1Gi"}})
    with Calls(*calls) as session:
        result = edit.forecast(session, given, False)
    found = [result["summary"][key] for key in ("pods_unknown", "nodes_unknown", "nodes_at_risk")]
    assert found == [1, 1, 0]
    assert any("statistics cannot be read (n1: away)" in line and "warning: " in line for line in result["text"])


def test_every_node_whose_pods_cannot_be_listed_is_named() -> None:
    refused = [Call("GET", "/api/v1/pods", ApiError(403, "words"), pods(name).query) for name in ("n1", "n3")]
    calls = listed("n1", "n2", "n3"), refused[0], pods("n2"), stats("n2"), refused[1]
    with Calls(*calls) as session, pytest.raises(NodesFailed) as caught:
        edit.forecast(session, options({"maxPods": 5}, "n1 n2 n3"), False)
    assert set(caught.value.failures) == {"n1", "n3"}


NO_MATCH = "plan and current do not match"
NO_LIMITS = "by_node: the value of node n1 is .*: set a mapping with forecast and pods, a whole number"


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        *(({"current": current}, NO_MATCH) for current in ({}, {"variants": {}})),
        *(({"plan": {"nodes": {"n1": row}}}, NO_MATCH) for row in ({}, {"action": "assign"})),
        ({"plan": {}}, NO_MATCH),
        *(({"by_node": {"n1": own}}, NO_LIMITS) for own in ({"pods": "few"}, {"pods": None}, "few", ["pods"])),
    ],
)
def test_options_that_are_refused(wrong: dict[str, t.Any], words: str) -> None:
    with Calls() as session, pytest.raises(ClusterError, match=words):
        edit.forecast(session, {**options({"maxPods": 5}), **wrong}, False)
