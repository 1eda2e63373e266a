# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finding drift: what is asked, and what is made of the answers."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import drift, dump
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, document
from tests.sim.api.direct import Direct
from tests.support.api.calls import CONFIGMAPS, NODES
from tests.support.api.objects import Reference, configmap, live, node, place, reference, status, text

TEXT = text(maxPods=50)
NAME = document.configmap_name("config", TEXT)
A, B = reference(NAME), reference("config-b")
CLUSTER_CONFIG = "apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterConfiguration\nkubernetesVersion: v1.20.2\n"


def runs(name: str = "n1", source: Reference = A, **given: t.Any) -> dict[str, t.Any]:
    """A node that runs what it should."""
    return node(name, {key: source[key] for key in place()}, **{"config": status(source, source), **given})


def cluster(*nodes: dict[str, t.Any], maps: t.Sequence[dict[str, t.Any]] | None = None, **configz: t.Any) -> Direct:
    return Direct(
        *nodes,
        configmaps=[configmap(NAME, TEXT)] if maps is None else maps,
        live={item["metadata"]["name"]: configz.get(item["metadata"]["name"], live(maxPods=50)) for item in nodes},
    )


def run(api: t.Any, **options: t.Any) -> dict[str, t.Any]:
    names = ("nodes", "label_selectors", "node_configs", "hosts", "flags", "deliveries", "kubeadm_configs", "current")
    return drift.detect(api, {**dict.fromkeys(names), **options}, False)


def rows(api: Direct, **options: t.Any) -> list[dict[str, t.Any]]:
    return t.cast("list[dict[str, t.Any]]", run(api, **options)["nodes"]["n1"]["drift"])


def causes(api: Direct, **options: t.Any) -> dict[str, str]:
    return {row["path"]: row["cause"] for row in rows(api, **options)}


@pytest.mark.parametrize("count", [1, 3, 40])
def test_one_list_one_configz_a_node_one_get_a_distinct_configmap(count: int) -> None:
    names = [f"n{number}" for number in range(count)]
    api = cluster(*(runs(name) for name in names))
    result = run(api, nodes=names, node_configs={name: {"maxPods": 50} for name in names})
    paths = [NODES, f"{CONFIGMAPS}/{NAME}", *(f"{NODES}/{name}/proxy/configz" for name in names)]
    assert sorted(api.requests) == sorted(("GET", path) for path in paths)
    assert result["summary"] == {"nodes": count, "drifted": 0, "differences": 0, "causes": {}, "not_looked_at": []}
    assert result["changed"] is False and result["text"][-1].startswith("drift: ")


def test_what_was_just_dumped_is_not_read_again() -> None:
    """Nodes that the table does not have are."""
    api = cluster(runs("n1"), runs("n2"), n2=live(maxPods=40))
    table = dump.dump(api, {"nodes": None, "label_selectors": None, "facts": False}, False)["kubelet_configz"]
    read = run(api)
    api.asked.clear()
    assert run(api, current=table) == read
    assert not api.bodies(f"GET {NODES}/*/proxy/configz")
    del table["nodes"]["n2"]
    assert run(api, current=table) == read
    assert (api.count("GET", f"{NODES}/n1/proxy/configz"), api.count("GET", f"{NODES}/n2/proxy/configz")) == (0, 1)
    for wrong in ({"nodes": {"n1": {}}}, {"nodes": {"n1": {"variant": "x"}}, "variants": {}}, {"nodes": []}):
        with pytest.raises(ClusterError, match="current is not a result of kubelet_configz_facts"):
            run(api, current=wrong)


def test_a_profile_declares_what_the_minor_of_the_node_has() -> None:
    declared = {"n1": {"kubelet_config_profile": "cis-1.12", "kubelet_config": {"maxPods": 50}}}
    found = causes(cluster(runs()), node_configs=declared)
    assert found["podPidsLimit"] == "not rolled out" and not {"seccompDefault", "maxPods"} & found.keys()


def test_assigned_elsewhere_is_read_once_more() -> None:
    waiting = node("n1", {key: A[key] for key in place()}, status(B, B))
    api = cluster(waiting, maps=[configmap(NAME, TEXT), configmap("config-b", text(maxPods=40))], n1=live(maxPods=40))
    [row] = rows(api)
    assert (row["pushed"], row["assigned"], row["live"], row["cause"]) == (50, 40, 40, "not restarted")
    assert len(api.requests) == 4


def test_an_assigned_revision_that_the_configmap_no_longer_has_is_not_known() -> None:
    [row] = rows(cluster(runs(), maps=[configmap(NAME, text(maxPods=40), "8")]))
    assert (row["pushed"], row["assigned"], row["live"], row["cause"]) == (40, None, 50, "configmap changed")


DECLARED = {"node_configs": {"n1": {"maxPods": 60}}}
THEIRS = configmap("config-b", TEXT)
del THEIRS["metadata"]["labels"]
CHANGED = {"(config source)": "configmap changed"}
EDITED = configmap(NAME, text(maxPods=50, eventBurst=7), "7")
FELL_BACK = runs(config=status(A, None, error="failed to load"))


