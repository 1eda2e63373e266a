# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifests of permissions on a real API server: docs/rbac.yaml for a reader, and docs/rbac for each playbook."""

from __future__ import annotations

import typing as t

import pytest
import yaml

from tests.lab.lab import Lab
from tests.support.plays.ansible import Ansible
from tests.support.plays.permissions import FOLDER, USER, everything, manifest

FOR_PROXY = FOLDER / "option-read-proxy.yaml"
READER = "kubelet-config-reader"
N1 = ("-e", "kubelet_config_hosts=n1")


def objects() -> str:
    """Return the manifest, and the permission that kubelets before 1.33 need, for the same reader."""
    more = manifest("option-read-proxy")
    for item in more:
        for subject in item.get("subjects", ()):
            subject["name"] = READER
    return yaml.safe_dump_all([*everything(), *more])


@pytest.fixture
def granted(lab: Lab) -> t.Iterator[None]:
    """Apply the manifests, and remove them afterwards."""
    lab.kubectl("apply", "-f", "-", stdin=objects())
    yield
    lab.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=objects())


def written(lab: Lab) -> tuple[t.Any, t.Any]:
    """Return what a rollout can write: specs of nodes, ConfigMaps."""
    nodes = lab.get("/api/v1/nodes")["items"]
    maps = lab.get("/api/v1/namespaces/kube-system/configmaps")["items"]
    return [(node["metadata"]["name"], node["spec"]) for node in nodes], [
        (item["metadata"]["name"], item["metadata"]["resourceVersion"]) for item in maps
    ]


@pytest.mark.fault(case=30)
def test_reader(lab: Lab, fleet: tuple[str, ...], ansible: Ansible, granted: None) -> None:
    """Dump and plan work; everything that writes is refused with the missing permission, and nothing is written."""
    user = {"K8S_AUTH_KUBECONFIG": str(lab.user_kubeconfig(READER))}
    ansible.variables(workers_a={"kubelet_config": {"maxPods": 70}})
    before = written(lab)
    for name in ("dump", "plan"):
        run = ansible.playbook(name, *N1, **user)
        assert run.code == 0, run.output
    assert "maxPods: 110 -> 70" in run.output
    for name, *arguments in (("rollout", *N1), ("prune",)):
        run = ansible.playbook(name, *arguments, **user)
        assert run.code != 0
        for text in (f'User \\"{READER}\\" cannot', "docs/rbac.yaml"):
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
