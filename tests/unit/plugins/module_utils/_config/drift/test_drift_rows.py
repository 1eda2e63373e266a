# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of a drift and their text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift import drift_rows
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift.drift_cause import STAGES, NodeFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift.drift_rows import Configs, Finder
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields, overlay
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.host_facts import HostFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import own_values
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.own_values import NO_RECORD
from tests.support.api.objects import place, reference

from .. import kubelet_model as model

A = reference("config-a")
RUNS: dict[str, Any] = {"source": place(), "assigned": A, "active": A, "pushed": A}
LOCAL: dict[str, Any] = dict.fromkeys(RUNS)


def _live(config: dict[str, Any]) -> dict[str, Any]:
    return fields.restore(model.configz(config))


def _runs(running: dict[str, Any], *layers: dict[str, Any]) -> Configs:
    """Return the configurations of a node that runs one, with these layers declared."""
    return Configs(layers, running, running, _live(running))


def _rows(configs: Configs, minor: int = 20, **facts: Any) -> dict[str, dict[str, Any]]:
    found = Finder().rows(configs, NodeFacts(minor, **{**RUNS, **facts}))
    assert len({row["path"] for row in found}) == len(found)
    return {row["path"]: row for row in found}


def _shown(found: dict[str, dict[str, Any]], *columns: str) -> dict[str, tuple[Any, ...]]:
    return {path: tuple(row[column] for column in columns) for path, row in found.items()}


@given(model.configs())
def test_no_drift_where_all_stages_mean_the_same(config: dict[str, Any]) -> None:
    assert _rows(_runs(config, config), host=HostFacts(content=config)) == {}


@given(model.configs(), model.configs())
def test_of_a_local_config_drift_is_what_a_plan_would_change(config: dict[str, Any], declared: dict[str, Any]) -> None:
    live = _live(config)
    found = _rows(Configs((declared,), None, None, live), **LOCAL)
    assert set(found) == {change.path for change in compare.changes(live, overlay.merge(live, declared), 20)}


@given(model.configs(), model.configs())
def test_every_difference_of_a_declared_field_is_reported_once(base: dict[str, Any], declared: dict[str, Any]) -> None:
    live = _live(base)
    changes = compare.changes(live, overlay.merge(base, declared), 20)
    wanted = {change.path: (change.after, change.before) for change in changes}
    # The update frequency changes this undeclared field too, unless it is set.
    if "nodeStatusReportFrequency" not in declared:
        wanted.pop("nodeStatusReportFrequency", None)
    found = _rows(Configs((declared,), base, base, live), host=HostFacts(content=base))
    masked = {path: tuple(_masked(path, value) for value in values) for path, values in wanted.items()}
    assert _shown(found, "declared", "live") == masked
    assert {row["cause"] for row in found.values()} <= {"not rolled out"}


def _masked(path: str, value: Any) -> Any:
    """The two secrets of the table, written out."""
    if path == "staticPodURL" and value is not None:
        return "********"
    if path.startswith("staticPodURLHeader") and value:
        return {key: ["********"] for key in value} if isinstance(value, dict) else ["********"] * len(value)
    return value


@given(model.configs(), model.configs())
def test_every_difference_between_the_file_and_the_kubelet_is_reported_once(disk: Any, other: Any) -> None:
    """Undeclared fields count too; secrets do not, because the node masks them."""
    live = _live(other)
    wanted = {change.path for change in compare.changes(live, disk, 20) if not change.path.startswith("staticPodURL")}
    assert set(_rows(Configs((), None, None, live), host=HostFacts(content=disk))) == wanted


def test_undeclared_fields_are_compared_between_the_other_stages() -> None:
    source = {"maxPods": 60, "eventBurst": 1}
    configs = Configs(({"maxPods": 60},), source, source, _live({**source, "eventBurst": 2}))
    assert _shown(_rows(configs), *STAGES) == {"eventBurst": (None, 1, 1, None, 2)}


def test_a_cause_of_a_field_is_not_repeated_for_the_node() -> None:
    error = {"error": "failed to load", "active": None}
    assert set(_rows(Configs((), {"maxPods": 60}, {"maxPods": 60}, _live({})), **error)) == {"maxPods"}
    assert set(_rows(_runs({}), **error)) == {"(config source)"}


