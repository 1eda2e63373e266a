# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A played cluster whose nodes read checkpoints. The modules on the nodes are modelled; any call may lose its host."""

from __future__ import annotations

import json
import time
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from tests.sim.api.handlers import Request
from tests.sim.played import PlayedCluster, played_ansible
from tests.support.api import objects
from tests.support.plays.ansible import Ansible
from tests.support.plays.stubs import LOST, collection

ON_NODES = ("kubelet_checkpoint", "kubelet_preflight_info")
MODEL, REACH = "/model/", "/reach/"
KUBELET = {"kubelet": {"version": "v1.30.2"}}
DONE = {"changed": False, "restart_needed": False, "error": "", "trial": None}
"""What a call returns that has nothing else to report."""

# Each module on a node asks the model what happens.
STUB = """#!/usr/bin/python
# WANT_JSON
import json, os, sys, urllib.request
given = json.load(open(sys.argv[1]))
given["check_mode"] = given.get("_ansible_check_mode", False)
url = os.environ["TEST_FLEET"] + "{path}" + os.environ["TEST_HOST"]
request = urllib.request.Request(url, json.dumps(["{name}", given]).encode(), method="POST")
print(urllib.request.urlopen(request).read().decode())
"""

# Each task of a host has its own process, in whose environment the stubs read the name.
REACHES = f"""
import os, urllib.error, urllib.request

def lost(host):
    os.environ["TEST_HOST"] = host
    try:
        urllib.request.urlopen(os.environ["TEST_FLEET"] + "{REACH}" + host)
    except urllib.error.HTTPError:
        return True
    return False
"""


