# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`pytest --tape FOLDER`: one file for each simulated test, with what the collection asked, returned and left on nodes.

What differs from one run of a test to the next is masked, and what may come in any order is sorted: a change that only
moves code leaves the files as they are. CONTRIBUTING.md shows how to compare two commits.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import socket
import sys
import tempfile
import threading
import time
import typing as t
import zlib
from pathlib import Path

import pytest

from tests.sim.api.server import Server
from tests.sim.nodes.node import ADDRESS, SimNode

ROOT = Path(__file__).resolve().parents[3]
SUITES = ("tests/contract/", "tests/unit/roles/", "tests/sim_nodes/")
UNSTABLE = {
    "test_lease.py::test_two_at_once": "two processes compete for one Lease",
}
"""Tests whose tape differs from run to run, by a part of their name, and why. They get none."""
FOLDERS = ("/etc", "/usr/lib/systemd", "/var/lib", "/run/livenodes-kubelet-guard")
"""What of a simulated node is not the stand-in's own."""
LONGEST = 4000
"""Characters of a file that the tape shows; of a longer one it has the digest."""
STAND_IN = re.compile(r"/api/v1/nodes/[^/]+/status|.*/kube-node-lease/leases/[^/]+")
"""Paths that only the stand-ins for kubelets write to, as often as time passes."""
RENEWED = re.compile(r"\S+ \S+/leases/|\S+ \S+ system:node:")
"""How writes begin that repeat as often as time passes: of a rollout to its Lease, of a guard."""
NOISE = ("ansible_facts", "deprecations", "invocation", "warnings")
"""What Ansible adds to results by itself."""
FIRST_PORT = 21000
"""Below the ports that the kernel gives away."""
Lines = t.Iterator[str]

TMP = re.escape(tempfile.gettempdir())
QUOTE = r'\\*"'
MASKS = (
    (rf"{TMP}/pytest-of-[^/]+/pytest-\d+(/popen-gw\d+)?/[^/\s\"'\\]+", "<tmp>"),
    (rf"{TMP}/livenodes-(sim-)?\w{{8}}", "<tmp>"),
    (r"[\w./-]*ansible-(tmp|local)-[\w.-]+", "<tmp>"),
    (re.escape(str(Path(sys.prefix))), "<python>"),
    (re.escape(str(ROOT)), "<root>"),
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:?\d\d)?", "<time>"),
    (rf"{QUOTE}started{QUOTE}: ?{QUOTE}<time>{QUOTE}, ?", ""),
    (r"\b\d{8}T\d{6}Z", "<time>"),
    (r"\b1[78]\d{8}(\.\d+)?\b", "<time>"),
    (r"\b\d+\.\d+ ?s\b", "<duration>"),
    (rf"({QUOTE}\w*seconds{QUOTE}: ?)\d+\.\d+", r"\1<duration>"),
    (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "<uid>"),
    (r"(<uid>/)\d+(\.\d+)?\b", r"\1<version>"),
    (rf"(resourceVersion({QUOTE})?[:=] ?({QUOTE})?)\d+", r"\1<version>"),
    (r"(ResourceVersion: )\d+", r"\1<version>"),
    (r'(/metadata/resourceVersion", "value": ")\d+', r"\1<version>"),
    (r"(127\.0\.0\.1:)\d+", r"\1<port>"),
    (rf"((?:healthzPort|port)({QUOTE})?[ :]+)\d{{5}}\b", r"\1<port>"),
    (r"(livenodes-kubelet-rollout-)[0-9a-f]{10}", r"\1<random>"),
    (r"([\w-]\.)[0-9a-f]{16}\b", r"\1<random>"),
    (r"\b[0-9a-f]{32}\b", "<invocation>"),
    (rf"({QUOTE}(?:inode|modified|pid){QUOTE}: ?)\d+", r"\1<number>"),
    (r'(/lock \d+ ")\d+', r"\1<pid>"),
    # The guard's program, which every change of its code changes.
    (r"programs/[0-9a-f]{16}\.zip( \d+ [0-9a-f]{64})?", "programs/<program>.zip"),
    (r"[A-Za-z0-9+/]{200,}=*", "<base64>"),
    (rf"\b{re.escape(platform.node())}\b", "<host>"),
)
"""What differs from run to run. Hashes of configurations do not: see _fixed_port."""


def masked(text: str) -> str:
    """Return the text with names in place of what differs from run to run."""
    for pattern, name in MASKS:
        text = re.sub(pattern, name, text)
    return text


