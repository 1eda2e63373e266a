# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests over real connections to a server on the loopback interface."""
from __future__ import annotations

import datetime
import functools
import ipaddress
import json
import os
import socket
import ssl
import typing as t
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster import retry, session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.errors import ApiError, ClusterError, MissingLibrary
from tests.support.cluster import Clock
from tests.support.server import Answer, Server

PATH = "/api/v1/nodes"
STATUS = {"kind": "Status", "message": "words of the server", "reason": "SomeReason"}


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing of the machine the test runs on: no proxy, no kubeconfig, no home."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name.startswith(("K8S_AUTH_", "KUBE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The time between two tries, which nobody waits for."""
    clock = Clock()
    monkeypatch.setattr(session, "persist", functools.partial(retry.persist, sleep=clock.sleep, clock=clock.monotonic))
    return clock


def kubeconfig(server: str, **user: t.Any) -> dict[str, t.Any]:
    """A kubeconfig with one context called here."""
    return {
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": server}}], "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
    }


def test_request_and_answer() -> None:
    """Method, path, query, body and content type arrive as given; the answer is decoded."""
    with Server(Answer(body={"items": [1]})) as server:
        api = session.Session({"host": server.url})
        assert api.request("GET", PATH, [("labelSelector", "a=b,c"), ("limit", 250)]) == {"items": [1]}
        assert api.request("PATCH", f"{PATH}/n1", [("dryRun", "All")], {"spec": None}, "application/merge-patch+json") == {"items": [1]}
        assert api.request("DELETE", f"{PATH}/n1", (), {"kind": "DeleteOptions"}) == {"items": [1]}
    get, patch, delete = server.seen
    assert (get.method, get.path) == ("GET", f"{PATH}?labelSelector=a%3Db%2Cc&limit=250")
    assert (patch.method, patch.path, json.loads(patch.body)) == ("PATCH", f"{PATH}/n1?dryRun=All", {"spec": None})
    assert patch.headers["content-type"] == "application/merge-patch+json"
    assert (delete.method, json.loads(delete.body)) == ("DELETE", {"kind": "DeleteOptions"})
    assert api.sent == 3
    assert not {"authorization", "impersonate-user"} & set(get.headers)


def test_bearer_token_is_really_sent() -> None:
    """Some releases of the library leave it out (kubernetes-client/python issue 2591)."""
    with Server() as server:
        session.Session({"host": server.url, "api_key": "secret"}).request("GET", PATH)
    assert server.seen[0].headers["authorization"] == "Bearer secret"


def test_username_and_password_are_really_sent() -> None:
    with Server() as server:
        session.Session({"host": server.url, "username": "Aladdin", "password": "open sesame"}).request("GET", PATH)
    assert server.seen[0].headers["authorization"] == "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="


def test_impersonation() -> None:
    with Server() as server:
        session.Session({"host": server.url, "impersonate_user": "jane", "impersonate_groups": ["ops"]}).request("GET", PATH)
    assert (server.seen[0].headers["impersonate-user"], server.seen[0].headers["impersonate-group"]) == ("jane", "ops")
    with pytest.raises(ClusterError, match="one group only, 2 were given"):
        session.Session({"host": server.url, "impersonate_groups": ["ops", "dev"]})


def test_slash_at_the_end_of_host() -> None:
    with Server() as server:
        session.Session({"host": f"{server.url}/"}).request("GET", PATH)
    assert server.seen[0].path == PATH


@pytest.mark.parametrize("shape", ["mapping", "path", "KUBECONFIG", "home"])
def test_kubeconfig(shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server() as server:
        config = kubeconfig(server.url, token="of the file")
        path = tmp_path / (".kube/config" if shape == "home" else "some.conf")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(config))
        if shape == "KUBECONFIG":
            monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'absent'}:{path}")
        given = {"mapping": config, "path": str(path)}.get(shape)
        api = session.Session({"kubeconfig": given})
        api.request("GET", PATH)
    assert api.host == server.url
    assert server.seen[0].headers["authorization"] == "Bearer of the file"


def test_context() -> None:
    with Server() as server:
        config = kubeconfig("http://127.0.0.1:1")
        config["clusters"].append({"name": "other", "cluster": {"server": server.url}})
        config["contexts"].append({"name": "there", "context": {"cluster": "other", "user": "u"}})
        assert session.Session({"kubeconfig": config, "context": "there"}).request("GET", PATH) == {}
        with pytest.raises(ClusterError, match=r"cannot be used: .*nowhere"):
            session.Session({"kubeconfig": config, "context": "nowhere"})


def test_options_win_over_the_kubeconfig() -> None:
    """Not only before the first request: the library loads the kubeconfig again with each."""
    with Server() as server:
        config = kubeconfig("http://127.0.0.1:1", token="of the file")
        api = session.Session({"kubeconfig": config, "host": server.url, "api_key": "given"})
        assert [api.request("GET", PATH) for _try in range(2)] == [{}, {}]
    assert {seen.headers["authorization"] for seen in server.seen} == {"Bearer given"}


def test_a_host_with_the_kubeconfigs_token() -> None:
    with Server() as server:
        api = session.Session({"kubeconfig": kubeconfig("http://127.0.0.1:1", token="of the file"), "host": server.url})
        assert [api.request("GET", PATH) for _try in range(2)] == [{}, {}]
    assert {seen.headers["authorization"] for seen in server.seen} == {"Bearer of the file"}


def test_expired_token_of_an_exec_plugin_is_renewed(tmp_path: Path) -> None:
    """Also where an option overrides a part of the kubeconfig."""
    count = tmp_path / "count"
    plugin = tmp_path / "plugin"
    plugin.write_text(f"""#!/bin/sh
