# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gates of a tier. No file of tests is left out of every gate, and what a gate names exists."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tools.collection_tree import ROOT
from tools.gates import declared, gate
from tools.gates.declared import GATES, chosen

FILES = [path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests").rglob("test_*.py"))]
BOTH = [name for name, one in GATES.items() if len(one.limits) == 2 and one.tests(False)]


def test_a_tier_has_its_gates() -> None:
    short, long = chosen("short", []), chosen("long", [])
    assert set(GATES) == {*short, *long}
    assert "ruff" not in long and "fuzz" not in short
    assert (short["e2e"].limits["short"], long["e2e"].limits["long"]) == (3600, 9000)


def test_named_gates_only() -> None:
    assert list(chosen("short", ["unit", "e2e"])) == ["unit", "e2e"]
    with pytest.raises(SystemExit, match="no such gate in the long tier: ruff; its gates are sim_nodes, roles, "):
        chosen("long", ["e2e", "ruff"])


@pytest.mark.parametrize(("tier", "arguments"), [("long", ["tests/a"]), ("short", ["tests/a", "-m", "not long"])])
def test_pytest_gets_the_arguments_of_the_tier(
    monkeypatch: pytest.MonkeyPatch, tier: str, arguments: list[str]
) -> None:
    """In the environment that the session makes."""
    ran: list[object] = []
    monkeypatch.setattr(gate, "GATES", {})
    monkeypatch.setenv("TIER", tier)

    @gate.tests("beside", lambda session: SimpleNamespace(pytest=lambda *words: ran.append((session, [*words]))))
    def some(long: bool) -> list[str]:
        """Some tests."""
        return ["tests/a", *declared.unless(long)]

    body = gate.GATES["some"].body
    body("a session")
    assert (body.__name__, body.__doc__, ran) == ("some", "Some tests.", [("a session", arguments)])


def test_each_lane_of_a_lab_has_a_row() -> None:
    labs = {one.lane for one in GATES.values()} - {"quick", "single", "beside", "slow"}
    assert sorted(lane for row in declared.ROWS for lane in row) == sorted(labs) == sorted(declared.labs())


def test_every_file_runs_in_the_long_tier() -> None:
    assert [path for path in FILES if not any(one.runs(path, long=True) for one in GATES.values())] == []


@pytest.mark.parametrize("name", BOTH)
def test_the_short_tier_runs_a_part_of_the_long_one(name: str) -> None:
    short, long = ({path for path in FILES if GATES[name].runs(path, tier)} for tier in (False, True))
    assert short and short <= long


@pytest.mark.parametrize("tier", [False, True])
def test_what_is_named_exists(tier: bool) -> None:
    for one in GATES.values():
        named = [word.removeprefix("--ignore=") for word in one.tests(tier) if "tests/" in word]
        assert [path for path in named if not (ROOT / path.partition("::")[0]).exists()] == []


@pytest.mark.parametrize("tier", [False, True])
def test_what_is_left_out_is_not_named(tier: bool) -> None:
    """pytest ignores a file of a folder that it collects, but not one that it gets by name."""
    for name, one in GATES.items():
        words = one.tests(tier)
        assert [word for word in words if f"--ignore={word}" in words] == [], name


def test_other_versions_run_every_room_that_knows_ansible() -> None:
    """A new room is one of these or of the others."""
    rooms = {path.parts[2] for path in map(type(ROOT), FILES) if path.parts[1] == "unit"}
    run = {path.split("/")[2] for path in FILES if GATES["unit_lowest"].runs(path, long=True)}
    assert rooms - run == {"docs", "fuzz", "lab", "legacy", "sim", "tools"}
