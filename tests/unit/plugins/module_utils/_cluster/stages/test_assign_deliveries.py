# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage assign for nodes of each delivery, and what it remembers of each node and of each rollout."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.support.api.assigning import (
    FROM_LOCAL,
    GONE,
    LISTENS,
    assigned,
    get,
    listed,
    mark,
    patch,
    previous,
    refused,
    reset,
)
from tests.support.api.calls import NODES, Call
from tests.support.api.objects import live, node, place, reference, status, text

NEW = {"version": "v1.36.2"}
OTHER = reference("other")
RAN_OLD = status(reference("old"), reference("old"))


def test_each_node_by_what_it_is() -> None:
    """One of three nodes without a source follows its Node, two do not; the ConfigMap they share is read once."""
    calls = (
        listed(node("n1", config=LISTENS), node("n2", version="v1.31.1"), node("n3", config=LISTENS, reported={})),
        get(),
        patch("n1", place()),
        mark("n2", reference(), notes=FROM_LOCAL),
        mark("n3", reference(), notes=FROM_LOCAL),
    )
    result = assigned(*calls, nodes=["n1", "n2", "n3"], source=place())
    assert [(row["delivery"], row["state"], row["source"]) for row in result["nodes"].values()] == [
        ("native", "assigned", place()),
        ("checkpoint", "assigned", reference()),
        ("checkpoint", "assigned", reference()),
    ]
    assert result["configmaps"] == {"kube-system/config-a": {"kubelet": text()}}
    assert result["diff"][1]["after"] == f"the annotation {PREFIX}source: kube-system/config-a key kubelet\n"


def test_a_checkpoint_that_is_assigned_is_carried_again_but_not_written_again() -> None:
    """A ConfigMap of the same name that was made anew is another checkpoint."""
    result = assigned(listed(node("n1", marked=reference())), get())
    assert (result["changed"], result["nodes"]["n1"]["state"]) == (False, "unchanged")
    assert list(result["configmaps"]) == ["kube-system/config-a"]
    assert assigned(listed(node("n1", marked=reference(revision="6"))), get(), mark("n1", reference()))["changed"]


def test_check_mode_of_a_checkpoint_that_push_would_make() -> None:
    """It has no uid yet."""
    calls = listed(node("n1")), get(answer=GONE), mark("n1", place(), dry_run=True, notes=FROM_LOCAL)
    result = assigned(*calls, check_mode=True)
    assert (result["changed"], result["configmaps"]) == (True, {"kube-system/config-a": {}})


@pytest.mark.parametrize(
    ("found", "delivery", "message"),
    [
        (node("n1", place("other"), LISTENS), "checkpoint", "follows spec.configSource .kube-system/other .* migrate"),
        (node("n1", marked=OTHER, config=LISTENS), "native", "a checkpoint of .*/other .* with the playbook migrate"),
        (node("n1", version="v1.29.3"), "dropin", "v1.29.3 does not read drop-ins .kubelets from 1.30 on do"),
        (node("n1", marked=OTHER, **NEW), "dropin", "runs a checkpoint of .* migrate"),
        (node("n1", marked=OTHER, delivery="dropin", **NEW), "checkpoint", "runs a dropin of .*/other .* migrate"),
    ],
)
def test_one_delivery_does_not_work_against_the_other(found: dict[str, t.Any], delivery: str, message: str) -> None:
    """Whether it is that of all nodes or that of a node."""
    refused(listed(found), get(), words=message, delivery=delivery)
    refused(listed(found), get(), words=message, sources={"n1": {**place(), "delivery": delivery}})


def test_a_move_from_one_delivery_to_the_other_keeps_the_source() -> None:
    """It is no previous source: the node goes on with what it runs."""
    runs = status(reference(), reference())
    there = mark("n1", reference(), node("n1", place(), runs, marked=reference()))
    assert assigned(listed(node("n1", place(), runs)), get(), there, delivery="checkpoint")["changed"]
    back = listed(node("n1", config=LISTENS, marked=reference())), get(), patch("n1", place(), notes={})
    assert assigned(*back, sources={"n1": {**place(), "delivery": "native"}})["changed"]


