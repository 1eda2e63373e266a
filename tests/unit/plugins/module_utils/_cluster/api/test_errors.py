# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages about nodes."""

from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import (
    ApiError,
    ClusterError,
    NodesFailed,
)


def test_nodes_failed_names_every_node() -> None:
    error = NodesFailed("assigning", {"n1": "why one", "n2": "why two"}, {"nodes": {}})
    assert str(error) == error.message == "assigning: 2 nodes failed.\nn1: why one\nn2: why two"
    assert (error.failures, error.result) == ({"n1": "why one", "n2": "why two"}, {"nodes": {}})
    assert NodesFailed("assigning", {"n1": "why"}).message.startswith("assigning: 1 node failed.")


def test_results_are_not_shared() -> None:
    ClusterError("one").result["key"] = 1
    assert ClusterError("two").result == {}
    assert ApiError(404, "gone").result == {}
