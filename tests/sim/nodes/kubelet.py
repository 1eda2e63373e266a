# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet of a simulated node, a program: `python -m tests.sim.nodes.kubelet ROOT BINARY FLAG...`.

It reads its configuration as a real one, refuses what that refuses, ends of what kills that, serves healthz on the port
of its configuration and /configz, /metrics, /healthz and /pods on the node's kubelet port, and reports its Node Ready.
It runs no pods. `ROOT/usr/share/sim/kubelet.json` has what a real one finds by itself: ports, the API server.
"""

from __future__ import annotations

import contextlib
import datetime
import http.client
import json
import os
import signal
import socket
import sys
import threading
import time
import typing as t
import urllib.parse
from pathlib import Path

import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.short_texts import flag
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.health import endpoint
from tests.sim.api.listener import Connection, Listener
from tests.sim.kubelets import pages
from tests.sim.nodes import kubelet_config
from tests.sim.nodes.kubelet_config import Ended

HEARTBEAT_SECONDS = 5.0
LIFE = "LIVENODES_SIM_LIFE"
"""As in shim.py, which runs without this package."""


def log(level: str, place: str, text: str) -> None:
    """Print a line in the kubelet's format."""
    now = datetime.datetime.now()
    sys.stderr.write(f"{level}{now:%m%d %H:%M:%S.%f} {os.getpid():7d} {place}] {text}\n")
    sys.stderr.flush()


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


