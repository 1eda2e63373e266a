# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a drain does with each pod."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import evict


@pytest.mark.parametrize(
    ("fields", "options", "action", "reason"),
    [
        pytest.param({}, (), "evict", "", id="of a controller"),
        pytest.param({"owner": ""}, (), "refuse", "(force evicts it", id="without owner"),
        pytest.param({"owner": ""}, ("force",), "evict", "", id="without owner, forced"),
        pytest.param({"emptydir": True}, (), "refuse", "(delete_emptydir_data accepts", id="with data"),
        pytest.param({"emptydir": True}, ("force",), "refuse", "(delete_emptydir_data accepts", id="with data, forced"),
        pytest.param({"emptydir": True}, ("delete_emptydir_data",), "evict", "", id="with data, accepted"),
        pytest.param(
            {"owner": "", "emptydir": True},
            (),
            "refuse",
            "elsewhere (force evicts it anyway) and has an emptyDir",
            id="both",
        ),
        pytest.param({"owner": "", "emptydir": True, "phase": "Succeeded"}, (), "evict", "", id="finished"),
        pytest.param({"owner": "", "emptydir": True, "phase": "Failed"}, (), "evict", "", id="failed"),
        pytest.param({"owner": "", "emptydir": True, "reason": "Terminating"}, (), "wait", "", id="going"),
        pytest.param({"owner": "DaemonSet/proxy"}, ("force",), "skip", "of DaemonSet/proxy", id="of a daemon set"),
        pytest.param(
            {"owner": "DaemonSet/proxy", "reason": "Terminating"},
            (),
            "skip",
            "of DaemonSet/proxy",
            id="of a daemon set, going",
        ),
        pytest.param({"owner": "DaemonSet/proxy", "phase": "Failed"}, (), "evict", "", id="of a daemon set, failed"),
        pytest.param(
            {"owner": "Node/n1", "static": True, "emptydir": True}, ("force",), "skip", "static pod", id="static"
        ),
        pytest.param(
            {"owner": "Node/n1", "static": True, "phase": "Failed"},
            ("force",),
            "skip",
            "static pod",
            id="static, failed",
        ),
    ],
)
def test_choose(fields: dict[str, t.Any], options: tuple[str, ...], action: str, reason: str) -> None:
    pod = {"phase": "Running", "reason": "", "owner": "ReplicaSet/a", "static": False, "emptydir": False, **fields}
    found = evict.choose(pod, "force" in options, "delete_emptydir_data" in options)
    assert (found.action, reason in found.reason) == (action, True)
