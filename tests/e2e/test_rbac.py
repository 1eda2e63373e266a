# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The permissions in docs/rbac.yaml are sufficient, and those marked as needed are needed."""

from __future__ import annotations

import typing as t

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.lab.lab import Lab
from tests.support.ansible import ROOT, Ansible
from tests.support.permissions import FOLDER, USER
from tests.support.views import look

MANIFEST, FOR_PROXY = ROOT / "docs" / "rbac.yaml", FOLDER / "option-read-proxy.yaml"
N1 = ("-e", "kubelet_config_hosts=n1")
Rule = tuple[str, str, str, str]
READER, ROLLOUT, MAPS = (
    ("ClusterRole", "livenodes-kubelet-reader"),
    ("ClusterRole", "livenodes-kubelet-rollout"),
    ("Role", "livenodes-kubelet-rollout"),
)
KUBEADM, HOSTS = ("Role", "livenodes-kubelet-kubeadm"), ("ClusterRole", "livenodes-kubelet-hosts")
# Each with the playbook that fails without it. Without the permission to patch, an unused ConfigMap is left for the
# last playbook to prune.
NEEDED: tuple[tuple[Rule, tuple[str, ...]], ...] = (
    ((*READER, "nodes", "list"), ("plan", *N1)),
    (("ClusterRole", "livenodes-kubelet-option-read-proxy", "nodes/proxy", "get"), ("plan", *N1)),
    ((*READER, "pods", "list"), ("plan", *N1)),
    ((*MAPS, "configmaps", "get"), ("rollout", *N1)),
    ((*MAPS, "configmaps", "create"), ("rollout", *N1)),
    ((*ROLLOUT, "nodes", "patch"), ("rollout", *N1)),
    ((*MAPS, "configmaps", "list"), ("prune",)),
    ((*MAPS, "configmaps", "delete"), ("prune",)),
    ((*KUBEADM, "configmaps", "patch"), ("plan", *N1, "-e", "kubelet_config_kubeadm=check")),
)
HOLD: dict[str, t.Any] = {"nodes": ["n1"], "group": "rbac", "holder": "rbac", "wait": 0}
# The same for modules that a rollout calls before and after its stages.
CALLED: tuple[tuple[Rule, str, dict[str, t.Any]], ...] = (
    # The heartbeats in kube-node-lease have a Role of the same name; without it messages have less detail.
    ((*MAPS, "leases", "list"), "kubelet_rollout_lease", HOLD),
    ((*MAPS, "leases", "create"), "kubelet_rollout_lease", HOLD),
    ((*MAPS, "leases", "patch"), "kubelet_rollout_lease", HOLD),
    ((*MAPS, "leases", "delete"), "kubelet_rollout_lease", {"state": "released"}),
    ((*MAPS, "configmaps", "get"), "kubelet_rollout_gate", {"nodes": ["n1"]}),
    ((*READER, "pods", "list"), "kubelet_rollout_gate", {"nodes": ["n1"], "pods": True}),
)
# The first is needed only when another user changes the Node at the same moment, the second only to describe a failure
# in more detail, the third when the answer to a create was lost, the fourth when a pod was deleted. The fifth
# is granted twice when kubelet_config_namespace is kube-system. Those of kubelets need 1.33, see tests/e2e_modern.
OPTIONAL: tuple[Rule, ...] = (
    (*READER, "nodes", "get"),
    (*ROLLOUT, "subjectaccessreviews", "create"),
    (*MAPS, "leases", "get"),
    (*READER, "pods", "watch"),
    (*KUBEADM, "configmaps", "get"),
    # Needed for a drain, see test_drain.
    (*ROLLOUT, "pods/eviction", "create"),
    # Needed for nodes with a follower from 1.30 on, see e2e_modern/test_policy.
    (*ROLLOUT, "assignments", "update"),
    (*ROLLOUT, "validatingadmissionpolicies", "get"),
    (*ROLLOUT, "validatingadmissionpolicybindings", "get"),
    *((*role, f"nodes/{sub}", "get") for role in (READER, HOSTS) for sub in ("configz", "metrics", "healthz", "stats")),
    ("Role", HOSTS[1], "serviceaccounts/token", "create"),
)


