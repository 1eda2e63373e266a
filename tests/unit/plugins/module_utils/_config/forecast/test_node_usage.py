# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast.node_usage import Pod


@pytest.mark.parametrize(
    ("priority", "static", "critical"),
    [(0, False, False), (0, True, True), (1_999_999_999, False, False), (2_000_000_000, False, True)],
)
def test_static_and_system_critical_pods_are_critical(priority: int, static: bool, critical: bool) -> None:
    pod = Pod("kube-system", "p", priority=priority, static=static)
    assert (pod.critical, pod.key) == (critical, ("kube-system", "p"))
