# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift.drift_facts import Host, NodeFacts
from tests.support.objects import reference

FLAG = {"maxPods": {"flag": "--max-pods=61", "file": "/etc/default/kubelet", "line": 3}}
OURS = "/etc/kubernetes/kubelet.conf.d/90-livenodes-kubelet.conf"


def test_what_was_seen_on_a_node() -> None:
    kubelet = {
        "shadowed": FLAG,
        "changes_at_restart": True,
        "config_given_by": {"file": "/etc/x.conf", "line": 2},
        "reason": "",
    }
    disk = {
        "path": "/f",
        "content": {"a": 1},
        "unreadable": None,
        "checkpoint": {"uid": "u", "resourceVersion": "7", "damage": "no"},
        "changed": 20.5,
        "started": 20.4,
        "dropins": {"/d": {}},
    }
    assert Host.of({"kubelet": kubelet, "disk": disk}) == Host(
        "/f", {"a": 1}, "", ("u", "7"), "no", True, True, FLAG, {"/d": {}}, "/etc/x.conf, line 2"
    )
    assert Host.of({"kubelet": {"reason": "refused"}}) == Host(given_by="refused")
    assert not Host.of({"kubelet": {}, "disk": {**disk, "changed": 20.3}}).outdated
    assert not Host.of({"kubelet": {}, "disk": {**disk, "started": None}}).outdated


@pytest.mark.parametrize(
    ("names", "file", "later"),
    [
        (["/d/10-a.conf", OURS, "/d/95-b.conf"], OURS, ["/d/95-b.conf"]),
        ([OURS], OURS, []),
        # Without ours, any of them may explain a difference.
        (["/d/10-a.conf"], "", ["/d/10-a.conf"]),
        ([], "", []),
    ],
)
def test_our_drop_in_and_those_after_it(names: list[str], file: str, later: list[str]) -> None:
    disk: dict[str, Any] = {
        "path": "/var/lib/kubelet/config.yaml",
        "content": {"maxPods": 1},
        "dropins": {name: {"maxPods": position} for position, name in enumerate(names)},
    }
    found = Host.of({"kubelet": {}, "disk": disk}, True)
    assert (found.file, list(found.dropins)) == (file, later)
    assert found.content == (disk["dropins"][OURS] if file else None)


@pytest.mark.parametrize(("file", "active", "strayed"), [("", True, True), (OURS, True, False), ("", False, False)])
def test_a_kubelet_that_does_not_read_our_drop_in(file: str, active: bool, strayed: bool) -> None:
    found = NodeFacts(36, dropin=True, active=reference() if active else None, host=Host(file=file))
    assert found.strayed is strayed
