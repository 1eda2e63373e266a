# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the commands of the documentation: the life of a group, in a shell, with a check of each command's effect.

tests/unit/docs/test_commands.py checks that no command of the documentation is missing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.lab.files import DYNAMIC_CONFIG_DIR
from tests.lab.lab import Lab
from tests.support.lab.fleet import Fleet
from tests.support.lab.views import eventually, managed_configmaps
from tests.support.plays.ansible import ROOT, Ansible
from tests.support.plays.doc_commands import alike, commands

NATIVE, CHECKPOINT = "n1", "n3"
RBAC = ("clusterrole", "clusterrolebinding", "role", "rolebinding")


class Reader:
    """A user who follows the documentation in a shell, with two nodes as group `workers`."""

    def __init__(self, lab: Lab, fleet: Fleet, ansible: Ansible) -> None:
        self.lab, self.fleet, self.ansible = lab, fleet, ansible
        self.typed: set[str] = set()
        home = ansible.home
        (home / ".kube").mkdir()
        (home / ".kube/config").symlink_to(lab.kubeconfig)
        (home / "docs").symlink_to(ROOT / "docs")
        programs = [str(Path(sys.executable).parent), str(Path(lab.cache.kubectl).parent), os.environ["PATH"]]
        self.environment = {**ansible.environment, "PATH": os.pathsep.join(programs)}
        # As on the page: the file that kubectl uses, too.
        del self.environment["K8S_AUTH_KUBECONFIG"]

    def group(self, *names: str, **config: t.Any) -> None:
        """Set the nodes of the group and its declared configuration."""
        (self.ansible.inventory / "docs.yml").write_text(
            json.dumps({"all": {"children": {"workers": {"hosts": {name: {} for name in names}}}}})
        )
        self.ansible.variables(workers={"kubelet_config": config, "kubelet_config_serial": 2})

    def types(self, command: str, **placeholders: str) -> str:
        """Run a command of the documentation; return its output. Fails if the command fails."""
        self.typed.add(command)
        for name, value in placeholders.items():
            assert name in command, name
            command = command.replace(name, value)
        done = subprocess.run(
            ["sh", "-ec", command],
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            cwd=self.ansible.home,
            env=self.environment,
            timeout=300,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return done.stdout

    def plays(self, words: str, **placeholders: str) -> str:
        """Run a playbook of the collection for the group."""
        name, _blank, more = words.partition(" ")
        return self.types(
            f"ansible-playbook -i inventory livenodes.kubelet.{name} -e kubelet_config_hosts=workers"
            f"{' ' if more else ''}{more}",
            **placeholders,
        )

    def types_as_root(self, node: str, command: str, **placeholders: str) -> None:
        """Run a command as root on a node."""
        self.typed.add(f"# {command}")
        for name, value in placeholders.items():
            assert name in command, name
            command = command.replace(name, value)
        self.lab.node(node).run(command)

    def live(self, name: str) -> dict[str, t.Any]:
        """Return the live configuration of a node."""
        found = self.lab.get(f"/api/v1/nodes/{name}/proxy/configz")
        return t.cast("dict[str, t.Any]", found["kubeletconfig"])

    def variants(self) -> set[str]:
        """Return the names of the collection's ConfigMaps."""
        return set(managed_configmaps(self.lab))


@pytest.fixture
def reader(lab: Lab, fleet: Fleet, ansible: Ansible) -> t.Iterator[Reader]:
    """Yield a reader; remove what the commands left in the cluster."""
    found = Reader(lab, fleet, ansible)
    try:
        yield found
    finally:
        for kind in RBAC:
            for name in ("reader", "rollout", "kubeadm"):
                lab.kubectl("delete", kind, f"livenodes-kubelet-{name}", "-n", "kube-system", "--ignore-not-found")
        lab.kubectl(
            "delete", "role,rolebinding", "livenodes-kubelet-rollout", "-n", "kube-node-lease", "--ignore-not-found"
        )


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_commands_of_the_documentation(reader: Reader, whole: bool) -> None:
    """Every command, in the order of a group's life; in the short tier the first rollout and the end."""
    _prepares_and_plans(reader)
    _rolls_out(reader)
    if whole:
        _changes_and_rolls_back(reader)
        _migrates(reader)
        _helps_by_hand(reader)
    _ends(reader)
    # The unit test reads the source; this test compares with the commands that were run.
    wanted = {alike(command) for command in commands()}
    assert reader.typed <= wanted, reader.typed - wanted


def _prepares_and_plans(reader: Reader) -> None:
    reader.group(NATIVE, CHECKPOINT, kubeAPIQPS=61)
    before = reader.fleet.qps()
    printed = reader.types("export K8S_AUTH_KUBECONFIG=$HOME/.kube/config")
    assert printed == "" and (reader.ansible.home / ".kube/config").exists()
    assert "livenodes-kubelet-reader created" in reader.types("kubectl apply -f docs/rbac.yaml")
    reader.plays("dump -e kubelet_config_dump_file=dump.json")
    assert {NATIVE, CHECKPOINT} <= set(json.loads((reader.ansible.home / "dump.json").read_text())["nodes"])
    assert "kubeAPIQPS" in reader.plays("plan")
    reader.plays("plan -e kubelet_config_plan_file=plan.json")
    shown = json.loads(reader.types("python3 -m json.tool plan.json"))
    assert (shown["refused"], set(shown["nodes"])) == (False, {NATIVE, CHECKPOINT})
    assert reader.fleet.qps() == before


def _rolls_out(reader: Reader) -> None:
    reader.types(
        "kubectl create configmap livenodes-kubelet-rollout --namespace kube-system --from-literal=paused=true"
    )
    assert json.loads(
        reader.lab.kubectl("get", "configmap", "-n", "kube-system", "livenodes-kubelet-rollout", "-o", "json")
    )["data"] == {"paused": "true"}
    reader.types("kubectl delete configmap livenodes-kubelet-rollout --namespace kube-system")
    reader.plays("rollout")
    assert [reader.live(name)["kubeAPIQPS"] for name in (NATIVE, CHECKPOINT)] == [61, 61]
    reader.plays("drift")
    source = reader.types(
        r"kubectl get node n3 -o jsonpath='{.metadata.annotations.kubelet-config\.livenodes\.io/source}'", n3=CHECKPOINT
    )
    status = reader.types(
        r"kubectl get node n3 -o jsonpath='{.metadata.annotations.kubelet-config\.livenodes\.io/status}'", n3=CHECKPOINT
    )
    assert json.loads(source)["configMap"]["name"] == json.loads(status)["active"]["configMap"]["name"]
    assert '"delivery": "checkpoint"' in reader.types(
        """ansible localhost -m livenodes.kubelet.node_config_info -a '{"nodes": ["NAME"]}'""", NAME=CHECKPOINT
    )
    assert CHECKPOINT in reader.types("kubectl get events --field-selector reason=KubeletConfigChanged")


def _changes_and_rolls_back(reader: Reader) -> None:
    first = reader.variants()
    reader.group(CHECKPOINT, kubeAPIQPS=62)
    reader.plays("stage")
    assert reader.live(CHECKPOINT)["kubeAPIQPS"] == 61
    reader.plays("rollout -e kubelet_config_max_unavailable=20% -e kubelet_config_serial=1,20%")
    assert reader.live(CHECKPOINT)["kubeAPIQPS"] == 62
    (second,) = reader.variants() - first
    reader.plays("rollback")
    assert reader.live(CHECKPOINT)["kubeAPIQPS"] == 61
    reader.plays("rollout -e kubelet_config_window_minutes=60")
    assert reader.live(CHECKPOINT)["kubeAPIQPS"] == 62
    previous = reader.fleet.node(CHECKPOINT)["metadata"]["annotations"][f"{PREFIX}previous"]
    reader.plays("rollback -e kubelet_config_rollout_id=NAME", NAME=json.loads(previous)["rollout"])
    assert reader.live(CHECKPOINT)["kubeAPIQPS"] == 61
    reader.plays("rollback -e kubelet_config_variant=CONFIGMAP", CONFIGMAP=second)
    assert reader.live(CHECKPOINT)["kubeAPIQPS"] == 62
    reader.group(CHECKPOINT, kubeAPIQPS=62, clusterDNS=["10.96.0.99"])
    assert "Batch | Drain" in reader.plays(
        "rollout -e kubelet_config_drain=when_needed -e kubelet_config_allow_effect=drain"
    )
    assert reader.live(CHECKPOINT)["clusterDNS"] == ["10.96.0.99"]
    assert not reader.fleet.node(CHECKPOINT)["spec"].get("unschedulable")


def _migrates(reader: Reader) -> None:
    reader.group(NATIVE, kubeAPIQPS=61)
    reader.plays("migrate -e kubelet_config_delivery=checkpoint")
    assert "configSource" not in reader.fleet.node(NATIVE)["spec"]
    assert DYNAMIC_CONFIG_DIR in reader.types(
        "ansible workers -i inventory -m livenodes.kubelet.kubelet_preflight_info"
    )
    assert "/etc/default/kubelet" in reader.types(
        "ansible workers -i inventory -m shell -a 'grep -rs dynamic-config-dir /etc/default /etc/sysconfig "
        "/etc/systemd /var/lib/kubelet/*.env; true'"
    )
    reader.plays("migrate -e kubelet_config_delivery=native")
    name = json.loads(reader.types("kubectl get node NAME -o jsonpath='{.spec.configSource.configMap}'", NAME=NATIVE))[
        "name"
    ]
    assert "kubeAPIQPS" in reader.types(
        "kubectl get configmap -n kube-system CONFIGMAP -o jsonpath='{.data.kubelet}'", CONFIGMAP=name
    )
    assert reader.live(NATIVE)["kubeAPIQPS"] == 61


def _helps_by_hand(reader: Reader) -> None:
    assigned = f"{DYNAMIC_CONFIG_DIR}/store/meta/assigned"
    for command in ("systemctl stop kubelet", "truncate --size=0 DIR/store/meta/assigned", "systemctl start kubelet"):
        reader.types_as_root(NATIVE, command, **({"DIR": DYNAMIC_CONFIG_DIR} if "DIR" in command else {}))
        if "DIR" in command:
            assert reader.lab.node(NATIVE).run(f"wc -c < {assigned}").strip() == "0"
    # The kubelet starts with its own file and follows its Node again.
    eventually(
        lambda: reader.lab.node(NATIVE).run(f"wc -c < {assigned}").strip() != "0", 60, f"{NATIVE} follows its Node"
    )
    for command in (
        "systemctl stop livenodes-kubelet-guard kubelet",
        "rm /etc/systemd/system/kubelet.service.d/zzz-livenodes-kubelet.conf",
        "rm /etc/systemd/system/livenodes-kubelet-guard.service "
        "/etc/systemd/system/multi-user.target.wants/livenodes-kubelet-guard.service",
        "systemctl daemon-reload",
        "systemctl start kubelet",
        "rm -r /var/lib/kubelet-config",
    ):
        reader.types_as_root(CHECKPOINT, command)
    reader.types(
        "kubectl annotate node NAME kubelet-config.livenodes.io/source- kubelet-config.livenodes.io/status-",
        NAME=CHECKPOINT,
    )
    reader.lab.wait_ready()
    assert f"{PREFIX}status" not in reader.fleet.node(CHECKPOINT)["metadata"]["annotations"]
    assert reader.live(CHECKPOINT)["clusterDNS"] != ["10.96.0.99"]


def _ends(reader: Reader) -> None:
    reader.group(NATIVE, CHECKPOINT, kubeAPIQPS=61)
    reader.plays("reset")
    assert "configSource" not in reader.fleet.node(NATIVE)["spec"]
    used = reader.variants()
    reader.types("ansible-playbook -i inventory livenodes.kubelet.prune")
    assert reader.variants() < used
