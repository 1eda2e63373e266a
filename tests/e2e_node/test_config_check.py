# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""On real nodes: the own kubelet binary checks configurations in a sandbox, without an effect on the running kubelet;
and the report of the preflight is what systemd and the kubelet really do.
"""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.lab import kubeadm
from tests.support.lab_node.preflight_node import PLACE, Node
from tests.support.plays.ansible import Ansible

# Fields of a configuration, or the whole text.
CONFIGS: dict[str, tuple[dict[str, t.Any] | str, str, str, list[str]]] = {
    "valid": ({}, "valid", "", []),
    "valid, logs as JSON, certificates rotated": (
        {"logging": {"format": "json"}, "rotateCertificates": True},
        "valid",
        "",
        [],
    ),
    "negative": ({"kubeAPIQPS": -1}, "invalid", "kubeAPIQPS (--kube-api-qps) -1 must not be a negative number", []),
    "unknown": (
        {"maxPodz": 1, "authentication": {"webhok": {}}},
        "valid",
        "",
        ["authentication.webhok", "maxPodz"],
    ),
    "type": ({"maxPods": "5"}, "invalid", "failed to decode", []),
    "empty": ("", "invalid", "was empty", []),
    "nothing": ("{}", "invalid", "Object 'Kind' is missing", []),
    "gate": ({"featureGates": {"Foo": True}}, "invalid", "feature gate: Foo", []),
    "no YAML": ("a: [", "invalid", "failed to decode", []),
}


@pytest.mark.fault(case=1)
@pytest.mark.fault(case=4)
@pytest.mark.fault(case=5)
def test_the_nodes_binary_checks_configs_and_the_running_kubelet_is_not_affected(nodes: dict[str, Node]) -> None:
    node = nodes["n2"]
    state = (
        "ls -lR --time-style=full-iso /var/lib/kubelet/pki /var/lib/kubelet/cpu_manager_state; "
        "iptables-save | grep -v '^#'; ls /run; find /sys/fs/cgroup -type d | grep -v system.slice | sort; "
        "systemctl show kubelet -p InvocationID,MainPID,NRestarts; "
        "systemctl list-units --all --no-legend 'run-[ru]*'"
    )
    before = node.run(state)
    texts = {
        name: config if isinstance(config, str) else json.dumps({**node.header(), **config})
        for name, (config, *_answer) in CONFIGS.items()
    }
    found = node.python(f"""
result = {{}}
for name, text in {texts!r}.items():
    started = time.monotonic()
    result[name] = [*binary.check(text, unit.Unit().argv(), minor=lambda: {node.minor}), time.monotonic() - started]
""")
    print({name: f"{answer[3]:.3f} s" for name, answer in found.items()})
    for name, (_text, verdict, message, unknown) in CONFIGS.items():
        result = found[name]
        assert (result[0], result[2]) == (verdict, unknown), (name, result)
        assert message in (result[1] or [""])[0], (name, result)
    assert node.run(state) == before


def test_the_sandbox_has_no_network_and_nothing_to_write(nodes: dict[str, Node]) -> None:
    node = nodes["n1"]
    node.write(
        f"{PLACE}/nosy",
        "#!/bin/sh\n{ ls -A /run; for f in /var/lib/kubelet /etc /sys/fs/cgroup /root /home /tmp; do "
        "touch $f/x 2>/dev/null && echo wrote $f; done; "
        "ip -o link | wc -l; ip route; grep Cap /proc/self/status; } 2>&1 | tr '\\n' ' '\n",
    )
    node.run(f"chmod 755 {PLACE}/nosy")
    output = node.python(f"result = binary.check('{{}}', ['/usr/bin/kubelet'], {PLACE!r} + '/nosy')[1][0]")
    assert "wrote" not in output and "CapEff: 0000000000000004" in output.replace("\\t", " ").replace("\t", " "), output
    assert " 1 Cap" in output.replace("\t", " "), f"one interface, no route: {output}"
    assert "containerd" not in output and "dbus" not in output, output


def module(ansible: Ansible, host: str, **config: t.Any) -> dict[str, t.Any]:
    """Run the module on a node over ssh, like a user, for a configuration."""
    return ansible.module("kubelet_preflight_info", {"config": json.dumps(config)}, host=host)


def test_what_a_kubeadm_node_runs(nodes: dict[str, Node], ansible: Ansible) -> None:
    found = module(ansible, "n2", **{**nodes["n2"].header(), "maxPodz": 1, "cgroupDriver": "systemd"})
    kubelet = found["kubelet"]
    assert (
        kubelet["command"]
        == nodes["n2"].run("tr '\\0' '\\n' < /proc/$(systemctl show -P MainPID kubelet)/cmdline").split("\n")[:-1]
    )
    assert (kubelet["form"], kubelet["command_source"], kubelet["changes_at_restart"]) == ("kubeadm", "process", False)
    assert kubelet["config"] == "/var/lib/kubelet/config.yaml"
    assert kubelet["config_given_by"] == {
        "file": f"{kubeadm.drop_in_folder(nodes['n2'].minor)}/10-kubeadm.conf",
        "line": 3,
    }
    assert kubelet["version"] == nodes["n2"].lab_node.release.version
    assert kubelet["shadowed"] == {"maxPods": {"flag": "--max-pods=61", "file": "/etc/default/kubelet", "line": 1}}
    assert found["check"] == {"verdict": "valid", "messages": [], "unknown_fields": ["maxPodz"]}
    assert found["host"]["container_runtime"]["cgroup_driver"] == "cgroupfs"
    assert found["host"]["state_files"]["cpu"] == {"path": "/var/lib/kubelet/cpu_manager_state", "policy": "none"}
    assert [problem["rule"] for problem in found["problems"]] == ["cgroup-driver"]
    assert ["maxPodz" in reason for reason in found["reasons"]] == [True] and found["node_proof"]
