# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the real kubelet does with its drop-in folder: the contract that delivery `dropin` builds on.

A new minor that differs fails here. `_config/fields/merged_dropins.py` models these rows, and must agree with the
kubelet about every field.
"""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, merged_dropins
from tests.lab.lab import Lab
from tests.support.dropin_node import FOLDER, HEADER, DropinNode, dropin

SIGNALS = {
    "imagefs.available": "15%",
    "imagefs.inodesFree": "5%",
    "memory.available": "100Mi",
    "nodefs.available": "10%",
    "nodefs.inodesFree": "5%",
}
ABSENT = "absent"
# The kubelet sets these itself when it creates its serving certificate.
MADE = ("tlsCertFile", "tlsPrivateKeyFile")
Fields = dict[str, t.Any]


class Row(t.NamedTuple):
    """Fields of the config file, the drop-ins, and some fields of what is live (ABSENT: /configz does not show it)."""

    base: Fields
    dropins: dict[str, Fields]
    live: Fields


LIVE = {
    "a value": Row({}, {"1.conf": {"maxPods": 70}}, {"maxPods": 70}),
    "a map is merged by key with the defaults": Row(
        {},
        {"1.conf": {"evictionHard": {"memory.available": "300Mi"}}},
        {"evictionHard": {**SIGNALS, "memory.available": "300Mi"}},
    ),
    "a map is merged by key with the config file": Row(
        {"evictionHard": {"memory.available": "200Mi"}},
        {"1.conf": {"evictionHard": {"nodefs.available": "3%"}}},
        {"evictionHard": {"memory.available": "200Mi", "nodefs.available": "3%"}},
    ),
    "null removes a key": Row(
        {},
        {"1.conf": {"evictionHard": {"memory.available": None}}},
        {"evictionHard": {key: value for key, value in SIGNALS.items() if key != "memory.available"}},
    ),
    "evictionHard: null is no threshold at all": Row({}, {"1.conf": {"evictionHard": None}}, {"evictionHard": ABSENT}),
    "a list is replaced": Row({}, {"1.conf": {"clusterDNS": ["10.0.0.1"]}}, {"clusterDNS": ["10.0.0.1"]}),
    "null of a list": Row({}, {"1.conf": {"clusterDNS": None}}, {"clusterDNS": ABSENT}),
    "null of a field without default is its zero": Row(
        {"rotateCertificates": True}, {"1.conf": {"rotateCertificates": None}}, {"rotateCertificates": ABSENT}
    ),
    "an explicit zero": Row({}, {"1.conf": {"kubeAPIQPS": 0}}, {"kubeAPIQPS": 0}),
    "an unknown field is ignored": Row({}, {"1.conf": {"maxPodz": 1, "maxPods": 71}}, {"maxPods": 71}),
    "only apiVersion and kind": Row({"maxPods": 72}, {"1.conf": {}}, {"maxPods": 72}),
    "the last name wins": Row(
        {"maxPods": 60}, {"90.conf": {"maxPods": 90}, "10.conf": {"maxPods": 10}}, {"maxPods": 90}
    ),
    "folders are walked in the order of names": Row(
        {}, {"a.conf": {"maxPods": 61}, "a/9.conf": {"maxPods": 62}}, {"maxPods": 61}
    ),
    "folders below are read": Row({}, {"a.conf": {"maxPods": 61}, "b/c/1.conf": {"maxPods": 63}}, {"maxPods": 63}),
    "other names than *.conf are skipped": Row(
        {}, {"1.conf": {"maxPods": 61}, "2.yaml": {"maxPods": 62}, "3.conf.bak": {"maxPods": 63}}, {"maxPods": 61}
    ),
    "feature gates are merged": Row(
        {"featureGates": {"CPUManagerPolicyAlphaOptions": False}},
        {"1.conf": {"featureGates": {"CPUManagerPolicyAlphaOptions": True}}, "2.conf": {"featureGates": {}}},
        {"featureGates": {"CPUManagerPolicyAlphaOptions": True}},
    ),
    "an empty evictionHard of the config file holds": Row(
        {"evictionHard": {}}, {"1.conf": {}}, {"evictionHard": ABSENT}
    ),
    "an empty list of the config file is forgotten": Row(
        {"enforceNodeAllocatable": []}, {"1.conf": {}}, {"enforceNodeAllocatable": ["pods"]}
    ),
    "an empty list of the config file is forgotten without any drop-in": Row(
        {"enforceNodeAllocatable": []}, {}, {"enforceNodeAllocatable": ["pods"]}
    ),
    "an empty list of a drop-in holds": Row(
        {"cgroupsPerQOS": False},
        {"1.conf": {"enforceNodeAllocatable": []}},
        {"enforceNodeAllocatable": ABSENT, "cgroupsPerQOS": False},
    ),
    "relative paths of a drop-in stay relative": Row(
        {}, {"1.conf": {"staticPodPath": "manifests"}}, {"staticPodPath": "manifests"}
    ),
    "resolvConf": Row({}, {"1.conf": {"resolvConf": "/etc/resolv.conf"}}, {"resolvConf": "/etc/resolv.conf"}),
}
REFUSED = {
    "wrong type": (
        dropin({"maxPods": "many"}),
        "failed to merge kubelet configs: failed to unmarshal merged JSON into kubelet configuration: json: cannot "
        "unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32",
    ),
    "refused by validation": (
        dropin({"maxPods": -3}),
        "failed to validate kubelet configuration, error: invalid configuration: maxPods (--max-pods) -3 must not be a "
        "negative number",
    ),
    "no kind": ("maxPods: 70\n", "Object 'Kind' is missing in"),
    "empty file": ("", "was empty"),
    "valid": (dropin({"maxPods": 70}), "kubeconfig: stat /nowhere: no such file or directory"),
}


@pytest.fixture(scope="module")
def node(lab: Lab) -> t.Iterator[DropinNode]:
    """Yield the node of the newest release with a folder of its own."""
    node = DropinNode(lab, "n3")
    node.open()
    try:
        yield node
    finally:
        node.close()


@pytest.mark.parametrize("name", LIVE)
def test_what_is_live(node: DropinNode, name: str) -> None:
    """As in the table; and in every other field as in the model."""
    row, minor = LIVE[name], node.node.release.minor
    node.write(row.base, {file: dropin(fields) for file, fields in row.dropins.items()})
    live = node.live()
    assert {field: live.get(field, ABSENT) for field in row.live} == row.live
    layers = [row.dropins[file] for file in merged_dropins.in_order(row.dropins)]
    model = merged_dropins.effective(node.base(), layers, minor)
    # The model keeps fields that a kubelet does not have.
    model.pop("maxPodz", None)
    assert differences(live, model, minor) == []


def differences(live: Fields, model: Fields, minor: int) -> list[str]:
    """Return where /configz differs from the model; what /configz leaves out is empty or has its default."""
    shown = {**live, **{key: value for key, value in model.items() if key not in live and value in ([], {})}}
    found = [change for change in compare.changes(shown, model, minor) if change.known and change.path not in MADE]
    return [f"{change.path}: live {change.before!r}, model {change.after!r}" for change in found]


@pytest.mark.parametrize("name", REFUSED)
def test_what_ends_the_kubelet(node: DropinNode, name: str) -> None:
    """The binary ends before it opens its kubeconfig; the last row is a file that it takes."""
    text, words = REFUSED[name]
    node.write({}, {"1.conf": text})
    assert words in node.last_words()


def test_json_is_taken(node: DropinNode) -> None:
    node.write({}, {"1.conf": json.dumps({**HEADER, "maxPods": 73})})
    assert node.live()["maxPods"] == 73


def test_a_link_to_a_file_is_followed_and_renamed(node: DropinNode) -> None:
    """One rename of the link switches."""
    node.write({}, {})
    for name, pods in (("one", 74), ("two", 75)):
        node.run(f"mkdir -p /root/{name}; cat > /root/{name}/kubelet", stdin=dropin({"maxPods": pods}))
    node.run(f"ln -s /root/one/kubelet {FOLDER}/90-x.conf")
    assert node.live()["maxPods"] == 74
    node.run(f"ln -s /root/two/kubelet {FOLDER}/.next && mv -T {FOLDER}/.next {FOLDER}/90-x.conf")
    assert node.live()["maxPods"] == 75
    # As in the store: the link of the folder leads through another link.
    node.run(f"ln -sfn /root/one /root/active; ln -sfn /root/active/kubelet {FOLDER}/90-x.conf")
    assert node.live()["maxPods"] == 74
    node.run("rm -rf /root/one /root/two /root/active")


def test_a_folder_that_is_a_link_needs_a_slash(node: DropinNode) -> None:
    """Without it the kubelet ignores the folder and logs nothing about it."""
    node.write({}, {"1.conf": dropin({"maxPods": 76})})
    node.run(f"ln -sfn {FOLDER} /root/folder")
    try:
        node.name("--config-dir=/root/folder")
        assert node.live()["maxPods"] == 110
        node.name("--config-dir=/root/folder/")
        assert node.live()["maxPods"] == 76
    finally:
        node.name(f"--config-dir={FOLDER}")
        node.run("rm -f /root/folder")


def test_the_last_config_dir_alone_counts(node: DropinNode) -> None:
    node.write({}, {"1.conf": dropin({"maxPods": 77, "kubeAPIQPS": 7})})
    node.run("mkdir -p /root/last; cat > /root/last/1.conf", stdin=dropin({"maxPods": 78}))
    try:
        node.name(f"--config-dir={FOLDER}", "--config-dir=/root/last")
        live = node.live()
        assert live["maxPods"] == 78 and live["kubeAPIQPS"] == 50
    finally:
        node.name(f"--config-dir={FOLDER}")
        node.run("rm -rf /root/last")


def test_flags_win_over_all(node: DropinNode) -> None:
    node.write({}, {"1.conf": dropin({"maxPods": 79})})
    try:
        node.name(f"--config-dir={FOLDER}", "--max-pods=80")
        assert node.live()["maxPods"] == 80
    finally:
        node.name(f"--config-dir={FOLDER}")
