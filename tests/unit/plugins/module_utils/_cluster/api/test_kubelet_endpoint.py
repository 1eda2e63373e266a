# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading straight from the port of a simulated kubelet, with a client certificate and TLS."""

from __future__ import annotations

import contextlib
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import kubelets
from tests.contract.test_permissions import USER, allowing
from tests.sim.cluster import Cluster
from tests.sim.kubelets.port import Port
from tests.sim.tls import Certificates

NODES = ("", "nodes", "get")


@pytest.fixture(scope="module")
def cluster() -> t.Iterator[Cluster]:
    """A cluster with two kubelets."""
    with Cluster("v1.36.2") as made:
        made.simulate("n1")
        made.simulate("n2")
        yield made


def session(cluster: Cluster, folder: Path, **options: t.Any) -> Session:
    """A session of the user, which reads from the kubelet."""
    path = cluster.kubeconfig(folder / "kubeconfig", USER, "operators")
    return Session({"kubeconfig": str(path), "read": "kubelet", **options})


@contextlib.contextmanager
def granted(cluster: Cluster, *resources: str) -> t.Iterator[None]:
    """Give the user permissions for a while."""
    objects = allowing(NODES, *(("", resource, "get") for resource in resources))
    cluster.grant(objects)
    yield
    cluster.ungrant(objects)


@pytest.mark.parametrize(
    ("minor", "given", "error"),
    [
        (36, ["nodes/configz", "nodes/metrics"], ""),
        (36, ["nodes/proxy", "nodes/metrics"], ""),
        (32, ["nodes/proxy", "nodes/metrics"], ""),
        (32, ["nodes/configz", "nodes/metrics"], "subresource(s)=[proxy]"),
        (36, ["nodes/metrics"], "subresource(s)=[configz proxy]"),
    ],
)
def test_permissions(cluster: Cluster, tmp_path: Path, minor: int, given: list[str], error: str) -> None:
    """From 1.33 on nodes/configz is enough. The API server is not asked for the kubelet."""
    with granted(cluster, *given), Port(cluster, "n1", minor) as port:
        user = session(cluster, tmp_path)
        cluster.counter.forget()
        if error:
            with pytest.raises(ApiError) as caught:
                kubelets.configz(user, "n1")
            assert error in caught.value.message and "nodes/configz" in caught.value.message
            return
        assert kubelets.configz(user, "n1") == kubelets.configz(Session({"host": cluster.url}), "n1")
        assert kubelets.process(user, "n1").started > 0
        assert port.asked == [(USER, "/configz"), (USER, "/metrics")]
    assert cluster.counter.count("GET", "/nodes/n1/proxy/") == 1, "that of the other session"


def test_a_certificate_of_another_authority(cluster: Cluster, tmp_path: Path) -> None:
    """It is refused before the credentials are sent, unless its authority is named."""
    other = Certificates(tmp_path)
    with granted(cluster, "nodes/configz"), Port(cluster, "n1", 36, other) as port:
        with pytest.raises(ApiError, match=r"(?s)cannot be verified .*serverTLSBootstrap.*kubelet_ca_cert") as caught:
            kubelets.configz(session(cluster, tmp_path), "n1")
        assert not caught.value.transient and port.asked == []
        assert kubelets.configz(session(cluster, tmp_path, kubelet_ca_cert=str(other.authority)), "n1")


@pytest.mark.parametrize(
    "address", ["127.0.0.1@evil.example", "evil.example", "127.0.0.1:1/x?", "::1%]@evil.example:1?", "", None]
)
def test_an_address_that_is_none(cluster: Cluster, tmp_path: Path, address: str | None) -> None:
    """A kubelet writes the status of its Node: what is not an address is not asked."""
    with granted(cluster, "nodes/configz"), Port(cluster, "n1", 36) as port:
        user = session(cluster, tmp_path)
        cluster.patch_status("n1", {"addresses": None})
        if address is not None:
            cluster.patch_status("n1", port.at(address))
        with pytest.raises(ApiError, match="no InternalIP"):
            kubelets.configz(user, "n1")
        assert port.asked == []


def test_the_address_of_another_node(cluster: Cluster, tmp_path: Path) -> None:
    """A node that claims it does not get the credentials of the request, nor pass for the other."""
    with granted(cluster, "nodes/configz"), Port(cluster, "n1", 36), Port(cluster, "n2", 36) as other:
        user = session(cluster, tmp_path)
        cluster.patch_status("n1", other.at("127.0.0.1"))
        with pytest.raises(ApiError, match="must be for the name of the node"):
            kubelets.configz(user, "n1")
        assert other.asked == []


def test_another_port_after_a_restart(cluster: Cluster, tmp_path: Path) -> None:
    with granted(cluster, "nodes/configz"):
        with Port(cluster, "n1", 36):
            user = session(cluster, tmp_path)
            before = kubelets.configz(user, "n1")
        with pytest.raises(ApiError, match=r"does not answer at https://127\.0\.0\.1:"):
            kubelets.configz(user, "n1")
        with Port(cluster, "n1", 36):
            assert kubelets.configz(user, "n1") == before


def test_impersonation_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="a kubelet does not impersonate users"):
        session(cluster, tmp_path, impersonate_user="other")
