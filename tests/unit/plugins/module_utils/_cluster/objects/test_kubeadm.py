# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ConfigMap of kubeadm: its name, the overrides in it, and that no other change is lost."""

from __future__ import annotations

import re
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import kubeadm
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import push
from ansible_collections.livenodes.kubelet.plugins.module_utils._config import profiles, rollback
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from tests.support.api.calls import CONFIGMAPS, DRY, MERGE, NODES, PAGE, Call, Calls
from tests.support.api.objects import configmap, items, node, reference

NAME = "kubelet-config-1.20"
# The names of kubeadm 1.23.
BOTH = ("kubelet-config", "kubelet-config-1.23")
# As kubeadm writes it: YAML, zero durations included.
TEXT = """apiVersion: kubelet.config.k8s.io/v1beta1
clusterDNS:
- 10.96.0.10
kind: KubeletConfiguration
logging: {}
staticPodPath: /etc/kubernetes/manifests
syncFrequency: 0s
"""
CONFIG = document.parse(TEXT, "test")
GONE = ApiError(404, "not found", "NotFound")
CONFLICT = ApiError(409, "the object has been modified", "Conflict")
EVENTS = {"n1": {"eventBurst": 31}, "n2": {"eventBurst": 31, "maxPods": 50}}
WANTED = document.render({**CONFIG, "eventBurst": 31})


def pushed(*calls: Call | list[Call], check_mode: bool = False, **given: t.Any) -> dict[str, t.Any]:
    """Return the result of a call with these requests."""
    options = {"state": "kubeadm", "node_configs": EVENTS, "other_configs": None, **given}
    with Calls(*calls) as session:
        return push.push(session, options, check_mode)


def refused(*calls: Call | list[Call], **given: t.Any) -> ClusterError:
    """Return the error of a call with these requests."""
    with pytest.raises(ClusterError) as caught:
        pushed(*calls, **given)
    return caught.value


def listed(*names: str) -> Call:
    """The nodes of the cluster, by default one that the options name."""
    return Call("GET", NODES, items(*(node(name) for name in names or ("n1",))), PAGE)


def cluster(version: str = "v1.20.2", **data: str) -> Call:
    text = f"apiVersion: kubeadm.k8s.io/v1beta2\nkind: ClusterConfiguration\nkubernetesVersion: {version}\n"
    return get(configmap("kubeadm-config", data=data or {"ClusterConfiguration": text}), "kubeadm-config")


def get(content: t.Any = TEXT, name: str = NAME, revision: str = "7") -> Call:
    if isinstance(content, str):
        content = configmap(name, content, revision)
    return Call("GET", f"{CONFIGMAPS}/{name}", content)


def patch(
    answer: t.Any = None, content: str = WANTED, name: str = NAME, revision: str = "7", dry_run: bool = False
) -> Call:
    body = {"metadata": {"resourceVersion": revision}, "data": {"kubelet": content}}
    if answer is None:
        answer = configmap(name, content, "8")
    return Call("PATCH", f"{CONFIGMAPS}/{name}", answer, DRY if dry_run else (), body, MERGE)


def test_what_is_common_is_written_and_nothing_else() -> None:
    """Two GETs and a PATCH of one key, which contains the resourceVersion that was read."""
    result = pushed(cluster(), get(), listed(), patch())
    variant = document.variant({**CONFIG, "eventBurst": 31})
    row = {"changed": True, "changes": ["eventBurst"], "refused": "", "variant": variant, **reference(NAME, "8")}
    assert result["changed"] and result["summary"] == {"configmaps": 1, "updated": 1}
    assert result["configmaps"] == {NAME: row}
    (diff,) = result["diff"]
    assert (diff["before"], diff["after"]) == (document.render(CONFIG), WANTED)
    assert diff["after_header"] == f"ConfigMap kube-system/{NAME}"
    assert result["warnings"] == []


def test_check_mode_is_a_dry_run_and_warns() -> None:
    result = pushed(cluster(), get(), listed(), patch(configmap(NAME, WANTED), dry_run=True), check_mode=True)
    (warning,) = result["warnings"]
    assert (result["changed"], result["configmaps"][NAME]["changes"]) == (True, ["eventBurst"])
    assert f"ConfigMap kube-system/{NAME} is not in sync with the nodes: eventBurst. " in warning
    assert "kubelet_config_kubeadm: update" in warning


