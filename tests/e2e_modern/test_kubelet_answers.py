# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the product knows of kubelets is what real ones do: recorded binaries, rules of validation, starts, values.

The tests of recorded binaries need no lab: record anew with `python -m tests.support.kubelets.record_binary`.
"""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift import differing
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import paths
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.short_texts import minor_of
from tests.lab import releases
from tests.lab.lab import Lab
from tests.support.kubelets import binary_corpus
from tests.support.kubelets.asked_rules import CONFIGS, ask, wrong
from tests.support.kubelets.kubelet_starts import ENDS, HIDES, STARTS
from tests.support.kubelets.odd_values import TURNS, respelt
from tests.support.kubelets.start_outcome import opened, outcome
from tests.support.lab.borrowed_lab import need
from tests.support.lab_node.dropin_node import DropinNode
from tests.support.lab_node.preflight_node import Node

# The kubelet shows a number as the number that was written.
AS_WRITTEN = ("logging.flushFrequency",)


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


@pytest.mark.parametrize("name", ["n1", "n2"])
@pytest.mark.parametrize(
    "configs",
    [
        pytest.param(CONFIGS[::6], id="some"),
        pytest.param(CONFIGS, id="all", marks=pytest.mark.long),
    ],
)
def test_the_rules_of_the_plan_are_those_of_the_kubelet(lab: Lab, name: str, configs: list[dict[str, t.Any]]) -> None:
    node = Node(lab, lab.node(name))
    assert wrong(ask(node, configs), node.minor) == []


@pytest.fixture(scope="module")
def newest(lab: Lab) -> t.Iterator[DropinNode]:
    """Yield a newest of the newest release whose config file may be changed."""
    with opened(lab, "n3") as newest:
        yield newest


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(slice(0, None, 6), id="some"),
        pytest.param(slice(None), id="all", marks=pytest.mark.long),
    ],
)
def test_a_kubelet_ends_where_the_plan_refuses(newest: DropinNode, part: slice) -> None:
    wanted = [
        *((fields, ("ends",)) for fields, _rule in ENDS[part]),
        # Which of two servers gets the port differs.
        *((fields, ("ends", "hides")) for fields, _rule in HIDES[part]),
        *((fields, ("starts",)) for fields in STARTS[part]),
    ]
    found = [(fields, outcome(newest, fields), allowed) for fields, allowed in wanted]
    assert [row for row in found if row[1] not in row[2]] == []


@pytest.fixture(scope="module", params=["n1", "n3"])
def node(request: pytest.FixtureRequest, lab: Lab) -> t.Iterator[DropinNode]:
    """Yield a node whose config file may be changed, with the older release and with the newest one."""
    # No folder: 1.28 does not start with one.
    with opened(lab, request.param) as node:
        yield node


@pytest.mark.parametrize(
    "turn", [0, *(pytest.param(turn, marks=pytest.mark.long) for turn in range(1, TURNS - 1)), TURNS - 1]
)
def test_the_form_of_every_leaf_is_that_of_the_kubelet(node: DropinNode, turn: int) -> None:
    minor = minor_of(node.version) or 0
    node.write({}, {})
    config = respelt(fields.restore(node.live()), minor, turn)
    node.write(config, {})
    live = fields.restore(node.live())
    assert differing.between(config, live, minor) == []
    for path, form in compare.normalise(config, minor, True).items():
        if path not in AS_WRITTEN:
            assert compare.same(_at(live, path), form), path


def _at(config: t.Any, path: str) -> t.Any:
    for key in paths.parse(path):
        config = config.get(key) if isinstance(config, dict) else None
    return config
