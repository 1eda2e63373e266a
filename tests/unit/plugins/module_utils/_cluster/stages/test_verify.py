# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the stage verify finds, on a cluster in memory that changes in simulated time."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import verdict, watch
from tests.sim.api.direct import Clock, Direct
from tests.support.api.calls import CONFIGMAPS, NODES
from tests.support.api.objects import configmap, live, node, place, reference, status, text
from tests.support.api.verifying import LIVE, PODS, A, cluster, done, fail, heartbeat, noticed, run, turn, waiting

LOAD, VALIDATE, _internal = verdict.MEANING
B = reference("config-b")
RUNS_B = "kube-system/config-b key kubelet"
REFUSED = ApiError(503, "connection refused", transient=True)


def test_already_there(clock: Clock) -> None:
    """One LIST, one ConfigMap, one live configuration, and no wait."""
    api = cluster(done())
    result = run(api, {"n1": place()})
    assert (result["changed"], clock.slept) == (False, [])
    paths = [NODES, f"{CONFIGMAPS}/config-a", f"{NODES}/n1/proxy/configz"]
    assert sorted(api.requests) == sorted(("GET", path) for path in paths)
    shown = {"ok": True, "state": "active", "message": "runs kube-system/config-a key kubelet", "active": A}
    assert {**shown, "differences": []}.items() <= result["nodes"]["n1"].items()
    assert result["summary"] == {"nodes": 1, "ok": 1, "failed": 0, "states": {"active": 1}, "waited_seconds": 0.0}


def test_nodes_that_run_alike_are_compared_once(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    """By what they run; each has its own verdict."""
    names = [f"n{number}" for number in range(6)]
    api = cluster(*(done(name) for name in names))
    api.live["n3"] = live(maxPods=60)
    compared = []
    real = watch.differing.between
    monkeypatch.setattr(watch.differing, "between", lambda *given: compared.append(given) or real(*given))
    failed = fail(api, dict.fromkeys(names, place()))
    assert set(failed.failures) == {"n3"}
    assert len(compared) == 2


def test_what_the_spec_names_now(clock: Clock) -> None:
    """Without sources: each node by its own spec, a node without one by its local config."""
    api = cluster(done("n1"), node("n2", config=status(A, A)))
    clock.at(3, turn(api, node("n2", config=status())))
    result = run(api, nodes=["n2", "n1"])
    assert {name: row["state"] for name, row in result["nodes"].items()} == {"n2": "local", "n1": "active"}
    assert noticed(clock, 3)


def test_final_states_end_the_wait(clock: Clock) -> None:
    """As soon as the last node is settled, good or bad, and not at the timeout. A settled one is not judged again."""
    api = cluster(waiting("n1"), waiting("n2"), waiting("n3"), done("n4"), content=text(**PODS, kubeAPIQPS=-1))
    api.live["n4"] = live(**PODS, kubeAPIQPS=-1)
    clock.at(2, turn(api, node("n4", place("theirs"), status())))
    clock.at(4, turn(api, node("n1", place(), status(A, error=VALIDATE)), node("n2", place("theirs"), status())))
    clock.at(8, turn(api, node("n3", None, status())))
    failed = fail(api, dict.fromkeys(["n1", "n2", "n3", "n4"], place()))
    assert noticed(clock, 8)
    states = {name: row["state"] for name, row in failed.result["nodes"].items()}
    assert states == {"n1": "fell_back", "n2": "reassigned", "n3": "reassigned", "n4": "active"}
    assert "Likely cause: kubeAPIQPS" in failed.failures["n1"]


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        ("a: [b", "Cause: key kubelet, line 1"),
        ("maxPods: 1", "Cause: key kubelet: apiVersion is missing"),
        (text(**PODS), "On the node: journalctl -u kubelet"),
    ],
)
def test_fell_back_names_the_cause(clock: Clock, content: str, cause: str) -> None:
    api = cluster(node("n1", place(), status(A, error=LOAD)), content=content)
    assert cause in fail(api, {"n1": place()}).failures["n1"]


@pytest.mark.parametrize(
    ("found", "state", "words"),
    [
        (waiting(config=status(B, B)), "sync_error", f"does not exist; its kubelet still runs {RUNS_B}. Push it again"),
        (node("n1", place("theirs"), status()), "reassigned", "its spec.configSource names kube-system/theirs key"),
    ],
)
def test_configmap_that_does_not_exist(clock: Clock, found: dict[str, t.Any], state: str, words: str) -> None:
    failed = fail(Direct(found), {"n1": place()})
    assert words in failed.failures["n1"]
    assert (failed.result["nodes"]["n1"]["state"], clock.slept) == (state, [])


def test_configmap_in_another_revision(clock: Clock) -> None:
    """It is edited during the wait: it is read again, and the kubelet is judged by its new content."""
    api = cluster(waiting())
    moved = reference("config-a", revision="9")
    clock.at(4, lambda: api.configmaps.add(configmap("config-a", text(maxPods=70), revision="9")))
    clock.at(4, lambda: api.live.update(n1=live(maxPods=70)))
    clock.at(4, turn(api, node("n1", place(), status(moved, moved))))
    assert run(api, {"n1": place()})["nodes"]["n1"]["state"] == "active"
    assert (noticed(clock, 4), api.count("GET", f"{CONFIGMAPS}/config-a")) == (True, 2)


def test_configmap_that_is_deleted_during_the_wait(clock: Clock) -> None:
    api = cluster(waiting())
    clock.at(4, api.configmaps.clear)
    clock.at(4, turn(api, node("n1", place(), status(reference("config-a", revision="6")))))
    assert "does not exist" in fail(api, {"n1": place()}).failures["n1"]
    assert noticed(clock, 4)


