# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`read: auto`: which way is taken for a kubelet, what that costs, and what a user reads if there is none."""

from __future__ import annotations

import contextlib
import socket
import threading
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import (
    kubelet_endpoint,
    kubelet_on_host,
    kubelet_ways,
    parallel,
    session,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import kubelets, node_requests
from tests.contract.test_permissions import USER, allowing
from tests.sim.cluster import Cluster
from tests.sim.kubelets.port import Port
from tests.sim.tls import Certificates

NAMES = ("n1", "n2", "n3")
KUBELET, NODE, PROXY = ALL = (kubelet_endpoint.KUBELET, kubelet_endpoint.NODE, kubelet_endpoint.PROXY)
FINE = ("nodes/configz", "nodes/metrics", "nodes/healthz")
REVIEW, PROXIED = "/selfsubjectaccessreviews", "/proxy/"
OF_NODES = (("", "nodes", "get"), ("", "nodes", "list"))
TOKENS = ("", "serviceaccounts/token", "create")


class Case(t.NamedTuple):
    """The facts of a decision: kubelet, follower, client certificate, login, accounts of nodes, permissions."""

    minor: int = 36
    followed: bool = False
    safe: bool = True
    login: bool = True
    own_account: bool = False
    may: tuple[str, ...] = ALL


TABLE = (
    # case, the ways in their order, the permissions that are asked for
    (Case(), [*ALL], [*ALL]),
    (Case(minor=33), [*ALL], [*ALL]),
    *((Case(may=may), [*may], [*ALL]) for may in ((KUBELET,), (NODE,), (PROXY,), ())),
    # A token would be sent to the kubelet.
    (Case(safe=False), [NODE, PROXY], [NODE, PROXY]),
    (Case(login=False), [KUBELET, PROXY], [KUBELET, PROXY]),
    (Case(followed=True), [KUBELET, PROXY], [KUBELET, PROXY]),
    # Earlier kubelets do not know nodes/configz, nor do those of an unknown version.
    (Case(minor=32), [PROXY], []),
    (Case(minor=20), [PROXY], []),
    (Case(minor=0, may=()), [PROXY], []),
    (Case(minor=32, own_account=True), [NODE, PROXY], [NODE, PROXY]),
    (Case(minor=32, own_account=True, followed=True), [PROXY], []),
    (Case(safe=False, login=False), [PROXY], []),
)


@pytest.mark.parametrize(("case", "found", "asked"), TABLE, ids=[str(row[0]) for row in TABLE])
def test_the_ways_in_their_order(case: Case, found: list[str], asked: list[str]) -> None:
    seen: list[str] = []

    def may(way: str) -> bool:
        seen.append(way)
        return way in case.may

    about = kubelet_endpoint.Seen(case.minor, (), {}, case.followed)
    assert list(kubelet_ways.ways(about, case.safe, case.login, case.own_account, may)) == found
    assert seen == asked


@pytest.fixture
def cluster() -> t.Iterator[Cluster]:
    """A cluster with three kubelets whose ports are closed."""
    with Cluster("v1.36.2") as made:
        for name in NAMES:
            made.simulate(name)
            made.patch_status(name, closed())
        yield made


def closed() -> dict[str, t.Any]:
    """Return the status of a Node at whose address nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return at(free.getsockname()[1])


def at(port: int) -> dict[str, t.Any]:
    addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
    return {"addresses": addresses, "daemonEndpoints": {"kubeletEndpoint": {"Port": port}}}


def user(cluster: Cluster, folder: Path, *resources: str, tokens: bool = False, **options: t.Any) -> session.Session:
    """Return a session of a user who may get these resources, with a certificate; it has read the Nodes."""
    more = (TOKENS,) if tokens else ()
    cluster.grant(allowing(*OF_NODES, *more, *(("", resource, "get") for resource in resources)))
    path = cluster.kubeconfig(folder / "kubeconfig", USER, "operators")
    found = session.Session({"kubeconfig": str(path), "read": "auto", **options})
    node_requests.read(found, NAMES)
    cluster.counter.forget()
    return found


def dumped(by: session.Session) -> list[parallel.Outcome[str, dict[str, t.Any]]]:
    """Read all kubelets at once."""
    return parallel.each(NAMES, lambda name: kubelets.configz(by, name, 36), 8)


def warnings(by: session.Session) -> list[str]:
    assert by.kubelets
    return by.kubelets.warnings()


@contextlib.contextmanager
def ports(cluster: Cluster, *names: str, signer: Certificates | None = None) -> t.Iterator[list[Port]]:
    """Open the ports of kubelets."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Port(cluster, name, 36, signer)) for name in names]


def test_the_ports_are_asked_with_one_review(cluster: Cluster, tmp_path: Path) -> None:
    """Nothing else is asked of the API server, since the Nodes have been read."""
    with ports(cluster, *NAMES) as opened:
        by = user(cluster, tmp_path, *FINE, "nodes/proxy")
        assert [outcome.why for outcome in dumped(by)] == ["no answer"] * 3
        assert all(outcome.value for outcome in dumped(by))
        assert kubelets.process(by, "n1").started > 0 and kubelets.healthy(by, "n1")
        assert [len(port.asked) for port in opened] == [4, 2, 2]
    assert cluster.counter.count("POST", REVIEW) == cluster.counter.count() == 1 and warnings(by) == []


def test_the_modules_of_a_run_ask_once(cluster: Cluster, tmp_path: Path) -> None:
    """The second one knows the permission and the way of each node; one of other options does not."""
    with ports(cluster, *NAMES):
        for number, expected in enumerate((1, 0)):
            with kubelet_ways.remembered_in(str(tmp_path)):
                by = user(cluster, tmp_path, *FINE)
                assert all(outcome.value for outcome in dumped(by)), number
            assert cluster.counter.count("POST", REVIEW) == expected
        with kubelet_ways.remembered_in(str(tmp_path)):
            other = user(cluster, tmp_path, *FINE, kubelet_ca_cert=str(cluster.certificates.authority))
            assert kubelets.process(other, "n1").started > 0
        assert cluster.counter.count("POST", REVIEW) == 1


def test_a_certificate_that_cannot_be_verified(cluster: Cluster, tmp_path: Path) -> None:
    """Nothing is sent to the kubelet. The next way is taken, with one warning."""
    with ports(cluster, *NAMES, signer=Certificates(tmp_path)) as opened:
        by = user(cluster, tmp_path, *FINE, "nodes/proxy")
        assert all(outcome.value for outcome in dumped(by))
        assert [port.asked for port in opened] == [[], [], []]
    assert cluster.counter.count("GET", PROXIED) == 3 and cluster.counter.count("POST", REVIEW) == 2
    (warning,) = warnings(by)
    assert "read through the proxy of the API server, not at its port" in warning, warning
    assert "cannot be verified" in warning and "set kubelet_config_read" in warning, warning


def test_ports_behind_a_firewall_cost_one_timeout(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first node decides for the run, also for its later modules."""
    monkeypatch.setattr(session, "_CONNECT", 0.2)
    reached = []
    with socket.create_server(("127.0.0.1", 0)) as mute:

        def take() -> None:
            with contextlib.suppress(OSError):
                while True:
                    reached.append(mute.accept())

        threading.Thread(target=take, daemon=True).start()
        for name in NAMES:
            cluster.patch_status(name, at(mute.getsockname()[1]))
        found = []
        for _module in range(2):
            with kubelet_ways.remembered_in(str(tmp_path)):
                by = user(cluster, tmp_path, *FINE, "nodes/proxy")
                assert all(outcome.value for outcome in dumped(by))
                found += warnings(by)
        mute.shutdown(socket.SHUT_RDWR)
    for connection, _address in reached:
        connection.close()
    assert len(reached) == 1
    assert len(found) == 1 and "does not answer" in found[0], found


def test_a_first_node_that_is_down(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not keep a run from the others that have no other way, and its error names what would help."""
    monkeypatch.setattr(kubelets, "PATIENCE", 0.5)
    with ports(cluster, "n2", "n3"):
        by = user(cluster, tmp_path, *FINE)
        with pytest.raises(ApiError) as caught:
            kubelets.configz(by, "n1", 36)
        assert all(kubelets.configz(by, name, 36) for name in ("n2", "n3"))
    assert "at its port: its kubelet does not answer" in caught.value.message, caught.value.message
    assert 'cannot get resource "nodes/proxy"' in caught.value.message and caught.value.transient
    assert cluster.counter.count("GET", PROXIED) == 0


def test_a_way_that_never_works_is_left_alone(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first failures, further nodes do not wait for it."""
    monkeypatch.setattr(kubelets, "PATIENCE", 0.2)
    by = user(cluster, tmp_path, *FINE)
    errors = []
    for name in NAMES:
        with pytest.raises(ApiError) as caught:
            kubelets.configz(by, name, 36)
        errors.append(caught.value.message)
    assert "not asked, as it failed for others" not in errors[0]
    assert "at its port: not asked, as it failed for others (its kubelet does not answer" in errors[2]


def test_a_kubelet_that_restarts_is_waited_for(cluster: Cluster, tmp_path: Path) -> None:
    """Once its way is known, no broader one is used."""
    with ports(cluster, "n1"):
        by = user(cluster, tmp_path, *FINE, "nodes/proxy")
        assert kubelets.configz(by, "n1", 36)
    with pytest.raises(ApiError, match="does not answer"):
        kubelets.healthy(by, "n1")
    assert cluster.counter.count("GET", PROXIED) == 0


def test_a_certificate_that_changes(cluster: Cluster, tmp_path: Path) -> None:
    """The way is chosen again, as after a rollout of serverTLSBootstrap: false."""
    for signer, proxied in ((None, 0), (Certificates(tmp_path), 1)):
        with ports(cluster, "n1", signer=signer), kubelet_ways.remembered_in(str(tmp_path)):
            assert kubelets.configz(user(cluster, tmp_path, *FINE, "nodes/proxy"), "n1", 36)
        assert cluster.counter.count("GET", PROXIED) == proxied


def test_nothing_is_allowed(cluster: Cluster, tmp_path: Path) -> None:
    """One sentence names each permission that would help. The kubelet and the proxy are not asked."""
    with ports(cluster, *NAMES) as opened, kubelet_on_host.running_programs_with(lambda _node, _program: ""):
        by = user(cluster, tmp_path)
        with pytest.raises(ApiError) as caught:
            kubelets.configz(by, "n1", 36)
        assert opened[0].asked == []
    assert caught.value.status == 403 and cluster.counter.count("GET", PROXIED) == 0
    for verb, resource, place in (
        ("get", "nodes/configz", "docs/rbac.yaml"),
        ("create", "serviceaccounts/token", "docs/rbac/option-read-node.yaml"),
        ("get", "nodes/proxy", "docs/rbac/option-read-proxy.yaml"),
    ):
        assert f'the user cannot {verb} resource "{resource}" in API group "", see {place}' in caught.value.message
    assert cluster.counter.count("POST", REVIEW) == 3


def test_a_service_account_that_was_never_created(cluster: Cluster, tmp_path: Path) -> None:
    """As for an administrator of a cluster without the manifests: asked for once, and no reason for a warning."""
    with kubelet_on_host.running_programs_with(lambda _node, _program: ""):
        by = user(cluster, tmp_path, "nodes/proxy", tokens=True)
        assert all(outcome.value for outcome in dumped(by))
    assert cluster.counter.count("POST", "/token") == 1 and cluster.counter.count("POST", REVIEW) == 3
    assert warnings(by) == []


@pytest.mark.parametrize("options", [{"impersonate_user": USER}, {"api_key": "secret"}], ids=["impersonation", "token"])
def test_credentials_that_a_kubelet_must_not_get(cluster: Cluster, tmp_path: Path, options: dict[str, str]) -> None:
    """It could use a token, and would not impersonate. The proxy is the only way, so that nothing is reviewed."""
    admin = str(cluster.kubeconfig(tmp_path / "admin"))
    with ports(cluster, "n1") as (port,):
        user(cluster, tmp_path, *FINE, "nodes/proxy")
        by = session.Session({"kubeconfig": admin, "read": "auto", **options})
        assert not by.is_safe_at_kubelets
        if "api_key" not in options:
            assert kubelets.configz(by, "n1", 36)
            assert cluster.counter.count("POST", REVIEW) == 0
        assert port.asked == []


def test_a_user_who_may_not_ask_for_permissions(cluster: Cluster, tmp_path: Path) -> None:
    """The proxy is used as before."""
    cluster.faults.add(method="POST", path=REVIEW, status=403)
    with ports(cluster, "n1") as (port,):
        by = user(cluster, tmp_path, *FINE, "nodes/proxy")
        assert kubelets.configz(by, "n1", 36)
        assert port.asked == []
    assert cluster.counter.count("GET", PROXIED) == 1
