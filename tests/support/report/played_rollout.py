# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated rollouts of any size: their module results are passed to the report, with a clock of their own."""

from __future__ import annotations

import random
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.plan import Request, make_plan
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import events, model

LIVE = {
    "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "maxPods": 110,
    "kubeAPIQPS": 5,
    "kubeAPIBurst": 10,
    "evictionHard": {
        "memory.available": "100Mi",
        "nodefs.available": "10%",
        "nodefs.inodesFree": "5%",
        "imagefs.available": "15%",
    },
}
WANTED = {
    "maxPods": 80,
    "kubeAPIQPS": 20,
    "kubeAPIBurst": 40,
    "evictionHard": {**LIVE["evictionHard"], "memory.available": "500Mi"},
}  # type: ignore[dict-item]
BEGAN = 1795273200.0
"""2026-11-21 15:00 UTC."""


class Played:
    """A rollout to n1, n2, ...: a canary, then batches of a tenth. Every third node has checkpoint delivery."""

    def __init__(
        self,
        size: int,
        failing: t.Mapping[str, tuple[str, str]] | None = None,
        names: t.Sequence[str] = (),
        stop_after: int | None = None,
    ) -> None:
        self.names = list(names) or [f"worker-{number:04}.example.com" for number in range(1, size + 1)]
        self.failing = failing or {}
        self.chance = random.Random(size)
        self.now = BEGAN
        self.rollout = model.Rollout(self.now)
        self.rollout.group = "workers"
        self.plan()
        step = max(1, size // 10)
        batches = [self.names[:1], *(self.names[at : at + step] for at in range(1, size, step))]
        for batch in batches[:stop_after]:
            self.batch(batch)
        self.rollout.close()

    def result(self, module: str, result: dict[str, t.Any], node: str = "", trouble: str = "") -> None:
        """Report the end of a task."""
        for event in events.read(module, result, node, trouble):
            self.rollout.apply(event, self.now)

    def plan(self) -> None:
        """Run the real kubelet_config_plan for realistic nodes: a few run other values already."""
        variants = {"common": LIVE, "changed": {**LIVE, "maxPods": 60}, "ready": {**LIVE, **WANTED}}
        found = {
            name: {
                "variant": "ready" if index % 40 == 39 else "changed" if index % 6 == 5 else "common",
                "kubelet_version": "v1.20.2",
                "source": None,
                "status": None,
            }
            for index, name in enumerate(self.names)
        }
        self.made = make_plan(Request({"variants": variants, "nodes": found}, WANTED))
        self.result("kubelet_config_plan", {"plan": self.made})
        self.now += 4

    def batch(self, names: list[str]) -> None:
        """Gate, assign, verify, soak, confirm."""
        mine = [name for name in names if self.made["nodes"][name]["action"] == "assign"]
        if not mine:
            return
        deliveries = {name: "checkpoint" if self.names.index(name) % 3 == 2 else "native" for name in mine}
        self.result("kubelet_rollout_gate", {"invocation": {"module_args": {"nodes": mine}}, "paused": None})
        self.now += 2
        self.result(
            "node_config_source",
            {
                "invocation": {"module_args": {"state": "present"}},
                "nodes": {name: {"changed": True, "delivery": deliveries[name], "state": "assigned"} for name in mine},
            },
        )
        began, copied = self.now, [name for name in mine if deliveries[name] == "checkpoint"]
        ends = []
        for name in copied:
            self.now = began + self.chance.uniform(1, 4)
            self.result("kubelet_checkpoint", _module(state="staged", changed=True), name)
            self.now += self.chance.uniform(1, 3)
            self.result("kubelet_checkpoint", _module(state="assigned", restart_needed=True), name)
            self.now += self.chance.uniform(4, 12)
            self.result("kubelet_checkpoint", {**_module(state="restarted"), "seconds": 5.1}, name)
            ends.append(self.now)
        self.now = max([*ends, began]) + self.chance.uniform(5, 15)
        rows = {name: {"ok": True, "state": "active", "delivery": deliveries[name], "message": ""} for name in mine}
        for name in set(mine) & set(self.failing):
            state, message = self.failing[name]
            rows[name].update(ok=False, state=state, message=message.replace("NODE", name))
        self.result(
            "node_config_source",
            {**_module(state="verified"), "nodes": rows},
            trouble="failed" if set(mine) & set(self.failing) else "",
        )
        self.now += 30
        self.result("node_soak", {"nodes": {name: row for name, row in rows.items() if row["ok"]}})
        for name in copied:
            self.now += 0.02
            if rows[name]["ok"]:
                self.result("kubelet_checkpoint", _module(state="confirmed"), name)
            else:
                self.result("kubelet_checkpoint", _module(state="rolled_back", changed=True), name)


def _module(state: str, **result: t.Any) -> dict[str, t.Any]:
    return {**result, "invocation": {"module_args": {"state": state}}}


REFUSED = (
    "fell_back",
    "its kubelet refused kube-system/livenodes-kubelet-5m7f2b6t4c and reverted to its last-known-good: "
    "`failed to validate config, see Kubelet log for details`: it contains an invalid value",
)
DIFFERS = (
    "differs",
    "it runs the assigned configuration, but 1 field is not live: maxPods is 110, not 80; "
    "--max-pods in /var/lib/kubelet/kubeadm-flags.env wins",
)
DEAD = (
    "silent",
    "its kubelet has sent no heartbeat for 65 s: it is dead or in a crash loop",
)


def example(size: int) -> model.Rollout:
    """Return a rollout with some failed nodes; with 3,000 nodes it stopped before the last batch."""
    failing = {3: {3: DIFFERS}, 100: {17: REFUSED, 42: DIFFERS, 43: DIFFERS, 44: DIFFERS}}.get(
        size, {number: (REFUSED, DIFFERS, DEAD)[number % 3] for number in range(95, size, 173)}
    )
    played = Played(
        size,
        {f"worker-{number:04}.example.com": why for number, why in failing.items()},
        stop_after=10 if size > 1000 else None,
    )
    played.rollout.end(played.now)
    return played.rollout
