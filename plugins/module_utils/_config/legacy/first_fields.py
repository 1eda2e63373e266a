# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The fields of kubeletconfig/v1alpha1 that are not those of v1beta1, for kubelets 1.8 and 1.9; and the fields that
v1beta1 has got before 1.12, with which the table of all fields begins.

Source: pkg/kubelet/apis/kubeletconfig/v1alpha1/types.go of 1.9. In 1.8, maps of thresholds and gates are texts
(CHANGELOG-1.9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..values.forms import FieldForm

API_VERSION = "kubeletconfig/v1alpha1"
"""The apiVersion of kubelets 1.8 and 1.9, which know no other (pkg/kubelet/apis/kubeletconfig of these minors)."""
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
RENAMED = {"staticPodPath": "podManifestPath", "staticPodURL": "manifestURL", "staticPodURLHeader": "manifestURLHeader"}
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


@dataclass(frozen=True)
class BeforeTables(FieldForm):
    """The fields of a v1beta1 that has not got all fields with which the tables begin."""

    minor: int = 10

    def judge(self, name: str, value: Any) -> tuple[str, str] | None:
        """Return what is wrong with a field of the first level, and the remedy; both empty if it is right.

        None: the tables decide.
        """
        if value is not None and self.minor < LATER.get(name, 0):
            return (
                f"the field exists from 1.{LATER[name]} on; this kubelet is 1.{self.minor} and would ignore it "
                "silently",
                "Remove it for this node, or upgrade the node first.",
            )
        return None


@dataclass(frozen=True)
class FirstFields(BeforeTables):
    """The fields of kubelets 1.8 and 1.9, whose /configz omits nothing that matters."""

    api_version: str = API_VERSION
    omits_empties: bool = False
    minor: int = 9
    has_texts: bool = False
    """Whether maps are texts."""

    def judge(self, name: str, value: Any) -> tuple[str, str] | None:
        """Return what is wrong with a field of the first level, and the remedy, as in the base class."""
        if name in RENAMED:
            return (
                f"kubelets 1.8 and 1.9 have this field as {RENAMED[name]}",
                f"Write it as {RENAMED[name]} for this node.",
            )
        if name in FORMER:
            return "", ""
        if self.has_texts and name in TEXTS and value is not None:
            return _judge_text(name, value)
        return super().judge(name, value)


def _judge_text(name: str, value: Any) -> tuple[str, str]:
    if isinstance(value, str):
        return "", ""
    return (
        "kubelet 1.8 expects a text here and could not load the configuration",
        f'Write a text such as "{TEXTS[name]}".',
    )


FORMS: dict[int, FieldForm] = {8: FirstFields(minor=8, has_texts=True), 9: FirstFields(), 10: BeforeTables()}
"""By the minor of the kubelet."""