def test_null_and_maps_that_are_replaced_as_a_whole_are_declared() -> None:
    thresholds = {"memory.available": "1Gi", "nodefs.available": "5%"}
    base = {"maxPods": 60, "evictionHard": thresholds, "featureGates": {"A": True}}
    layer = {"maxPods": None, "evictionHard": {"memory.available": "1Gi"}, "featureGates": {"B": True}}
    assert _shown(_rows(_runs(base, layer)), *STAGES) == {
        "maxPods": (110, 60, 60, None, 60),
        'evictionHard["nodefs.available"]': (None, "5%", "5%", None, "5%"),
        "featureGates.B": (True, None, None, None, None),
    }


def test_secrets_are_compared_and_never_shown() -> None:
    source = {"staticPodURLHeader": {"X": ["hunter2"]}}
    found = _rows(Configs(({"staticPodURLHeader": {"X": ["other"]}},), source, None, _live(source)))
    assert found["staticPodURLHeader.X"]["declared"] == ["********"] == found["staticPodURLHeader.X"]["live"]
    assert "hunter2" not in str(found) and "other" not in str(found["staticPodURLHeader.X"]["declared"])
    seen = HostFacts(content={"staticPodURLHeader": {"X": ["********"]}})
    assert _rows(Configs((), source, None, _live(source)), host=seen) == {}


def test_what_a_local_config_never_had_from_anybody() -> None:
    """A flag that hides no declared field, and the certificate that a kubelet creates itself."""
    live = {**_live({"maxPods": 61}), "tlsCertFile": "/pki/kubelet.crt"}
    flags = {"maxPods": {"flag": "--max-pods=61", "file": "/etc/default/kubelet", "line": 1}}
    seen = HostFacts(file="/config.yaml", content={}, flags=flags)
    assert _rows(Configs((), None, None, live), host=seen, **LOCAL) == {}
    assert _rows(Configs(({"maxPods": 50},), None, None, live), host=seen, **LOCAL)["maxPods"]["cause"] == "flag"
    assert set(_rows(Configs((), {}, {}, live), host=seen)) == {"maxPods"}
    live["tlsCertFile"] = "/pki/other.crt"
    assert set(_rows(Configs((), {}, {}, live), host=seen)) == {"maxPods", "tlsCertFile"}


def test_kubeadm_has_a_column_or_its_own_row() -> None:
    kubeadm = {"maxPods": (110, 60), "eventBurst": (None, 7)}
    source = {"maxPods": 50, "eventBurst": 7}
    found = _rows(Configs(({**source, "maxPods": 60},), source, None, _live(source), kubeadm))
    causes = {"maxPods": (110, 60, "not rolled out"), "eventBurst": (None, 7, "kubeadm")}
    assert _shown(found, "kubeadm", "declared", "cause") == causes
    # Push refuses a value that nodes of other groups do not share.
    assert "for all nodes of the cluster" in found["eventBurst"]["remedy"]


def test_another_form_with_the_same_meaning_is_no_drift() -> None:
    config = {"syncFrequency": "90s", "readOnlyPort": 0, "maxPods": 60, "podPidsLimit": -5}
    configs = _runs(config, config)
    assert _rows(configs) == {}
    found = {row["path"]: row for row in Finder().rendering(configs, NodeFacts(20))}
    forms = {"syncFrequency": ("90s", "1m30s"), "readOnlyPort": (0, None), "podPidsLimit": (-5, -1)}
    assert _shown(found, "declared", "live") == forms
    assert {row["cause"] for row in found.values()} == {"configz rendering"}
    for other in (_runs(config, {"maxPods": 50}), Configs()):
        assert Finder().rendering(other, NodeFacts(20)) == []


def test_a_finder_that_has_seen_others_finds_the_same() -> None:
    finder = Finder()
    drifted = _runs({}, {"maxPods": 50})
    first = finder.rows(drifted, NodeFacts(20, **RUNS))
    assert finder.rows(_runs({}, {"maxPods": 110}), NodeFacts(20, **RUNS)) == []
    assert finder.rows(drifted, NodeFacts(20, **RUNS)) == first != []
    assert finder.rows(drifted, NodeFacts(20, **{**RUNS, "ours": False}))[0]["cause"] == "foreign source"


def test_an_own_file_that_changed_since_its_checkpoint_was_built_on_it() -> None:
    read = {"maxPods": 100, "kubeAPIQPS": 9, "clusterDomain": "x"}
    own = {"maxPods": 90, "clusterDomain": "y", "containerLogMaxFiles": 3}
    live = compare.with_defaults({**read, "clusterDomain": "flag"}, 28)
    record = {**NO_RECORD, "own": {"kubeAPIQPS": [50]}}
    configs = Configs(({"maxPods": 100},), read, read, live, files=own_values.Files(own, read), own=record)
    found = _rows(configs, 28, checkpoint=True, flags={"clusterDomain": "--cluster-domain=flag"})
    causes = {"containerLogMaxFiles": (5, 5, "own file changed"), "kubeAPIQPS": (None, 9, "no longer declared")}
    assert _shown(found, "disk", "live", "cause") == causes
    message = found["containerLogMaxFiles"]["message"]
    assert "own file changed since its checkpoint was built on it, and has 3" in message


