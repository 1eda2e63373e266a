# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Causes and remedies."""

from __future__ import annotations

import datetime
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import diagnose
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages.verdict import Verdict
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks
from tests.support.calls import Call, Calls
from tests.support.objects import HEADER, node, place, reference, status

FOUND = Verdict("fell_back", "its kubelet refused it")


def test_missing() -> None:
    found = diagnose.missing(place(), nodes.trim(node(config=status(active=reference("old")))))
    assert (found.state, found.final) == ("sync_error", True)
    assert (
        "config-a key kubelet does not exist; its kubelet still runs kube-system/old key kubelet. Push it again"
        in found.message
    )


def test_refusal() -> None:
    problems = checks.problems({**HEADER, "kubeAPIQPS": -1}, 20)
    assert diagnose.refusal(FOUND, "no such key", problems).message == (
        "its kubelet refused it. Cause: no such key. Correct it and run again"
    )
    likely = diagnose.refusal(FOUND, None, problems)
    assert likely.message.startswith(
        "its kubelet refused it. Likely cause: kubeAPIQPS (--kube-api-qps) -1 must not be a negative number (Give 0"
    )
    unknown = diagnose.refusal(FOUND, None, [])
    assert "journalctl -u kubelet" in unknown.message
    assert {(found.state, found.final) for found in (likely, unknown)} == {("fell_back", True)}


MAX_PODS = {"path": "maxPods", "live": 110, "expected": 50, "flags": ["max-pods"]}
DNS = {"path": "clusterDNS", "live": ["a"], "expected": None, "flags": ["cluster-dns", "cluster-dnses"]}
NEW = {"path": "memorySwap.swapBehavior", "live": None, "expected": "b", "flags": []}
NO_FLAG = {"path": "staticPodURLHeader", "live": None, "expected": {}, "flags": []}


@pytest.mark.parametrize(
    ("differences", "minor", "delivery", "cause"),
    [
        (
            [MAX_PODS],
            20,
            "native",
            "maxPods is 110, not 50. Only a flag of its kubelet can override it (--max-pods): remove the flag "
            "(see `systemctl cat kubelet`) or the field",
        ),
        (
            [MAX_PODS, DNS],
            27,
            "checkpoint",
            "maxPods is 110, not 50; clusterDNS is ['a'], not None. Only a flag of its kubelet can override them "
            "(--max-pods, --cluster-dns or --cluster-dnses): remove",
        ),
        (
            [MAX_PODS],
            28,
            "checkpoint",
            "The API does not show whether a flag (--max-pods) or a drop-in in --config-dir overrides it: the "
            "playbook drift names it",
        ),
        ([NO_FLAG], 20, "native", "The cause is unknown, since no flag sets it: see the kubelet's log"),
        ([NO_FLAG], 33, "checkpoint", "whether a drop-in in --config-dir overrides it: the playbook"),
        (
            [NEW, MAX_PODS],
            20,
            "native",
            "Kubelet 1.20 does not have memorySwap.swapBehavior: remove the field. The playbook drift names",
        ),
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
    asked = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": "system:node:n1",
            "groups": ["system:nodes", "system:authenticated"],
            "resourceAttributes": {
                "namespace": "kube-system",
                "verb": "get",
                "version": "v1",
                "resource": "configmaps",
                "name": "config-a",
            },
        },
    }
    with Calls(Call("POST", diagnose.ACCESS_REVIEWS, answer, body=asked)) as session:
        found = diagnose.sync_error(session, "n1", place(), Verdict("sync_error", "cannot fetch"))
    assert (found.state, found.final) == ("sync_error", True)
    assert found.message.startswith("cannot fetch. ") and text in found.message


def test_silence() -> None:
    """By the API server's clock; times with and without fractions of a second, as other kubelets write them."""
    now = datetime.datetime.fromtimestamp(Calls().server_time(), datetime.UTC)
    spec = {
        "n1": {"renewTime": (now - datetime.timedelta(seconds=50)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")},
        "n2": {"renewTime": (now - datetime.timedelta(seconds=90)).strftime("%Y-%m-%dT%H:%M:%SZ")},
        "ahead": {"renewTime": (now + datetime.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")},
        "never": {},
        "none": None,
        "other": {"renewTime": "2026-01-01T00:00:00.000000Z"},
    }
    leases = {"items": [{"metadata": {"name": name}, "spec": value} for name, value in spec.items()]}
    with Calls(Call("GET", diagnose.LEASES, leases)) as session:
        ages = diagnose.silence(session, ["n1", "n2", "ahead", "never", "none", "absent"])
    assert set(ages) == {"n1", "n2", "ahead"}
    assert (ages["n1"], ages["n2"], ages["ahead"]) == (50, 90, 0)


@pytest.mark.parametrize("answer", [ApiError(403, "forbidden"), {}, {"items": None}])
def test_silence_that_cannot_be_known(answer: t.Any) -> None:
    with Calls(Call("GET", diagnose.LEASES, answer)) as session:
        assert diagnose.silence(session, ["n1"]) == {}


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


def test_certificates_that_the_user_may_not_list() -> None:
    with Calls(Call("GET", diagnose.CSRS, ApiError(403, "forbidden"), QUERY)) as session:
        found = diagnose.certificates(session, ["n1"])
    assert "`kubectl get csr`" in found["n1"] and "`kubectl certificate approve <name>`" in found["n1"]


@pytest.mark.parametrize("answer", [{}, {"items": None}])
def test_certificates_of_an_answer_without_any(answer: t.Any) -> None:
    with Calls(Call("GET", diagnose.CSRS, answer, QUERY)) as session:
        assert diagnose.certificates(session, ["n1"]) == {}


def test_without_nodes_nothing_is_asked() -> None:
    with Calls() as session:
        assert diagnose.certificates(session, []) == {}
