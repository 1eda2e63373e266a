# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The model of a rollout, and the texts and files made of it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import termios

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import model, output
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.events import Event
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.output import StatusLine
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.page import page
from tests.support.report.played_rollout import DIFFERS, Played, example
from tests.support.report.terminal import Terminal


def rollout(*found: Event) -> model.Rollout:
    """A rollout to which these events happened, a second after each other."""
    made = model.Rollout(100)
    for second, event in enumerate(found, 101):
        made.apply(event, second)
    return made


PLAN = Event(
    "plan", detail={"nodes": {"n1": {"action": "assign"}, "n2": {"action": "assign"}, "n3": {"action": "none"}}}
)
BATCH = Event("batch", detail=["n1"])
FAILS = Event("failed", "n1", "a flag wins", "differs")
BEGUN, ON_NODE = [PLAN, BATCH], Event("delivery", "n1", detail="checkpoint")
SWITCHED, VERIFIED, KEPT = Event("switched", "n1"), Event("verified", "n1"), Event("kept", "n1")
BACK, NOT_BACK = Event("reverted", "n1"), Event("not_reverted", "n1", "away")


@pytest.mark.parametrize(
    ("found", "during", "after", "outcome"),
    [
        ([PLAN], "waiting", "untouched", "done"),
        (BEGUN, "running", "unfinished", "failed"),
        ([*BEGUN, SWITCHED], "running", "unfinished", "failed"),
        ([*BEGUN, VERIFIED], "done", "done", "done"),
        ([*BEGUN, ON_NODE, VERIFIED], "running", "unfinished", "failed"),
        ([*BEGUN, ON_NODE, VERIFIED, Event("confirmed", "n1")], "done", "done", "done"),
        ([*BEGUN, FAILS], "failed", "failed", "failed"),
        ([*BEGUN, FAILS, BACK], "reverted", "reverted", "failed"),
        ([*BEGUN, FAILS, VERIFIED], "reverted", "reverted", "failed"),
        ([*BEGUN, FAILS, KEPT], "refused", "refused", "failed"),
        ([*BEGUN, FAILS, KEPT, NOT_BACK], "failed", "failed", "failed"),
        # It was switched, and the Node did not show that yet.
        ([*BEGUN, SWITCHED, FAILS, KEPT], "reverted", "reverted", "failed"),
        ([*BEGUN, FAILS, SWITCHED, Event("restarted", "n1")], "failed", "failed", "failed"),
        ([*BEGUN, FAILS, BACK, NOT_BACK], "failed", "failed", "failed"),
        ([*BEGUN, Event("drained", "n1"), Event("restored", "n1")], "running", "unfinished", "failed"),
        ([*BEGUN, BACK], "done", "done", "done"),
        ([PLAN, Event("refused", message="no")], "waiting", "untouched", "refused"),
        ([PLAN, Event("paused", message="no", detail={"by": "me"})], "waiting", "untouched", "paused"),
    ],
)
def test_states_and_outcome(found: list[Event], during: str, after: str, outcome: str) -> None:
    made = rollout(*found)
    assert made.node("n1").state(ended=False) == during
    made.end(200)
    assert [made.node(name).state(ended=True) for name in ("n1", "n3")] == [after, "unchanged"]
    assert made.outcome == outcome


def test_the_first_cause_stays_and_what_was_not_reverted_is_added() -> None:
    made = rollout(PLAN, BATCH)
    assert made.apply(FAILS, 110)
    assert not made.apply(Event("failed", "n1", "Node n1: a flag wins. Untouched hosts: n2"), 111)
    assert made.node("n1").cause == "a flag wins"
    assert made.apply(Event("not_reverted", "n1", "not reverted within 180 s"), 112)
    assert made.node("n1").cause == "a flag wins; not reverted within 180 s"


def test_an_uncordon_is_no_change_of_a_node_with_nothing_to_do() -> None:
    made = rollout(PLAN, Event("restored", "n3"))
    assert (made.node("n3").state(ended=True), made.batches) == ("unchanged", [])


