# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster of the simulated demo: three nodes of one group, one for each delivery, and what is live on them."""

from __future__ import annotations

import contextlib
import json
import typing as t
import urllib.error
import urllib.request
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import (
    MANAGED_BY,
    MANAGED_LABEL,
    PREFIX,
)
from tests.sim.cluster import Cluster
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
            node.wait(node.healthy, 30, "healthz")
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

    def get(self, path: str) -> dict[str, t.Any]:
        """Return the answer of the API server, empty when it is an error."""
        try:
            with urllib.request.urlopen(self.cluster.url + path, timeout=5) as answer:
                return t.cast("dict[str, t.Any]", json.load(answer))
        except urllib.error.HTTPError:
            return {}

    def push(self, name: str, text: str) -> dict[str, t.Any]:
        """Create a ConfigMap of the collection with a configuration; return its metadata."""
        labels = {MANAGED_LABEL: MANAGED_BY}
        body = {"metadata": {"name": name, "namespace": NAMESPACE, "labels": labels}, "data": {"kubelet": text}}
        path = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
        return t.cast("dict[str, t.Any]", self._send("POST", path, "application/json", body)["metadata"])

    def annotate(self, name: str, key: str, value: t.Mapping[str, t.Any]) -> None:
        """Show how a person annotates a Node, and do that."""
        text = json.dumps(value, separators=(",", ":"))
        show(f"$ kubectl annotate --overwrite node {name} '{PREFIX}{key}={text}'", COMMAND)
        body = {"metadata": {"annotations": {PREFIX + key: text}}}
        self._send("PATCH", f"/api/v1/nodes/{name}", "application/merge-patch+json", body)

    def _send(self, method: str, path: str, kind: str, body: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        request = urllib.request.Request(
            self.cluster.url + path, json.dumps(body).encode(), {"Content-Type": kind}, method=method
        )
        with urllib.request.urlopen(request, timeout=5) as answer:
            return t.cast("dict[str, t.Any]", json.load(answer))

    def node(self, name: str) -> dict[str, t.Any]:
        """Return a Node."""
        return self.get(f"/api/v1/nodes/{name}")

    def row(self, name: str) -> dict[str, t.Any]:
        """Return what the table shows of a node."""
        configz = self.get(f"/api/v1/nodes/{name}/proxy/configz").get("kubeletconfig", {})
        return {
            "VERSION": VERSIONS[name],
            "DELIVERY": DELIVERIES[name],
            "MAXPODS": configz.get("maxPods", "no answer"),
            "KUBEAPIQPS": configz.get("kubeAPIQPS", ""),
            "RUNS": active(self.status(name), OWN_FILE),
        }

    def until(self, what: str, ready: t.Callable[[], t.Any], seconds: float = 30) -> float:
        """Wait; return how long. Raises DemoError."""
        try:
            return self.nodes["n2"].wait(ready, seconds, what)
        except AssertionError as error:
            raise DemoError(str(error)) from error
