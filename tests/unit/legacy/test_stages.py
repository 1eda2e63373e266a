# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The stages with kubelets 1.8 to 1.10, on a simulated cluster."""

from __future__ import annotations

import json
import time
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_requests
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import dump, node_rows, push, verify
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from tests.sim.api.kinds import KINDS
from tests.sim.cluster import Cluster
from tests.sim.kubelets import legacy
from tests.support.api.calls import MERGE
from tests.support.api.objects import place

VERSIONS = {8: "v1.8.15", 9: "v1.9.11", 10: "v1.10.13"}
KIND = {"kind": "KubeletConfiguration"}
ALPHA, BETA = "kubeletconfig/v1alpha1", "kubelet.config.k8s.io/v1beta1"
ALL_NODES = {"nodes": None, "label_selectors": None, "facts": False}


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> t.Iterator[Cluster]:
    """An API server of 1.9, or of a test's version, without nodes, on which kubelets are 50 times faster."""
    with Cluster(getattr(request, "param", VERSIONS[9]), scale=50, tls=False) as made:
        yield made


@pytest.fixture
def session(cluster: Cluster) -> Session:
    return Session({"host": cluster.url})


def configmap(cluster: Cluster, minor: int, name: str = "config-a", **fields: t.Any) -> str:
    whole = {**KIND, "apiVersion": BETA if minor == 10 else ALPHA, **fields}
    made = {"metadata": {"name": name}, "data": {"kubelet": json.dumps(whole)}}
    entry = cluster.store.create(KINDS["configmaps"], "kube-system", made)
    return str(entry.item["metadata"]["uid"])


def options(name: str | None = "config-a", **given: t.Any) -> dict[str, t.Any]:
    wanted: dict[str, t.Any] = {"state": "absent", "source": None}
    if name:
        source = {"namespace": "kube-system", "name": name, "kubelet_config_key": "kubelet"}
        wanted = {"state": "present", "source": source}
    wait = {"wait": True, "wait_timeout": 3, "wait_sleep": 0.1}
    return {**wanted, "nodes": ["n1"], "sources": None, "delivery": "auto", "check_source": True, **wait, **given}


def run(session: Session, name: str | None = "config-a", check_mode: bool = False, **given: t.Any) -> dict[str, t.Any]:
    result = verify.config_source(session, options(name, **given), check_mode)
    return t.cast("dict[str, t.Any]", result["nodes"]["n1"])


def failing(session: Session, **given: t.Any) -> dict[str, t.Any]:
    with pytest.raises(NodesFailed) as caught:
        run(session, **given)
    return t.cast("dict[str, t.Any]", caught.value.result["nodes"]["n1"])


@pytest.mark.parametrize(
    ("cluster", "minor"), [(version, minor) for minor, version in VERSIONS.items()], indirect=["cluster"]
)
def test_assign_wait_and_reset(cluster: Cluster, session: Session, minor: int) -> None:
    """With an API server of the same minor. Forecast and real, each twice: the same rows as for every later kubelet."""
    cluster.simulate("n1", VERSIONS[minor])
    uid = configmap(cluster, minor, maxPods=70)
    before = cluster.node("n1")
    assert run(session, check_mode=True)["changed"] and cluster.node("n1") == before
    assert not {"POST", "PATCH"} & {method for method, _path in cluster.counter.requests}
    cluster.counter.forget()
    row = run(session)
    assert (row["ok"], row["state"], row["changed"]) == (True, "active", True), row
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system"
    writes = [request for request in cluster.counter.requests if request[0] != "GET"]
    assert writes == [("POST", f"{rbac}/roles"), ("POST", f"{rbac}/rolebindings"), ("PATCH", "/api/v1/nodes/n1")]
    assert row["source"] == row["assigned"] == row["active"] == {**place(), "uid": uid}
    assert (row["place"], row["settled"]) == ("checkpoint", True)
    assert cluster.kubelet("n1").configz()["maxPods"] == 70
    assert not run(session, check_mode=True)["changed"] and not run(session)["changed"]
    row = run(session, None)
    assert (row["ok"], row["state"], row["changed"], row["place"]) == (True, "local", True, "local"), row
    assert cluster.kubelet("n1").configz()["maxPods"] == 110 and not run(session, None)["changed"]


