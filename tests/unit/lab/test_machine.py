# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine's limit of inotify instances: raised for the nodes of all labs, restored when the last lab is removed."""

from __future__ import annotations

import contextlib
import typing as t
from pathlib import Path

import pytest

from tests.lab import machine
from tests.lab.settings import claim


class Machine:
    """A machine made of files: its limit, and labs that are folders."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.limit = 128

    @property
    def limit(self) -> int:
        return int(machine.LIMIT.read_text())

    @limit.setter
    def limit(self, value: int) -> None:
        machine.LIMIT.write_text(f"{value}\n")

    def up(self, name: str, nodes: int) -> int:
        claim(self.home / name)
        machine.enter(self.home / name, nodes)
        return self.limit

    def down(self, name: str) -> int:
        machine.leave(self.home / name)
        return self.limit


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(machine, "LIMIT", tmp_path / "limit")
    monkeypatch.setattr(machine, "RECORD", tmp_path / "record.json")
    monkeypatch.setattr(machine, "NSPAWN", tmp_path / "nspawn")
    # The real path is in /run, and these tests must not need root.
    monkeypatch.setattr(machine, "locked", lambda *_arguments, **_options: contextlib.nullcontext())
    return Machine(tmp_path)


@pytest.mark.parametrize(
    ("before", "nodes", "limits"),
    [
        pytest.param(128, [5], [128], id="few nodes need nothing"),
        pytest.param(128, [7], [168], id="many nodes"),
        pytest.param(128, [3, 6, 6, 8], [128, 148, 148, 188], id="a lab that grows"),
        pytest.param(1024, [7], [1024], id="high enough"),
    ],
)
def test_limit_raised_and_restored(box: Machine, before: int, nodes: list[int], limits: list[int]) -> None:
    box.limit = before
    assert [box.up("one", count) for count in nodes] == limits
    assert box.down("one") == before
    assert not machine.RECORD.exists()


@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_two_labs_do_not_undo_each_other(box: Machine, order: tuple[str, str]) -> None:
    assert (box.up("one", 3), box.up("two", 4)) == (128, 168)
    machine.NSPAWN.mkdir()
    assert box.down(order[0]) == 168
    assert machine.NSPAWN.exists()
    assert box.down(order[1]) == 128
    assert not machine.NSPAWN.exists()


def test_limit_that_was_changed_since_is_kept(box: Machine) -> None:
    box.up("one", 7)
    box.limit = 300
    assert box.down("one") == 300
    box.limit = 128
    box.up("one", 7)
    box.limit = 140
    assert box.up("one", 7) == 168
    assert box.down("one") == 140


def test_killed_before_and_after_the_limit_was_raised(box: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def killed(*_arguments: t.Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(machine, "progress", killed)
        with pytest.raises(Killed):
            box.up("one", 7)
    assert box.limit == 128
    assert (box.up("one", 7), box.up("one", 7), box.down("one")) == (168, 168, 128)


def test_a_lab_removed_by_hand_no_longer_counts(box: Machine) -> None:
    box.up("one", 7)
    (box.home / "one" / ".livenodes-kubelet-lab").unlink()
    assert (box.up("two", 1), box.down("two")) == (168, 128)


def test_limit_that_cannot_be_raised_is_reported(
    box: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class ReadOnly:
        def read_text(self) -> str:
            return "128\n"

        def write_text(self, _text: str) -> t.NoReturn:
            raise OSError(30, "Read-only file system")

    monkeypatch.setattr(machine, "LIMIT", ReadOnly())
    claim(box.home / "one")
    machine.enter(box.home / "one", 7)
    assert "is 128, the nodes need 168, and it cannot be raised" in capsys.readouterr().err
    machine.leave(box.home / "one")
