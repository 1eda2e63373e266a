# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks


@pytest.mark.parametrize(
    ("path", "before", "after", "count"),
    [
        ("authentication.x509.clientCAFile", None, "/ca.crt", 1),
        ("authentication.x509.clientCAFile", "/ca.crt", None, 0),
        ("cgroupDriver", "cgroupfs", "systemd", 1),
        ("serverTLSBootstrap", False, True, 1),
        ("serverTLSBootstrap", True, False, 0),
        ("memorySwap.swapBehavior", "", "LimitedSwap", 1),
        ("memorySwap.swapBehavior", "", "NoSwap", 0),
        ("failSwapOn", False, True, 1),
        ("failSwapOn", True, False, 0),
        ("maxPods", 1, 2, 0),
        ("resolvConf", "/a", "/b", 1),
        ("resolvConf", "/a", "", 0),
        ("protectKernelDefaults", None, True, 1),
    ],
)
def test_only_changes_that_the_host_must_bear(path: str, before: object, after: object, count: int) -> None:
    found = list(checks.warnings([compare.Change(path, before, after, True)]))
    assert [(problem.severity, problem.path, problem.rule) for problem in found] == [("warning", path, "host")] * count


def test_paths_into_a_checkpoint() -> None:
    inside = "/var/lib/kubelet-dynamic/store/checkpoints/147d55bf-dddc/274/ca.crt"
    [problem] = checks.checkpoint_paths(
        [("authentication.x509.clientCAFile", inside), ("resolvConf", "/etc/resolv.conf"), ("providerID", inside)]
    )
    assert (problem.path, problem.rule) == ("authentication.x509.clientCAFile", "checkpoint-path")
    assert inside in problem.message