class Kubelet:
    def __init__(self, root: Path, version: str, words: list[str]) -> None:
        self.root, self.version, self.words = root, version, words
        self.minor = int(version.split(".")[1])
        self.known = json.loads((root / "usr/share/sim/kubelet.json").read_text(encoding="utf-8"))
        self.config: dict[str, t.Any] = {}
        self.began = time.time()
        """By the clock of this machine."""

    def start(self) -> None:
        """Read the configuration and begin to serve. Raises Ended."""
        found = kubelet_config.read(self.words, self.minor, self.root)
        if found.unknown:
            names = ", ".join(f'unknown field "{name}"' for name in found.unknown)
            text = f"strict decoding error: {names}"
            log("E", "codec.go:170", f'"Using lenient decoding as strict decoding failed" err={quoted(text)}')
        self.config = found.config
        if self.minor >= 37:
            lines = "".join(f"\t{line}\n" for line in yaml.safe_dump(self._configz()).splitlines())
            log("I", "server.go:262", f'"Effective KubeletConfiguration" config=<\n{lines} >')
        log("I", "server.go:487", f'"Kubelet version" kubeletVersion={quoted(self.version)}')
        self._check_identity()
        dead = kubelet_config.deadly(self.config, self.minor, self.root) or self._runtime()
        if dead:
            raise Ended(f"failed to run Kubelet: {dead}")
        self._serve()

    def _check_identity(self) -> None:
        path = flag(self.words, "kubeconfig")
        bootstrap = flag(self.words, "bootstrap-kubeconfig")
        if path and not self._at(path).exists() and not (bootstrap and self._at(bootstrap).exists()):
            raise Ended(f"failed to run Kubelet: invalid kubeconfig: stat {path}: no such file or directory")

    def _runtime(self) -> str:
        given = str(self.config.get("containerRuntimeEndpoint") or flag(self.words, "container-runtime-endpoint") or "")
        path = given.removeprefix("unix://")
        try:
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(os.path.realpath(self._at(path)))
            return ""
        except OSError as error:
            cause = (error.strerror or str(error)).lower()
            return (
                f'validate service connection: validate CRI v1 runtime API for endpoint "{given}": rpc error: code = '
                f'Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix {path}: '
                f'connect: {cause}"'
            )

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def _serve(self) -> None:
        place = endpoint(self.config, self.words)
        address = self.config.get("address") or "0.0.0.0"
        try:
            self._listen("127.0.0.1" if address == "0.0.0.0" else address, self.known["port"])
        except OSError as error:
            cause = f"listen tcp {address}:{self.config.get('port') or 10250}: bind: {(error.strerror or '').lower()}"
            raise Ended(cause, logged="Failed to listen and serve") from None
        if place.port:
            try:
                self._listen(place.address, place.port)
            except OSError as error:
                # A real kubelet tries again and serves everything else.
                cause = f"listen tcp {place.address}:{place.port}: bind: {(error.strerror or '').lower()}"
                log("E", "kubelet.go:2881", f'"Failed to start healthz server" err={quoted(cause)}')
            else:
                self._show_socket(place.address, place.port)

    def _listen(self, address: str, port: int) -> None:
        Listener(self._respond, place=(address, port)).start()

    def _respond(self, client: Connection, _body: bytes) -> None:
        status, text = self.answer(client.path.partition("?")[0])
        kind = "application/json" if text.startswith("{") else "text/plain"
        client.reply(status, text.encode(), [("Content-Type", kind)])

    def _show_socket(self, address: str, port: int) -> None:
        """Show the socket of healthz in the node's /proc, as the kernel does."""
        inode = os.getpid()
        packed = socket.inet_aton(address if address.count(".") == 3 else "127.0.0.1")
        local = f"{int.from_bytes(packed, sys.byteorder):08X}:{port:04X}"
        row = f"   0: {local} 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 {inode} 1\n"
        with (self.root / "proc/net/tcp").open("a", encoding="ascii") as stream:
            stream.write(row)
        folder = self.root / "proc" / str(os.getpid()) / "fd"
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            (folder / "7").symlink_to(f"socket:[{inode}]")

    def answer(self, path: str) -> tuple[int, str]:
        if path == "/healthz":
            return 200, "ok"
        if path == "/configz":
            return 200, json.dumps({"kubeletconfig": self._configz()})
        if path == "/metrics":
            running = time.time() - self.began
            return 200, pages.metrics(self.began, running).decode()
        if path == "/pods":
            return 200, json.dumps({"kind": "PodList", "apiVersion": "v1", "items": []})
        if path == "/stats/summary":
            return 200, json.dumps({"node": {"nodeName": self.known["name"]}, "pods": []})
        return 404, "404 page not found\n"

    def _configz(self) -> dict[str, t.Any]:
        header = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
        return {**kubelet_config.shown(self.config, self.minor), **(header if self.minor >= 36 else {})}

    def report(self) -> None:
        """Report the Node's status and renew its Lease, as long as the process runs."""
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                self._report_once()
            time.sleep(HEARTBEAT_SECONDS)

    def _report_once(self) -> None:
        name, now = self.known["name"], datetime.datetime.now(datetime.UTC)
        moment = now.strftime("%Y-%m-%dT%H:%M:%SZ")
        pods = {"pods": str(self.config.get("maxPods", 110))}
        status = {
            "conditions": [pages.ready(True, moment, self.known["since"])],
            "nodeInfo": {"kubeletVersion": self.version},
            "capacity": pods,
            "allocatable": pods,
        }
        lease = {"spec": {"holderIdentity": name, "renewTime": now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")}}
        kinds = ("application/strategic-merge-patch+json", "application/merge-patch+json")
        self._patch(f"/api/v1/nodes/{name}/status", {"status": status}, kinds[0])
        self._patch(f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}", lease, kinds[1])

    def _patch(self, path: str, body: t.Mapping[str, t.Any], kind: str) -> None:
        parts = urllib.parse.urlsplit(self.known["api"])
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=5)
        try:
            connection.request("PATCH", path, json.dumps(body), {"Content-Type": kind})
            connection.getresponse().read()
        finally:
            connection.close()


def version_of(binary: Path) -> str:
    """Return the version of a kubelet's binary, which is its last word."""
    return binary.read_bytes().split()[-1].decode()


def _end_with(handle: int) -> None:
    os.read(handle, 1)
    os._exit(1)


def main(root: Path, binary: Path, words: list[str]) -> int:
    """Run until a signal; return the exit status."""
    version = version_of(binary)
    if "--version" in words:
        sys.stdout.write(f"Kubernetes {version}\n")
        return 0
    if os.environ.get(LIFE):
        threading.Thread(target=_end_with, args=(int(os.environ[LIFE]),), daemon=True).start()
    kubelet = Kubelet(root, version, words)
    try:
        kubelet.start()
    except Ended as end:
        if end.panics:
            sys.stderr.write(f"panic: {end}\n\ngoroutine 1 [running]:\n")
            return 2
        log("E", "run.go:72", f'"{end.logged}" err={quoted(str(end))}')
        return 1
    signal.signal(signal.SIGTERM, lambda *_words: os._exit(0))
    kubelet.report()
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