def asked(answer: t.Any) -> Call:
    """The GET of what a node runs before it gets a drop-in."""
    return Call("GET", f"{NODES}/n1/proxy/configz", answer)


def test_a_drop_in_is_named_in_the_annotation() -> None:
    """Its content is returned for the node as that of a checkpoint. A new node of 1.32 or later gets one by default."""
    after = node("n1", marked=reference(), delivery="dropin", **NEW)
    ran = asked({"kubeletconfig": live(maxPods=9)})
    write = mark("n1", reference(), after, False, FROM_LOCAL, "dropin")
    result = assigned(listed(node("n1", **NEW)), get(), ran, write)
    row = result["nodes"]["n1"]
    assert (row["delivery"], row["state"], row["source"]) == ("dropin", "assigned", reference())
    assert result["configmaps"] == {"kube-system/config-a": {"kubelet": text()}}
    # What it ran before, for the proof.
    (config,) = result["before"]["variants"].values()
    assert (config["maxPods"], list(result["before"]["nodes"])) == (9, ["n1"])


def test_a_node_with_a_drop_in_keeps_this_delivery() -> None:
    found = node("n1", marked=reference("old"), reported=RAN_OLD, delivery="dropin", **NEW)
    after = node("n1", marked=reference(), delivery="dropin", **NEW)
    write = mark("n1", reference(), after, False, previous(reference("old")), "dropin")
    assert assigned(listed(found), get(), asked(ApiError(503, "away")), write)["nodes"]["n1"]["delivery"] == "dropin"
    assert not assigned(listed(after), get())["changed"]
    row = reset(listed(after), mark("n1", None, node("n1", **NEW)))["nodes"]["n1"]
    assert (row["state"], row["delivery"]) == ("reset", "dropin")


@pytest.mark.parametrize(
    ("case", "changed"),
    [
        ("as in the dump", {}),
        ("another kubelet since", {"kubelet_version": "v1.36.1"}),
        ("another source since", {"source": reference("other")}),
        ("not read by the dump", {"variant": None}),
    ],
)
def test_a_node_that_is_as_dumped_is_not_read_again(case: str, changed: dict[str, t.Any]) -> None:
    after = node("n1", marked=reference(), delivery="dropin", **NEW)
    write = mark("n1", reference(), after, False, FROM_LOCAL, "dropin")
    row = {"variant": "v", "kubelet_version": NEW["version"], "source": None, **changed}
    dump = {"variants": {"v": {"maxPods": 7}}, "nodes": {"n1": row}}
    read = [asked({"kubeletconfig": live(maxPods=9)})] if changed else []
    result = assigned(listed(node("n1", **NEW)), get(), *read, write, current=dump)
    (config,) = result["before"]["variants"].values()
    assert config["maxPods"] == (9 if changed else 7), case


def test_what_is_no_dump_is_refused_before_anything_is_written() -> None:
    with pytest.raises(ClusterError, match=r"current is not a dump .*: pass it unchanged, or omit it"):
        assigned(listed(node("n1", **NEW)), get(), current={"nodes": {"n1": {"source": None}}})


def test_a_migration_makes_a_checkpoint_a_drop_in() -> None:
    """The row names the delivery that the node leaves, for a revert. A rollback to the checkpoint is not possible."""
    found = node("n1", marked=reference("old"), reported=RAN_OLD, previous=reference("older"), **NEW)
    after = node("n1", marked=reference(), delivery="dropin", **NEW)
    write = mark("n1", reference(), after, False, {annotation.PREVIOUS: None}, "dropin")
    calls = listed(found), get(), asked({"kubeletconfig": live(maxPods=9)}), write
    row = assigned(*calls, sources={"n1": {**place(), "delivery": "dropin", "migrates": True}})["nodes"]["n1"]
    assert (row["ok"], row["delivery"]) == (True, "dropin")
    assert row["previous"] == {**reference("old"), "delivery": "checkpoint"}


