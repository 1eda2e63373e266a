# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The drift of a node with a drop-in: what is declared against what is live."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift.drift_facts import Host, NodeFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift.drift_rows import Configs, Finder
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import merged_dropins
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import own_file
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.own_values import NO_RECORD
from tests.support.objects import place, reference

A = reference("config-a")
OURS = "/d/90-livenodes-kubelet.conf"
OWN_FILE = {"clusterDNS": ["10.96.0.10"], "failSwapOn": False, "maxPods": 100}


def _live(*layers: dict[str, Any]) -> dict[str, Any]:
    return merged_dropins.effective(OWN_FILE, layers, 36)


def _rows(
    declared: dict[str, Any],
    pushed: dict[str, Any] | None,
    live: dict[str, Any],
    own: dict[str, Any] | None = None,
    **facts: Any,
) -> dict[str, tuple[Any, Any, str]]:
    runs = {"source": place(), "assigned": A, "active": A, "pushed": A} if pushed is not None else {}
    record = {**NO_RECORD, "source": "config-a", "own": own or {}}
    configs = Configs((declared,), pushed, pushed, live, own=record)
    found = Finder().rows(configs, NodeFacts(36, dropin=True, **{**runs, **facts}))
    return {row["path"]: (row["declared"], row["live"], row["cause"]) for row in found}


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"maxPods": 70},
        {"evictionHard": {"memory.available": "1Gi"}},
        {"evictionHard": {"memory.available": None}},
        {"failSwapOn": None, "clusterDNS": None},
        {"kubeAPIQPS": 0, "enforceNodeAllocatable": []},
    ],
)
@pytest.mark.parametrize("looked_at", [False, True])
def test_no_drift_where_what_is_declared_is_live(declared: dict[str, Any], looked_at: bool) -> None:
    """Whatever else the node has: its own file and other drop-ins are not declared."""
    host = Host(file=OURS, content=declared) if looked_at else None
    assert _rows(declared, declared, _live({"kubeAPIBurst": 7}, declared), host=host) == {}


@pytest.mark.parametrize(
    ("declared", "pushed", "live", "facts", "rows"),
    [
        ({"maxPods": 70}, None, {}, {}, {"maxPods": (70, 100, "not rolled out")}),
        ({"maxPods": 70}, {"maxPods": 60}, {"maxPods": 60}, {}, {"maxPods": (70, 60, "not rolled out")}),
        ({"failSwapOn": None}, {}, {}, {}, {"failSwapOn": (True, False, "not rolled out")}),
        (
            {"evictionHard": {"memory.available": "1Gi"}},
            {},
            {},
            {},
            {'evictionHard["memory.available"]': ("1Gi", "100Mi", "not rolled out")},
        ),
        (
            {"maxPods": 70},
            {"maxPods": 70},
            {"maxPods": 61},
            {"flags": {"maxPods": "--max-pods=61"}},
            {"maxPods": (70, 61, "flag")},
        ),
        (
            {"maxPods": 70},
            {"maxPods": 70},
            {"maxPods": 61},
            {"host": Host(file=OURS, content={"maxPods": 70}, dropins={"/d/95-x.conf": {"maxPods": 61}})},
            {"maxPods": (70, 61, "drop-in")},
        ),
        (
            {"maxPods": 70},
            {"maxPods": 70},
            {"maxPods": 61},
            {"host": Host(file=OURS, content={"maxPods": 61})},
            {"maxPods": (70, 61, "edited file")},
        ),
        (
            {"maxPods": 70},
            {"maxPods": 70},
            {},
            {"host": Host()},
            {"maxPods": (70, 100, "unknown"), "(config source)": (None, "kube-system/config-a key kubelet", "drop-in")},
        ),
    ],
)
def test_what_is_declared_and_not_live(
    declared: dict[str, Any],
    pushed: dict[str, Any] | None,
    live: dict[str, Any],
    facts: dict[str, Any],
    rows: dict[str, Any],
) -> None:
    assert _rows(declared, pushed, _live(live), **facts) == rows


def test_what_is_no_longer_declared() -> None:
    """Also a key of a map whose other keys are declared."""
    pushed = {"maxPods": 70, "evictionHard": {"memory.available": "1Gi", "nodefs.available": "20%"}}
    declared = {"evictionHard": {"nodefs.available": "20%"}}
    own = {"maxPods": [100], 'evictionHard["memory.available"]': ["100Mi"], 'evictionHard["nodefs.available"]': ["10%"]}
    assert _rows(declared, pushed, _live(pushed), own) == {
        "maxPods": (None, 70, "no longer declared"),
        'evictionHard["memory.available"]': (None, "1Gi", "no longer declared"),
    }


def test_the_form_in_which_a_declared_value_is_shown() -> None:
    declared = {"syncFrequency": "60s", "clusterDNS": None}
    configs = Configs((declared,), declared, declared, _live({"syncFrequency": "1m0s", "clusterDNS": None}))
    found = Finder().rendering(configs, NodeFacts(36, dropin=True))
    assert [(row["path"], row["declared"], row["live"]) for row in found] == [("syncFrequency", "60s", "1m0s")]


@pytest.mark.parametrize(
    ("file", "outdated", "flags", "found"),
    [
        (OWN_FILE, True, {}, {}),
        ({**OWN_FILE, "containerLogMaxFiles": 9}, True, {}, {"containerLogMaxFiles": (None, 5, "own file changed")}),
        ({"clusterDNS": ["10.96.0.10"], "failSwapOn": False}, True, {}, {}),
        ({"maxPods": 100, "failSwapOn": False}, True, {}, {"clusterDNS": (None, ["10.96.0.10"], "own file changed")}),
        # What the kubelet started with, what a flag sets, and what is declared.
        ({**OWN_FILE, "containerLogMaxFiles": 9}, False, {}, {}),
        ({**OWN_FILE, "containerLogMaxFiles": 9}, True, {"containerLogMaxFiles": {"flag": "--x"}}, {}),
        ({**OWN_FILE, "maxPods": 9, "cgroupDriver": "cgroupfs"}, True, {}, {}),
    ],
)
def test_an_own_file_that_changed_since_the_kubelet_started(
    file: dict[str, Any], outdated: bool, flags: dict[str, Any], found: dict[str, Any]
) -> None:
    declared = {"maxPods": 70}
    host = Host(file=OURS, content=declared, flags=flags)
    live = _live(declared)
    live.update(cgroupDriver="systemd", tlsCertFile="/var/lib/kubelet/pki/kubelet.crt")
    files = own_file.Files(file, file, outdated=outdated)
    facts = NodeFacts(36, dropin=True, source=place(), assigned=A, active=A, pushed=A, host=host)
    configs = Configs((declared,), declared, declared, live, files=files, own={**NO_RECORD, "source": "config-a"})
    rows = {row["path"]: (row["declared"], row["live"], row["cause"]) for row in Finder().rows(configs, facts)}
    assert rows == found


def test_what_our_drop_in_still_sets_is_not_pending_from_the_own_file() -> None:
    """The layers do not declare it any more: the row is that of the value, not of the file."""
    ours = {"maxPods": 70, "eventBurst": 7}
    file = {**OWN_FILE, "eventBurst": 9}
    facts = NodeFacts(
        36, dropin=True, source=place(), assigned=A, active=A, pushed=A, host=Host(file=OURS, content=ours)
    )
    files = own_file.Files(file, file, outdated=True)
    configs = Configs(({"maxPods": 70},), ours, ours, _live(ours), files=files, own={**NO_RECORD, "source": "config-a"})
    assert [row["path"] for row in Finder().rows(configs, facts)] == []
