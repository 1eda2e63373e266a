# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan_text
from tests.support.kubelets.table_minors import BEYOND, NEWEST

from .. import kubelet_model as model
from . import tables
from .tables import LIVE


def _plan(configs: list[dict[str, Any]], *args: Any, version: str = "v1.20.2", **options: Any) -> dict[str, Any]:
    lives = [fields.restore(model.configz(config)) for config in configs]
    return tables.planned(tables.table(*lives, kubelet_version=version), *args, **options)


MAX_PODS = (
    "  ~ maxPods: 110 -> 50   [disrupt] lowering can fail admission of running pods at restart; changes reported "
    "capacity and scheduling"
)


@pytest.mark.parametrize(("number", "more"), [(5, ""), (7, " and 2 more")])
def test_people_read_one_block_for_nodes_with_the_same_to_do_and_why_variants_differ(number: int, more: str) -> None:
    made = _plan([{"resolvConf": f"/r{position}"} for position in range(number)], {"maxPods": 50})
    values = [f"/r{position} on 1 node (n{position})" for position in range(5)]
    assert made["text"] == [
        f"{number} nodes (n0, n1, n2, n3, n4{more}): assign {number} variants, effect disrupt",
        MAX_PODS,
        "variants differ in:",
        f"  resolvConf (belongs to one machine): {', '.join(values)}{more}",
        f"plan: {number} nodes, {number} to change, 0 unchanged, {number} variants, 0 refusals, 0 warnings",
    ]


REFUSED = (
    "kubeAPIQPS is -1, which the kubelet refuses (rule not-negative): invalid configuration: kubeAPIQPS "
    "(--kube-api-qps) -1 must not be a negative number. Give 0 or more."
)
FORBIDDEN = (
    "podCIDR: this field must not be changed on a live node: must stay empty; only for standalone kubelets, which "
    "cannot use dynamic config. Omit it from the configuration."
)
POD_CIDR = FORBIDDEN.partition("node: ")[2].partition(". ")[0]


def test_a_plan_for_nodes_of_all_kinds() -> None:
    own = {"n2": {"kubeAPIQPS": -1, "podCIDR": "é\n"}, "n3": {"kubeAPIQPS": -1}}
    made = _plan([{}, {"maxPods": 50}, {"maxPods": 50}, {}], {"maxPods": 50}, own)
    shared, both, one = [*dict.fromkeys(row["variant"] for row in made["nodes"].values())]
    names = [row["configmap"] for row in made["nodes"].values()]
    assert made["text"] == [
        f"1 node (n0): assign {names[0]}, effect disrupt",
        MAX_PODS,
        "1 node (n1): no action",
        f"1 node (n2): assign {names[2]}, effect forbidden",
        "  ~ kubeAPIQPS: 5 -> -1   [safe] changes API traffic volume",
        f'  + podCIDR: "é\\n"   [forbidden] {POD_CIDR}',
        f"  REFUSED: {REFUSED}",
        f"  REFUSED: {FORBIDDEN}",
        f"1 node (n3): assign {names[3]}, effect disrupt",
        "  ~ kubeAPIQPS: 5 -> -1   [safe] changes API traffic volume",
        MAX_PODS,
        f"  REFUSED: {REFUSED}",
        "variants differ in:",
        "  kubeAPIQPS: 5 on 2 nodes (n0, n1), -1 on 2 nodes (n2, n3)",
        '  podCIDR (belongs to one machine): absent on 3 nodes (n0, n1, n3), "é\\n" on 1 node (n2)',
        "plan: 4 nodes, 3 to change, 1 unchanged, 3 variants, 3 refusals, 0 warnings; REFUSED, nothing may be written",
    ]
    assert made["summary"]["by_effect"] == {"disrupt": 2, "forbidden": 1}
    assert made["summary"]["nodes_by_variant"] == {shared: ["n0", "n1"], both: ["n2"], one: ["n3"]}
    hint = "To see a kubelet refuse such a value, set allow_invalid (in roles: kubelet_config_allow_invalid) to true."
    assert plan_text.refusals(made).split("\n") == [
        "the plan is refused. Nothing was written.",
        f"2 nodes (n2, n3): {REFUSED}",
        f"1 node (n2): {FORBIDDEN}",
        hint,
    ]
    assert hint not in plan_text.refusals(_plan([{}], {"podCIDR": "10.0.0.0/24"}))


