# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of a group with followers, whose sshd is stopped: rollout, migration, drift, a refused, a deadly and an
unconfirmed configuration, rollback and reset. A twin that is reached over ssh takes part, and its rows are the same.
tests/e2e_fleet/test_follow.py runs it on kubelets of 1.20, tests/e2e_modern/test_follow.py on later ones.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import re
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_requests, nodes
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.lab.lab import Lab
from tests.support.lab.fleet import Fleet, Glance, changed
from tests.support.lab.views import MANAGED, eventually
from tests.support.plays.ansible import Ansible, Run

BY_HAND = "by-hand"
REFUSED = {"staticPodPath": "/etc/kubernetes/absent/manifests"}
# The kubelet's validation passes it, and no interface has this address.
DEADLY = {"address": "192.0.2.1"}
OPTIONS = {"kubelet_config_trial_seconds": 1, "kubelet_config_serial": [2, 1]}
SOURCE = r'\{"kubeletConfigKey": [^{}]*\}|livenodes-kubelet-[a-z0-9]{10}'
# What a follower adds to the row of its node, with the verdict that it has refused, and what belongs to one moment.
OWN = ("follower", "verdict", "remedy", "heartbeat")
# The steps of the report that are tasks on hosts. A follower answers once for all of them.
OF_LOGIN = {"staged", "restarted"}


@dataclasses.dataclass
class Group:
    """Three nodes. C(canary) and C(other) have followers; C(twin) is like the canary and is reached over ssh."""

    lab: Lab
    ansible: Ansible
    canary: str
    twin: str
    other: str

    def __post_init__(self) -> None:
        self.fleet = Fleet(self.lab)
        self.names = (self.canary, self.twin, self.other)
        self.report = self.ansible.home / "report.json"
        self.ansible.environment["ANSIBLE_CALLBACKS_ENABLED"] = "livenodes.kubelet.rollout"
        self.ansible.environment["LIVENODES_KUBELET_REPORT_JSON"] = str(self.report)
        # A connection that stays open would reach a node without sshd.
        self.ansible.environment["ANSIBLE_SSH_ARGS"] = "-o ControlMaster=no"

    @property
    def following(self) -> tuple[str, str]:
        """The nodes without sshd."""
        return self.canary, self.other

    def play(self, name: str, *hosts: str, fails: bool = False, **variables: t.Any) -> Run:
        """Run a playbook on some hosts, or on all; the rows of canary and twin are the same afterwards."""
        words = ("-e", json.dumps({"kubelet_config_hosts": ":".join(hosts or self.names), **variables}))
        run = self.ansible.playbook(name, *words)
        assert bool(run.code) == fails, run.output
        return run

    def declare(self, config: dict[str, t.Any]) -> None:
        """Declare a configuration for all nodes."""
        self.ansible.variables(all={"kubelet_config": config, **OPTIONS})

    def look(self) -> dict[str, Glance]:
        """Return what the nodes of the group run."""
        return {name: glance for name, glance in self.fleet.look().items() if name in self.names}

    def live(self, name: str) -> dict[str, t.Any]:
        """Return the live configuration of a node. Raises LabError while its kubelet restarts."""
        found = self.lab.get(f"/api/v1/nodes/{name}/proxy/configz")
        return t.cast("dict[str, t.Any]", found["kubeletconfig"])

    def qps(self) -> list[int]:
        """Return the live `kubeAPIQPS` of canary, twin and other."""
        found = self.look()
        return [found[name].qps for name in self.names]

    def notes(self, name: str) -> dict[str, t.Any]:
        """Return our annotations of a node, by the names after the prefix."""
        found = self.fleet.node(name)["metadata"]["annotations"]
        return {key[len(PREFIX) :]: json.loads(text) for key, text in found.items() if key.startswith(PREFIX)}

    def check_rows(self, *without: str) -> dict[str, t.Any]:
        """Compare the rows of canary and twin in status and report, but for some keys; return those of the report."""
        session = Session({"kubeconfig": str(self.lab.kubeconfig)})

        def differ() -> dict[str, t.Any]:
            found = node_requests.read(session, list(self.names), ())
            return self.differences({name: nodes.row(node) for name, node in found.items()}, *without)

        # Guards make a configuration last-known-good at their next look.
        eventually(lambda: not differ(), 30, f"equal rows: {differ()}")
        listed = {row["name"]: row for row in json.loads(self.report.read_text())["nodes"]}
        shown = {name: {**row, "steps": sorted(row["steps"].keys() - OF_LOGIN)} for name, row in listed.items()}
        assert not self.differences(shown, *without), shown
        return listed

    def differences(self, rows: dict[str, dict[str, t.Any]], *without: str) -> dict[str, t.Any]:
        """Return where the rows of canary and twin differ, but for these keys and those in OWN."""
        canary, twin = (_masked(rows[name], name) for name in (self.canary, self.twin))
        keys = (canary.keys() | twin.keys()) - {*OWN, *without}
        return {key: (canary.get(key), twin.get(key)) for key in keys if canary.get(key) != twin.get(key)}


