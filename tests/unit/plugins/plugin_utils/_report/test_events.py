# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task reports, and who records it."""

from __future__ import annotations

import io
import json
import stat
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verdict
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import output
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.events import (
    FAILED,
    MODULES,
    NOT_REVERTED,
    PAUSED,
    REFUSED,
    REMEDIES,
    Event,
    begins,
    read,
)
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.output import ERASE
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.recorder import (
    BETWEEN_REPORTS,
    Recorder,
    ReportSettings,
)
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import goals
from tests.support.report.terminal import Terminal


def given(result: dict[str, t.Any], **arguments: t.Any) -> dict[str, t.Any]:
    """A result as Ansible hands it to callbacks."""
    return {**result, "invocation": {"module_args": arguments}}


def steps(found: list[Event]) -> list[tuple[str, str]]:
    """Kinds and nodes, without the deliveries."""
    return [(event.kind, event.node) for event in found if event.kind != "delivery"]


def test_rows_of_a_bulk_call_speak_for_their_nodes() -> None:
    rows = {
        "n1": {"changed": True, "delivery": "native", "state": "assigned"},
        "n2": {"changed": True, "delivery": "checkpoint", "state": "assigned"},
        "n3": {"changed": False, "delivery": "native", "state": "unchanged"},
    }
    assert steps(read("node_config_source", given({"nodes": rows}, state="present"), "")) == [("switched", "n1")]


def test_a_follower_switches_its_node_and_confirms_it() -> None:
    """Such a node is done like any other, though no task runs on its host."""
    rows = {"n1": {"changed": True, "delivery": "dropin", "state": "assigned", "transport": "api"}}
    assert steps(read("node_config_source", given({"nodes": rows}, state="present"), "")) == []
    verified = {
        "n1": {"ok": True, "state": "active", "follower": {"transport": "api"}},
        "n2": {"ok": False, "state": "differs", "message": "maxPods", "follower": {"transport": "api"}},
        "n3": {"ok": False, "state": "refused", "message": "no", "follower": {"transport": "api"}},
        "n4": {"ok": True, "state": "active", "follower": {"transport": "ssh"}},
    }
    assert steps(read("node_config_source", given({"nodes": verified}, state="verified"), "")) == [
        ("switched", "n1"),
        ("verified", "n1"),
        ("switched", "n2"),
        ("failed", "n2"),
        ("failed", "n3"),
        ("verified", "n4"),
    ]
    settled = {
        "n1": {"ok": True, "delivery": "dropin", "state": "confirmed"},
        "n2": {"ok": True, "delivery": "dropin", "state": "reverting"},
        "n3": {"ok": False, "delivery": "dropin", "state": "unanswered", "message": "not confirmed"},
    }
    found = read("node_config_source", given({"nodes": settled}, state="settled"), "")
    assert steps(found) == [("confirmed", "n1"), ("failed", "n3")]


def test_a_revert_names_the_reverted_nodes() -> None:
    rows = {
        "n1": {"ok": True, "state": "reverted", "message": "running its previous configuration again"},
        "n2": {"ok": False, "state": "not_reverted", "message": "not yet"},
        "n3": {"ok": False, "state": "reassigned", "message": "another controller assigned it"},
        "n4": {"ok": True, "state": "refused", "message": "still running its previous configuration"},
    }
    assert read("node_config_revert", {"nodes": rows}, "") == [
        Event("reverted", "n1", "running its previous configuration again"),
        Event(NOT_REVERTED, "n2", "not yet"),
        Event(NOT_REVERTED, "n3", "another controller assigned it"),
        Event("kept", "n4", "still running its previous configuration"),
    ]
    away = {"n1": {"changed": True, "delivery": "native", "state": "assigned"}}
    assert steps(read("node_config_source", given({"nodes": away}, state="absent"), "")) == [("switched", "n1")]


def test_the_plan_of_a_rollback_has_the_target_of_each_node() -> None:
    before = {"kubeletConfigKey": "kubelet", "namespace": "kube-system", "name": "a"}
    now = {**before, "name": "b"}
    row = {"source": now, "config_source": None, "active": now, "settled": True}
    plan = goals.of_goal(
        "previous",
        {},
        {
            "n1": {**row, "previous": before},
            "n2": {**row, "previous": {}},
            "n3": {**row, "previous": None},
            "n4": {**row, "previous": now},
        },
    )
    value = {"text": plan["text"], "batches": [{"names": [*plan["nodes"]]}, {"names": [*plan["local"]]}]}
    result = {"ansible_facts": {"__kubelet_config_rollout": value}}
    found = read("", result, "")
    assert begins(result) and not begins({"ansible_facts": {"__kubelet_config_rollout": {"text": []}}})
    assert [(name, row["action"], row.get("text")) for name, row in found[0].detail["nodes"].items()] == [
        ("n1", "assign", "kube-system/b -> kube-system/a"),
        ("n2", "assign", "kube-system/b -> its local config"),
        ("n3", "none", None),
    ]
    assert "unknown" in found[0].detail["nodes"]["n3"]["problems"][0]["message"]
    assert read("", {"ansible_facts": {"__kubelet_config_rollout": None}}, "") == []


