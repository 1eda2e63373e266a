# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The life of a group with followers, whose sshd is stopped: rollout, migration, a deadly and an unconfirmed
configuration, rollback and reset; drift and a refused configuration. A twin that is reached over ssh takes part, and
its rows are the same.
"""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import node_requests
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import node_rows
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.contract.clusters import CONFIGMAPS, NODES
from tests.contract.machines import Site
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
# What depends on who is first: over ssh the play or the guard sees the end of the kubelet, each with its own words. A
# node whose guard has reported its revert keeps the source that failed, any other gets its previous one from the play.
BY_WHOM = ("error", "cause", "steps", "source", "assigned", "settled", "fell_back", "reason")
# The steps of the report that are tasks on hosts. A follower answers once for all of them.
OF_LOGIN = {"staged", "restarted"}


class Look(t.NamedTuple):
    """What the kubelet of a node runs, and since which start."""

    qps: int
    invocation: str


class Group:
    """Three nodes. C(canary) and C(other) have followers; C(twin) is like the canary and is reached by login."""

    def __init__(self, site: Site, ansible: Ansible) -> None:
        self.site, self.ansible = site, ansible
        self.names = site.trio
        self.canary, self.twin, self.other = site.trio
        self.following = (self.canary, self.other)
        self.report = self.ansible.home / "report.json"
        self.ansible.environment["ANSIBLE_CALLBACKS_ENABLED"] = "livenodes.kubelet.rollout"
        self.ansible.environment["LIVENODES_KUBELET_REPORT_JSON"] = str(self.report)
        # A connection that stays open would reach a node without sshd.
        self.ansible.environment["ANSIBLE_SSH_ARGS"] = "-o ControlMaster=no"

    def play(self, name: str, *hosts: str, fails: bool = False, **variables: t.Any) -> Run:
        """Run a playbook on some hosts, or on all; the rows of canary and twin are the same afterwards."""
        words = ("-e", json.dumps({"kubelet_config_hosts": ":".join(hosts or self.names), **variables}))
        run = self.ansible.playbook(name, *words)
        assert bool(run.code) == fails, run.output
        return run

    def declare(self, config: dict[str, t.Any]) -> None:
        """Declare a configuration for all nodes."""
        self.ansible.variables(all={"kubelet_config": config, **OPTIONS})

    def live(self, name: str) -> dict[str, t.Any]:
        """Return the live configuration of a node, as soon as its kubelet answers."""
        found: dict[str, t.Any] = {}

        def answers() -> bool:
            found.update(self.site.machines[name].configz())
            return bool(found)

        eventually(answers, 60, f"/configz of {name}")
        return found

    def look(self) -> dict[str, Look]:
        return {name: Look(self.live(name)["kubeAPIQPS"], self.site.machines[name].invocation()) for name in self.names}

    def restarted(self, before: dict[str, Look]) -> set[str]:
        """Return the nodes whose kubelet was restarted since a look."""
        return {name for name, seen in self.look().items() if seen.invocation != before[name].invocation}

    def qps(self) -> list[int]:
        """Return the live `kubeAPIQPS` of canary, twin and other."""
        return [seen.qps for seen in self.look().values()]

    def check_rows(self, *without: str) -> dict[str, t.Any]:
        """Compare the rows of canary and twin in status and report, but for some keys; return those of the report."""
        session = self.site.cluster.session

        def differ() -> dict[str, t.Any]:
            found = node_requests.read(session, list(self.names), ())
            return self.differences({name: node_rows.row(node) for name, node in found.items()}, *without)

        # Guards make a configuration last-known-good at their next look.
        eventually(lambda: not differ(), 90, f"equal rows: {differ()}")
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


@pytest.fixture
def group(site: Site, tmp_path: Path) -> t.Iterator[Group]:
    """Install the followers, prevent logins on their nodes, and restore both in every ending."""
    group = Group(site, site.cluster.ansible(tmp_path))
    names = group.following
    group.ansible.host_variables(**{name: {"kubelet_config_delivery": "checkpoint"} for name in group.names})
    _to_own_files(group)
    try:
        run = group.play("follow", *names, kubelet_config_follow_unprotected=True)
        assert [run.recap(name)["changed"] for name in names] == [1, 1], run.output
        # A rollout may begin in the same second.
        assert all("follower" in site.notes(name) for name in names)
        for name in names:
            site.machines[name].set_ssh(False, group.ansible)
        yield group
    finally:
        for name in names:
            site.machines[name].set_ssh(True, group.ansible)
        group.ansible.variables()
        _to_own_files(group)
        again = group.play("follow", *names, kubelet_config_follow_unprotected=True)
        group.play("follow", *names, kubelet_config_follow="absent")
        site.remove_pushed()
    assert [again.recap(name)["changed"] for name in names] == [0, 0], again.output
    for name in names:
        assert site.machines[name].ours() == ""
        assert not site.notes(name)


def _to_own_files(group: Group) -> None:
    """Reset the nodes: of earlier tests on the same lab, or of this one."""
    if any("source" in group.site.notes(name) for name in group.names):
        group.play("reset", kubelet_config_transport="ssh", kubelet_config_serial=3)


@pytest.mark.long_on_sim
def test_the_life_of_a_group_without_logins(group: Group) -> None:
    """Where the kubelets of canary and twin read drop-ins, these are migrated to drop-ins. In the short tier, no other
    test rolls back a checkpoint on real kubelets.
    """
    before = group.look()
    local = group.qps()
    group.declare({"kubeAPIQPS": 61})
    group.play("rollout", kubelet_config_serial=3)
    assert group.qps() == [61, 61, 61]
    group.check_rows()
    notes = group.site.notes(group.canary)
    assert notes["follower"]["judged"] == notes["follow"]["trial"] != ""
    if group.site.machines[group.canary].minor >= 30:
        _migrates(group)

    group.declare({"kubeAPIQPS": 62})
    _fails_in_the_first_batch(group, DEADLY, "reverted", "listen tcp 192.0.2.1:10250", *BY_WHOM)
    assert group.qps() == [61, 61, 61]

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
    assert set(group.site.notes(group.canary)) == {"follow", "follower"}
    assert group.restarted(before) == set(group.names)


@pytest.mark.long
def test_drift_and_a_refused_configuration_of_a_group_without_logins(group: Group) -> None:
    """No kubelet is restarted for either."""
    group.declare({"kubeAPIQPS": 61})
    group.play("rollout", kubelet_config_serial=3)
    group.check_rows()
    group.declare({"kubeAPIQPS": 62})
    file = group.ansible.home / "drift.json"
    group.play("drift", fails=True, kubelet_config_drift_file=str(file))
    found = json.loads(file.read_text())["nodes"]
    assert [[item["path"] for item in found[name]["drift"]] for name in group.names] == [["kubeAPIQPS"]] * 3
    assert not group.differences(found), found
    _fails_in_the_first_batch(group, REFUSED, "refused", "staticPodPath: the folder /etc/kubernetes/absent")
    group.play("reset", kubelet_config_serial=3)


def _migrates(group: Group) -> None:
    """Canary and twin get a drop-in; what they run stays equal."""
    pair = {name: group.live(name) for name in (group.canary, group.twin)}
    group.ansible.host_variables(**{group.other: {"kubelet_config_delivery": "checkpoint"}})
    group.play("migrate", *pair, kubelet_config_delivery="dropin", kubelet_config_serial=2)
    assert {name: group.live(name) for name in pair} == pair
    assert [group.site.notes(name)["source"].get("delivery") for name in group.names] == ["dropin", "dropin", None]
    group.check_rows()


def _fails_in_the_first_batch(group: Group, config: dict[str, t.Any], state: str, cause: str, *without: str) -> None:
    """Canary and twin refuse a configuration or die of it. Both are named, and the other node is untouched."""
    first = group.look()
    run = group.play("rollout", fails=True, kubelet_config=config, kubelet_config_allow_invalid=True)
    assert f"Untouched hosts: {group.other}" in run.output, run.output
    rows = group.check_rows(*without)
    assert [rows[name]["state"] for name in group.names] == [state, state, "untouched"]
    assert all(cause in rows[name]["cause"] for name in (group.canary, group.twin)), rows
    assert group.restarted(first) == ({group.canary, group.twin} if state == "reverted" else set())


def _by_hand(group: Group) -> None:
    """Assign a ConfigMap with two annotations, as a person with kubectl does, and never confirm it."""
    cluster, name = group.site.cluster, group.canary
    held = group.site.notes(name)
    # The source is still the one that the node was reverted from.
    pushed = group.site.pushed(held["status"]["active"]["configMap"])
    key, _equals, value = MANAGED.partition("=")
    meta = {"name": BY_HAND, "namespace": "kube-system", "labels": {key: value}}
    config = json.dumps({**pushed, "kubeAPIQPS": 63})
    cluster.call(
        "POST", CONFIGMAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"kubelet": config}}
    )
    reference = {"namespace": "kube-system", "name": BY_HAND, "kubeletConfigKey": "kubelet"}
    orders = {"attempt": held["follow"]["attempt"] + 1, "trial_seconds": 5, "confirm_seconds": 15}
    given = {"follow": orders, "source": {**held["source"], "configMap": reference}}
    annotations = {f"{PREFIX}{key}": json.dumps(value) for key, value in given.items()}
    with cluster.granted(_readable(meta)):
        cluster.call("PATCH", f"{NODES}/{name}", {"metadata": {"annotations": annotations}})
        eventually(lambda: group.live(name)["kubeAPIQPS"] == 63, 60, "the configuration that was assigned by hand")
        eventually(lambda: group.live(name)["kubeAPIQPS"] == 61, 90, "the revert by the guard")
        # The guard reports once the kubelet is up again.
        eventually(lambda: "not confirmed" in group.site.notes(name)["status"].get("error", ""), 60, "its report")


def _readable(meta: dict[str, t.Any]) -> list[dict[str, t.Any]]:
    """Return a Role and a RoleBinding with which nodes may read the ConfigMap."""
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [BY_HAND], "verbs": ["get"]}
    rbac = "rbac.authorization.k8s.io"
    role = {"apiGroup": rbac, "kind": "Role", "name": BY_HAND}
    nodes_of = [{"apiGroup": rbac, "kind": "Group", "name": "system:nodes"}]
    return [
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": meta, "rules": [rule]},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "roleRef": role,
            "subjects": nodes_of,
        },
    ]