@pytest.mark.parametrize("check_mode", [False, True])
@pytest.mark.parametrize(
    "node_configs",
    [
        {"n1": {"eventBurst": 31}, "n2": None},
        {"n1": {"resolvConf": "/x"}},
        {"n1": []},
        {"n1": "syncFrequency: 60s\nclusterDNS: [10.96.0.10]\n"},
        {"n1": [{"eventBurst": 31}, {"eventBurst": None}]},
        {"n1": {"maxPods": 110}},
    ],
)
def test_nothing_is_written_when_it_means_the_same_already(node_configs: dict[str, t.Any], check_mode: bool) -> None:
    result = pushed(cluster(), get(), check_mode=check_mode, node_configs=node_configs)
    row = {"changed": False, "changes": [], "refused": "", **reference(NAME)}
    assert {key: value for key, value in result["configmaps"][NAME].items() if key != "variant"} == row
    assert (result["changed"], result["summary"]) == (False, {"configmaps": 1, "updated": 0})
    assert (result["diff"], result["warnings"]) == ([], [])


def test_removing_a_field_is_a_change() -> None:
    wanted = document.render({key: value for key, value in CONFIG.items() if key != "clusterDNS"})
    result = pushed(cluster(), get(), listed(), patch(content=wanted), node_configs={"n1": {"clusterDNS": None}})
    assert result["configmaps"][NAME]["changes"] == ["clusterDNS"]


# Not in the inventory, nothing declared, another value, removed again, declared for no node of the cluster.
REMOVED = {"n3": [{"eventBurst": 31}, {"eventBurst": None}]}
PART = [None, {"n3": {}}, {"n3": {"eventBurst": 32}}, REMOVED, {"n4": {"eventBurst": 31}}]


@pytest.mark.parametrize("other_configs", PART)
def test_values_of_one_group_are_refused(other_configs: t.Any) -> None:
    """Nodes of every group join with this ConfigMap. Check mode states it."""
    reads = [cluster(), get(), listed("n1", "n2", "n3")]
    error = refused(reads, other_configs=other_configs)
    texts = (f"{NAME}: eventBurst ", "n3", "Nothing was written", "name all groups in kubelet_config_hosts")
    assert [text for text in texts if text not in error.message] == []
    assert len(error.message) <= 3 * 120 and error.result["changed"] is False
    dry = patch(configmap(NAME, WANTED), dry_run=True)
    result = pushed(reads, dry, check_mode=True, other_configs=other_configs)
    (warning,) = result["warnings"]
    assert f"ConfigMap kube-system/{NAME} is not in sync with the nodes: eventBurst. " in warning
    assert result["configmaps"][NAME]["refused"] in warning and "n3" in warning
    assert "synchronises it" not in warning


@pytest.mark.parametrize(
    ("nodes", "other_configs"),
    [
        pytest.param(("n1", "n2"), None, id="all nodes"),
        pytest.param(("n1",), {"n9": {}}, id="more hosts than nodes"),
        pytest.param(("n1", "n3"), {"n3": {"eventBurst": 31, "maxPods": 9}}, id="alike for all"),
        pytest.param(("n1", "n3"), {"n3": ["eventBurst: 31", None]}, id="alike, as text"),
    ],
)
def test_values_that_are_those_of_all_nodes_are_written(nodes: tuple[str, ...], other_configs: t.Any) -> None:
    assert pushed(cluster(), get(), listed(*nodes), patch(), other_configs=other_configs)["changed"]


def test_a_profile_of_all_nodes_is_written_for_the_minor_of_the_cluster() -> None:
    profile = {"kubelet_config_profile": "cis-1.12", "kubelet_config": {"podPidsLimit": 900}}
    after = document.render({**CONFIG, **profiles.layer(["cis-1.12"], 20), "podPidsLimit": 900})
    calls = [cluster(), get(), listed("n1", "n2"), patch(content=after)]
    assert pushed(calls, node_configs={"n1": profile}, other_configs={"n2": profile})["changed"]
    assert "seccompDefault" not in after


def test_many_nodes_and_fields_fit_into_the_message() -> None:
    values = dict.fromkeys(("eventBurst", "eventRecordQPS", "kubeAPIQPS", "kubeAPIBurst", "maxPods"), 9)
    names = [f"worker-{number}.region.example.org" for number in range(1000)]
    message = refused(cluster(), get(), listed(*names), node_configs={names[0]: values}).message
    assert len(message) <= 3 * 120 + 60
    assert "and 997 more" in message and "and 3 more" in message


