# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container runtime of this node: where its socket is, and whether a process answers there.

A connection is no sign of life: the kernel makes it also for a process that hangs. The runtime is therefore asked for
its version, as the kubelet asks first (RuntimeService of k8s.io/cri-api, pkg/apis/runtime/v1/api.proto). That is one
gRPC request over HTTP/2 (RFC 9113, RFC 7541), few enough bytes to need no library: the guard must stay small.
"""

from __future__ import annotations

import re
import socket
import time
from typing import Any, Mapping, Sequence

from .health import flag

# Defaults of the kubelet: pkg/kubelet/apis/config/v1beta1/defaults.go since 1.27, a flag before; dockershim until 1.23.
CONTAINERD = "/run/containerd/containerd.sock"
DOCKER = "/var/run/docker.sock"
RUNTIME_SECONDS = 2.0
"""The time for connection, request and answer together."""

_DATA, _HEADERS, _SETTINGS, _PING, _WINDOW_UPDATE = 0, 1, 4, 6, 8
_OF_TRANSPORT = (_SETTINGS, _PING, _WINDOW_UPDATE)
"""The frames that a server can send by its transport alone, while what is behind it hangs."""
_HEAD = 9
"""The length of a frame's head: 3 bytes for the length of the rest, then its type, its flags, 4 for its stream."""
_END_STREAM, _END_HEADERS = 1, 4


def runtime_socket(config: Mapping[str, Any], words: Sequence[str], version: str) -> str:
    """Return the path of the container runtime's socket for this config and command line of a kubelet.

    Empty when it is unknown: another transport than a unix socket, or the default of an unknown kubelet version.
    """
    where = flag(words, "container-runtime-endpoint") or str(config.get("containerRuntimeEndpoint") or "")
    if not where:
        minor = re.match(r"v?1\.(\d+)", version)
        if not minor:
            return ""
        if int(minor.group(1)) >= 24:
            return CONTAINERD
        if flag(words, "container-runtime") not in (None, "docker"):
            return ""
        where = flag(words, "docker-endpoint") or DOCKER
    path = where[len("unix://") :] if where.startswith("unix://") else where
    return path if path.startswith("/") else ""


def away(path: str) -> str:
    """Return why no container runtime answers on a unix socket; empty when a process does, or when this is unknown."""
    deadline = time.monotonic() + RUNTIME_SECONDS
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.settimeout(RUNTIME_SECONDS)
            connection.connect(path)
            connection.sendall(_QUESTION)
            _wait_for_life(connection, deadline)
        except FileNotFoundError:
            return f"{path} does not exist"
        except ConnectionRefusedError:
            return f"{path} refuses connections"
        except (socket.timeout, BlockingIOError):
            # BlockingIOError: the queue of connections is full, because the process takes none out of it.
            return f"{path} accepts connections and does not answer"
        except OSError:
            return ""
    return ""


def _wait_for_life(connection: socket.socket, deadline: float) -> None:
    """Return as soon as a process shows that it works: by a frame that is not of the transport, by another protocol
    (docker.sock answers in HTTP/1.1), or by the end of the connection. Raises OSError, socket.timeout at the deadline.
    """
    received = b""
    while len(received) <= 3 or received[3] in _OF_TRANSPORT:
        whole = _HEAD + int.from_bytes(received[:3], "big")
        if len(received) >= whole:
            received = received[whole:]
            continue
        left = deadline - time.monotonic()
        if left <= 0:
            raise socket.timeout
        connection.settimeout(left)
        more = connection.recv(4096)
        if not more:
            return
        received += more


def _frame(kind: int, flags: int, stream: int, rest: bytes = b"") -> bytes:
    return len(rest).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + rest


def _text(text: str) -> bytes:
    """Return a string of HPACK that is shorter than 127 bytes, not compressed."""
    return bytes([len(text)]) + text.encode("ascii")


_REQUEST_HEADERS = (
    # Entries 3 (":method: POST") and 6 (":scheme: http") of HPACK's static table, then fields that are not indexed,
    # with the names of the entries 1, 4 and 31, and with a name of their own.
    b"\x83\x86"
    + (b"\x01" + _text("localhost"))
    + (b"\x04" + _text("/runtime.v1.RuntimeService/Version"))
    + (b"\x0f\x10" + _text("application/grpc"))
    + (b"\x00" + _text("te") + _text("trailers"))
)
_QUESTION = (
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    + _frame(_SETTINGS, 0, 0)
    + _frame(_HEADERS, _END_HEADERS, 1, _REQUEST_HEADERS)
    # An empty message: not compressed, of length 0.
    + _frame(_DATA, _END_STREAM, 1, bytes(5))
)
