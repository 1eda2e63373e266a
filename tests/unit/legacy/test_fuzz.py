# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever the Node of one of the first kubelets holds, its parsers return a result; see tests/unit/fuzz."""

from __future__ import annotations

import copy
import typing as t

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import minors
from tests.unit.fuzz.cluster_parsers import shown
from tests.unit.fuzz.damaged import texts, values
from tests.unit.fuzz.nodes_drawn import nodes
from tests.unit.fuzz.parser import LONG, Parser, attempt
from tests.unit.fuzz.samples import SOURCE

FIRST = minors.FIRST_NATIVE
PLACE = minors.source_form(FIRST).config_source(SOURCE)
USING = 'using current (UID: "u1")'
CONDITION = {"type": "ConfigOK", "status": "False", "message": USING, "reason": "passing all checks"}
CONDITIONS = [
    CONDITION,
    {**CONDITION, "message": 'using last-known-good (UID: "u9")', "reason": 'failed to parse current (UID: "u8")'},
    {**CONDITION, "message": "using current (default)", "reason": "failed to sync, reason: failed to download"},
    {**CONDITION, "type": "KubeletConfigOk", "message": "using current: /api/v1/namespaces/kube-system/configmaps/c"},
]
VERSIONS = [f"v1.{minor}.3" for minor in range(FIRST, FIRST + 3)]


@st.composite
def first_nodes(draw: st.DrawFn) -> dict[str, t.Any]:
    """Draw a Node of the API whose kubelet is one of the first."""
    found = draw(nodes())
    condition = draw(st.sampled_from(CONDITIONS))
    message = draw(st.none() | texts(condition["message"]))
    found["status"]["conditions"].append(condition if message is None else {**condition, "message": message})
    found["status"]["nodeInfo"]["kubeletVersion"] = draw(st.sampled_from(VERSIONS))
    found["spec"]["configSource"] = copy.deepcopy(draw(st.sampled_from([None, PLACE])))
    return found


PARSERS = {
    "Node": Parser(first_nodes(), shown),
    "condition": Parser(
        st.lists(values(CONDITION), max_size=2),
        lambda found: minors.source_form(FIRST).records({}, {"configSource": PLACE}, {"conditions": found}),
    ),
}


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.usefixtures("no_garbage")
def test_some_inputs(name: str) -> None:
    attempt(PARSERS[name], settings().max_examples)


@pytest.mark.long
@pytest.mark.parametrize("name", PARSERS)
def test_many_inputs(name: str) -> None:
    attempt(PARSERS[name], LONG)


def test_a_last_known_good_without_a_source() -> None:
    """It once ended the reader of a Node with an error of Python."""
    condition = {**CONDITION, "message": 'using last-known-good (UID: "u9")'}
    status = {"nodeInfo": {"kubeletVersion": VERSIONS[0]}, "conditions": [condition]}
    shown({"metadata": {"name": "n1", "annotations": {}}, "status": status})
