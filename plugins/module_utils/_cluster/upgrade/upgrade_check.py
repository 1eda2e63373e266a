# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of an upgrade. It sends no requests."""

from __future__ import annotations

import typing as t

from ..._config.upgrade import upgrade
from ..api.errors import ClusterError
from . import binary_here


def compare(options: dict[str, t.Any], _check_mode: bool) -> dict[str, t.Any]:
    """Return what an upgrade would do to each node. Raises ClusterError for a version that is none."""
    try:
        target = upgrade.target_minor(options["target_version"])
    except upgrade.UpgradeError as error:
        raise ClusterError(str(error)) from error
    hosts, program = options["hosts"], options.get("target_binary")
    if program:
        hosts = binary_here.answered(hosts, program, target)
    nodes = {name: upgrade.row(result, target) for name, result in hosts.items()}
    return {
        "changed": False,
        "nodes": nodes,
        "summary": upgrade.summary(nodes, target),
        "text": upgrade.lines(nodes, target),
    }
