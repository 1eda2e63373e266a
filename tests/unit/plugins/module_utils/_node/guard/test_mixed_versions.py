# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After any sequence of changes and faults the node is well, also while its guard is of another version than the
module: the files of one are read by the other. What is demanded is what one version has to do
(tests/support/node/any_sequence.py).
"""

from __future__ import annotations

import pytest

from tests.support.node.any_sequence import AnySequence, settings_for
from tests.support.node.versions import OURS, landed, without_landed

MISSING = without_landed()

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


class FormerGuard(AnySequence):
    """The module was updated, and the guard not yet."""

    def __init__(self) -> None:
        super().__init__()
        self.guard = landed()


class FormerModule(AnySequence):
    """The guard was updated, by a controller that is newer than this one."""

    def __init__(self) -> None:
        super().__init__()
        self.module = landed()


FormerGuard.TestCase.settings = settings_for(50, 10000)
FormerModule.TestCase.settings = settings_for(50, 10000)


@pytest.mark.parametrize("mixed", [FormerGuard, FormerModule])
def test_guard_and_module_are_of_two_versions(mixed: type[AnySequence]) -> None:
    machine = mixed()
    machine.teardown()
    assert {machine.guard.package, machine.module.package} == {OURS.package, landed().package}


TestFormerGuard = FormerGuard.TestCase
TestFormerModule = FormerModule.TestCase
