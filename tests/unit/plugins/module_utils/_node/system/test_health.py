# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is a sign of life of the kubelet and of its container runtime, and where the runtime is."""

from __future__ import annotations

import contextlib
import http.server
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import health

Serve = t.Callable[[socket.socket], object]


class Kubelet(http.server.BaseHTTPRequestHandler):
    status, text = 200, "ok"

    def do_GET(self) -> None:
        self.send_response(self.status if self.path == "/healthz" else 404)
        self.end_headers()
        self.wfile.write(self.text.encode())

    def log_message(self, *dummy: t.Any) -> None:
        """Stay quiet."""


@pytest.fixture
def port() -> t.Iterator[int]:
    server = http.server.HTTPServer(("127.0.0.1", 0), Kubelet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize(
    ("config", "argv", "found"),
    [
        ({}, [], ("127.0.0.1", 10248)),
        ({"healthzPort": 10300, "healthzBindAddress": "0.0.0.0"}, [], ("127.0.0.1", 10300)),
        ({"healthzPort": 10300}, ["kubelet", "--healthz-port=10400"], ("127.0.0.1", 10400)),
        ({"healthzPort": 0}, [], ("127.0.0.1", 0)),
        ({}, ["--healthz_port", "1", "--healthz-port=2", "--healthz-bind-address", "::"], ("::1", 2)),
        ({"healthzBindAddress": "10.0.0.5"}, [], ("10.0.0.5", 10248)),
        ({}, ["--", "--healthz-port=2"], ("127.0.0.1", 10248)),
    ],
)
@pytest.mark.fault(case=6)
def test_the_endpoint_is_that_of_config_and_flags(
    config: dict[str, t.Any], argv: list[str], found: tuple[str, int]
) -> None:
    assert health.endpoint(config, argv) == found


@pytest.mark.fault(case=8)
def test_well_and_not_well(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert health.healthz(port) == ""
    assert health.healthz(port, "0.0.0.0") == ""
    monkeypatch.setattr(Kubelet, "status", 500)
    monkeypatch.setattr(Kubelet, "text", "[-]syncloop failed")
    assert health.healthz(port) == "healthz answers 500: [-]syncloop failed"
    assert "no answer from http://127.0.0.1:9/healthz" in health.healthz(9)


@contextlib.contextmanager
def serving(server: socket.socket, serve: Serve) -> t.Iterator[None]:
    """Let a server answer one connection in a thread; it ends when its peer closes the connection."""

    def one() -> None:
        with contextlib.suppress(OSError), server.accept()[0] as connection:
            serve(connection)

    thread = threading.Thread(target=one, daemon=True)
    thread.start()
    yield
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.fault(case=47)
def test_one_deadline_for_all_of_an_answer() -> None:
    """A server that sends a byte now and then must not hold the guard."""
    sent: list[bytes] = []

    def serve(connection: socket.socket) -> None:
        for _count in range(100):
            sent.append(b"H")
            connection.sendall(b"H")
            time.sleep(0.1)

    with socket.create_server(("127.0.0.1", 0)) as server, serving(server, serve):
        assert health.healthz(server.getsockname()[1], seconds=0.5).endswith("it did not answer within 0.5 s")
    assert len(sent) < 100


LISTENER = """
import socket, sys
with socket.create_server((sys.argv[1], 0), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET,
                          dualstack_ipv6=sys.argv[1] == "::") as server:
    print(server.getsockname()[1], flush=True)
    while True:
        with server.accept()[0] as connection:
            connection.recv(1000)
            connection.sendall(b"HTTP/1.0 200 OK\\r\\n\\r\\nok")
"""
PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-I", "-c", sys.argv[1], "127.0.0.1"])
try:
    sys.stdin.read()
finally:
    child.kill()
"""


@contextlib.contextmanager
def process(*words: str) -> t.Iterator[tuple[int, int]]:
    """Yield pid and port of a Python process that prints its port."""
    with subprocess.Popen(
        [sys.executable, "-I", "-c", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as found:
        try:
            assert found.stdout and found.stdin
            yield found.pid, int(found.stdout.readline())
            found.stdin.close()
            if words[0] == PARENT:
                found.wait(timeout=60)
        finally:
            found.kill()


@pytest.mark.parametrize(
    ("listens", "asked"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "0.0.0.0"), ("::1", "::1"), ("::", "::"), ("::", "127.0.0.1")],
)
@pytest.mark.fault(case=47)
def test_the_kubelet_itself_must_listen(listens: str, asked: str) -> None:
    with process(LISTENER, listens) as (pid, port), process(LISTENER, "127.0.0.1") as (other, _port):
        assert health.healthz(port, asked, pid=pid) == ""
        wrong = health.healthz(port, asked, pid=other)
        assert wrong.startswith(f"another process than the kubelet ({other}) listens on http://{asked}:{port}/healthz")
        assert "`ss -ltnp`" in wrong
        # A kubelet that has ended has no port.
        assert health.healthz(port, asked, pid=2**22 + 1)


def test_a_process_that_the_unit_started_may_be_the_kubelet() -> None:
    """The unit of RKE2 runs a supervisor, whose child is the kubelet."""
    with process(PARENT, LISTENER) as (pid, port):
        assert health.healthz(port, pid=pid) == ""


def test_where_processes_are_hidden_the_answer_counts(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden(_path: str) -> list[str]:
        raise PermissionError

    monkeypatch.setattr(os, "listdir", hidden)
    assert health.healthz(port, pid=1) == ""


@pytest.mark.parametrize(
    ("name", "binary"), [("/usr/bin/kubelet", "/usr/bin/kubelet"), ("kubelet", os.path.realpath("/usr/bin/sleep"))]
)
def test_the_kubelet_among_the_processes_that_a_service_started(name: str, binary: str) -> None:
    """The agent of RKE2 starts it, by its name alone; else the process of the unit is the kubelet."""
    script = f"bash -c 'exec -a {name} sleep 60' & echo $!; wait"
    with subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE, text=True) as agent:
        assert agent.stdout
        child = int(agent.stdout.readline())
        try:
            deadline = time.monotonic() + 60
            while health.kubelet_of(agent.pid) != child and time.monotonic() < deadline:
                time.sleep(0.02)
            assert health.kubelet_of(agent.pid) == child == health.kubelet_of(child)
            assert health.argv_of_child(agent.pid) == [binary, "60"]
            # A unit may give its kubelet another name than its path.
            assert health.argv_of_child(child) == [name, "60"]
        finally:
            os.kill(child, signal.SIGKILL)
            agent.kill()
    assert health.kubelet_of(os.getpid()) == os.getpid() and health.kubelet_of(0) == 0


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
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(path)
        server.listen()
        with serving(server, serve):
            yield


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
