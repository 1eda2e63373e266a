# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node with the kubelet of its next version beside its own."""

from __future__ import annotations

import json
import shutil
import typing as t

import yaml

from tests.lab import kubeadm, releases
from tests.lab.kubeadm import OWN_CONFIG
from tests.lab.lab import Lab
from tests.support.lab_node.node_bench import Bench
from tests.support.plays.ansible import Ansible

NEXT = "/opt/kubelet-next"
FLAGS = "/var/lib/kubelet/kubeadm-flags.env"
# Gone since 1.35.
FLAG = "--pod-infra-container-image"


class Upgrade:
    """The node, and the kubelet of 1.36. `stops`: what stops that one on every node of kubeadm from 1.28 to 1.34."""

    def __init__(self, bench: Bench, lab: Lab, ansible: Ansible) -> None:
        self.bench, self.node, self.ansible = bench, bench.node, ansible
        release = releases.release(releases.find("v1.36"), lab.cache.binaries)
        self.version = release.version
        self.stops = {("flag", FLAG)}
        if kubeadm.has_cgroup_v1():
            self.stops.add(("cgroup", "failCgroupV1"))
        shutil.copy2(release.folder / "kubelet", f"/proc/{self.node.leader()}/root{NEXT}")

    def check(self, *arguments: str) -> tuple[int, str, dict[str, t.Any]]:
        """Return the exit status of the playbook, its output, and its JSON document."""
        file = self.ansible.home / "upgrade.json"
        file.unlink(missing_ok=True)
        given = {"hosts": self.node.name, "target_version": "1.36", "upgrade_file": str(file)}
        words = [word for name, value in given.items() for word in ("-e", f"kubelet_config_{name}={value}")]
        run = self.ansible.playbook("upgrade_check", *words, *arguments)
        return run.code, run.output, json.loads(file.read_text())

    def ask(self) -> tuple[int, str, dict[str, t.Any]]:
        """Check with the binary too."""
        return self.check("-e", f"kubelet_config_target_binary={NEXT}")

    def own(self) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", yaml.safe_load(self.node.run(f"cat {OWN_CONFIG}")))

    def edit(self, **fields: t.Any) -> None:
        """Change fields of the node's own file; None removes one."""
        config = {**self.own(), **fields}
        text = yaml.safe_dump({name: value for name, value in config.items() if value is not None})
        self.node.run(f"cat > {OWN_CONFIG}", stdin=text)

    def start(self, binary: str) -> None:
        """Put a kubelet in the place of the node's own, as a package does, and restart."""
        self.node.run(f"cp {binary} /usr/bin/kubelet.new && mv /usr/bin/kubelet.new /usr/bin/kubelet")
        self.node.run("systemctl restart kubelet")


def names(document: dict[str, t.Any], *severities: str) -> set[tuple[str, str]]:
    """Return kind and name of the findings of the only node that have these severities."""
    (row,) = document["nodes"].values()
    return {(one["kind"], one["name"]) for one in row["findings"] if one["severity"] in severities}
