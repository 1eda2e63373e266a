# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated kubelet gives the same answers as a real one for the same sources, and a hundred of them are cheap."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import complete_config
from tests.lab.lab import Lab
from tests.lab.processes import find
from tests.sim.kubelets.words import DOWNLOAD, LOAD, VALIDATE
from tests.sim.on_lab.simulated import ROOT, Simulated
from tests.support.lab.views import eventually

NAMES = {"real": "n1", "simulated": "alike-00000"}
CONFIGMAPS = "/api/v1/namespaces/kube-system/configmaps"
# Only what a kubelet in a container requires: all other values must come from the defaults.
LEAST = {
    "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "cgroupDriver": "cgroupfs",
    "failSwapOn": False,
    "staticPodPath": "/etc/kubernetes/manifests",
    "authentication": {
        "anonymous": {"enabled": False},
        "webhook": {"enabled": True},
        "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
    },
    "authorization": {"mode": "Webhook"},
}


class Both:
    """A real node and a simulated one that get the same requests and the same sources."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.api = lab.apiserver.api()

    def raw(self, path: str) -> dict[str, t.Any]:
        """Return both kubelets' answers at a path, through the API server."""
        return {kind: self.api.call("GET", f"/api/v1/nodes/{name}/proxy/{path}") for kind, name in NAMES.items()}

    def configz(self) -> dict[str, t.Any]:
        """Return both live configurations."""
        return {kind: answer["kubeletconfig"] for kind, answer in self.raw("configz").items()}

    def status(self, kind: str) -> dict[str, t.Any]:
        """Return the status.config of one of them."""
        return t.cast("dict[str, t.Any]", self.api.call("GET", f"/api/v1/nodes/{NAMES[kind]}")["status"]["config"])

    def push(self, name: str, **data: str) -> str:
        """Create a ConfigMap for both; return its name."""
        self.api.ensure(
            CONFIGMAPS,
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": name, "labels": {"livenodes.test": "yes"}},
                "data": data,
            },
        )
        return name

    def assign(self, name: str | None, error: str = "") -> dict[str, t.Any]:
        """Assign a source to both and return their status.config, which must be equal.

        Waits until it is about that source and has this error.
        """
        source = (
            {"configMap": {"namespace": "kube-system", "name": name, "kubeletConfigKey": "kubelet"}} if name else None
        )
        for node in NAMES.values():
            self.api.call(
                "PATCH", f"/api/v1/nodes/{node}", {"spec": {"configSource": source}}, "application/merge-patch+json"
            )

        def done(kind: str) -> bool:
            answer = self.status(kind)
            about = error == DOWNLOAD or (answer.get("assigned") or {}).get("configMap", {}).get("name") == name
            return about and answer.get("error", "") == error

        for kind in NAMES:
            eventually(
                lambda kind=kind: done(kind),
                60,
                f"{name} on the {kind} node",
                lambda kind=kind: self.status(kind),
                every=0.5,
            )
        eventually(lambda: bool(self.raw("healthz")), 30, "answers of both kubelets")
        found = {kind: self.status(kind) for kind in NAMES}
        assert found["simulated"] == found["real"]
        return found["real"]


@pytest.fixture
def both(lab: Lab, fleet: tuple[str, ...]) -> t.Iterator[Both]:
    """Yield n1 on its local configuration, and its simulated counterpart."""
    assert NAMES["real"] in fleet
    with Simulated(lab, 1, prefix="alike-", delay=0.2):
        yield Both(lab)


@pytest.mark.parametrize("whole", [False, pytest.param(True, marks=pytest.mark.long)])
def test_same_sources_same_status(both: Both, whole: bool) -> None:
    """Complete, minimal, invalid, unreadable and missing configurations, one after the other, and then local again."""
    live = both.configz()
    assert live["simulated"] == live["real"]
    assert both.status("simulated") == both.status("real") == {}
    changed = {
        **complete_config.restore(live["real"]),
        "kubeAPIQPS": 7,
        "syncFrequency": "90s",
        "enforceNodeAllocatable": [],
    }
    complete = both.push("alike-complete", kubelet=json.dumps(changed))
    answer = both.assign(complete)
    assert answer["active"]["configMap"]["name"] == complete and set(answer) == {"assigned", "active"}
    live = both.configz()
    assert (
        live["simulated"] == live["real"]
        and live["real"]["syncFrequency"] == "1m30s"
        and "enforceNodeAllocatable" not in live["real"]
    )

    both.assign(both.push("alike-least", kubelet=json.dumps(LEAST)))
    live = both.configz()
    assert live["simulated"] == live["real"]

    cases = (
        ("alike-invalid", {"kubelet": json.dumps({**LEAST, "kubeAPIQPS": -1})}, VALIDATE),
        ("alike-unreadable", {"kubelet": "{"}, LOAD),
        ("alike-mistyped", {"kubelet": json.dumps({**LEAST, "maxPods": "5"})}, LOAD),
        ("alike-keyless", {"other": "x"}, LOAD),
    )
    for name, data, error in cases if whole else cases[:1]:
        assert set(both.assign(both.push(name, **data), error)) == {"assigned", "error"}
        live = both.configz()
        assert live["simulated"] == live["real"]
    if whole:
        assert set(both.assign(complete)) == {"assigned", "active"}
        assert both.assign("alike-missing", DOWNLOAD)["active"]["configMap"]["name"] == complete
        # Assigning the active source clears the error, so that no error remains.
        both.assign(complete)
    assert both.assign(None) == {}
    live = both.configz()
    assert live["simulated"] == live["real"]


