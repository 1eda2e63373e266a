# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet shows of every leaf of its configuration, written in other notations, is our canonical form of it."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift import differing
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, complete_config
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import paths
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.short_texts import minor_of
from tests.lab.lab import Lab
from tests.support.dropin_node import DropinNode
from tests.support.odd_values import TURNS, respelt
from tests.support.start_outcome import opened

# The kubelet shows a number as the number that was written.
AS_WRITTEN = ("logging.flushFrequency",)


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
    config = respelt(complete_config.restore(node.live()), minor, turn)
    node.write(config, {})
    live = complete_config.restore(node.live())
    assert differing.between(config, live, minor) == []
    for path, form in compare.normalise(config, minor, True).items():
        if path not in AS_WRITTEN:
            assert compare.same(_at(live, path), form), path


def _at(config: t.Any, path: str) -> t.Any:
    for key in paths.parse(path):
        config = config.get(key) if isinstance(config, dict) else None
    return config
