# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster of a measurement, in a process of its own: its work is not the controller's.

`python -m tests.benchmarks.scale.served NODES VERSION [followed]` prints its address, then answers each line with what
happened since the last one: requests and bytes by kind, its seconds of CPU, and which kubelets have a new source. It
ends with its input.
"""

from __future__ import annotations

import collections
import json
import re
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

from tests.sim.api.faults import Counter
from tests.sim.cluster import CONFIGMAPS, DEFAULT, Cluster
from tests.sim.kubelets.configs import own_file
from tests.sim.kubelets.dynamic import DynamicKubelet

ROOT = Path(__file__).resolve().parents[3]
KINDS = (
    (r"GET .*/nodes\?.*watch=true", "watch nodes"),
    (r"GET .*/nodes(\?|$)", "list nodes"),
    (r"GET .*/nodes/[^/?]+(\?|$)", "get a node"),
    (r"GET .*/proxy/configz", "live configuration"),
    (r"GET .*/proxy/", "kubelet's metrics and health"),
    (r"PATCH .*/nodes/", "assign"),
    (r"(GET|POST|DELETE) .*/configmaps", "ConfigMaps"),
    (r"[A-Z]+ .*/leases", "Leases"),
    (r"GET .*/pods", "pods"),
)
"""What a request is for, by its method and address; the first that matches."""


class ByKind(Counter):
    """Counts by kind. A connection has a thread, so what it answers belongs to what it received last."""

    def __init__(self) -> None:
        super().__init__()
        self._here = threading.local()
        self.kinds: collections.Counter[str] = collections.Counter()
        self.bytes: collections.Counter[str] = collections.Counter()

    def note(self, method: str, path: str, user: str, received: int) -> None:
        if user.startswith("system:node:"):
            return
        words = f"{method} {path}"
        kind = next((name for pattern, name in KINDS if re.match(pattern, words)), "other")
        self._here.kind = kind
        with self._lock:
            self.kinds[kind] += 1
            self.bytes[kind] += received

    def answered(self, user: str, sent: int) -> None:
        if not user.startswith("system:node:"):
            with self._lock:
                self.bytes[self._here.kind] += sent

    def taken(self) -> dict[str, dict[str, int]]:
        """Return requests and bytes by kind since the last call."""
        with self._lock:
            found = {kind: {"requests": count, "bytes": self.bytes[kind]} for kind, count in self.kinds.items()}
            self.kinds.clear()
            self.bytes.clear()
        return found


class Served:
    """`with Served(1000) as served`: the process, and its address."""

    def __init__(self, nodes: int, version: str = DEFAULT, followed: bool = False) -> None:
        command = [sys.executable, "-m", "tests.benchmarks.scale.served", str(nodes), version]
        if followed:
            command.append("followed")
        self._process = subprocess.Popen(
            command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, bufsize=1
        )
        self.url = self._line().strip()

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.communicate(timeout=60)

    def taken(self) -> dict[str, t.Any]:
        """Return what happened since the last call."""
        assert self._process.stdin is not None
        self._process.stdin.write("taken\n")
        return t.cast("dict[str, t.Any]", json.loads(self._line()))

    def source(self, name: str) -> dict[str, str]:
        """Create a ConfigMap with the nodes' own configuration, and return the source that names it."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"push {name}\n")
        return t.cast("dict[str, str]", json.loads(self._line()))

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def name_of(number: int) -> str:
    return f"worker-{number:05}"


def _push(cluster: Cluster, name: str, text: str) -> dict[str, str]:
    body = {"metadata": {"name": name, "namespace": "kube-system"}, "data": {"kubelet": text}}
    cluster.store.create(CONFIGMAPS, "kube-system", body)
    return {"namespace": "kube-system", "name": name, "kubeletConfigKey": "kubelet"}


def main() -> int:
    """Serve until the input ends."""
    count, version = int(sys.argv[1]), sys.argv[2]
    changes: list[dict[str, t.Any]] = []

    def synced(kubelet: DynamicKubelet, restarted: bool) -> None:
        good = restarted and not (kubelet.state.override or kubelet.state.error)
        changes.append({"node": kubelet.name, "seen": kubelet.seen, "reported": time.time(), "good": good})

    more: dict[str, t.Any] = {"followed": True} if sys.argv[3:] else {"synced": synced}
    with Cluster(version, tls=False) as cluster:
        cluster.server.counter = cluster.counter = counter = ByKind()
        own = own_file(name_of(0), cluster.store.minor)
        for number in range(count):
            cluster.simulate(name_of(number), own=own, flags={}, **more)
        print(cluster.url, flush=True)
        began = time.process_time()
        for line in sys.stdin:
            if line.startswith("push "):
                print(json.dumps(_push(cluster, line.split()[1], own)), flush=True)
                continue
            now = time.process_time()
            print(json.dumps({"kinds": counter.taken(), "server_cpu": now - began, "changes": changes}), flush=True)
            began = now
            changes.clear()
    return 0


if __name__ == "__main__":
    sys.exit(main())
