# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Nodes as an API server can hold them: the types are right, the texts are what a kubelet or a user writes."""

from __future__ import annotations

import copy
import json
import typing as t

from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from tests.unit.fuzz.damaged import texts, values
from tests.unit.fuzz.samples import RECORD, SOURCE, STATUS

NOTES: dict[str, t.Any] = {
    annotation.SOURCE: {"configMap": SOURCE, "delivery": "dropin", "machineID": "m"},
    annotation.STATUS: STATUS,
    annotation.PREVIOUS: {"configMap": SOURCE},
    annotation.CORDONED: {"holder": "h", "time": "2026-01-01T00:00:00Z"},
    annotation.OWN: RECORD,
}
PLACE = {"configMap": {part: SOURCE[part] for part in ("namespace", "name", "kubeletConfigKey")}}
CONFIG = {part: STATUS[part] for part in ("assigned", "active", "error")}
READY = {"type": "Ready", "status": "True", "lastHeartbeatTime": "2026-01-01T00:00:00Z"}
VERSIONS = ("v1.11.3", "v1.20.2", "v1.28.7", "v1.36.2")


@st.composite
def nodes(draw: st.DrawFn) -> dict[str, t.Any]:
    """Draw a Node of the API."""
    notes = {}
    for key, good in NOTES.items():
        kind = draw(st.integers(0, 4))
        if kind == 1:
            notes[key] = json.dumps(draw(values(good)))
        elif kind:
            notes[key] = draw(texts(json.dumps(good))) if kind == 2 else json.dumps(good)
    conditions = [draw(st.sampled_from([READY, {**READY, "status": "Unknown", "message": "m"}]))]
    return {
        "metadata": {"name": "n1", "uid": "n", "resourceVersion": "5", "labels": {"pool": "a"}, "annotations": notes},
        "spec": {
            "unschedulable": draw(st.booleans()),
            "configSource": copy.deepcopy(draw(st.sampled_from([None, PLACE]))),
        },
        "status": {
            "config": draw(st.none() | values(CONFIG)),
            "conditions": conditions,
            "nodeInfo": {"kubeletVersion": draw(st.sampled_from(VERSIONS) | st.text(max_size=6)), "machineID": "m"},
        },
    }
