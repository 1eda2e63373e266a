# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests with the credentials that a kubelet would use, against a TLS server that reports who asked and how."""

from __future__ import annotations

import base64
import datetime
import http.server
import json
import os
import socket
import ssl
import threading
import typing as t
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.connection import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.kubeconfig import (
    Kubeconfig,
    not_after,
    proxy_of,
)
from tests.support.api.server import kubeconfig

SERVER = "api.internal"
VERSION = "client.authentication.k8s.io/v1beta1"
NOW = datetime.datetime.now(datetime.UTC)


class Signer:
    """A certificate authority; `pair` returns the PEM texts of a certificate and its key."""

    def __init__(self) -> None:
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
        self.pem = self._sign(self.name, self.key, 1, x509.BasicConstraints(ca=True, path_length=None))

    def pair(self, name: str, days: int = 1, host: str = "") -> tuple[str, str]:
        key = ec.generate_private_key(ec.SECP256R1())
        group = x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:nodes")
        subject = x509.Name([group, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.DNSName(host or "client.invalid")])
        pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL
        text = key.private_bytes(pem, form, serialization.NoEncryption())
        return self._sign(subject, key, days, names), text.decode()

    def _sign(self, subject: x509.Name, key: t.Any, days: int, extension: x509.ExtensionType) -> str:
        begin, end = (NOW + datetime.timedelta(days=each) for each in (-9, days))
        serial = x509.random_serial_number()
        builder = x509.CertificateBuilder(self.name, subject, key.public_key(), serial, begin, end)
        signed = builder.add_extension(extension, False).sign(self.key, hashes.SHA256())
        return signed.public_bytes(serialization.Encoding.PEM).decode()