@pytest.mark.parametrize(
    ("number", "total"),
    [
        (1, "plan: 1 node, 1 to change, 0 unchanged, 1 variant, 0 refusals, 1 warning; 1 planned from its live"),
        (2, "plan: 2 nodes, 2 to change, 0 unchanged, 1 variant, 0 refusals, 2 warnings; 2 planned from their live"),
    ],
)
def test_nodes_whose_own_file_is_missing_are_counted(number: int, total: str) -> None:
    made = _plan([{}] * number, {"maxPods": 50}, version="v1.28.3")
    assert made["text"][-2:] == [
        "  warning: the node's own config file is not known (kubelet_preflight_info has not read it), so its source "
        "holds its live configuration. A rollout stops at this node. Correct the cause, then plan again: the host "
        "must answer, and root read the file as YAML.",
        f"{total} configuration",
    ]
    lost = _plan([{}], {"evictionHard": {"memory.available": "1Gi"}})
    assert (lost["summary"]["warnings"], lost["summary"]["from_live"]) == (1, 0)


def test_a_removal_whose_default_is_not_known() -> None:
    """From 1.35 on, that of this field is not known."""
    made = _plan([{"cgroupDriver": "systemd"}], {"cgroupDriver": None}, version="v1.36.2", allow_effect="reboot")
    assert made["text"][1].startswith("  - cgroupDriver: systemd   [reboot] ")


def _titles(text: list[str]) -> list[str]:
    return [line for line in text if line[0] != " "]


def test_nodes_are_in_one_block_only_if_their_changes_and_their_problems_are_the_same() -> None:
    """A list of one machine may have its keys in another order."""
    taints = [[{"key": "a", "effect": "NoSchedule"}], [{"effect": "NoSchedule", "key": "a"}], []]
    lives = [{**LIVE, "registerWithTaints": given, "maxPods": number} for number, given in enumerate(taints)]
    made = tables.planned(tables.table(*lives, kubelet_version="v1.23.1"), {"registerWithTaints": None})
    titles = ["2 nodes (n0, n1): assign 2 variants, effect safe", "1 node (n2): no action"]
    assert _titles(made["text"])[:2] == titles
    two = _plan([{"kubeAPIQPS": 7}] * 2, {"maxPods": 50}, flags={"n1": ["--max-pods=50"]})
    assert len([line for line in two["text"] if "effect disrupt" in line]) == 2
    # Rows may share one list and differ in the other.
    alike = _plan([{}, {"maxPods": 60}], {"maxPods": 50})
    for part, plans in (("problems", alike), ("changes", two)):
        rows = plans["nodes"].values()
        shared = next(iter(rows))[part]
        nodes = {name: {**row, part: shared} for name, row in plans["nodes"].items()}
        blocks = plan_text.lines({**plans, "nodes": nodes})
        assert len(_titles(blocks)) == len(_titles(plans["text"]))


def test_the_diff_has_one_entry_for_nodes_that_change_alike() -> None:
    table = tables.table(LIVE, LIVE, {**LIVE, "maxPods": 50}, {**LIVE, "eventBurst": 7})
    made = tables.planned(table, {"maxPods": 50}, flags={"n1": ["--event-burst=9"]})
    first, other = plan_text.diffs(table, made)
    headers = ("live on 2 nodes (n0, n1)", "desired on 2 nodes (n0, n1)")
    assert (first["before_header"], first["after_header"]) == headers
    assert '"maxPods": 110' in first["before"] and '"maxPods": 50' in first["after"]
    assert other["after_header"] == "desired on 1 node (n3)"


def test_the_diff_of_nodes_with_one_drop_in_shows_each_own_value_that_comes_back() -> None:
    row = tables.assigned({}, "dropin", "other")
    table = tables.table(*[{**LIVE, "maxPods": 50}] * 2, kubelet_version="v1.36.2", **row)
    for name, own in (("n0", 110), ("n1", 200)):
        table["nodes"][name]["own"] = tables.record("other", maxPods=[own])
    found = plan_text.diffs(table, tables.planned(table, [{}]))
    assert [f'"maxPods": {own}' in entry["after"] for own, entry in zip((110, 200), found, strict=True)] == [True, True]


