# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy of docs/rbac/option-policy.yaml on a real API server: who may assign, and what goes on under it."""

from __future__ import annotations

import dataclasses
import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import policy
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from tests.lab.lab import Lab
from tests.support.lab.views import eventually
from tests.support.plays.ansible import Ansible
from tests.support.plays.permissions import FOLDER, USER

MANIFEST = FOLDER / "option-policy.yaml"
RBAC = "rbac.authorization.k8s.io"
PATCHER, LIMITED = "policy-patcher", "policy-limited"
ELSE = "policy-else"
"""A Node without a kubelet, on which the limited user may assign."""
OURS = (*policy.ASSIGNING, *policy.ANSWERS)
OTHERS = (annotation.CORDONED, "example.org/other")
MERGE = "application/merge-patch+json"
PROTECTED, ABSENT = ("-e", "kubelet_config_follow=protected"), ("-e", "kubelet_config_follow=absent")
DRY = [("dryRun", "All")]


def objects() -> list[dict[str, t.Any]]:
    """Return what lets three users write Nodes; the one of the manifests and the limited one may assign too."""
    nodes = {"apiGroups": [""], "resources": ["nodes", "nodes/status"], "verbs": ["create", "patch", "update", "get"]}
    assign = {"apiGroups": [policy.GROUP], "resources": [policy.RESOURCE], "verbs": [policy.VERB]}
    found: list[dict[str, t.Any]] = [{"apiVersion": "v1", "kind": "Node", "metadata": {"name": ELSE}}]
    for user, rules in ((PATCHER, [nodes]), (USER, [nodes]), (LIMITED, [nodes, {**assign, "resourceNames": [ELSE]}])):
        meta = {"name": f"test-{user}"}
        found += [
            {"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": meta, "rules": rules},
            {
                "apiVersion": f"{RBAC}/v1",
                "kind": "ClusterRoleBinding",
                "metadata": meta,
                "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": meta["name"]},
                "subjects": [{"apiGroup": RBAC, "kind": "User", "name": user}],
            },
        ]
    return found


@dataclasses.dataclass
class Cluster:
    """The lab, and the node that the tests are about."""

    lab: Lab
    name: str

    def session(self, user: str) -> Session:
        """Return the API for a user with a certificate; for a node, that of a kubelet."""
        groups = ("system:nodes",) if user.startswith("system:node:") else ()
        return Session({"kubeconfig": str(self.lab.user_kubeconfig(user, groups))})

    def refused(self, user: str, given: t.Mapping[str, str | None], sub: str = "", node: str = "") -> str:
        """Patch annotations as a user, as a dry run; return the words of the refusal, empty if there is none."""
        body = {"metadata": {"annotations": {**given}}}
        path = f"/api/v1/nodes/{node or self.name}{sub}"
        return self.outcome(user, "PATCH", path, body)

    def outcome(self, user: str, method: str, path: str, body: t.Any) -> str:
        """Send a request as a user, as a dry run; return the words of a refusal, empty if there is none."""
        try:
            self.session(user).request(method, path, DRY, body, MERGE if method == "PATCH" else "application/json")
        except ApiError as error:
            assert error.status == 403, error
            return error.message
        return ""

    def node(self) -> dict[str, t.Any]:
        return self.lab.get(f"/api/v1/nodes/{self.name}")

    def heartbeat(self) -> str:
        """Return when the kubelet has reported last that it is Ready, empty if it has not."""
        conditions = self.node()["status"].get("conditions") or []
        (ready,) = [one for one in conditions if one["type"] == "Ready"] or [{}]
        return ready.get("lastHeartbeatTime", "") if ready.get("status") == "True" else ""


@pytest.fixture
def cluster(lab: Lab) -> t.Iterator[Cluster]:
    """Yield the lab with the users and without the policy, which is removed in every ending."""
    made = Cluster(lab, lab.nodes[-1].name)
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects()})
    lab.kubectl("apply", "-f", "-", stdin=text)
    try:
        yield made
    finally:
        lab.kubectl("delete", "-f", MANIFEST, "--ignore-not-found")
        lab.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=text)
        lab.kubectl("annotate", "node", made.name, *(f"{key}-" for key in (*OURS, *OTHERS)), check=False)


@pytest.fixture
def guarded(cluster: Cluster) -> Cluster:
    cluster.lab.kubectl("apply", "-f", MANIFEST)
    in_force(cluster)
    return cluster


def in_force(cluster: Cluster) -> None:
    """Wait until the API server has seen the policy, its binding and the permissions."""
    one = {annotation.SOURCE: "{}"}
    eventually(lambda: policy.NAME in cluster.refused(PATCHER, one), 30, "the policy refuses", every=0.2)
    eventually(lambda: not cluster.refused(USER, one), 30, "the permission allows", every=0.2)


@pytest.mark.parametrize("sub", ["", "/status"])
def test_who_may_change_which_annotation(guarded: Cluster, sub: str) -> None:
    """A user who may patch Nodes, one who may assign everywhere, and one who may on one Node alone."""
    name = guarded.name
    for key in OURS:
        words = guarded.refused(PATCHER, {key: "{}"}, sub)
        assert f"may not change {key} of the Node {name}: that needs the verb update on {policy.RESOURCE}." in words
    both = {annotation.SOURCE: "{}", following.FOLLOW: "{}", OTHERS[0]: "{}"}
    assert f"{annotation.SOURCE} and {following.FOLLOW} of the Node {name}" in guarded.refused(PATCHER, both, sub)
    assert guarded.refused(PATCHER, dict.fromkeys(OTHERS, "{}"), sub) == ""
    assert guarded.refused(USER, dict.fromkeys((*OURS, *OTHERS), "{}"), sub) == ""
    assert guarded.refused(LIMITED, dict.fromkeys(OURS, "{}"), sub, ELSE) == ""
    for key in OURS:
        assert f"user {LIMITED} may not change {key} of the Node {name}" in guarded.refused(LIMITED, {key: "{}"}, sub)


