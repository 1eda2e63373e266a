# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether the kubelet on this node reports that it is healthy (its /healthz, which needs no credentials), and whether
the container runtime answers.

A connection is not a sign of life: the kernel makes it also for a process that hangs. The runtime is therefore asked
for its version, as the kubelet asks first (RuntimeService of k8s.io/cri-api, pkg/apis/runtime/v1/api.proto). That is
one gRPC request over HTTP/2 (RFC 9113, RFC 7541), few enough bytes to need no library: the guard must stay small.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
import time
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

from ..._config.values.short_texts import flag, flag_words
from . import command

_DEFAULT_PORT = 10248
_DEFAULT_ADDRESS = "127.0.0.1"
MOST_BYTES = 4096
# A server that listens on all addresses is asked on the loopback address.
_ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": _DEFAULT_ADDRESS}

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


_PATHS = (
    *("config", "config-dir", "dynamic-config-dir", "kubeconfig", "bootstrap-kubeconfig", "cert-dir", "root-dir"),
    *("client-ca-file", "pod-manifest-path", "resolv-conf"),
)
"""The flags of a kubelet with paths that are opened here."""


class Endpoint(NamedTuple):
    """Where a kubelet serves /healthz. Port 0: the server is switched off."""

    address: str
    port: int


def endpoint(config: Mapping[str, Any], argv: Sequence[str] = ()) -> Endpoint:
    """Return where a kubelet with this config and command line answers. Flags win over the config.

    The defaults are 127.0.0.1 and 10248 (Kubernetes 1.20 defaults.go). Raises ValueError, TypeError for a port that is
    none.
    """
    address = flag(argv, "healthz-bind-address") or str(config.get("healthzBindAddress") or _DEFAULT_ADDRESS)
    given = flag(argv, "healthz-port")
    port = config.get("healthzPort") if given is None else given
    if port is None:
        port = _DEFAULT_PORT
    return Endpoint(_ANYWHERE.get(address, address), int(port))


def joining(argv: Sequence[str]) -> bool:
    """Return whether a kubelet with this command line has no kubeconfig yet. Unless it rotates its certificate, it
    serves no healthz until the API server has given it one (pkg/kubelet/certificate/bootstrap/bootstrap.go,
    LoadClientCert).
    """
    kubeconfig = flag(argv, "kubeconfig")
    return bool(kubeconfig and flag(argv, "bootstrap-kubeconfig") and not os.path.exists(kubeconfig))


def resolved(argv: Sequence[str], folder: str) -> list[str]:
    """Return a command line with the absolute paths of what is opened on the node, for this working folder."""
    words = list(argv)
    for name in _PATHS:
        path, place = flag(words, name), flag_words(words, name)
        if path and place and not path.startswith("/"):
            # A slash at the end of a folder has a meaning.
            words[place[0] : sum(place)] = [f"--{name}={os.path.join(folder, path)}"]
    return words


def argv(pid: int, root: str = "/") -> list[str]:
    """Return the command line of a kubelet's process, empty when it has ended: of_process with `resolved` paths."""
    words = command.of_process(pid, root)
    try:
        folder = os.readlink(os.path.join(root, f"proc/{pid}/cwd"))
    except OSError:
        return words
    return resolved(words, folder)


def argv_of_child(pid: int, root: str = "/") -> list[str]:
    """Return the command line of the kubelet that a unit's process has started; of that process if none is seen.

    RKE2 starts it by its name alone, so the path of its binary takes the place of that.
    """
    kubelet = kubelet_of(pid)
    words = argv(kubelet, root)
    if kubelet != pid and words and "/" not in words[0]:
        with contextlib.suppress(OSError):
            binary = os.readlink(os.path.join(root, f"proc/{kubelet}/exe"))
            if os.path.exists(binary):
                words[0] = binary
    return words