STORED = "the API server stored the local config: its gate is off"


def test_an_assignment_that_failed_names_its_nodes() -> None:
    rows = {
        "n1": {"ok": False, "changed": False, "delivery": "native", "state": "unchanged", "message": STORED},
        "n2": {"ok": True, "changed": True, "delivery": "native", "state": "assigned", "message": "assigned a"},
    }
    result = given({"nodes": rows, "msg": f"assigning: 1 node failed.\nn1: {STORED}"}, state="present")
    found = read("node_config_source", result, "", "failed")
    assert steps(found) == [(FAILED, "n1"), ("kept", "n1"), ("switched", "n2")]
    assert next(event.message for event in found if event.kind == FAILED) == STORED


def test_a_verdict_is_a_step_or_a_failure() -> None:
    rows = {
        "n1": {"ok": True, "state": "active"},
        "n2": {"ok": False, "state": "differs", "message": "a flag wins"},
        "n3": {"ok": False, "state": "fell_back", "message": "refused"},
    }
    found = read("node_config_source", given({"nodes": rows}, state="verified"), "")
    assert steps(found) == [("verified", "n1"), (FAILED, "n2"), (FAILED, "n3"), ("reverted", "n3")]
    assert (found[1].state, found[1].message) == ("differs", "a flag wins")
    assert steps(read("node_soak", {"nodes": rows}, "")) == [
        ("soaked", "n1"),
        (FAILED, "n2"),
        (FAILED, "n3"),
        ("reverted", "n3"),
    ]
    without = steps(read("node_soak", given({"nodes": rows}, seconds=0), ""))
    assert without == [(FAILED, "n2"), (FAILED, "n3"), ("reverted", "n3")], "it only looks at the pods"
    local = {"n1": {"ok": True, "state": "local"}}
    assert steps(read("node_config_source", given({"nodes": local}, state="verified"), "")) == [("reverted", "n1")]


@pytest.mark.parametrize(
    ("module", "result", "trouble", "wanted"),
    [
        ("kubelet_checkpoint", given({"changed": True}, state="staged"), "", ["staged"]),
        ("kubelet_checkpoint", given({"changed": False, "restart_needed": False}, state="assigned"), "", []),
        ("kubelet_checkpoint", given({"changed": True, "restart_needed": False}, state="assigned"), "", []),
        ("kubelet_checkpoint", given({"restart_needed": True}, state="assigned"), "", ["staged", "switched"]),
        ("kubelet_checkpoint", given({"changed": True}, state="confirmed"), "", ["confirmed"]),
        ("kubelet_checkpoint", given({"changed": True}, state="rolled_back"), "", ["reverted"]),
        ("kubelet_checkpoint", given({"changed": False}, state="rolled_back"), "", []),
        ("kubelet_checkpoint", given({"msg": "disk full"}, state="assigned"), "failed", [FAILED]),
        ("kubelet_checkpoint", given({"seconds": 4.2}, state="restarted"), "", ["restarted"]),
        ("kubelet_checkpoint", given({"msg": "it did not come up"}, state="restarted"), "", [FAILED]),
        ("kubelet_checkpoint", given({"msg": "it did not come up"}, state="restarted"), "failed", [FAILED]),
        ("kubelet_checkpoint", given({"changed": True}, state="updated"), "", []),
        ("kubelet_preflight_info", {"msg": "no unit"}, "failed", [FAILED]),
        ("kubelet_checkpoint", {"msg": "timed out"}, "unreachable", [FAILED]),
    ],
)
def test_results_of_a_host(module: str, result: dict[str, t.Any], trouble: str, wanted: list[str]) -> None:
    assert steps(read(module, result, "n1", trouble)) == [(kind, "n1") for kind in wanted]


@pytest.mark.parametrize(("state", "kind"), [("restarted", "restarted"), ("confirmed", "confirmed"), ("reset", None)])
def test_what_follows_a_switch_names_no_delivery(state: str, kind: str | None) -> None:
    """Its option has the default, also where the switch had another one."""
    found = read("kubelet_checkpoint", given({"seconds": 1.0}, state=state, delivery="checkpoint"), "n1")
    assert [event.kind for event in found] == list(filter(None, [kind]))


def test_a_connection_lost_on_the_node_is_unreachable_however_ansible_reports_it() -> None:
    expected = [Event(FAILED, "n1", "no route", "unreachable")]
    assert read("kubelet_checkpoint", {"msg": "no route"}, "n1", "unreachable") == expected
    assert read("kubelet_checkpoint", {"msg": "no route", "state": "unreachable"}, "n1", "failed") == expected


