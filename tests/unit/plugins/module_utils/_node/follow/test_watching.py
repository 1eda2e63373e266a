# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""When the waiting follower looks, what it has in memory, what it does in processes of its own, and how it waits before
it asks an API server again that it has lost.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow import steps, watching
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import guard_main
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_install
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_reporter
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import command
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.connection import ApiError, ApiServer
from tests.benchmarks import bench_reconnect
from tests.sim.cluster import Cluster

NODES = 1000
SHARE = 5000 // NODES
LOADED = """
import json, sys
sys.path.insert(0, sys.argv[1])
from livenodes_kubelet._node.follow.watching import Watch
print(next(Watch(**json.loads(sys.argv[2])).nodes())["metadata"]["name"], *sys.modules)
"""
OURS = {"", "._node", "._node.follow", "._node.follow.watching", "._node.system", "._node.system.connection"}
HEAVY = {"bz2", "logging", "lzma", "multiprocessing", "shutil", "subprocess", "tempfile", "typing", "zipfile"}


@pytest.mark.parametrize("away", [0.0, 10.0, 45.0, 120.0])
def test_followers_come_back_one_after_the_other(away: float) -> None:
    """All are back a minute after the API server, and 5,000 do not send 200 requests in a second."""
    random.seed(1)
    found = bench_reconnect.measured(NODES, away)
    # A fifth of the nodes varies more: by three times the root of 200 / 5 more in a second.
    assert found.most * SHARE <= bench_reconnect.MOST * 1.5
    assert found.last <= bench_reconnect.SLOWEST


@pytest.mark.parametrize("failures", [1, 2, 3, 1000])
def test_failures_in_a_row_do_not_lengthen_the_pause_for_ever(failures: int) -> None:
    least, most = watching.PAUSE_SECONDS[0 if failures == 1 else 1]
    pauses = [watching.pause(failures) for _turn in range(1000)]
    assert least <= min(pauses) < least + (most - least) / 10
    assert most - (most - least) / 10 < max(pauses) <= most < bench_reconnect.SLOWEST


@pytest.fixture
def guard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the guard's program on a node whose kubelet does not run."""
    folder = tmp_path / "guard"
    folder.mkdir()
    words = ["kubelet", f"--kubeconfig={tmp_path}/kubelet.conf"]
    (folder / "settings.json").write_text(json.dumps({"argv": words}))
    monkeypatch.setattr(command, "execute", lambda *_words: subprocess.CompletedProcess([], 1, "", ""))
    return folder


def test_a_follower_that_waits_has_loaded_little(guard: Path) -> None:
    """Each of these would cost up to a megabyte on every node."""
    guard_install.install_program(str(guard), guard_install.program())
    with Cluster("v1.32.0") as cluster:
        cluster.add("n1")
        cluster.kubelet_kubeconfig(guard.parent / "kubelet.conf", "n1")
        found = steps.opened(str(guard))
        words = [sys.executable, "-I", "-S", "-c", LOADED, str(guard / "current"), json.dumps(found)]
        done = subprocess.run(words, check=False, text=True, capture_output=True)
    # Without a revision, API servers from 1.32 on ask etcd for progress, which not every etcd reports.
    assert found["place"] == "/api/v1/nodes?fieldSelector=metadata.name%3Dn1&watch=true&resourceVersion=0"
    name, *modules = done.stdout.split() or [done.stderr]
    assert name == "n1"
    ours = {name for name in modules if name.startswith(guard_install.PACKAGE)}
    assert ours == {f"{guard_install.PACKAGE}{name}" for name in OURS}
    assert HEAVY.isdisjoint(modules)


def test_a_watch_goes_through_the_proxy_of_the_kubelet(guard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_reporter, "environment_of", lambda _pid: {"HTTPS_PROXY": "proxy.internal:3128"})
    file = guard.parent / "kubelet.conf"
    with Cluster("v1.32.0") as cluster:
        cluster.add("n1")
        cluster.kubelet_kubeconfig(file, "n1")
    file.write_text(file.read_text().replace("127.0.0.1", "192.0.2.1"))
    api = ApiServer(**steps.opened(str(guard))["api"])
    assert api.proxy() == ("HTTPS_PROXY of the kubelet", "http://proxy.internal:3128")