def healthz(port: int = _DEFAULT_PORT, address: str = _DEFAULT_ADDRESS, pid: int = 0, seconds: float = 2.0) -> str:
    """Ask once; return an empty string when the kubelet is healthy, else the cause. Never raises.

    The whole answer must be there within `seconds`. `pid`: the kubelet's process, which must be the one that listens
    there, or have started it; 0: any process may answer.
    """
    place = f"http://{address}:{port}/healthz"
    deadline = time.monotonic() + seconds
    # Plain HTTP/1.0 over a socket: an HTTP library would double the memory of the guard, which runs as long as a trial.
    try:
        with socket.create_connection((_ANYWHERE.get(address, address), port), seconds) as connection:
            if pid and not _listens(pid, connection.getpeername()):
                return f"another process than the kubelet ({pid}) listens on {place}: see `ss -ltnp`"
            connection.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = b""
            while len(answer) < MOST_BYTES:
                part = _received(connection, deadline)
                if not part:
                    break
                answer += part
    except socket.timeout:
        return f"no answer from {place}: it did not answer within {seconds:g} s"
    except OSError as error:
        return f"no answer from {place}: {error}"
    head, _blank, body = answer.partition(b"\r\n\r\n")
    status = re.match(rb"HTTP/1\.[01] (\d{3})", head)
    if status is None:
        return f"no HTTP answer from {place}"
    if status.group(1) == b"200":
        return ""
    return f"healthz answers {status.group(1).decode()}: {body[:300].decode('utf-8', 'replace').strip()}"


def _listens(pid: int, place: Sequence[Any]) -> bool:
    """Whether a process, or one that it started, listens on an address and port of this network namespace.

    True where processes are hidden from us, as from an ordinary user: that shows nothing.
    """
    links = {f"socket:[{inode}]" for inode in _listening(*place[:2])}
    try:
        # The unit of RKE2 runs a supervisor, which starts the kubelet.
        return _holds(pid, links) or any(_holds(child, links) for child in _descendants(pid))
    except PermissionError:
        return True


def _listening(address: str, port: int) -> set[str]:
    """Return the inodes of the sockets that answer at an address, from the kernel's tables (proc(5))."""
    exact, anywhere = set(), set()
    for name, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        for fields in _rows(f"/proc/net/{name}"):
            host, _colon, number = fields[1].partition(":")
            if int(number, 16) != port:
                continue
            words = re.findall("........", host)
            # The kernel prints each word of an address as a number.
            packed = b"".join(int(word, 16).to_bytes(4, sys.byteorder) for word in words)
            found = socket.inet_ntop(family, packed)
            if found in (address, f"::ffff:{address}"):
                exact.add(fields[9])
            elif found == "::" or (found == "0.0.0.0" and ":" not in address):
                anywhere.add(fields[9])
    return exact or anywhere


def _rows(path: str) -> Iterator[list[str]]:
    """Yield the rows of listening sockets, which come first: a node may have many thousand connections."""
    try:
        with open(path, encoding="ascii") as stream:
            next(stream, "")
            for line in stream:
                fields = line.split()
                if fields[3] != "0A":
                    return
                yield fields
    except OSError:
        # A kernel without IPv6 has no second table.
        return


def kubelet_of(pid: int) -> int:
    """Return the kubelet that a unit's process has started; the same process if that is the kubelet or none is seen."""
    if not pid or _runs_kubelet(pid):
        return pid
    return next((child for child in _descendants(pid) if _runs_kubelet(child)), pid)


def _runs_kubelet(pid: int) -> bool:
    return is_kubelet("".join(command.of_process(pid)[:1]))


def is_kubelet(program: str) -> bool:
    """Return whether a program is a kubelet, by its name."""
    return os.path.basename(program).startswith("kubelet")


def _holds(pid: int, links: set[str]) -> bool:
    """Whether a process has one of these files open. Raises PermissionError."""
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, ProcessLookupError):
        return False
    for name in names:
        try:
            if os.readlink(f"{folder}/{name}") in links:
                return True
        except (FileNotFoundError, ProcessLookupError):
            continue
    return False


def _descendants(pid: int) -> Iterator[int]:
    """Yield the processes that a process and those processes have started."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
    except (FileNotFoundError, ProcessLookupError):
        return
    for thread in threads:
        try:
            with open(f"/proc/{pid}/task/{thread}/children", encoding="ascii") as stream:
                children = list(map(int, stream.read().split()))
        except OSError:
            continue
        for child in children:
            yield child
            yield from _descendants(child)


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
    if where.startswith("unix://"):
        where = where[len("unix://") :]
    return where if where.startswith("/") else ""


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
        except (OSError, ValueError):
            # ValueError: a path that cannot be encoded.
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
        more = _received(connection, deadline)
        if not more:
            return
        received += more


def _received(connection: socket.socket, deadline: float) -> bytes:
    """Return what arrives next. Raises OSError, socket.timeout at the deadline."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise socket.timeout
    connection.settimeout(left)
    return connection.recv(MOST_BYTES)


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
