# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads from the port of a simulated kubelet: with the certificate of the user, and with a token by the host itself."""

from __future__ import annotations

import base64
import contextlib
import functools
import json
import re
import time
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import kubelet_endpoint, kubelet_on_host
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import kubelets
from tests.contract.test_permissions import USER as VIEWER
from tests.contract.test_permissions import allowing
from tests.sim.api.kinds import KINDS
from tests.sim.cluster import Cluster
from tests.sim.kubelets.port import Port
from tests.sim.tls import Certificates
from tests.support.api.reader import ACCOUNT, READER, USER, Here, Rule, for_user, granted
from tests.support.plays.permissions import USER as OPERATOR
from tests.support.plays.permissions import manifest, permissions, without

Reader = t.Callable[..., Session]
FINE = [Rule(("nodes/configz",)), Rule(("nodes/metrics",)), Rule(("nodes/healthz",))]


@pytest.fixture(scope="module")
def cluster() -> t.Iterator[Cluster]:
    """A cluster with two kubelets, and service accounts without permissions."""
    with Cluster("v1.36.2") as made:
        for name in ("n1", "n2"):
            made.simulate(name)
            made.store.create(KINDS["serviceaccounts"], "kube-system", {"metadata": {"name": f"reader-{name}"}})
        made.store.create(KINDS["serviceaccounts"], "kube-system", {"metadata": {"name": ACCOUNT}})
        yield made


@pytest.fixture
def here() -> t.Iterator[Here]:
    """Let sessions reach hosts."""
    found = Here()
    with kubelet_on_host.running_programs_with(found):
        yield found


def session(cluster: Cluster, folder: Path, **options: t.Any) -> Session:
    """A session of a user who may read Nodes and make tokens, with a client certificate."""
    path = cluster.kubeconfig(folder / "kubeconfig", USER, "operators")
    return Session({"kubeconfig": str(path), "read": "node", **options})


def straight(cluster: Cluster, folder: Path, **options: t.Any) -> Session:
    """A session of the user, which reads from the kubelet."""
    path = cluster.kubeconfig(folder / "kubeconfig", VIEWER, "operators")
    return Session({"kubeconfig": str(path), "read": "kubelet", **options})


@contextlib.contextmanager
def allowed(cluster: Cluster, *resources: str) -> t.Iterator[None]:
    """Give the user permissions for a while."""
    objects = allowing(*(("", resource, "get") for resource in ("nodes", *resources)))
    cluster.grant(objects)
    yield
    cluster.ungrant(objects)


def test_nothing_but_a_token_of_the_account_reaches_a_node(cluster: Cluster, tmp_path: Path, here: Here) -> None:
    """One token serves all reads of a session. The API server is not asked for the kubelet."""
    with granted(cluster, *FINE), Port(cluster, "n1", 36) as port:
        user = session(cluster, tmp_path)
        cluster.counter.forget()
        assert kubelets.configz(user, "n1") == kubelets.configz(Session({"host": cluster.url}), "n1")
        assert kubelets.process(user, "n1").started > 0
        assert kubelets.healthy(user, "n1")
    assert port.asked == [(READER, path) for path in ("/configz", "/metrics", "/healthz")]
    assert cluster.counter.count("GET", "/nodes/n1/proxy/") == 1, "that of the other session"
    assert cluster.counter.count("POST", f"/serviceaccounts/{ACCOUNT}/token") == 1
    assert here.asked == ["n1"] * 3
    token = cluster.api.tokens.sent[-1]
    assert all(program.count(token) == 1 for program in here.programs)
    (own,) = yaml.safe_load((tmp_path / "kubeconfig").read_text())["users"]
    secrets = {*own["user"].values(), *(base64.b64decode(text).decode() for text in own["user"].values())}
    assert len(secrets) == 4 and not any(secret in program for secret in secrets for program in here.programs)


def test_an_early_kubelet_needs_a_broader_permission_of_the_account(
    cluster: Cluster, tmp_path: Path, here: Here
) -> None:
    words = r"(?s)subresource\(s\)=\[proxy\].*Kubelets before 1\.33 need nodes/proxy"
    with granted(cluster, *FINE), Port(cluster, "n1", 32), pytest.raises(ApiError, match=words) as caught:
        kubelets.configz(session(cluster, tmp_path), "n1")
    assert caught.value.status == 403 and "option-read-node" in caught.value.message


