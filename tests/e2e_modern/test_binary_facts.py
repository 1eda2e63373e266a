# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real kubelet binary answers what was recorded: the unit tests compare the tables with the record.

It needs the binaries, and no lab: record anew with `python -m tests.support.record_binary`.
"""

from __future__ import annotations

import pytest

from tests.lab import releases
from tests.support import binary_corpus
from tests.support.borrowed_lab import need


@pytest.fixture(scope="module", params=binary_corpus.WHOLE)
def version(request: pytest.FixtureRequest) -> str:
    need((request.param,))
    return str(request.param)


@pytest.fixture(scope="module")
def program(version: str) -> str:
    return str(releases.place() / version / "kubelet")


def test_it_says_what_was_recorded(program: str, version: str) -> None:
    recorded = binary_corpus.recorded(version)
    names = [name for name in binary_corpus.every_name() if recorded.was_asked(name)]
    # A gate that it does not know costs a start: some of them, and all others.
    gone = [name for name in names if recorded.gates.get(name[len("featureGates.") :]) == "x"]
    asked = [name for name in names if name not in gone[5:]]
    found = binary_corpus.ask(program, asked)
    assert found.flags == recorded.flags and found.version == version
    assert found.fields == {name: recorded.fields[name] for name in asked if name in recorded.fields}
    assert found.gates == {name: recorded.gates[name] for name in found.gates}
    assert {f"featureGates.{name}" for name in found.gates} >= {
        name for name in asked if name.startswith("featureGates.")
    }


def test_it_judges_values_as_was_recorded(program: str, version: str) -> None:
    assert binary_corpus.judged(program) == binary_corpus.recorded_values(version)
