# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab node on which tests run the collection's node code, without installing anything."""

from __future__ import annotations

import base64
import io
import json
import tarfile
import typing as t

from tests.lab import kubeadm
from tests.lab.lab import Lab
from tests.lab.node import LabNode
from tests.support.plays.ansible import ROOT

PLACE = "/root/livenodes-test"
UNIT = "lnk-test.service"
HEADER: dict[str, t.Any] = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
DROPINS = "/etc/systemd/system/kubelet.service.d"
ACTIVE = f"{PLACE}/active/kubelet"
MODULES = "ansible_collections.livenodes.kubelet.plugins.module_utils._node"
PRELUDE = f"""
import json, sys, time
sys.dont_write_bytecode = True
sys.path.insert(0, {PLACE!r})
from {MODULES}.host import host_checks, preflight
from {MODULES}.system import binary, command, config_summary, health
from {MODULES}.unit import unit, unit_override
"""


class Node:
    """A node with the collection's node code on it."""

    def __init__(self, lab: Lab, node: LabNode) -> None:
        self.lab, self.lab_node, self.name = lab, node, node.name

    @property
    def minor(self) -> int:
        return self.lab_node.release.minor

    def header(self) -> dict[str, t.Any]:
        """Return what each configuration needs that this node's kubelet starts with."""
        # Later kubelets refuse version 1 cgroup controllers unless their configuration allows them.
        return {**HEADER, **({"failCgroupV1": False} if self.minor >= 35 and kubeadm.has_cgroup_v1() else {})}

    def run(self, command: str) -> str:
        return self.lab_node.run(command)

    def write(self, path: str, text: str) -> None:
        self.lab_node.run(f"mkdir -p $(dirname {path}) && cat > {path}", stdin=text)

    def python(self, code: str) -> t.Any:
        return json.loads(
            self.lab_node.run("python3 -", stdin=f"{PRELUDE}{code}\nprint(json.dumps(result))\n").splitlines()[-1]
        )

    def unit(self, text: str) -> dict[str, t.Any]:
        """Write a unit that is never started; return its form and its command, according to systemd and to our code."""
        self.write(f"/run/systemd/system/{UNIT}", text)
        self.run("systemctl daemon-reload")
        return t.cast(
            "dict[str, t.Any]",
            self.python(f"""
found = unit.Unit({UNIT!r})
result = {{"form": found.form()._asdict()}}
if found.form().kind != "refused":
    result.update(next=found.next_command()._asdict(), dropin=found.dropin({ACTIVE!r}))
"""),
        )


def archive() -> str:
    """Return the node code as a base64-encoded archive."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as writer:
        writer.add(
            ROOT / "plugins/module_utils",
            "ansible_collections/livenodes/kubelet/plugins/module_utils",
            filter=lambda item: None if "__pycache__" in item.name else item,
        )
    return base64.b64encode(content.getvalue()).decode()
