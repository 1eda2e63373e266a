# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The live configuration of a kubelet, through the API server's proxy or from its port."""

from __future__ import annotations

import typing as t
import urllib.parse

from ..._config.kubelets import source_form
from ..._config.values import document
from ..api import kubelet_endpoint
from ..api.errors import ApiError
from ..api.session import Session

# Seconds for which a GET is repeated while a kubelet restarts. A node that stays unreachable must not delay the others.
PATIENCE = 8.0


def read(session: Session, node: str, minor: int = 0) -> dict[str, t.Any]:
    """Return the live configuration of the kubelet of `node`, as /configz shows it (one GET).

    If it is not found, and the API servers of its time (`minor`, 0: unknown) serve it at another path, a second GET
    tries that. Raises ApiError, whose message names the missing permission or the fault of the node.
    """
    form, permission = source_form(minor), "get on nodes/proxy"
    try:
        try:
            answer = kubelet_endpoint.read(session, node, "configz", PATIENCE)
        except ApiError as error:
            if error.status != 404 or not form.old_proxy or session.kubelets:
                raise
            permission = form.old_proxy_permission
            proxy = form.old_proxy.format(urllib.parse.quote(node))
            answer = session.request("GET", f"{proxy}/configz", budget=PATIENCE)
    except ApiError as error:
        if session.kubelets and error.status != 404:
            raise
        raise ApiError(error.status, _explain(error, permission), error.reason, transient=error.transient) from error
    config = answer.get("kubeletconfig") if isinstance(answer, dict) else None
    if not isinstance(config, dict):
        raise ApiError(200, "its /configz has no kubeletconfig; is this a kubelet?")
    try:
        return document.accept(config, "kubeletconfig")
    except document.DocumentError as error:
        cause = str(error).partition(". ")[0]
        raise ApiError(200, f"its /configz is malformed ({cause}); is this a kubelet?") from error


def _explain(error: ApiError, permission: str) -> str:
    if error.status == 403:
        return f"reading /configz was refused ({error.message}); grant the verb {permission}"
    if error.status == 404:
        return f"its kubelet serves no /configz ({error.message}); it needs enableServer and enableDebuggingHandlers"
    if error.transient and error.status:
        return (
            f"its kubelet does not answer the API server ({error.message}); see `systemctl status kubelet` on the node"
        )
    return error.message