def test_a_drain_names_the_nodes_that_failed() -> None:
    rows = {
        "n1": {"ok": True, "changed": True, "message": "1 pods evicted"},
        "n2": {"ok": False, "changed": True, "message": "a PodDisruptionBudget forbids it"},
    }
    result = given({"nodes": rows, "msg": "draining failed: n2: a PodDisruptionBudget forbids it"}, state="drained")
    assert steps(read("node_drain", result, "", "failed")) == [("drained", "n1"), (FAILED, "n2")]
    assert steps(read("node_drain", given({"nodes": {"n1": rows["n1"]}}, state="restored"), "")) == [("restored", "n1")]


def test_the_gate_opens_a_batch_pauses_or_refuses() -> None:
    assert read("kubelet_rollout_gate", given({"paused": None}, nodes=["n1", "n2"]), "")[0].detail == ["n1", "n2"]
    paused = read(
        "kubelet_rollout_gate", given({"paused": {"since": "now"}, "msg": "paused"}, nodes=["n1"]), "", "failed"
    )
    assert [(event.kind, event.detail) for event in paused] == [(PAUSED, {"since": "now"})]
    assert steps(
        read("kubelet_rollout_gate", given({"paused": None, "msg": "2 of 2 are down"}, nodes=["n1"]), "", "failed")
    ) == [(REFUSED, "")]


def test_a_failure_of_the_whole_call_belongs_to_no_node() -> None:
    result = given({"nodes": {"n1": {"changed": True, "delivery": "native"}}, "msg": "no such node"}, state="present")
    assert read("node_config_source", result, "", "failed")[-1] == Event(REFUSED, message="no such node")
    assert read("", {}, "", "failed", task="Look") == [
        Event(REFUSED, message="the task 'Look' failed; its own output has the cause")
    ]


def test_a_failed_task_without_a_module_has_its_message() -> None:
    assert read("", {"msg": "why"}, "n1", "failed") == [Event(FAILED, "n1", "why")]
    assert read("", {}, "n1") == []


@pytest.mark.parametrize("module", sorted(MODULES))
@pytest.mark.parametrize(
    "result",
    [
        {},
        {"nodes": None},
        {"nodes": [1]},
        {"nodes": {"n1": None}},
        {"nodes": {"n1": {"ok": True, "changed": True, "delivery": []}}},
        {"plan": 1},
        {"plan": {"nodes": 1}},
        {"summary": 3},
        {"invocation": None},
        {"invocation": {"module_args": "x"}},
        {"paused": 1},
        {"summary": {}, "text": 5},
        *({"ansible_facts": {"__kubelet_config_rollout": value}} for value in ({"text": 5}, {"batches": [None]})),
        {
            "ansible_facts": {
                "__kubelet_config_rollout": {"text": ["a"], "batches": [{}, {"names": [{}]}, {"names": 5}]}
            }
        },
    ],
)
def test_no_result_is_too_odd(module: str, result: dict[str, t.Any]) -> None:
    for trouble in ("", "failed", "unreachable"):
        read(module, result, "n1", trouble)
        read("", result, "n1", trouble)


def test_every_verdict_that_is_a_failure_has_a_remedy() -> None:
    assert set(verdict.STATES) - {"active", "local"} <= set(REMEDIES)


class Run:
    """A recorder with a clock that is moved by hand."""

    def __init__(
        self,
        place: Path,
        terminal: io.StringIO | None = None,
        live: str = "auto",
        html: str = "r.html",
        restarts: bool = False,
    ) -> None:
        self.now, self.printed, self.warned = 1000.0, [], []  # type: ignore[var-annotated]
        stream = terminal or io.StringIO()
        self.json = place / "out" / "r.json"
        self.recorder = Recorder(
            ReportSettings(html=str(place / "out" / html) if html else "", json=str(self.json), live=live),
            self.printed.append,
            self.warned.append,
            (stream, stream),
            lambda: self.now,
            restarts,
        )

    def take(self, *found: Event) -> None:
        """Receive events a second later."""
        self.now += 1
        self.recorder.take(found)

    def outcome(self) -> str:
        """Return the outcome in the JSON report."""
        return str(json.loads(self.json.read_text(encoding="utf-8"))["outcome"])


PLAN = Event("plan", detail={"nodes": {f"n{number}": {"action": "assign"} for number in range(1, 6)}})


