# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program: its commands and its settings."""

from __future__ import annotations

import json
import types
import typing as t
from pathlib import Path
from unittest import mock

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow import follower
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import decide, guard, guard_main, observe
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.base import Settings
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.records import logged
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_reporter, textfile
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report.status_annotation import Outbox
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import (
    Moment,
    Progress,
    ProgressFile,
    Trial,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.lock import locked
from tests.support.node.stored import CONFIG, A, Owners, stored

IS_FOLDER = "a folder is in the place of a file of ours: move it away"
WORDS = ["kubelet", "--hostname-override=n7"]


class Seen:
    """A running kubelet, as systemd shows it."""

    pid = 77

    def since(self) -> float:
        return 1000.0


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of an installed guard, whose kubelet runs with other words than at the installation."""
    config = stored(tmp_path, Owners()).config_dir
    monkeypatch.setattr(guard_main, "Store", lambda place: Store(place, Owners()))
    monkeypatch.setattr(observe, "kubelet", lambda unit, *_run: Seen() if unit == "kubelet.service" else None)
    monkeypatch.setattr(observe, "argv", lambda pid: WORDS if pid == Seen.pid else [])
    settings = {"unit": "kubelet.service", "argv": ["kubelet", "--v=2"], "config": CONFIG, "metrics": "/m"}
    place = Path(config, "guard")
    place.mkdir()
    (place / "settings.json").write_text(json.dumps(settings))
    return place


def change_settings(program: Path, **settings: t.Any) -> None:
    path = program / "settings.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


def test_the_settings_of_the_program(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[guard.Guard] = []
    monkeypatch.setattr(guard_main, "prestart", lambda one: made.append(one) or 0)
    assert guard_main.main(str(program), ["prestart"]) == 0
    change_settings(program, key="k.yaml", folder="/d", of_a_later_version=1)
    assert guard_main.main(str(program), ["prestart"]) == 0
    old, new = (one.host.settings for one in made)
    assert old == Settings("kubelet.service", ("kubelet", "--v=2"), CONFIG, "kubelet", "", metrics="/m")
    assert new == old._replace(key="k.yaml", folder="/d")
    assert made[0].host.store.config_dir == str(program.parent)


@pytest.mark.parametrize("words", [[], ["other"]])
def test_other_commands_are_refused(program: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert guard_main.main(str(program), words) == 2
    assert (
        capsys.readouterr().err
        == f"usage: {program} prestart | watch | tick | report | verify | status | follow | look\n"
    )


def test_tick_prints_when_to_look_again(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In seconds: soon, since systemd does not answer."""
    monkeypatch.setattr(observe, "kubelet", lambda *_words: None)
    assert guard_main.main(str(program), ["tick"]) == 0
    assert capsys.readouterr().out == "1.0\n"


@pytest.mark.parametrize(("wrong", "line"), [("", ""), ("no\n  heartbeat ", "waiting for its Node: no heartbeat\n")])
def test_verify_asks_about_the_running_kubelet(
    program: Path, wrong: str, line: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    status = int(bool(wrong))
    asked: list[t.Any] = []

    def unverified(api: t.Callable[[], t.Any], started: float | None) -> str:
        asked.append((api(), started))
        return wrong

    monkeypatch.setattr(status_reporter, "api_of", lambda *given: given)
    monkeypatch.setattr(status_reporter, "unverified", unverified)
    assert guard_main.main(str(program), ["verify"]) == status
    # Without a kubelet, what is known from the installation.
    monkeypatch.setattr(observe, "kubelet", lambda *_words: None)
    assert guard_main.main(str(program), ["verify"]) == status
    assert asked == [((WORDS, Seen.pid), 1000.0), ((["kubelet", "--v=2"], 0), None)]
    assert capsys.readouterr().err == line * 2
    # Also of a trial that does not name what verifies it.
    Store(str(program.parent), Owners()).arm(Trial(A, None, Moment("b1", 1.0, 1.0)))
    assert guard_main.main(str(program), ["verify"]) == status
    assert capsys.readouterr().err == NOT_LOGGED + line


NOT_LOGGED = "not verified by the kubelet's log: it has no whole configuration of this start\n"
AS_LOGGED = "verified by the kubelet's log: it logged the configuration on trial\n"
OTHERWISE = "the kubelet logged other values than those on trial: "


@pytest.mark.parametrize(
    ("logs", "version", "text", "status", "line"),
    [
        ({"maxPods": 61}, "v1.37.0", "maxPods: 61", 0, AS_LOGGED),
        ({"maxPods": 61}, "v1.37.0", "maxPods: 62", 1, f"{OTHERWISE}maxPods\n"),
        ({}, "v1.37.0", "a: 7\nb: 7\nc: 7\nd: 7\ne: 7\nf: 7\ng: 7\n", 1, f"{OTHERWISE}a, b, c, d, e and 2 more\n"),
        (None, "v1.37.0", "maxPods: 62", 0, NOT_LOGGED),
        ({"maxPods": 61}, "", "maxPods: 62", 0, NOT_LOGGED),
        ({"maxPods": 61}, "v1.37.0", "- 1", 0, "cannot be read"),
        ({"maxPods": 61}, "v1.37.0", None, 0, "cannot be read"),
    ],
    ids=["alike", "other", "many", "no log", "no version", "no configuration", "no file"],
)
def test_verify_compares_what_the_kubelet_logged_with_what_is_on_trial(
    program: Path,
    logs: dict[str, t.Any] | None,
    version: str,
    text: str | None,
    status: int,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a question to the API server, which this guard cannot ask."""
    store = Store(str(program.parent), Owners())
    store.arm(Trial(A, None, Moment("b1", 1.0, 1.0), kubelet_version=version, extra={"node_proof": False}))
    checkpoint = program.parent / store.target(A) / "kubelet"
    checkpoint.write_text(text or "")
    if text is None:
        checkpoint.unlink()
    change_settings(program, folder="/d")
    monkeypatch.setattr(observe, "kubelet", lambda *_words: observe.Kubelet(decide.Unit(invocation="i1")))
    monkeypatch.setattr(logged, "read", lambda invocation, _run: {"i1": logs}[invocation])
    monkeypatch.setattr(status_reporter, "unverified", lambda *_given: "asked")
    assert guard_main.main(str(program), ["verify"]) == status
    assert line in capsys.readouterr().err


@pytest.mark.parametrize("failure", ["", "the API server is away"])
def test_report_sends_with_the_words_of_the_running_kubelet(
    program: Path, failure: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent: list[t.Any] = []

    def report(records: t.Any, api: t.Callable[[], t.Any], since: t.Callable[[], t.Any]) -> str:
        sent.append((records.report(), api(), since()))
        return failure

    monkeypatch.setattr(status_reporter, "api_of", lambda *given: given)
    monkeypatch.setattr(status_reporter, "report", report)
    assert guard_main.main(str(program), ["report"]) == (1 if failure else 0)
    # The kubelet is about to be restarted: the start of this one does not count.
    ProgressFile(str(program.parent)).write(Progress(name="a", verdict="it crashed"))
    assert guard_main.main(str(program), ["report"]) == (1 if failure else 0)
    assert sent == [(None, (WORDS, Seen.pid), 1000.0), (None, (WORDS, Seen.pid), None)]
    again = f"the status is not reported yet, the guard will try again: {failure}\n"
    assert capsys.readouterr().err == (again * 2 if failure else "")


def test_a_report_waits_for_the_kubelet_that_an_agent_starts_later(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The command line of the agent names no kubeconfig, as of a kubelet without a cluster, which reports nothing."""
    agent = program.parent / "agent"
    change_settings(program, folder=f"{agent}/etc/kubelet.conf.d")
    monkeypatch.setattr(observe, "argv", lambda _pid: ["rke2", "agent"])
    outbox = Outbox(str(program.parent))
    outbox.queue({"reason": "x"}, "", False, 1.0)
    assert guard_main.main(str(program), ["report"]) == 1 and outbox.report() is not None
    assert f"{agent}/kubelet.kubeconfig" in capsys.readouterr().err


@pytest.fixture
def no_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_reporter, "api_of", mock.Mock(side_effect=status_reporter.NoCluster))


FOLLOWS = {"follow": {"namespace": "kube-system", "effect": "safe", "options": {}}}


@pytest.mark.parametrize(
    ("settings", "words"),
    [({}, "the settings of the follower are missing or damaged"), (FOLLOWS, "runs without --kubeconfig")],
)
@pytest.mark.usefixtures("no_cluster")
def test_a_look_that_cannot_be_had(
    program: Path, settings: dict[str, t.Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The service that watches looks again after a pause."""
    change_settings(program, **settings)
    assert guard_main.main(str(program), ["look"]) == 1
    assert words in capsys.readouterr().err


def test_lost_limits_are_answered_on_the_node(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller would wait for the answer of a follower that can only log why it has none."""
    refused: list[str] = []
    server = types.SimpleNamespace(node_name=lambda: "n7")
    monkeypatch.setattr(status_reporter, "api_of", lambda *_given: server)
    monkeypatch.setattr(follower.Follower, "refuse", lambda _self, reason: refused.append(reason))
    (program / "settings.json").unlink()
    assert guard_main.main(str(program), ["look"]) == 1
    assert str(program / "settings.json") in refused[0] and "run the playbook follow" in refused[0]


def test_a_look_is_at_the_node_of_the_kubelet(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[t.Any] = []
    change_settings(program, **FOLLOWS)
    server = types.SimpleNamespace(node_name=lambda: "n7")
    monkeypatch.setattr(status_reporter, "api_of", lambda *_given: server)
    monkeypatch.setattr(follower.Follower, "look", lambda self: looks.append((self.api, self.name)))
    assert guard_main.main(str(program), ["look"]) == 0
    assert looks == [(server, "n7")]


def test_status_is_what_the_annotation_has(
    program: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guard_main.main(str(program), ["status"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["reported"], shown["progress"], shown["started"]) == (True, None, "1970-01-01T00:16:40Z")
    assert [shown[part]["configMap"] for part in ("assigned", "active", "lastKnownGood")] == [A, A, A]
    monkeypatch.setattr(observe, "kubelet", lambda *_words: None)
    ProgressFile(str(program.parent)).write(Progress(name="a", failures=2))
    assert guard_main.main(str(program), ["status"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert "started" not in shown and (shown["progress"]["name"], shown["progress"]["failures"]) == ("a", 2)


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("store/meta/assigned", b"\xff\x00", "store/meta/assigned: is not UTF-8 text"),
        ("store/meta/last-known-good", b"kind: Other\n", "store/meta/last-known-good: does not hold a Serialized"),
        ("store/meta/last-known-good", None, "store/meta/last-known-good: cannot read: Is a directory"),
        ("store/trial", b"", "store/trial is not JSON text"),
        ("store/trial", None, "store/trial: cannot read: Is a directory"),
        ("store/checkpoints/uid-a/7/kubelet", b"", "checkpoints/uid-a/7 does not match its digest"),
        ("store/checkpoints/uid-a/7.sha256", b"\xff", "checkpoints/uid-a/7 does not match its digest"),
        ("store/local/manifest", b"", "store/local/manifest is damaged"),
        ("active", b"", "active: cannot read the link: Invalid argument"),
        ("store", b"", "store: is a symbolic link or a file in the place of a folder of ours"),
    ],
)
def test_a_damaged_store_is_a_cause_in_the_status(
    program: Path, name: str, data: bytes | None, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In its error, and in the metrics that are written anew: never a traceback."""
    path = program.parent / name
    files.remove_any(str(path), files.OS())
    if data is None:
        path.mkdir(mode=0o700)
    else:
        path.write_bytes(data)
    assert guard_main.main(str(program), ["status"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert words in shown["error"] and shown["error"].count(words) == 1
    folder = program.parent.parent / "textfile"
    folder.mkdir()
    store = Store(str(program.parent), Owners())
    guard.Guard(store, Settings(metrics=str(folder))).host.publish_again()
    assert "kubelet_node_config_error 1\n" in (folder / textfile.NAME).read_text()


@pytest.mark.parametrize(
    ("word", "end"),
    [("tick", (0, "None\n")), ("report", (1, "")), ("verify", (1, "")), ("prestart", (0, "ran\n"))],
)
def test_an_error_of_the_store_is_one_line(
    program: Path, word: str, end: tuple[int, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A folder is in the place of the lock; what is asked before it does not matter here. The kubelet starts anyway.

    The guard looks without it.
    """
    Path(program.parent, "lock").mkdir()
    monkeypatch.setattr(observe, "kubelet", lambda *_words: observe.Kubelet(decide.Unit()))

    def asked(*_words: t.Any) -> str:
        with locked(str(program.parent)):
            return ""

    for name in ("report", "unverified"):
        monkeypatch.setattr(status_reporter, name, asked)
    status, shown = guard_main.main(str(program), [word]), capsys.readouterr()
    assert (status, shown.out) == end
    assert shown.err.endswith(f"{program.parent}/lock: cannot lock: Is a directory; {IS_FOLDER}\n")
    assert word == "prestart" or shown.err.count("\n") == 1


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"argv": 5}', None])
@pytest.mark.parametrize("config", [CONFIG, "/d/90-livenodes-kubelet.conf"])
def test_without_its_settings_the_guard_uses_what_the_store_holds(
    program: Path, data: bytes | None, config: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trial must be reverted all the same."""
    made: list[guard.Guard] = []
    monkeypatch.setattr(guard_main, "prestart", lambda one: made.append(one) or 0)
    if config != CONFIG:
        Store(str(program.parent), Owners()).lay_over(config)
    (program / "settings.json").unlink()
    if data is not None:
        (program / "settings.json").write_bytes(data)
    assert guard_main.main(str(program), ["prestart"]) == 0
    folder = "" if config == CONFIG else "/d"
    assert made[0].host.settings == Settings(config=config, key="kubelet", folder=folder)
    assert capsys.readouterr().err == (
        f"{program}/settings.json is missing or damaged, so the guard works with what the store holds: "
        "run the role checkpoint again\n"
    )
