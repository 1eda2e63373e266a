# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every ending of a batch leaves a verdict, no cordon, no Lease, and rows that name what every node runs.

The playbook rollout with the real roles, an HTTP server as API server, and a model of the nodes. The first batch has a
node of each delivery, the second one has another node.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import signal
import time
import typing as t
from pathlib import Path

import pytest

from tests.sim.api.handlers import Request
from tests.sim.switched import REACH, SwitchedCluster, switched_ansible
from tests.support.plays import boundaries
from tests.support.plays.ansible import Ansible, Run, extra

NATIVE, COPIED, LATER = "n1", "n2", "n3"
NAMES = (NATIVE, COPIED, LATER)
WANTED = 80
CONFIRM = "kubelet_checkpoint confirmed"

OPTIONS = extra(kubelet_config_serial="2,1", kubelet_config_soak_seconds=1)

STAGES = ("begun", "locked", "cordoned", "assigned", "switched", "confirmed", "uncordoned", "later")
"""How far the first batch is, as the cluster shows it; last, the second batch is assigned."""


class Fleet(SwitchedCluster):
    """Remembers what was sent to the API server and to the nodes: method, address and body."""

    # No guard reverts before `pass_time`.
    PATIENCE = 1000.0

    def __init__(self, native: t.Collection[str]) -> None:
        super().__init__(*NAMES, native=native)
        self.sent: list[tuple[str, str, t.Any]] = []

    def serve(self, method: str, url: str, body: t.Any, request: Request) -> tuple[int, t.Any]:
        """Answer one request."""
        if not url.startswith(REACH):
            self.sent.append((method, url, body))
        return super().serve(method, url, body, request)

    def stage(self) -> str:
        """Return one of STAGES."""
        if LATER in self.assigned and self.marked(LATER) != self.BEFORE:
            return "later"
        cordons, steps = self.cordoned() & {NATIVE, COPIED}, self.steps[COPIED]
        if CONFIRM in steps:
            return "confirmed" if cordons else "uncordoned"
        if "kubelet_checkpoint restarted" in steps:
            return "switched"
        if NATIVE in self.assigned and self.marked(NATIVE) != self.BEFORE:
            return "assigned"
        return "cordoned" if cordons else "locked" if self.claims.items else "begun"

    def written(self) -> list[t.Any]:
        """Return the bodies of all changes of Nodes."""
        return [body for method, url, body in self.sent if method == "PATCH" and "/nodes/" in url]


Outcome = bool | signal.Signals
Stand = t.Callable[..., t.ContextManager[tuple[Ansible, Fleet]]]


def refuse(*names: str) -> t.Callable[[Fleet], Outcome]:
    """Return what makes kubelets refuse the configuration."""

    def strike(fleet: Fleet) -> Outcome:
        fleet.refusing |= set(names)
        return True

    return strike


def lose(fleet: Fleet) -> Outcome:
    """Make the host unreachable from now on."""
    fleet.lost_after = {COPIED: len(fleet.steps[COPIED])}
    return True


def delete(name: str) -> t.Callable[[Fleet], Outcome]:
    """Return what deletes a Node, as an autoscaler does."""

    def strike(fleet: Fleet) -> Outcome:
        with fleet.lock:
            del fleet.nodes[name]
        return True

    return strike


def leave(seconds: float) -> t.Callable[[Fleet], Outcome]:
    """Return what ends the API server's answers for some time."""

    def strike(fleet: Fleet) -> Outcome:
        fleet.back = time.monotonic() + seconds
        return True

    return strike


def unlock(fleet: Fleet) -> Outcome:
    """Delete the Lease."""
    fleet.claims.items.clear()
    fleet.sent.clear()
    return True


class Ending(t.NamedTuple):
    """What strikes, and the verdict of the run.

    `verdict`: words of the run's verdict; None if it succeeds. `until`: the last of STAGES in which it must fail by it;
    in those of `unsure` it may. `hits`: the nodes that fail by name, while the rest of the batch goes through.
    `alone`: the run itself leaves neither cordon nor Lease; otherwise the next one removes them. `some`: the stages of
    the short tier. `each`: whether the long tier strikes before each step.
    """

    strike: t.Callable[[Fleet], Outcome]
    verdict: str | None = None
    hits: tuple[str, ...] = ()
    until: str = STAGES[-1]
    unsure: tuple[str, ...] = ()
    alone: bool = True
    some: tuple[str, ...] = ("locked",)
    each: bool = True

    def fails(self, stage: str) -> bool | None:
        """Return whether the run must fail if this strikes in a stage, None if it may."""
        if stage in self.unsure:
            return None
        return self.verdict is not None and STAGES.index(stage) <= STAGES.index(self.until)