def test_the_script_of_an_older_program_starts_the_follower(guard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut may come between the program and its script."""
    monkeypatch.setattr(watching, "main", lambda folder, words: (folder, words))
    assert guard_main.main(str(guard), ["follow"]) == (str(guard), ["follow"])


@pytest.mark.parametrize(
    ("code", "printed", "error"), [(1, "gone\n", "gone"), (3, "", "the look at the Node ended with exit status 3")]
)
def test_a_look_that_fails(monkeypatch: pytest.MonkeyPatch, code: int, printed: str, error: str) -> None:
    asked: list[list[str]] = []

    def execute(words: list[str], _limit: float) -> t.Any:
        asked.append(words[-2:])
        return subprocess.CompletedProcess(words, code, "", printed)

    monkeypatch.setattr(command, "execute", execute)
    with pytest.raises(ApiError, match=f"^{error}$"):
        steps.look("/config/guard")
    assert asked == [["/config/guard/__main__.py", "look"]]


def test_what_is_done_apart_leaves_only_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    before: list[int] = []
    monkeypatch.setattr(steps, "is_answer", lambda text: [text, before.append(1), os.getppid()])
    assert watching.apart("is_answer", "\udcff") == ["\udcff", None, os.getpid()]
    assert before == []


def refused() -> None:
    raise ApiError("refused", 403)


@pytest.mark.parametrize(
    ("step", "error", "logged"),
    [
        (refused, "refused", ""),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "the follower's step look has ended without a result", ""),
        (lambda: 1 // 0, "the follower's step look has ended without a result", "ZeroDivisionError"),
    ],
    ids=["an error", "killed", "a defect"],
)
def test_what_fails_apart_is_an_error_of_the_follower(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    step: t.Callable[[], t.Any],
    error: str,
    logged: str,
) -> None:
    """It waits and tries again."""
    monkeypatch.setattr(steps, "look", step)
    with pytest.raises(ApiError, match=f"^{error}$"):
        watching.apart("look")
    assert logged in capfd.readouterr().err


PLACE = "/watch?watch=true"


class Watched:
    """An API server whose watch sends these events, once."""

    def __init__(self, *events: t.Any) -> None:
        self.events = [json.dumps(event).encode() for event in events]

    def lines(self, path: str, _quiet: float) -> t.Iterator[bytes]:
        """Yield the events."""
        assert path == f"{PLACE}&timeoutSeconds=0"
        return iter(self.events)


class Over(Exception):
    """The test is over."""


def event(kind: str = "MODIFIED", **given: str | None) -> dict[str, t.Any]:
    """Return an event of a Node with these annotations, and with an answer of the follower unless that is given."""
    notes = {name: text for name, text in {following.FOLLOWER: "{}", **given}.items() if text is not None}
    return {"type": kind, "object": {"metadata": {"uid": "u", "annotations": notes}, "message": "too old"}}


def looks(
    monkeypatch: pytest.MonkeyPatch, watches: list[Watched], *codes: int, updated_after: int = 99
) -> tuple[int, list[float]]:
    """Return how often the service looks while it sees these watches, and its pauses.

    `codes`: of the looks. `updated_after`: after so many looks another program is installed.
    """
    left, pauses = list(watches), [0.0]

    def opened(**_given: t.Any) -> t.Any:
        if not left:
            raise Over
        return left.pop(0)

    counted: list[str] = []

    def apart(step: str, given: str) -> t.Any:
        if step == "opened":
            place = {"name": "n1", "place": PLACE, "read": steps.READ, "answer": following.FOLLOWER}
            return {"api": {}, **place}
        if step == "is_answer":
            return steps.is_answer(given)
        counted.append(step)
        if codes[len(counted) - 1 :][:1] == (1,):
            raise ApiError("again")

    monkeypatch.setattr(watching, "ApiServer", opened)
    monkeypatch.setattr(watching, "apart", apart)
    monkeypatch.setattr(watching, "_program", lambda _folder: str(len(counted) >= updated_after))
    monkeypatch.setattr(watching.time, "sleep", pauses.append)
    # They end in time.
    monkeypatch.setattr(watching, "WATCH_SECONDS", (0, 0))
    with contextlib.suppress(Over):
        watching.main("/guard")
        assert left, "it ended"
    return len(counted), pauses[1:]


SOURCE = annotation.SOURCE


def test_each_change_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also over the end of a watch. Bookmarks and other annotations are no change."""
    bookmark = {"type": "BOOKMARK", "object": {"metadata": {}}}
    first = Watched(event("ADDED"), bookmark, event(other="1"), event(**{SOURCE: "a"}), event(**{SOURCE: "a"}))
    second = Watched(
        event("ADDED", **{SOURCE: "a"}), event(**{SOURCE: "b"}), event(**{SOURCE: "b", following.FOLLOW: "1"})
    )
    assert looks(monkeypatch, [first, second]) == (4, [])


@pytest.mark.parametrize("lost", [None, "no JSON", '{"attempt": "1"}'])
def test_an_answer_that_was_lost_is_written_again(monkeypatch: pytest.MonkeyPatch, lost: str | None) -> None:
    """As the messages about it promise. The first one is written by the look that sees the Node first."""
    events = [event("ADDED", **{following.FOLLOWER: lost}), event(), event(**{following.FOLLOWER: lost}), event()]
    assert looks(monkeypatch, [Watched(*events), Watched(event("ADDED"))]) == (2, [])
    # The watch has not shown it yet.
    events = [event("ADDED", **{following.FOLLOWER: lost})] * 2
    assert looks(monkeypatch, [Watched(*events), Watched(event("ADDED"))]) == (2, [])


def test_a_look_that_fails_is_repeated_after_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    number, pauses = looks(monkeypatch, [Watched(event("ADDED")), Watched(event("ADDED"))], 1, 0)
    assert number == 2 and len(pauses) == 1
    shortest, longest = watching.PAUSE_SECONDS[0]
    assert shortest <= pauses[0] <= longest


def test_a_watch_ends_once_another_program_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next change is that of the new one, which systemd starts."""
    watch = Watched(event("ADDED"), event(**{SOURCE: "a"}), event(**{SOURCE: "b"}))
    assert looks(monkeypatch, [watch, Watched()], updated_after=2) == (2, [])


@pytest.mark.parametrize("last", [event("ERROR"), "no event", {"type": "ADDED"}])
def test_a_watch_that_breaks_is_begun_again_after_a_pause(monkeypatch: pytest.MonkeyPatch, last: t.Any) -> None:
    number, pauses = looks(monkeypatch, [Watched(event("ADDED"), last), Watched(event("ADDED"))])
    assert number == 1 and len(pauses) == 1
