# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of kubeletconfig/v1alpha1 that are not those of v1beta1, for kubelets 1.8 and 1.9.

Source: pkg/kubelet/apis/kubeletconfig/v1alpha1/types.go of 1.9. In 1.8, maps of thresholds and gates are texts
(CHANGELOG-1.9).
"""

from __future__ import annotations

from typing import Any

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


def judge(name: str, value: Any, minor: int) -> tuple[str, str] | None:
    """Return what is wrong with a field of the first level on kubelets 1.8 and 1.9, and the remedy.

    Two empty texts if nothing is, although the later fields do not apply; None if the later fields apply.
    """
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