def objects() -> list[dict[str, t.Any]]:
    """Return the objects of the manifest, and the permission that kubelets before 1.33 need, for the same users."""
    found, more = (yaml.safe_load(path.read_text(encoding="utf-8"))["items"] for path in (MANIFEST, FOR_PROXY))
    for item in more:
        if "subjects" in item:
            (subject,) = item["subjects"]
            item["subjects"] = [{**subject, "name": f"kubelet-config-{name}"} for name in ("reader", "rollout")]
    return [*found, *more]


def rules() -> list[Rule]:
    """Return every single permission: kind and name of the role, resource, verb."""
    return [
        (role["kind"], role["metadata"]["name"], resource, verb)
        for role in objects()
        if "rules" in role
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def without(taken: Rule) -> str:
    """Return the manifest without one permission."""
    found = objects()
    for role in found:
        for rule in role.get("rules", ()):
            if (role["kind"], role["metadata"]["name"], rule["resources"]) == (*taken[:2], [taken[2]]) and taken[
                3
            ] in rule["verbs"]:
                rule["verbs"].remove(taken[3])
        if "rules" in role:
            role["rules"] = [rule for rule in role["rules"] if rule["verbs"]]
    return yaml.safe_dump_all(found)


@pytest.fixture
def granted(lab: Lab) -> t.Iterator[None]:
    """Apply the manifests, and remove them afterwards."""
    lab.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects()))
    yield
    lab.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=yaml.safe_dump_all(objects()))


def written(lab: Lab) -> tuple[t.Any, t.Any]:
    """Return what a rollout can write: specs of nodes, ConfigMaps."""
    nodes = lab.get("/api/v1/nodes")["items"]
    maps = lab.get("/api/v1/namespaces/kube-system/configmaps")["items"]
    return [(node["metadata"]["name"], node["spec"]) for node in nodes], [
        (item["metadata"]["name"], item["metadata"]["resourceVersion"]) for item in maps
    ]


@pytest.mark.long
def test_rollout_user(lab: Lab, fleet: tuple[str, ...], ansible: Ansible, granted: None) -> None:
    """All playbooks succeed for a user with only these permissions."""
    user = {"K8S_AUTH_KUBECONFIG": str(lab.user_kubeconfig("kubelet-config-rollout"))}
    ansible.variables(workers_a={"kubelet_config": {"maxPods": 70}})
    for name, *arguments in (
        ("dump", *N1),
        ("plan", *N1, "-e", "kubelet_config_kubeadm=check"),
        ("rollout", *N1, "--check"),
        ("rollout", *N1),
    ):
        run = ansible.playbook(name, *arguments, **user)
        assert run.code == 0, run.output
    assert look(lab, "n1").configz["maxPods"] == 70
    for name, *arguments in (("reset", *N1), ("prune",)):
        run = ansible.playbook(name, *arguments, **user)
        assert run.code == 0, run.output
    assert (look(lab, "n1").spec, look(lab, "n1").configz["maxPods"]) == (None, 110)
    assert run.recap("n1")["changed"] == 1


@pytest.mark.long
@pytest.mark.fault(case=30)
def test_each_permission_is_needed(lab: Lab, fleet: tuple[str, ...], ansible: Ansible, granted: None) -> None:
    """Without any one of them a playbook fails and names it; every permission of the manifest is needed or marked as
    optional.
    """
    assert set(rules()) == {
        *(rule for rule, _playbook in NEEDED),
        *(rule for rule, _name, _options in CALLED),
        *OPTIONAL,
    }
    user = {"K8S_AUTH_KUBECONFIG": str(lab.user_kubeconfig("kubelet-config-rollout"))}
    ansible.variables(workers_a={"kubelet_config": {"maxPods": 70}})
    for taken, (name, *arguments) in NEEDED:
        lab.kubectl("apply", "-f", "-", stdin=without(taken))
        specs = written(lab)[0]
        run = ansible.playbook(name, *arguments, **user)
        assert run.code != 0, (taken, run.output)
        assert f'cannot {taken[3]} resource \\"{taken[2]}\\"' in run.output, (taken, run.output)
        assert written(lab)[0] == specs