class Tape:
    """The plugin. Each process of pytest-xdist has its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._requests: list[tuple[str, str, str, str]] = []
        """Method, path without query, user, line."""
        self._nodes: list[SimNode] = []
        self._trees: list[str] = []
        self._wrap()

    def _wrap(self) -> None:
        enter = SimNode.__enter__

        def entered(node: SimNode) -> SimNode:
            self._nodes.append(node)
            node.healthz_port = _fixed_port(node)
            return enter(node)

        def witness(_server: Server, client: t.Any, body: bytes) -> None:
            kind = client.headers.get("Content-Type") if body else ""
            line = " ".join(filter(None, [client.command, client.path, client.user, kind, _plain(body)]))
            with self._lock:
                self._requests.append((client.command, client.path.partition("?")[0], client.user, line))

        # For all nodes and servers of this process, wherever a test makes them.
        SimNode.__enter__ = entered  # type: ignore[method-assign]
        Server.witness = witness  # type: ignore[method-assign]

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> t.Iterator[None]:
        """Record a test with its fixtures."""
        if not item.nodeid.startswith(SUITES) or any(part in item.nodeid for part in UNSTABLE):
            yield
            return
        self._requests.clear()
        self._trees.clear()
        # A node that is closed has no sockets any more.
        self._nodes = [node for node in self._nodes if node._sockets.exists()]
        with tempfile.TemporaryDirectory(prefix="livenodes-") as runs:
            os.environ["LIVENODES_TAPE"] = runs
            yield
            del os.environ["LIVENODES_TAPE"]
            found = [*self._asked(), *_results(Path(runs)), *self._trees]
        name = re.sub(r"[^\w.-]+", "_", item.nodeid.removeprefix("tests/"))
        (self.folder / f"{name[:200]}.txt").write_text(masked("\n".join(found) + "\n"), encoding="utf-8")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self) -> t.Iterator[None]:
        """Look at the nodes before fixtures remove them."""
        yield
        self._trees = [line for node in self._nodes if node.root.exists() for line in _settled(node)]

    def _asked(self) -> Lines:
        """Yield the requests by path and user: reads once, writes in their order."""
        with self._lock:
            requests = list(self._requests)
        seen = [(how, masked(path), who, masked(line)) for how, path, who, line in requests]
        yield "# requests"
        yield from sorted({line for method, _path, _user, line in seen if method == "GET"})
        writes = [one for one in seen if one[0] != "GET" and not STAND_IN.fullmatch(one[1])]
        before = ""
        for _method, _path, _user, line in sorted(writes, key=lambda one: one[1:3]):
            if line != before or not RENEWED.match(line):
                yield line
            before = line


def _fixed_port(node: SimNode) -> int:
    """Return a port by the node's name, so that its configurations have the same hashes each time.

    Where two recordings run at once, one of them may get another port.
    """
    port = FIRST_PORT + zlib.crc32(node.name.encode()) % 1000
    with contextlib.suppress(OSError), socket.create_server((ADDRESS, port)):
        return port
    return node.healthz_port


def _plain(body: bytes) -> str:
    """Return a body with its keys sorted, without what Ansible adds to the options of a module."""
    try:
        return json.dumps(_without_ansible(json.loads(body)), sort_keys=True)
    except ValueError:
        return body.decode(errors="replace")


def _without_ansible(value: t.Any) -> t.Any:
    if isinstance(value, list):
        return [_without_ansible(each) for each in value]
    if isinstance(value, dict):
        return {key: _without_ansible(each) for key, each in value.items() if not key.startswith("_ansible")}
    return value


def _results(runs: Path) -> Lines:
    """Yield the results of the tasks run by run, those of one task by host."""
    for file in sorted(runs.iterdir()):
        yield "# results"
        lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for _task, head, _how, result in sorted(lines, key=lambda line: (line[0], line[1])):
            shown = {key: value for key, value in result.items() if key not in NOISE}
            if "include_args" not in shown:
                yield f"{' | '.join(head)} | {json.dumps(shown, sort_keys=True)}"


def _settled(node: SimNode) -> list[str]:
    """Return the tree of a node when its guard writes nothing for a moment, or after 30 s as it is then."""
    before: list[str] = []
    for _try in range(100):
        # A file may vanish while this looks.
        with contextlib.suppress(FileNotFoundError):
            now = list(_tree(node))
            if now == before:
                break
            before = now
        time.sleep(0.3)
    return before


def _tree(node: SimNode) -> Lines:
    """Yield the files of a node: path, mode, and target, text or digest."""
    yield f"# tree of {node.name}"
    for path in sorted(place for folder in FOLDERS for place in node.at(folder).rglob("*")):
        shown = f"/{path.relative_to(node.root)} {path.lstat().st_mode:o}"
        if path.is_symlink():
            shown += f" -> {os.readlink(path)}"
        elif path.is_file():
            shown += f" {_content(path.read_bytes())}"
        yield shown


def _content(data: bytes) -> str:
    text = masked(data.decode(errors="replace"))
    return json.dumps(text) if len(text) <= LONGEST else hashlib.sha256(text.encode()).hexdigest()
