# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure an assignment to 1,000 nodes against the minimum: a loop of merge patches over one persistent connection.

    PYTHONPATH=<folder with ansible_collections>:. python -m tests.benchmarks.bench_assign [--nodes 1000]

Both run twice, alternating, in one run against the lab's real API server. The limit applies to the ratio of the best
times, because the speed of the machine varies. Peak memory is that of the whole module process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from tests.lab.lab import Lab

HEADER = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
LIMIT_RATIO = 2.0
LIMIT_MEMORY = 150.0

# The module as Ansible runs it: a Python process that imports, connects, makes one call and ends.
MODULE = """
import json, resource, sys, time
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verify
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
options = json.load(sys.stdin)
started = time.perf_counter()
session = Session(options["auth"])
result = verify.config_source(session, options["options"], False)
seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "changed": result["summary"]["changed"], "sent": session.sent,
                  "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def bare_loop(lab: Lab, names: list[str], source: dict[str, str]) -> float:
    """Return the seconds for one merge patch per node over one persistent connection, with the answers decoded."""
    api = lab.apiserver.api()
    started = time.perf_counter()
    for name in names:
        body = {"spec": {"configSource": {"configMap": source}}}
        api.call("PATCH", f"/api/v1/nodes/{name}", body, "application/merge-patch+json")
    return time.perf_counter() - started


def module(lab: Lab, names: list[str], source: dict[str, str]) -> dict[str, float]:
    """Return time and memory of the module, which also lists, checks the ConfigMap, refuses nodes and reads back."""
    options = {"state": "present", "nodes": names, "source": source, "sources": None}
    options |= {"delivery": "auto", "check_source": True, "wait": False}
    done = subprocess.run(
        [sys.executable, "-c", MODULE],
        input=json.dumps({"auth": {"kubeconfig": str(lab.kubeconfig)}, "options": options}),
        text=True,
        capture_output=True,
        check=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    return t.cast("dict[str, float]", json.loads(done.stdout))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1000)
    count = parser.parse_args().nodes
    lab = Lab.up(nodes=3)
    names = lab.add_node_objects(count, "bench-")
    best = {"module": float("inf"), "loop": float("inf")}
    memory = 0.0
    try:
        sources = []
        for kind in "abcd":
            place = {"namespace": "kube-system", "name": f"bench-{kind}"}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": place, "data": {"kubelet": json.dumps(HEADER)}}
            lab.kubectl("apply", "-f", "-", stdin=json.dumps(body))
            sources.append({**place, "kubeletConfigKey": "kubelet"})
        for turn in range(2):
            best["loop"] = min(best["loop"], bare_loop(lab, names, sources[2 * turn]))
            measured = module(lab, names, sources[2 * turn + 1])
            if measured["changed"] != count:
                raise AssertionError(f"{measured['changed']} of {count} nodes were changed")
            best["module"], memory = min(best["module"], measured["seconds"]), max(memory, measured["memory"])
            print(
                f"turn {turn + 1}: best bare loop {best['loop']:.2f} s, module {measured['seconds']:.2f} s, "
                f"{measured['sent']} requests, {measured['memory']:.0f} MB",
                flush=True,
            )
    finally:
        lab.remove_node_objects("bench-")
        for kind in "abcd":
            lab.kubectl("delete", "configmap", "-n", "kube-system", f"bench-{kind}", "--ignore-not-found")
    ratio = best["module"] / best["loop"]
    print(
        f"assign {count} nodes: {ratio:.2f} times the bare loop (at most {LIMIT_RATIO}), "
        f"peak memory {memory:.0f} MB (at most {LIMIT_MEMORY:.0f})"
    )
    return 0 if ratio <= LIMIT_RATIO and memory < LIMIT_MEMORY else 1


if __name__ == "__main__":
    sys.exit(main())
