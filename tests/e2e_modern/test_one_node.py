# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rollouts to one node: what they hide and name, and a migration to a drop-in."""

from __future__ import annotations

import json
import re
import typing as t

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.lab.console import LabError
from tests.lab.lab import Lab
from tests.support.lab_node.node_bench import Bench
from tests.support.plays.ansible import Ansible

FILE = "/var/lib/kubelet/config.yaml"
N3 = ("-e", "kubelet_config_hosts=n3")
COPY = "/root/config.yaml"
RESTART = "systemctl reset-failed kubelet; systemctl restart kubelet"
# No address of the node: valid, and fatal for the kubelet.
DEADLY = {"address": "192.0.2.1"}
OPTIONS = {"kubelet_config_trial_seconds": 1}
MIGRATE = (*N3, "-e", "kubelet_config_delivery=dropin")
ACCEPTED = {**OPTIONS, "kubelet_config_soak_seconds": 15, "kubelet_config_allow_hidden": True}


Fields = dict[str, t.Any]


def kubeadm(fields: Fields) -> str:
    """Return a file in block style, as the package sigs.k8s.io/yaml writes."""
    return str(yaml.safe_dump(fields))


def kubespray(fields: Fields) -> str:
    """Block style, Python's spelling of true and false, comments (kubernetes-sigs/kubespray, roles/kubernetes/node)."""
    text = re.sub(r"(?m): (true|false)$", lambda found: f": {found.group(1).capitalize()}", yaml.safe_dump(fields))
    return f"---\n# Ansible managed\n{text}"


def deckhouse(fields: Fields) -> str:
    """Flow style below the outermost level (deckhouse/deckhouse, candi/bashible)."""
    rows = [f"{name}: {_flow(value)}" for name, value in fields.items()]
    return "\n".join([*rows, ""])


def _flow(value: t.Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6)
    return str(text.removesuffix("...\n").strip())


WRITERS: dict[str, t.Callable[[Fields], str]] = {"kubeadm": kubeadm, "Kubespray": kubespray, "Deckhouse": deckhouse}


def _source(lab: Lab, name: str) -> dict[str, t.Any]:
    """Return the annotation with the source of a node."""
    found: dict[str, t.Any] = json.loads(lab.get(f"/api/v1/nodes/{name}")["metadata"]["annotations"][f"{PREFIX}source"])
    return found


@pytest.fixture
def own_file(bench: Bench) -> t.Iterator[t.Callable[[str], str]]:
    """Yield what writes the node's own file as a tool does, starts the kubelet with it and returns its text."""
    node = bench.node

    def write(tool: str) -> str:
        text = WRITERS[tool](yaml.safe_load(node.run(f"cat {COPY}")))
        node.run(f"cat > {FILE}; {RESTART}", stdin=text)
        bench.wait(bench.healthy, 60, "healthz with the file of the tool")
        return text

    node.run(f"cp -p {FILE} {COPY}")
    yield write
    # The reset of `bench` comes after this, and restarts the kubelet with the file that was there.
    node.run(f"cp -p {COPY} {FILE}; rm {COPY}; {RESTART}")
    bench.wait(bench.healthy, 60, "healthz with the own file")


