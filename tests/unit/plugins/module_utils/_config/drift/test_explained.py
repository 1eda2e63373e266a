# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift import explained

FILE, EARLY, LATE = "/var/lib/kubelet/config.yaml", "/d/10-a.conf", "/d/99-z.conf"
HEADER = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}


def _facts(base: Any, *, early: Any = None, late: Any = None, **flags: str) -> dict[str, Any]:
    rows = [{"path": FILE, "content": base}]
    rows += [{"path": EARLY, "content": {**HEADER, **early}}] if early is not None else []
    rows += [{"path": LATE, "content": {**HEADER, **late}}] if late is not None else []
    uses = {path: {"flag": flag, "file": None, "line": None} for path, flag in flags.items()}
    return {"own": rows, "kubelet": {"local_config": FILE, "shadowed": uses}}


MERGES = {"mergeDefaultEvictionSettings": True, "evictionHard": {"memory.available": "1Gi"}}


@pytest.mark.parametrize(
    ("facts", "declared", "path", "live", "words"),
    [
        (_facts({"maxPods": 70}), {}, "maxPods", 70, f"{FILE} changed"),
        (_facts({"maxPods": 70}), {}, "maxPods", 71, ""),
        (_facts({}), {}, "maxPods", 110, "leaves it to the kubelet's default"),
        (_facts({}), {}, "maxPods", 70, ""),
        (_facts({"maxPods": 70}, early={"maxPods": 71}), {}, "maxPods", 71, f"{EARLY} changed"),
        (_facts({"maxPods": 70}, late={"maxPods": 72}), {}, "maxPods", 72, f"{LATE} changed"),
        (_facts({"maxPods": 70}, late={"maxPods": 72}), {}, "maxPods", 70, ""),
        (_facts({"clusterDNS": ["10.0.0.1"]}), {}, "clusterDNS", ["10.0.0.1"], f"{FILE} changed"),
        (_facts({}), {}, "clusterDNS", None, "leaves it"),
        (_facts({}), {}, "clusterDNS", ["10.0.0.1"], ""),
        (_facts({}, maxPods="--max-pods=61"), {}, "maxPods", 61, "the flag --max-pods=61"),
        # One key of a map, and a key that the file no longer has.
        (_facts({"evictionHard": {"memory.available": "1Gi"}}), {}, 'evictionHard["memory.available"]', "1Gi", FILE),
        (_facts({"evictionHard": {"memory.available": "1Gi"}}), {}, 'evictionHard["nodefs.available"]', None, FILE),
        (_facts({"evictionHard": {"memory.available": "1Gi"}}), {}, 'evictionHard["nodefs.available"]', "1%", ""),
        # A drop-in removes a threshold that was merged into the file before.
        (
            _facts(MERGES, early={"evictionHard": {"nodefs.available": None}}),
            {},
            'evictionHard["nodefs.available"]',
            None,
            EARLY,
        ),
        # A default that follows another field is filled in before the drop-ins are laid over the file.
        (_facts({"nodeStatusUpdateFrequency": "20s"}), {}, "nodeStatusReportFrequency", "20s", "default"),
        (_facts({}), {"nodeStatusUpdateFrequency": "20s"}, "nodeStatusReportFrequency", "20s", ""),
        # What the kubelet computes.
        (_facts({}), {"reservedSystemCPUs": "0"}, "systemReserved.cpu", "1", "sets it itself"),
        (_facts({"cgroupDriver": "cgroupfs"}), {}, "cgroupDriver", "systemd", "sets it itself"),
        (_facts({}), {}, "tlsCertFile", "/var/lib/kubelet/pki/kubelet.crt", "sets it itself"),
        (_facts({}), {}, "notAField", "x", "default there is not known"),
        # A hidden secret, and a file that cannot be read.
        (_facts({"staticPodURLHeader": {"a": ["********"]}}), {}, "staticPodURLHeader.a", ["x"], "has a secret there"),
        (_facts(None), {}, "maxPods", 7, "is not known"),
        ({**_facts({"maxPods": 7}), "kubelet": []}, {}, "maxPods", 7, "is not known"),
        (_facts(["maxPods"]), {}, "maxPods", 7, "is not known"),
        ({}, {}, "maxPods", 7, "is not known"),
    ],
)
def test_what_explains_a_change(facts: Any, declared: Any, path: str, live: Any, words: str) -> None:
    (found,) = explained.Inspected(facts).causes({path: live}, declared, 36).values()
    assert words in found and bool(found) == bool(words), found


@pytest.mark.parametrize(
    ("facts", "source", "path", "wins"),
    [
        (_facts({}, maxPods="--max-pods=61"), {"maxPods": 70}, "maxPods", True),
        (_facts({}, early={"maxPods": 61}), {"maxPods": 70}, "maxPods", True),
        (_facts({}, early={"kubeAPIQPS": 61}), {"maxPods": 70}, "maxPods", False),
        (_facts({}), {"maxPods": 70}, "maxPods", False),
        (_facts({}, early={}), {"enforceNodeAllocatable": []}, "enforceNodeAllocatable", True),
        (_facts({}), {"enforceNodeAllocatable": []}, "enforceNodeAllocatable", False),
        (_facts({}), {"cgroupDriver": "cgroupfs"}, "cgroupDriver", True),
        (_facts({}), {"reservedSystemCPUs": "0", "kubeReserved": {"cpu": "1"}}, "kubeReserved.cpu", True),
        (_facts({}), {"kubeReserved": {"cpu": "1"}}, "kubeReserved.cpu", False),
    ],
)
def test_what_wins_over_a_whole_configuration(facts: Any, source: Any, path: str, wins: bool) -> None:
    assert explained.Inspected(facts).overrides(path, source, 29) == wins
