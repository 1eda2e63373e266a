# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that simulates kubelets for bare Node objects. `simulated.py` starts it and sends it lines; it ends with
its input.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import datetime
import http.client
import json
import os
import ssl
import sys
import threading
import time
import typing as t
from pathlib import Path

from tests.lab.api import Api
from tests.lab.console import LabError
from tests.support.simulated_model import Kubelet

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
WRITERS = 4
RENEW = 10.0


class Node:
    """One Node object and its kubelet."""

    def __init__(self, name: str, local: dict[str, t.Any]) -> None:
        self.name = name
        self.kubelet = Kubelet(local)
        self.port = 0
        self.started = time.time()
        self.ready = True
        self.turned = _moment()
        self.deaf = False
        self.source: dict[str, str] | None = None
        self.seen = 0.0
        # One sync at a time, as in a kubelet's loop.
        self.lock = threading.Lock()


class Process:
    """All simulated kubelets."""

    def __init__(self, order: dict[str, t.Any]) -> None:
        self.order = order
        self.nodes = {name: Node(name, order["local"]) for name in order["names"]}
        self.delay = float(order["delay"])
        self._own = threading.local()
        self._pool = concurrent.futures.ThreadPoolExecutor(WRITERS)
        self._say = threading.Lock()
        self.loop = asyncio.new_event_loop()

    def api(self) -> Api:
        """Return this thread's connection to the API server."""
        if not hasattr(self._own, "api"):
            self._own.api = Api(
                self.order["host"],
                self.order["port"],
                *(Path(self.order[part]) for part in ("authority", "certificate", "key")),
            )
        found: Api = self._own.api
        return found

    def send(self, **line: t.Any) -> None:
        """Send one line to the parent process."""
        with self._say:
            print(json.dumps(line), flush=True)

    async def run(self) -> None:
        """Serve every node's port, report every node, then follow the API server until the input ends."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.order["serving_certificate"], self.order["serving_key"])
        # Like a kubelet without anonymous access: only clients with a certificate of the lab's authority.
        context.load_verify_locations(self.order["authority"])
        context.verify_mode = ssl.CERT_REQUIRED
        for node in self.nodes.values():
            server = await asyncio.start_server(
                lambda reader, writer, node=node: self._serve(node, reader, writer),
                self.order["address"],
                0,
                ssl=context,
            )
            node.port = server.sockets[0].getsockname()[1]
        await asyncio.gather(*(self._write(self._introduce, node) for node in self.nodes.values()))
        threading.Thread(target=self._watch, daemon=True).start()
        self.send(ready=True)
        while True:
            await asyncio.sleep(RENEW)
            await asyncio.gather(
                *(self._write(self._renew, node) for node in self.nodes.values()), return_exceptions=True
            )

    def _write(self, work: t.Callable[..., t.Any], *arguments: t.Any) -> asyncio.Future[t.Any]:
        return self.loop.run_in_executor(self._pool, work, *arguments)

    # -- towards the API server
    # ------------------------------------------------------------------------------------------

    def _introduce(self, node: Node) -> None:
        addresses = [
            {"type": "InternalIP", "address": self.order["address"]},
            {"type": "Hostname", "address": node.name},
        ]
        self._patch(node, {"addresses": addresses, "daemonEndpoints": {"kubeletEndpoint": {"Port": node.port}}})
        self.api().ensure(
            LEASES,
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": node.name, "labels": self.order["labels"]},
                "spec": {"holderIdentity": node.name, "leaseDurationSeconds": 40, "renewTime": _moment(True)},
            },
        )

    def _renew(self, node: Node) -> None:
        if not node.deaf:
            self.api().request(
                "PATCH", f"{LEASES}/{node.name}", {"spec": {"renewTime": _moment(True)}}, "application/merge-patch+json"
            )

    def _patch(self, node: Node, more: dict[str, t.Any] | None = None) -> None:
        """Report the configuration and a heartbeat, like a kubelet."""
        reason, message = (
            ("KubeletReady", "kubelet is posting ready status")
            if node.ready
            else ("KubeletNotReady", "container runtime is down")
        )
        ready = {
            "type": "Ready",
            "status": "True" if node.ready else "False",
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": _moment(),
            "lastTransitionTime": node.turned,
        }
        self.api().call(
            "PATCH",
            f"/api/v1/nodes/{node.name}/status",
            {"status": {"config": node.kubelet.status(), "conditions": [ready], **(more or {})}},
            "application/strategic-merge-patch+json",
        )

    def _watch(self) -> None:
        """List and watch the nodes forever."""
        while True:
            try:
                listed = self.api().call("GET", f"/api/v1/nodes?labelSelector={self.order['selector']}")
                for item in listed["items"]:
                    self._look(item)
                self._follow(listed["metadata"]["resourceVersion"])
            except (OSError, http.client.HTTPException, LabError, ValueError):
                time.sleep(0.5)

    def _follow(self, revision: str) -> None:
        context = ssl.create_default_context(cafile=self.order["authority"])
        context.load_cert_chain(self.order["certificate"], self.order["key"])
        connection = http.client.HTTPSConnection(self.order["host"], self.order["port"], context=context, timeout=400)
        query = f"watch=1&timeoutSeconds=300&labelSelector={self.order['selector']}&resourceVersion={revision}"
        connection.request("GET", f"/api/v1/nodes?{query}")
        answer = connection.getresponse()
        while line := answer.readline():
            event = json.loads(line)
            if event["type"] == "ERROR":
                break
            self._look(event["object"])
        connection.close()

    def _look(self, item: dict[str, t.Any]) -> None:
        node = self.nodes.get(item["metadata"]["name"])
        source = (item["spec"].get("configSource") or {}).get("configMap")
        if node is None or source == node.source:
            return
        node.source, node.seen = source, time.time()
        self.loop.call_soon_threadsafe(self._later, node, source)

    def _later(self, node: Node, source: dict[str, str] | None) -> None:
        self.loop.call_later(self.delay, self._write, self._sync, node, source)

    def _sync(self, node: Node, source: dict[str, str] | None) -> None:
        """Sync the source that the Node had `delay` ago; retry on failure, like a kubelet's loop."""
        with node.lock:
            if node.deaf or source != node.source:
                return
            try:
                restarted = node.kubelet.reset() if source is None else self._fetch(node, source)
                if restarted:
                    node.started = time.time()
                    self.loop.call_soon_threadsafe(
                        self.loop.call_later,
                        self.order["graduation"],
                        self._write,
                        self._graduate,
                        node,
                        node.kubelet.starts,
                    )
                self._patch(node)
            except (OSError, http.client.HTTPException, LabError):
                self.loop.call_soon_threadsafe(self._later, node, source)
                return
        self.send(
            node=node.name,
            seen=node.seen,
            reported=time.time(),
            restarted=restarted,
            active=(node.kubelet.active or {}).get("name"),
            error=node.kubelet.override or node.kubelet.error,
        )
        if node.kubelet.override:
            self.loop.call_soon_threadsafe(self._later, node, source)

    def _fetch(self, node: Node, source: dict[str, str]) -> bool:
        status, found = self.api().request(
            "GET", f"/api/v1/namespaces/{source['namespace']}/configmaps/{source['name']}"
        )
        if status in (403, 404):
            node.kubelet.missing()
            return False
        if status >= 400:
            raise LabError(f"{status} {found.get('message')}")
        reference = {**source, "uid": found["metadata"]["uid"], "resourceVersion": found["metadata"]["resourceVersion"]}
        return node.kubelet.follow(reference, (found.get("data") or {}).get(source["kubeletConfigKey"]))

    def _graduate(self, node: Node, starts: int) -> None:
        with node.lock:
            if node.kubelet.starts == starts and node.kubelet.graduate():
                self._patch(node)

    # -- towards clients
    # -------------------------------------------------------------------------------------------

    async def _serve(self, node: Node, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                status, kind, body = answer(node, head.split(" ", 2)[1].partition("?")[0])
                writer.write(
                    f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            writer.close()

    # -- orders
    # ----------------------------------------------------------------------------------------------------------

    def orders(self) -> None:
        """Execute the orders in the lines of the input until it ends."""
        for line in sys.stdin:
            order = json.loads(line)
            for name in order["names"]:
                setattr(self.nodes[name], order["set"], order["value"])
            if order["set"] == "ready":
                for name in order["names"]:
                    self.nodes[name].turned = _moment()
                    self._pool.submit(self._patch, self.nodes[name]).result()
            elif order["set"] == "deaf" and not order["value"]:
                for name in order["names"]:
                    self.loop.call_soon_threadsafe(self._later, self.nodes[name], self.nodes[name].source)
            self.send(done=True)
        os._exit(0)


def answer(node: Node, path: str) -> tuple[str, str, bytes]:
    """Return status, content type and body as the kubelet's server does."""
    if path == "/configz":
        return "200 OK", "application/json", json.dumps({"kubeletconfig": node.kubelet.configz}).encode()
    if path in ("/healthz", "/healthz/"):
        return "200 OK", "text/plain; charset=utf-8", b"ok"
    if path == "/metrics":
        return (
            "200 OK",
            "text/plain; version=0.0.4; charset=utf-8",
            (
                "# HELP process_start_time_seconds [ALPHA] Start time of the process since unix epoch in seconds.\n"
                f"# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds {node.started:.2f}\n"
            ).encode(),
        )
    if path in ("/stats/summary", "/stats/summary/"):
        return "200 OK", "application/json", json.dumps(summary(node.name)).encode()
    return "404 Not Found", "text/plain; charset=utf-8", b"404 page not found\n"


def summary(name: str) -> dict[str, t.Any]:
    """Return the summary of an idle node without pods: half of its memory and two thirds of its disk are free."""
    moment, gib = _moment(), 2**30
    disk = {
        "time": moment,
        "availableBytes": 160 * gib,
        "capacityBytes": 240 * gib,
        "usedBytes": 80 * gib,
        "inodesFree": 14000000,
        "inodes": 16000000,
        "inodesUsed": 2000000,
    }
    return {
        "node": {
            "nodeName": name,
            "startTime": "2026-01-01T00:00:00Z",
            "cpu": {"time": moment, "usageNanoCores": 400000000, "usageCoreNanoSeconds": 25000000000},
            "memory": {
                "time": moment,
                "availableBytes": 31 * gib,
                "usageBytes": 33 * gib,
                "workingSetBytes": 31 * gib,
                "rssBytes": 20 * gib,
                "pageFaults": 1000,
                "majorPageFaults": 1,
            },
            "fs": disk,
            "runtime": {"imageFs": disk},
            "rlimit": {"time": moment, "maxpid": 4194304, "curproc": 500},
        },
        "pods": [],
    }


def _moment(micro: bool = False) -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ" if micro else "%Y-%m-%dT%H:%M:%SZ")


def main() -> None:
    """Read what to simulate from the first line of the input."""
    process = Process(json.loads(sys.stdin.readline()))
    threading.Thread(target=process.orders, daemon=True).start()
    asyncio.set_event_loop(process.loop)
    process.loop.run_until_complete(process.run())


if __name__ == "__main__":
    main()
