# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of kubeletconfig/v1alpha1 that are not those of v1beta1, for kubelets 1.8 and 1.9; and the fields that
v1beta1 has got before 1.12, with which the table of all fields begins.

Source: pkg/kubelet/apis/kubeletconfig/v1alpha1/types.go of 1.9. In 1.8, maps of thresholds and gates are texts
(CHANGELOG-1.9).
"""

from __future__ import annotations

from typing import Any

from . import form

MINORS = (8, 9)
FORMER = (
    "configTrialDuration",
    "podManifestPath",
    "manifestURL",
    "manifestURLHeader",
    "seccompProfileRoot",
    "allowPrivileged",
    "hostNetworkSources",
    "hostPIDSources",
    "hostIPCSources",
    "cAdvisorPort",
)
"""The fields that v1beta1 does not have, or has under another name."""
RENAMED = {
    "staticPodPath": "podManifestPath",
    "staticPodURL": "manifestURL",
    "staticPodURLHeader": "manifestURLHeader",
}
"""Their names by those of v1beta1."""
TEXTS = {
    "evictionHard": "memory.available<100Mi,nodefs.available<10%",
    "evictionSoft": "memory.available<300Mi",
    "evictionSoftGracePeriod": "memory.available=30s",
    "evictionMinimumReclaim": "imagefs.available=2Gi",
    "featureGates": "DynamicKubeletConfig=true",
}
"""The fields that are texts in 1.8, with an example."""


LATER = {
    "containerLogMaxFiles": 10,
    "containerLogMaxSize": 10,
    "podPidsLimit": 10,
    "qosReserved": 11,
    "serverTLSBootstrap": 11,
    "configMapAndSecretChangeDetectionStrategy": 12,
    "cpuCFSQuotaPeriod": 12,
    "nodeLeaseDurationSeconds": 12,
}
"""The first minor of the fields that 1.12 has and 1.8 has not (kubernetes PRs 59898, 57973, 62509, 62352, 64752, 63437
and 66257)."""


def judge(name: str, value: Any, minor: int) -> tuple[str, str] | None:
    """Return what is wrong with a field of the first level on kubelets 1.8 to 1.10, and the remedy.

    Two empty texts if nothing is, although the later fields do not apply; None if the later fields apply.
    """
    if value is not None and form.is_alpha(minor) and minor < LATER.get(name, 0):
        return (
            f"the field exists from 1.{LATER[name]} on; this kubelet is 1.{minor} and would ignore it silently",
            "Remove it for this node, or upgrade the node first.",
        )
    if minor not in MINORS:
        return None
    if name in RENAMED:
        return f"kubelets 1.8 and 1.9 have this field as {RENAMED[name]}", f"Write it as {RENAMED[name]} for this node."
    if name in FORMER:
        return "", ""
    if minor == MINORS[0] and name in TEXTS and value is not None:
        if isinstance(value, str):
            return "", ""
        return (
            "kubelet 1.8 expects a text here and could not load the configuration",
            f'Write a text such as "{TEXTS[name]}".',
        )
    return None
