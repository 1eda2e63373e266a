# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of a rollout, and the message of the end."""

from __future__ import annotations

import dataclasses
import typing as t
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import node_row, paths
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import rows
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.rows import added, added_by_hosts, failures

NAMES = ("n1", "m1", "n2", "n3")
HOSTS = {f"host-{name}": name for name in NAMES}
GOOD = {"ok": True, "state": "active", "message": "runs", "changed": False, "delivery": "checkpoint"}
BAD = {**GOOD, "ok": False, "state": "silent", "message": "n1: silent"}
ASSIGNED = {
    **GOOD,
    "state": "assigned",
    "changed": True,
    "source": {"name": "a"},
    "previous": {"name": "b"},
    "uid": "u",
}


def why(found: dict[str, Any], present: Any = HOSTS) -> dict[str, str]:
    return failures(HOSTS, found, present)


def test_the_first_failure_of_a_node_is_its_cause() -> None:
    """A skipped call adds nothing."""
    first = added({}, {"n1": BAD, "n2": GOOD, "n3": GOOD})
    found = added(added(first, None), {"n1": GOOD, "n2": {**BAD, "message": "a pod was lost"}})
    assert why(found) == {"n1": "silent", "n2": "a pod was lost"}
    assert rows.open_ones(found, NAMES) == ["m1", "n3"]
    assert rows.open_sources(dict.fromkeys(NAMES, 1), found) == {"m1": 1, "n3": 1}


def test_a_revert_gets_the_row_of_the_assignment() -> None:
    """Also after other stages; a node that was not assigned is not reverted."""
    found = added(added({"n2": GOOD}, {"n1": ASSIGNED}), {"n1": {**BAD, "source": None}, "n2": BAD})
    assert found["n1"]["changed"] and found["n1"]["source"] is None
    assert rows.to_revert(found, why(found)) == {
        "n1": {key: ASSIGNED[key] for key in ("changed", "delivery", "source", "previous", "uid")}
    }
    assert rows.lost_sources(found, ["n1"]) == {"n1": {"name": "a"}}
    again = added(found, {"n1": {**ASSIGNED, "source": None}})
    assert again["n1"]["assigned"]["source"] == {"name": "a"}


def reading(hostvars: dict[str, Any]) -> rows.OfHost:
    """Return what reads a variable of a host."""
    return lambda host, name: hostvars[host].get(name)


def test_what_the_steps_on_nodes_return() -> None:
    given = {"n1": BAD, "m1": {**GOOD, "delivery": "native"}, "n2": GOOD, "n3": GOOD}
    own = {"ok": False, "message": "Node host-n3 cannot be reached."}
    hostvars: dict[str, Any] = {
        "host-n1": {rows.HOST_ROW: {"ok": False, "message": "Node n1: the value is refused. Nothing was changed."}},
        "host-m1": {rows.HOST_ROW: own},
        "host-n2": {},
        "host-n3": {rows.HOST_ROW: own},
    }
    found = added_by_hosts(given, HOSTS, reading(hostvars))
    assert why(found) == {"n1": "silent; the value is refused. Nothing was changed", "n3": "cannot be reached"}
    assert found["n3"] == {**GOOD, "ok": False, "message": "cannot be reached", "error": "cannot be reached"}
    assert added_by_hosts(found, HOSTS, reading(hostvars)) == found, "once"
    assert not added_by_hosts(given, HOSTS, reading(hostvars), True)["m1"]["ok"], "migrated to native"


def test_what_a_call_on_the_hosts_has_returned() -> None:
    hostvars: dict[str, Any] = {host: {"seen": {"host": host}} for host in HOSTS} | {"host-n2": {}}
    hosts = {name: host for host, name in HOSTS.items()}
    found = rows.results(["n1", "n2"], hosts, hostvars, "seen")
    assert found == {"n1": {"host": "host-n1"}, "n2": None}


def test_what_a_verification_is_told_about_the_hosts() -> None:
    """Only of hosts with a kubelet and the node's own file."""
    found = {"n1": {"kubelet": {"pid": 1}, "files": ["f"]}, "n2": {**GOOD, "kubelet": {"pid": 2}}, "n3": GOOD}
    assert rows.found_on_hosts(found) == {"n1": {"kubelet": {"pid": 1}, "own": ["f"]}}


FLAG = {"flag": "--max-pods=61", "file": "/etc/default/kubelet", "line": 1}
DIFFERS = {**BAD, "state": "differs", "message": "maxPods is 61, not 50", "differences": [{"path": "maxPods"}]}


