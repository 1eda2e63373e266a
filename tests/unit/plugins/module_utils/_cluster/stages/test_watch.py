# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet runs, compared with what is declared; the causes of what is wrong, and their remedies."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import timestamps
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import (
    ApiError,
    ClusterError,
    NodesFailed,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_requests
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import assign, diagnose, watch
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages.verdict import Verdict
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks
from tests.sim.api.direct import Direct
from tests.support.api.calls import Call, Calls
from tests.support.api.objects import HEADER, configmap, live, node, place, reference, status, text
from tests.support.api.verifying import fail, run

pytestmark = pytest.mark.usefixtures("clock")
A = reference("config-a")
OWN = {"source": "old", "complete": True, "absent": [], "own": {"kubeAPIQPS": [50]}}
RAN = fields.restore(live(maxPods=100, kubeAPIQPS=7, failSwapOn=False))


def _runs(name: str) -> dict[str, t.Any]:
    return node(name, marked=A, reported=status(A, A), delivery="dropin", version="v1.36.2", own=OWN)


def _cluster(declared: dict[str, t.Any], **now: t.Any) -> Direct:
    """A node that runs a drop-in with what is declared."""
    return Direct(_runs("n1"), configmaps=[configmap("config-a", text(**declared))], live={"n1": live(**now)})


def _before(*declared: str) -> dict[str, t.Any]:
    return {"variants": {"v": RAN}, "nodes": {"n1": {"variant": "v", "declared": list(declared)}}}


def _seen(api: Direct, **options: t.Any) -> dict[str, t.Any]:
    """Return the row of the node, good or not."""
    try:
        return run(api, {"n1": place()}, **options)["nodes"]["n1"]
    except NodesFailed as failed:
        return failed.result["nodes"]["n1"]


SOFT, ITS, PID = '["memory.available"]', {"memory.available": "1Gi"}, {"pid.available": "5%"}


@pytest.mark.parametrize(
    ("declared", "now", "differences"),
    [
        ({"maxPods": 70}, {"maxPods": 70}, []),
        ({"failSwapOn": None}, {"failSwapOn": True}, []),
        ({"clusterDNS": None}, {}, []),
        ({"evictionHard": ITS}, {"evictionHard": {**ITS, **PID}}, []),
        ({"evictionHard": {"pid.available": None}}, {}, []),
        ({}, {"maxPods": 9}, []),
        ({"maxPods": 70}, {"maxPods": 100}, [("maxPods", 70, 100)]),
        ({"failSwapOn": None}, {"failSwapOn": False}, [("failSwapOn", True, False)]),
        ({"clusterDNS": None}, {"clusterDNS": ["10.0.0.1"]}, [("clusterDNS", None, ["10.0.0.1"])]),
        ({"evictionHard": {"memory.available": None}}, {"evictionHard": ITS}, [(f"evictionHard{SOFT}", None, "1Gi")]),
    ],
)
def test_what_is_declared_is_live(declared: dict[str, t.Any], now: dict[str, t.Any], differences: list[t.Any]) -> None:
    row = _seen(_cluster(declared, **now))
    assert (row["ok"], row["state"] == "active", row["delivery"]) == (not differences, not differences, "dropin")
    assert [(item["path"], item["expected"], item["live"]) for item in row["differences"]] == differences


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
    api.live["n1"] = live(maxPods=70, kubeAPIQPS=7, failSwapOn=False)
    result = run(api, {"n1": place()}, before=_before())
    assert (result["nodes"]["n1"]["beside"], result["warnings"]) == ([], [])


def test_nodes_that_ran_and_run_alike_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what they ran and run, and by what their drop-ins had declared; each has its own row."""
    names = [f"n{number}" for number in range(6)]
    api = Direct(*map(_runs, names), configmaps=[configmap("config-a", text(maxPods=70))])
    api.live = {name: live(maxPods=70, kubeAPIQPS=7, failSwapOn=False) for name in names}
    api.live["n3"] = live(maxPods=70, kubeAPIQPS=7, failSwapOn=True)
    before = {"variants": {"v": RAN}, "nodes": {name: {"variant": "v", "declared": []} for name in names}}
    before["nodes"]["n4"]["declared"] = ["kubeAPIQPS"]
    compared = []
    real = watch.differing.undeclared
    monkeypatch.setattr(watch.differing, "undeclared", lambda *given: compared.append(given) or real(*given))
    rows = run(api, dict.fromkeys(names, place()), before=before)["nodes"]
    assert {name for name in names if rows[name]["beside"]} == {"n3"}
    assert len(compared) == 3


def _hosts(own: t.Any, **flags: str) -> dict[str, t.Any]:
    uses = {path: {"flag": flag, "file": None, "line": None} for path, flag in flags.items()}
    kubelet = {"local_config": "/k.yaml", "shadowed": uses}
    return {"n1": {"kubelet": kubelet, "own": [{"path": "/k.yaml", "content": own}]}}


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


def test_what_nodes_ran_before() -> None:
    api = _cluster({}, maxPods=9)
    api.live["n2"] = ApiError(503, "away")
    found = node_requests.read(api, ["n1"])
    table = assign.read_before(api, found, {})
    variant = next(iter(table["variants"]))
    assert table["nodes"] == {"n1": {"variant": variant, "declared": ["kubeAPIQPS"]}}
    assert watch.ran_before(table, "n1") == (variant, fields.restore(live(maxPods=9)), ["kubeAPIQPS"])
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
    assert (_seen(api)["state"] == "active") is ok


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
    assert (_seen(api, hosts=hosts)["state"] == "active") is ok


FOUND = Verdict("fell_back", "its kubelet refused it")


def test_refusal() -> None:
    problems = checks.problems({**HEADER, "kubeAPIQPS": -1}, 20)
    known = diagnose.refusal(FOUND, "no such key", problems, guarded=False)
    assert known.message == "its kubelet refused it. Cause: no such key. Correct it and run again"
    likely = diagnose.refusal(FOUND, None, problems, guarded=False)
    words = "kubeAPIQPS (--kube-api-qps) -1 must not be a negative number (Give 0"
    assert likely.message.startswith(f"its kubelet refused it. Likely cause: {words}")
    unknown = diagnose.refusal(FOUND, None, [], guarded=False)
    assert unknown.message.endswith("journalctl -u kubelet | grep 'config controller'")
    # A kubelet without a dynamic configuration writes no such line.
    of_guard = diagnose.refusal(FOUND, None, [], guarded=True)
    assert of_guard.message.endswith("journalctl -u kubelet -u livenodes-kubelet-guard")
    assert {(found.state, found.final) for found in (likely, unknown)} == {("fell_back", True)}


MAX_PODS = {"path": "maxPods", "live": 110, "expected": 50, "flags": ["max-pods"]}
DNS = {"path": "clusterDNS", "live": ["a"], "expected": None, "flags": ["cluster-dns", "cluster-dnses"]}
NEW = {"path": "memorySwap.swapBehavior", "live": None, "expected": "b", "flags": []}
NO_FLAG = {"path": "staticPodURLHeader", "live": None, "expected": {}, "flags": []}
ONE_FLAG = (
    "maxPods is 110, not 50. Only a flag of its kubelet can override it (--max-pods): remove the flag "
    "(see `systemctl cat kubelet`) or the field"
)
FLAGS = (
    "maxPods is 110, not 50; clusterDNS is ['a'], not None. Only a flag of its kubelet can override them "
    "(--max-pods, --cluster-dns or --cluster-dnses): remove"
)
DROP_IN = (
    "The API does not show whether a flag (--max-pods) or a drop-in in --config-dir overrides it: the "
    "playbook drift names it"
)


@pytest.mark.parametrize(
    ("differences", "minor", "delivery", "cause"),
    [
        ([MAX_PODS], 20, "native", ONE_FLAG),
        ([MAX_PODS, DNS], 27, "checkpoint", FLAGS),
        ([MAX_PODS], 28, "checkpoint", DROP_IN),
        ([NO_FLAG], 20, "native", "The cause is unknown, since no flag sets it: see the kubelet's log"),
        ([NO_FLAG], 33, "checkpoint", "whether a drop-in in --config-dir overrides it: the playbook"),
        ([NEW, MAX_PODS], 20, "native", "Kubelet 1.20 does not have memorySwap.swapBehavior: remove the field"),
        ([NEW], 0, "native", "The cause is unknown"),
    ],
)
def test_differs(differences: list[dict[str, t.Any]], minor: int, delivery: str, cause: str) -> None:
    """No flag is blamed that may not be there: the cause is what can override the field on such a node."""
    found = diagnose.differs(differences, minor, delivery)
    assert (found.state, found.final) == ("differs", True)
    assert cause in found.message


def test_many_differences_are_counted() -> None:
    found = diagnose.differs([{**MAX_PODS, "path": f"field{n}", "expected": "x" * 99} for n in range(9)], 20, "native")
    assert "; and 7 more" in found.message and "field1 is 110" in found.message and "field2 is" not in found.message
    assert "x" * 50 not in found.message


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"status": {"allowed": True}}, "The ConfigMap exists and the node may read it"),
        ({"status": {"allowed": False, "reason": "why"}}, "system:node:n1 is forbidden to read it (why)"),
        ({"status": {"allowed": False}}, "system:node:n1 is forbidden to read it (no reason given)"),
        ({}, "system:node:n1 is forbidden to read it"),
        (ApiError(403, "words"), "whether the node may read it is unknown: words"),
    ],
)
def test_sync_error(answer: t.Any, text: str) -> None:
    """Asked in the node's own name, for exactly this ConfigMap."""
    what = {"namespace": "kube-system", "verb": "get", "version": "v1", "resource": "configmaps", "name": "config-a"}
    who = {"user": "system:node:n1", "groups": ["system:nodes", "system:authenticated"]}
    spec = {**who, "resourceAttributes": what}
    asked = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    with Calls(Call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", answer, body=asked)) as session:
        found = diagnose.sync_error(session, "n1", place(), Verdict("sync_error", "cannot fetch"))
    assert (found.state, found.final) == ("sync_error", True)
    assert found.message.startswith("cannot fetch. ") and text in found.message


def test_silence() -> None:
    """By the API server's clock; times with and without fractions of a second, as other kubelets write them."""
    now = Calls().server_time()
    spec = {
        "n1": {"renewTime": timestamps.text(now - 50)},
        "n2": {"renewTime": timestamps.text(now - 90)[:19] + "Z"},
        "ahead": {"renewTime": timestamps.text(now + 3600)},
        "never": {},
        "none": None,
        "other": {"renewTime": "2026-01-01T00:00:00.000000Z"},
    }
    leases = {"items": [{"metadata": {"name": name}, "spec": value} for name, value in spec.items()]}
    with Calls(Call("GET", diagnose.LEASES, leases)) as session:
        ages = diagnose.silence(session, ["n1", "n2", "ahead", "never", "none", "absent"])
    assert ages == {"n1": 50, "n2": 90, "ahead": 0}


@pytest.mark.parametrize(("answer", "named"), [(ApiError(403, "forbidden"), ["n1"]), ({}, []), ({"items": None}, [])])
def test_answers_without_items(answer: t.Any, named: list[str]) -> None:
    """The silence of a node is not known. That of a certificate is asked for only if the user may not list them."""
    with Calls(Call("GET", diagnose.LEASES, answer), Call("GET", diagnose.CSRS, answer, QUERY)) as session:
        assert diagnose.silence(session, ["n1"]) == {}
        found = diagnose.certificates(session, ["n1"])
        assert diagnose.certificates(session, []) == {}
    assert list(found) == named
    assert all("`kubectl get csr`" in words and "approve <name>`" in words for words in found.values())


def csr(name: str, node: str, **more: t.Any) -> dict[str, t.Any]:
    """Return a request for a serving certificate that waits, unless `more` has other fields."""
    spec = {"signerName": "kubernetes.io/kubelet-serving", "username": f"system:node:{node}", **more.pop("spec", {})}
    return {"metadata": {"name": name, "creationTimestamp": more.pop("at", "")}, "spec": spec, **more}


QUERY = [("fieldSelector", "spec.signerName=kubernetes.io/kubelet-serving")]


def test_certificates_that_wait_for_an_approval() -> None:
    """The newest one of each node."""
    items = [
        csr("new", "n1", at="2026-01-02T00:00:00Z"),
        csr("old", "n1", at="2026-01-01T00:00:00Z", status={}),
        csr("approved", "n2", status={"conditions": [{"type": "Approved"}]}),
        csr("signed", "n3", status={"certificate": "x"}),
        csr("client", "n4", spec={"signerName": "kubernetes.io/kube-apiserver-client-kubelet"}),
        csr("other", "n5"),
        csr("person", "n6", spec={"username": "n6"}),
        csr("none", "n7", spec={"username": None}, status=None),
    ]
    with Calls(Call("GET", diagnose.CSRS, {"items": items}, QUERY)) as session:
        found = diagnose.certificates(session, ["n1", "n2", "n3", "n4", "n6", "n7"])
    assert set(found) == {"n1"}
    assert found["n1"].endswith("`kubectl certificate approve new`")
