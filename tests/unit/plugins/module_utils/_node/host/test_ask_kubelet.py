# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program that asks the kubelet of its host: what it prints, whatever answers there."""

from __future__ import annotations

import base64
import inspect
import json
import socket
import subprocess
import sys
import threading
import typing as t
import zlib

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import ask_kubelet
from tests.sim.tls import Certificates

TOKEN = "planted-token"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Return the authority of the servers."""
    return Certificates(tmp_path_factory.mktemp("tls"))


class Served:
    """`with Served(certificates, answer) as port:` - a TLS server for `n1` that sends these bytes and closes."""

    def __init__(self, certificates: Certificates, answer: bytes, family: int = socket.AF_INET) -> None:
        self._tls, self._answer = certificates.server("n1"), answer
        self._listener = socket.socket(family)
        self._listener.bind(("::1" if family == socket.AF_INET6 else "127.0.0.1", 0))
        self._listener.listen()
        self.heard = b""

    def __enter__(self) -> t.Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._listener.close()

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    def _serve(self) -> None:
        try:
            with self._tls.wrap_socket(self._listener.accept()[0], server_side=True) as door:
                self.heard = door.recv(65536)
                door.sendall(self._answer)
                if not self._answer:
                    door.recv(1)
        except OSError:
            pass


def asked(certificates: Certificates, port: int, **more: t.Any) -> dict[str, t.Any]:
    tls = {"authorities": certificates.authority.read_text(), "own": "/none", "verify": True}
    return {**tls, "seconds": 5, "name": "n1", "port": port, "path": "/configz", "token": TOKEN, **more}


@pytest.mark.parametrize("more", [{}, {"name": "n2", "verify": False}], ids=["", "without verification"])
def test_an_answer(certificates: Certificates, more: dict[str, t.Any]) -> None:
    with Served(certificates, OK) as server:
        found = ask_kubelet.answer(asked(certificates, server.port, **more))
    assert found["status"] == 200 and zlib.decompress(base64.b64decode(found["body"])) == b"{}"
    assert server.heard.startswith(b"GET /configz HTTP/1.1\r\n") and f"Bearer {TOKEN}".encode() in server.heard


@pytest.mark.skipif(not socket.has_ipv6, reason="this machine has no IPv6")
def test_a_kubelet_that_listens_on_ipv6_only(certificates: Certificates) -> None:
    try:
        server = Served(certificates, OK, socket.AF_INET6)
    except OSError as error:
        pytest.skip(f"no loopback address of IPv6: {error}")
    with server:
        assert ask_kubelet.answer(asked(certificates, server.port))["status"] == 200


FAULTS: tuple[tuple[bytes, dict[str, t.Any], str, bool], ...] = (
    (OK, {"name": "n2"}, "Hostname mismatch", True),
    (OK, {"authorities": None}, "CERTIFICATE_VERIFY_FAILED", True),
    (OK, {"authorities": "none"}, "cannot be read", True),
    (b"SSH-2.0-OpenSSH\r\n", {}, "BadStatusLine", False),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", {}, "ends early", False),
    (b"", {"seconds": 0.3}, "timed out|Timeout", False),
)


@pytest.mark.parametrize(("answer", "more", "words", "untrusted"), FAULTS, ids=[row[2] for row in FAULTS])
def test_a_fault(
    certificates: Certificates, answer: bytes, more: dict[str, t.Any], words: str, untrusted: bool
) -> None:
    """What does not verify gets no request."""
    with Served(certificates, answer) as server:
        found = ask_kubelet.answer(asked(certificates, server.port, **more))
    assert any(word in found["error"] for word in words.split("|")), found
    assert bool(found.get("untrusted")) == untrusted
    assert (TOKEN.encode() in server.heard) == (not untrusted)


def test_a_port_that_nothing_listens_on(certificates: Certificates) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    assert "refused" in ask_kubelet.answer(asked(certificates, port))["error"]


def test_an_endless_answer(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_kubelet, "LARGEST", 1)
    with Served(certificates, OK) as server:
        assert "more than 1 bytes" in ask_kubelet.answer(asked(certificates, server.port))["error"]


@pytest.mark.parametrize("wrong", [{"authorities": 5}, {"seconds": "many"}])
def test_a_defect_does_not_show_the_token(certificates: Certificates, wrong: dict[str, t.Any]) -> None:
    """Python 3.13 prints the lines of a program from its standard input with a traceback."""
    given = json.dumps({**asked(certificates, 1), **wrong})
    program = f"{inspect.getsource(ask_kubelet)}\n\nmain(json.loads({given!r}))\n"
    done = subprocess.run([sys.executable, "-I", "-"], input=program, capture_output=True, text=True, check=True)
    assert ask_kubelet.MARK in done.stdout and "the request failed: " in done.stdout
    assert TOKEN not in done.stdout + done.stderr
