# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Telling the API server what the guard did, as the kubelet. A process of its own: TLS and HTTP are large, and the guard that waits is to be small."""
from __future__ import annotations

import os
from typing import Callable

from . import report
from .health import flag
from .kubeconfig import ApiError, Kubeconfig
from .record import Records


class NoCluster(Exception):
    """The kubelet runs without --kubeconfig: there is no API server to tell."""


def tell(records: Records, open_api: Callable[[], Kubeconfig], override: str = "") -> str:
    """Tell what is yet to be told; return why it could not be, empty when nothing is left."""
    pending = records.report()
    if pending is None:
        return ""
    try:
        api = open_api()
        node = api.node_name(override)
        if not pending.annotated:
            annotation = {"metadata": {"annotations": {report.ANNOTATION: report.text(pending.status)}}}
            api.call("PATCH", f"/api/v1/nodes/{node}", annotation, report.MERGE_PATCH)
            pending = pending._replace(annotated=True)
            records.tell(pending)
        if pending.message:
            _raise_event(api, report.event(node, pending))
    except NoCluster:
        records.forget(pending)
        return ""
    except ApiError as error:
        return str(error)
    records.forget(pending)
    return ""


def _raise_event(api: Kubeconfig, event: dict[str, object]) -> None:
    try:
        api.call("POST", "/api/v1/namespaces/default/events", event)
    except ApiError as error:
        # 409: told already, and the answer was lost.
        if error.status != 409:
            raise


def kubeconfig_of(words: list[str], root: str = "/") -> str:
    """Return the kubeconfig a kubelet's command line names, made absolute. Raises NoCluster when it names none."""
    path = flag(words, "kubeconfig")
    if not path:
        raise NoCluster
    return os.path.join(root, path.lstrip("/"))
