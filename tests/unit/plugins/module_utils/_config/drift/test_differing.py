# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What differs from a declaration, also below a drop-in."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift import differing
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift.drift_cause import NodeFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift.drift_rows import Configs, Finder
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields, merged_dropins
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.host_facts import HostFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import own_values
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.layers import Declared
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.own_values import NO_RECORD
from tests.support.api.objects import place, reference

from .. import kubelet_model as model

MINORS = range(20, 37)
MEMORY = 'evictionHard["memory.available"]'
A = reference("config-a")
RUNS: dict[str, Any] = {"source": place(), "assigned": A, "active": A, "pushed": A}
# What kubelets add to a configuration that does not set it: (path, first minor with this value, value). Source:
# pkg/kubelet/apis/config/v1beta1/defaults.go and component-base/logs of each minor.
FILLED_IN: tuple[tuple[str, int, Any], ...] = (
    ("memoryManagerPolicy", 21, "None"),
    ("enableSystemLogHandler", 21, True),
    ("memoryThrottlingFactor", 22, 0.8),
    ("registerNode", 23, True),
    ("logging.format", 20, "text"),
    ("logging.flushFrequency", 23, 5000000000),
    ("logging.flushFrequency", 28, "5s"),
    ("logging.verbosity", 23, 0),
    ("logging.options.json.infoBufferSize", 23, "0"),
    ("localStorageCapacityIsolation", 25, True),
    ("kubeAPIQPS", 27, 50),
    ("kubeAPIBurst", 27, 100),
    ("eventRecordQPS", 27, 50),
    ("containerRuntimeEndpoint", 27, "unix:///run/containerd/containerd.sock"),
    ("containerLogMaxWorkers", 30, 1),
    ("podLogsDir", 30, "/var/log/pods"),
    ("mergeDefaultEvictionSettings", 33, False),
    ("imagePullCredentialsVerificationPolicy", 35, "NeverVerifyPreloadedImages"),
    ("failCgroupV1", 35, True),
    ("memoryReservationPolicy", 36, "None"),
)

CREATED = {"tlsCertFile": "/var/lib/kubelet/pki/kubelet.crt", "tlsPrivateKeyFile": "/var/lib/kubelet/pki/kubelet.key"}
GATE_A, GATE_B = {"featureGates": {"A": True}}, ("featureGates.B", None, True)
NOT_DECLARED = ("tlsCertFile", "/x.crt", CREATED["tlsCertFile"])


def _live(config: dict[str, Any], minor: int) -> dict[str, Any]:
    """What /configz of a kubelet of this minor shows, completed."""
    shown = model.configz(config)
    for path, since, value in FILLED_IN:
        if since <= minor and model.get(config, path) in (None, "", 0):
            model.put(shown, path, copy.deepcopy(value))
    return fields.restore(shown)


def _drift(wanted: dict[str, Any], live: dict[str, Any], minor: int) -> list[tuple[str, Any, Any]]:
    """What drift reports for the same two configurations."""
    found = Finder().rows(Configs((), wanted, wanted, live), NodeFacts(minor, **RUNS))
    return [(row["path"], row["assigned"], row["live"]) for row in found]


@pytest.mark.parametrize(
    ("wanted", "minor"),
    [
        pytest.param(wanted, minor, id=f"{name}, 1.{minor}")
        for name, since, wanted in (
            ("few fields", 20, {"maxPods": 50}),
            ("as kubeadm writes", 23, {"logging": {"flushFrequency": 0, "verbosity": 0}, "memorySwap": {}}),
            ("a duration of zero", 20, {"cpuManagerReconcilePeriod": "0s", "syncFrequency": "0s"}),
            ("null", 20, {"memoryManagerPolicy": None, "cgroupDriver": None}),
            ("zero", 20, {"containerRuntimeEndpoint": "", "registryBurst": 0}),
        )
        for minor in MINORS
        if minor >= since
    ],
)
@pytest.mark.fault(case=65)
def test_what_the_kubelet_fills_in_is_no_difference(wanted: dict[str, Any], minor: int) -> None:
    live = _live(wanted, minor)
    assert differing.between({**model.HEADER, **wanted}, live, minor) == [] == _drift(wanted, live, minor)


@pytest.mark.parametrize(
    ("path", "declared", "other", "minor"),
    [
        pytest.param(path, declared, other, minor, id=f"{path}, 1.{minor}")
        for path, since, declared, other in (
            ("maxPods", 20, 50, 110),
            ("syncFrequency", 20, "1m30s", "1m0s"),
            ("memoryManagerPolicy", 21, "Static", "None"),
            ("seccompDefault", 22, False, True),
            ("registerNode", 23, False, True),
            ("resolvConf", 23, "", "/etc/resolv.conf"),
            ("containerLogMaxWorkers", 30, 3, 1),
            ("unknownField", 20, 1, 2),
        )
        for minor in MINORS
        if minor >= since
    ],
)
def test_a_value_that_the_source_names_is_compared(path: str, declared: Any, other: Any, minor: int) -> None:
    """An explicit zero too, where the kubelet does not replace it."""
    live = {**_live({path: declared}, minor), path: other}
    found = differing.between({path: declared}, live, minor)
    assert found == [(path, declared, other)] == _drift({path: declared}, live, minor)


