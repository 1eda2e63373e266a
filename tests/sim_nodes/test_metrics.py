# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's metrics on simulated nodes, from the first switch to the reset."""

from __future__ import annotations

import json
import stat

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import textfile
from tests.sim.nodes.calls import Calls
from tests.sim.nodes.node import KUBELET, SimNode
from tests.support.lab_node.dropin_node import HEADER
from tests.support.report import exposition

FOLDER = "/run/textfile"
DEADLY = {"evictionHard": {"memory.available": "lots"}}


@pytest.mark.parametrize(
    ("name", "delivery"), [("n1", "checkpoint"), pytest.param("n2", "dropin", marks=pytest.mark.long)]
)
def test_metrics_from_the_first_switch_to_the_reset(nodes: dict[str, SimNode], name: str, delivery: str) -> None:
    node = nodes[name]
    layout = node.layout()
    folder = node.at(FOLDER)
    folder.mkdir()
    path = folder / textfile.NAME
    calls = Calls(node, delivery, metrics_dir=FOLDER)

    def reaches(*wanted: str) -> None:
        shown = dict(zip(("assigned", "active", "last_known_good", "error"), wanted, strict=True))
        node.wait(lambda: exposition.short(path.read_text()) == shown, 40, f"metrics {wanted}")
        assert stat.S_IMODE(path.stat().st_mode) == 0o644 and [entry.name for entry in folder.iterdir()] == [path.name]

    try:
        own = HEADER if delivery == "dropin" else node.own_config()
        data = {"kubelet": json.dumps({**own, "maxPods": 71})}
        assert calls.apply("assigned", check=True, source=calls.source(), data=data)["changed"] and not path.exists()
        done = calls.switch({"maxPods": 71}, trial_seconds=1)
        assert done["changed"] and not done["warnings"], done
        good = done["source"]["uid"]
        reaches(good, good, "local", "0")
        calls.apply("confirmed", source=done["source"])
        reaches(good, good, good, "0")

        bad = calls.switch(DEADLY, unchecked=True)["source"]["uid"]
        reaches(bad, good, good, "1")

        path.unlink()
        node.systemctl("restart", KUBELET)
        reaches(bad, good, good, "1")
        node.wait(lambda: node.configz().get("maxPods") == 71, 20, "the former configuration")
    finally:
        calls.reset()
    assert not path.exists() and node.layout() == layout
    folder.rmdir()