def test_live_configuration_differs(clock: Clock) -> None:
    """The header may hold credentials, which are not shown."""
    api = cluster(done())
    api.live["n1"] = live(maxPods=110, staticPodURLHeader={"Authorization": ["hunter2"]})
    row = fail(api, {"n1": place()}).result["nodes"]["n1"]
    assert (row["state"], clock.slept) == ("differs", [])
    difference, header = row["differences"]
    assert [difference[key] for key in ("path", "expected", "live", "flags")] == ["maxPods", 50, 110, ["max-pods"]]
    assert header["path"].startswith("staticPodURLHeader") and "hunter2" not in repr(row)


@pytest.mark.parametrize("minor", [20, 21, 23])
@pytest.mark.fault(case=65)
def test_a_configmap_made_by_hand_with_few_fields(clock: Clock, minor: int) -> None:
    """What the kubelet fills in is not a difference; a declared value that is not live still is one."""
    filled = {"maxPods": 50, "registryBurst": 10, **({"memoryManagerPolicy": "None"} if minor > 20 else {})}
    api = cluster(done())
    api.nodes["n1"]["status"]["nodeInfo"]["kubeletVersion"] = f"v1.{minor}.0"
    api.live["n1"] = live(**filled)
    assert run(api, {"n1": place()})["nodes"]["n1"]["differences"] == []
    api.live["n1"] = live(**{**filled, "maxPods": 110})
    failed = fail(api, {"n1": place()})
    assert [row["path"] for row in failed.result["nodes"]["n1"]["differences"]] == ["maxPods"]


def test_an_empty_status_alone_is_not_local(clock: Clock) -> None:
    """A kubelet in a crash loop never reported its assignment, so its removal is no success."""
    api = cluster(node("n1", None, {}))
    api.live["n1"] = REFUSED
    api.renewed = {"n1": heartbeat(75)}
    row = fail(api, {"n1": None}).result["nodes"]["n1"]
    assert row["state"] == "silent" and "crash loop" in row["message"]
    api.live["n1"] = ApiError(404, "no such page")
    assert run(api, {"n1": None})["nodes"]["n1"]["state"] == "local"


def test_live_configuration_that_is_readable_later(clock: Clock) -> None:
    """A kubelet that is just restarting does not answer for some seconds."""
    api = cluster(done())
    api.live["n1"] = REFUSED
    clock.at(5, lambda: api.live.update(n1=LIVE))
    assert run(api, {"n1": place()})["nodes"]["n1"]["ok"]


@pytest.mark.parametrize(
    ("content", "answer", "words", "state", "waited"),
    [
        # The message does not claim that the kubelet did not restart.
        (None, REFUSED, "its kubelet does not answer the API server (connection refused)", "not_ready", 60),
        (None, ApiError(403, "forbidden"), "grant the verb get on nodes/proxy", "differs", 0),
        ("maxPods: 50", LIVE, "compared with the live one: key kubelet: apiVersion is missing", "differs", 0),
        ("", LIVE, "compared with the live one: there is no such ConfigMap", "differs", 0),
    ],
)
def test_live_configuration_that_cannot_be_compared(
    clock: Clock, content: str | None, answer: t.Any, words: str, state: str, waited: int
) -> None:
    """Waiting helps only against a kubelet that does not answer."""
    api = cluster(done(), content=content)
    api.renewed = {"n1": heartbeat(-59)}
    api.live["n1"] = answer
    if content == "":
        api.nodes["n1"] = switched()
        del api.configmaps["config-a"]
    failed = fail(api, {"n1": place()})
    assert failed.failures["n1"].startswith("its config is active") and words in failed.failures["n1"]
    assert "Restart=always" not in failed.failures["n1"]
    assert (failed.result["nodes"]["n1"]["state"], clock.now - 1000) == (state, waited)


def switched(name: str = "n1", **more: t.Any) -> dict[str, t.Any]:
    """A node that has taken up a copy of an earlier revision of config-a."""
    return node(name, marked=A, reported={**status(A, A), "reason": "on trial", **more})


def test_a_checkpoint_and_a_native_node(clock: Clock) -> None:
    """One LIST a poll and one ConfigMap for both; each is judged by its own delivery."""
    api = cluster(done("n1"), node("n2", marked=A))
    clock.at(4, turn(api, switched("n2")))
    result = run(api, dict.fromkeys(["n1", "n2"], place()))
    rows = {name: (row["delivery"], row["state"], row["reason"]) for name, row in result["nodes"].items()}
    assert rows == {"n1": ("native", "active", ""), "n2": ("checkpoint", "active", "on trial")}
    assert (api.count("GET", NODES), api.count("GET", f"{CONFIGMAPS}/config-a")) == (1 + len(clock.slept), 1)


def test_a_configmap_edited_after_it_was_copied(clock: Clock) -> None:
    """No kubelet follows the edit; the live configuration is compared with the current ConfigMap."""
    api = cluster(switched())
    api.configmaps["config-a"] = configmap("config-a", text(maxPods=70), revision="9")
    failed = fail(api, {"n1": place()})
    assert (failed.result["nodes"]["n1"]["state"], clock.slept) == ("differs", [])


def test_a_delivery_that_is_named(clock: Clock) -> None:
    """During a migration a node has both."""
    api = cluster(node("n1", place(), status(), marked=A, reported=status(A, A)))
    assert run(api, nodes=["n1"])["nodes"]["n1"]["delivery"] == "checkpoint"
    clock.at(4, turn(api, node("n1", place(), status(A, A), marked=A, reported=status(A, A))))
    assert run(api, nodes=["n1"], delivery="native")["nodes"]["n1"]["delivery"] == "native"
    assert noticed(clock, 4)