@pytest.mark.parametrize("minor", VERSIONS)
@pytest.mark.parametrize(
    ("fields", "words"),
    [({"maxPods": -1}, "it contains an invalid value"), ({"maxPods": "many"}, "it could not")],
)
def test_a_refused_configuration(
    cluster: Cluster, session: Session, minor: int, fields: dict[str, t.Any], words: str
) -> None:
    """The row has the kubelet's own words, their meaning or likely cause, and where it reverted to."""
    cluster.simulate("n1", VERSIONS[minor], **({"init": True} if minor == 9 else {}))
    configmap(cluster, minor, **fields)
    row = failing(session)
    assert (row["state"], row["active"], row["settled"]) == ("fell_back", None, False)
    assert row["error"].startswith(("failed to parse current", "failed to load current", "failed to validate current"))
    local = "the configuration in its --init-config-dir" if minor == 9 else "its local config"
    assert f"reverted to {local}: `{row['error']}`" in row["message"]
    assert words in row["message"] or "ikely cause: maxPods" in row["message"], row["message"]


def test_back_on_the_last_known_good(cluster: Cluster, session: Session) -> None:
    """Its uid is all that the condition has; our annotation knows the name."""
    kubelet = cluster.simulate("n1", VERSIONS[9], graduation=0)
    good, _bad = configmap(cluster, 9, maxPods=70), configmap(cluster, 9, "config-b", maxPods=-1)
    run(session)
    kubelet.restarted()
    row = failing(session, name="config-b")
    assert row["active"] == row["lastKnownGood"] == {**place(), "uid": good}
    assert "its last-known-good, kube-system/config-a key kubelet" in row["message"]


@pytest.mark.parametrize("minor", VERSIONS)
@pytest.mark.parametrize("what", ["informer", "look", "save", "set"])
def test_what_a_kubelet_cannot_do(cluster: Cluster, session: Session, minor: int, what: str) -> None:
    """It still runs what it ran, and the row has its words with their meaning; it takes the source up once it can."""
    kubelet = cluster.simulate("n1", VERSIONS[minor])
    uid, path = configmap(cluster, minor), "/api/v1/namespaces/kube-system/configmaps/config-a"
    kubelet.fails = what
    row = failing(session, wait_timeout=0.3)
    why = legacy.FAULTS[what][minor == 10].format(uid=uid, path=path)
    assert (row["state"], row["error"]) == ("sync_error", f"failed to sync, reason: {why}")
    assert "still runs the local config and reports `failed to sync" in row["message"]
    assert "that is, it " in row["message"] and "(gave up after" in row["message"]
    kubelet.fails = ""
    assert run(session)["state"] == "active"


def test_malformed_sources(cluster: Cluster, session: Session) -> None:
    """What users write by hand: the kubelet's words, and ours."""
    cluster.simulate("n1", VERSIONS[9])
    uid = configmap(cluster, 9)
    ref = {"namespace": "kube-system", "name": "config-a", "uid": "other"}
    found = []
    for source in ({}, {"configMapRef": {"name": "config-a", "namespace": "kube-system"}}, {"configMapRef": ref}):
        cluster.store.patch(KINDS["nodes"], "", "n1", MERGE, {"spec": {"configSource": None}})
        cluster.store.patch(KINDS["nodes"], "", "n1", MERGE, {"spec": {"configSource": source}})
        time.sleep(0.2)
        found.append(node_requests.read(session)["n1"])
        assert node_rows.row(found[-1])["explanation"]
    assert "all were nil" in found[0].error and "all of UID, Name" in found[1].error
    assert "forbid" not in found[2].error and run(session)["source"]["uid"] == uid
    assert node_requests.read(session)["n1"].error == ""


