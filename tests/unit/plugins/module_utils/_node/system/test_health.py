# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
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

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import health


class Kubelet(http.server.BaseHTTPRequestHandler):
    """Answers /healthz with what the test has put in."""

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


def test_nobody_there() -> None:
    assert "no answer from http://127.0.0.1:9/healthz" in health.healthz(9)


@contextlib.contextmanager
def slow_server(part: bytes, sent: list[bytes]) -> t.Iterator[int]:
    """Accept one connection and send `part` every tenth of a second until the client leaves, 100 times at most."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            connection = server.accept()[0]
            with connection, contextlib.suppress(OSError):
                for _count in range(100):
                    connection.sendall(part)
                    sent.append(part)
                    time.sleep(0.1)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


@pytest.mark.fault(case=47)
def test_one_deadline_for_all_of_an_answer() -> None:
    """A server that sends a byte now and then must not hold the guard."""
    sent: list[bytes] = []
    with slow_server(b"H", sent) as port:
        assert health.healthz(port, seconds=0.5).endswith("it did not answer within 0.5 s")
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
