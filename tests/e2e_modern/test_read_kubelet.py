# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading straight from real kubelets: nodes/configz is enough from 1.33 on, and the certificate is verified."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import kubelets
from tests.contract.test_permissions import USER, allowing
from tests.lab.lab import Lab
from tests.support.views import eventually

NODE = "n2"
FINE = ("nodes/configz", "nodes/metrics", "nodes/healthz")


@pytest.fixture
def grant(lab: Lab) -> t.Iterator[t.Callable[..., None]]:
    """Return what sets the permissions of the user: read Nodes, and get these resources."""

    def give(*resources: str) -> None:
        rules = (("", "nodes", "get"), *(("", resource, "get") for resource in resources))
        lab.kubectl("apply", "-f", "-", stdin=listed(*rules))

    yield give
    lab.kubectl("delete", "-f", "-", stdin=listed())


def listed(*rules: tuple[str, str, str]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": allowing(*rules)})


def test_without_nodes_proxy(lab: Lab, tmp_path: Path, grant: t.Callable[..., None]) -> None:
    """The smaller permissions are enough; without one of them the kubelet names what it needs."""
    options = {"kubeconfig": str(lab.user_kubeconfig(USER)), "read": "kubelet"}
    grant()
    with pytest.raises(ApiError, match=r"(?s)cannot be verified .*serverTLSBootstrap"):
        kubelets.configz(Session(options), NODE)
    authority = tmp_path / "kubelet.crt"
    authority.write_text(lab.node(NODE).run("cat /var/lib/kubelet/pki/kubelet.crt"))
    user = Session({**options, "kubelet_ca_cert": str(authority)})
    with pytest.raises(ApiError, match=r"configz proxy.*nodes/configz") as caught:
        kubelets.configz(user, NODE)
    assert caught.value.status == 403
    grant(*FINE)

    def may() -> bool:
        # The kubelet keeps a refusal for some seconds (authorization.webhook.cacheUnauthorizedTTL).
        try:
            return bool(kubelets.configz(user, NODE))
        except ApiError as error:
            if error.status != 403:
                raise
            return False

    eventually(may, 60, "the kubelet accepts nodes/configz")
    assert kubelets.configz(user, NODE) == kubelets.configz(Session({"kubeconfig": str(lab.kubeconfig)}), NODE)
    assert kubelets.process(user, NODE).started > 0
    assert kubelets.healthy(user, NODE)
    with pytest.raises(ApiError, match='cannot get resource "nodes/proxy"'):
        kubelets.configz(Session({"kubeconfig": str(lab.user_kubeconfig(USER))}), NODE)