@pytest.mark.parametrize("minor", VERSIONS)
@pytest.mark.parametrize("first", [70, -1])
def test_a_recreated_configmap(cluster: Cluster, session: Session, minor: int, first: int) -> None:
    """The kubelet compares uids, so the same name is assigned again.

    The condition of 1.10 names no uid: until the kubelet restarts, it seems to run or to refuse the new one already.
    """
    cluster.simulate("n1", VERSIONS[minor], delay=20)
    configmap(cluster, minor, maxPods=first)
    if first > 0:
        run(session)
    else:
        assert failing(session)["state"] == "fell_back"
    cluster.store.delete(KINDS["configmaps"], "kube-system", "config-a", {}, False)
    uid = configmap(cluster, minor, maxPods=71)
    row = run(session)
    assert row["changed"] and row["active"]["uid"] == uid and cluster.kubelet("n1").configz()["maxPods"] == 71


def test_without_permission(cluster: Cluster, session: Session) -> None:
    """A Role that cannot be made is the failure of its nodes; nothing is assigned to them."""
    cluster.simulate("n1", VERSIONS[9])
    configmap(cluster, 9)
    cluster.faults.add(403, method="POST", path="/rolebindings")
    row = failing(session)
    assert "grant the verbs get, create and patch on roles" in row["message"]
    assert "configSource" not in cluster.node("n1")["spec"]


def test_a_role_that_was_removed(cluster: Cluster, session: Session) -> None:
    """The kubelet cannot download; the question to the API server names it; a rerun grants it again."""
    cluster.simulate("n1", VERSIONS[9])
    configmap(cluster, 9)
    cluster.faults.add(times=1, method="PATCH", path="/nodes/n1$", then=lambda: forbid(cluster))
    row = failing(session, wait_timeout=1)
    assert row["state"] == "sync_error" and "system:node:n1 is forbidden to read it (no Role)" in row["message"], row
    assert run(session)["state"] == "active"


def forbid(cluster: Cluster) -> None:
    cluster.store.delete(KINDS["rolebindings"], "kube-system", "config-a-reader", {}, False)


@pytest.mark.parametrize("what", ["reset", "default"])
@pytest.mark.parametrize("init", [False, True])
def test_a_reset_that_a_kubelet_cannot_store(cluster: Cluster, session: Session, what: str, init: bool) -> None:
    """Its next start would run the source again: that is no reset, and no leftover of an earlier error."""
    kubelet = cluster.simulate("n1", VERSIONS[9], init=init)
    configmap(cluster, 9, maxPods=-1)
    failing(session)
    kubelet.fails = what
    row = failing(session, name=None, wait_timeout=0.5)
    assert (row["state"], row["source"], row["assigned"]) == ("sync_error", None, None), row
    assert f"`failed to sync, reason: {legacy.FAULTS[what][0]}`" in row["message"]
    assert "check the disk and the rights there (gave up after" in row["message"]
    kubelet.fails = ""
    row = run(session, None)
    assert (row["state"], row["message"]) == ("local", "runs its local config"), row


@pytest.mark.parametrize("minor", VERSIONS)
def test_a_deaf_kubelet(cluster: Cluster, session: Session, minor: int) -> None:
    """The condition that it lacks and both flags are named, and nothing is written."""
    cluster.simulate("n1", VERSIONS[minor], gate=False)
    configmap(cluster, minor)
    row = failing(session, delivery="native")
    flags = ("--feature-gates=DynamicKubeletConfig=true", "--dynamic-config-dir=DIR")
    for words in ("no condition ConfigOK or KubeletConfigOk", *flags):
        assert words in row["message"]
    assert "configSource" not in cluster.node("n1")["spec"]


@pytest.mark.parametrize(("minor", "made_for"), [(9, 10), (8, 10), (10, 9), (20, 9)])
def test_the_api_version_of_another_minor(cluster: Cluster, session: Session, minor: int, made_for: int) -> None:
    cluster.simulate("n1", VERSIONS.get(minor, "v1.20.2"))
    configmap(cluster, made_for)
    message = failing(session)["message"]
    assert f"apiVersion is '{BETA if made_for == 10 else ALPHA}'" in message
    assert f"Write `apiVersion: {ALPHA if minor < 10 else BETA}`" in message


