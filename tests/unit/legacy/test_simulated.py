# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection reads and writes what simulated kubelets of 1.8 to 1.10 report and follow."""

from __future__ import annotations

import json
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import kubelets
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verify
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.minors import fields_of
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from tests.sim.cluster import Cluster

CONFIGMAPS = "/api/v1/namespaces/kube-system/configmaps"


def _assign(session: Session, name: str) -> dict[str, t.Any]:
    source = {"namespace": "kube-system", "name": name, "kubeletConfigKey": "kubelet"}
    options = {"state": "present", "nodes": None, "source": None, "sources": {"n1": source}, "delivery": "auto"}
    options.update(check_source=True, wait=True, wait_timeout=10, wait_sleep=1)
    return t.cast("dict[str, t.Any]", verify.config_source(session, options, False)["nodes"]["n1"])


@pytest.mark.parametrize("version", ["v1.8.15", "v1.9.11", "v1.10.13"])
def test_a_good_and_a_bad_source(version: str) -> None:
    with Cluster(version, scale=50, tls=False) as cluster:
        cluster.simulate("n1")
        session, minor = Session({"host": cluster.url}), int(version.split(".")[1])
        live = kubelets.configz(session, "n1", minor)
        header = {"kind": document.KIND, "apiVersion": fields_of(minor).api_version}
        for name, fields in (("good", {"maxPods": 41}), ("bad", {"kubeAPIQPS": -1})):
            text = json.dumps({**header, **live, **fields})
            session.request("POST", CONFIGMAPS, body={"metadata": {"name": name}, "data": {"kubelet": text}})
        assert _assign(session, "good")["state"] == "active"
        assert session.request("GET", "/api/v1/nodes/n1/proxy/configz")["kubeletconfig"]["maxPods"] == 41
        with pytest.raises(NodesFailed) as failed:
            _assign(session, "bad")
        row = failed.value.result["nodes"]["n1"]
        assert row["state"] == "fell_back", row["message"]
