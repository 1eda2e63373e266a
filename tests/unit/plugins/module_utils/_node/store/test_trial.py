# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The trial file, the progress and the guard's settings: what is written is read again, and what is damaged."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.records import json_file
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import installed
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import (
    Moment,
    Progress,
    ProgressFile,
    Trial,
    TrialError,
    decode,
)
from tests.support.node.stored import A, B

STATE_FILES = [{"path": "/x", "data": "YQ=="}, {"path": "/y", "data": None}]
DIGESTS, UNHEALTHY = {"to": "1", "revert_to": "2"}, {"was_healthy": False}
FULL = Trial(B, A, Moment("boot", 5.5, 6.5), 300.0, DIGESTS, True, "id", "v1.20.2", STATE_FILES, "why", UNHEALTHY)


@pytest.mark.parametrize(
    "trial", [FULL, *(Trial(*ends, Moment("boot", 1.0, 2.0), state_files=[]) for ends in ((B, None), (None, A)))]
)
def test_round_trip(trial: Trial) -> None:
    assert decode(trial.encode()) == trial


def test_fields_of_a_later_version_are_no_damage() -> None:
    value = json.loads(FULL.encode())
    later = decode(json.dumps({**value, "later": 1}).encode())
    assert later._replace(unknown={}) == FULL
    assert json.loads(later._replace(confirmed=True).encode())["later"] == 1


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"{", b"[]", b"{}", b"null", b"\xff", FULL.encode()[:-20]),
        FULL.encode().replace(b'"to"', b'"too"'),
        FULL.encode().replace(b"uid-b", b"../b"),
        FULL.encode().replace(b"300.0", b'"soon"'),
        FULL.encode().replace(b'"confirmed": true', b'"confirmed": "yes"'),
        FULL.encode().replace(b'"why"', b"7"),
        FULL.encode().replace(b"5.5", b"null"),
        *(
            json.dumps({**json.loads(FULL.encode()), **wrong}).encode()
            for wrong in (
                {"deadline_seconds": float("nan")},
                {"armed": {"boot_id": {}, "monotonic": 1.0, "wall": 2.0}},
                {"armed": {"boot_id": "b", "monotonic": float("inf"), "wall": 2.0}},
                {"digests": ["1"]},
                {"invocation": 5},
                {"kubelet_version": None},
                {"extra": []},
                {"extra": {"confirm_seconds": "soon"}},
                {"state_files": {"/x": "YQ=="}},
                {"state_files": [{"data": None}]},
                {"state_files": [{"path": {}, "data": None}]},
                {"state_files": [{"path": "/x", "data": 1}]},
                {"state_files": [{"path": "/x", "data": "no base64"}]},
            )
        ),
    ],
)
def test_damage_is_reported(data: bytes) -> None:
    with pytest.raises(TrialError):
        decode(data)


def test_time_passes_within_a_boot_only() -> None:
    """The wall clock may jump and a reboot resets the other clock, so the boot's id belongs to each moment."""
    first, second = Moment.now(), Moment.now()
    assert first.boot_id == second.boot_id and 0 <= second.monotonic - first.monotonic < 60


@pytest.mark.fault(case=74)
def test_no_time_passes_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """CLOCK_BOOTTIME goes on then: an hour asleep would be an hour of a healthy kubelet."""
    monkeypatch.setattr(time, "monotonic", lambda: 7.5)
    assert Moment.now().monotonic == 7.5


def test_an_empty_progress_leaves_no_file(tmp_path: Path) -> None:
    """In records, the tests of a record have what is damaged."""
    (tmp_path / "store").mkdir()
    file, some = ProgressFile(str(tmp_path)), Progress(name="t", failures=1, verdict="it ended")
    file.write(some)
    assert file.read() == some
    file.write(Progress())
    assert not Path(file.path).exists() and file.read() == Progress()


KNOWN = {"unit": "k.service", "argv": ["kubelet", "--v=2"], "config": "/k.yaml", "key": "kubelet", "later": 1}
WRONG = [{"argv": "kubelet"}, {"argv": [1]}, {"unit": None}, {"metrics": 5}, {"folder": []}]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (json_file.encode(KNOWN), KNOWN),
        *((json_file.encode({**KNOWN, **wrong}), {}) for wrong in WRONG),
        *((data, {}) for data in (b"", b"[]", b"{", b"\xff", b"null")),
    ],
)
def test_damaged_settings_of_a_guard_count_as_none(tmp_path: Path, data: bytes, expected: dict[str, object]) -> None:
    assert installed.settings(str(tmp_path)) == {}
    (tmp_path / "guard").mkdir()
    Path(installed.path(str(tmp_path))).write_bytes(data)
    assert installed.settings(str(tmp_path)) == expected