class Server:
    """Answers each request with the name of the client's certificate, its token and the name in the handshake.

    A client whose certificate is not in `accepted` (if that is set) gets a 401.
    """

    def __init__(self, signer: Signer, folder: Path) -> None:
        self.signer, self.accepted, self.seen = signer, t.cast("set[str] | None", None), t.cast("list[str]", [])
        (folder / "server.pem").write_text("".join(signer.pair(SERVER, host=SERVER)))
        (folder / "ca.crt").write_text(signer.pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_verify_locations(str(folder / "ca.crt"))
        context.load_cert_chain(folder / "server.pem")
        context.verify_mode = ssl.CERT_OPTIONAL
        names: list[str | None] = []
        context.sni_callback = lambda _socket, name, _context: names.append(name)
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = dict(item[0] for item in (self.connection.getpeercert() or {}).get("subject", ()))
                name = found.get("commonName", "")
                outer.seen.append(name)
                seen = {"name": name, "token": self.headers.get("Authorization"), "asked": names[-1]}
                self.send_response(401 if outer.accepted is not None and name not in outer.accepted else 200)
                self.end_headers()
                self.wfile.write(json.dumps(seen).encode())

            def log_message(self, *dummy: t.Any) -> None:
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.socket = context.wrap_socket(self.http.socket, server_side=True)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server(tmp_path: Path) -> t.Iterator[Server]:
    server = Server(Signer(), tmp_path)
    yield server
    server.http.shutdown()
    server.http.server_close()


def data(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def inline(pair: tuple[str, str]) -> dict[str, str]:
    return {"client-certificate-data": data(pair[0]), "client-key-data": data(pair[1])}


def connect(
    server: Server, folder: Path, user: dict[str, t.Any], environ: dict[str, str] | None = None, **cluster: t.Any
) -> Kubeconfig:
    document = kubeconfig({"k": f"https://127.0.0.1:{server.port}"}, user)
    names = {"certificate-authority": "ca.crt", "tls-server-name": SERVER, **cluster}
    document["clusters"][0]["cluster"].update(names)
    path = folder / "kubelet.conf"
    path.write_text(json.dumps(document))
    return Kubeconfig(str(path), 5, str(folder / "pki"), environ=environ)


def rotated(folder: Path, pair: tuple[str, str]) -> None:
    (folder / "pki").mkdir()
    (folder / "pki/kubelet-client-2026.pem").write_text("".join(pair))
    (folder / "pki/kubelet-client-current.pem").symlink_to("kubelet-client-2026.pem")


def test_the_name_of_the_servers_certificate(server: Server, tmp_path: Path) -> None:
    answer = connect(server, tmp_path, {"token": "abc"}).call("GET", "/x")
    assert answer == {"name": "", "token": "Bearer abc", "asked": SERVER}
    with pytest.raises(ApiError, match=r"(?i)certificate"):
        connect(server, tmp_path, {}, **{"tls-server-name": ""}).call("GET", "/x")


def test_a_comment_beside_an_inline_authority_may_be_of_any_language(server: Server, tmp_path: Path) -> None:
    """kubeadm copies the file of an own authority as it is, and kubelets skip what is no certificate."""
    authority = {"certificate-authority": None, "certificate-authority-data": data(f"# Société\n{server.signer.pem}")}
    assert connect(server, tmp_path, {"token": "abc"}, **authority).call("GET", "/x")["token"] == "Bearer abc"


def test_the_nodes_name_is_that_of_its_certificate(server: Server, tmp_path: Path) -> None:
    (tmp_path / "pair.pem").write_text("".join(server.signer.pair("system:node:worker-7.example")))
    found = connect(server, tmp_path, {"client-certificate": "pair.pem", "client-key": "pair.pem"})
    found.override = "other"
    assert found.node_name() == found.certified_name() == "worker-7.example"
    found = connect(server, tmp_path, {"token": "x"})
    found.override = "Other"
    assert (found.node_name(), found.certified_name()) == ("other", "")
    plugin = {"exec": {"command": "no-such-plugin"}}
    assert connect(server, tmp_path, plugin).certified_name() == "", "it is not run for this"


def test_a_server_without_a_scheme_and_a_key_beside_an_inline_certificate(server: Server, tmp_path: Path) -> None:
    certificate, key = server.signer.pair("system:node:worker-7")
    (tmp_path / "key.pem").write_text(key)
    path = connect(server, tmp_path, {"client-certificate-data": data(certificate), "client-key": "key.pem"}).path
    Path(path).write_text(Path(path).read_text().replace("https://", ""))
    assert Kubeconfig(path).call("GET", "/x")["name"] == "system:node:worker-7"


def test_an_expired_inline_certificate_is_replaced_by_the_rotated_one(server: Server, tmp_path: Path) -> None:
    expired = inline(server.signer.pair("system:node:old", days=-1))
    with pytest.raises(ApiError):
        connect(server, tmp_path, expired).call("GET", "/x")
    rotated(tmp_path, server.signer.pair("system:node:worker-7"))
    api = connect(server, tmp_path, expired)
    assert (api.call("GET", "/x")["name"], api.node_name()) == ("system:node:worker-7", "worker-7")


def test_a_valid_inline_certificate_is_used_until_the_server_refuses_it(server: Server, tmp_path: Path) -> None:
    rotated(tmp_path, server.signer.pair("system:node:new"))
    api = connect(server, tmp_path, inline(server.signer.pair("system:node:inline")))
    assert (api.call("GET", "/x")["name"], api.node_name()) == ("system:node:inline", "inline")
    server.accepted = {"system:node:new"}
    server.seen.clear()
    assert api.call("GET", "/x")["name"] == "system:node:new"
    assert server.seen == ["system:node:inline", "system:node:new"]
    server.accepted = set()
    with pytest.raises(ApiError) as raised:
        api.call("GET", "/x")
    assert raised.value.status == 401


def plugin(folder: Path, text: str) -> dict[str, t.Any]:
    path = folder / "get-token"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    command = {"command": "./get-token", "args": ["token", "-i", "mine"], "env": [{"name": "REGION", "value": "eu"}]}
    return {"exec": {"apiVersion": VERSION, "provideClusterInfo": True, **command}}


def credential(**status: str) -> str:
    return json.dumps({"apiVersion": VERSION, "kind": "ExecCredential", "status": status})


def test_a_plugin_gives_a_token(server: Server, tmp_path: Path) -> None:
    """As on nodes of EKS: the plugin gets its arguments, its environment, and what the cluster is."""
    user = plugin(
        tmp_path,
        f"""[ "$*" = "token -i mine" ] && [ "$REGION" = eu ] || exit 3
echo "$KUBERNETES_EXEC_INFO" >> {tmp_path}/info
echo '{credential(token="secret-1")}'""",
    )
    api = connect(server, tmp_path, user)
    api.override = "Other"
    assert api.node_name() == "other"
    assert api.call("GET", "/x")["token"] == "Bearer secret-1"
    info = json.loads((tmp_path / "info").read_text())
    assert (info["kind"], info["spec"]["interactive"]) == ("ExecCredential", False)
    assert info["spec"]["cluster"]["server"] == f"https://127.0.0.1:{server.port}"


def test_a_plugin_runs_in_the_environment_of_the_kubelet(server: Server, tmp_path: Path) -> None:
    """As one that a drop-in of the unit gives a folder in PATH, and an account."""
    user = plugin(tmp_path, f"[ $ACCOUNT = 7 ] && echo '{credential(token='secret-1')}'")
    user["exec"]["command"] = "get-token"
    with pytest.raises(ApiError, match="its plugin get-token is not installed in"):
        connect(server, tmp_path, user).call("GET", "/x")
    environ = {"PATH": f"{tmp_path}:/usr/bin:/bin", "ACCOUNT": "7"}
    assert connect(server, tmp_path, user, environ).call("GET", "/x")["token"] == "Bearer secret-1"


def test_a_plugin_gives_a_certificate(server: Server, tmp_path: Path) -> None:
    certificate, key = server.signer.pair("system:node:by-plugin")
    printed = credential(clientCertificateData=certificate, clientKeyData=key).replace("\\n", "\\\\n")
    api = connect(server, tmp_path, plugin(tmp_path, f"echo '{printed}'"))
    assert (api.call("GET", "/x")["name"], api.node_name()) == ("system:node:by-plugin", "by-plugin")


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo no role >&2; exit 5", "exit status 5: no role"),
        ("echo secret-2", "no ExecCredential"),
        ("printf '[%.0s' $(seq 50000)", "no ExecCredential"),
        ("echo '{\"status\": {}}'", "neither a token nor a certificate"),
        ("sleep 60", "timed out"),
    ],
)
def test_a_plugin_that_fails(script: str, message: str, server: Server, tmp_path: Path) -> None:
    api = connect(server, tmp_path, plugin(tmp_path, script))
    api.timeout = 1
    with pytest.raises(ApiError, match=message) as raised:
        api.call("GET", "/x")
    assert "secret" not in str(raised.value) and "get-token" in str(raised.value)


