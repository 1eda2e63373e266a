# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the container runtime is, and what is a sign of life of it."""

from __future__ import annotations

import contextlib
import socket
import threading
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import health

Serve = t.Callable[[socket.socket], object]
SETTINGS = b"\0\0\6\4\0\0\0\0\0\0\5\0\0\x40\0"
PING = b"\0\0\x08\6\0\0\0\0\0" + bytes(8)
WINDOW_UPDATE = b"\0\0\4\x08\0\0\0\0\0\0\0\0\5"
HEADERS = b"\0\0\1\1\4\0\0\0\1\x88"
DATA = b"\0\0\0\0\1\0\0\0\1"
RST_STREAM = b"\0\0\4\3\0\0\0\0\1\0\0\0\1"
GOAWAY = b"\0\0\x08\7\0\0\0\0\0" + bytes(8)

ENDPOINT = "--container-runtime-endpoint"


@pytest.mark.parametrize(
    ("words", "config", "version", "expected"),
    [
        ([f"{ENDPOINT}=unix:///run/a.sock"], {"containerRuntimeEndpoint": "unix:///run/b.sock"}, "", "/run/a.sock"),
        ([ENDPOINT, "/run/a.sock"], {}, "v1.20.2", "/run/a.sock"),
        ([], {"containerRuntimeEndpoint": "unix:///run/b.sock"}, "v1.33.1", "/run/b.sock"),
        ([], {}, "v1.24.0", health.CONTAINERD),
        ([], {}, "v1.20.2", health.DOCKER),
        (["--container-runtime=docker", "--docker-endpoint=unix:///run/d.sock"], {}, "v1.20.2", "/run/d.sock"),
        (["--container-runtime=remote"], {}, "v1.20.2", ""),
        ([], {}, "", ""),
        ([f"{ENDPOINT}=tcp://127.0.0.1:1"], {}, "v1.20.2", ""),
    ],
)
def test_the_runtime_is_where_flags_and_configuration_put_it(
    words: list[str], config: dict[str, str], version: str, expected: str
) -> None:
    assert health.runtime_socket(config, ["kubelet", *words], version) == expected


@contextlib.contextmanager
def listening(path: str, serve: Serve) -> t.Iterator[None]:
    """Let a server answer one connection in a thread; it ends when its peer closes the connection."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(path)
        server.listen()

        def one() -> None:
            with contextlib.suppress(OSError), server.accept()[0] as connection:
                serve(connection)

        thread = threading.Thread(target=one, daemon=True)
        thread.start()
        yield
        thread.join(30)
        assert not thread.is_alive()


def until_closed(connection: socket.socket) -> bytes:
    """Return what the peer sends until it closes the connection."""
    found = b""
    while True:
        more = connection.recv(4096)
        if not more:
            return found
        found += more


def answers(*parts: bytes) -> Serve:
    """Return a server that reads the request's begin, sends some parts, and then waits for the end."""

    def serve(connection: socket.socket) -> None:
        connection.recv(1)
        for part in parts:
            connection.sendall(part)
        until_closed(connection)

    return serve


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the path of a socket. A sign of life has any time to arrive."""
    monkeypatch.setattr(health, "RUNTIME_SECONDS", 30.0)
    return str(tmp_path / "c.sock")


@pytest.mark.parametrize(
    "parts",
    [
        [SETTINGS, HEADERS, DATA],
        [SETTINGS + PING + WINDOW_UPDATE + HEADERS],
        [*(bytes([one]) for one in SETTINGS + HEADERS[:4])],
        [SETTINGS, DATA],
        [SETTINGS, RST_STREAM],
        [SETTINGS, GOAWAY],
        [GOAWAY],
        [b"HTTP/1.1 400 Bad Request\r\n\r\n"],
    ],
)
def test_an_answer_is_a_sign_of_life(path: str, parts: list[bytes]) -> None:
    with listening(path, answers(*parts)):
        assert health.away(path) == ""


def test_a_process_that_closes_the_connection_does_not_hang(path: str) -> None:
    with listening(path, lambda _connection: None):
        assert health.away(path) == ""
    Path(path).unlink()
    with listening(path, lambda connection: connection.recv(1) and connection.sendall(SETTINGS)):
        assert health.away(path) == ""


def endless(connection: socket.socket) -> None:
    while True:
        connection.sendall(PING)


@pytest.mark.parametrize(
    "serve",
    [until_closed, answers(SETTINGS), answers(SETTINGS, SETTINGS[:5]), answers(SETTINGS, PING, WINDOW_UPDATE), endless],
    ids=["nothing", "settings", "half a frame", "transport", "transport without end"],
)
@pytest.mark.fault(case=36)
def test_a_runtime_that_hangs_is_away(path: str, monkeypatch: pytest.MonkeyPatch, serve: Serve) -> None:
    """What the transport sends by itself is none: the process behind it may hang."""
    monkeypatch.setattr(health, "RUNTIME_SECONDS", 0.2)
    with listening(path, serve):
        assert health.away(path) == f"{path} accepts connections and does not answer"


def test_the_request_is_that_of_the_version(path: str) -> None:
    """Frames as in RFC 9113. Each kubelet that ends in the gate e2e_node makes the guard ask a real containerd."""
    seen = []

    def serve(connection: socket.socket) -> None:
        connection.sendall(HEADERS)
        seen.append(until_closed(connection))

    with listening(path, serve):
        health.away(path)
    preface, rest, frames = seen[0][:24], seen[0][24:], []
    while rest:
        end = 9 + int.from_bytes(rest[:3], "big")
        frames.append((rest[3], rest[4], int.from_bytes(rest[5:9], "big"), rest[9:end]))
        rest = rest[end:]
    assert preface == b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    assert [frame[:3] for frame in frames] == [(4, 0, 0), (1, 4, 1), (0, 1, 1)]
    assert b"\x22/runtime.v1.RuntimeService/Version" in frames[1][3]
    assert frames[2][3] == bytes(5)


def test_a_runtime_is_away_when_nothing_listens(path: str) -> None:
    assert health.away(path) == f"{path} does not exist"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(path)
        assert health.away(path) == f"{path} refuses connections"
    for impossible in ("/" + "x" * 200, "/\ud800"):
        assert health.away(impossible) == "", "a path that no socket can have is not evidence"


def test_a_runtime_that_takes_no_more_connections_is_away(path: str) -> None:
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
        server.bind(path)
        server.listen(0)
        with contextlib.suppress(BlockingIOError):
            while True:
                one = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                one.setblocking(False)
                one.connect(path)
        assert health.away(path) == f"{path} accepts connections and does not answer"
