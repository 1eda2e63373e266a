# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a watch compares nodes with: drop-ins, and what the nodes ran before."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_requests
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import watch
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import complete_config
from tests.sim.api.direct import Clock, Direct
from tests.support.objects import configmap, live, node, place, reference, status, text
from tests.support.verifying import fail, run, stopped

A = reference("config-a")
OWN = {"source": "old", "complete": True, "absent": [], "own": {"kubeAPIQPS": [50]}}
RAN = complete_config.restore(live(maxPods=100, kubeAPIQPS=7, failSwapOn=False))


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return stopped(monkeypatch)


def _cluster(declared: dict[str, t.Any], **now: t.Any) -> Direct:
    """A node that runs a drop-in with what is declared."""
    one = node("n1", marked=A, reported=status(A, A), delivery="dropin", version="v1.36.2", own=OWN)
    return Direct(one, configmaps=[configmap("config-a", text(**declared))], live={"n1": live(**now)})


def _before(*declared: str) -> dict[str, t.Any]:
    return {"variants": {"v": RAN}, "nodes": {"n1": {"variant": "v", "declared": list(declared)}}}


@pytest.mark.parametrize(
    ("declared", "now"),
    [
        ({"maxPods": 70}, {"maxPods": 70}),
        ({"failSwapOn": None}, {"failSwapOn": True}),
        ({"clusterDNS": None}, {}),
        (
            {"evictionHard": {"memory.available": "1Gi"}},
            {"evictionHard": {"memory.available": "1Gi", "pid.available": "5%"}},
        ),
        ({"evictionHard": {"pid.available": None}}, {}),
        ({}, {"maxPods": 9}),
    ],
)
def test_what_is_declared_is_live(declared: dict[str, t.Any], now: dict[str, t.Any]) -> None:
    row = run(_cluster(declared, **now), {"n1": place()})["nodes"]["n1"]
    assert (row["ok"], row["state"], row["delivery"], row["differences"]) == (True, "active", "dropin", [])


@pytest.mark.parametrize(
    ("declared", "now", "difference"),
    [
        ({"maxPods": 70}, {"maxPods": 100}, ("maxPods", 70, 100)),
        ({"failSwapOn": None}, {"failSwapOn": False}, ("failSwapOn", True, False)),
        ({"clusterDNS": None}, {"clusterDNS": ["10.0.0.1"]}, ("clusterDNS", None, ["10.0.0.1"])),
        (
            {"evictionHard": {"memory.available": None}},
            {"evictionHard": {"memory.available": "1Gi"}},
            ('evictionHard["memory.available"]', None, "1Gi"),
        ),
    ],
)
def test_what_is_declared_is_not_live(
    declared: dict[str, t.Any], now: dict[str, t.Any], difference: tuple[str, t.Any, t.Any]
) -> None:
    row = fail(_cluster(declared, **now), {"n1": place()}).result["nodes"]["n1"]
    found = [(item["path"], item["expected"], item["live"]) for item in row["differences"]]
    assert (row["state"], found) == ("differs", [difference])


def test_what_changed_beside_the_drop_in_is_said_by_name() -> None:
    api = _cluster({"maxPods": 70}, maxPods=70, kubeAPIQPS=50, failSwapOn=True)
    result = run(api, {"n1": place()}, before=_before("kubeAPIQPS"))
    assert result["nodes"]["n1"]["ok"]
    # What an earlier drop-in declared reverts.
    (change,) = result["nodes"]["n1"]["beside"]
    assert change.pop("cause") and change == {"path": "failSwapOn", "before": False, "live": True}
    (warning,) = result["warnings"]
    assert warning.startswith("Node n1: beside what is declared, the restart changed failSwapOn was False, now True")
    again = run(api, {"n1": place()}, before=_before())
    assert [item["path"] for item in again["nodes"]["n1"]["beside"]] == ["failSwapOn", "kubeAPIQPS"]


def _hosts(own: t.Any, **flags: str) -> dict[str, t.Any]:
    uses = {path: {"flag": flag, "file": None, "line": None} for path, flag in flags.items()}
    return {
        "n1": {"kubelet": {"local_config": "/k.yaml", "shadowed": uses}, "own": [{"path": "/k.yaml", "content": own}]}
    }


def test_a_change_that_the_own_file_explains_is_said() -> None:
    api = _cluster({"maxPods": 70}, maxPods=70, kubeAPIQPS=9, failSwapOn=False)
    result = run(api, {"n1": place()}, before=_before(), hosts=_hosts({"kubeAPIQPS": 9, "failSwapOn": False}))
    assert [item["cause"] for item in result["nodes"]["n1"]["beside"]] == ["/k.yaml changed"]
    assert "kubeAPIQPS was 7, now 9 (/k.yaml changed). The node's own configuration changed" in result["warnings"][0]


