# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lease objects and their requests. What a rollout does with them is in test_lease."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import lease_objects
from tests.sim.api.direct import Direct
from tests.support.calls import Call, Calls

PATH = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
HELD = {"name": "mine", "namespace": "kube-system", "uid": "u", "holder": "me", "duration": 60}


def lease(**fields: t.Any) -> dict[str, t.Any]:
    return {
        "metadata": {
            "namespace": "kube-system",
            "name": "mine",
            "uid": "u",
            "resourceVersion": "9",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": {lease_objects.NODES: '["n1", "n2"]', lease_objects.GROUP: "workers"},
        },
        "spec": {
            "holderIdentity": "me",
            "leaseDurationSeconds": 60,
            "acquireTime": "2026-01-01T00:00:01.000000Z",
            "renewTime": "2026-01-01T00:00:30.500000Z",
        },
        **fields,
    }


def create(api: t.Any, names: t.Sequence[str] = ("n1",)) -> lease_objects.Claim:
    return lease_objects.create(api, "kube-system", "me", "workers", names, 60)


def test_trim() -> None:
    claim = lease_objects.trim(lease())
    assert (claim.holder, claim.group, claim.held, claim.duration) == ("me", "workers", True, 60)
    assert (claim.acquired - claim.created, claim.renewed - claim.created) == (1.0, 30.5)
    assert claim.expires == claim.renewed + 60 + lease_objects.SKEW
    assert claim.shared(["n3", "n2"]) == ["n2"]
    assert claim.lease() == {**HELD, "group": "workers"}


@pytest.mark.parametrize("text", ["garbage", "[" * 200_000])
@pytest.mark.usefixtures("no_garbage")
def test_a_lease_without_values_covers_all_nodes(text: str) -> None:
    """Its times are that of its creation."""
    meta = {**lease()["metadata"], "annotations": {lease_objects.NODES: text}}
    claim = lease_objects.trim(lease(metadata=meta, spec=None))
    assert claim.shared(["n9"]) == ["n9"] and claim.holder == "unknown" and claim.held
    assert claim.renewed == claim.acquired == claim.created


@pytest.mark.parametrize(("one", "other", "older"), [("9", "10", True), ("10", "9", False), ("10", "10", False)])
def test_older_compares_revisions_as_numbers(one: str, other: str, older: bool) -> None:
    found = [
        lease_objects.trim(lease(metadata={**lease()["metadata"], "resourceVersion": revision}))
        for revision in (one, other)
    ]
    assert found[0].older(found[1]) is older


def test_create_and_read() -> None:
    """A new claim is not held; a LIST returns only the claims on the given nodes."""
    api = Direct()
    claim = create(api, ["n2", "n1"])
    assert not claim.held and claim.nodes == {"n1", "n2"}
    assert json.loads(api.leases[claim.name]["metadata"]["annotations"][lease_objects.NODES]) == ["n1", "n2"]
    assert lease_objects.read(api, "kube-system", ["n1", "n9"]) == [claim]
    assert lease_objects.read(api, "kube-system", ["n9"]) == []


def test_renew_marks_as_held() -> None:
    api = Direct()
    claim = create(api)
    api.now += 20
    lease_objects.renew(api, claim.lease(), held=True)
    assert lease_objects.read(api, "kube-system", ["n1"])[0].held


@pytest.mark.parametrize("revision", [None, "9"])
def test_delete_is_bound_to_what_was_read(revision: str | None) -> None:
    preconditions = {"uid": "u", **({"resourceVersion": revision} if revision else {})}
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": preconditions}
    for answer, deleted in (({}, True), (ApiError(404, "gone"), False), (ApiError(409, "changed"), False)):
        with Calls(Call("DELETE", f"{PATH}/mine", answer, (), body)) as session:
            found = lease_objects.delete(session, "kube-system", "mine", "u", revision)
        assert found is deleted


def test_exists() -> None:
    other = lease(metadata={**lease()["metadata"], "uid": "other"})
    for answer, there in ((lease(), True), (other, False), (ApiError(404, "gone"), False)):
        with Calls(Call("GET", f"{PATH}/mine", answer)) as session:
            assert lease_objects.exists(session, HELD) is there
    with Calls(Call("GET", f"{PATH}/mine", ApiError(403, "no"))) as session, pytest.raises(ApiError, match="no"):
        lease_objects.exists(session, HELD)