OF_FLAG = (
    "; maxPods: the flag --max-pods=61 (/etc/default/kubelet, line 1) overrides every configuration. Remove the flag "
    "there and restart the kubelet, or omit the field from kubelet_config"
)
ONE, TWO = ["/d/10-ours.conf"], ["/d/1.conf", "/d/2.conf"]


@pytest.mark.parametrize(
    ("shadowed", "files", "cause"),
    [
        ({"maxPods": FLAG}, None, OF_FLAG),
        ({"evictionHard": FLAG}, ONE, "; the drop-in /d/10-ours.conf in --config-dir may override maxPods"),
        (None, TWO, "; the drop-ins /d/1.conf, /d/2.conf in --config-dir may override maxPods"),
        ({}, [], ""),
        (None, None, ""),
    ],
)
def test_what_the_node_shows_names_the_cause_of_a_difference(shadowed: Any, files: Any, cause: str) -> None:
    facts = paths.present({"shadowed": shadowed, "config_dir_files": files})
    hostvars: dict[str, Any] = {host: {} for host in HOSTS}
    hostvars["host-n1"][rows.HOST_ROW] = {"ok": True, "message": "", "kubelet": facts}
    switched = added_by_hosts({"n1": GOOD}, HOSTS, reading(hostvars))
    assert why(added(switched, {"n1": DIFFERS})) == {"n1": f"maxPods is 61, not 50{cause}"}
    assert why({"n1": DIFFERS}) == {"n1": "maxPods is 61, not 50"}
    silent = {**DIFFERS, "state": "silent", "message": "silent"}
    assert why(added(switched, {"n1": silent})) == {"n1": "silent"}, "it differed at an earlier look"


def test_hosts_lost_during_the_batch() -> None:
    found = {"n1": BAD, "m1": GOOD}
    assert why(found, ["host-n2", "host-n3"]) == {"n1": f"{rows.LOST}; silent", "m1": rows.LOST}
    assert rows.to_revert({}, ["n1"]) == {}, "before its first row"


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ({"state": "unreachable", "msg": "it cannot be reached: no route"}, "it cannot be reached: no route"),
        ({"msg": "The interpreter '/p' was not found.", "rc": 127}, "The interpreter '/p' was not found"),
    ],
)
def test_hosts_on_which_the_call_before_the_drain_fails(result: dict[str, Any], reason: str) -> None:
    hostvars: dict[str, Any] = {host: {"seen": {"skipped": True}} for host in HOSTS}
    hostvars["host-n2"]["seen"] = {"failed": False, **result}
    hostvars["host-n3"]["seen"] = {"reasons": ["judged at the switch"], "msg": ""}
    found = rows.unreached(HOSTS, reading(hostvars), "seen")
    assert found["n2"] == node_row.Row(False, "unreached", f"was not switched: {reason}", error=reason).shown()
    assert why(found) == {"n2": f"was not switched: {reason}"}
    assert rows.open_ones(found, NAMES) == ["n1", "m1", "n3"]


def test_a_node_that_does_not_run_its_source_is_not_migrated() -> None:
    info = {"source": {"name": "a"}, "error": "", "settled": True, "delivery": "native"}
    late = {**info, "settled": False}
    moved = {**late, "delivery": "checkpoint"}
    found = rows.unsettled({"n1": info, "n2": {**late, "error": "refused"}, "n3": moved, "m1": late})
    message = found["n2"]["message"]
    assert message.startswith("it does not run what its spec.configSource names (refused), so there is no")
    refused = node_row.Row(False, "unsettled", message, False, "native", {"name": "a"}, "refused")
    silent = dataclasses.replace(refused, message=message.replace(" (refused)", ""), error="")
    assert found == {"n2": refused.shown(), "m1": silent.shown()}


def test_a_migration_that_failed_says_where_its_source_is() -> None:
    given = {"n1": {**BAD, "message": "n1: killed by SIGX."}, "n2": BAD}
    found = rows.restored(given, {"n1": GOOD, "n2": {**BAD, "message": "forbidden"}})
    assert found["n1"]["message"] == f"n1: killed by SIGX. {rows.RESTORED}"
    assert found["n2"]["message"].endswith(". Its spec.configSource could not be restored: forbidden")


UNTOUCHED = ["h9"]


