# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifests of permissions in docs/rbac on a real API server."""

from __future__ import annotations

import pytest

from tests.lab.lab import Lab
from tests.support.plays.ansible import Ansible
from tests.support.plays.permissions import FOLDER, USER

FOR_PROXY = FOLDER / "option-read-proxy.yaml"
N1 = ("-e", "kubelet_config_hosts=n1")


@pytest.mark.parametrize(
    "names",
    [
        ("rollout", "reset", "prune"),
        pytest.param(("dump", "plan", "stage", "rollout", "drift", "reset", "prune"), marks=pytest.mark.long),
    ],
    ids=["those that write", "all"],
)
@pytest.mark.fault(case=30)
def test_the_manifests_of_single_playbooks(
    lab: Lab, fleet: tuple[str, ...], ansible: Ansible, names: tuple[str, ...]
) -> None:
    """The API server accepts them, and each is enough for its playbook. tests/unit/roles takes each permission away."""
    user = {"K8S_AUTH_KUBECONFIG": str(lab.user_kubeconfig(USER))}
    ansible.variables(workers_a={"kubelet_config": {"maxPods": 70}})
    refused = ansible.playbook("rollout", *N1, **user)
    assert refused.code != 0 and "docs/rbac" in refused.output, refused.output
    for name in names:
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
