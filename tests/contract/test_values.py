# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A configuration that means what a node runs is live and verified, in whatever notation its values are written."""

from __future__ import annotations

import json

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verify
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import complete_config, fields
from tests.contract.clusters import NAMES, Contracted
from tests.support.api.assigning import patiently
from tests.support.kubelets.odd_values import TURNS, respelt

# Each node gets another turn.
ROUNDS = [tuple((start + at) % TURNS for at in range(len(NAMES))) for start in range(0, TURNS, len(NAMES))]


@pytest.mark.parametrize(
    "rounds",
    [
        pytest.param(ROUNDS[-1:], id="some notations"),
        pytest.param(ROUNDS, id="every notation", marks=pytest.mark.long_on_lab),
    ],
)
def test_every_notation_is_live_and_verified(cluster: Contracted, rounds: list[tuple[int, ...]]) -> None:
    before = {name: cluster.look(name).configz for name in NAMES}
    for turns in rounds:
        sources = {}
        for name, turn in zip(NAMES, turns):
            config = respelt(complete_config.restore(before[name]), fields.OLDEST_MINOR, turn)
            sources[name] = cluster.apply(f"values-{name}-{turn}", {"kubelet": json.dumps(config)})
        # It fails with `differs` if a value is not the one of the source.
        result = verify.config_source(cluster.session, patiently(sources=sources), False)
        assert {row["state"] for row in result["nodes"].values()} == {"active"}
        assert {name: cluster.look(name).configz for name in NAMES} == before
