# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster behind a real HTTP server whose kubelets follow immediately, for plays that need an API server but no
kubelet.
"""

from __future__ import annotations

import datetime
import http.server
import json
import sys
import threading
import time
import typing as t
import urllib.parse
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from tests.support import objects
from tests.support.ansible import Ansible
from tests.support.calls import CONFIGMAPS, NODES
from tests.support.lease_api import LeaseApi
from tests.support.pod_cluster import PodCluster

INVALID = "failed to validate config, see Kubelet log for details"


LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


class ServedCluster(PodCluster):
    """`with ServedCluster("n1", ...) as fleet`. `refusing` kubelets revert to their local config when they get another
    one than `BEFORE`, `deaf` ones do nothing.

    All nodes run `BEFORE` except the `local` ones. `assigned` lists all assignments. `back` is when the API server
    answers again, by the monotonic clock; `ahead` is how many seconds its own clock is ahead of this machine's.
    """

    SECRET = "not-for-the-report.example"
    """Occurs in every configuration, in a field that does not change."""
    BEFORE = "config-before"

    def __init__(self, *names: str, local: t.Collection[str] = ()) -> None:
        self.local = {**objects.HEADER, **objects.live(maxPods=110, clusterDomain=self.SECRET)}
        before = {**self.local, "maxPods": 90}
        place, reference = objects.place(self.BEFORE), objects.reference(self.BEFORE)
        super().__init__(
            *(
                objects.node(name, config={})
                if name in local
                else objects.node(name, place, objects.status(reference, reference))
                for name in names
            ),
            configmaps=[objects.configmap(self.BEFORE, json.dumps(before))],
            live={name: self.local if name in local else before for name in names},
        )
        self.refusing: set[str] = set()
        self.deaf: set[str] = set()
        self.assigned: set[str] = set()
        self.back = self.ahead = 0.0
        self.claims = LeaseApi()
        self._lock = threading.Lock()
        fleet = self

        class Handler(http.server.BaseHTTPRequestHandler):
            """One connection, kept alive like those of the API server."""

            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def date_time_string(self, timestamp: float | None = None) -> str:
                """Return the API server's clock."""
                return super().date_time_string(fleet.clock() if timestamp is None else timestamp)

            def log_message(self, *_args: t.Any) -> None:
                """Log nothing."""

            def _handle(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                try:
                    status, answer = fleet.serve(self.command, self.path, json.loads(body) if body else None)
                except ConnectionError:
                    self.close_connection = True
                    return
                words = (answer if isinstance(answer, str) else json.dumps(answer)).encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/plain" if isinstance(answer, str) else "application/json")
                self.send_header("Content-Length", str(len(words)))
                self.end_headers()
                self.wfile.write(words)

            do_GET = do_POST = do_PATCH = do_DELETE = _handle

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> ServedCluster:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def clock(self) -> float:
        """Return the seconds since 1970 by the API server's clock."""
        return time.time() + self.ahead

    def serve(self, method: str, url: str, body: t.Any) -> tuple[int, t.Any]:
        """Answer one request; a dry run does not change anything. Raises ConnectionError while there is no answer."""
        if time.monotonic() < self.back:
            raise ConnectionResetError
        path, _mark, query = url.partition("?")
        words = dict(urllib.parse.parse_qsl(query))
        with self._lock:
            self.claims.now = self.clock()
            now = datetime.datetime.fromtimestamp(self.clock(), datetime.UTC).isoformat().replace("+00:00", "Z")
            self.renewed = dict.fromkeys(self.nodes, now)
            try:
                if path.endswith(("/proxy/metrics", "/proxy/healthz")):
                    return 200, self.text(path)
                answer = self.request(method, path, list(words.items()), body)
            except ApiError as error:
                return error.status or 500, {
                    "kind": "Status",
                    "status": "Failure",
                    "reason": error.reason,
                    "message": error.message,
                    "code": error.status,
                }
            if method == "PATCH" and path.startswith(NODES) and "dryRun" not in words:
                self._kubelet(path.split("/")[-1])
            return 201 if method == "POST" else 200, answer

    def _answer(self, method: str, path: str, query: dict[str, t.Any], body: t.Any) -> t.Any:
        if path.startswith(LEASES):
            return self.claims.request(method, path, list(query.items()), body)
        if path.endswith("/proxy/stats/summary"):
            return {}
        if (method, path) == ("POST", CONFIGMAPS):
            return self._push(body, "dryRun" in query)
        if (method, path) == ("GET", CONFIGMAPS):
            label, _equals, value = query["labelSelector"].partition("=")
            return {
                "items": [
                    item
                    for item in self.configmaps.values()
                    if (item["metadata"].get("labels") or {}).get(label) == value
                ]
            }
        if method == "DELETE" and path.startswith(CONFIGMAPS):
            if "dryRun" not in body:
                del self.configmaps[path.rpartition("/")[2]]
            return {"kind": "Status", "status": "Success"}
        return super()._answer(method, path, query, body)

    def wake(self, *names: str) -> None:
        """Let deaf kubelets follow their source from now on."""
        with self._lock:
            self.deaf -= set(names)
            for name in names:
                self._kubelet(name)

    def _push(self, body: dict[str, t.Any], dry: bool) -> dict[str, t.Any]:
        name = body["metadata"]["name"]
        made = {**body, "metadata": {**body["metadata"], "uid": f"uid-{name}", "resourceVersion": "7"}}
        if not dry:
            self.configmaps[name] = made
        return made

    def _kubelet(self, name: str) -> None:
        self.assigned.add(name)
        node = self.nodes[name]
        source = (node["spec"].get("configSource") or {}).get("configMap")
        reference = objects.reference(source["name"]) if source else None
        if name in self.deaf or reference == node["status"]["config"].get("assigned", {}).get("configMap"):
            return
        refuses = reference is not None and name in self.refusing and reference["name"] != self.BEFORE
        node["status"]["config"] = objects.status(
            reference, None if refuses else reference, error=INVALID if refuses else ""
        )
        self.live[name] = (
            self.local
            if reference is None or refuses
            else json.loads(self.configmaps[reference["name"]]["data"][reference["kubeletConfigKey"]])
        )
        self.births[name] = self.clock()


def served_ansible(
    home: Path, fleet: ServedCluster, hosts: t.Mapping[str, t.Mapping[str, t.Any]] | None = None, **variables: t.Any
) -> Ansible:
    """Return ansible-playbook with the fleet as its cluster. `hosts` are those with their variables, else one a node.

    All hosts run their tasks here and, unless `variables` set another time, wait 5 s for a kubelet.
    """
    given = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "kubelet_config_wait_timeout": 5,
        **variables,
    }
    path = home / "hosts.yml"
    path.write_text(json.dumps({"all": {"hosts": hosts or {name: {} for name in fleet.nodes}, "vars": given}}))
    made = Ansible(home, home / "none", path)
    del made.environment["K8S_AUTH_KUBECONFIG"]
    made.environment["K8S_AUTH_HOST"] = fleet.url
    return made
