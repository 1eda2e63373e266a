# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that simulates kubelets for bare Node objects. `simulated.py` starts it and sends it lines; it ends with
its input.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
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
from tests.sim.api.refusal import Refusal
from tests.sim.api.store import stamp
from tests.sim.kubelets.dynamic import DynamicKubelet
from tests.sim.kubelets.kubelet import HEARTBEATS, RENEW_SECONDS, STRATEGIC, Away

WRITERS = 4


class Process:
    """All simulated kubelets, and what they run on."""

    def __init__(self, order: dict[str, t.Any]) -> None:
        self.order = order
        self._own = threading.local()
        self._pool = concurrent.futures.ThreadPoolExecutor(WRITERS)
        self._say = threading.Lock()
        self.loop = asyncio.new_event_loop()
        self.kubelets = {
            name: DynamicKubelet(
                self,
                name,
                order["local"],
                delay=float(order["delay"]),
                graduation=float(order["graduation"]),
                synced=self._synced,
            )
            for name in order["names"]
        }

    def clock(self) -> float:
        """Return the time of this machine."""
        return time.time()

    def after(self, seconds: float, work: t.Callable[..., None], *arguments: t.Any) -> None:
        """Call `work` so many seconds from now."""
        self.loop.call_soon_threadsafe(self.loop.call_later, seconds, self._write, work, *arguments)

    def request(
        self, method: str, path: str, body: t.Any = None, content_type: str = "application/json"
    ) -> tuple[int, dict[str, t.Any]]:
        """Send a request to the API server; return status and answer. Raises Away."""
        try:
            return self.api().request(method, path, body, content_type)
        except (OSError, http.client.HTTPException) as error:
            raise Away(str(error)) from error

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
        ports = {}
        for name, kubelet in self.kubelets.items():
            server = await asyncio.start_server(
                lambda reader, writer, kubelet=kubelet: self._serve(kubelet, reader, writer),
                self.order["address"],
                0,
                ssl=context,
            )
            ports[name] = server.sockets[0].getsockname()[1]
        await asyncio.gather(*(self._write(self._introduce, name, port) for name, port in ports.items()))
        threading.Thread(target=self._watch, daemon=True).start()
        self.send(ready=True)
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            await asyncio.gather(
                *(self._write(kubelet.renew) for kubelet in self.kubelets.values()), return_exceptions=True
            )

    def _write(self, work: t.Callable[..., t.Any], *arguments: t.Any) -> asyncio.Future[t.Any]:
        return self.loop.run_in_executor(self._pool, work, *arguments)

    # -- towards the API server
    # ------------------------------------------------------------------------------------------

    def _introduce(self, name: str, port: int) -> None:
        addresses = [
            {"type": "InternalIP", "address": self.order["address"]},
            {"type": "Hostname", "address": name},
        ]
        status = {"addresses": addresses, "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}
        self.api().call("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, STRATEGIC)
        self.kubelets[name].report()
        self.api().ensure(
            HEARTBEATS,
            {
                "apiVersion": "coordination.k8s.io/v1",
                "kind": "Lease",
                "metadata": {"name": name, "labels": self.order["labels"]},
                "spec": {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": stamp(time.time(), True)},
            },
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
        kubelet = self.kubelets.get(item["metadata"]["name"])
        if kubelet:
            kubelet.see(item)

    def _synced(self, kubelet: DynamicKubelet, restarted: bool) -> None:
        state = kubelet.state
        self.send(
            node=kubelet.name,
            seen=kubelet.seen,
            reported=time.time(),
            restarted=restarted,
            active=(state.active or {}).get("name"),
            error=state.override or state.error,
        )

    # -- towards clients
    # -------------------------------------------------------------------------------------------

    async def _serve(self, kubelet: DynamicKubelet, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                writer.write(_answer(kubelet, head.split(" ", 2)[1]))
                await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
            writer.close()

    # -- orders
    # ----------------------------------------------------------------------------------------------------------

    def orders(self) -> None:
        """Execute the orders in the lines of the input until it ends."""
        for line in sys.stdin:
            order = json.loads(line)
            for kubelet in (self.kubelets[name] for name in order["names"]):
                if order["set"] == "ready":
                    self._pool.submit(kubelet.set_ready, order["value"]).result()
                elif order["value"]:
                    kubelet.deaf = True
                else:
                    self._pool.submit(kubelet.hear).result()
            self.send(done=True)
        os._exit(0)


def _answer(kubelet: DynamicKubelet, path: str) -> bytes:
    try:
        answer = kubelet.answer(path)
    except Refusal:
        # It does not run: a connection that ends is what its clients see of that.
        raise ConnectionError from None
    body = answer.content()
    head = f"HTTP/1.1 {answer.status} {http.client.responses[answer.status]}\r\nContent-Length: {len(body)}\r\n"
    return (head + f"Content-Type: {answer.headers['Content-Type']}\r\n\r\n").encode() + body


def main() -> None:
    """Read what to simulate from the first line of the input."""
    process = Process(json.loads(sys.stdin.readline()))
    threading.Thread(target=process.orders, daemon=True).start()
    asyncio.set_event_loop(process.loop)
    process.loop.run_until_complete(process.run())


if __name__ == "__main__":
    main()