@pytest.mark.parametrize("delivery", ["dropin", "checkpoint"])
@pytest.mark.parametrize("tool", WRITERS)
@pytest.mark.parametrize("bench", ["n3"], indirect=True)
def test_a_node_with_the_file_of_a_tool(
    bench: Bench, ansible: Ansible, own_file: t.Callable[[str], str], tool: str, delivery: str
) -> None:
    text, before = own_file(tool), bench.configz()
    options = {"kubelet_config_delivery": delivery, **OPTIONS}

    def play(playbook: str, **declared: t.Any) -> tuple[int, str]:
        ansible.variables(workers_a={"kubelet_config": declared, **options})
        run = ansible.playbook(playbook, *N3)
        return run.code, " ".join(run.output.split())

    code, output = play("rollout", kubeAPIQPS=61)
    assert code == 0 and bench.configz() == {**before, "kubeAPIQPS": 61}, output
    code, output = play("drift", kubeAPIQPS=61)
    assert code == 0 and "0 drifted" in output, output

    code, output = play("rollout", kubeAPIQPS=62, **DEADLY)
    assert code and bench.configz() == {**before, "kubeAPIQPS": 61}, output

    code, output = play("reset")
    assert code == 0 and bench.configz() == before, output
    assert bench.node.run(f"cat {FILE}") == text


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
def test_a_checkpoint_becomes_a_drop_in(bench: Bench, lab: Lab, ansible: Ansible) -> None:
    declared = {"kubeAPIQPS": 61, "maxPods": 81}
    ansible.variables(workers_a={"kubelet_config": declared, "kubelet_config_delivery": "checkpoint", **OPTIONS})
    run = ansible.playbook("rollout", *N3)
    assert run.code == 0, run.output
    before, invocation = bench.configz(), bench.node.invocation_id()

    # A value that is no longer declared would go with the checkpoint.
    ansible.variables(workers_a={"kubelet_config": {"kubeAPIQPS": 61}, **OPTIONS})
    refused = ansible.playbook("migrate", *MIGRATE)
    words = refused.output.replace("\n", " ")
    assert refused.code and "the checkpoint has 81, and without it the kubelet would run 110" in words, words
    assert bench.node.invocation_id() == invocation
    checked = ansible.playbook("migrate", *MIGRATE, "-e", "kubelet_config_migrate_changes=true", "--check")
    assert checked.code == 0 and "forecast: 1 node to restart, 0 to drain" in checked.output, checked.output

    ansible.variables(workers_a={"kubelet_config": declared, **OPTIONS})
    moved = ansible.playbook("migrate", *MIGRATE)
    assert moved.code == 0, moved.output
    assert bench.configz() == before
    assert bench.node.invocation_id() != invocation
    assert _source(lab, "n3")["delivery"] == "dropin"
    command = bench.node.run("tr '\\0' ' ' < /proc/$(systemctl show kubelet -P MainPID)/cmdline")
    assert "--config=/var/lib/kubelet/config.yaml" in command and "--config=/var/lib/kubelet-config" not in command

    again = ansible.playbook("migrate", *MIGRATE)
    assert again.code == 0 and again.recap("n3")["changed"] == 0, again.output
    same = ansible.playbook("rollout", *N3)
    assert same.code == 0 and same.recap("n3")["changed"] == 0, same.output


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
@pytest.mark.parametrize(
    ("delivery", "field"),
    [
        ("dropin", "enableServer"),
        pytest.param("dropin", "enableDebuggingHandlers", marks=pytest.mark.long),
        pytest.param("checkpoint", "enableServer", marks=pytest.mark.long),
        ("checkpoint", "enableDebuggingHandlers"),
    ],
)
def test_rolled_out_soaked_and_reset(bench: Bench, ansible: Ansible, delivery: str, field: str) -> None:
    before, started = bench.configz(), bench.node.invocation_id()
    ansible.variables(workers_a={"kubelet_config": {field: False}, "kubelet_config_delivery": delivery, **ACCEPTED})
    run = ansible.playbook("rollout", *N3)
    assert run.code == 0, run.output
    assert bench.node.invocation_id() != started and bench.healthy()
    with pytest.raises(LabError, match=r"404|error trying to reach service"):
        bench.lab.get("/api/v1/nodes/n3/proxy/configz")
    status = bench.status()
    assert status["active"] == status["assigned"] and not status.get("error")

    again = ansible.playbook("plan", *N3)
    assert again.code != 0 and f"with {field}: false, so that no user can read its live values" in again.output

    back = ansible.playbook("reset", *N3)
    assert back.code == 0, back.output
    assert bench.configz() == before