echo x >> {count}
echo '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
"status": {{"token": "'$(wc -l < {count})'", "expirationTimestamp": "2020-01-01T00:00:00Z"}}}}'
""")
    plugin.chmod(0o755)
    with Server() as server:
        config = kubeconfig("http://127.0.0.1:1")
        config["users"][0]["user"] = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin), "interactiveMode": "Never"}}
        api = session.Session({"kubeconfig": config, "host": server.url})
        api.request("GET", PATH)
        api.request("GET", PATH)
    tokens = [int(seen.headers["authorization"].split()[1]) for seen in server.seen]
    assert tokens[0] < tokens[1]


def test_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"no kubeconfig at .*/absent: .*K8S_AUTH_KUBECONFIG"):
        session.Session({"kubeconfig": str(tmp_path / "absent")})
    with pytest.raises(ClusterError, match=rf"no kubeconfig at {tmp_path}/.kube/config"):
        session.Session({})


@pytest.mark.parametrize("garbage", [b"\x00\x80 not yaml: [", b"", b"[]", b"just words", b"users: text\nclusters: 5\ncontexts: {}"])
def test_garbage_in_a_kubeconfig(garbage: bytes, tmp_path: Path) -> None:
    path = tmp_path / "garbage"
    path.write_bytes(garbage)
    with pytest.raises(ClusterError, match=f"kubeconfig {path} cannot be used: "):
        session.Session({"kubeconfig": str(path)})


@pytest.mark.parametrize("garbage", [{}, {"users": "text"}, {"clusters": [1], "contexts": None}])
def test_garbage_as_a_kubeconfig(garbage: dict[str, t.Any]) -> None:
    with pytest.raises(ClusterError, match=r"^kubeconfig \(given as a mapping\)|^no kubeconfig at"):
        session.Session({"kubeconfig": garbage})


@pytest.mark.parametrize("garbage", [5, ["a"], True])
def test_kubeconfig_of_another_type(garbage: t.Any) -> None:
    with pytest.raises(ClusterError, match=r"kubeconfig: .*path.*mapping"):
        session.Session({"kubeconfig": garbage})


def test_in_cluster_outside_of_one() -> None:
    with pytest.raises(ClusterError, match="in-cluster credentials cannot be used"):
        session.Session({"in_cluster": True})


@pytest.mark.parametrize("option", ["ca_cert", "client_cert", "client_key"])
def test_files_that_are_not_there(option: str) -> None:
    with pytest.raises(ClusterError, match=f"{option}: there is no file /nowhere"):
        session.Session({"host": "https://127.0.0.1:1", option: "/nowhere"})


def test_connection_settings_reach_the_library(tmp_path: Path) -> None:
    some = tmp_path / "proxy"
    some.write_text("")
    api = session.Session({"host": "http://h", "validate_certs": False, "proxy": "http://p:3128", "no_proxy": "other",
                           "proxy_headers": {"proxy_basic_auth": "a:b", "basic_auth": None, "user_agent": None}})
    configuration = api._configuration
    assert configuration.verify_ssl is False
    assert configuration.proxy == "http://p:3128"
    assert configuration.no_proxy == "other"
    assert configuration.proxy_headers == {"proxy-authorization": "Basic YTpi"}


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_passing_failures_are_repeated(status: int, clock: Clock) -> None:
    with Server(Answer(status, STATUS), Answer(status, STATUS), Answer(body={"ok": 1})) as server:
        api = session.Session({"host": server.url})
        assert api.request("GET", PATH) == {"ok": 1}
    assert api.sent == len(server.seen) == 3
    assert len(clock.slept) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422])
def test_lasting_failures_are_not_repeated(status: int) -> None:
    with Server(Answer(status, STATUS)) as server, pytest.raises(ApiError, match="words of the server") as caught:
        session.Session({"host": server.url}).request("GET", PATH)
    assert (caught.value.status, caught.value.reason, caught.value.transient) == (status, "SomeReason", False)
    assert len(server.seen) == 1


def test_words_for_401_and_403() -> None:
    with Server(Answer(401, STATUS), Answer(403, STATUS)) as server:
        api = session.Session({"host": server.url})
        with pytest.raises(ApiError, match=rf"{server.url} does not accept these credentials \(401 words of the server\).*renew it and run again"):
            api.request("GET", PATH)
        with pytest.raises(ApiError, match=r"words of the server .*rbac.yaml"):
            api.request("GET", PATH)


@pytest.mark.parametrize(("body", "text"), [(b"plain words", "plain words"), (b"", "Not Found"), (b"[1]", "1"), ({"message": None}, "message")])
def test_refusals_that_are_no_status_objects(body: t.Any, text: str) -> None:
    with Server(Answer(404, body)) as server, pytest.raises(ApiError) as caught:
        session.Session({"host": server.url}).request("GET", PATH)
    assert text in caught.value.message


def test_retry_after_is_waited_for(clock: Clock) -> None:
    with Server(Answer(429, STATUS, [("Retry-After", "3")]), Answer()) as server:
        session.Session({"host": server.url}).request("GET", PATH)
    assert clock.slept == [3.0]


def test_retry_after_beyond_the_budget_fails_at_once(clock: Clock) -> None:
    with Server(Answer(429, STATUS, [("Retry-After", "300")])) as server, pytest.raises(ApiError) as caught:
        session.Session({"host": server.url}).request("GET", PATH)
    assert caught.value.retry_after == 300.0
    assert clock.slept == []


def test_retry_after_as_a_date_is_no_reason_to_fail(clock: Clock) -> None:
    with Server(Answer(503, STATUS, [("Retry-After", "Wed, 21 Oct 2015 07:28:00 GMT")]), Answer()) as server:
        assert session.Session({"host": server.url}).request("GET", PATH) == {}
    assert len(clock.slept) == 1


@pytest.mark.parametrize("cut", [-1, 5])
def test_lost_connections_are_repeated(cut: int) -> None:
    """Before the first word of the answer, and in the midst of it."""
    with Server(Answer(body={"items": list(range(100))}, cut=cut), Answer(body={"ok": 1})) as server:
        api = session.Session({"host": server.url})
        assert api.request("GET", PATH) == {"ok": 1}
    assert api.sent == 2


def test_nobody_answers(clock: Clock) -> None:
    """Little patience with an address that has never answered, none for the requests after one that waited in vain."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    api = session.Session({"host": url}, first_contact=10)
    with pytest.raises(ApiError, match=f"no usable answer from the API server {url}") as caught:
        api.request("GET", PATH)
    assert (caught.value.status, caught.value.transient) == (0, True)
    assert 5 <= clock.now - 1000 <= 10
    tries, waited = api.sent, clock.now
    assert tries > 3
    with pytest.raises(ApiError):
        api.request("GET", PATH)
    assert (api.sent, clock.now) == (tries + 1, waited)


