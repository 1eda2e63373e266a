# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage push: what becomes a ConfigMap, what cannot, and which ConfigMaps prune removes."""

from __future__ import annotations

import datetime
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import lease, lease_objects, readers
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import push
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document, following
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.sim.api.direct import Clock, Direct
from tests.support.api.calls import CONFIGMAPS, DRY, NODES, Call, Calls
from tests.support.api.objects import HEADER, configmap, node, place, reference, status, text

CONFIG = {**HEADER, "maxPods": 50}
VARIANT = document.variant(CONFIG)
TEXT = document.render(CONFIG)
NAME = document.configmap_name("base", TEXT)
GONE = ApiError(404, "not found", "NotFound")
STAGED = f"{PREFIX}staged-until"
OURS = {"app.kubernetes.io/managed-by": "livenodes.kubelet"}


def day(ahead: int) -> str:
    """Return the day of so many days from now."""
    return (datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=ahead)).isoformat()


def options(**given: t.Any) -> dict[str, t.Any]:
    usual = {"state": "present", "name": "base", "namespace": "kube-system", "key": "kubelet", "immutable": True}
    return {**usual, "variants": None, "src": None, "keep_days": 0, **given}


def body(name: str = NAME, content: str = TEXT, **fields: t.Any) -> dict[str, t.Any]:
    meta = {"namespace": "kube-system", "name": name, "labels": OURS, "annotations": {f"{PREFIX}variant": VARIANT}}
    made = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"kubelet": content}, "immutable": True}
    return {**made, "metadata": meta, **fields}


def get(answer: t.Any, name: str = NAME) -> Call:
    return Call("GET", f"{CONFIGMAPS}/{name}", answer)


def pushed(*calls: Call, check_mode: bool = False, **given: t.Any) -> dict[str, t.Any]:
    """Return the result of a push that sends exactly these requests, by default of CONFIG."""
    if not {"config", "src", "variants"} & given.keys():
        given["variants"] = {VARIANT: CONFIG}
    with Calls(*calls) as session:
        return push.push(session, options(**given), check_mode)


def refused(*calls: Call, words: str, **given: t.Any) -> ClusterError:
    """Return the error of such a push."""
    with pytest.raises(ClusterError, match=words) as caught:
        pushed(*calls, **given)
    return caught.value


@pytest.mark.parametrize(("check_mode", "query"), [(False, ()), (True, DRY)])
def test_creates_what_is_not_there(check_mode: bool, query: t.Any) -> None:
    """Check mode is a dry run."""
    post = Call("POST", CONFIGMAPS, configmap(NAME, TEXT), query, body())
    result = pushed(get(GONE), post, check_mode=check_mode)
    assert result["changed"]
    assert result["configmaps"] == {VARIANT: {"changed": True, "variant": VARIANT, **reference(NAME)}}
    assert result["summary"] == {"configmaps": 1, "created": 1}
    (diff,) = result["diff"]
    assert (diff["before"], diff["after"], NAME in diff["after_header"]) == ("", TEXT, True)


@pytest.mark.parametrize("given", [CONFIG, {"maxPods": 50}])
def test_one_configuration_and_its_source(given: dict[str, t.Any]) -> None:
    """Its kind and apiVersion may be omitted. The source is what node_config_source takes."""
    result = pushed(get(configmap(NAME, TEXT)), config=given)
    assert result["source"] == reference(NAME) and result["diff"] == []
    assert result["configmaps"] == {VARIANT: {"changed": False, "variant": VARIANT, **reference(NAME)}}


def test_mutable() -> None:
    expected = body()
    del expected["immutable"]
    assert pushed(get(GONE), Call("POST", CONFIGMAPS, configmap(NAME, TEXT), (), expected), immutable=False)["changed"]


def test_nothing_to_push() -> None:
    """What a plan without changes asks for."""
    assert pushed(variants={})["changed"] is False


THEIRS = configmap(NAME, text(maxPods=51))


