# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import subprocess
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import last_words
from tests.support.texts.kubelet_logs import BEGIN, CASES, NEGATIVE, new, old


@pytest.mark.parametrize(("log", "words", "kind"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_last_words_and_their_kind_by_version(log: str, words: str, kind: str) -> None:
    assert last_words.parse(log.splitlines()) == words
    assert last_words.kind(words) == kind
    # The journal of an older systemd drops indentation and empty lines.
    bare = [line.strip() for line in log.splitlines() if line.strip()]
    assert last_words.kind(last_words.parse(bare)) == kind
    assert not kind or last_words.ended_at_start(words)


def test_each_kind_has_a_case() -> None:
    assert {case[3] for case in CASES} == {"validation", "flag", "gate", "file", "runtime", ""}


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('cannot parse staticPodURLHeader: {"Authorization": ["planted-value"]}', "planted-value"),
        ("failed: GET http://x: header Authorization: Bearer planted-value, retry", "planted-value"),
        ("bad header authorization=planted-value", "planted-value"),
        ('{"token":"planted-value"} refused', "planted-value"),
        ("password: planted-value, user: x", "planted-value"),
        ("manifest-url-header=A:planted-value", "planted-value"),
        ("get https://user:planted-value@host/pods failed", "planted-value"),
        ("token eyJhbGciOiJSUzI1NiIsImtpZCI6In.eyJpc3MiOiJr.c2lnbmF0dXJl is refused", "eyJhbGciOiJSUzI1NiIsImtpZCI6In"),
        ("bad -----BEGIN PRIVATE KEY----- planted-value -----END PRIVATE KEY----- here", "planted-value"),
        ("unknown value Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ub3BxcnM= in it", "Zm9vYmFyMTIz"),
    ],
)
def test_secrets_are_masked(text: str, secret: str) -> None:
    for log in (old(text), new(text)):
        shown = last_words.parse(log.splitlines())
        assert shown and secret not in shown


@pytest.mark.parametrize(
    "text",
    [
        "unable to load client CA file /etc/kubernetes/pki/ca.crt: open /etc/kubernetes/pki/ca.crt: no such file",
        "failed to read /var/lib/kubelet-config/store/checkpoints/7f9b4a2e-1c1d-4b1e-9a53-0d7a3c1b2f4e/1234567/kubelet",
        "failed to read token: no such file or directory",
        "unable to reach https://keystone:5000/v3/auth/tokens: dial tcp: i/o timeout",
    ],
)
def test_paths_and_reasons_are_no_secrets(text: str) -> None:
    assert last_words.parse(old(text).splitlines()) == text


def test_each_secret_field_is_known_here() -> None:
    names = {name for name, field in fields.ALL.items() if field.secret}
    flags = {flag for name in names for flag in fields.ALL[name].flags}
    for word in names | flags:
        assert "planted" not in last_words.parse(old(f'"{word}": ["planted"]').splitlines())


def test_a_long_message_keeps_its_beginning_and_its_cause() -> None:
    found = last_words.parse(new(f"failed to run Kubelet: {'wrapped: ' * 100}connection refused").splitlines())
    assert len(found) <= last_words.MOST
    assert found.startswith("failed to run Kubelet: wrapped: ") and found.endswith("wrapped: connection refused")


@given(st.lists(st.one_of(st.text(max_size=80), st.sampled_from([line for c in CASES for line in c[1].splitlines()]))))
def test_any_log_gives_one_short_line(lines: list[str]) -> None:
    found = last_words.parse(lines)
    assert len(found) <= last_words.MOST and "\n" not in found
    assert last_words.kind(found) in {"validation", "flag", "gate", "file", "runtime", ""}


