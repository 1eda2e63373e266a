# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated kubelets behind the lab's real API server, for tests of scale: they answer like a real one, which
tests/e2e/test_simulated.py verifies.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import queue
import subprocess
import sys
import threading
import typing as t
from pathlib import Path

from tests.lab import objects
from tests.lab.console import LabError
from tests.lab.controlplane import PORT
from tests.lab.lab import Lab
from tests.lab.processes import VARIABLE
from tests.sim.kubelets.kubelet import HEARTBEATS as LEASES

ROOT = Path(__file__).resolve().parents[3]


@dataclasses.dataclass(frozen=True)
class Change:
    """A kubelet has read a new source. Times in seconds since 1970: when it saw the source, when it had reported it."""

    node: str
    seen: float
    reported: float
    restarted: bool
    active: str | None
    """Name of the ConfigMap it runs; None: local."""
    error: str


class Simulated:
    """`with Simulated(lab, 100) as fleet:` - that many bare Nodes, whose kubelets one process simulates.

    Each kubelet follows `spec.configSource` like one of 1.20. `delay` seconds after a change it has read the ConfigMap
    and restarted, and reports `status.config` and a Ready heartbeat. `graduation` seconds later the source is
    last-known-good. It renews its Lease every 10 s and serves /configz, /healthz, /metrics and /stats/summary through
    the API server. `local` is the /configz of the local configuration, n1's by default. Unlike a real kubelet, it does
    not notice a ConfigMap that changes in place, sends no Events and runs no pods. Nodes and process are removed
    afterwards.
    """

    def __init__(
        self,
        lab: Lab,
        count: int,
        *,
        prefix: str = "scale-",
        delay: float = 1.0,
        graduation: float = 600.0,
        local: dict[str, t.Any] | None = None,
    ) -> None:
        self._lab = lab
        self._count = count
        self._prefix = prefix
        self._delay = delay
        self._graduation = graduation
        self._local = local
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[dict[str, t.Any]] = queue.Queue()
        self.names: list[str] = []
        self.changes: list[Change] = []
        """In the order of the reports."""

    def __enter__(self) -> Simulated:
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def set_ready(self, names: t.Iterable[str], ready: bool) -> None:
        """Make kubelets report Ready or not from now on; return when the API server has the reports."""
        self._tell(set="ready", names=list(names), value=ready)

    def set_deaf(self, names: t.Iterable[str], deaf: bool) -> None:
        """Make kubelets ignore new sources and renew no Lease, like hanging ones that still answer; or end that."""
        self._tell(set="deaf", names=list(names), value=deaf)

    def close(self) -> None:
        """End the process; remove Nodes and Leases."""
        if self._process:
            with contextlib.suppress(OSError):
                t.cast("t.IO[str]", self._process.stdin).close()
            try:
                self._process.wait(5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        self._lab.remove_node_objects(self._prefix)
        self._lab.apiserver.api().call("DELETE", f"{LEASES}?labelSelector={objects.selector(self._prefix)}")

    def _start(self) -> None:
        control, address = self._lab.apiserver, self._lab.settings.gateway
        local = self._local or control.api().call("GET", "/api/v1/nodes/n1/proxy/configz")["kubeletconfig"]
        # The API server accepts any certificate of a kubelet and presents its own.
        certificate, key = control.ca.issue(
            "simulated-kubelet", "system:node:simulated", ["system:nodes"], addresses=[address]
        )
        admin = control.ca.folder / "admin.crt"
        self.names = self._lab.add_node_objects(self._count, self._prefix)
        order = {
            "host": address,
            "port": PORT,
            "authority": str(control.ca.certificate),
            "certificate": str(admin),
            "key": str(admin.with_suffix(".key")),
            "serving_certificate": str(certificate),
            "serving_key": str(key),
            "address": address,
            "names": self.names,
            "local": local,
            "selector": objects.selector(self._prefix),
            "labels": objects.labels(self._prefix),
            "delay": self._delay,
            "graduation": self._graduation,
        }
        log = self._lab.folder / "logs/simulated.log"
        with log.open("a") as errors:
            # Has the lab's mark, so that `down` ends it too.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.sim.on_lab.process"],
                cwd=ROOT,
                text=True,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
                env={
                    **os.environ,
                    "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
                    VARIABLE: f"{self._lab.settings.mark} simulated",
                },
            )
        threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()
        self._send(order)
        self._receive(60 + self._count / 10)

    def _listen(self, lines: t.IO[str]) -> None:
        for line in lines:
            answer = json.loads(line)
            if "node" in answer:
                self.changes.append(Change(**answer))
            else:
                self._answers.put(answer)
        self._answers.put({"ended": True})

    def _tell(self, **order: t.Any) -> None:
        unknown = sorted(set(order["names"]) - set(self.names))
        if unknown:
            raise LabError(f"no simulated kubelet is called {', '.join(unknown)}")
        self._send(order)
        self._receive(60)

    def _send(self, order: dict[str, t.Any]) -> None:
        stdin = t.cast("t.IO[str]", t.cast("subprocess.Popen[str]", self._process).stdin)
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()

    def _receive(self, seconds: float) -> None:
        try:
            answer = self._answers.get(timeout=seconds)
        except queue.Empty:
            answer = {"ended": True}
        if "ended" in answer:
            log = self._lab.folder / "logs/simulated.log"
            raise LabError(
                f"the simulated kubelets have ended or hang; end of {log}:\n"
                + "\n".join(log.read_text().splitlines()[-12:])
            )