@pytest.mark.parametrize(
    "calls",
    [
        [get(THEIRS)],
        *([get(configmap(NAME, TEXT, data=data))] for data in ({}, None, {"kubelet": TEXT, "other": ""})),
        [get(configmap(NAME, TEXT, binaryData={"other": "AAAA"}))],
        # Another writer has created it since.
        [get(GONE), Call("POST", CONFIGMAPS, ApiError(409, "exists", "AlreadyExists"), (), body()), get(THEIRS)],
    ],
)
def test_content_of_another_writer(calls: list[Call]) -> None:
    """It is neither used nor overwritten."""
    refused(*calls, words=f"kube-system/{NAME}: its content does not match the hash in its name")


LARGE = {**HEADER, "staticPodPath": "x" * (1 << 20)}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"config": {"kind": "Node"}}, "config"),
        ({"config": {7: "maxPods"}}, "config: the key 7 is not text"),
        ({"variants": {document.variant(HEADER): HEADER, "0123456789": CONFIG}}, f"0123456789 has the hash {VARIANT}"),
        ({"variants": {document.variant(LARGE): LARGE}}, "1 MiB"),
        ({"keep_days": 99_999_999}, "keep_days is 99999999: use at most 3650"),
    ],
)
def test_what_cannot_be_pushed(given: dict[str, t.Any], words: str) -> None:
    """Nothing is written, not even what is right."""
    refused(words=words, **given)


def test_one_refusal_does_not_hide_what_was_made() -> None:
    other = document.configmap_name("base", document.render(HEADER))
    calls = get(ApiError(403, "forbidden"), other), get(configmap(NAME, TEXT))
    words = f"^pushing variants: 1 of 2 ConfigMaps could not be created.\nkube-system/{other}: forbidden$"
    error = refused(*calls, words=words, variants={document.variant(HEADER): HEADER, VARIANT: CONFIG})
    assert list(error.result["configmaps"]) == [VARIANT]


def test_file_is_pushed_byte_by_byte(tmp_path: Path) -> None:
    """So that the name is the one that kubectl gives to the same file."""
    content = "# ours\nkind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: 50\n"
    path = tmp_path / "kubelet.yaml"
    path.write_text(content)
    name = document.configmap_name("base", content)
    post = Call("POST", CONFIGMAPS, configmap(name, content), (), body(name, content))
    (row,) = pushed(get(GONE, name), post, src=[str(path)])["configmaps"].items()
    assert (row[0], row[1]["variant"]) == (str(path), VARIANT)


@pytest.mark.parametrize(
    ("content", "text_"),
    [(None, "cannot read"), (b"", "empty"), (b"\xff", "not UTF-8"), (b"maxPods: 1\n", "apiVersion is missing")],
)
def test_files_that_cannot_be_used(content: bytes | None, text_: str, tmp_path: Path) -> None:
    path = tmp_path / "kubelet.yaml"
    if content is not None:
        path.write_bytes(content)
    error = refused(words=rf"^src: .*{text_}", src=[str(path)], variants={VARIANT: CONFIG})
    assert str(path) in error.message


def test_secrets_are_masked_in_the_diff() -> None:
    """The ConfigMap itself has them, of course."""
    config = {**HEADER, "staticPodURLHeader": {"Authorization": ["hunter2"]}}
    content = document.render(config)
    name, variant = document.configmap_name("base", content), document.variant(config)
    expected = body(name, content)
    expected["metadata"]["annotations"][f"{PREFIX}variant"] = variant
    post = Call("POST", CONFIGMAPS, configmap(name, content), (), expected)
    result = pushed(get(GONE, name), post, variants={variant: config})
    (diff,) = result["diff"]
    assert "Authorization" in diff["after"]
    assert "hunter2" not in str(result)


def test_a_staged_configmap_is_marked_when_it_is_created_only() -> None:
    """A later write would change its resourceVersion, and kubelets with native delivery that run it would restart."""
    marked = body()
    marked["metadata"]["labels"] = {**OURS, STAGED: day(7)}
    assert pushed(get(GONE), Call("POST", CONFIGMAPS, configmap(NAME, TEXT), body=marked), keep_days=7)["changed"]
    assert not pushed(get(configmap(NAME, TEXT)), keep_days=7)["changed"]


SUFFIX = "abcdefghkm"
IDLE = f"base-{SUFFIX}"


def cluster(*idle: str, nodes: t.Sequence[dict[str, t.Any]] = (), clock: Clock | None = None) -> Direct:
    """Return an API server with these ConfigMaps and nodes, by default one that uses none of them."""
    return Direct(*(nodes or [node("n1")]), configmaps=[configmap(name, TEXT) for name in idle], clock=clock)