@pytest.mark.parametrize(
    ("api", "options", "expected"),
    [
        (cluster(runs()), DECLARED, {"maxPods": "not rolled out"}),
        (cluster(runs(), maps=[]), {}, {"(config source)": "configmap gone"}),
        (cluster(runs(), maps=[]), DECLARED, {"maxPods": "configmap gone"}),
        (cluster(runs(), maps=[EDITED], n1=live(maxPods=50, eventBurst=7)), {}, CHANGED),
        (cluster(runs(), maps=[configmap(NAME, TEXT, "8")]), {}, CHANGED),
        (cluster(FELL_BACK, n1=live(maxPods=110)), {}, {"maxPods": "fell back"}),
        (cluster(runs(source=B), maps=[THEIRS]), DECLARED, {"maxPods": "foreign source"}),
        (cluster(runs(source=B), maps=[THEIRS]), {}, {}),
        (cluster(runs(), n1=live(maxPods=61)), {"flags": {"n1": ["--max-pods=61"]}}, {"maxPods": "flag"}),
        (cluster(runs(), n1=live(maxPods=61)), {"flags": {"n1": "--v=2,--max-pods=61"}}, {"maxPods": "flag"}),
    ],
)
def test_causes_of_the_api(api: Direct, options: dict[str, t.Any], expected: dict[str, str]) -> None:
    assert causes(api, **options) == expected


@pytest.mark.parametrize(("seed", "named"), [(True, True), (False, False), ("yes", False)])
def test_a_seed_that_is_older_than_the_group_is_named(seed: t.Any, named: bool) -> None:
    born = node(version="v1.30.2", marked=A, reported=status(A, A))
    born["metadata"]["annotations"][annotation.SOURCE] = annotation.text({"configMap": A, "seed": seed})
    (row,) = rows(cluster(born), **DECLARED)
    assert row["cause"] == "not rolled out" and ("the seed of the node is older" in row["message"]) is named
    assert rows(cluster(born), node_configs={"n1": {"maxPods": 50}}) == []


def record(*own: t.Any, **more: t.Any) -> dict[str, t.Any]:
    """Return the record of the node's own values."""
    return {"complete": True, "source": NAME, "absent": [], "own": {"maxPods": [*own]}, **more}


@pytest.mark.parametrize(
    ("own", "declared", "message"),
    [
        ([110], {}, "the node's own value is 110"),
        ([None], {}, "the node's own value is absent"),
        ([], {}, "the node's own value is not known"),
        ([110], {"n1": {"maxPods": 50}}, ""),
        ([50], {}, ""),
        # It is not known what the inventory declares.
        ([110], None, ""),
    ],
)
def test_a_value_that_is_no_longer_declared(own: list[t.Any], declared: t.Any, message: str) -> None:
    found = rows(cluster(runs(own=record(*own))), node_configs=declared)
    assert [(row["path"], row["cause"]) for row in found] == [("maxPods", "no longer declared")] * bool(message)
    assert all(message in row["message"] and (row["pushed"], row["live"]) == (50, 50) for row in found), found


GONE = f"a rollout assigned the ConfigMap {NAME} to the node, and another user has removed"
ABSENT = "config-b key kubelet cannot be used: there is no such ConfigMap"


@pytest.mark.parametrize(
    ("changed", "message", "remedy"),
    [
        # Removed by hand; assigned by hand, and absent.
        (node(own=record(110), config=status()), GONE, "Find out who rem"),
        (runs(source=B, own=record(110)), ABSENT, "Find out who assigned it."),
    ],
)
def test_a_source_that_another_user_changed(changed: dict[str, t.Any], message: str, remedy: str) -> None:
    [row] = rows(cluster(changed, n1=live(maxPods=110)), node_configs={"n1": {"maxPods": 50}})
    assert row["path"] == "maxPods" and row["remedy"].startswith(remedy), row
    assert message in row["message"] and "push it first" not in row["message"], row


def test_a_default_that_the_source_leaves_to_the_kubelet_is_no_drift() -> None:
    """The node's own file does not set the field either. Nor is the record of a node on its local config."""
    bare = reference(document.configmap_name("config", text()))
    for absent, expected in ((["maxPods"], {}), ([], {"maxPods": "no longer declared"})):
        found = runs(source=bare, version="v1.22.1", own=record(None, source=bare["name"], absent=absent))
        assert causes(cluster(found, maps=[configmap(bare["name"], text())]), node_configs={}) == expected
    assert causes(cluster(node(own=record(110), config=status())), node_configs={}) == {}


def test_a_kubelet_that_does_not_answer_is_drift_too() -> None:
    api = cluster(runs("n1"), runs("n2"), n1=ApiError(503, "no route", transient=True))
    result = run(api)
    [row] = result["nodes"]["n1"]["drift"]
    assert (row["path"], row["cause"]) == ("(config source)", "unknown") and "no route" in row["message"]
    assert result["nodes"]["n2"]["drift"] == []