def test_patience_with_a_server_that_has_answered(clock: Clock) -> None:
    """The long budget counts after the first answer, whatever the answer, and again after an outage is over."""
    lost = Answer(cut=-1)
    with Server(Answer(404, STATUS), lost) as server:
        api = session.Session({"host": server.url}, outage=60, first_contact=1)
        for _time in range(2):
            with pytest.raises(ApiError) as caught:
                api.request("GET", PATH)
        assert caught.value.status == 0
        assert 50 <= clock.now - 1000 <= 60
        server.say(Answer(), Answer(503, STATUS))
        assert api.request("GET", PATH) == {}
        before = clock.now
        with pytest.raises(ApiError):
            api.request("GET", PATH)
        assert 50 <= clock.now - before <= 60


def test_budget_of_one_request(clock: Clock) -> None:
    with Server(Answer(), Answer(503, STATUS)) as server:
        api = session.Session({"host": server.url}, outage=60)
        api.request("GET", PATH)
        with pytest.raises(ApiError, match="words of the server"):
            api.request("GET", PATH, budget=4)
    assert 1 <= clock.now - 1000 <= 4


def test_timeout_of_one_request(clock: Clock) -> None:
    """An API server that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        # The oldest release takes a fraction of a second only in a pair (to connect, to read).
        api = session.Session({"host": f"http://127.0.0.1:{mute.getsockname()[1]}", "request_timeout": (0.05, 0.05)}, first_contact=0)
        with pytest.raises(ApiError, match="no usable answer") as caught:
            api.request("GET", PATH)
    assert caught.value.transient


@pytest.mark.parametrize("body", [b"<html>welcome</html>", b"", b"\xff"])
def test_an_answer_that_is_not_json(body: bytes) -> None:
    with Server(Answer(body=body)) as server, pytest.raises(ApiError, match="not JSON; is it a Kubernetes API server") as caught:
        session.Session({"host": server.url}).request("GET", PATH)
    assert not caught.value.transient
    assert len(server.seen) == 1


def test_warnings_of_the_server() -> None:
    warnings = [("Warning", '299 - "first"'), ("Warning", '299 - "with \\"quotes\\" and, comma"')]
    with Server(Answer(headers=warnings), Answer(headers=warnings[:1]), Answer()) as server:
        api = session.Session({"host": server.url})
        for _time in range(3):
            api.request("GET", PATH)
    assert api.warnings == ["first", 'with "quotes" and, comma']


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for 127.0.0.1 that is its own authority, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(1)
            .not_valid_before(now - datetime.timedelta(days=1)).not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False).sign(key, hashes.SHA256()))
    place = tmp_path_factory.mktemp("tls")
    (place / "crt").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (place / "key").write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    return place / "crt", place / "key"


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_untrusted_certificate_is_not_retried(clock: Clock, certificate: tuple[Path, Path]) -> None:
    """It is trusted when it is given as its own authority, or when nobody asks."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with Server(Answer(), tls=context) as server:
        assert session.Session({"host": server.url, "ca_cert": str(certificate[0])}).request("GET", PATH) == {}
        assert session.Session({"host": server.url, "validate_certs": False}).request("GET", PATH) == {}
        api = session.Session({"host": server.url})
        with pytest.raises(ApiError, match=r"(?i)certificate.verify.failed") as caught:
            api.request("GET", PATH)
    assert not caught.value.transient
    assert (api.sent, clock.slept) == (1, [])


