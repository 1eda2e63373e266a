# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch.one_call import StepError, step
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.lock import LockError

TEXT = '{"staticPodURLHeader": {"Authorization": ["planted-secret"]}}'


def test_a_failure_names_its_step() -> None:
    with pytest.raises(StepError, match=r"^switching failed: in use with \*+$") as caught, step("switching", TEXT):
        raise LockError("in use with planted-secret")
    assert caught.value.step == "switching"


def test_an_error_in_the_program_is_not_a_failed_step() -> None:
    with pytest.raises(KeyError), step("switching"):
        raise KeyError("x")