@pytest.mark.parametrize("minor", MINORS)
@pytest.mark.parametrize(
    ("wanted", "changed", "expected"),
    [
        # Without a default, nothing but a flag or a drop-in can set the field.
        pytest.param({}, {"readOnlyPort": 10255}, [("readOnlyPort", None, 10255)], id="no default"),
        pytest.param({}, {"kubeReserved": {"cpu": "1"}}, [("kubeReserved.cpu", None, "1")], id="no default, map"),
        # No default replaces a key of a map that is set.
        pytest.param(GATE_A, {"featureGates": {"B": True, "A": True}}, [GATE_B], id="key of a map"),
        # The kubelet makes a path absolute.
        pytest.param({"staticPodPath": "a"}, {"staticPodPath": "/etc/a"}, [], id="relative path"),
        pytest.param({"staticPodPath": "./a/"}, {"staticPodPath": "/etc/a"}, [], id="path with a dot"),
        pytest.param({"staticPodPath": "../b/../a"}, {"staticPodPath": "/etc/a"}, [], id="path with dots"),
        pytest.param({"staticPodPath": "a"}, {"staticPodPath": "/b"}, [("staticPodPath", "a", "/b")], id="other path"),
        # The kubelet creates a certificate, unless its configuration names one.
        pytest.param({}, CREATED, [], id="own certificate"),
        pytest.param({}, {"tlsCertFile": "/x.crt"}, [("tlsCertFile", None, "/x.crt")], id="another certificate"),
        pytest.param({"tlsCertFile": "/x.crt"}, CREATED, [NOT_DECLARED], id="not the declared certificate"),
    ],
)
def test_what_has_one_meaning_at_every_version(wanted: Any, changed: Any, expected: Any, minor: int) -> None:
    live = {**_live(wanted, minor), **changed}
    assert differing.between(wanted, live, minor) == expected == _drift(wanted, live, minor)


@pytest.mark.parametrize(("minor", "expected"), [(19, []), (20, [("maxPods", 110, 60)]), (21, []), (36, [])])
def test_a_default_counts_where_it_is_known(minor: int, expected: list[tuple[str, Any, Any]]) -> None:
    live = {**_live({}, minor), "maxPods": 60}
    assert differing.between({}, live, minor) == expected == _drift({}, live, minor)


@given(model.configs(), model.configs())
def test_with_all_defaults_known_it_is_what_a_plan_would_change(wanted: dict[str, Any], other: dict[str, Any]) -> None:
    live = fields.restore(model.configz(other))
    changes = [(change.path, change.after, change.before) for change in compare.changes(live, wanted, 20)]
    assert differing.between(wanted, live, 20) == changes


@pytest.mark.parametrize(
    ("declared", "live", "found"),
    [
        ({"maxPods": 70}, {"maxPods": 70}, []),
        ({"maxPods": 70}, {"maxPods": 71}, [("maxPods", 70, 71)]),
        ({"maxPods": None}, {"maxPods": 71}, [("maxPods", 110, 71)]),
        ({"syncFrequency": "60s"}, {"syncFrequency": "1m0s"}, []),
        ({"evictionHard": {"a.b": None}}, {"evictionHard": {"a.b": "1"}}, [('evictionHard["a.b"]', None, "1")]),
        # The default is not known, so any value may be it.
        ({"cgroupDriver": None}, {"cgroupDriver": "systemd"}, []),
    ],
)
def test_declared_values_that_are_not_live(declared: Any, live: Any, found: list[tuple[str, Any, Any]]) -> None:
    assert differing.of_dropin(declared, live, 36) == found


def test_what_changed_although_nothing_declares_it() -> None:
    before = {"maxPods": 100, "kubeAPIQPS": 7, "evictionHard": {"a": "1", "b": "1"}, "failSwapOn": True}
    live = {"maxPods": 70, "kubeAPIQPS": 50, "evictionHard": {"a": "2", "b": "2"}, "failSwapOn": False}
    declared = {"maxPods": 70, "evictionHard": {"a": "2"}}
    found = differing.undeclared(before, live, Declared([declared]), {"kubeAPIQPS"}, 36)
    assert found == [("evictionHard.b", "1", "2"), ("failSwapOn", True, False)]
    # What a drop-in removes is not merged again.
    gone = {"mergeDefaultEvictionSettings": True, "evictionHard": {"pid.available": "1"}}
    before = {**gone, "evictionHard": {"pid.available": "1", "memory.available": "100Mi"}}
    assert differing.undeclared(before, gone, Declared([]), set(), 36) == [(MEMORY, "100Mi", None)]


OURS = "/d/90-livenodes-kubelet.conf"
OWN_FILE = {"clusterDNS": ["10.96.0.10"], "failSwapOn": False, "maxPods": 100}