@pytest.mark.parametrize(
    ("version", "there", "gone"),
    [
        ("v1.24.0", ["kubelet-config"], []),
        ("v1.23.5", ["kubelet-config-1.23"], ["kubelet-config"]),
        ("v1.23.5", ["kubelet-config"], ["kubelet-config-1.23"]),
        ("v1.23.5", [*BOTH], []),
        ("v1.22.17", ["kubelet-config-1.22"], []),
        ("v1.19.16+vendor.1", ["kubelet-config-1.19"], []),
    ],
)
def test_the_version_of_the_cluster_names_the_configmap(version: str, there: list[str], gone: list[str]) -> None:
    reads = [get(TEXT if name in there else GONE, name) for name in sorted([*there, *gone])]
    result = pushed(cluster(version), reads, listed(), [patch(name=name) for name in there])
    assert list(result["configmaps"]) == there
    assert result["summary"] == {"configmaps": len(there), "updated": len(there)}


MIXED = f"ConfigMap kube-system/{NAME}: eventBurst is a number in the new layer and a mapping below it"


@pytest.mark.parametrize(
    ("calls", "texts"),
    [
        ([get(GONE, "kubeadm-config")], ["no ConfigMap kube-system/kubeadm-config", "did not create it", "to ignore"]),
        ([cluster(), get(GONE)], [f"kube-system/{NAME}", "kubeadm 1.20", "upload-config kubelet", "to ignore"]),
        (
            [cluster("v1.23.0"), *(get(GONE, name) for name in BOTH)],
            [f"kube-system/{BOTH[0]} or kube-system/{BOTH[1]}"],
        ),
        ([cluster("latest")], ["kube-system/kubeadm-config: kubernetesVersion is 'latest'", "kubectl edit"]),
        ([cluster(other="")], ["kube-system/kubeadm-config, key ClusterConfiguration: the document is empty"]),
        ([cluster(ClusterConfiguration="a: [b")], ["kube-system/kubeadm-config, key ClusterConfiguration, line 1"]),
        ([cluster(), get("a: [b")], [f"ConfigMap kube-system/{NAME}: key kubelet, line 1"]),
        ([cluster(), get("eventBurst: 1\n")], [f"ConfigMap kube-system/{NAME}: key kubelet: apiVersion is missing"]),
        ([cluster(), get(configmap(NAME, data={"other": ""}))], [f"kube-system/{NAME}: it has no key kubelet"]),
        ([cluster(), get(), listed(), patch(ApiError(403, "forbidden"))], [f"kube-system/{NAME}: forbidden"]),
        ([cluster(), get(TEXT + "eventBurst: {}\n")], [MIXED]),
    ],
)
def test_what_is_missing_or_wrong_is_named(calls: list[Call], texts: list[str]) -> None:
    message = refused(calls).message
    assert [text for text in texts if text not in message] == []


NOT_STARTED = (NAME, "nothing was written", "kubelet 1.20")


@pytest.mark.parametrize(
    ("node_configs", "texts"),
    [
        ({"n1": {"maxPods": "7"}}, (*NOT_STARTED, "maxPods", "the string")),
        ({"n1": {"maxPodz": 7}}, (*NOT_STARTED, "maxPodz", "Did you mean maxPods?")),
        ({"n1": {"evictionHard": {"memory.available": "lots"}}}, (*NOT_STARTED, 'evictionHard["memory.available"]')),
        # A running kubelet reverts automatically; one that has just joined has no earlier configuration.
        ({"n1": {"kubeAPIQPS": -1}}, (*NOT_STARTED, "kubeAPIQPS", "must not be a negative number")),
        ({"n1": {"imageGCLowThresholdPercent": 90}}, (*NOT_STARTED, "imageGCHighThresholdPercent")),
        ({}, ("node_configs is an empty mapping",)),
        ({"n1": {}, "n2": "a: [b"}, ("node_configs: the configuration of node n2, line 1",)),
        ({"n1": [{}, 5]}, ("entry 2 of the configuration of node n1",)),
    ],
)
def test_overrides_that_cannot_be_used(node_configs: t.Any, texts: tuple[str, ...]) -> None:
    message = refused(cluster(), get(), node_configs=node_configs).message
    assert [text for text in texts if text not in message] == []