class Journal:
    """A `run` that answers as journalctl when it is asked for one start; the journal has assigned each line to one."""

    def __init__(self, text: str, code: int = 0) -> None:
        self.text, self.code = text, code
        self.asked: list[list[str]] = []

    def __call__(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.asked.append(list(argv))
        return subprocess.CompletedProcess(list(argv), self.code, self.text if "--output=cat" in argv else "", "")


def test_the_journal_is_asked_for_one_start_within_a_time_limit() -> None:
    """By its InvocationID alone: with an alias as the unit, journalctl finds no line."""
    journal = Journal(old(NEGATIVE))
    assert last_words.read("kubelet.service", "abc", journal) == NEGATIVE
    (asked,) = journal.asked
    assert asked[:3] == ["timeout", "5", "journalctl"]
    assert {"_SYSTEMD_INVOCATION_ID=abc", "--output=cat", "--lines=3000"} <= set(asked)
    assert not any("--unit" in word for word in asked)


def broken(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
    raise RuntimeError(argv)


def test_words_that_cannot_be_read_are_empty() -> None:
    assert last_words.read("kubelet.service", "abc", Journal(old(NEGATIVE), 124)) == ""
    assert last_words.read("kubelet.service", "abc", broken) == ""
    unasked = Journal(old(NEGATIVE))
    assert last_words.read("kubelet.service", "", unasked) == "" and not unasked.asked


EARLIER = 'E1122 13:38:13.192413     419 kubelet.go:2183] node "n1" not found\n'


def test_the_journal_is_asked_again_until_it_has_the_last_lines() -> None:
    answers = iter(["", BEGIN, old(NEGATIVE)])

    def late(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(list(argv), 0, next(answers) if "--output=cat" in argv else "", "")

    assert last_words.read("kubelet.service", "abc", late, patience=60) == NEGATIVE
    answers = iter([BEGIN + EARLIER, old(NEGATIVE)])
    assert last_words.read("kubelet.service", "abc", late, patience=60) == NEGATIVE
    silent = Journal(BEGIN)
    assert last_words.read("kubelet.service", "abc", silent, patience=0.3) == "" and len(silent.asked) >= 4


def entry(message: str | None, pid: int = 719, start: str = "", **more: t.Any) -> dict[str, t.Any]:
    """Return an entry of the journal. `start`: the InvocationID that journald knew, empty for none."""
    named = {"INVOCATION_ID" if pid == 1 else "_SYSTEMD_INVOCATION_ID": start} if start else {}
    return {"MESSAGE": message, "_PID": str(pid), **named, **more}


class LateJournal:
    """A `run` that answers as the journalctl of a node whose journald was late.

    The process that wrote a line had ended by then, and its unit was dead: the line got no InvocationID.
    """

    def __init__(self, *entries: dict[str, t.Any]) -> None:
        self.entries = entries

    def __call__(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        matches = [word.partition("=")[::2] for word in argv if word[0].isupper() or word.startswith("_")]
        found = [each for each in self.entries if all(each.get(name) == value for name, value in matches)]
        shown = map(json.dumps, found) if "--output=json" in argv else (str(each["MESSAGE"]) for each in found)
        return subprocess.CompletedProcess(list(argv), 0, "\n".join(shown), "")


STARTED, ENDED = "Started kubelet.service.", "kubelet.service: Main process exited, code=exited, status=255/EXCEPTION"
GATE = old("unrecognized feature gate: NoSuch", 208).splitlines()


@pytest.mark.parametrize("ended_first", [False, True], ids=["in order", "after the end"])
def test_words_that_a_late_journald_could_not_assign_to_the_start(ended_first: bool) -> None:
    """Seen on real nodes: journald stopped for 0.3 s and for 0.8 s while a kubelet refused its configuration."""
    lines = [entry(line) for line in GATE]
    ended = [entry(ENDED, 1, "abc")]
    journal = LateJournal(
        entry(STARTED, 1, "former"),
        *(entry(line, 700, "former") for line in old(NEGATIVE).splitlines()),
        entry("panic: an earlier one without a start", 701),
        entry(STARTED, 1, "abc"),
        *(ended + lines if ended_first else lines + ended),
        entry(STARTED, 1, "later"),
        entry("panic: a later one", 730),
    )
    assert last_words.read("kubelet.service", "abc", journal) == "unrecognized feature gate: NoSuch"
    assert last_words.read("kubelet.service", "former", journal) == NEGATIVE
    assert last_words.read("kubelet.service", "unknown", journal) == ""


def test_an_error_before_the_end_does_not_hide_the_end() -> None:
    """Seen on busy nodes: journald assigned the errors of a kubelet to its start, and not the message of its end."""
    begin = (BEGIN + EARLIER).splitlines()
    journal = LateJournal(
        entry(STARTED, 1, "abc"), *(entry(line, start="abc") for line in begin), *(entry(line) for line in GATE)
    )
    assert last_words.read("kubelet.service", "abc", journal) == "unrecognized feature gate: NoSuch"


def test_entries_of_a_late_journald_that_are_no_text() -> None:
    """journalctl prints bytes that are not UTF-8 as numbers, and a field that occurs twice as a list."""
    journal = LateJournal(
        entry(STARTED, 1, "abc"),
        entry(None),
        entry(["twice", "there"]),  # type: ignore[arg-type]
        entry("systemd's own line without a start", 1),
        entry(list(b"panic: \xff in a name")),  # type: ignore[arg-type]
    )
    assert last_words.read("kubelet.service", "abc", journal) == "panic: \ufffd in a name"


@pytest.mark.parametrize(
    ("lines", "killed"),
    [
        # systemd 219, then 252.
        (["kubelet.service: main process exited, code=killed, status=9/KILL"], True),
        (["kubelet.service: Main process exited, code=killed, status=9/KILL", "Failed with result 'signal'."], True),
        (["kubelet.service: Main process exited, code=dumped, status=11/SEGV"], True),
        (["kubelet.service: A process of this unit has been killed by the OOM killer.", ENDED,
          "kubelet.service: Failed with result 'oom-kill'."], True),
        # Go's runtime turns the SIGABRT of the watchdog into an exit.
        (["kubelet.service: Watchdog timeout (limit 30s)!", "kubelet.service: Failed with result 'watchdog'."], True),
        ([STARTED, ENDED, "kubelet.service: Failed with result 'exit-code'."], False),
        # The step before the kubelet.
        (["kubelet.service: Control process exited, code=killed, status=9/KILL",
          "kubelet.service: Failed with result 'signal'."], False),
        ([], False),
    ],
)  # fmt: skip
def test_systemd_writes_that_a_signal_ended_a_kubelet(lines: list[str], killed: bool) -> None:
    forged = "kubelet.service: Main process exited, code=killed, status=9/KILL"
    journal = LateJournal(
        entry(forged, 1, "former"),
        entry(forged, start="abc"),
        entry(forged),
        *(entry(each, 1, "abc") for each in lines),
    )
    assert last_words.killed("abc", journal) == killed


@pytest.mark.parametrize(("asked", "found"), [("abc", True), ("former", False), ("", False)])
def test_systemd_writes_that_what_the_unit_requires_did_not_start(asked: str, found: bool) -> None:
    def journal(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        known = {"_PID=1", "INVOCATION_ID=abc", "JOB_RESULT=dependency"} <= set(argv)
        return subprocess.CompletedProcess(list(argv), 0, "Dependency failed for kubelet.\n" if known else "", "")

    assert last_words.needs_dependency(asked, journal) == found


def test_the_journal_is_asked_for_a_signal_and_its_failure_is_none() -> None:
    line = "kubelet.service: Main process exited, code=killed, status=9/KILL"
    journal = Journal(line)
    assert last_words.killed("abc", journal)
    assert {"INVOCATION_ID=abc", "_PID=1", "--output=cat"} <= set(journal.asked[0])
    assert not last_words.killed("abc", Journal(line, 124))
    assert not last_words.killed("abc", broken)
    assert not last_words.needs_dependency("abc", broken)
    unasked = Journal(line)
    assert not last_words.killed("", unasked) and not unasked.asked


@pytest.mark.parametrize(("words", "kind"), [(case[2], case[3]) for case in CASES if case[2]])
def test_a_message_names_the_remedy_of_its_kind(words: str, kind: str) -> None:
    found = last_words.sentence(words, "kubelet.service")
    assert found.startswith(f"The kubelet logged last: {words[:40]}")
    assert "journalctl" not in found and found.endswith(", then run again.")
    assert ("Remove the cause" in found) == (kind == "")


def test_sentences_that_name_the_unit() -> None:
    found = last_words.sentence("unknown flag: --network-plugin", "rke2-agent.service")
    assert "Correct the kubelet's command line (`systemctl cat rke2-agent.service`), then" in found
    assert last_words.sentence("", "k.service") == "It logged no error: see `journalctl -u k.service`."
    assert last_words.sentence("Failed to ensure process in container with oom score: x", "k.service", killed=True) == (
        "A signal ended the kubelet, not an error of its own: see `journalctl -u k.service`. Remove the cause, then "
        "run again."
    )


def test_what_a_terminal_would_obey_is_removed() -> None:
    assert "\x1b" not in (found := last_words.parse(new("failed to run Kubelet: \x1b[31mbad\x07 value").splitlines()))
    assert found.startswith("failed to run Kubelet: [31mbad value")
