# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet of 1.11 to 1.23 that follows spec.configSource (pkg/kubelet/kubeletconfig)."""

from __future__ import annotations

import typing as t

from tests.sim.kubelets import configs
from tests.sim.kubelets.configs import Config, Outcome
from tests.sim.kubelets.dynamic_state import State
from tests.sim.kubelets.kubelet import Away, Host, Kubelet

GRADUATION = 600.0
FORBIDDEN = (403, 404)


class DynamicKubelet(Kubelet):
    """Reads its source `delay` seconds after a change, and tries again as often; `graduation` seconds after a start
    the source is last-known-good.

    `local` is the /configz of its own file, flags included; `flags` are the fields that its command line sets.
    `follows`: whether it has --dynamic-config-dir. `synced` is called after each sync with whether it restarted.
    """

    def __init__(
        self,
        host: Host,
        name: str,
        local: Config,
        *,
        minor: int = 20,
        flags: t.Mapping[str, t.Any] | None = None,
        delay: float = 1.0,
        graduation: float = GRADUATION,
        synced: t.Callable[[DynamicKubelet, bool], None] = lambda _kubelet, _restarted: None,
    ) -> None:
        super().__init__(host, name, delay)
        self.state = State(local)
        self.minor, self.graduation, self.synced = minor, graduation, synced
        self.flags = dict(flags or {})
        self.follows = True
        self.source: dict[str, str] | None = None
        self.seen = 0.0
        """When it saw its source."""

    def configz(self) -> Config:
        return self.state.configz

    def dies(self) -> bool:
        return self.state.deadly and self.follows

    def status(self) -> dict[str, t.Any]:
        """Return status.config, which a kubelet without --dynamic-config-dir leaves as it is."""
        return {"config": self.state.status()} if self.follows else {}

    def source_of(self, node: t.Mapping[str, t.Any]) -> dict[str, str] | None:
        """Return the source that a Node names."""
        return (node["spec"].get("configSource") or {}).get("configMap")

    def see(self, node: t.Mapping[str, t.Any]) -> None:
        """See its Node; a new source is read later."""
        source = self.source_of(node)
        if source != self.source:
            self.source, self.seen = source, self.host.clock()
            self.poke()

    def poke(self) -> None:
        """Look at its source later, since something about it changed."""
        self.host.after(self.delay, self._sync, self.source)

    def set_follows(self, follows: bool) -> None:
        """Restart with or without --dynamic-config-dir; without it, it runs its own file."""
        with self.lock:
            self.follows = follows
            self.state.configz = self.state.local if not follows else self.state.configz
            self.restarted()
        self.poke()

    def empty_store(self) -> None:
        """Do what a person does on a node whose kubelet dies of its configuration: empty the store, restart."""
        with self.lock:
            self.state.empty()
            self.restarted()
        self.poke()

    def _sync(self, source: dict[str, str] | None) -> None:
        """Sync the source that the Node had `delay` ago; retry on failure, like a kubelet's loop."""
        with self.lock:
            if not self.running or self.deaf or not self.follows or source != self.source:
                return
            before = self.state.status()
            try:
                restarts = self.state.reset() if source is None else self._fetch(source)
            except Away:
                self.poke()
                return
            if restarts:
                self.restarted()
                self.host.after(self.graduation, self._graduate, self.state.starts)
            elif self.state.status() != before:
                self.report()
            if self.state.override:
                self.poke()
        self.synced(self, restarts)

    def _fetch(self, source: dict[str, str]) -> bool:
        path = f"/api/v1/namespaces/{source['namespace']}/configmaps/{source['name']}"
        status, found = self.host.request("GET", path)
        if status in FORBIDDEN:
            self.state.missing()
            return False
        if status >= 400:
            raise Away(f"{status} {found.get('message')}")
        meta = found["metadata"]
        reference = {**source, "uid": meta["uid"], "resourceVersion": meta["resourceVersion"]}
        return self.state.follow(reference, self._outcome((found.get("data") or {}).get(source["kubeletConfigKey"])))

    def _outcome(self, text: str | None) -> Outcome:
        return configs.outcome(text, self.minor, tuple(self.flags.items()))

    def _graduate(self, starts: int) -> None:
        with self.lock:
            if self.running and self.state.starts == starts and self.state.graduate():
                self.report()
