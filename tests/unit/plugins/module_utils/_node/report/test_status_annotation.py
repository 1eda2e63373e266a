# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_annotation

SOURCE = {"namespace": "kube-system", "name": "c", "uid": "u1", "resourceVersion": "7", "kubeletConfigKey": "kubelet"}
STATUS = status_annotation.status(SOURCE, None, None, "it ended", "reverted", 0)
PENDING = status_annotation.Report(
    STATUS, "Kubelet restarting to use local config: it ended", True, 1.5, status_annotation.suffix(1.5)
)


def test_status_has_the_shape_of_the_api() -> None:
    assert STATUS == {
        "assigned": {"configMap": SOURCE},
        "error": "it ended",
        "reason": "reverted",
        "time": "1970-01-01T00:00:00Z",
    }


def test_the_event_is_the_kubelets() -> None:
    assert status_annotation.restarting(SOURCE) == (
        "Kubelet restarting to use /api/v1/namespaces/kube-system/configmaps/c, UID: u1, ResourceVersion: 7, "
        "KubeletConfigKey: kubelet"
    )
    event = status_annotation.event("n1", PENDING)
    assert (
        event["metadata"] == {"name": "n1.59682f00", "namespace": "default"}
        and event["reason"] == "KubeletConfigChanged"
        and event["type"] == "Warning"
    )
    assert event["involvedObject"] == {"kind": "Node", "name": "n1", "uid": "n1"} and event["source"] == {
        "component": "kubelet",
        "host": "n1",
    }
