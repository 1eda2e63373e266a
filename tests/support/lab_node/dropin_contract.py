# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The contract of the kubelet with its drop-in folder, which delivery `dropin` builds on: its rows, and what real
kubelets did with them.

`tests/contract/test_dropins.py` asks a kubelet, and `python -m tests.support.kubelets.record_facts` records
what it answers in `tests/facts`. The unit test of `merged_dropins` compares the model with these answers.
"""

from __future__ import annotations

import json
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, merged_dropins
from tests.support.lab_node.dropin_node import DropinNode, dropin
from tests.support.plays.ansible import ROOT

FACTS = ROOT / "tests/facts"
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
    "defaults are merged into the evictionHard of the config file": Row(
        {"mergeDefaultEvictionSettings": True, "evictionHard": {"memory.available": "200Mi"}},
        {},
        {"evictionHard": {**SIGNALS, "memory.available": "200Mi"}},
    ),
    "a drop-in lies over the merged defaults": Row(
        {"mergeDefaultEvictionSettings": True, "evictionHard": {"memory.available": "200Mi"}},
        {"1.conf": {"evictionHard": {"nodefs.available": None, "imagefs.available": "7%"}}},
        {
            "evictionHard": {
                "imagefs.available": "7%",
                "imagefs.inodesFree": "5%",
                "memory.available": "200Mi",
                "nodefs.inodesFree": "5%",
            }
        },
    ),
    "mergeDefaultEvictionSettings of a drop-in merges no defaults": Row(
        {"evictionHard": {"memory.available": "200Mi"}},
        {"1.conf": {"mergeDefaultEvictionSettings": True}},
        {"evictionHard": {"memory.available": "200Mi"}, "mergeDefaultEvictionSettings": True},
    ),
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


def model(own: Fields, dropins: t.Mapping[str, Fields], minor: int) -> Fields:
    """Return what a kubelet with this config file and these drop-ins runs according to `merged_dropins`."""
    layers = [dropins[file] for file in merged_dropins.in_order(dropins)]
    found = merged_dropins.effective(own, layers, minor)
    # The model keeps fields that a kubelet does not have.
    found.pop("maxPodz", None)
    return found


def differences(live: Fields, model: Fields, minor: int) -> list[str]:
    """Return where /configz differs from the model; what /configz leaves out is empty or has its default."""
    shown = {**live, **{key: value for key, value in model.items() if key not in live and value in ([], {})}}
    found = [
        change for change in compare.changes(shown, model, minor, runs=True) if change.known and change.path not in MADE
    ]
    return [f"{change.path}: live {change.before!r}, model {change.after!r}" for change in found]


class Answers(t.NamedTuple):
    """What a kubelet did: its version, the config file of the node, what is live with that alone, and for each row what
    differs from that (ABSENT: not shown).
    """

    kubelet: str
    own: Fields
    plain: Fields
    rows: dict[str, Fields]

    @property
    def minor(self) -> int:
        return int(self.kubelet.split(".")[1])

    def live(self, name: str) -> Fields:
        found = {**self.plain, **self.rows[name]}
        return {field: value for field, value in found.items() if value != ABSENT}


def ask(node: DropinNode, row: Row) -> Fields:
    node.write(row.base, {file: dropin(fields) for file, fields in row.dropins.items()})
    return node.live()


def changed(plain: Fields, live: Fields) -> Fields:
    """Return the fields that differ, as `Answers.rows` has them."""
    names = sorted({*plain, *live})
    return {name: live.get(name, ABSENT) for name in names if live.get(name, ABSENT) != plain.get(name, ABSENT)}


def record(node: DropinNode) -> Answers:
    plain = ask(node, Row({}, {}, {}))
    own = node.base()
    rows = {name: changed(plain, ask(node, row)) for name, row in LIVE.items()}
    return Answers(node.version, own, plain, rows)


def write(answers: Answers) -> None:
    FACTS.mkdir(exist_ok=True)
    text = json.dumps(answers._asdict(), indent=1, sort_keys=True) + "\n"
    (FACTS / f"dropins-{answers.kubelet}.json").write_text(text, encoding="utf-8")


def recorded() -> dict[str, Answers]:
    """Return all answers that were recorded, by version."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(FACTS.glob("dropins-*.json"))]
    return {one["kubelet"]: Answers(**one) for one in found}