def test_a_source_is_removed_from_both_deliveries() -> None:
    """One side only where one is named."""
    both = node("n1", place(), LISTENS, marked=reference())
    row = reset(listed(both), mark("n1", None, node("n1", config=LISTENS), spec={"configSource": None}))["nodes"]["n1"]
    assert (row["state"], row["delivery"]) == ("reset", "checkpoint")
    write = patch("n1", None, node("n1", None, LISTENS, marked=reference()))
    assert reset(listed(both), write, delivery="native")["changed"]
    assert reset(listed(both), mark("n1", None, node("n1", place(), LISTENS)), delivery="checkpoint")["changed"]


@pytest.mark.parametrize(
    ("found", "remembered"),
    [
        (node("n1", place("old"), RAN_OLD), True),
        (node("n1", place("old"), {**RAN_OLD, "error": "failed"}), False),
        (node("n1", place("older"), RAN_OLD), False),
        (node("n1", marked=reference("old"), reported={**RAN_OLD, "reason": annotation.ON_TRIAL}), False),
        (node("n1", marked=reference("old"), reported={**RAN_OLD, "reason": f"{annotation.ON_TRIAL}; away"}), False),
        (node("n1", marked=reference("old"), reported={**RAN_OLD, "reason": annotation.CONFIRMED}), True),
    ],
)
def test_what_a_node_ran_is_remembered(found: dict[str, t.Any], remembered: bool) -> None:
    """What it ran without an error, not what it was merely assigned, what failed, or what is still on trial."""
    notes = previous(reference("old")) if remembered else {}
    write = mark("n1", reference(), notes=notes)
    if "config" in found["status"]:
        write = patch("n1", place(), notes=notes)
    assigned(listed(found), get(), write)


OWN = {"complete": True, "source": "config-a", "absent": [], "own": {"maxPods": [110]}}


@pytest.mark.parametrize(
    ("source", "noted", "forgets"),
    [
        (place(), {"previous": reference("old")}, annotation.PREVIOUS),
        # Also on a node that has no source any more; a move from one delivery to the other keeps both.
        (None, {"previous": reference("old")}, annotation.PREVIOUS),
        (None, {"own": OWN}, annotation.OWN),
        (None, {"own": {"malformed": True}}, annotation.OWN),
    ],
)
def test_a_reset_forgets_what_a_node_ran_and_its_own_values(source: t.Any, noted: t.Any, forgets: str) -> None:
    found = node("n1", source, LISTENS, **noted)
    assert reset(listed(found), patch("n1", None, notes={forgets: None}))["changed"]
    if source is None:
        assert not reset(listed(found), delivery="native")["changed"]


@pytest.mark.parametrize("config", [LISTENS, None])
def test_the_nodes_own_values_are_written_with_the_source(config: t.Any) -> None:
    """In the same patch; an assignment without them keeps those that the node has."""
    for own, expected in ((OWN, {**FROM_LOCAL, annotation.OWN: annotation.text(OWN)}), (None, FROM_LOCAL)):
        write = patch("n1", place(), notes=expected)
        if config is None:
            write = mark("n1", reference(), notes=expected)
        source = {**place(), "own": own}
        assert assigned(listed(node("n1", config=config)), get(), write, sources={"n1": source})["changed"]


@pytest.mark.parametrize("former", [reference("old"), None])
def test_a_node_that_has_its_source_from_an_earlier_run_still_knows_what_it_had(former: dict[str, str] | None) -> None:
    found = node("n1", place(), LISTENS)
    found["metadata"]["annotations"] = previous(former)
    row = assigned(listed(found))["nodes"]["n1"]
    assert (row["changed"], row["previous"]) == (False, former)


def test_a_node_with_an_error_is_reverted_to_its_active_source() -> None:
    """Not to what failed."""
    failed = status(reference("bad"), reference("good"), error="failed to validate config, see Kubelet log for details")
    result = assigned(listed(node("n1", place("bad"), failed)), get(), patch("n1", place(), notes={}))
    assert result["nodes"]["n1"]["previous"] == reference("good")


