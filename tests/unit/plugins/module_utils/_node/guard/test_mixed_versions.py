# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After any sequence of changes and faults the node is well, also while its guard is of another version than the
module: the files of one are read by the other.

What is demanded is what one version has to do (tests/support/node/any_sequence.py). It is less where the older one does
not know what the newer one does (tests/support/node/versions.py): nothing that the kubelet requires fails, no rollback
names a trial, the disk is not full after a change of policy, and a trial ends later by the time in which the machine
slept.
"""

from __future__ import annotations

import pytest

from tests.support.node.any_sequence import AnySequence, settings_for
from tests.support.node.versions import landed, without_landed

MISSING = without_landed()

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


class FormerGuard(AnySequence):
    """The module was updated, and the guard not yet."""

    def setup(self) -> None:
        self.guard = landed()


class FormerModule(AnySequence):
    """The guard was updated, by a controller that is newer than this one."""

    def setup(self) -> None:
        self.module = landed()


FormerGuard.TestCase.settings = settings_for(100, 10000)
FormerModule.TestCase.settings = settings_for(100, 10000)
TestFormerGuard = FormerGuard.TestCase
TestFormerModule = FormerModule.TestCase
