# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Drift created by hand on real nodes, as the playbook reports it: n1 is native, n3 has checkpoints."""

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
from tests.support.plays.ansible import Ansible, Run

SOURCE, STATUS = f"{PREFIX}source", f"{PREFIX}status"
HOSTS = ("-e", "kubelet_config_hosts=n1:n3", "-e", "kubelet_config_serial=2")
LOOK = ("-e", "kubelet_config_drift_hosts=true")
DECLARED = {"kubeAPIQPS": 57, "eventBurst": 31}
FLAGS = "/var/lib/kubelet/kubeadm-flags.env"

Rows = dict[tuple[str, str], dict[str, t.Any]]


def drift(ansible: Ansible, *arguments: str) -> tuple[Run, Rows, dict[str, t.Any]]:
    """Run the playbook; return the run, the rows by node and path, and the whole document."""
    place = ansible.home / "drift.json"
    run = ansible.playbook("drift", *HOSTS, "-e", f"kubelet_config_drift_file={place}", *arguments)
    assert place.exists(), run.output
    found = json.loads(place.read_text())
    place.unlink()
    return run, {(name, row["path"]): row for name, node in found["nodes"].items() for row in node["drift"]}, found


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
        back = ansible.playbook("reset", *HOSTS)
        node.set_dynamic(True)
        lab.wait_listening()
        assert back.code == 0, back.output


def notes(lab: Lab, name: str) -> dict[str, t.Any]:
    """Return the annotations that replace spec.configSource and status.config."""
    found = lab.get(f"/api/v1/nodes/{name}")["metadata"].get("annotations", {})
    return {key.partition("/")[2]: json.loads(found[key]) for key in (SOURCE, STATUS) if key in found}


@pytest.fixture
def flags(ansible: Ansible, modern: LabNode) -> t.Iterator[str]:
    """Yield the path of kubeadm's flags on n3; restore the file and the access to the node afterwards."""
    before = modern.run(f"cat {FLAGS}")
    try:
        yield FLAGS
    finally:
        ansible.host_variables()
        modern.run(f"cat > {FLAGS}", stdin=before)


def test_every_cause_of_a_mixed_fleet(
    lab: Lab,
    fleet: tuple[str, ...],
    ansible: Ansible,
    modern: LabNode,
    flags: str,
) -> None:
    """No drift after a rollout; then six causes on two nodes, all in one report."""
    ansible.variables(all={"kubelet_config": DECLARED, "kubelet_config_immutable": False})
    rolled_out = ansible.playbook("rollout", *HOSTS)
    assert rolled_out.code == 0, rolled_out.output
    eventually(lambda: notes(lab, "n3")["status"]["reason"] == "on trial, confirmed", 30, "the report")
    before = views(lab, ("n1", "n3"))
    clean, rows, found = drift(ansible, *LOOK)
    assert (clean.code, rows) == (0, {}), clean.output
    assert {name: (node["delivery"], node["host"]) for name, node in found["nodes"].items()} == {
        "n1": ("native", "looked at"),
        "n3": ("checkpoint", "looked at"),
    }
    assert views(lab, ("n1", "n3")) == before

    modern.run(
        f"sed -i 's/\"$/ --event-burst=99\"/' {flags} && grep -q event-burst {flags} && systemctl restart kubelet"
    )
    configmap = ("configmap", "-n", "kube-system", before["n1"].name_of("active"))
    held = json.loads(lab.kubectl("get", *configmap, "-o", "json"))["data"]["kubelet"]
    edited = {"data": {"kubelet": held.replace('"eventBurst": 31', '"eventBurst": 32')}}
    lab.kubectl("patch", *configmap, "--type=merge", "-p", json.dumps(edited))
    eventually(
        lambda: (
            {name: view.configz.get("eventBurst") for name, view in views(lab, ("n1", "n3")).items()}
            == {"n1": 32, "n3": 99}
        ),
        90,
        "both kubelets answer with another eventBurst",
    )
    # A kubelet that starts now would read it.
    active = modern.run("readlink -f /var/lib/kubelet-config/active/kubelet").strip()
    modern.run(f'sed -i \'s/"kubeAPIQPS": 57/"kubeAPIQPS": 66/\' {active}')
    ansible.variables(all={"kubelet_config": {**DECLARED, "registryPullQPS": 8}, "kubelet_config_kubeadm": "check"})
    changed = views(lab, ("n1", "n3"))
    run, rows, found = drift(ansible)
    assert run.code != 0
    assert {place: row["cause"] for place, row in rows.items()} == {
        ("n1", "eventBurst"): "configmap changed",
        ("n1", "registryPullQPS"): "configmap changed",
        ("n1", "kubeAPIQPS"): "kubeadm",
        ("n3", "eventBurst"): "flag",
        ("n3", "registryPullQPS"): "not rolled out",
        ("n3", "kubeAPIQPS"): "edited file",
    }, run.output
    assert found["summary"]["drifted"] == 2 and found["nodes"]["n1"]["host"] == ""
    row = rows["n3", "kubeAPIQPS"]
    assert [row[stage] for stage in ("declared", "pushed", "assigned", "disk", "live")] == [57, 57, 57, 66, 57]
    assert flags in rows["n3", "eventBurst"]["message"] and active in row["message"]
    assert views(lab, ("n1", "n3")) == changed

    ansible.host_variables(n3={"ansible_port": 2})
    lost, rows, found = drift(ansible, "-e", "kubelet_config_drift=report")
    assert lost.code == 0, lost.output
    assert "not looked at on the node: its host cannot be reached: " in found["nodes"]["n3"]["host"]
    assert found["summary"]["not_looked_at"] == ["n3"]
    assert rows["n3", "eventBurst"]["cause"] == "unknown" and "--event-burst" in rows["n3", "eventBurst"]["message"]
