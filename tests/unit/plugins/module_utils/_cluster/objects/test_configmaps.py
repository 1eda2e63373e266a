# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ConfigMap requests."""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import configmaps
from tests.support.calls import CONFIGMAPS, DRY, MERGE, Call, Calls
from tests.support.objects import configmap, items, reference

GONE = ApiError(404, 'configmaps "config-a" not found', "NotFound")
CONFLICT = ApiError(409, 'configmaps "config-a" already exists', "AlreadyExists")
OPTIONS = {
    "kind": "DeleteOptions",
    "apiVersion": "v1",
    "preconditions": {"uid": "uid-config-a", "resourceVersion": "7"},
}


def test_paths() -> None:
    assert configmaps.path("kube-system") == CONFIGMAPS
    assert configmaps.path("kube-system", "a") == f"{CONFIGMAPS}/a"
    assert configmaps.path("a b", "c?d#e") == "/api/v1/namespaces/a%20b/configmaps/c%3Fd%23e"
    assert configmaps.path("a", "../secrets/x") == "/api/v1/namespaces/a/configmaps/..%2Fsecrets%2Fx"


def test_read() -> None:
    with Calls(
        Call("GET", f"{CONFIGMAPS}/config-a", configmap()), Call("GET", f"{CONFIGMAPS}/config-a", GONE)
    ) as session:
        assert configmaps.read(session, "kube-system", "config-a") == configmap()
        assert configmaps.read(session, "kube-system", "config-a") is None


def test_read_refused() -> None:
    with (
        Calls(Call("GET", f"{CONFIGMAPS}/config-a", ApiError(403, "forbidden"))) as session,
        pytest.raises(ApiError, match="forbidden"),
    ):
        configmaps.read(session, "kube-system", "config-a")


def test_read_managed() -> None:
    query = [("labelSelector", "app.kubernetes.io/managed-by=livenodes.kubelet")]
    with Calls(
        Call("GET", CONFIGMAPS, items(configmap()), query), Call("GET", CONFIGMAPS, {"items": None}, query)
    ) as session:
        assert configmaps.read_managed(session, "kube-system") == [configmap()]
        assert configmaps.read_managed(session, "kube-system") == []


@pytest.mark.parametrize(("dry_run", "query"), [(False, ()), (True, DRY)])
def test_create(dry_run: bool, query: tuple[tuple[str, str], ...]) -> None:
    with Calls(Call("POST", CONFIGMAPS, configmap(revision="8"), query, configmap())) as session:
        assert configmaps.create(session, configmap(), dry_run) == configmap(revision="8")


def test_create_a_configmap_that_exists() -> None:
    there = configmap(content="theirs")
    with Calls(
        Call("POST", CONFIGMAPS, CONFLICT, (), configmap()), Call("GET", f"{CONFIGMAPS}/config-a", there)
    ) as session:
        assert configmaps.create(session, configmap(), False) == there


def test_create_after_a_conflict_with_a_deleted_configmap() -> None:
    calls = Call("POST", CONFIGMAPS, CONFLICT, (), configmap()), Call("GET", f"{CONFIGMAPS}/config-a", GONE)
    with Calls(*calls) as session, pytest.raises(ApiError) as caught:
        configmaps.create(session, configmap(), False)
    assert caught.value is CONFLICT


def test_create_refused() -> None:
    with (
        Calls(Call("POST", CONFIGMAPS, ApiError(403, "forbidden"), (), configmap())) as session,
        pytest.raises(ApiError, match="forbidden"),
    ):
        configmaps.create(session, configmap(), False)


@pytest.mark.parametrize("dry_run", [False, True])
def test_delete_is_bound_to_what_was_read(dry_run: bool) -> None:
    """A dry run is requested in the body: with a body, the API server ignores the query parameter."""
    body = {**OPTIONS, "dryRun": ["All"]} if dry_run else OPTIONS
    with Calls(Call("DELETE", f"{CONFIGMAPS}/config-a", {}, body=body)) as session:
        configmaps.delete(session, configmap(), dry_run)


def test_delete_what_is_gone_or_changed() -> None:
    with Calls(
        Call("DELETE", f"{CONFIGMAPS}/config-a", GONE, (), OPTIONS),
        Call("DELETE", f"{CONFIGMAPS}/config-a", CONFLICT, (), OPTIONS),
    ) as session:
        configmaps.delete(session, configmap(), False)
        with pytest.raises(ApiError, match="already exists"):
            configmaps.delete(session, configmap(), False)


def test_reference() -> None:
    assert configmaps.reference(configmap(), "kubelet") == reference()
    dry = configmap()
    del dry["metadata"]["resourceVersion"]
    assert configmaps.reference(dry, "kubelet") == reference(revision="")


@pytest.mark.parametrize("dry_run", [False, True])
def test_write_key(dry_run: bool) -> None:
    """Only the revision that was read is overwritten, and only the one key."""
    body = {"metadata": {"resourceVersion": "7"}, "data": {"kubelet": "x"}}
    stored = configmap(content="x", revision="8")
    calls = [
        Call("PATCH", f"{CONFIGMAPS}/config-a", answer, DRY if dry_run else (), body, MERGE)
        for answer in (stored, CONFLICT)
    ]
    with Calls(*calls) as session:
        assert configmaps.write_key(session, configmap(), "kubelet", "x", dry_run) == stored
        with pytest.raises(ApiError, match="already exists"):
            configmaps.write_key(session, configmap(), "kubelet", "x", dry_run)


def test_an_api_server_without_dry_runs() -> None:
    """Nothing is sent."""
    with Calls(old=True) as session:
        assert configmaps.create(session, configmap(), True) == configmap()
        assert configmaps.write_key(session, configmap(), "kubelet", "x", True) == configmap(content="x")
        configmaps.delete(session, configmap(), True)
