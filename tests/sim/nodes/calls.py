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
from tests.support.lab_node.node_calls import NodeCalls


class Calls(NodeCalls):
    """Calls with one delivery."""

    def __init__(self, node: SimNode, delivery: str, **options: t.Any) -> None:
        super().__init__(delivery=delivery, **options)
        self.node = node

    def python(self, code: str) -> t.Any:
        done = self.node.run("-c", code, PYTHONPATH=os.pathsep.join(part for part in sys.path if part))
        if done.returncode:
            raise AssertionError(done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def own_config(self) -> dict[str, t.Any]:
        return self.node.own_config()

    def restart(self) -> None:
        self.node.systemctl("reset-failed", KUBELET)
        self.node.systemctl("restart", KUBELET)

    def wait_healthy(self) -> None:
        self.node.wait(self.node.healthy, 60, "healthz with its own file")

    def switch(self, fields: dict[str, t.Any], check: bool = False, **options: t.Any) -> dict[str, t.Any]:
        """As there. Raises AssertionError if it was refused."""
        result = super().switch(fields, check, **options)
        if result.get("failed") or result.get("reasons"):
            raise AssertionError(result)
        return result