def prune(api: Direct, check_mode: bool = False) -> dict[str, t.Any]:
    """Prune; its own Lease must not stay."""
    try:
        return push.push(api, options(state="pruned"), check_mode)
    finally:
        assert not any(item["spec"]["holderIdentity"].startswith("prune on ") for item in api.leases.values())


@pytest.mark.parametrize("check_mode", [False, True])
def test_prune_removes_unused_configmaps(check_mode: bool) -> None:
    """Also one that a node has from another namespace."""
    api = cluster(IDLE, nodes=[node("n1", {**place(IDLE), "namespace": "other"})])
    result = prune(api, check_mode)
    assert list(api.configmaps) == ([IDLE] if check_mode else [])
    (asked,) = api.bodies(f"DELETE {CONFIGMAPS}/*")
    assert asked["preconditions"] == {"uid": f"uid-{IDLE}", "resourceVersion": "7"}
    assert (result["changed"], result["pruned"], result["kept"]) == (True, [IDLE], [])
    assert result["summary"] == {"pruned": 1, "kept": 0}
    assert (result["diff"][0]["before"], result["diff"][0]["after"]) == (TEXT, "")


@pytest.mark.parametrize(
    "using",
    [
        {"source": place(IDLE)},
        {"config": status(assigned=reference(IDLE, "1"))},
        {"config": status(active=reference(IDLE, "1"))},
        {"config": status(good=reference(IDLE, "1"))},
    ],
)
def test_prune_keeps_what_any_node_has_anywhere(using: dict[str, t.Any]) -> None:
    """Also a node that is not Ready and whose kubelet has another version by now."""
    result = prune(cluster(IDLE, nodes=[node("n1"), node("n2", ready="Unknown", version="v1.24.0", **using)]))
    assert (result["changed"], result["pruned"], result["kept"]) == (False, [], [IDLE])


@pytest.mark.parametrize(
    "name", ["other-abcdefghkm", "base-gpu-abcdefghkm", "base", "base-short", "base-abcdefghkmn", "mybase-abcdefghkm"]
)
def test_prune_keeps_other_names(name: str) -> None:
    """A name that begins like ours is not ours: ours is the first part and the hash, nothing between them."""
    result = prune(cluster(name))
    assert (result["changed"], result["kept"]) == (False, [name])


def test_prune_revokes_what_followers_no_longer_read() -> None:
    """Each ConfigMap that a rollout has assigned to a node with a follower has a Role of its own."""
    notes = {following.FOLLOWER: following.text(following.Answer())}
    followed = node("n1", version="v1.33.0", marked=reference("base-new"))
    followed["metadata"]["annotations"].update(notes)
    api = cluster(nodes=[followed])
    places = {("kube-system", name): ["n1"] for name in ("base-old", "base-new")}
    readers.grant(api, places, False)
    assert prune(api)["revoked"] == ["RoleBinding kube-system/base-old-reader", "Role kube-system/base-old-reader"]
    assert readers.grant(api, places, True)[0] == [
        "Role kube-system/base-old-reader",
        "RoleBinding kube-system/base-old-reader",
    ]
    assert not prune(api)["changed"]


def test_prune_reports_what_could_not_be_removed() -> None:
    two = f"base-{SUFFIX[::-1]}"
    api = cluster(IDLE)
    api.configmaps.add(configmap(two, "garbage: ["))
    api.answers[f"DELETE */{IDLE}"] = ApiError(403, "forbidden")
    with pytest.raises(ClusterError, match=f"{IDLE}: forbidden") as caught:
        prune(api)
    assert list(api.configmaps) == [IDLE]
    assert (caught.value.result["changed"], caught.value.result["pruned"]) == (True, [two])


def under_way(api: Direct, held: bool = True) -> dict[str, t.Any]:
    """A rollout of one node of the cluster holds, or claims, its Lease."""
    claim = lease_objects.create(api, "kube-system", "ops@bastion", "workers", ["n7"], 300)
    if held:
        lease_objects.renew(api, claim.lease(), held=True)
    return claim.lease()


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(lease, "time", made)
    return made