def _merged(*layers: dict[str, Any]) -> dict[str, Any]:
    return merged_dropins.effective(OWN_FILE, layers, 36)


def _rows(
    declared: dict[str, Any],
    pushed: dict[str, Any] | None,
    live: dict[str, Any],
    own: dict[str, Any] | None = None,
    files: own_values.Files | None = None,
    **facts: Any,
) -> dict[str, tuple[Any, Any, str]]:
    runs = RUNS if pushed is not None else {}
    record = {**NO_RECORD, "source": "config-a", "own": own or {}}
    configs = Configs((declared,), pushed, pushed, live, files=files, own=record)
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
    host = HostFacts(file=OURS, content=declared) if looked_at else None
    assert _rows(declared, declared, _merged({"kubeAPIBurst": 7}, declared), host=host) == {}


PODS_60, PODS_61, PODS_70 = {"maxPods": 60}, {"maxPods": 61}, {"maxPods": 70}
THRESHOLD = {"evictionHard": {"memory.available": "1Gi"}}
STRAYED = {"maxPods": (70, 100, "unknown"), "(config source)": (None, "kube-system/config-a key kubelet", "drop-in")}
EDITED = HostFacts(file=OURS, content=PODS_61)
OVERRIDDEN = HostFacts(file=OURS, content=PODS_70, dropins={"/d/95-x.conf": PODS_61})


@pytest.mark.parametrize(
    ("declared", "pushed", "live", "facts", "rows"),
    [
        (PODS_70, None, {}, {}, {"maxPods": (70, 100, "not rolled out")}),
        (PODS_70, PODS_60, PODS_60, {}, {"maxPods": (70, 60, "not rolled out")}),
        ({"failSwapOn": None}, {}, {}, {}, {"failSwapOn": (True, False, "not rolled out")}),
        (THRESHOLD, {}, {}, {}, {MEMORY: ("1Gi", "100Mi", "not rolled out")}),
        (PODS_70, PODS_70, PODS_61, {"flags": {"maxPods": "--max-pods=61"}}, {"maxPods": (70, 61, "flag")}),
        (PODS_70, PODS_70, PODS_61, {"host": OVERRIDDEN}, {"maxPods": (70, 61, "drop-in")}),
        (PODS_70, PODS_70, PODS_61, {"host": EDITED}, {"maxPods": (70, 61, "edited file")}),
        (PODS_70, PODS_70, {}, {"host": HostFacts()}, STRAYED),
    ],
)
def test_what_is_declared_and_not_live(declared: Any, pushed: Any, live: Any, facts: Any, rows: Any) -> None:
    assert _rows(declared, pushed, _merged(live), **facts) == rows


def test_what_is_no_longer_declared() -> None:
    """Also a key of a map whose other keys are declared."""
    pushed = {"maxPods": 70, "evictionHard": {"memory.available": "1Gi", "nodefs.available": "20%"}}
    declared = {"evictionHard": {"nodefs.available": "20%"}}
    own = {"maxPods": [100], MEMORY: ["100Mi"], 'evictionHard["nodefs.available"]': ["10%"]}
    gone = {"maxPods": (None, 70, "no longer declared"), MEMORY: (None, "1Gi", "no longer declared")}
    assert _rows(declared, pushed, _merged(pushed), own) == gone


def test_a_threshold_that_a_former_drop_in_removed_is_not_live() -> None:
    declared = {"mergeDefaultEvictionSettings": True}
    live = {**_merged(declared), "evictionHard": {"pid.available": "1"}}
    pushed = {**declared, "evictionHard": {"memory.available": None}}
    assert _rows(declared, pushed, live, {MEMORY: ["200Mi"]}) == {MEMORY: (None, None, "no longer declared")}


def test_the_form_in_which_a_declared_value_is_shown() -> None:
    declared = {"syncFrequency": "60s", "clusterDNS": None}
    configs = Configs((declared,), declared, declared, _merged({"syncFrequency": "1m0s", "clusterDNS": None}))
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
def test_an_own_file_that_changed_since_the_kubelet_started(file: Any, outdated: bool, flags: Any, found: Any) -> None:
    declared = {"maxPods": 70}
    host = HostFacts(file=OURS, content=declared, flags=flags)
    live = _merged(declared)
    live.update(cgroupDriver="systemd", tlsCertFile="/var/lib/kubelet/pki/kubelet.crt")
    files = own_values.Files(file, file, outdated=outdated)
    assert _rows(declared, declared, live, files=files, host=host) == found


def test_what_our_drop_in_still_sets_is_not_pending_from_the_own_file() -> None:
    """The layers do not declare it any more: the row is that of the value, not of the file."""
    ours = {"maxPods": 70, "eventBurst": 7}
    file = {**OWN_FILE, "eventBurst": 9}
    files = own_values.Files(file, file, outdated=True)
    assert _rows({"maxPods": 70}, ours, _merged(ours), files=files, host=HostFacts(file=OURS, content=ours)) == {}