def test_other_ways_to_write_an_annotation(guarded: Cluster) -> None:
    """A removal, a replacement of the whole Node, and a Node that is created with an annotation."""
    lab, name = guarded.lab, guarded.name
    lab.kubectl("annotate", "node", name, f"{annotation.SOURCE}={{}}")
    assert annotation.SOURCE in guarded.refused(PATCHER, {annotation.SOURCE: None})
    whole = guarded.node()
    whole["metadata"]["labels"]["example.org/label"] = "1"
    assert guarded.outcome(PATCHER, "PUT", f"/api/v1/nodes/{name}", whole) == ""
    whole["metadata"]["annotations"][annotation.SOURCE] = "[]"
    assert annotation.SOURCE in guarded.outcome(PATCHER, "PUT", f"/api/v1/nodes/{name}", whole)
    for user, given, refused in ((PATCHER, {}, False), (PATCHER, {annotation.SOURCE: "{}"}, True), (USER, {}, False)):
        made = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "policy-made", "annotations": given}}
        assert bool(guarded.outcome(user, "POST", "/api/v1/nodes", made)) is refused, (user, given)


@pytest.mark.parametrize("sub", ["", "/status"])
def test_what_a_node_may_change_of_itself(guarded: Cluster, sub: str) -> None:
    """Its answers. It may also drop its orders, as a follower does that is removed, and not give itself any."""
    itself, other = f"system:node:{guarded.name}", f"system:node:{ELSE}"
    guarded.lab.kubectl("annotate", "node", guarded.name, *(f"{key}=[]" for key in OURS))
    for key in policy.ASSIGNING:
        assert f"user {itself} may not change {key}" in guarded.refused(itself, {key: "{}"}, sub)
        assert bool(guarded.refused(itself, {key: None}, sub)) is (key != following.FOLLOW)
    for key in policy.ANSWERS:
        for value in ("{}", None):
            assert guarded.refused(itself, {key: value}, sub) == ""
            assert guarded.refused(other, {key: value}, sub) != ""


def test_a_kubelet_registers_and_reports_as_before(guarded: Cluster) -> None:
    """Also where its Node was deleted. Its heartbeats change no annotation."""
    lab, before = guarded.lab, guarded.node()["metadata"]["uid"]
    lab.kubectl("delete", "node", guarded.name)
    lab.node(guarded.name).run("systemctl restart kubelet")
    eventually(lambda: guarded.node()["metadata"]["uid"] != before and bool(guarded.heartbeat()), 90, "a Ready Node")
    first = guarded.heartbeat()
    lab.node(guarded.name).run("systemctl restart kubelet")
    eventually(lambda: guarded.heartbeat() > first, 60, "a later heartbeat", guarded.heartbeat)


@pytest.fixture
def host(cluster: Cluster, ansible: Ansible) -> t.Iterator[tuple[str, str]]:
    """Yield the arguments for the node, and remove its follower in every ending, without a trace."""
    given = "-e", f"kubelet_config_hosts={cluster.name}"
    try:
        yield given
    finally:
        gone = ansible.playbook("follow", *given, *ABSENT)
    assert gone.code == 0 and "stays on the Node" not in gone.output, gone.output
    assert not {*OURS} & {*cluster.node()["metadata"]["annotations"]}


def test_a_follower_and_its_guard_work_under_the_policy(
    cluster: Cluster, ansible: Ansible, host: tuple[str, str]
) -> None:
    """A user with the manifests alone changes the node and resets it. The verb is what they lack at first."""
    lab, held = cluster.lab, ("rollout", "reset", "option-first-kubelets", "option-read-proxy", "follow")
    followed = ansible.playbook("follow", *host, *PROTECTED)
    assert followed.code == 0, followed.output
    words = [word for name in held for word in ("-f", FOLDER / f"{name}.yaml")]
    user = {"K8S_AUTH_KUBECONFIG": str(lab.user_kubeconfig(USER))}
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 61}, "kubelet_config_transport": "api"})
    lab.kubectl("apply", *words)
    try:
        refused = ansible.playbook("rollout", *host, **user)
        text = refused.output.replace("\n", " ")
        assert refused.code != 0 and f"that needs the verb update on {policy.RESOURCE}.{policy.GROUP}" in text, text
        lab.kubectl("apply", "-f", MANIFEST)
        in_force(cluster)
        run = ansible.playbook("rollout", *host, **user)
        assert run.code == 0 and live(cluster) == 61, run.output
        assert annotation.STATUS in cluster.node()["metadata"]["annotations"]
        for playbook in ("follow", "reset"):
            again = ansible.playbook(playbook, *host, **user)
            assert again.code == 0, again.output
        assert live(cluster) != 61
    finally:
        lab.kubectl("delete", *words)


def live(cluster: Cluster) -> int:
    found = cluster.lab.get(f"/api/v1/nodes/{cluster.name}/proxy/configz")
    return int(found["kubeletconfig"]["kubeAPIQPS"])