class SwitchedCluster(PlayedCluster):
    """`with SwitchedCluster("n1", ...) as fleet`: all nodes but the `native` ones have a confirmed checkpoint of
    `BEFORE`.

    `reasons`: by node, why a staging refuses it.

    `lost_after`: by node, after how many calls on it its host cannot be reached any more. `steps`: by node, the calls
    on it. `looked_at`: the node, unit and drop-in folder of each inspection. The guard of a lost node reverts a
    configuration that is not confirmed `PATIENCE` seconds after the restart. The kubelets of `refusing` nodes do not
    stay up.
    """

    PATIENCE = 2.0

    def __init__(self, *names: str, native: t.Collection[str] = ()) -> None:
        super().__init__(*names)
        self.native = frozenset(native)
        self.lost_after: dict[str, int] = {}
        self.steps: dict[str, list[str]] = {name: [] for name in names}
        self.looked_at: list[tuple[t.Any, ...]] = []
        self.staged: dict[str, dict[str, str]] = {}
        self.reasons: dict[str, list[str]] = {}
        self.stored: set[tuple[str, str]] = set()
        self.trials: dict[str, float] = {}
        self.before = objects.reference(self.BEFORE)
        for name in set(names) - self.native:
            reported = {**objects.status(self.before, self.before, self.before), "started": self._moment()}
            self.nodes[name] = objects.node(name, version="v1.30.2", marked=self.before, reported=reported)

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request, of the API or of the model."""
        host = url.rpartition("/")[2]
        if url.startswith(REACH):
            return 503 if self._lost(host) else 200, {}
        with self.lock:
            if url.startswith(MODEL):
                return 200, self._step(host, *body)
            for name, began in list(self.trials.items()):
                if self._lost(name) and time.monotonic() - began > self.PATIENCE:
                    self._revert(name, "not confirmed in time")
        return super().serve(method, url, body, request)

    def _lost(self, name: str) -> bool:
        return len(self.steps[name]) >= self.lost_after.get(name, 1000)

    def honest(self, name: str) -> bool:
        """Return whether a Node names what its kubelet runs: as its source, or with the error of kubelet or guard."""
        reported = self.nodes[name]["status"].get("config")
        if name not in self.native:
            reported = json.loads(self.nodes[name]["metadata"]["annotations"][annotation.STATUS])
        active = (reported.get("active") or {}).get("configMap") or {}
        return self.marked(name) == active.get("name") or bool(reported.get("error"))

    def marked(self, name: str) -> str | None:
        """Return the name of the ConfigMap that the source of a node names, None without a source or a Node."""
        if name not in self.nodes:
            return None
        if name in self.native:
            source = self.nodes[name]["spec"].get("configSource") or {}
            return t.cast("str | None", source.get("configMap", {}).get("name"))
        notes = self.nodes[name]["metadata"].get("annotations") or {}
        return json.loads(notes[annotation.SOURCE])["configMap"]["name"] if annotation.SOURCE in notes else None

    def pass_time(self) -> None:
        """Let so much time pass that Leases expire and guards revert what is not confirmed."""
        with self.lock:
            self.ahead += 3600
            for name in list(self.trials):
                self._revert(name, "not confirmed in time")

    def follow(self, name: str) -> None:
        """A kubelet without native delivery does not follow the API; one that is leaving it runs its checkpoint."""
        if name in self.native:
            before = self.live[name]
            super().follow(name)
            if annotation.SOURCE in (self.nodes[name]["metadata"].get("annotations") or {}):
                self.live[name] = before
        self.assigned.add(name)

    def _step(self, name: str, module: str, given: dict[str, t.Any]) -> dict[str, t.Any]:
        state = given.get("state") or ""
        self.steps[name].append(f"{module} {state}".strip())
        if module == "kubelet_preflight_info":
            self.looked_at.append((name, given.get("unit"), given.get("dropin_dir")))
            return {
                "changed": False,
                "reasons": [],
                "warnings": [],
                "reads_store": True,
                "state_files": [],
                "node_proof": True,
                "kubelet": {"config": "/k", "version": "v1.30.2"},
            }
        if given["check_mode"]:
            switches = state == "assigned"
            found = KUBELET if switches else {}
            return {"changed": True, "restart_needed": switches, "trial": None, "reasons": [], "preflight": found}
        steps = {
            "staged": self._stage,
            "assigned": self._switch,
            "restarted": self._restart,
            "confirmed": self._confirm,
            "rolled_back": self._roll_back,
        }
        if state in steps:
            return {**DONE, **steps[state](name, given)}
        if state in ("followed", "unfollowed"):
            self._follow(name, state == "followed")
        return DONE

    def _stage(self, name: str, given: dict[str, t.Any]) -> dict[str, t.Any]:
        one = name, given["source"]["uid"]
        fresh = one not in self.stored
        self.stored.add(one)
        return {"changed": fresh, "reasons": self.reasons.get(name, []), "preflight": {}}

    def _switch(self, name: str, given: dict[str, t.Any]) -> dict[str, t.Any]:
        self.staged[name] = given["source"]
        return {"changed": True, "restart_needed": True, "reasons": [], "preflight": KUBELET}

    def _restart(self, name: str, _given: dict[str, t.Any]) -> dict[str, t.Any]:
        if name in self.staged:
            self.trials[name] = time.monotonic()
            self._run(name, self.staged.pop(name), annotation.ON_TRIAL)
            if name in self.refusing:
                return {"failed": True, "msg": "the kubelet did not stay up"}
        return {"changed": True, "invocation_id": "one", "seconds": 0.1}

    def _confirm(self, name: str, given: dict[str, t.Any]) -> dict[str, t.Any]:
        self.trials.pop(name, None)
        self._run(name, given["source"], annotation.CONFIRMED)
        return {}

    def _roll_back(self, name: str, given: dict[str, t.Any]) -> dict[str, t.Any]:
        trial = name in self.trials or self.staged.pop(name, None) is not None
        if not trial:
            return {}
        self._revert(name, given["reason"])
        return {"changed": True, "error": given["reason"]}

    def _run(self, name: str, source: dict[str, str], reason: str) -> None:
        reported = {**objects.status(source, source, self.before), "reason": reason, "started": self._moment()}
        self._report(name, source, reported)

    def _revert(self, name: str, why: str) -> None:
        self.trials.pop(name, None)
        reported = objects.status(objects.reference(self.marked(name) or self.BEFORE), self.before, self.before, why)
        self._report(name, self.before, {**reported, "started": self._moment()})

    def _follow(self, name: str, installed: bool) -> None:
        """A follower reports as soon as it is installed, and takes its report with it."""
        notes = self.nodes[name]["metadata"]["annotations"] if name in self.nodes else {}
        notes.pop(following.FOLLOWER, None)
        if installed:
            notes[following.FOLLOWER] = following.text(following.Answer())

    def _report(self, name: str, source: dict[str, str], reported: dict[str, t.Any]) -> None:
        if name in self.nodes:
            self.nodes[name]["metadata"]["annotations"][annotation.STATUS] = annotation.text(reported)
        self.live[name] = json.loads(self.configmaps[source["name"]]["data"]["kubelet"])
        self.births[name] = self.clock()

    @staticmethod
    def _moment() -> str:
        return "2026-01-01T00:00:00Z"


def switched_ansible(home: Path, fleet: SwitchedCluster, **variables: t.Any) -> Ansible:
    """Return ansible-playbook with the fleet as its cluster and its nodes. `variables` are those of all hosts."""
    given = {"kubelet_config": {"maxPods": 80}, "kubelet_config_wait_timeout": 6, **variables}
    made = played_ansible(home, fleet, ansible_connection=LOST, **given)
    stubs = {name: STUB.format(name=name, path=MODEL) for name in ON_NODES}
    collection(home, stubs, REACHES)
    made.environment.update(TEST_FLEET=fleet.url)
    return made
