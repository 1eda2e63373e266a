# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's own configuration file as the tools that make nodes write it: the same fields, another notation."""

from __future__ import annotations

import re
import typing as t

import yaml

Fields = dict[str, t.Any]


def kubeadm(fields: Fields) -> str:
    """Block style, as the package sigs.k8s.io/yaml writes."""
    return str(yaml.safe_dump(fields))


def kubespray(fields: Fields) -> str:
    """Block style, Python's spelling of true and false, comments (kubernetes-sigs/kubespray, roles/kubernetes/node)."""
    text = re.sub(r"(?m): (true|false)$", lambda found: f": {found.group(1).capitalize()}", yaml.safe_dump(fields))
    return f"---\n# Ansible managed\n{text}"


def deckhouse(fields: Fields) -> str:
    """Flow style below the outermost level (deckhouse/deckhouse, candi/bashible)."""
    rows = [f"{name}: {_flow(value)}" for name, value in fields.items()]
    return "\n".join([*rows, ""])


def _flow(value: t.Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=10**6)
    return str(text.removesuffix("...\n").strip())


WRITERS: dict[str, t.Callable[[Fields], str]] = {"kubeadm": kubeadm, "Kubespray": kubespray, "Deckhouse": deckhouse}
