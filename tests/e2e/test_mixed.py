# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups of different nodes: n1 and n2 follow Node.spec.configSource, the kubelet of n3 does not support it."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.lab.lab import Lab
from tests.lab.node import LabNode
from tests.support.api.calls import MERGE, NODES
from tests.support.lab.views import eventually
from tests.support.lab.views import look_at_all as views
from tests.support.lab.views import managed_configmaps as configmaps
from tests.support.plays.ansible import Ansible

ALL = ("-e", "kubelet_config_hosts=workers_a:workers_b")
LAYOUT = (
    "find /etc/systemd /etc/kubernetes /etc/default /var/lib/kubelet/config.yaml "
    "/var/lib/kubelet/kubeadm-flags.env /var/lib/kubelet-config "
    "-printf '%p %y %m %s %l\\n' 2>/dev/null | sort; systemctl cat kubelet; cat /var/lib/kubelet/config.yaml"
)
SOURCE, STATUS = f"{PREFIX}source", f"{PREFIX}status"
TOGETHER = ("-e", "kubelet_config_serial=3")


@pytest.fixture
def modern(lab: Lab, fleet: tuple[str, ...], session: Session, ansible: Ansible) -> t.Iterator[LabNode]:
    """Yield n3 as a node of a current cluster: its kubelet does not follow its Node and never has."""
    node = lab.node("n3")
    node.set_dynamic(False)
    eventually(lambda: views(lab, ("n3",)) != {}, 60, "n3 answers")
    session.request("PATCH", f"{NODES}/n3/status", [], {"status": {"config": None}}, MERGE)
    try:
        yield node
    finally:
        ansible.variables()
        back = ansible.playbook("reset", *ALL, *TOGETHER)
        node.set_dynamic(True)
        lab.wait_listening()
        assert back.code == 0, back.output


def notes(lab: Lab, name: str) -> dict[str, t.Any]:
    """Return the annotations that replace spec.configSource and status.config."""
    found = lab.get(f"/api/v1/nodes/{name}")["metadata"].get("annotations", {})
    return {key.partition("/")[2]: json.loads(found[key]) for key in (SOURCE, STATUS) if key in found}


def rows(ansible: Ansible) -> dict[str, t.Any]:
    """Return the result of node_config_info."""
    return t.cast("dict[str, t.Any]", ansible.module("node_config_info", {"nodes": ["n1", "n3"]})["nodes"])


def test_one_workflow_for_both_deliveries(lab: Lab, fleet: tuple[str, ...], ansible: Ansible, modern: LabNode) -> None:
    """Predicted, rolled out, found in place, and reset to the byte."""
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 57}})
    local, layout = views(lab, fleet), modern.run(LAYOUT)

    checked = ansible.playbook("rollout", *ALL, *TOGETHER, "--check", "--diff")
    assert checked.code == 0, checked.output
    assert (views(lab, fleet), modern.run(LAYOUT), notes(lab, "n3"), configmaps(lab)) == (local, layout, {}, [])
    assert f"+the annotation {SOURCE}: kube-system/livenodes-kubelet-" in checked.output

    first = ansible.playbook("rollout", *ALL, *TOGETHER)
    assert first.code == 0, first.output
    now = views(lab, fleet)
    assert now["n1"].configz["kubeAPIQPS"] == now["n3"].configz["kubeAPIQPS"] == 57
    assert (now["n3"].spec, now["n3"].status) == (None, {})
    assert now["n3"].invocation != local["n3"].invocation
    marked = notes(lab, "n3")
    reference = marked["source"]["configMap"]
    assert marked["status"]["assigned"]["configMap"] == marked["status"]["active"]["configMap"] == reference
    assert reference["name"] in configmaps(lab) and reference["uid"] and reference["resourceVersion"]
    eventually(
        lambda: notes(lab, "n3")["status"]["reason"] == "on trial, confirmed",
        30,
        "the report of the confirmation",
        lambda: notes(lab, "n3"),
    )

    row = rows(ansible)
    assert (row["n1"]["delivery"], row["n3"]["delivery"]) == ("native", "checkpoint")
    for name in ("n1", "n3"):
        assert row[name]["settled"] and not row[name]["error"] and row[name]["assigned"] == row[name]["active"]
        assert set(row[name]["active"]) == {"namespace", "name", "uid", "resourceVersion", "kubeletConfigKey"}

    again = ansible.playbook("rollout", *ALL, *TOGETHER)
    assert again.code == 0, again.output
    assert [again.recap(name)["changed"] for name in fleet] == [0, 0, 0]
    assert views(lab, fleet) == now
    assert ansible.playbook("prune").recap("n1")["changed"] == 0

    back = ansible.playbook("reset", *ALL, *TOGETHER)
    assert back.code == 0, back.output
    assert modern.run(LAYOUT) == layout and notes(lab, "n3") == {}
    for name, view in views(lab, fleet).items():
        assert (view.spec, view.status, view.configz) == (None, {}, local[name].configz)
    assert ansible.playbook("reset", *ALL, *TOGETHER).recap("n3")["changed"] == 0