@pytest.mark.parametrize("held", [True, False])
def test_prune_removes_nothing_while_a_rollout_is_under_way(waits: Clock, held: bool) -> None:
    """It may have pushed what it has not assigned yet. Nothing is read, and its Lease stays."""
    api = cluster()
    mine = under_way(api, held)
    with pytest.raises(ClusterError) as caught:
        prune(api)
    assert list(api.leases) == [mine["name"]]
    assert all("/leases" in path for _method, path in api.requests)
    first, second, third = caught.value.message.splitlines()
    assert first == "a rollout is under way, and may have pushed ConfigMaps that no node uses yet; nothing was pruned."
    state = "has been rolling out to" if held else "has been waiting to roll out to"
    assert second.startswith(f"ops@bastion {state} workers since ") and second.endswith("after the last renewal.")
    assert third.startswith("Wait until it is done and run again. ")
    assert [row["holder"] for row in caught.value.result["obstacles"]] == ["ops@bastion"]


def test_prune_waits_for_a_claim_that_is_withdrawn(waits: Clock) -> None:
    api = cluster()
    under_way(api, held=False)
    waits.at(3, api.leases.clear)
    assert not prune(api)["changed"]


def test_prune_in_check_mode_warns_of_a_rollout(waits: Clock) -> None:
    api = cluster(IDLE)
    under_way(api)
    result = prune(api, True)
    assert len(api.leases) == 1
    assert result["pruned"] == [IDLE] and result["warnings"][0].startswith("a rollout is under way")


def test_no_rollout_begins_while_prune_runs(waits: Clock) -> None:
    """Any rollout, since the Lease covers all nodes."""
    api = cluster()
    given = {"state": "held", "group": "batch", "holder": "me", "duration": 300, "wait": 0, "lease": None}
    refused: list[str] = []

    def begin() -> None:
        with pytest.raises(ClusterError) as caught:
            lease.lease(api, {**given, "namespace": "kube-system", "nodes": ["n5"]}, False)
        refused.append(caught.value.message)

    api.before(f"GET {NODES}", begin)
    prune(api)
    assert " has been rolling out to all nodes since " in refused[0] and "Nodes in both rollouts: n5." in refused[0]


def test_prune_stops_when_it_loses_its_lease(waits: Clock) -> None:
    """Its node list took long, and a rollout has taken the Lease over."""
    api = cluster(IDLE, clock=waits)
    api.before(f"GET {NODES}", lambda: (waits.sleep(60), api.leases.clear()))
    with pytest.raises(ClusterError, match=f"{IDLE}: this rollout lost its Lease"):
        prune(api)
    assert list(api.configmaps) == [IDLE]


@pytest.mark.parametrize("check_mode", [False, True])
def test_prune_on_an_api_server_without_leases(check_mode: bool) -> None:
    """Older than 1.14: no rollout can hold one either."""
    api = cluster()
    api.store.minor = 13
    assert not prune(api, check_mode)["changed"]


@pytest.mark.parametrize(("days", "kept"), [(-1, False), (0, True), (7, True), (None, False)])
def test_a_staged_configmap_is_kept_until_its_day(days: int | None, kept: bool) -> None:
    """A label that is not a day protects nothing: no later prune would remove the ConfigMap."""
    api = cluster(IDLE)
    api.configmaps[IDLE]["metadata"]["labels"][STAGED] = "soon" if days is None else day(days)
    result = prune(api)
    assert (result["kept"], result["pruned"]) == (([IDLE], []) if kept else ([], [IDLE]))


@pytest.mark.parametrize(("days", "gone"), [(-1, 2), (0, 0)])
def test_what_a_seed_refers_to_is_kept_until_its_day(days: int, gone: int) -> None:
    """A ConfigMap without data names it, and goes with it."""
    until = day(days)
    mark, other = f"{IDLE}-seed-{until}", f"other-{SUFFIX}-seed-{until}"
    api = cluster(IDLE, mark, other)
    for name in (mark, other):
        meta = api.configmaps[name]["metadata"]
        meta["labels"][STAGED] = until
        meta["annotations"] = {f"{PREFIX}seed-of": name.partition("-seed-")[0]}
    assert prune(api)["pruned"] == [IDLE, mark][:gone]
