# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The trial file: what is written is read again, what is damaged is reported."""

from __future__ import annotations

import json
import time

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import (
    Moment,
    Trial,
    TrialError,
    decode,
)

A = {"namespace": "kube-system", "name": "a", "uid": "u-a", "resourceVersion": "1", "kubeletConfigKey": "kubelet"}
B = {**A, "name": "b", "uid": "u-b"}
FULL = Trial(
    B,
    A,
    Moment("boot", 5.5, 6.5),
    300.0,
    {"to": "1", "revert_to": "2"},
    True,
    "id",
    "v1.20.2",
    [{"path": "/x", "data": "YQ=="}, {"path": "/y", "data": None}],
    "why",
    {"was_healthy": False},
)


@pytest.mark.parametrize(
    "trial", [FULL, *(Trial(*ends, Moment("boot", 1.0, 2.0), state_files=[]) for ends in ((B, None), (None, A)))]
)
def test_round_trip(trial: Trial) -> None:
    assert decode(trial.encode()) == trial


def test_fields_of_a_later_version_are_no_damage() -> None:
    value = json.loads(FULL.encode())
    later = decode(json.dumps({**value, "later": 1}).encode())
    assert later.but(unknown={}) == FULL
    assert json.loads(later.but(confirmed=True).encode())["later"] == 1


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b"null",
        b"\xff",
        FULL.encode()[:-20],
        FULL.encode().replace(b'"to"', b'"too"'),
        FULL.encode().replace(b"u-b", b"../b"),
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
    assert first.boot_id == second.boot_id and 0 <= second.monotonic - first.monotonic < 5


@pytest.mark.fault(case=74)
def test_no_time_passes_while_the_machine_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """CLOCK_BOOTTIME goes on then: an hour asleep would be an hour of a healthy kubelet."""
    monkeypatch.setattr(time, "monotonic", lambda: 7.5)
    assert Moment.now().monotonic == 7.5