def test_one_line_a_batch_and_a_failure(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.take(PLAN)
    run.take(Event("batch", detail=["n1"]))
    run.take(Event("verified", "n1"))
    run.take(Event("batch", detail=["n2", "n3", "n4", "n5"]))
    run.take(Event("failed", "n2", "a flag wins", "differs"), Event("failed", "n2", "again"))
    run.take(*(Event("verified", f"n{number}") for number in (3, 4, 5)))
    run.recorder.end()
    assert run.printed[:-2] == [
        "kubelet rollout: batch 1, 1 node (n1): 1 done in 1 s; 1 of 5 nodes, about 8 s left",
        "kubelet rollout: node n2 failed (differs); its verdict follows",
        "kubelet rollout: batch 2, 4 nodes (n2, n3, n4 and 1 more): 1 failed, 3 done in 2 s; 5 of 5 nodes",
        "kubelet rollout: failed after 6 s: 1 failed, 4 done",
    ]


def test_a_killed_run_leaves_what_was_seen(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.take(PLAN)
    assert run.outcome() == "running"
    run.take(Event("batch", detail=["n1"]), Event("verified", "n1"))
    run.recorder.play("all")
    assert json.loads(run.json.read_text(encoding="utf-8"))["summary"]["done"] == 1
    run.take(Event("failed", "n2", "why"))
    run.now += BETWEEN_REPORTS
    run.take()
    assert json.loads(run.json.read_text(encoding="utf-8"))["summary"]["failed"] == 1
    assert [path.name for path in run.json.parent.iterdir()] != [] and not list(run.json.parent.glob(".*"))


def test_the_end_counts_once_and_an_interrupt_is_one(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.take(PLAN)
    run.recorder.end("interrupted")
    run.recorder.end()
    assert run.outcome() == "interrupted"


def test_failures_without_an_event_are_not_a_success(tmp_path: Path) -> None:
    run = Run(tmp_path)
    run.take(PLAN)
    run.recorder.end(failed=True)
    assert run.outcome() == "failed"


@pytest.mark.parametrize("dry", [True, False])
def test_a_rollout_between_two_rehearsals_is_not_in_check_mode(tmp_path: Path, dry: bool) -> None:
    """With the playbook stage in the same run, the report of a rollout was that nothing was changed."""
    run = Run(tmp_path)
    run.take(PLAN)
    run.recorder.take([], in_check_mode=True)
    run.recorder.take([Event("batch", detail=["n1"])], in_check_mode=dry)
    run.take(Event("verified", "n1"))
    run.recorder.take([], in_check_mode=True)
    run.recorder.end()
    made = json.loads(run.json.read_text(encoding="utf-8"))
    assert (made["check_mode"], made["summary"].get("done", 0)) == (dry, 0 if dry else 1)


@pytest.mark.parametrize("restarts", [True, False])
def test_only_a_rollout_is_refused(tmp_path: Path, restarts: bool) -> None:
    """Drift fails with a message, too. It must not replace the report of the last rollout."""
    run = Run(tmp_path, html="", restarts=restarts)
    run.take(Event("refused", message="1 variable is wrong"))
    run.now += BETWEEN_REPORTS
    run.take()
    run.recorder.end(failed=True)
    shown = [
        "kubelet rollout: refused after 12 s: nothing was changed",
        f"kubelet rollout: the report is in {run.json}",
    ]
    assert (run.printed, run.json.exists()) == (shown if restarts else [], restarts)


def test_a_report_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file where the folder should be")
    run = Run(tmp_path, html="")
    run.take(PLAN)
    run.recorder.end()
    assert len(run.warned) == 1 and str(run.json) in run.warned[0]
    assert "name another file" in run.warned[0]
    assert not any("the report is in" in line for line in run.printed)


@pytest.mark.parametrize(
    ("live", "terminal", "drawn"),
    [("auto", True, True), ("auto", False, False), ("never", True, False), ("always", False, True)],
)
def test_who_gets_a_line(tmp_path: Path, live: str, terminal: bool, drawn: bool) -> None:
    stream = Terminal() if terminal else io.StringIO()
    run = Run(tmp_path, stream, live)
    run.take(PLAN)
    assert bool(stream.getvalue()) == drawn
    run.recorder.end()
    assert stream.getvalue().rpartition(ERASE)[2] == ""


def test_files_are_whole_and_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output.write(str(tmp_path / "r"), "old")
    with monkeypatch.context() as patch, pytest.raises(OSError):
        patch.setattr(output.os, "replace", lambda *_paths: (dummy for dummy in ()).throw(OSError("no")))
        output.write(str(tmp_path / "r"), "new")
    assert (tmp_path / "r").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
    assert stat.S_IMODE((tmp_path / "r").stat().st_mode) & 0o600 == 0o600


def test_half_of_a_surrogate_pair_does_not_cost_the_report(tmp_path: Path) -> None:
    """A module can return one, as in the path of a file whose name is no UTF-8."""
    output.write(str(tmp_path / "r"), "a\udcff")
    assert (tmp_path / "r").read_text() == "a\\udcff"