def test_nodes_newer_than_the_tables_are_named_once() -> None:
    layer = {"maxPods": 50, "featureGates": {"Newest": True}}
    made = _plan([{}, {"kubeAPIQPS": 7}], layer, version=f"v1.{BEYOND}.0", allow_effect="reboot")
    assert not made["refused"]
    assert [line for line in made["text"] if "newer" in line] == [
        f"2 nodes (n0, n1): the kubelet is newer than 1.{NEWEST}, the last version whose fields, defaults, flags and "
        "feature gates are known here. A field that is not known is refused; its own binary decides about all else "
        "before the switch"
    ]
    assert {row["path"] for node in made["nodes"].values() for row in node["problems"]} == set()
    same = _plan([{}, {"kubeAPIQPS": 7}], layer, version="v1.36.2", allow_effect="reboot")
    assert same["refused"] and not any("newer" in line for line in same["text"])


@pytest.mark.parametrize("minor", [37, BEYOND])
@pytest.mark.parametrize("value", [5, None])
def test_an_unknown_field_is_refused_unless_the_live_configuration_shows_it(minor: int, value: int | None) -> None:
    """The kubelet that shows a field has it. One that is misspelt is no field of any kubelet."""
    for live, refused in (({}, ["maxPodz"]), ({"maxPodz": 7}, [])):
        table = tables.table({**LIVE, **live}, kubelet_version=f"v1.{minor}.0")
        made = tables.planned(table, [{"maxPodz": value}], allow_effect="reboot")
        found = [row["path"] for row in made["nodes"]["n0"]["problems"] if row["rule"] == "unknown-field"]
        assert (found, made["refused"]) == (refused, bool(refused)), made["text"]


def test_a_removed_and_a_shadowed_value_are_distinguished() -> None:
    flags = {"n0": ["--max-pods=61"]}
    made = _plan([{"kubeReserved": {"cpu": "1"}}], {"kubeReserved": None, "maxPods": 50}, flags=flags)
    assert any(line.startswith("  - kubeReserved.cpu: 1   [disrupt]") for line in made["text"])
    assert any(line.endswith("   (no effect: --max-pods=61)") for line in made["text"])


def test_secrets_stay_out_of_what_is_shown_and_in_what_is_pushed() -> None:
    older, newer = ({"staticPodURLHeader": {"Authorization": [secret]}} for secret in ("older", "hunter2"))
    made = _plan([{}, older], {}, {"n0": newer})
    shown = str([made["nodes"], made["summary"], made["text"]])
    assert "hunter2" not in shown and "older" not in shown
    assert tables.variant(made, "n0")["staticPodURLHeader"] == {"Authorization": ["hunter2"]}


def test_a_reason_fits_its_change_and_stands_once() -> None:
    raised = _plan([{"maxPods": 50, "evictionHard": {}}], {"maxPods": 60, "evictionHard": {"a": "1Gi", "b": "2Gi"}})
    reasons = [line.partition("] ")[2] for line in raised["text"] if line.startswith(("  ~", "  +"))]
    assert reasons[-1] == "changes reported capacity and scheduling" and reasons[0] and reasons[1] == ""


def test_variants_that_mean_the_same_do_not_differ() -> None:
    same = {"a": {"syncFrequency": "90s"}, "b": {"syncFrequency": "1m30s", "readOnlyPort": 0}}
    assert plan_text.differences(same) == plan_text.differences({"a": {"maxPods": 1}}) == []
    differing = {"path": "maxPods", "machine_specific": False, "values": {"a": 1, "b": None}}
    assert plan_text.differences({"a": {"maxPods": 1}, "b": {}}) == [differing]


def test_variants_of_two_deliveries_are_not_compared() -> None:
    """One holds a whole configuration, the other what is declared: nearly every field would differ."""
    lives = [fields.restore(model.configz(config)) for config in ({}, {"kubeAPIQPS": 7})]
    table = tables.table(*lives, lives[0], delivery="native")
    table["nodes"]["n2"].update(kubelet_version="v1.36.2", delivery="none")
    made = tables.planned(table, {"maxPods": 50}, deliveries={"n2": "dropin"})
    assert len({node["variant"] for node in made["nodes"].values()}) == 3
    assert [row["path"] for row in made["summary"]["differences"]] == ["kubeAPIQPS"]