@pytest.mark.parametrize(
    "first", [Event("refused", message="2 are down"), Event("paused", message="2 are down", detail={"by": "me"})]
)
def test_a_message_that_repeats_the_reason_with_more_words_replaces_it(first: Event) -> None:
    """Reported once for the batch, or by each of its hosts: no host failed."""
    stopped = "stopped at n1: 2 are down. Untouched hosts: n2"
    for last in (Event("refused", message=stopped), Event("failed", "n1", stopped)):
        made = rollout(PLAN, first, last, last)
        assert [*made.messages, *([made.paused["message"]] if made.paused else [])] == [stopped]
        assert made.node("n1").state(ended=True) == "untouched"


def test_a_rollback_shows_the_targets_of_nodes_but_no_fields() -> None:
    target = {"action": "assign", "text": "kube-system/b -> kube-system/a"}
    stays = {"action": "none", "problems": [{"severity": "warning", "message": "who?"}]}
    made = rollout(Event("plan", detail={"nodes": {"n1": target, "n2": target, "n3": stays}}))
    made.end(110)
    words = page.make(output.document(made))
    assert [(entry["text"], entry["nodes"]) for entry in made.changes] == [(target["text"], 2), ("", 1)]
    assert "kube-system/b -&gt; kube-system/a" in words and "No field changes" not in words and "who?" in words
    assert "Nothing was changed" in words


def test_without_a_gate_a_batch_is_what_changes_in_one_play() -> None:
    made = rollout(PLAN, Event("switched", "n1"), Event("switched", "n2"), Event("verified", "n2"))
    made.close()
    made.apply(Event("verified", "n1"), 120)
    made.apply(Event("switched", "n9"), 121)
    assert [([node.name for node in batch.nodes], batch.began, batch.ended) for batch in made.batches] == [
        (["n1", "n2"], 102, 120),
        (["n9"], 121, 121),
    ]


def test_a_second_rollout_of_a_run_begins_anew() -> None:
    """It showed a node on trial as done, and named its own group alone."""
    first = [
        Event("group", message="a"),
        PLAN,
        Event("batch", detail=["n1", "n2"]),
        VERIFIED,
        FAILS._replace(node="n2"),
    ]
    made = rollout(*first, Event("group", message="b"), Event("group", message="b"), BATCH)
    assert made.group == "a, b"
    assert [made.count(batch) for batch in made.batches] == [{"failed": 1, "done": 1}, {"running": 1}]
    assert made.count() == {"failed": 1, "running": 1, "unchanged": 1}


def planned(*names: str, to: int) -> Event:
    return Event("plan", detail={"nodes": {name: {"action": "assign", "changes": [to]} for name in names}})


def test_a_second_rollout_of_a_run_shows_its_own_changes() -> None:
    """It showed those of the first one, and its nodes as done before it came to them."""
    begins = Event("begun")
    first = [begins, planned("n1", "n2", to=80), Event("batch", detail=["n1", "n2"])]
    first += [VERIFIED, Event("verified", "n2")]
    made = rollout(*first, begins, planned("n1", "n2", to=90))
    # It may be refused, or be another playbook that plans.
    assert made.count() == {"done": 2}
    made.apply(BATCH, 110)
    made.apply(Event("plan", detail={"nodes": {"n1": {"action": "assign", "text": "its targets"}}}), 111)
    assert made.count() == {"running": 1, "waiting": 1}
    assert [(entry["changes"], entry["nodes"]) for entry in made.changes] == [([80], 2), ([90], 2)]
    assert [node.change for node in made.nodes.values()] == [1, 1]


def forecast(line: str, restarts: int) -> Event:
    return Event("forecast", detail={"summary": {"nodes_to_restart": restarts}, "text": [line]})


@pytest.mark.parametrize("check_mode", [False, True])
def test_a_run_of_two_rollouts_has_the_forecasts_of_both(check_mode: bool) -> None:
    """That of the playbook `plan` before a rollout is replaced, and so is one of a run that changed nothing."""
    made = rollout()
    made.check_mode = check_mode
    for event in (forecast("old", 9), forecast("a", 2), BATCH, BATCH, forecast("old", 9), forecast("b", 3), BATCH):
        made.apply(event, 110)
    assert output.document(made)["forecast"] == {"summary": {"nodes_to_restart": 5}, "text": ["a", "b"]}