TOKEN = "serviceaccounts/token"
READS: dict[str, t.Callable[[Session], t.Any]] = {
    "nodes/configz": lambda user: kubelets.configz(user, "n1"),
    "nodes/metrics": lambda user: kubelets.process(user, "n1"),
    "nodes/healthz": lambda user: kubelets.healthy(user, "n1"),
    "nodes/stats": lambda user: kubelet_endpoint.read(user, "n1", "stats/summary"),
}


def test_exactly_the_manifest(cluster: Cluster, tmp_path: Path, here: Here) -> None:
    """It is enough for all reads. Without one permission the read that needs it names it."""
    whole, nodes = manifest("option-read-node"), for_user(tokens=False)
    assert {one.resource for one in permissions(whole)} == {*READS, TOKEN}
    kubeconfig = str(cluster.kubeconfig(tmp_path / "kubeconfig", OPERATOR, "operators"))
    (binding,) = (item for item in nodes if "subjects" in item)
    binding["subjects"][0]["name"] = OPERATOR
    with Port(cluster, "n1", 36):
        for taken in (None, *permissions(whole)):
            given = [*nodes, *(without(whole, taken) if taken else whole)]
            cluster.grant(given)
            for resource, read in READS.items():
                user = Session({"kubeconfig": kubeconfig, "read": "node"})
                if taken and taken.resource in (resource, TOKEN):
                    with pytest.raises(ApiError, match=taken.resource) as caught:
                        read(user)
                    assert caught.value.status == 403 and "option-read-node" in caught.value.message
                else:
                    assert read(user)
        cluster.ungrant([item for item in given if item["kind"] != "ServiceAccount"])


@pytest.mark.parametrize(
    "rule",
    [
        Rule(("nodes/proxy",)),
        Rule(("nodes/proxy",), verbs=("create",)),
        Rule(("nodes/proxy",), names=("n1",)),
        Rule(("nodes/configz", "*/proxy")),
        Rule(("*",), groups=("*",), verbs=("*",)),
    ],
)
def test_a_token_that_allows_exec_reaches_no_node(cluster: Cluster, tmp_path: Path, here: Here, rule: Rule) -> None:
    """That of one account for all nodes; root on one of them could use it."""
    words = r"may get nodes/proxy, which includes exec.*\{node\}"
    with granted(cluster, rule), Port(cluster, "n1", 36), pytest.raises(ApiError, match=words) as caught:
        kubelets.configz(session(cluster, tmp_path), "n1")
    assert here.asked == [] and not caught.value.transient


@pytest.mark.parametrize(("names", "refused"), [(("n1",), False), (("n1", "n2"), True), (("n2",), True), ((), True)])
def test_an_account_for_each_node(
    cluster: Cluster, tmp_path: Path, here: Here, names: tuple[str, ...], refused: bool
) -> None:
    """Kubelets before 1.33 need nodes/proxy; each token is good for its own node only."""
    rules = (Rule(("nodes/proxy",), names=names), Rule(("nodes/metrics",)))
    with granted(cluster, *rules, account="reader-n1"), Port(cluster, "n1", 20) as port:
        user = session(cluster, tmp_path, read_service_account="kube-system/reader-{node}")
        if refused:
            with pytest.raises(ApiError, match="resourceNames of its node only"):
                kubelets.configz(user, "n1")
            assert here.asked == []
            return
        assert kubelets.configz(user, "n1") == kubelets.configz(Session({"host": cluster.url}), "n1")
        assert {asked for asked, _path in port.asked} == {"system:serviceaccount:kube-system:reader-n1"}


def test_a_token_is_refused_to_the_user(cluster: Cluster, tmp_path: Path, here: Here) -> None:
    """One request for all nodes, and the error names the missing verb."""
    only = for_user(ACCOUNT, tokens=False)
    cluster.grant(only)
    user = session(cluster, tmp_path)
    cluster.counter.forget()
    for name in ("n1", "n2"):
        with pytest.raises(ApiError, match=r'cannot create resource "serviceaccounts/token".*Grant the verb create'):
            kubelets.configz(user, name)
    assert cluster.counter.count("POST", "/token") == 1 and here.asked == []
    cluster.ungrant(only)


def test_an_account_that_does_not_exist(cluster: Cluster, tmp_path: Path, here: Here) -> None:
    """It must not pass for a Node that does not exist."""
    missing = "no service account kube-system/other"
    with granted(cluster, account="other"), pytest.raises(ApiError, match=missing) as got:
        kubelets.configz(session(cluster, tmp_path, read_service_account="kube-system/other"), "n1")
    assert got.value.status != 404 and here.asked == []


