# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.upgrade import upgrade_check
from tests.support.upgrading import result


def test_the_result_for_programs_and_for_people() -> None:
    hosts = {
        "n1": result("v1.34.1", "--pod-infra-container-image=pause:3.10"),
        "n2": result("v1.34.1"),
        "n3": {"unreachable": True, "msg": "no route"},
    }
    found = upgrade_check.compare({"hosts": hosts, "target_version": "v1.35.0"}, False)
    assert found["summary"] == {
        "target": "1.35",
        "nodes": 3,
        "would_stop": ["n1"],
        "unknown": ["n3"],
        "changed": [],
        "ready": False,
    }
    assert found["nodes"]["n2"] == {"kubelet_version": "v1.34.1", "findings": []}
    assert found["text"][-1] == "upgrade to 1.35: 3 nodes, 1 would stop, 1 unknown, 0 would change"
    assert not found["changed"]


def test_a_version_that_is_none() -> None:
    with pytest.raises(ClusterError, match=r"kubelet_config_target_version is 1\.3,"):
        upgrade_check.compare({"hosts": {}, "target_version": "1.3"}, False)