@pytest.mark.parametrize("token", ["secret-3\n", "secret-3\n\nX-Other: 1", "secret-3\u2026"])
def test_a_token_that_no_header_can_have_is_not_quoted(token: str, server: Server, tmp_path: Path) -> None:
    """http.client quotes the whole header."""
    printed = credential(token=token).replace("\\", "\\\\")
    for user in ({"token": token}, plugin(tmp_path, f"echo '{printed}'")):
        with pytest.raises(ApiError, match="its token contains a character that no HTTP header can have") as raised:
            connect(server, tmp_path, user).call("GET", "/x")
        assert "secret" not in str(raised.value)


@pytest.mark.parametrize("days", [1, 40000])
def test_when_a_certificate_expires(days: int) -> None:
    """Beyond 2049 a certificate has the other type of time."""
    end = (NOW + datetime.timedelta(days=days)).replace(microsecond=0).timestamp()
    assert not_after(Signer().pair("a", days)[0]) == end
    assert not_after("no certificate") is None


class Proxy(threading.Thread):
    """A proxy for one CONNECT request."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.request = b""

    def run(self) -> None:
        client, _address = self.listener.accept()
        while b"\r\n\r\n" not in self.request:
            self.request += client.recv(4096)
        host, _colon, port = self.request.split()[1].decode().partition(":")
        upstream = socket.create_connection((host, int(port)))
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        back = threading.Thread(target=self._copy, args=(upstream, client), daemon=True)
        back.start()
        self._copy(client, upstream)
        back.join(60)
        for each in (client, upstream, self.listener):
            each.close()

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        try:
            while part := source.recv(65536):
                target.sendall(part)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass


@pytest.fixture
def proxy() -> t.Iterator[Proxy]:
    proxy = Proxy()
    proxy.start()
    yield proxy
    proxy.join(60)


def test_a_proxy(server: Server, tmp_path: Path, proxy: Proxy) -> None:
    api = connect(server, tmp_path, {"token": "abc"}, **{"proxy-url": f"http://u:p@127.0.0.1:{proxy.port}"})
    assert api.call("GET", "/x")["token"] == "Bearer abc"
    assert proxy.request.startswith(f"CONNECT 127.0.0.1:{server.port} ".encode())
    assert f"Proxy-Authorization: Basic {data('u:p')}".encode() in proxy.request
    with pytest.raises(ApiError, match=r"socks5://127\.0\.0\.1:1 is not supported"):
        connect(server, tmp_path, {"token": "abc"}, **{"proxy-url": "socks5://127.0.0.1:1"}).call("GET", "/x")


PROXIES = [
    ({}, "api.example", ""),
    ({"HTTPS_PROXY": "http://p:1"}, "api.example", "http://p:1"),
    ({"https_proxy": "p:1"}, "10.1.2.3", "http://p:1"),
    ({"HTTPS_PROXY": "p:1"}, "127.0.0.1", ""),
    ({"HTTPS_PROXY": "p:1"}, "::1", ""),
    ({"HTTPS_PROXY": "p:1"}, "localhost", ""),
]
EXCEPTIONS = [
    ("", "api.example", False),
    ("*", "api.example", True),
    ("other, API.example", "api.example", True),
    ("example", "api.example", True),
    (".example", "api.example", True),
    ("*.example", "api.example", True),
    (".api.example", "api.example", False),
    ("i.example", "api.example", False),
    ("api.example:6443", "api.example", True),
    ("api.example:443", "api.example", False),
    ("10.0.0.0/8", "10.1.2.3", True),
    ("10.0.0.0/8", "11.1.2.3", False),
    ("10.0.0.0/8", "api.example", False),
    ("10.1.2.3", "10.1.2.3", True),
    ("10.1.2.3:443", "10.1.2.3", False),
    ("fd00::/8", "fd00::1", True),
    ("[fd00::1]:6443", "fd00::1", True),
]


@pytest.mark.parametrize(("environ", "host", "found"), PROXIES)
def test_the_proxy_of_an_environment(environ: dict[str, str], host: str, found: str) -> None:
    assert proxy_of(environ, host, 6443) == found


@pytest.mark.parametrize(("entries", "host", "direct"), EXCEPTIONS)
def test_the_servers_without_a_proxy(entries: str, host: str, direct: bool) -> None:
    found = proxy_of({"HTTPS_PROXY": "p:1", "NO_PROXY": entries}, host, 6443)
    assert found == ("" if direct else "http://p:1")


def test_a_kubelet_whose_environment_names_a_proxy(server: Server, tmp_path: Path, proxy: Proxy) -> None:
    environ = {"HTTPS_PROXY": "socks5://127.0.0.1:1"}
    api = connect(server, tmp_path, {"token": "abc"}, environ)
    api.server = "https://api.invalid:6443"
    with pytest.raises(ApiError, match=r"HTTPS_PROXY of the kubelet: socks5://127\.0\.0\.1:1 is not supported"):
        api.call("GET", "/x")
    own = {"proxy-url": f"http://127.0.0.1:{proxy.port}"}
    assert connect(server, tmp_path, {"token": "abc"}, environ, **own).call("GET", "/x")["token"] == "Bearer abc"


def test_no_key_is_left_on_the_disk(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = set(os.listdir(tmp_path)) | {"kubelet.conf"}
    connect(server, tmp_path, inline(server.signer.pair("system:node:a"))).call("GET", "/x")
    assert set(os.listdir(tmp_path)) == before


def test_a_proxy_that_is_no_url_is_not_quoted(server: Server, tmp_path: Path) -> None:
    """The first has a slash in its password, which urllib takes for the port."""
    for address in ("http://u:secret-4/x@127.0.0.1:1", "http://u:secret-4@[127.0.0.1", "u:secret-4@h:1"):
        with pytest.raises(ApiError, match="proxy-url") as raised:
            connect(server, tmp_path, {"token": "abc"}, **{"proxy-url": address}).call("GET", "/x")
        assert "secret" not in str(raised.value)