def test_verdicts() -> None:
    """Lost hosts run no task, so one task speaks for them."""
    reasons = {"n1": "silent", "n2": "was lost", "n3": "was lost"}
    found = rows.verdicts(HOSTS, reasons, ["host-n1", "host-m1"], {"n1": {"message": "reverted"}}, UNTOUCHED)
    assert found == {
        "hosts": {"host-n1": "Node n1: silent; reverted. Untouched hosts: h9"},
        "lost": "Node n2, n3 was lost. Untouched hosts: h9",
    }
    for untouched, words in (([], ""), (UNTOUCHED, ". Untouched hosts: h9")):
        found = rows.verdicts(HOSTS, {"n1": "silent"}, HOSTS, {}, untouched)
        assert found == {"hosts": {"host-n1": f"Node n1: silent{words}"}, "lost": ""}
    each_its_own = {"n1": "was lost; silent", "n2": "was lost", "n3": "was lost; silent"}
    found = rows.verdicts(HOSTS, each_its_own, [], {}, UNTOUCHED)
    assert found["lost"] == "Node n1, n3 was lost; silent. Node n2 was lost. Untouched hosts: h9"


AGAIN = "Run again to complete it."


@pytest.mark.parametrize(
    ("steps", "begun", "first", "last"),
    [
        ("switch", True, "The rollout to workers", AGAIN),
        ("switch", False, "The rollout to workers", "Nothing was changed there."),
        ("reset", True, "The return of workers to its local configuration", AGAIN),
        ("to_native", True, "The migration of workers", AGAIN),
    ],
)
def test_where_a_rollout_stopped(steps: str, begun: bool, first: str, last: str) -> None:
    found = rows.stopped("workers", steps, NAMES, "why.", begun, UNTOUCHED)
    assert found == f"{first} stopped at n1, m1, n2, n3: why. {last} Untouched hosts: h9"
    found = rows.stopped("workers", steps, NAMES, "killed by SIGX.", True, [])
    assert found.endswith(f": killed by SIGX. {AGAIN} Untouched hosts: none")


@pytest.mark.parametrize(
    ("reasons", "more", "expected"),
    [
        ("Node n1: a. Not b.", {}, "Node n1: a. Not b"),
        (
            ["Node n1: a. Not b."],
            {"then": "c d", "untouched": ["n2", "n3"]},
            "Node n1: a. Not b; c d. Untouched hosts: n2, n3",
        ),
        (["Node host-1 cannot be reached: no route."], {"host": "host-1"}, "Node n1 cannot be reached: no route"),
        (["Node n1: n1: Node n1 was reverted", ""], {}, "Node n1 was reverted"),
        (["Node n1.x: none of Node n1.x, but of n1.x.y"], {"host": "n1.x"}, "Node n1: none of the Node, but of n1.x.y"),
        (["silent", None, "was reverted: silent"], {}, "Node n1 was reverted: silent"),
        (["was reverted: silent", "silent."], {}, "Node n1 was reverted: silent"),
        (
            ["none of Node n1 since 9:00", "Node n10: other"],
            {},
            "Node n1: none of the Node since 9:00; Node n10: other",
        ),
        ("u may not change the Node n1: denied", {}, "Node n1: u may not change the Node: denied"),
        ([], {}, f"Node n1: {rows.UNKNOWN}"),
        (None, {}, f"Node n1: {rows.UNKNOWN}"),
        (["wasted time", "was"], {}, "Node n1: wasted time"),
        (["Node n1: a\n  b"], {"node": ""}, "a b"),
        # Nothing that a terminal would obey.
        ("bad\x1b[31m value\x07", {}, "Node n1: bad value"),
    ],
)
def test_a_message_names_its_node_once(reasons: t.Any, more: dict[str, t.Any], expected: str) -> None:
    assert rows.node_message(reasons, "n1", **more) == expected


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(["Node n1: ", "n1: ", "Node n1 ", "Node host-1: ", ""]), max_size=3),
            st.sampled_from(["refused.", "Nothing was changed.", "was reverted to another one", "a; b. c", ""]),
        ),
        max_size=4,
    ),
    st.sampled_from(["", "running its previous configuration again", "Node n1: running."]),
)
def test_no_combination_of_reasons_repeats_a_name_or_a_mark(reasons: list[tuple[list[str], str]], then: str) -> None:
    found = rows.node_message(["".join(before) + text for before, text in reasons], "n1", "host-1", then)
    assert found.startswith(("Node n1: ", "Node n1 was ")) and found.count("n1") == 1 and "host-1" not in found
    assert ".;" not in found and ".." not in found and "; ;" not in found and not found.endswith((".", ";", " "))