@pytest.mark.parametrize(
    ("minor", "record", "layer", "paths"),
    [
        # What the checkpoint has from the own file, or what the kubelet sets itself.
        (28, {**NO_RECORD, "own": {"kubeAPIQPS": [5]}}, {"kubeAPIQPS": 9}, []),
        (28, {**NO_RECORD, "own": {"maxPods": [5]}}, {"kubeAPIQPS": 9}, ["maxPods"]),
        (28, NO_RECORD, {"maxPods": 100}, ["maxPods"]),
        (28, {**NO_RECORD, "complete": False}, {}, ["maxPods", "tlsCertFile"]),
        (23, NO_RECORD, {}, ["maxPods", "tlsCertFile"]),
    ],
)
def test_what_the_node_itself_overrides_in_its_own_file(minor: int, record: Any, layer: Any, paths: list[str]) -> None:
    source = {"maxPods": 100, "kubeAPIQPS": 9}
    live = {**compare.with_defaults(source, minor), "maxPods": 61, "tlsCertFile": "/pki/own.crt"}
    configs = Configs((layer,), source, source, live, own=record)
    assert list(_rows(configs, minor, checkpoint=True, flags={"maxPods": "--max-pods=61"})) == paths


@pytest.mark.parametrize(
    ("absent", "paths"), [([], ["cgroupRoot"]), (["cgroupRoot"], []), (["maxPods"], ["cgroupRoot"])]
)
def test_a_value_that_the_source_leaves_to_the_kubelet_is_no_drift(absent: list[str], paths: list[str]) -> None:
    """The node had none of its own, and the default of its kubelet is not known."""
    record = {**NO_RECORD, "own": {"cgroupRoot": [None]}, "absent": absent}
    live = _live({"cgroupRoot": "/kubelet"})
    found = _rows(Configs(({"maxPods": 110},), None, None, live, own=record), minor=30)
    assert [path for path, row in found.items() if row["cause"] == "no longer declared"] == paths


def test_the_row_of_the_node_has_the_file_on_its_disk() -> None:
    host = HostFacts(file="/store/kubelet", content={}, damage="no digest")
    assert _rows(_runs({}), host=host)["(config source)"]["disk"] == "/store/kubelet"
    assert _rows(_runs({}), fault="gone")["(config source)"]["disk"] is None


EMPTY = dict.fromkeys((*STAGES, "kubeadm"))
FLAG = {**EMPTY, "path": "maxPods", "cause": "flag", "message": "why", "remedy": "Do."}
ROW = {**FLAG, "declared": 60, "pushed": 60, "assigned": 60, "live": 61}
WHOLE = {**FLAG, "path": "(config source)", "assigned": "a", "cause": "fell back", "message": "it did"}


def node(*rows: dict[str, Any], host: str = "") -> dict[str, Any]:
    return {"drift": list(rows), "host": host}


def test_nodes_with_the_same_drift_stand_together_and_long_lists_are_cut() -> None:
    nodes = {f"n{number}": node(ROW) for number in range(40)}
    unseen = node(WHOLE, ROW, host="not looked at on the node: unreachable")
    nodes.update(m1=node(), m2=unseen, m3=node(host="looked at"))
    assert drift_rows.lines(nodes) == [
        "40 nodes (n0, n1, n2, n3, n4 and 35 more):",
        "  maxPods: declared 60, pushed 60, assigned 60, live 61; flag: why. Do.",
        "1 node (m2): not looked at on the node: unreachable",
        "  (config source): fell back: it did. Do.",
        "  maxPods: declared 60, pushed 60, assigned 60, live 61; flag: why. Do.",
        "drift: 43 nodes, 41 drifted, 42 differences (flag 41, fell back 1)",
    ]
    counts = {"nodes": 43, "drifted": 41, "differences": 42, "causes": {"flag": 41, "fell back": 1}}
    assert drift_rows.summary(nodes) == {**counts, "not_looked_at": ["m2"]}


def test_no_drift_is_one_line() -> None:
    text = drift_rows.lines({"n1": node(), "n2": node(host="looked at")})
    assert text == ["drift: 2 nodes, 0 drifted, 0 differences"]
    assert "maxPods: set nowhere; flag" in drift_rows.lines({"n1": node(FLAG)})[1]
