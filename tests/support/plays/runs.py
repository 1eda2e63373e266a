# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What three nodes run after a run of a playbook that ended in some way, and another run after it.

All nodes have their own file (L), then a rollout gives them 1. The run in question is a rollout to 2, or another
playbook after that rollout. It changes n1, n2 and n3 one after the other; n2 is where it fails or is killed.
"""

from __future__ import annotations

import json
import typing as t

from tests.support.plays import boundaries
from tests.support.plays.ansible import Ansible, Run

NAMES = ("n1", "n2", "n3")
AFTER = ("run again", "rolled back", "reset")
ENDINGS = ("ended", "failed", "paused", "killed", "window")
TABLE = """
  run       ending   run again  rolled back  reset
  rollout   ended    2 2 2      1 1 1        L L L
  rollout   failed   2 2 2      1 1 1        L L L
  rollout   paused   2 2 2      1 1 1        L L L
  rollout   killed   2 2 2      1 1 1        L L L
  rollout   window   2 2 2      1 1 1        L L L
  rollback  ended    1 1 1      1 1 1        L L L
  rollback  failed   1 1 1      1 1 1        L L L
  rollback  paused   1 1 1      1 1 1        L L L
  rollback  killed   1 1 1      1 1 1        L L L
  rollback  window   1 1 1      1 1 1        L L L
  reset     ended    L L L      L L L        L L L
  reset     failed   L L L      L L 1        L L L
  reset     paused   L L L      L 1 1        L L L
  reset     killed   L L L      L L 1        L L L
  reset     window   L L L      L 1 1        L L L
  migrate   ended    2 2 2      1 1 1        L L L
  migrate   failed   2 2 2      - - -        L L L
  migrate   paused   2 2 2      1 1 1        L L L
  migrate   killed   2 2 2      - - -        L L L
  migrate   window   2 2 2      1 1 1        L L L
"""
"""A rollback undoes the last rollout: on a node that was reset, nothing is left to undo. A migration is none. Where it
has begun on a node and not ended, a rollback is refused (-) until it has.
"""
PLAYBOOK = {"rolled back": "rollback", "reset": "reset"}
OPTIONS: dict[str, dict[str, t.Any]] = {
    "paused": {"kubelet_config_pause": True},
    # The second batch soaks longer than the window lasts.
    "window": {
        "kubelet_config_window_minutes": 2,
        "kubelet_config_confirm_seconds": 1,
        "kubelet_config_canary_soak_seconds": 0,
        "kubelet_config_soak_seconds": 600,
    },
}


class Row(t.NamedTuple):
    """A cell of the table."""

    playbook: str
    ending: str
    after: str
    expected: list[str]

    def __str__(self) -> str:
        return f"{self.playbook} {self.ending}, {self.after}".replace(" ", "-")


def rows() -> list[Row]:
    found = []
    for line in TABLE.strip().splitlines()[1:]:
        playbook, ending, *cells = line.split()
        found += [Row(playbook, ending, after, cells[3 * at : 3 * at + 3]) for at, after in enumerate(AFTER)]
    return found


class Stage(t.Protocol):
    """The cluster of a table."""

    ansible: Ansible
    field: str
    values: dict[str, t.Any]
    """The value of the field for L, 1 and 2."""

    def runs(self) -> list[t.Any]:
        """Return the live values of n1, n2 and n3."""

    def fail(self, playbook: str) -> None:
        """Let the next run of the playbook fail at n2."""

    def heal(self) -> None:
        """End that, and all that a run which was killed has left to expire."""

    def watch(self) -> t.Callable[[], bool]:
        """return what shows whether n2 was written since this call."""


def play(stage: Stage, playbook: str, number: str = "2", ending: str = "ended") -> Run:
    """Run a playbook until it ends in that way."""
    given = {
        "kubelet_config": {stage.field: stage.values[number]},
        "kubelet_config_serial": 1,
        "kubelet_config_max_unavailable": 1,
        **({"kubelet_config_delivery": "checkpoint"} if playbook == "migrate" else {}),
        **OPTIONS.get(ending, {}),
    }
    options = ("-e", json.dumps(given))
    if ending != "killed":
        return stage.ansible.playbook(playbook, *options)
    written = stage.watch()
    return boundaries.steps(stage.ansible, playbook, lambda _number, _name: not written(), *options)


def prepare(stage: Stage, playbook: str) -> None:
    """Give all nodes 1, and 2 unless the run in question is that rollout."""
    for number in ("1",) if playbook == "rollout" else ("1", "2"):
        run = play(stage, "rollout", number)
        assert (run.code, shown(stage)) == (0, [number] * 3), run.output


def begin(stage: Stage, playbook: str, ending: str) -> None:
    if ending == "failed":
        stage.fail(playbook)
    run = play(stage, playbook, ending=ending)
    assert (run.code == 0) == (ending == "ended"), run.output
    stage.heal()


def check(stage: Stage, row: Row) -> None:
    """Do what follows, and compare what all nodes run. After that, the same once more changes nothing."""
    playbook, expected = PLAYBOOK.get(row.after, row.playbook), row.expected
    if "-" in expected:
        before = shown(stage)
        refused = play(stage, playbook)
        assert refused.code != 0 and "n2: a migration did not end" in refused.output, refused.output
        assert shown(stage) == before
        ended = play(stage, row.playbook)
        assert (ended.code, shown(stage)) == (0, before), ended.output
        expected = ["1"] * 3
    run = play(stage, playbook)
    assert (run.code, shown(stage)) == (0, expected), run.output
    if playbook != "rollout":
        return
    again = play(stage, playbook)
    assert (again.code, again.recap("n1")["changed"]) == (0, 0), again.output


def shown(stage: Stage) -> list[str]:
    """Return what the nodes run as in the table."""
    names = {value: number for number, value in stage.values.items()}
    return [names.get(value, str(value)) for value in stage.runs()]
