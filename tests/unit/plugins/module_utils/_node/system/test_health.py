# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import http.server
import threading
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
def test_the_endpoint_is_that_of_config_and_flags(
    config: dict[str, t.Any], argv: list[str], found: tuple[str, int]
) -> None:
    assert health.endpoint(config, argv) == found


def test_well_and_not_well(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert health.healthz(port) == ""
    assert health.healthz(port, "0.0.0.0") == ""
    monkeypatch.setattr(Kubelet, "status", 500)
    monkeypatch.setattr(Kubelet, "text", "[-]syncloop failed")
    assert health.healthz(port) == "healthz answers 500: [-]syncloop failed"


def test_nobody_there() -> None:
    assert "no answer from http://127.0.0.1:9/healthz" in health.healthz(9)
