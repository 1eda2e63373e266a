# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The forecast of a plan for a real node, and whether the real kubelet behaves that way. The pods need no image."""

from __future__ import annotations

import json
import time
import typing as t
from fractions import Fraction

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import amounts
from tests.lab.lab import Lab
from tests.support.lab.views import eventually, look
from tests.support.plays.ansible import Ansible

N1 = ("-e", "kubelet_config_hosts=n1")
PODS = ("old", "middle", "young")
# By the machine. The role dump finds out what it has, since the inventory does not know that.
SIZED = {
    "maxPods": 2,
    "kubeReserved": "{{ kubelet_capacity | combine({'pods': 2}) | livenodes.kubelet.reserved('gke') }}",
}


@pytest.fixture
def pods(lab: Lab, fleet: tuple[str, ...]) -> t.Iterator[tuple[str, ...]]:
    """Yield pods on n1, created at least a second apart."""
    with_account = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"namespace": "default", "name": "default"},
    }
    lab.kubectl("apply", "-f", "-", stdin=json.dumps(with_account))
    try:
        for name in PODS:
            lab.kubectl(
                "create",
                "-f",
                "-",
                stdin=json.dumps(
                    {
                        "apiVersion": "v1",
                        "kind": "Pod",
                        "metadata": {"namespace": "default", "name": name},
                        "spec": {
                            "nodeName": "n1",
                            "automountServiceAccountToken": False,
                            "terminationGracePeriodSeconds": 0,
                            "tolerations": [{"operator": "Exists"}],
                            "containers": [{"name": "main", "image": "none.invalid/none"}],
                        },
                    }
                ),
            )
            time.sleep(1.1)
        yield PODS
    finally:
        lab.kubectl("delete", "pods", "-n", "default", "--all", "--force", "--grace-period=0", "--ignore-not-found")


def phases(lab: Lab) -> dict[str, tuple[str, str]]:
    """Return phase and reason of every pod."""
    found = lab.get("/api/v1/namespaces/default/pods")["items"]
    return {item["metadata"]["name"]: (item["status"]["phase"], item["status"].get("reason", "")) for item in found}


def allocatable(lab: Lab) -> dict[str, Fraction]:
    """Return what n1 has for pods."""
    return exact(lab.get("/api/v1/nodes/n1")["status"]["allocatable"])


def exact(quantities: dict[str, str]) -> dict[str, Fraction]:
    """Return quantities as numbers, of units or bytes."""
    return {resource: amounts.parse_quantity(text) for resource, text in quantities.items()}


@pytest.mark.fault(case=26)
def test_the_forecast_comes_true(lab: Lab, pods: tuple[str, ...], ansible: Ansible) -> None:
    """The kubelet refuses exactly the pods that the forecast names, and has left for pods what the plan shows."""
    eventually(
        lambda: all(phase == ("Pending", "") for phase in phases(lab).values()),
        30,
        "pods that the kubelet has accepted",
        lambda: phases(lab),
    )
    ansible.variables(workers_a={"kubelet_config": SIZED})
    document = ansible.home / "plan.json"
    run = ansible.playbook(
        "plan", *N1, "-e", f"kubelet_config_plan_file={document}", "-e", "kubelet_config_forecast=warn"
    )
    assert run.code == 0, run.output
    plan = json.loads(document.read_text())
    forecast = {row["pod"] for row in plan["forecast"]["nodes"]["n1"]["refused"]}
    assert forecast == {"young"}
    promised = {resource: row["after"] for resource, row in plan["nodes"]["n1"]["allocatable"].items()}
    assert set(promised) == {"pods", "cpu", "memory", "ephemeral-storage"}
    # A pod that is refused at the first restart (see below) counts as a loss.
    run = ansible.playbook(
        "rollout", *N1, "-e", "kubelet_config_forecast=ignore", "-e", "kubelet_config_allow_pod_loss=1"
    )
    assert run.code == 0, run.output
    assert look(lab, "n1").configz["maxPods"] == 2
    # A kubelet admits pods by the allocatable resources of its Node object. At the first restart these can still be the
    # old ones; the next restart uses the new ones.
    eventually(
        lambda: allocatable(lab).items() >= exact(promised).items(),
        60,
        "what the plan shows as allocatable on the Node",
        lambda: (exact(promised), allocatable(lab)),
    )
    lab.node("n1").run("systemctl restart kubelet")
    eventually(lambda: phases(lab)["young"] == ("Failed", "OutOfpods"), 60, "young refused", lambda: phases(lab))
    assert {name for name, (phase, _reason) in phases(lab).items() if phase == "Failed"} == forecast