def test_a_kubelet_without_webhook(cluster: Cluster, tmp_path: Path, here: Here) -> None:
    """A 401 of a kubelet does not concern the credentials of the user, and ends nothing for the other nodes."""
    with granted(cluster, *FINE), Port(cluster, "n1", 36) as port:
        port.webhook = False
        with pytest.raises(ApiError, match=r"does not accept a token.*authentication\.webhook\.enabled") as caught:
            kubelets.configz(session(cluster, tmp_path), "n1")
    assert caught.value.status == 403


@pytest.fixture(params=["kubelet", "node"])
def reader(request: pytest.FixtureRequest, cluster: Cluster, tmp_path: Path, here: Here) -> t.Iterator[Reader]:
    """How a session that may read is made: one with the certificate of its user, one with a token from the host."""
    if request.param == "kubelet":
        make, given = straight, allowed(cluster, "nodes/configz")
    else:
        make, given = session, granted(cluster, *FINE)
    with given:
        yield functools.partial(make, cluster, tmp_path)


def test_a_certificate_of_another_authority(cluster: Cluster, tmp_path: Path, reader: Reader) -> None:
    """The credentials are not sent, unless the authority is named or nothing is verified."""
    other = Certificates(tmp_path)
    with Port(cluster, "n1", 36, other) as port:
        with pytest.raises(ApiError, match=r"(?s)cannot be verified .*serverTLSBootstrap.*kubelet_ca_cert") as caught:
            kubelets.configz(reader(), "n1")
        assert not caught.value.transient and port.asked == []
        assert kubelets.configz(reader(kubelet_ca_cert=str(other.authority)), "n1")
        assert kubelets.configz(reader(validate_certs=False), "n1")


@pytest.mark.parametrize("mode", [0o644, 0o666])
def test_a_certificate_that_the_kubelet_signed_itself(
    cluster: Cluster, tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch, mode: int
) -> None:
    """Its host knows it; a file that others may write is not trusted."""
    other = Certificates(tmp_path)
    other.authority.chmod(mode)
    monkeypatch.setattr(kubelet_on_host, "OWN_CERTIFICATE", str(other.authority))
    with granted(cluster, *FINE), Port(cluster, "n1", 36, other) as port:
        if mode == 0o644:
            assert kubelets.configz(session(cluster, tmp_path), "n1")
            return
        with pytest.raises(ApiError, match="cannot be verified"):
            kubelets.configz(session(cluster, tmp_path), "n1")
        assert port.asked == []


def test_a_certificate_of_another_node(cluster: Cluster, reader: Reader) -> None:
    """A node that claims its address does not get the credentials of the request, nor pass for the other."""
    with Port(cluster, "n1", 36), Port(cluster, "n2", 36) as other:
        cluster.patch_status("n1", other.at("127.0.0.1"))
        with pytest.raises(ApiError, match="must be for the name of the node"):
            kubelets.configz(reader(), "n1")
        assert other.asked == []


def test_a_port_that_is_closed_or_moves(cluster: Cluster, reader: Reader, here: Here, monkeypatch: t.Any) -> None:
    """It is asked for again while a kubelet restarts. The next read looks where it is now."""
    monkeypatch.setattr(kubelets, "PATIENCE", 0.5)
    user = reader()
    with Port(cluster, "n1", 36):
        before = kubelets.configz(user, "n1")
    with pytest.raises(ApiError, match=r"does not answer at (https://127|the loopback address.*refused)") as caught:
        kubelets.configz(user, "n1")
    assert caught.value.transient and caught.value.status == 0
    assert here.asked.count("n1") != 1
    with Port(cluster, "n1", 36):
        assert kubelets.configz(user, "n1") == before


def test_a_token_is_replaced_before_it_ends(cluster: Cluster, tmp_path: Path, here: Here, monkeypatch: t.Any) -> None:
    with granted(cluster, *FINE), Port(cluster, "n1", 36):
        user = session(cluster, tmp_path)
        kubelets.configz(user, "n1")
        first = cluster.api.tokens.sent[-1]
        kubelets.configz(user, "n1")
        assert cluster.api.tokens.sent[-1] == first
        now = time.monotonic()
        monkeypatch.setattr(kubelet_on_host.time, "monotonic", lambda: now + kubelet_on_host.FRESH + 1)
        kubelets.configz(user, "n1")
        assert cluster.api.tokens.sent[-1] != first


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        *(
            (session, {"read_service_account": account}, "not of the form namespace/name")
            for account in ("reader", "a/b/c", "../x", "a/", "a/A", "{node}/reader", "a/b?c")
        ),
        (session, {"kubelet_ca_cert": "/none"}, "kubelet_ca_cert: /none cannot be read"),
        (straight, {"impersonate_user": "other"}, "a kubelet does not impersonate users"),
    ],
)
def test_options_that_are_refused(
    cluster: Cluster, tmp_path: Path, make: Reader, options: dict[str, str], words: str
) -> None:
    with pytest.raises(ClusterError, match=words):
        make(cluster, tmp_path, **options)


