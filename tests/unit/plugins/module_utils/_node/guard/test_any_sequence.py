# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After any sequence of changes and faults the node runs a configuration that its binary accepts: one that an operator
assigned, or its own.

300 sequences are tried, the same in every run. The long tier tries 20,000 random ones.
"""

from __future__ import annotations

import errno
import typing as t

import pytest

from tests.support.node.any_sequence import AnySequence, settings_for

Steps = list[tuple[str, dict[str, t.Any]]]
SWITCHED: Steps = [
    ("assign", {"behavior": "good", "policy": "static", "cut": None, "power": False}),
    ("assign", {"behavior": "good", "policy": "none", "cut": 41, "power": False}),
]
ENDS_ON_A_FULL_DISK: Steps = [
    ("assign", {"behavior": "dies", "policy": "static", "cut": None, "power": False}),
    ("confirm", {"cut": None}),
    ("disturb", {"what": "power cut"}),
    ("roll_out", {"behavior": "bad", "policy": "none", "cut": None}),
    ("fault", {"fault": errno.ENOSPC}),
]
AGAIN: Steps = [
    ("assign", {"behavior": "deaf", "policy": "none", "cut": None, "power": False}),
    ("assign_again", {"back": 1, "cut": None, "power": False}),
]
# Random sequences that failed, without the steps that do not matter.
PINNED: dict[str, Steps] = {
    "a switch within a trial of another policy is interrupted, and the kubelet is stopped": [
        *SWITCHED,
        ("operate", {"what": "stop"}),
    ],
    "a switch within a trial of another policy is interrupted, and the node is reset": [
        *SWITCHED,
        ("undo", {"reset": True, "cut": None, "connected": True}),
    ],
    "a trial of another policy is lost, another one begins, and the disk is full": [
        SWITCHED[0],
        ("tear", {"name": "store/trial", "half": False}),
        ("assign", {"behavior": "good", "policy": "none", "cut": None, "power": False}),
        ("fault", {"fault": errno.ENOSPC}),
    ],
    "a trial of another policy is lost before a kubelet has made its state file, and the disk is full": [
        ("assign", {"behavior": "bad", "policy": "static", "cut": None, "power": False}),
        ("tear", {"name": "store/trial", "half": False}),
        ("fault", {"fault": errno.ENOSPC}),
    ],
    "a revert to another policy starts the kubelet while the disk is read-only": [
        SWITCHED[0],
        ("undo", {"reset": False, "cut": None, "connected": False}),
        ("fault", {"fault": errno.EROFS}),
        ("crash", {"after": 0, "power_cut": False, "seconds": 400.0}),
    ],
    "two trials whose kubelet cannot start are given up on a full disk": [
        ("fault", {"fault": "dependency"}),
        ("roll_out", {"behavior": "good", "policy": "static", "cut": None}),
        ("roll_out", {"behavior": "dies", "policy": "none", "cut": None}),
        ("fault", {"fault": errno.ENOSPC}),
    ],
    "a trial of another policy reverts to what ran before the last change, on a full disk": [
        ("assign", {"behavior": "good", "policy": "none", "cut": None, "power": False}),
        ("confirm", {"cut": None}),
        ("roll_out", {"behavior": "bad", "policy": "static", "cut": None}),
        ("operate", {"what": "stop"}),
        ("assign", {"behavior": "good", "policy": "static", "cut": None, "power": False}),
        ("fault", {"fault": errno.ENOSPC}),
    ],
    "last-known-good is lost, and the module is killed before the restart": [
        ("systemd_is_silent", {"looks": 0, "killed": True}),
        ("roll_out", {"behavior": "good", "policy": "none", "cut": None}),
        ("tear", {"name": "store/meta/last-known-good", "half": False}),
        ("assign", {"behavior": "good", "policy": "none", "cut": 64, "power": False}),
    ],
    "what is assigned is lost, and its revert cannot be recorded on a full disk": [
        ("assign", {"behavior": "dies", "policy": "none", "cut": None, "power": False}),
        ("confirm", {"cut": None}),
        ("tear", {"name": "store/meta/assigned", "half": False}),
        ("fault", {"fault": errno.ENOSPC}),
    ],
    "a new binary refuses what a revert led to, and the runtime is away": [
        ("roll_out", {"behavior": "old", "policy": "static", "cut": None}),
        ("roll_out", {"behavior": "dies", "policy": "none", "cut": None}),
        ("fault", {"fault": "runtime"}),
        ("disturb", {"what": "binary 2"}),
        ("disturb", {"what": "kill"}),
        ("wait", {"seconds": 90.0}),
    ],
    "a revert leads to what fits the state file, while the runtime is away, and the disk is full later": [
        ("tear", {"name": "store/meta/last-known-good", "half": True}),
        ("fault", {"fault": "runtime"}),
        ("roll_out", {"behavior": "good", "policy": "static", "cut": None}),
        ("crash", {"after": 4, "power_cut": True, "seconds": 15.0}),
        ("fault", {"fault": errno.ENOSPC}),
    ],
    "the trial before is lost, the runtime is away, and the disk is full": [
        ("roll_out", {"behavior": "good", "policy": "none", "cut": 6}),
        ("tear", {"name": "store/trial", "half": True}),
        ("fault", {"fault": "runtime"}),
        ("roll_out", {"behavior": "good", "policy": "static", "cut": None}),
        ("fault", {"fault": errno.ENOSPC}),
        ("wait", {"seconds": 400.0}),
    ],
    "a new binary refuses what the revert of a reset was decided for, on a read-only disk": [
        ("roll_out", {"behavior": "old", "policy": "none", "cut": None}),
        ("disturb", {"what": "binary 2"}),
        ("undo", {"reset": True, "cut": 38, "connected": False}),
        ("fault", {"fault": errno.EROFS}),
        ("wait", {"seconds": 400.0}),
    ],
    "a reset is rolled back, the module is killed before the restart, and the note of that is lost": [
        ("operate", {"what": "stop"}),
        ("fault", {"fault": "runtime"}),
        ("operate", {"what": "start"}),
        ("fault", {"fault": "none"}),
        ("undo", {"reset": True, "cut": None, "connected": False}),
        ("wait", {"seconds": 90.0}),
        ("undo", {"reset": False, "cut": 58, "connected": False}),
        ("tear", {"name": "store/progress", "half": False}),
    ],
    "an operator's start fails on a dependency while the guard is only left to report": [
        ("fault", {"fault": "api"}),
        ("roll_out", {"behavior": "deaf", "policy": "none", "cut": None}),
        ("fault", {"fault": "dependency"}),
        ("operate", {"what": "stop"}),
        ("crash", {"after": 21, "power_cut": True, "seconds": 400.0}),
        ("operate", {"what": "start"}),
        ("fault", {"fault": errno.ENOSPC}),
    ],
    "the guard is killed in the start that reverts, and an operator keeps the kubelet stopped": [
        ("begin", {"seed": 1, "behavior": "bad"}),
        ("assign", {"behavior": "good", "policy": "static", "cut": 77, "power": False}),
        ("assign", {"behavior": "bad", "policy": "static", "cut": None, "power": True}),
        ("crash", {"after": 37, "power_cut": False, "seconds": 15.0}),
        ("operate", {"what": "stop"}),
    ],
    "a revert leads to the policy before several trials, the runtime is away, and the disk is full later": [
        ("begin", {"seed": 1, "behavior": "deaf"}),
        ("fault", {"fault": "api"}),
        ("roll_out", {"behavior": "good", "policy": "static", "cut": 60}),
        ("roll_out", {"behavior": "bad", "policy": "static", "cut": None}),
        ("fault", {"fault": "runtime"}),
        ("operate", {"what": "stop"}),
        ("roll_out", {"behavior": "bad", "policy": "static", "cut": 1}),
        ("fault", {"fault": errno.ENOSPC}),
    ],
    "systemd reports nothing of the start of another policy, whose trial is lost, and the disk is full": [
        ("systemd_is_silent", {"looks": 0, "killed": False}),
        SWITCHED[0],
        ("tear", {"name": "store/trial", "half": False}),
        ("fault", {"fault": errno.ENOSPC}),
    ],
    "what never became last-known-good is killed again and again, and cannot be left on a full disk": [
        ("begin", {"seed": 17848, "behavior": "good"}),
        ("fault", {"fault": "api"}),
        ("roll_out", {"behavior": "good", "policy": "static", "cut": None}),
        ("roll_out", {"behavior": "dies", "policy": "none", "cut": 75}),
        ("fault", {"fault": errno.ENOSPC}),
        ("systemd_is_silent", {"looks": 5, "killed": True}),
        ("crash", {"after": 25, "power_cut": True, "seconds": 15.0}),
        ("systemd_is_silent", {"looks": 4, "killed": True}),
    ],
    "a trial follows the failed one of a reset, and a crash has emptied what is assigned": [
        ("undo", {"reset": True, "cut": None, "connected": False}),
        ("undo", {"reset": False, "cut": None, "connected": True}),
        ("assign", {"behavior": "deaf", "policy": "none", "cut": None, "power": False}),
        ("tear", {"name": "store/meta/assigned", "half": False}),
        ("fault", {"fault": errno.ENOSPC}),
    ],
    "a revert that a full disk cannot record leads to what ends, too": [
        ("assign", {"behavior": "dies", "policy": "none", "cut": None, "power": False}),
        ("confirm", {"cut": None}),
        ("fault", {"fault": "runtime"}),
        ("assign", {"behavior": "good", "policy": "none", "cut": None, "power": False}),
        ("fault", {"fault": errno.ENOSPC}),
        ("crash", {"after": 0, "power_cut": True, "seconds": 15.0}),
    ],
    "what a reset reverted to ends, and is left on a full disk": [
        ("tear", {"name": "store/meta/last-known-good", "half": False}),
        ("assign", {"behavior": "dies", "policy": "none", "cut": None, "power": False}),
        ("confirm", {"cut": None}),
        ("fault", {"fault": "runtime"}),
        ("undo", {"reset": True, "cut": None, "connected": False}),
        ("crash", {"after": 0, "power_cut": False, "seconds": 400.0}),
        ("fault", {"fault": errno.ENOSPC}),
    ],
    "a switch within a trial is interrupted, and a reset reverts to neither of both": [
        ("assign", {"behavior": "deaf", "policy": "none", "cut": None, "power": False}),
        ("assign", {"behavior": "good", "policy": "none", "cut": 40, "power": False}),
        ("undo", {"reset": True, "cut": None, "connected": False}),
    ],
    "what a revert led to ends, its state files are restored, and then it ends on a full disk": ENDS_ON_A_FULL_DISK,
    "the same, and the trial that was before is lost": [
        *ENDS_ON_A_FULL_DISK,
        ("tear", {"name": "store/trial", "half": True}),
    ],
    "a trial is armed, and neither guard nor module go on": [
        ("undo", {"reset": True, "cut": None, "connected": True}),
        ("disturb", {"what": "power cut"}),
        ("assign", {"behavior": "good", "policy": "static", "cut": 43, "power": False}),
    ],
    "a reset after a rollback that was stopped before it switched led back to what had failed": [
        ("undo", {"reset": True, "cut": None, "connected": True}),
        ("assign", {"behavior": "deaf", "policy": "none", "cut": None, "power": False}),
        ("undo", {"reset": False, "cut": 15, "connected": False}),
        ("undo", {"reset": True, "cut": None, "connected": False}),
    ],
    "last-known-good is assigned again within the trial of what is deaf, and the controller is lost": AGAIN,
    "last-known-good is assigned again within a trial, and the controller is lost before the restart": [
        AGAIN[0],
        ("assign_again", {"back": 1, "cut": 43, "power": False}),
    ],
    "last-known-good is assigned again and rolled back, and the next one is deaf": [
        *AGAIN,
        ("undo", {"reset": False, "cut": None, "connected": True}),
        ("assign", {"behavior": "deaf", "policy": "none", "cut": None, "power": False}),
    ],
    "a switch back to last-known-good is interrupted, and a power cut undoes its assignment": [
        ("begin", {"seed": 12321, "behavior": "good"}),
        ("fault", {"fault": "dependency"}),
        ("roll_out", {"behavior": "good", "policy": "none", "cut": None}),
        ("assign_again", {"back": 1, "cut": 23, "power": False}),
        ("wait", {"seconds": 1.0}),
        ("disturb", {"what": "power cut"}),
    ],
    "the trial of what is deaf is lost, and the reset led back to it": [
        ("assign", {"behavior": "deaf", "policy": "none", "cut": None, "power": False}),
        ("fault", {"fault": "dependency"}),
        ("tear", {"name": "store/trial", "half": True}),
        ("undo", {"reset": True, "cut": None, "connected": True}),
    ],
}

AnySequence.TestCase.settings = settings_for(200, 20000)
TestAnySequence = AnySequence.TestCase


@pytest.mark.parametrize("steps", PINNED.values(), ids=list(PINNED))
def test_a_sequence_that_has_failed_before(steps: Steps) -> None:
    machine = AnySequence()
    begin = [] if steps[0][0] == "begin" else [("begin", {"seed": 1, "behavior": "good"})]
    try:
        for name, options in [*begin, *steps]:
            getattr(machine, name)(**options)
            machine.leads_back_to_nothing_that_has_failed()
    finally:
        machine.teardown()
