# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every step of the demo on the lab uses: the lab, and the state of its live kubelets."""

from __future__ import annotations

import json
import shutil
import typing as t
from pathlib import Path

from tests.lab.lab import Lab
from tools.demo.steps import COMMAND, Steps, active, show

GROUP = "workers_a"
FIELDS = ("maxPods", "kubeAPIQPS", "evictionPressureTransitionPeriod")
SOAK = ("-e", "kubelet_config_soak_seconds=5")
WANTED = "kubelet_config:\n  maxPods: 80\n  evictionPressureTransitionPeriod: 2m\n"
EXCEPTION = "kubelet_config_host:\n  maxPods: 60\n"
OWN_FILE = "the file on the node"
# Hides skipped tasks and prints results as YAML; everything else is Ansible's default.
CONFIG = "[defaults]\ndisplay_skipped_hosts = false\ncallback_result_format = yaml\nlocalhost_warning = false\n"


class Demo(Steps):
    """A lab that is up, and a folder with the inventory that the demo edits."""

    NODES = ("n1", "n3")
    HEAD = "node"

    def __init__(self, lab: Lab, home: Path) -> None:
        super().__init__(home, CONFIG)
        self.lab = lab
        shutil.copy(lab.inventory, self.inventory / "lab.yml")
        self.environment["K8S_AUTH_KUBECONFIG"] = str(lab.kubeconfig)

    def configz(self, name: str) -> dict[str, t.Any]:
        """Return the live configuration of a kubelet; an empty mapping when it does not answer."""
        answer = self.lab.kubectl("get", "--raw", f"/api/v1/nodes/{name}/proxy/configz", check=False)
        return t.cast("dict[str, t.Any]", json.loads(answer or "{}").get("kubeletconfig", {}))

    def node(self, name: str) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", json.loads(self.lab.kubectl("get", "node", name, "-o", "json")))

    def row(self, name: str) -> dict[str, t.Any]:
        """Return what the table shows of a node."""
        configz = f"kubectl get --raw /api/v1/nodes/{name}/proxy/configz"
        show(f"$ {configz}; kubectl get node {name} -o json; ssh {name} systemctl show kubelet", COMMAND)
        live, status = self.configz(name), self.status(name)
        return {
            **{field: live[field] for field in FIELDS},
            "active config": active(status, OWN_FILE),
            "invocation": self.lab.node(name).invocation_id()[:8],
            "error": status.get("error", ""),
        }

    def expect_same_config(self, what: str, found: dict[str, t.Any], wanted: dict[str, t.Any]) -> None:
        """Raise DemoError unless two rows show the same configuration, whatever else differs."""
        for key in (*FIELDS, "active config"):
            self.expect(f"{key} of {what}", found[key], wanted[key])