def _masked(row: dict[str, t.Any], name: str) -> dict[str, t.Any]:
    """Return a row without its node's name, and with numbers in place of ConfigMaps: the own files of nodes differ."""
    text = json.dumps(row, sort_keys=True).replace(name, "NODE")
    for number, found in enumerate(dict.fromkeys(re.findall(SOURCE, text))):
        text = text.replace(found, json.dumps(f"source {number}") if found[0] == "{" else f"source {number}")
    return t.cast("dict[str, t.Any]", json.loads(text))


@contextlib.contextmanager
def following(group: Group) -> t.Iterator[None]:
    """Install the followers, stop sshd on their nodes, and restore both in every ending."""
    lab, names = group.lab, group.following
    refused = group.play("follow", *names, fails=True)
    assert "kubelet_config_follow_unprotected" in refused.output, refused.output
    run = group.play("follow", *names, kubelet_config_follow_unprotected=True)
    assert [run.recap(name)["changed"] for name in names] == [1, 1], run.output
    # A rollout may begin in the same second.
    assert all("follower" in group.notes(name) for name in names)
    for name in names:
        lab.node(name).run("systemctl stop ssh")
    try:
        yield
    finally:
        for name in names:
            lab.node(name).run("systemctl start ssh")
        lab.kubectl(
            "delete", "-n", "kube-system", "--ignore-not-found", "configmap,role,rolebinding", BY_HAND, check=False
        )
        group.ansible.variables()
        if any("source" in group.notes(name) for name in group.names):
            group.play("reset", kubelet_config_transport="ssh", kubelet_config_serial=3)
        again = group.play("follow", *names, kubelet_config_follow_unprotected=True)
        group.play("follow", *names, kubelet_config_follow="absent")
    assert [again.recap(name)["changed"] for name in names] == [0, 0], again.output
    for name in names:
        node = lab.node(name)
        assert not node.run("ls -d /var/lib/kubelet-config /etc/systemd/system/livenodes* 2>/dev/null", check=False)
        assert not node.run("systemctl list-units --all --plain --no-legend 'livenodes*'")
        assert not group.notes(name)


def test_the_life_of_a_group_without_logins(group: Group, dropins: bool) -> None:
    """C(dropins): whether the kubelets of canary and twin read drop-ins, so that they are migrated to those."""
    before = group.look()
    local = group.qps()
    group.declare({"kubeAPIQPS": 61})
    group.play("rollout", kubelet_config_serial=3)
    assert group.qps() == [61, 61, 61]
    group.check_rows()
    notes = group.notes(group.canary)
    assert notes["follower"]["judged"] == notes["follow"]["trial"] != ""
    if dropins:
        _migrates(group)

    group.declare({"kubeAPIQPS": 62})
    _drifts(group)

    _stops_after_the_first_batch(group)

    _by_hand(group)
    group.play("rollout", kubelet_config_serial=3)
    assert group.qps() == [62, 62, 62]
    group.check_rows()
    group.play("rollback", kubelet_config_serial=3)
    assert group.qps() == [61, 61, 61]
    group.check_rows()
    group.play("reset", kubelet_config_serial=3)
    assert group.qps() == local
    group.check_rows()
    assert set(group.notes(group.canary)) == {"follow", "follower"}
    assert changed(before, group.look()) == set(group.names)


