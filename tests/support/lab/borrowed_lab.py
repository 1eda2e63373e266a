# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab for some tests: a running lab is used and not changed; otherwise one is started and removed."""

from __future__ import annotations

import contextlib
import os
import typing as t

import pytest

from tests.lab import releases
from tests.lab.console import LabError
from tests.lab.lab import Lab


def need(kubernetes: t.Sequence[str]) -> None:
    """Skip a test without the binaries of these versions, or let it fail if LAB_KUBERNETES=require asks for them."""
    reason = releases.missing(kubernetes)
    if reason and os.environ.get("LAB_KUBERNETES") == "require":
        pytest.fail(reason)
    if reason:
        pytest.skip(reason)


@contextlib.contextmanager
def borrowed(nodes: int, dynamic: bool, kubernetes: t.Sequence[str] = ()) -> t.Iterator[Lab]:
    """Yield a lab of at least `nodes` nodes, with or without dynamic configuration; skip the tests if impossible.

    `kubernetes`: versions as for `Lab.up`. Without their binaries the tests are skipped too, or fail where
    LAB_KUBERNETES=require asks for them.
    """
    need(kubernetes)
    try:
        before: bool | None = Lab.attach().state.data.get("dynamic")
    except LabError:
        before = None
    try:
        try:
            found = Lab.up(nodes=nodes, dynamic=dynamic, kubernetes=kubernetes)
        except LabError as error:
            if os.environ.get("LAB") == "require":
                raise
            pytest.skip(f"no lab here: {error}")
        yield found
    finally:
        if before is None:
            Lab.down()
        elif before != dynamic:
            Lab.up(nodes=nodes, dynamic=before)
