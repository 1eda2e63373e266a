# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status as the metrics that kubelets 1.11 to 1.23 served about it, with their names and labels.

The text is in the format of Prometheus that the textfile collector of node_exporter reads.
"""

from __future__ import annotations

from typing import Any, Mapping

PREFIX = "kubelet_node_config"
LOCAL = "local"
"""`node_config_source` of the local configuration. Its other labels are empty."""
_PARTS = (
    ("assigned", "assigned", "What the kubelet should run, in the labels. Always 1."),
    ("active", "active", "What the kubelet runs, in the labels. Always 1."),
    ("lastKnownGood", "last_known_good", "What a revert of the kubelet leads to, in the labels. Always 1."),
)
_ERROR = "1 if the kubelet does not run what is assigned, or fails with it, or the store has damage, else 0."


def text(status: Mapping[str, Any]) -> str:
    """Return the metrics of a status in the shape of `Node.status.config`, such as the annotation's object."""
    lines: list[str] = []
    for part, name, meaning in _PARTS:
        labels = _labels((status.get(part) or {}).get("configMap"))
        shown = ",".join(f'{label}="{escaped(labels[label])}"' for label in sorted(labels))
        lines += _gauge(f"{PREFIX}_{name}", meaning, f"{{{shown}}}", 1)
    lines += _gauge(f"{PREFIX}_error", _ERROR, "", 1 if status.get("error") else 0)
    return "".join(f"{line}\n" for line in lines)


def escaped(value: str) -> str:
    """Return a label's value as it stands between the quotation marks."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _labels(source: Mapping[str, str] | None) -> dict[str, str]:
    known = source or {}
    path = f"/api/v1/namespaces/{known.get('namespace', '')}/configmaps/{known.get('name', '')}"
    return {
        "node_config_source": path if source else LOCAL,
        "node_config_uid": known.get("uid", ""),
        "node_config_resource_version": known.get("resourceVersion", ""),
        "node_config_kubelet_key": known.get("kubeletConfigKey", ""),
    }


def _gauge(name: str, meaning: str, labels: str, value: int) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} gauge", f"{name}{labels} {value}"]