def test_unknown_host_is_not_retried(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    def resolve(*_args: t.Any, **_options: t.Any) -> t.NoReturn:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    api = session.Session({"host": "http://nowhere.invalid"})
    with pytest.raises(ApiError) as caught:
        api.request("GET", PATH)
    assert (caught.value.transient, api.sent, clock.slept) == (False, 1, [])


@pytest.mark.parametrize("version", ["27.2.0", "36.0.0", "36.0.1", "1.0"])
def test_releases_that_cannot_be_used(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.kubernetes, "__version__", version)
    with pytest.raises(MissingLibrary, match=rf"kubernetes {version} at .*install kubernetes>=28.1.0,!=36.0.0,!=36.0.1"):
        session.Session({"host": "http://h"})


@pytest.mark.parametrize("version", ["28.1.0", "35.9.0", "36.0.2", "37.1.0b1", "40.0"])
def test_releases_that_can(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session.kubernetes, "__version__", version)
    session.check_library()


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "IMPORT_ERROR", "Traceback: no module")
    with pytest.raises(MissingLibrary, match="could not be imported") as caught:
        session.Session({"host": "http://h"})
    assert caught.value.result == {"exception": "Traceback: no module"}


def test_defaults() -> None:
    assert session.Session({"host": "http://h"}).concurrency == 8
    assert session.Session({"host": "http://h", "concurrency": 3}).concurrency == 3