@pytest.mark.long
def test_each_permission_is_needed_around_the_stages(lab: Lab, ansible: Ansible, granted: None) -> None:
    """With all of them everything works; without any one of them a module fails and names it."""
    user = {"K8S_AUTH_KUBECONFIG": str(lab.user_kubeconfig("kubelet-config-rollout"))}
    held = ansible.module("kubelet_rollout_lease", HOLD, **user)
    assert not held["failed"], held
    looked = ansible.module("kubelet_rollout_gate", {"nodes": ["n1"], "pods": True, "lease": held["lease"]}, **user)
    assert not looked["failed"] and list(looked["pods"]) == ["n1"], looked
    assert ansible.module("kubelet_rollout_lease", {"state": "released", "lease": held["lease"]}, **user)["changed"]
    for taken, name, options in CALLED:
        lab.kubectl("apply", "-f", "-", stdin=without(taken))
        found = ansible.module(name, {**options, "lease": held["lease"]} if "state" in options else options, **user)
        assert found["failed"] and f'cannot {taken[3]} resource "{taken[2]}"' in found["msg"], (taken, found)
        lab.kubectl("apply", "-f", "-", stdin=yaml.safe_dump_all(objects()))
    # What failed halfway was reverted.
    assert lab.kubectl("get", "lease", "-n", "kube-system", "-l", f"{PREFIX}lease", "-o", "name") == ""


@pytest.mark.fault(case=30)
def test_reader(lab: Lab, fleet: tuple[str, ...], ansible: Ansible, granted: None) -> None:
    """Dump and plan work; everything that writes is refused with the missing permission, and nothing is written."""
    user = {"K8S_AUTH_KUBECONFIG": str(lab.user_kubeconfig("kubelet-config-reader"))}
    ansible.variables(workers_a={"kubelet_config": {"maxPods": 70}})
    before = written(lab)
    for name in ("dump", "plan"):
        run = ansible.playbook(name, *N1, **user)
        assert run.code == 0, run.output
    assert "maxPods: 110 -> 70" in run.output
    for name, *arguments in (("rollout", *N1), ("prune",)):
        run = ansible.playbook(name, *arguments, **user)
        assert run.code != 0
        for text in ('User \\"kubelet-config-reader\\" cannot', "docs/rbac.yaml"):
            assert text in run.output, run.output
    assert written(lab) == before


def test_the_manifests_of_single_playbooks(lab: Lab, fleet: tuple[str, ...], ansible: Ansible) -> None:
    """The API server accepts them, and each is enough for its playbook. tests/unit/roles takes each permission away."""
    user = {"K8S_AUTH_KUBECONFIG": str(lab.user_kubeconfig(USER))}
    ansible.variables(workers_a={"kubelet_config": {"maxPods": 70}})
    refused = ansible.playbook("rollout", *N1, **user)
    assert refused.code != 0 and "docs/rbac" in refused.output, refused.output
    for name in ("dump", "plan", "stage", "rollout", "drift", "reset", "prune"):
        paths = ("-f", FOLDER / f"{name}.yaml", *(() if name == "prune" else ("-f", FOR_PROXY)))
        lab.kubectl("apply", *paths)
        try:
            run = ansible.playbook(name, *(() if name == "prune" else N1), **user)
        finally:
            lab.kubectl("delete", *paths)
        assert run.code == 0, (name, run.output)
    # This API server has no policies: tests/e2e_modern/test_policy.py applies that one.
    rest = [word for path in FOLDER.glob("*.yaml") if path.stem != "option-policy" for word in ("-f", path)]
    lab.kubectl("apply", *rest)
    lab.kubectl("delete", *rest)