DENIED = "failed to validate config"
ABSENT = "has no such Node"
ENDINGS = {
    "success": Ending(lambda _fleet: True, each=False),
    "one-fails": Ending(refuse(NATIVE), DENIED, (NATIVE,), each=False),
    "all-fail": Ending(refuse(NATIVE, COPIED), "did not stay up", (NATIVE, COPIED), each=False),
    "unreachable": Ending(lose, "cannot be reached", (COPIED,), "switched", some=("assigned",)),
    "native-deleted": Ending(delete(NATIVE), ABSENT, (NATIVE,), "assigned", ("switched",), some=("cordoned",)),
    "copied-deleted": Ending(delete(COPIED), ABSENT, (COPIED,), "assigned", ("switched",), some=()),
    "api-away-for-a-while": Ending(leave(3), some=()),
    "api-away": Ending(leave(10000), "no usable answer from the API server", alone=False, some=()),
    "lease-lost": Ending(unlock, "lost its Lease", (), "uncordoned", ("later",), some=("cordoned",)),
    "killed": Ending(lambda _fleet: False, "", alone=False, some=("switched",)),
    "interrupted": Ending(lambda _fleet: signal.SIGINT, "interrupted after", alone=False, some=("assigned",)),
}


# These end the controller, which cannot name the untouched hosts.
SILENT = (ENDINGS["killed"].strike, ENDINGS["interrupted"].strike)


class Played(t.NamedTuple):
    """A rollout: its result, its report, and the stage and the step in which it was struck."""

    run: Run
    report: dict[str, t.Any]
    stage: str
    step: str


def play(
    ansible: Ansible,
    fleet: Fleet,
    strike: t.Callable[[Fleet], Outcome],
    at: t.Callable[[int], bool],
    hasty: bool = False,
) -> Played:
    """Roll out; strike before the first step whose number (from 1) `at` accepts.

    Modules of a `hasty` rollout give up an API server that does not answer after 2 s.
    """
    struck: list[tuple[str, str]] = []

    def before(number: int, name: str) -> Outcome:
        if struck or not at(number):
            return True
        struck.append((fleet.stage(), f"{number} ({name})"))
        return strike(fleet)

    run = boundaries.steps(ansible, "rollout", before, *OPTIONS, **({"LIVENODES_TEST_PATIENCE": "2"} if hasty else {}))
    assert struck, run.output
    path = ansible.home / "report.json"
    return Played(run, json.loads(path.read_text()) if path.exists() else {}, *struck[0])


def check(ansible: Ansible, fleet: Fleet, ending: Ending, played: Played) -> None:
    """Assert what each ending leaves."""
    run, words = played.run, " ".join(played.run.output.split())
    failed, must = run.code != 0, ending.fails(played.stage)
    assert must in (None, failed), run.output
    begun = STAGES.index(played.stage) < STAGES.index("later")
    if failed:
        assert (ending.verdict or "") in words and all(f"Node {name}" in words for name in ending.hits), run.output
        through = CONFIRM in fleet.steps[COPIED]
        named = "Untouched hosts: n3" in words or (through and f"stopped at {LATER}: " in words)
        # Before the first batch, no host is named.
        named = named or (fleet.assigned == set() and "No node was changed" in words)
        assert named or not begun or ending.strike in SILENT, run.output
        assert run.recap(LATER)["failed"] == 0 or not begun or not ending.hits, run.output
    if ending.hits or not failed:
        through = set(NAMES) - set(ending.hits) - ({LATER} if failed and begun else set())
        assert {name: fleet.runs()[name] for name in through} == dict.fromkeys(through, WANTED), run.output
    if ending.alone:
        assert (fleet.cordoned(), fleet.claims.items) == (set(), {}), run.output
    if ending.strike is unlock:
        assert all(body["spec"] == {"unschedulable": None} for body in fleet.written()), fleet.written()
    rows(fleet, played)

    fleet.back = 0.0
    fleet.pass_time()
    if ending.alone:
        assert [name for name in fleet.nodes if not fleet.honest(name)] == [], run.output
    else:
        again = ansible.playbook("rollout", *OPTIONS)
        assert again.code == 0, again.output
        assert fleet.cordoned() == set(), again.output
        # A run that finds nothing to do holds no Lease, and that of a run that was killed at its end expires by itself.
        assert fleet.claims.items == {} or "3 unchanged" in again.output, again.output
        assert fleet.runs() == dict.fromkeys(NAMES, WANTED), again.output
        assert all(map(fleet.honest, fleet.nodes))


