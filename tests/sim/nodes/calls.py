# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module kubelet_checkpoint on a simulated node, without Ansible."""

from __future__ import annotations

import json
import os
import sys
import typing as t

from tests.sim.nodes.node import KUBELET, SimNode
from tests.support.lab_node.dropin_node import HEADER, OPTIONS

CODE = """
import json, sys
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import one_call
options, pretend = json.loads(sys.argv[1])
if options.pop("unchecked"):
    # Stands for a binary that accepts what the kubelet refuses later.
    from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import binary
    binary.check = lambda *words, **more: binary.Verdict(binary.VALID, [], [])
try:
    result = one_call.apply(options, pretend)
except Exception as error:
    if type(error).__name__ not in ("StepError", "StoreError", "UnitError"):
        raise
    result = {"failed": True, "message": str(error)}
print(json.dumps(result, default=str))
"""


class Calls:
    """Calls with one delivery."""

    def __init__(self, node: SimNode, delivery: str, **options: t.Any) -> None:
        self.node = node
        self.options = {**OPTIONS, "delivery": delivery, "unchecked": False, **options}
        self.count = 0

    def apply(self, state: str, pretend: bool = False, **options: t.Any) -> dict[str, t.Any]:
        """Bring the node into a state; return the module's result, or `failed` with the message."""
        given = {**self.options, "state": state, **options}
        path = os.pathsep.join(part for part in sys.path if part)
        done = self.node.run("-c", CODE, json.dumps([given, pretend]), PYTHONPATH=path)
        if done.returncode:
            raise AssertionError(done.stderr)
        return t.cast("dict[str, t.Any]", json.loads(done.stdout.splitlines()[-1]))

    def source(self) -> dict[str, str]:
        """Return a source that was never used before."""
        self.count += 1
        return {
            "namespace": "kube-system",
            "name": f"config-{self.count}",
            "uid": f"00000000-0000-0000-0000-{self.count:012d}",
            "resource_version": "1",
            "kubelet_config_key": "kubelet",
        }

    def switch(self, fields: dict[str, t.Any], **options: t.Any) -> dict[str, t.Any]:
        """Assign fields over the node's own file and restart the kubelet if needed, as the role does; return the
        module's result.
        """
        source = self.source()
        text = {**(self.node.own_config() if self.options["delivery"] == "checkpoint" else HEADER), **fields}
        result = self.apply("assigned", source=source, data={"kubelet": json.dumps(text)}, **options)
        if result.get("failed") or result.get("reasons"):
            raise AssertionError(result)
        if result.get("restart_needed"):
            self.node.systemctl("reset-failed", KUBELET)
            self.node.systemctl("restart", KUBELET)
        return {**result, "source": source}

    def reset(self) -> None:
        """Return the node to its own files, as the role does. Raises AssertionError."""
        begun = self.apply("reset", source=None)
        if begun.get("failed") or begun["reasons"]:
            raise AssertionError(begun)
        if begun["restart_needed"]:
            self.node.systemctl("restart", KUBELET)
            self.node.wait(self.node.healthy, 20, "healthz with the local configuration")
        removed = self.apply("removed", source=None)
        if removed.get("failed"):
            raise AssertionError(removed)
        self.node.wait(self.node.healthy, 20, "healthz with its own file")