def test_checkpoints_need_a_config_file(cluster: Cluster, session: Session) -> None:
    cluster.simulate("n1", VERSIONS[9])
    configmap(cluster, 9)
    assert "reads no config file" in failing(session, delivery="checkpoint")["message"]


@pytest.mark.parametrize("minor", VERSIONS)
def test_dump(cluster: Cluster, session: Session, minor: int) -> None:
    """With the kind and apiVersion of the minor, and nothing else that /configz does not show."""
    kubelet = cluster.simulate("n1", VERSIONS[minor])
    table = dump.dump(session, ALL_NODES, False)["kubelet_configz"]
    (config,) = table["variants"].values()
    assert (config["kind"], config["apiVersion"]) == ("KubeletConfiguration", BETA if minor == 10 else ALPHA)
    assert {key: config[key] for key in kubelet.configz()} == kubelet.configz()
    assert minor == 10 or set(config) == {*kubelet.configz(), "kind", "apiVersion"}


def test_the_old_path_of_the_proxy(cluster: Cluster, session: Session) -> None:
    """Only where the newer one is not found, and only for kubelets of its time."""
    cluster.simulate("n1", VERSIONS[9])
    cluster.simulate("n2", "v1.20.2")
    cluster.faults.add(404, method="GET", path="/api/v1/nodes/n./proxy/configz")
    with pytest.raises(NodesFailed) as caught:
        dump.dump(session, ALL_NODES, False)
    assert set(caught.value.failures) == {"n2"}
    assert cluster.counter.count(containing="/api/v1/proxy/nodes/") == 1
    # Its permission is another one (apiserver/pkg/endpoints/request/requestinfo.go of 1.9).
    cluster.faults.add(403, method="GET", path="/api/v1/proxy/nodes/")
    with pytest.raises(NodesFailed, match=r"verb proxy on nodes, which the path of API servers up to 1\.9 needs"):
        dump.dump(session, {**ALL_NODES, "nodes": ["n1"]}, False)


BASE = {"name": "base", "namespace": "kube-system", "key": "kubelet"}


def test_prune(cluster: Cluster, session: Session) -> None:
    """A ConfigMap stays that a kubelet runs by its uid alone; the Roles of the others go."""
    cluster.simulate("n1", VERSIONS[9])
    base = {**BASE, "immutable": True, "src": None, "keep_days": 0}
    for pods in (70, 71, 72):
        config = {**KIND, "apiVersion": ALPHA, "maxPods": pods}
        variants = {document.variant(config): config}
        pushed = push.push(session, {**base, "state": "present", "variants": variants}, False)
        (row,) = pushed["configmaps"].values()
        run(session, row["name"])
    pruned = {**base, "state": "pruned"}
    revoked = push.push(session, {**pruned, "access_only": True}, True)
    assert (revoked["pruned"], len(revoked["revoked"])) == ([], 4)
    for check_mode in (True, False):
        result = push.push(session, pruned, check_mode)
        assert len(result["pruned"]) == 1 and len(result["kept"]) == 2
        assert len(result["revoked"]) == 4, "of 70 and 71: the node keeps 71 as its previous one on its disk"
    assert len(cluster.store.tables["configmaps"]) >= 2 and len(cluster.store.tables["roles"]) == 1
    assert not push.push(session, pruned, False)["changed"]


def test_requests_of_later_kubelets_stay_the_same(cluster: Cluster, session: Session) -> None:
    """No request for Roles, and none more: one LIST, one GET of the ConfigMap, one PATCH."""
    cluster.simulate("n1", "v1.20.2")
    cluster.counter.forget()
    configmap(cluster, 10)
    verify.config_source(session, options(wait=False), False)
    assert [method for method, _path in cluster.counter.requests] == ["GET", "GET", "PATCH"]
    push.push(session, {**BASE, "state": "pruned"}, True)
    assert cluster.counter.count(containing="rbac") == 0
