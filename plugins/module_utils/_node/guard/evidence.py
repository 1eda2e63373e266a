# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which ends of a kubelet are evidence against its configuration.

A kubelet that refuses its configuration logs the reason last (last_words.py). A kubelet also ends while its container
runtime does not answer (pkg/kubelet/kuberuntime/kuberuntime_manager.go, NewKubeGenericRuntimeManager), and its healthz
may fail during a longer outage (pkg/kubelet/kubelet.go, syncLoopHealthCheck). Neither is evidence. Nor is the end of a
kubelet that gets no certificate (pkg/kubelet/certificate/bootstrap/bootstrap.go, LoadClientCert).
"""

from __future__ import annotations

from ..system import last_words

# After a boot, disks, network and runtime become ready one after the other.
BOOT_GRACE_SECONDS = 120.0
# A kubelet that was healthy this long without interruption has recovered from what ended it before.
RECOVERY_SECONDS = 300.0
# A container runtime that has just opened its socket still loads its plugins.
RUNTIME_GRACE_SECONDS = 60.0

BOOTED = "the node has just booted"
_ALWAYS = (last_words.VALIDATION, last_words.FLAG, last_words.GATE)


def refused(kind: str, booting: bool) -> bool:
    """Return whether last words of this kind show that the kubelet refused its configuration: one end is enough.

    A file that is missing just after a boot may be on a disk that is not mounted yet.
    """
    return kind in _ALWAYS or (kind == last_words.FILE and not booting)


def excuse(kind: str, runtime: str, booting: bool) -> str:
    """Return why an end of the kubelet or a failing healthz is not evidence; empty if it is evidence.

    `kind`: of the last words of the kubelet that ended, empty if unknown. `runtime`: why the container runtime does not
    answer, empty if it does. `booting`: whether the node booted less than the grace time ago.
    """
    if refused(kind, booting):
        return ""
    # Before any contact with the runtime.
    if kind == last_words.JOINING:
        return "the API server gave the kubelet no certificate"
    if runtime:
        return f"the container runtime is away: {runtime}"
    if kind == last_words.RUNTIME:
        return "the container runtime did not answer the kubelet"
    return BOOTED if booting else ""
