# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dynamic Kubelet Configuration as kubelets 1.8 to 1.10 have it: spec.configSource.configMapRef, with uid."""

from __future__ import annotations

from typing import Any, Mapping

MINORS = range(8, 11)
"""The minors with configMapRef (kubernetes PR 46254 added it, PR 63221 replaced it by configMap in 1.11)."""
BY_PATH = 10
"""The minor whose condition names a ConfigMap by its path alone, so that one of the same name seems to be it."""
KEY = "kubelet"
"""The only key that these kubelets read."""
FLAGS = "--feature-gates=DynamicKubeletConfig=true and --dynamic-config-dir=DIR"
"""What these kubelets need; the gate is off by default."""
ASSIGNED, LATER_ASSIGNED = "checkpoints/.cur", "store/meta/assigned"
"""The file below --dynamic-config-dir with the source of these kubelets, and with that of later ones (PR 59692)."""
_PARTS = ("namespace", "name", "uid")


def is_alpha(minor: int) -> bool:
    """Return whether a kubelet of this minor has the first form of the feature; not for an unknown minor (0)."""
    return minor in MINORS


def holder(config_source: Any) -> Any:
    """Return a spec.configSource of these kubelets in the later shape, `{"configMap": {...}}`.

    What is malformed stays so, and the reader of the later shape names it. One that names nothing is malformed as well:
    these kubelets then neither follow it nor return to their local configuration.
    """
    if not isinstance(config_source, Mapping):
        return config_source
    found = config_source.get("configMapRef", {})
    if not isinstance(found, Mapping):
        return {"configMap": {} if found is None else found}
    return {"configMap": {**{part: found[part] for part in _PARTS if part in found}, "kubeletConfigKey": KEY}}


def config_source(source: Mapping[str, str]) -> dict[str, Any]:
    """Return the spec.configSource for a source; these kubelets demand all three of its parts."""
    return {"configMapRef": {part: source[part] for part in _PARTS if part in source}}


def without_revision(source: Mapping[str, str]) -> dict[str, str]:
    """Return a reference as these kubelets know it: they follow the uid, not the revision."""
    return {part: text for part, text in source.items() if part != "resourceVersion"}