def test_existing_faults_are_not_reported() -> None:
    config = {**CONFIG, "oldField": 1, "kubeAPIQPS": -1}
    wanted = document.render({**config, "eventBurst": 31})
    assert pushed(cluster(), get(document.render(config)), listed(), patch(content=wanted))["changed"]


def test_a_field_of_a_minor_that_is_not_known_here_is_written() -> None:
    wanted = document.render({**CONFIG, "newField": 1})
    calls = [cluster("v1.99.0"), get(name="kubelet-config"), listed(), patch(content=wanted, name="kubelet-config")]
    assert pushed(calls, node_configs={"n1": {"newField": 1}})["changed"]


def test_a_change_by_another_writer_is_kept() -> None:
    """After a conflict the ConfigMap is read and computed again."""
    theirs = {**CONFIG, "maxPods": 7}
    wanted = document.render({**theirs, "eventBurst": 31})
    again = [get(document.render(theirs), revision="9"), patch(content=wanted, revision="9")]
    result = pushed(cluster(), get(), listed(), patch(CONFLICT), again)
    assert (result["diff"][0]["before"], result["diff"][0]["after"]) == (document.render(theirs), wanted)


def test_the_same_change_by_another_writer_or_a_lost_answer() -> None:
    """An identical text counts as our write, an equivalent one as that of the other writer."""
    calls = [cluster(), get(), listed(), patch(CONFLICT)]
    result = pushed(calls, get(WANTED, revision="8"))
    assert (result["changed"], len(result["diff"]), result["configmaps"][NAME]["resourceVersion"]) == (True, 1, "8")
    result = pushed(calls, get(TEXT + "eventBurst: 31\n", revision="8"))
    assert (result["changed"], result["diff"], result["configmaps"][NAME]["resourceVersion"]) == (False, [], "8")


@pytest.mark.parametrize(
    ("after", "text"),
    [
        ([get(GONE)], "it was deleted during the update; run again"),
        ([get(configmap(NAME, data=None))], "it has no key kubelet"),
        ([step for _try in range(4) for step in (get(), patch(CONFLICT))] + [get()], "changes faster.*run again"),
    ],
)
def test_conflicts_that_cannot_be_solved(after: list[Call], text: str) -> None:
    message = refused(cluster(), get(), listed(), patch(CONFLICT), after).message
    assert re.search(f"kube-system/{NAME}: .*{text}", message), message


def test_one_refusal_does_not_hide_what_was_written() -> None:
    reads = [cluster("v1.23.0"), *(get(name=name) for name in BOTH), listed()]
    error = refused(reads, patch(name=BOTH[0]), patch(ApiError(403, "no"), name=BOTH[1]))
    assert f"{BOTH[1]}: no" in error.message
    assert (error.result["changed"], list(error.result["configmaps"])) == (True, [BOTH[0]])


def test_one_refusal_does_not_hide_what_was_undone() -> None:
    """The other ConfigMap has changed since it was read."""
    note = rollback.written(None, "20260101T000000Z-00000000", CONFIG, {**CONFIG, "eventBurst": 31})
    reads, writes = [cluster("v1.23.0")], []
    for name, answer in zip(BOTH, (configmap(BOTH[0], TEXT), CONFLICT)):
        found = configmap(name, WANTED)
        found["metadata"]["annotations"] = note
        reads.append(get(found, name))
        write = patch(answer, document.render(CONFIG), name)
        write.body["metadata"]["annotations"] = dict.fromkeys(note)
        writes.append(write)
    error = refused(reads, writes, undo="all")
    assert f"ConfigMap {kubeadm.NAMESPACE}/{BOTH[1]}: {CONFLICT.message}" in error.message
    assert (error.result["changed"], list(error.result["configmaps"])) == (True, [BOTH[0]])


def test_secrets_are_masked_in_the_diff() -> None:
    layer = {"staticPodURLHeader": {"Authorization": ["hunter2"]}}
    after = document.render({**CONFIG, **layer})
    result = pushed(cluster(), get(), listed(), patch(content=after), node_configs={"n1": layer})
    assert result["configmaps"][NAME]["changes"] == ["staticPodURLHeader.Authorization"]
    assert "Authorization" in result["diff"][0]["after"]
    assert "hunter2" not in str(result)