def test_same_answers(both: Both) -> None:
    """healthz, a path that does not exist, metrics and the summary of a node."""
    assert both.raw("healthz") == {"real": {"message": "ok"}, "simulated": {"message": "ok"}}
    assert {both.api.request("GET", f"/api/v1/nodes/{name}/proxy/nothing")[0] for name in NAMES.values()} == {404}
    for answer in both.raw("metrics").values():
        started = next(
            float(line.split()[1])
            for line in answer["message"].splitlines()
            if line.startswith("process_start_time_seconds ")
        )
        age = time.time() - started
        assert 0 < age < 100000
        relisted = re.search(r"^kubelet_pleg_relist_interval_seconds_sum (\S+)$", answer["message"], re.MULTILINE)
        # A kubelet relists from a few seconds after its start on.
        assert relisted and float(relisted.group(1)) > age - 10
    summary = both.raw("stats/summary")
    parts = ("cpu", "memory", "fs", "rlimit")
    shapes = {kind: {part: sorted(answer["node"][part]) for part in parts} for kind, answer in summary.items()}
    assert shapes["simulated"] == shapes["real"]
    assert {kind: sorted(answer["node"]["runtime"]["imageFs"]) for kind, answer in summary.items()} == dict.fromkeys(
        NAMES, shapes["real"]["fs"]
    )
    nodes = {kind: both.api.call("GET", f"/api/v1/nodes/{name}") for kind, name in NAMES.items()}
    ready = {
        kind: next(item for item in node["status"]["conditions"] if item["type"] == "Ready")
        for kind, node in nodes.items()
    }
    assert {key: value for key, value in ready["simulated"].items() if "Time" not in key and key != "message"} == {
        key: value for key, value in ready["real"].items() if "Time" not in key and key != "message"
    }
    leases = {
        kind: both.api.call("GET", f"/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/{name}")["spec"]
        for kind, name in NAMES.items()
    }
    assert leases["simulated"].keys() == leases["real"].keys()


def test_a_hundred(lab: Lab) -> None:
    """All nodes follow one source, hanging ones only after they recover. A killed test leaves no process, and the next
    run leaves no Node.
    """
    api = lab.apiserver.api()
    text = json.dumps(
        {**complete_config.restore(api.call("GET", "/api/v1/nodes/n1/proxy/configz")["kubeletconfig"]), "maxPods": 99}
    )
    source = {"namespace": "kube-system", "name": "crowd", "kubeletConfigKey": "kubelet"}
    with Simulated(lab, 100, prefix="crowd-", delay=0.5) as crowd:
        try:
            api.ensure(
                CONFIGMAPS,
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "crowd"}, "data": {"kubelet": text}},
            )
            hung, bad = crowd.names[:2], crowd.names[2:3]
            crowd.set_deaf(hung, True)
            crowd.set_ready(bad, False)
            for name in crowd.names:
                api.call(
                    "PATCH",
                    f"/api/v1/nodes/{name}",
                    {"spec": {"configSource": {"configMap": source}}},
                    "application/merge-patch+json",
                )
            eventually(lambda: len(crowd.changes) == 98, 60, "98 reports", lambda: len(crowd.changes), every=0.1)
            assert {change.node for change in crowd.changes} == set(crowd.names) - set(hung)
            assert all(
                change.active == "crowd" and change.restarted and change.reported - change.seen >= 0.5
                for change in crowd.changes
            )
            found = {node["metadata"]["name"]: node["status"] for node in api.call("GET", "/api/v1/nodes")["items"]}
            assert [found[name]["config"] for name in hung] == [{}, {}]
            ready = {
                name: next(item["status"] for item in found[name]["conditions"] if item["type"] == "Ready")
                for name in crowd.names
            }
            assert [name for name, state in ready.items() if state != "True"] == bad
            crowd.set_deaf(hung, False)
            eventually(
                lambda: len(crowd.changes) == 100, 30, "the last two reports", lambda: len(crowd.changes), every=0.1
            )
            assert api.call("GET", f"/api/v1/nodes/{hung[0]}/proxy/configz")["kubeletconfig"]["maxPods"] == 99
        finally:
            api.request("DELETE", f"{CONFIGMAPS}/crowd")
    assert not [
        name
        for name in (item["metadata"]["name"] for item in api.call("GET", "/api/v1/nodes")["items"])
        if name.startswith("crowd-")
    ]


def test_killed_with_the_test(lab: Lab) -> None:
    """SIGKILL of the test's process ends the simulation too; its objects in the API server do not affect the next run,
    which removes them.
    """
    code = (
        "import os, signal\nfrom tests.lab.lab import Lab\nfrom tests.sim.on_lab.simulated import Simulated\n"
        "with Simulated(Lab.attach(), 2, prefix='orphan-'):\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL
    eventually(lambda: not find(lab.settings, "simulated"), 10, "the end of the process")
    with Simulated(lab, 2, prefix="orphan-") as fleet:
        assert len(find(lab.settings, "simulated")) == 1
        assert lab.kubectl("get", "--raw", f"/api/v1/nodes/{fleet.names[1]}/proxy/healthz") == "ok"
    assert not find(lab.settings, "simulated")
    assert "orphan-" not in lab.kubectl("get", "nodes,leases", "-A")
