# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster of the simulated demo: three nodes of one group, one for each delivery, and what is live on them."""

from __future__ import annotations

import contextlib
import json
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import (
    MANAGED_BY,
    MANAGED_LABEL,
    PREFIX,
)
from tests.sim.api.patches import MERGE
from tests.sim.api.refusal import Refusal
from tests.sim.cluster import CONFIGMAPS, NODES, Cluster
from tests.sim.nodes.node import SimNode
from tools.demo.steps import COMMAND, DemoError, Steps, active, show

GROUP = "workers"
# The last version whose API server knows native delivery; it serves kubelets of any version.
API = "v1.23.17"
VERSIONS = {"n1": "v1.20.2", "n2": "v1.28.7", "n3": "v1.36.2"}
DELIVERIES = {"n1": "native", "n2": "checkpoint", "n3": "dropin"}
OWN_FILE = "own file"
NAMESPACE = "kube-system"
# A kubelet with native delivery looks every 10 s whether it has a new source.
SCALE = 20.0
CONFIG = """[defaults]
stdout_callback = brief
callback_plugins = {callbacks}
localhost_warning = false
interpreter_python = auto_silent
remote_tmp = {home}/tmp
[inventory]
unparsed_warning = false
[connection]
pipelining = true
"""
CALLBACKS = Path(__file__).resolve().parents[1] / "callback"


class Fleet(Steps):
    """The cluster with its nodes, in a folder; `report` is where rollouts write their report."""

    NODES = tuple(VERSIONS)
    HEAD = "NAME"

    def __init__(self, home: Path, report: Path, stack: contextlib.ExitStack) -> None:
        super().__init__(home, CONFIG.format(callbacks=CALLBACKS, home=home))
        self.report = report
        self.cluster = stack.enter_context(Cluster(API, scale=SCALE))
        self.cluster.simulate("n1", VERSIONS["n1"])
        self.nodes: dict[str, SimNode] = {}
        for name in ("n2", "n3"):
            node = SimNode(self.cluster, home / "nodes", name, VERSIONS[name])
            self.nodes[name] = stack.enter_context(node)
        hosts: dict[str, object] = {"n1": {}}
        for name, node in self.nodes.items():
            node.wait(node.healthy, 60, "healthz")
            hosts[name] = node.variables()
        text = json.dumps({"all": {"children": {GROUP: {"hosts": hosts}}}})
        (self.inventory / "hosts.yml").write_text(text, encoding="utf-8")
        self.environment["K8S_AUTH_HOST"] = self.cluster.url
        self.environment.setdefault("ANSIBLE_HOME", str(home / "ansible"))

    def rollout(self, name: str, *arguments: str, fails: bool = False, report: bool = False) -> None:
        """Run a playbook with batches, and the callback that shows its progress and writes the report."""
        shown = {"ANSIBLE_CALLBACKS_ENABLED": "livenodes.kubelet.rollout"}
        if report:
            shown["LIVENODES_KUBELET_REPORT_HTML"] = str(self.report)
        self.playbook(name, "-e", f"kubelet_config_hosts={GROUP}", *arguments, fails=fails, **shown)

    def push(self, name: str, text: str) -> dict[str, t.Any]:
        """Create a ConfigMap of the collection with a configuration; return its metadata."""
        body = {"metadata": {"name": name, "labels": {MANAGED_LABEL: MANAGED_BY}}, "data": {"kubelet": text}}
        return t.cast("dict[str, t.Any]", self.cluster.store.create(CONFIGMAPS, NAMESPACE, body).item["metadata"])

    def pushed(self, name: str) -> str:
        return str(self.cluster.store.get(CONFIGMAPS, name, NAMESPACE).item["data"]["kubelet"])

    def annotate(self, name: str, key: str, value: t.Mapping[str, t.Any]) -> None:
        """Show how a person annotates a Node, and do that."""
        text = json.dumps(value, separators=(",", ":"))
        show(f"$ kubectl annotate --overwrite node {name} '{PREFIX}{key}={text}'", COMMAND)
        self.cluster.store.patch(NODES, "", name, MERGE, {"metadata": {"annotations": {PREFIX + key: text}}})

    def node(self, name: str) -> dict[str, t.Any]:
        return self.cluster.node(name)

    def row(self, name: str) -> dict[str, t.Any]:
        """Return what the table shows of a node."""
        configz: dict[str, t.Any] = {}
        with contextlib.suppress(Refusal):
            configz = json.loads(self.cluster.proxied(name, "/configz").content())["kubeletconfig"]
        return {
            "VERSION": VERSIONS[name],
            "DELIVERY": DELIVERIES[name],
            "MAXPODS": configz.get("maxPods", "no answer"),
            "KUBEAPIQPS": configz.get("kubeAPIQPS", ""),
            "RUNS": active(self.status(name), OWN_FILE),
        }

    def until(self, what: str, ready: t.Callable[[], t.Any], seconds: float = 120) -> float:
        """Wait; return how long. Raises DemoError."""
        try:
            return self.nodes["n2"].wait(ready, seconds, what)
        except AssertionError as error:
            raise DemoError(str(error)) from error
