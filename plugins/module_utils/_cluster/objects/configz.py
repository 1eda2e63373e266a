# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The live configuration of a kubelet, through the API server's proxy or from its port."""

from __future__ import annotations

import typing as t
import urllib.parse

from ..._config.values import document
from ..api import kubelet_endpoint
from ..api.errors import ApiError
from ..api.session import Session

# Seconds for which a GET is repeated while a kubelet restarts. A node that stays unreachable must not delay the others.
PATIENCE = 8.0
# The last minor whose API server also serves the path /api/v1/proxy (kubernetes PR 59884 removed it).
LAST_OLD_PROXY = 9


def read(session: Session, node: str, minor: int = 0) -> dict[str, t.Any]:
    """Return the live configuration of the kubelet of `node`, as /configz shows it (one GET).

    If it is a 1.8 or 1.9 (`minor`, 0: unknown) and not found, a second GET tries the path of the time, which API
    servers up to 1.9 serve. Raises ApiError, whose message names the missing permission or the fault of the node.
    """
    name = urllib.parse.quote(node)
    try:
        try:
            answer = kubelet_endpoint.read(session, node, "configz", PATIENCE)
        except ApiError as error:
            if error.status != 404 or not 0 < minor <= LAST_OLD_PROXY or session.kubelets:
                raise
            answer = session.request("GET", f"/api/v1/proxy/nodes/{name}/configz", budget=PATIENCE)
    except ApiError as error:
        if session.kubelets and error.status != 404:
            raise
        raise ApiError(error.status, _explain(error), error.reason, transient=error.transient) from error
    config = answer.get("kubeletconfig") if isinstance(answer, dict) else None
    if not isinstance(config, dict):
        raise ApiError(200, "its /configz has no kubeletconfig; is this a kubelet?")
    if not document.is_plain(config):
        raise ApiError(
            200,
            "its /configz has a value that no configuration can have: a number that is not finite, text that is no "
            "Unicode, or too many levels. Is this a kubelet?",
        )
    return config


def _explain(error: ApiError) -> str:
    if error.status == 403:
        return f"reading /configz was refused ({error.message}); grant the verb get on nodes/proxy"
    if error.status == 404:
        return f"its kubelet serves no /configz ({error.message}); it needs enableServer and enableDebuggingHandlers"
    if error.transient and error.status:
        return (
            f"its kubelet does not answer the API server ({error.message}); see `systemctl status kubelet` on the node"
        )
    return error.message