def test_outside_of_ansible(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match="needs the connections of Ansible's own process"):
        kubelets.configz(session(cluster, tmp_path), "n1")


MARK = kubelet_on_host.ask_kubelet.MARK
NO_ANSWERS = ("[]", "[" * 100000, '{"status": Infinity, "body": "eJwDAAAAAAE="}', '{"status": 200, "body": "AAAA"}')
PRINTED = (
    *((printed, "is not an answer") for printed in ("", "Welcome to n1\n", *(MARK + one for one in NO_ANSWERS))),
    (MARK + '{"error": "TOKEN"}', r"\(\*\*\*\*\*\*\*\*\)"),
    (MARK + '{"error": "TOKEN", "untrusted": true}', r"\(\*\*\*\*\*\*\*\*\)"),
    ("ECHO", "contains the token"),
)


@pytest.mark.parametrize(("printed", "words"), PRINTED, ids=range(len(PRINTED)))
def test_what_a_host_prints_is_not_trusted(cluster: Cluster, tmp_path: Path, printed: str, words: str) -> None:
    """Whatever it is, no message contains the token."""

    def reach(_node: str, program: str) -> str:
        token = cluster.api.tokens.sent[-1]
        assert token in program
        if printed == "ECHO":
            found = kubelet_on_host.ask_kubelet.packed(200, json.dumps({"kubeletconfig": {"x": token}}).encode())
            return f"{MARK}{json.dumps(found)}"
        return printed.replace("TOKEN", token)

    with (
        granted(cluster, *FINE),
        Port(cluster, "n1", 36),
        kubelet_on_host.running_programs_with(reach),
        pytest.raises(ApiError) as caught,
    ):
        kubelets.healthy(session(cluster, tmp_path), "n1")
    assert re.search(words, caught.value.message), caught.value.message
    assert cluster.api.tokens.sent[-1] not in caught.value.message


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize("body", [b"<html>", b"[" * 200_000], ids=["html", "deep"])
def test_a_body_that_is_not_json(cluster: Cluster, tmp_path: Path, body: bytes) -> None:
    printed = f"{MARK}{json.dumps(kubelet_on_host.ask_kubelet.packed(200, body))}"
    with (
        granted(cluster, *FINE),
        Port(cluster, "n1", 36),
        kubelet_on_host.running_programs_with(lambda _node, _program: printed),
        pytest.raises(ApiError, match="answered GET /configz with text that is not JSON"),
    ):
        kubelets.configz(session(cluster, tmp_path), "n1")


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
def test_permissions_of_the_user(cluster: Cluster, tmp_path: Path, minor: int, given: list[str], error: str) -> None:
    """From 1.33 on nodes/configz is enough. The API server is not asked for the kubelet."""
    with allowed(cluster, *given), Port(cluster, "n1", minor) as port:
        user = straight(cluster, tmp_path)
        cluster.counter.forget()
        if error:
            with pytest.raises(ApiError) as caught:
                kubelets.configz(user, "n1")
            assert error in caught.value.message and "nodes/configz" in caught.value.message
            return
        assert kubelets.configz(user, "n1") == kubelets.configz(Session({"host": cluster.url}), "n1")
        assert kubelets.process(user, "n1").started > 0
        assert port.asked == [(VIEWER, "/configz"), (VIEWER, "/metrics")]
    assert cluster.counter.count("GET", "/nodes/n1/proxy/") == 1, "that of the other session"


@pytest.mark.parametrize(
    "address", ["127.0.0.1@evil.example", "evil.example", "127.0.0.1:1/x?", "::1%]@evil.example:1?", "", None]
)
def test_an_address_that_is_none(cluster: Cluster, tmp_path: Path, address: str | None) -> None:
    """A kubelet writes the status of its Node: what is not an address is not asked."""
    with allowed(cluster, "nodes/configz"), Port(cluster, "n1", 36) as port:
        user = straight(cluster, tmp_path)
        cluster.patch_status("n1", {"addresses": None})
        if address is not None:
            cluster.patch_status("n1", port.at(address))
        with pytest.raises(ApiError, match="no InternalIP"):
            kubelets.configz(user, "n1")
        assert port.asked == []