def _migrates(group: Group) -> None:
    """Canary and twin get a drop-in; what they run stays equal."""
    pair = {name: group.live(name) for name in (group.canary, group.twin)}
    group.ansible.host_variables(**{group.other: {"kubelet_config_delivery": "checkpoint"}})
    group.play("migrate", *pair, kubelet_config_delivery="dropin", kubelet_config_serial=2)
    assert {name: group.live(name) for name in pair} == pair
    assert [group.notes(name)["source"].get("delivery") for name in group.names] == ["dropin", "dropin", None]
    group.check_rows()


def _drifts(group: Group) -> None:
    file = group.ansible.home / "drift.json"
    group.play("drift", fails=True, kubelet_config_drift_file=str(file))
    found = json.loads(file.read_text())["nodes"]
    assert [[item["path"] for item in found[name]["drift"]] for name in group.names] == [["kubeAPIQPS"]] * 3
    assert not group.differences(found), found


def _stops_after_the_first_batch(group: Group) -> None:
    """Canary and twin refuse a configuration, then die of one. Both are named, and the other node is untouched."""
    first = group.look()
    _fails(group, REFUSED, "refused", "staticPodPath: the folder /etc/kubernetes/absent")
    assert group.look() == first
    # Over ssh the first end of the kubelet is seen by the play or by the guard, and each has its own words.
    _fails(group, DEADLY, "reverted", "listen tcp 192.0.2.1:10250", "error", "cause", "steps")
    assert changed(first, group.look()) == {group.canary, group.twin}
    assert group.qps() == [61, 61, 61]


def _fails(group: Group, config: dict[str, t.Any], state: str, cause: str, *without: str) -> None:
    run = group.play("rollout", fails=True, kubelet_config=config, kubelet_config_allow_invalid=True)
    assert f"Untouched hosts: {group.other}" in run.output, run.output
    rows = group.check_rows(*without)
    assert [rows[name]["state"] for name in group.names] == [state, state, "untouched"]
    assert all(cause in rows[name]["cause"] for name in (group.canary, group.twin)), rows


def _by_hand(group: Group) -> None:
    """Assign a ConfigMap with two annotations, as a person with kubectl does, and never confirm it."""
    lab, name = group.lab, group.canary
    held = group.notes(name)
    # The source is still the one that the node was reverted from.
    runs = held["status"]["active"]["configMap"]["name"]
    pushed = lab.get(f"/api/v1/namespaces/kube-system/configmaps/{runs}")
    config = {**json.loads(pushed["data"]["kubelet"]), "kubeAPIQPS": 63}
    lab.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": _objects(config)}))
    reference = {"namespace": "kube-system", "name": BY_HAND, "kubeletConfigKey": "kubelet"}
    orders = {"attempt": held["follow"]["attempt"] + 1, "trial_seconds": 5, "confirm_seconds": 5}
    given = {"follow": orders, "source": {**held["source"], "configMap": reference}}
    words = [f"{PREFIX}{key}={json.dumps(value)}" for key, value in given.items()]
    lab.kubectl("annotate", "--overwrite", "node", name, *words)
    eventually(lambda: group.live(name)["kubeAPIQPS"] == 63, 60, "the configuration that was assigned by hand")
    eventually(lambda: group.live(name)["kubeAPIQPS"] == 61, 90, "the revert by the guard")
    assert "not confirmed" in group.notes(name)["status"]["error"]


def _objects(config: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """Return a ConfigMap, and a Role and a RoleBinding with which nodes may read it."""
    key, _equals, value = MANAGED.partition("=")
    meta = {"name": BY_HAND, "namespace": "kube-system", "labels": {key: value}}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [BY_HAND], "verbs": ["get"]}
    rbac = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"kubelet": json.dumps(config)}},
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": meta, "rules": [rule]},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": BY_HAND},
            "subjects": [{"apiGroup": rbac, "kind": "Group", "name": "system:nodes"}],
        },
    ]
