# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the guard can ask the API server for its Node, tried by its request; and which Node the host belongs to."""

from __future__ import annotations

from typing import Sequence

from ..report import status_reporter
from ..system.health import flag
from ..system.kubeconfig import ApiError

TIMEOUT = 5.0
NOT_FOUND = 404


def elsewhere(argv: Sequence[str], node: str) -> str:
    """Return why this is not the host of a node; empty if it is, or if that is not known.

    The inventory may have the address from the status of the Node, which the node writes itself.
    """
    try:
        found = status_reporter.api_of(argv, TIMEOUT).certified_name()
    except (status_reporter.NoCluster, ApiError):
        return ""
    if found in ("", node):
        return ""
    return (
        f"this is the host of the node {found}, as the certificate of its kubelet shows. Correct ansible_host, or "
        "kubelet_config_node_name"
    )


def failure(argv: Sequence[str]) -> str:
    """Return why the guard of a kubelet with this command line would get no answer.

    Returns an empty text if it gets one, and for a kubelet without a cluster.
    """
    try:
        api = status_reporter.api_of(argv, TIMEOUT)
        node = api.node_name(flag(argv, "hostname-override") or "")
        api.call("GET", f"/api/v1/nodes/{node}")
    except status_reporter.NoCluster:
        return ""
    except ApiError as error:
        hint = ". Its name comes from --hostname-override or the host" if error.status == NOT_FOUND else ""
        return f"{' '.join(str(error).split())[:200]}{hint}"
    return ""