EARLIER, LATER = "20260101T000000Z-00000000", "20260102T000000Z-00000000"
RAN = {"configMap": place("config-old")}
GOOD, NOW = {"configMap": reference("config-good")}, {"configMap": reference("config-now")}
RUNS = status(reference("config-now"), reference("config-now"))
FAILED = status(reference("config-now"), reference("config-good"), None, "failed to validate config")
LATE = status(reference("config-x"), reference("config-x"))


def found(noted: dict[str, t.Any] | None, config: dict[str, t.Any], source: t.Any = None) -> dict[str, t.Any]:
    """Return a Node that should run config-now, with this annotation."""
    made = node("n1", place("config-now") if source is None else source or None, config)
    if noted is not None:
        made["metadata"]["annotations"] = {annotation.PREVIOUS: annotation.text(noted)}
    return made


@pytest.mark.parametrize(
    ("noted", "config", "written"),
    [
        pytest.param(None, RUNS, {**NOW, "rollout": LATER}, id="the first"),
        pytest.param({**RAN, "rollout": EARLIER, "undone": True}, RUNS, {**NOW, "rollout": LATER}, id="a later one"),
        pytest.param(RAN, RUNS, {**NOW, "rollout": LATER}, id="after one without a name"),
        pytest.param({**RAN, "rollout": LATER}, RUNS, None, id="the same again"),
        pytest.param({"rollout": LATER}, RUNS, None, id="the same again, from its own file"),
        pytest.param({**RAN, "rollout": LATER, "undone": True}, RUNS, {**RAN, "rollout": LATER}, id="undone, again"),
        pytest.param({**RAN, "rollout": EARLIER}, FAILED, {**GOOD, "rollout": LATER}, id="runs what it fell back to"),
        pytest.param({**RAN, "rollout": EARLIER}, LATE, {**RAN, "rollout": LATER}, id="it never ran what it should"),
        pytest.param(None, LATE, None, id="what it ran is not known"),
    ],
)
def test_what_a_rollout_notes(noted: t.Any, config: dict[str, t.Any], written: t.Any) -> None:
    notes = {} if written is None else {annotation.PREVIOUS: annotation.text(written)}
    calls = (listed(found(noted, config)), get("config-a"), patch("n1", place("config-a"), notes=notes))
    assert assigned(*calls, rollout=LATER, undo=False)["changed"]


@pytest.mark.parametrize("undone", [False, True])
def test_a_rollback_to_a_source_marks_the_node(undone: bool) -> None:
    """A second run that finds the source in place marks a node that was not marked yet, and no other."""
    noted = {**RAN, "rollout": LATER}
    marked = {**noted, "undone": True}
    before = found(marked if undone else noted, RUNS, place("config-old"))
    write = patch("n1", place("config-old"), notes={annotation.PREVIOUS: annotation.text(marked)})
    write.answer["metadata"]["annotations"] = {annotation.PREVIOUS: annotation.text(marked)}
    same = [] if undone else [write]
    result = assigned(listed(before), *same, sources={"n1": place("config-old")}, undo=True)
    assert result["changed"] is not undone


@pytest.mark.parametrize("undo", [False, True])
def test_a_rollback_to_the_own_file_keeps_the_mark_and_a_reset_nothing(undo: bool) -> None:
    marked = {"rollout": LATER, "undone": True}
    notes = {annotation.PREVIOUS: annotation.text(marked) if undo else None}
    write = patch("n1", None, notes=notes)
    write.answer["metadata"]["annotations"] = {annotation.PREVIOUS: annotation.text(marked)} if undo else {}
    result = reset(listed(found({"rollout": LATER}, RUNS)), write, undo=undo)
    assert result["nodes"]["n1"]["state"] == "reset"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"rollout": "x"}, "rollout is 'x', not the name of a rollout"),
        (
            {"sources": {"n1": {**place(), "own": {**OWN, "own": 5}}}},
            "node n1 has a malformed record in own: own is not",
        ),
    ],
)
def test_what_is_refused_before_any_request(given: dict[str, t.Any], words: str) -> None:
    with pytest.raises(ClusterError, match=words):
        assigned(**given)
