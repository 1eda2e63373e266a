# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet's process, its heartbeats and what it serves; what it runs is that of a subclass."""

from __future__ import annotations

import json
import threading
import time
import typing as t
import uuid

from tests.sim.api.handlers import Answer
from tests.sim.api.refusal import unreachable
from tests.sim.api.store import stamp
from tests.sim.kubelets import pages
from tests.sim.kubelets.configs import Config

HEARTBEATS = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
STRATEGIC = "application/strategic-merge-patch+json"
MERGE = "application/merge-patch+json"
# RestartSec of the unit that kubeadm ships.
RESTART_SECONDS = 10.0
RENEW_SECONDS = 10.0
JSON = {"Content-Type": "application/json"}
TEXT = {"Content-Type": "text/plain; charset=utf-8"}


class Away(Exception):
    """The API server does not answer."""


class Host(t.Protocol):
    """What a kubelet runs on."""

    def request(
        self, method: str, path: str, body: t.Any = None, content_type: str = "application/json"
    ) -> tuple[int, dict[str, t.Any]]:
        """Send a request to the API server; return status and answer. Raises Away."""

    def after(self, seconds: float, work: t.Callable[..., None], *arguments: t.Any) -> None:
        """Call `work` so many seconds from now."""

    def clock(self) -> float:
        """Return the node's time, in seconds since 1970."""


class Kubelet:
    """One kubelet. `restarts` and `invocation` are what systemd shows of its unit."""

    unit_of_relists = "seconds"
    """Of the intervals between its relists in /metrics."""

    def __init__(self, host: Host, name: str, delay: float = 1.0) -> None:
        self.host, self.name, self.delay = host, name, delay
        self.ready, self.turned = True, stamp(host.clock())
        self.deaf = False
        """Ignores what changes and renews no Lease, like a hanging one that still answers."""
        self.running = True
        self.started = self.renewed = host.clock()
        self.began = time.monotonic()
        self.restarts = 0
        self.invocation = uuid.uuid4().hex
        # One sync at a time, as in a kubelet's loop.
        self.lock = threading.RLock()

    # What a subclass knows

    def configz(self) -> Config:
        """Return what it runs."""
        raise NotImplementedError

    def dies(self) -> bool:
        """Return whether it ends at each start."""
        return False

    def status(self) -> dict[str, t.Any]:
        """Return what it reports beside its conditions."""
        return {}

    def conditions(self) -> list[dict[str, t.Any]]:
        """Return the conditions that it reports beside Ready."""
        return []

    def see(self, node: t.Mapping[str, t.Any]) -> None:
        """See its Node change. Must not wait for anything."""

    # What happens to it

    def restarted(self) -> None:
        """Run anew, as after an exit: with another invocation, and a report unless it dies of what it runs."""
        self.restarts += 1
        self.invocation = uuid.uuid4().hex
        self.started, self.began = self.host.clock(), time.monotonic()
        self.running = not self.dies()
        if self.running:
            self.report()
            self.renew()
        else:
            self.host.after(RESTART_SECONDS, self._again, self.invocation)

    def stop(self) -> None:
        self.running = False
        self.invocation = ""

    def set_ready(self, ready: bool) -> None:
        """Report Ready or not from now on."""
        self.ready, self.turned = ready, stamp(self.host.clock())
        self.report()

    def _again(self, invocation: str) -> None:
        with self.lock:
            if self.invocation == invocation and not self.running:
                self.restarted()

    # Towards the API server

    def report(self) -> None:
        """Report status and a heartbeat. An API server that is away gets the next one."""
        ready = pages.ready(self.ready, stamp(self.host.clock()), self.turned)
        body = {"status": {"conditions": [ready, *self.conditions()], **self.status()}}
        try:
            status, _answer = self.host.request("PATCH", f"/api/v1/nodes/{self.name}/status", body, STRATEGIC)
        except Away:
            status = 0
        if status in (0, 429) or status >= 500:
            self.host.after(self.delay, self._report_again, self.invocation)

    def _report_again(self, invocation: str) -> None:
        with self.lock:
            if self.running and self.invocation == invocation:
                self.report()

    def renew(self) -> None:
        """Renew its Lease, if it is alive."""
        if self.running and not self.deaf:
            self.renewed = self.host.clock()
            self.renew_at(self.renewed)

    def renew_at(self, moment: float) -> None:
        """Write a renewal time into its Lease."""
        try:
            self.host.request(
                "PATCH", f"{HEARTBEATS}/{self.name}", {"spec": {"renewTime": stamp(moment, micro=True)}}, MERGE
            )
        except Away:
            return

    # Towards its clients

    def answer(self, path: str) -> Answer:
        """Answer as the kubelet's server. Raises Refusal (503) if it does not run."""
        config = self.configz()
        if not self.running or config.get("enableServer") is False:
            raise unreachable("dial tcp 192.0.2.1:10250: connect: connection refused")
        plain = path.partition("?")[0].rstrip("/")
        if plain == "/configz" and config.get("enableDebuggingHandlers") is not False:
            return Answer(200, json.dumps({"kubeletconfig": config}).encode(), JSON)
        if plain == "/healthz":
            return Answer(200, b"ok", TEXT)
        if plain == "/metrics":
            return Answer(200, pages.metrics(self.started, time.monotonic() - self.began, self.unit_of_relists), TEXT)
        if plain == "/stats/summary":
            return Answer(200, json.dumps(pages.summary(self.name, stamp(self.host.clock()))).encode(), JSON)
        return Answer(404, b"404 page not found\n", TEXT)
