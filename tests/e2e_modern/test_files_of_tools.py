# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes whose own file is written as Kubespray, Deckhouse and kubeadm write it: rollout, revert, drift and reset."""

from __future__ import annotations

import typing as t

import pytest
import yaml

from tests.support.ansible import Ansible
from tests.support.node_bench import Bench
from tests.support.own_files import WRITERS

N3 = ("-e", "kubelet_config_hosts=n3")
FILE = "/var/lib/kubelet/config.yaml"
COPY = "/root/config.yaml"
RESTART = "systemctl reset-failed kubelet; systemctl restart kubelet"
# No address of the node: valid, and fatal for the kubelet.
DEADLY = {"address": "192.0.2.1"}


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
    options = {"kubelet_config_delivery": delivery, "kubelet_config_trial_seconds": 1}

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