def rows(fleet: Fleet, played: Played) -> None:
    """Assert that the report has a row for each node, which agrees with what the node runs."""
    if played.run.code == -signal.SIGKILL:
        # It leaves the report of its last batch, if there was one.
        return
    found = {row["name"]: row for row in played.report["nodes"]}
    assert sorted(found) == sorted(NAMES)
    for name, row in found.items():
        live, words = fleet.runs()[name], f"{row}\n{played.run.output}"
        if row["state"] == "done":
            assert live == WANTED, words
        elif row["state"] in ("untouched", "reverted", "refused"):
            assert live != WANTED or name not in fleet.nodes, words
        elif row["state"] == "failed":
            assert row["cause"], words
        else:
            assert row["state"] == "unfinished" and played.run.code != 0, words


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    """Return what makes a new fleet, with native delivery on some nodes, and ansible-playbook for it."""
    count = itertools.count()

    @contextlib.contextmanager
    def made(native: t.Collection[str] = (NATIVE, LATER)) -> t.Iterator[tuple[Ansible, Fleet]]:
        home = tmp_path / str(next(count))
        home.mkdir()
        given = {"kubelet_config_wait_timeout": 15, "kubelet_config_gate_timeout": 5, "kubelet_config_drain": "always"}
        with Fleet(native) as fleet:
            ansible = switched_ansible(home, fleet, **given)
            ansible.environment.update(
                ANSIBLE_CALLBACKS_ENABLED="livenodes.kubelet.rollout",
                LIVENODES_KUBELET_REPORT_JSON=str(home / "report.json"),
            )
            yield ansible, fleet

    return made


SHORT = {"one-fails", "killed", "unreachable"}
"""The endings that the short tier shows, each in one stage. The tests of the callback interrupt a rollout."""
SOME = [
    pytest.param(name, stage, id=f"{name}-{stage}", marks=() if name in SHORT else pytest.mark.long)
    for name, ending in ENDINGS.items()
    for stage in ending.some
]
PARTS = 4
"""Each ending strikes before every step in so many tests, which may run side by side."""
EACH = [
    pytest.param(name, part, id=f"{name}-each-{part + 1}-of-{PARTS}", marks=pytest.mark.long)
    for name, ending in ENDINGS.items()
    if ending.each
    for part in range(PARTS)
]


@pytest.mark.parametrize(("name", "stage"), SOME)
@pytest.mark.fault(case=17)
@pytest.mark.fault(case=51)
@pytest.mark.fault(case=53)
@pytest.mark.fault(case=56)
@pytest.mark.fault(case=67)
def test_an_ending_in_a_stage(stand: Stand, name: str, stage: str) -> None:
    """Of the first batch."""
    with stand() as (ansible, fleet):
        ending = ENDINGS[name]
        played = play(ansible, fleet, ending.strike, lambda _number: fleet.stage() == stage)
        check(ansible, fleet, ending, played)


@pytest.mark.parametrize(
    ("name", "stage"),
    [
        pytest.param("one-fails", "locked", marks=pytest.mark.long),
        ("all-fail", "locked"),
        ("lease-lost", "assigned"),
    ],
)
def test_an_ending_without_steps_on_hosts(stand: Stand, name: str, stage: str) -> None:
    """The tasks of such a rollout run on one host; the verdict is on each host."""
    with stand(NAMES) as (ansible, fleet):
        ending = ENDINGS[name]
        if ending.hits:
            ending = ending._replace(verdict=DENIED)
        played = play(ansible, fleet, ending.strike, lambda _number: fleet.stage() == stage)
        check(ansible, fleet, ending, played)
        assert all(played.run.recap(host)["failed"] for host in ending.hits), played.run.output
        # Ansible starts a process for each host that includes.
        included = re.findall(r"TASK \[Batch\] \*+\nincluded: [\w.]+ for (.+)", played.run.output)
        assert included and all(hosts in NAMES for hosts in included), included


@pytest.mark.parametrize(("name", "part"), EACH)
@pytest.mark.fault(case=17)
@pytest.mark.fault(case=51)
@pytest.mark.fault(case=53)
@pytest.mark.fault(case=56)
@pytest.mark.fault(case=67)
def test_an_ending_at_each_step(stand: Stand, name: str, part: int) -> None:
    """Of the rollout that does something."""
    ending, wrong = ENDINGS[name], []
    for number in doing(stand, bool(ending.hits))[part::PARTS]:
        with stand() as (ansible, fleet):
            played = play(ansible, fleet, ending.strike, number.__eq__, hasty=name == "api-away")
            try:
                check(ansible, fleet, ending, played)
            except AssertionError as error:
                wrong.append(f"struck in stage {played.stage}, before step {played.step}: {error}")
    assert not wrong, "\n\n".join(wrong)


KNOWN: dict[bool, list[int]] = {}


def doing(stand: Stand, first_only: bool) -> list[int]:
    """Return the numbers of the steps under the Lease that send something. A strike before another one does the same
    as before the next of them. `first_only`: what hits a node of the first batch strikes no more in the second one.
    """
    if first_only in KNOWN:
        return KNOWN[first_only]
    seen: list[tuple[int, int]] = []
    with stand() as (ansible, fleet):

        def before(number: int, _name: str) -> Outcome:
            if fleet.claims.items and not (first_only and fleet.stage() == "later"):
                seen.append((number, len(fleet.sent)))
            return True

        run = boundaries.steps(ansible, "rollout", before, *OPTIONS)
        assert run.code == 0, run.output
        seen.append((0, len(fleet.sent)))
    found = [number for (number, sent), (_next, after) in itertools.pairwise(seen) if after > sent]
    assert len(found) > 10, seen
    KNOWN[first_only] = found
    return found