def test_a_configmap_that_may_not_be_read_is_not_gone() -> None:
    api = cluster(runs())
    api.answers[f"GET {CONFIGMAPS}/{NAME}"] = ApiError(403, "configmaps is forbidden", "Forbidden")
    with pytest.raises(ClusterError, match=r"Grant the verb get on configmaps.*\nkube-system/config-.*forbidden"):
        run(api)


def test_what_was_seen_on_the_hosts() -> None:
    content = {"maxPods": 50, "eventBurst": 9}
    disk = {"path": "/f", "content": content, "changed": 2.0, "started": 1.0, "checkpoint": None, "dropins": {}}
    hosts = {
        "n1": {"kubelet": {}, "disk": disk},
        "n2": {"unreachable": True, "msg": "no ssh"},
        "n3": {"msg": "no systemd", "failed": False},
        "n4": {"skipped": True},
        "n6": {"kubelet": {}, "disk": {"content": ["maxPods"]}},
        "n7": {"kubelet": None},
    }
    result = run(cluster(*(runs(f"n{number}") for number in range(1, 8))), hosts=hosts)
    assert [row["host"] for row in result["nodes"].values()] == [
        "looked at",
        "not looked at on the node: no ssh",
        "not looked at on the node: no systemd",
        "",
        "",
        "not looked at on the node: what its host returned is malformed at disk.content",
        "not looked at on the node: kubelet_preflight_info has not read it",
    ]
    assert result["summary"]["not_looked_at"] == ["n2", "n3", "n6", "n7"]
    [row] = result["nodes"]["n1"]["drift"]
    assert (row["path"], row["disk"], row["live"], row["cause"]) == ("eventBurst", 9, 10, "edited file")


def test_the_delivery_that_is_asked_for() -> None:
    found = node("n1", None, {}, marked=A, reported=status(A, A))
    assert run(cluster(found))["nodes"]["n1"]["delivery"] == "checkpoint"
    assert run(cluster(found), deliveries={"n1": "native"})["nodes"]["n1"]["delivery"] == "native"


@pytest.mark.parametrize(("has", "asked"), [("checkpoint", "dropin"), ("dropin", "checkpoint")])
def test_a_node_keeps_its_delivery_until_a_migration(has: str, asked: str) -> None:
    """Before it has a drop-in its kubelet does not read one, which is no drift."""
    found = node("n1", marked=A, delivery=has, reported=status(A, A), version="v1.36.2")
    assert run(cluster(found), deliveries={"n1": asked})["nodes"]["n1"]["delivery"] == has


def test_kubeadm_is_asked_only_where_that_is_wanted() -> None:
    maps = [
        configmap(NAME, TEXT),
        configmap("kubeadm-config", data={"ClusterConfiguration": CLUSTER_CONFIG}),
        configmap("kubelet-config-1.20", text(maxPods=40)),
    ]
    declared = {"n1": {"maxPods": 50}}
    api = cluster(runs(), maps=maps)
    [row] = rows(api, node_configs=declared, kubeadm_configs=declared)
    assert (row["path"], row["kubeadm"], row["declared"], row["cause"]) == ("maxPods", 40, 50, "kubeadm")
    assert len(api.requests) == 5
    with pytest.raises(ClusterError, match="so kubeadm did not create it"):
        run(cluster(runs()), kubeadm_configs=declared)
    maps[2]["data"]["kubelet"] = "kind: Other\n"
    with pytest.raises(ClusterError, match=r"kubelet-config-1\.20: .*apiVersion is missing"):
        run(cluster(runs(), maps=maps), kubeadm_configs=declared)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"node_configs": {"n1": "a: ["}}, "node_configs: the configuration of node n1, line 1"),
        ({"node_configs": {"n1": {"evictionHard": 1}}}, "the configuration of node n1: "),
        ({"flags": {"n1": "--a='61"}}, r"^flags of node n1 \(kubelet_config_flags\): .* Close each quote"),
        *(
            ({"deliveries": {"n1": wrong}}, r"^deliveries: node n1 has the unknown delivery .*: use auto, native")
            for wrong in ("checkpint", "none", "", None, 5, ["native"])
        ),
    ],
)
def test_options_that_are_refused(options: dict[str, t.Any], words: str) -> None:
    """A delivery that does not exist before any request."""
    api = cluster(runs())
    with pytest.raises(ClusterError, match=words):
        run(api, **options)
    assert not api.requests or "deliveries" not in options


def test_another_form_is_distinguished() -> None:
    result = run(cluster(runs(), maps=[configmap(NAME, TEXT)]), node_configs={"n1": "maxPods: 50\nreadOnlyPort: 0"})
    assert result["nodes"]["n1"]["drift"] == []
    assert [row["path"] for row in result["nodes"]["n1"]["rendering"]] == ["readOnlyPort"]