def test_a_change_that_nothing_explains_fails_the_proof() -> None:
    api = _cluster({"maxPods": 70}, maxPods=70, kubeAPIQPS=9, failSwapOn=True)
    found = fail(api, {"n1": place()}, before=_before(), hosts=_hosts({"kubeAPIQPS": 8})).result["nodes"]["n1"]
    assert (found["ok"], found["state"]) == (False, "differs")
    assert "the restart changed kubeAPIQPS was 7, now 9. Neither the node's own file" in found["message"]
    assert "failSwapOn" not in found["message"] and len(found["beside"]) == 2


def test_nothing_changed_beside_the_drop_in() -> None:
    api = _cluster({"maxPods": 70}, maxPods=70, kubeAPIQPS=7, failSwapOn=False)
    result = run(api, {"n1": place()}, before=_before())
    assert result["nodes"]["n1"]["beside"] == []
    assert result["warnings"] == []


def test_what_nodes_ran_before() -> None:
    api = _cluster({}, maxPods=9)
    api.live["n2"] = ApiError(503, "away")
    found = node_requests.read(api, ["n1"])
    table = watch.read_before(api, [found["n1"]])
    variant = next(iter(table["variants"]))
    assert table["nodes"] == {"n1": {"variant": variant, "declared": ["kubeAPIQPS"]}}
    assert watch.ran_before(table, "n1") == (complete_config.restore(live(maxPods=9)), ["kubeAPIQPS"])
    assert watch.ran_before(table, "n2") is None
    assert watch.ran_before(None, "n1") is None


@pytest.mark.parametrize("table", ["x", {"nodes": {"n1": {"variant": "v"}}, "variants": {}}, {"nodes": {"n1": 7}}])
def test_a_table_of_another_form(table: t.Any) -> None:
    with pytest.raises(ClusterError, match="before is not that of an assignment"):
        watch.ran_before(table, "n1")


@pytest.mark.parametrize(
    ("version", "record", "ok"),
    [
        # The record has what the source replaced: everything else is of the node's own file, and overridden as before.
        ("v1.28.7", OWN, True),
        ("v1.28.7", {**OWN, "own": {"maxPods": [100]}}, False),
        ("v1.28.7", {**OWN, "complete": False}, False),
        ("v1.28.7", None, False),
        ("v1.23.1", OWN, False),
    ],
)
def test_a_value_of_the_own_file_that_a_flag_overrides(version: str, record: t.Any, ok: bool) -> None:
    one = node("n1", marked=A, reported=status(A, A), version=version, own=record)
    api = Direct(one, configmaps=[configmap("config-a", text(maxPods=100))], live={"n1": live(maxPods=61)})
    found = run(api, {"n1": place()}) if ok else fail(api, {"n1": place()}).result
    assert found["nodes"]["n1"]["state"] == ("active" if ok else "differs")


@pytest.mark.parametrize(
    ("hosts", "content", "ok"),
    [
        (_hosts({}, maxPods="--max-pods=61"), {"maxPods": 100}, True),
        (_hosts({}), {"maxPods": 100}, False),
        (_hosts({}, maxPods="--max-pods=61"), {"maxPods": 100, "kubeAPIQPS": 9}, False),
        (_hosts({}), {"maxPods": 61}, True),
        # kubeadm may write a field that only later kubelets have.
        (_hosts({}), {"maxPods": 61, "failCgroupV1": False}, True),
    ],
)
def test_the_whole_source_of_a_checkpoint_is_compared(hosts: t.Any, content: t.Any, ok: bool) -> None:
    """Only what a flag or a drop-in of the node overrides, and no layer declares, need not be live."""
    one = node("n1", marked=A, reported=status(A, A), version="v1.28.7", own=OWN)
    if "kubeAPIQPS" in content:
        one["metadata"]["annotations"].update(node("n1", own={**OWN, "own": {}})["metadata"]["annotations"])
    api = Direct(one, configmaps=[configmap("config-a", text(**content))], live={"n1": live(maxPods=61, kubeAPIQPS=5)})
    options = {"hosts": hosts}
    found = run(api, {"n1": place()}, **options) if ok else fail(api, {"n1": place()}, **options).result
    assert found["nodes"]["n1"]["state"] == ("active" if ok else "differs")