def test_a_rollout_after_a_plan_shows_what_it_changes() -> None:
    begins = Event("begun")
    made = rollout(begins, planned("n1", to=80), begins, planned("n1", to=90))
    assert [(entry["changes"], entry["nodes"]) for entry in made.changes] == [([80], 0), ([90], 1)]
    words = page.make(output.document(made))
    assert "1 node " in words and "0 nodes " not in words


def test_in_check_mode_nothing_happens_to_nodes() -> None:
    made = rollout(PLAN)
    made.check_mode = True
    made.apply(BATCH, 105)
    made.apply(Event("switched", "n1"), 106)
    made.end(107)
    assert (made.count(), made.outcome) == ({"untouched": 2, "unchanged": 1}, "done")


def test_time_left_is_known_after_the_first_batch() -> None:
    made = rollout(PLAN, BATCH, Event("verified", "n1"))
    assert made.seconds_left(112) is None
    made.close()
    assert made.seconds_left(112) == pytest.approx(10)


def test_nodes_with_the_same_to_do_share_an_entry() -> None:
    report = output.document(example(100))
    assert [entry["nodes"] for entry in report["changes"]] == [82, 16]
    assert report["summary"] == {"nodes": 100, "batches": 11, "failed": 2, "reverted": 2, "done": 94, "unchanged": 2}
    assert [node["state"] for node in report["nodes"][:5]] == ["failed", "failed", "reverted", "reverted", "done"]


def test_the_report_is_plain_and_has_no_configuration() -> None:
    played = Played(3, {"worker-0001.example.com": DIFFERS})
    report = json.loads(json.dumps(output.document(played.rollout)))
    assert report["outcome"] == "running" and report["ended"] >= report["started"]
    assert "nodefs.inodesFree" not in json.dumps(report), "a field that does not change"


_PLAN = Event("plan", detail={"nodes": {f"n{number}": {"action": "assign"} for number in range(1, 6)}})


@pytest.mark.parametrize("width", [20, 40, 79, 200])
def test_the_bar_fits(width: int) -> None:
    made = rollout(_PLAN, Event("batch", detail=["n1", "n2"]), Event("failed", "n1", "x"))
    line = output.progress_bar(made, "Wait until\nthe kubelets are there", 103, 104, width)
    assert len(line) <= width and "\n" not in line
    if width == 200:
        assert re.match(
            r"\[#{5}-{23}\] 1 of 5 nodes \| 1 failed \| batch 1 \(2 nodes\) \| "
            r"Wait until the kubelets are there, since \d\d:\d\d:\d\d$",
            line,
        )


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([_PLAN], "planned in 3 s, nothing was changed: 5 to change"),
        ([_PLAN, Event("refused", message="no")], "refused after 3 s: 5 untouched"),
        ([_PLAN, BATCH, VERIFIED], "done after 3 s: 1 done, 4 untouched"),
        ([Event("refused", message="no")], "refused after 3 s: nothing was changed"),
    ],
)
def test_the_last_line(events: list[Event], words: str) -> None:
    made = rollout(*events)
    made.end(103)
    assert output.last_line(made) == f"kubelet rollout: {words}"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (3599, "59 min 59 s"), (11400, "3 h 10 min")],
)
def test_durations(seconds: float, words: str) -> None:
    assert output.duration(seconds) == words


def test_the_line_never_runs_into_other_output() -> None:
    terminal = Terminal()
    line = StatusLine(terminal)
    for number in range(3):
        line.show(f"a long status line {number}")
        terminal.write(f"ok {number}\n")
    line.show("at the bottom")
    assert terminal.screen() == ["ok 0", "ok 1", "ok 2", "at the bottom"]
    terminal.write("Are you sure? ")
    line.show("not now")
    assert terminal.screen()[-1] == "Are you sure? "
    terminal.write("\n")
    line.show("again")
    line.close()
    terminal.write("free\n")
    assert terminal.screen()[-2:] == ["free", ""]


def test_the_line_is_as_wide_as_its_own_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """With stdout in a pipe, as with `| tee`, it had 80 columns, and each drawing left a line on a narrower screen."""
    monkeypatch.delenv("COLUMNS", raising=False)
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb"), os.fdopen(theirs, "w") as stream, open(os.devnull, encoding="utf-8") as pipe:
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 50, 0, 0))
        monkeypatch.setattr("sys.__stdout__", pipe)
        with contextlib.closing(StatusLine(stream)) as line:
            assert line.width() == 49
