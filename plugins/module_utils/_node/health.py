# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the kubelet on this node answers that it is well (its /healthz, no credentials needed)."""
from __future__ import annotations

import http.client
import time
from typing import Any, Callable, Mapping, NamedTuple, Sequence

DEFAULT_PORT = 10248
DEFAULT_ADDRESS = "127.0.0.1"
# A server that listens everywhere is asked where it can be reached for certain.
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": DEFAULT_ADDRESS}


class Endpoint(NamedTuple):
    """Where a kubelet serves /healthz. Port 0: nowhere, the server is switched off."""

    address: str
    port: int


def endpoint(config: Mapping[str, Any], argv: Sequence[str] = ()) -> Endpoint:
    """Return where a kubelet with this config and command line answers: flags win, defaults are 127.0.0.1 and 10248 (Kubernetes 1.20 defaults.go).

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
    # Not urllib: it would ask a proxy of the environment.
    connection = http.client.HTTPConnection(_ANYWHERE.get(address, address), port, timeout=seconds)
    try:
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        text = answer.read(2000).decode("utf-8", "replace").strip()
        return "" if answer.status == 200 else f"healthz says {answer.status}: {text[:300]}"
    except (OSError, http.client.HTTPException) as error:
        return f"no answer from http://{address}:{port}/healthz: {error}"
    finally:
        connection.close()


def wait_healthy(where: Endpoint, times: int = 3, seconds: float = 60.0, pause: float = 0.25, ask: Callable[..., str] = healthz,
                 clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], Any] = time.sleep) -> str:
    """Ask until the kubelet is well `times` in a row; return an empty string, or what was wrong last when `seconds` are over."""
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
