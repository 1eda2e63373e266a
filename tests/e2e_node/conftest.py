# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab whose kubelets know nothing of dynamic configuration, for a test session."""
from __future__ import annotations

import os
import typing as t

import pytest

from tests.e2e.conftest import ansible  # noqa: F401  # pylint: disable=unused-import  # a fixture
from tests.lab.console import LabError
from tests.lab.lab import Lab


@pytest.fixture(scope="session")
def static_lab() -> t.Iterator[Lab]:
    """A lab of two nodes whose kubelets read a file only, as modern ones do; a lab that runs is used and left as it was."""
    try:
        before: bool | None = Lab.attach().state.data.get("dynamic")
    except LabError:
        before = None
    try:
        yield Lab.up(nodes=2, dynamic=False)
    except LabError as error:
        if os.environ.get("LAB") == "require":
            raise
        pytest.skip(f"no lab here: {error}")
    finally:
        if before is None:
            Lab.down()
        elif before:
            Lab.up(nodes=2, dynamic=True)


@pytest.fixture(scope="session")
def lab(static_lab: Lab) -> Lab:
    """What the fixture `ansible` runs against."""
    return static_lab
