# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the kubelet on this node answers that it is well (its /healthz, no credentials needed)."""

from __future__ import annotations

import re
import socket
import time
from typing import Any, Callable, Mapping, NamedTuple, Sequence

DEFAULT_PORT = 10248
DEFAULT_ADDRESS = "127.0.0.1"
MOST_BYTES = 4096
# A server that listens everywhere is asked where it can be reached for certain.
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": DEFAULT_ADDRESS}


class Endpoint(NamedTuple):
    """Where a kubelet serves /healthz. Port 0: nowhere, the server is switched off."""

    address: str
    port: int


def endpoint(config: Mapping[str, Any], argv: Sequence[str] = ()) -> Endpoint:
    """Return where a kubelet with this config and command line answers: flags win, defaults are 127.0.0.1 and 10248
    (Kubernetes 1.20 defaults.go).

    Raises ValueError for a port that is no number.
    """
    address = flag(argv, "healthz-bind-address") or str(config.get("healthzBindAddress") or DEFAULT_ADDRESS)
    given = flag(argv, "healthz-port")
    port = config.get("healthzPort") if given is None else given
    return Endpoint(_ANYWHERE.get(address, address), DEFAULT_PORT if port is None else int(port))


def flag(argv: Sequence[str], name: str) -> str | None:
    """Return the last value a command line gives for a flag that takes one, None when it gives none."""
    found = None
    for at, word in enumerate(argv):
        if word == "--":
            break
        key, equals, value = word.partition("=")
        if key.startswith("--") and key[2:].replace("_", "-") == name:
            found = value if equals else (argv[at + 1] if at + 1 < len(argv) else "")
    return found


def healthz(port: int = DEFAULT_PORT, address: str = DEFAULT_ADDRESS, seconds: float = 2.0) -> str:
    """Ask once; return an empty string when the kubelet is well, else what is wrong. Never raises."""
    # Plain HTTP/1.0 over a socket: an HTTP library would double the memory of the guard, which lives as long as a trial
    # does.
    try:
        with socket.create_connection((_ANYWHERE.get(address, address), port), seconds) as connection:
            connection.settimeout(seconds)
            connection.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b""
            while len(answer) < MOST_BYTES:
                part = connection.recv(MOST_BYTES)
                if not part:
                    break
                answer += part
    except OSError as error:
        return f"no answer from http://{address}:{port}/healthz: {error}"
    head, _blank, body = answer.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.[01] (\d{3})", head)
    if status is None:
        return f"no HTTP from http://{address}:{port}/healthz"
    if status.group(1) == b"200":
        return ""
    return f"healthz says {status.group(1).decode()}: {body[:300].decode('utf-8', 'replace').strip()}"


def wait_healthy(
    where: Endpoint,
    times: int = 3,
    seconds: float = 60.0,
    pause: float = 0.25,
    ask: Callable[..., str] = healthz,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Any] = time.sleep,
) -> str:
    """Ask until the kubelet is well `times` in a row; return an empty string, or what was wrong last when `seconds` are
    over.
    """
    deadline = clock() + seconds
    row = 0
    wrong = ""
    while True:
        answer = ask(where.port, where.address)
        row = 0 if answer else row + 1
        wrong = answer or wrong
        if row >= times:
            return ""
        if clock() >= deadline:
            return wrong or f"well {row} of {times} times in a row, then {seconds:g} s were over"
        sleep(pause)
