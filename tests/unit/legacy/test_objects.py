# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the rooms of `_cluster` do with the Node of a kubelet 1.8 to 1.10."""

from __future__ import annotations

import datetime
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import timestamps
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import (
    config_sources,
    inventory_hosts,
    node_requests,
    nodes,
    readers,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import revert
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import diagnose, node_rows, verdict
from ansible_collections.livenodes.kubelet.plugins.module_utils._config import minors
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import goals
from tests.sim.api.direct import EPOCH, Clock, Direct
from tests.sim.api.kinds import KINDS
from tests.sim.cluster import Cluster as Simulated
from tests.support.api.calls import MERGE, NODES, Call, Calls
from tests.support.api.objects import node, place, reference, status

FORM = minors.source_form(9)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(revert, "time", made)
    return made


def row(previous: dict[str, str] | None) -> dict[str, t.Any]:
    """An assignment as node_config_source returns it."""
    return {"changed": True, "delivery": "native", "source": place("bad"), "previous": previous}


ALPHA = {"namespace": "kube-system", "name": "config-a", "uid": "uid-config-a"}
PARSE = 'failed to parse current (UID: "uid-config-a")'


def first_node(version: str = "v1.9.11") -> dict[str, t.Any]:
    """A kubelet 1.8 to 1.10 that runs config-a, and has a last-known-good whose name it does not report."""
    found = node(version=version)
    found["spec"]["configSource"] = {"configMapRef": ALPHA}
    condition = {"type": "ConfigOK", "status": "False", "message": 'using last-known-good (UID: "other")'}
    found["status"]["conditions"].append({**condition, "reason": PARSE})
    return found


@pytest.mark.parametrize("version", ["v1.8.15", "v1.9.11", "v1.10.13"])
def test_the_first_form(version: str) -> None:
    """The same parts as for every later kubelet."""
    found = nodes.trim(first_node(version))
    whole = {**ALPHA, "kubeletConfigKey": "kubelet"}
    assert (found.form.by_uid, found.listening, found.delivery, found.place) == (True, True, "native", "checkpoint")
    assert (found.source, found.part("assigned"), found.error) == (whole, whole, PARSE)
    assert nodes.describe(found.part("active")) == "the ConfigMap with uid other"
    assert (found.references, found.uids) == ([whole, whole], {"uid-config-a", "other"})


def test_the_first_form_on_a_later_kubelet() -> None:
    found = nodes.trim(first_node("v1.20.2"))
    assert (found.form.by_uid, found.listening) == (False, False)
    assert (found.source, found.place, found.uids) == (None, "", set())


def test_write_the_first_form() -> None:
    """uid and no key; the local config removes the field."""
    found = nodes.trim(node(version="v1.9.11")).with_delivery("native")
    new = {**ALPHA, "name": "config-b", "uid": "uid-config-b"}
    for wanted, written in ({**new, "kubeletConfigKey": "kubelet"}, {"configMapRef": new}), (None, None):
        body = {"metadata": {"resourceVersion": "1"}, "spec": {"configSource": written}}
        answer = node(version="v1.9.11")
        answer["spec"]["configSource"] = written
        with Calls(Call("PATCH", f"{NODES}/n1", answer, body=body, content_type=MERGE)) as session:
            assert config_sources.write_source(session, found, wanted, False).source == wanted


def test_a_first_kubelet_that_reports_the_uid_alone() -> None:
    """Kubelets 1.8 and 1.9 do, and their last-known-good is not a ConfigMap that the Node names."""
    conditions = [{"type": "ConfigOK", "status": "True", "message": 'using current (UID: "u9")', "reason": "passed"}]
    found = node(version="v1.9.1")
    found["status"]["conditions"] = conditions
    variables = inventory_hosts.variables(nodes.trim(found))
    assert variables["node_variant"] == "u9"
    assert inventory_hosts.groups(variables, ["variant"], []) == ["variant_u9"]
    for goal, previous in (("previous", {}), ("local", None)):
        kept = {"source": place("a"), "config_source": place("a"), "previous": previous}
        shown = {**node_rows.row(nodes.trim(found)), **kept}
        assert goals.of_goal(goal, {}, {"n1": shown})["text"] == ["n1: the ConfigMap with uid u9 -> its local config"]


@pytest.mark.parametrize(
    ("source", "notes"),
    [
        ({**ALPHA, "kubeletConfigKey": "kubelet"}, {annotation.PREVIOUS: annotation.text({})}),
        (None, dict.fromkeys((annotation.PREVIOUS, annotation.OWN))),
    ],
)
def test_an_api_server_without_dry_runs(source: dict[str, str] | None, notes: dict[str, str | None]) -> None:
    """Nothing is sent, and the forecast has what an API server with dry runs answers."""
    answers = []
    for server in ("v1.11.10", "v1.20.2"):
        with Simulated(server, tls=False) as cluster:
            found = node(version="v1.9.11", marked=reference("config-c"), reported=status(reference("config-c")))
            del found["metadata"]["resourceVersion"]
            cluster.store.create(KINDS["nodes"], "", found)
            before = cluster.node("n1")
            now = nodes.trim(before).with_delivery("native")
            session = Session({"host": cluster.url})
            answers.append(config_sources.write_source(session, now, source, True, (), notes))
            assert cluster.node("n1") == before
    forecast, answer = ((one.native, one.noted, one.own, one.malformed) for one in answers)
    assert forecast == answer and forecast[0].source == source


@pytest.mark.parametrize(("version", "names"), [("v1.9.1", ["kubelet_1.9"]), ("v1.10.13", ["kubelet_1.10"])])
def test_without_the_condition(version: str, names: list[str]) -> None:
    """A status.config is nothing to it."""
    found = nodes.trim(node(version=version, config={}))
    assert node_rows.row(found)["delivery"] == "none"
    assert inventory_hosts.groups(inventory_hosts.variables(found), ["version"], []) == names


def test_a_dead_first_kubelet_is_reported(clock: Clock) -> None:
    """By the heartbeat in its Node, since API servers of its time have no Leases; its store has other files."""
    found = node("n1", version="v1.9.11", ready="Unknown")
    found["spec"]["configSource"] = {"configMapRef": {"namespace": "kube-system", "name": "bad", "uid": "uid-bad"}}
    for condition in found["status"]["conditions"]:
        condition["lastHeartbeatTime"] = timestamps.text(EPOCH - 90)
    cluster = Direct(found)
    cluster.store.minor = 9
    options = {"nodes": {"n1": row(None)}, "current": None, "wait_timeout": 30, "wait_sleep": 2, "lease": None}
    with pytest.raises(NodesFailed, match=r"has sent no heartbeat for 90 s.* empty checkpoints/.cur"):
        revert.revert(cluster, options, False)


@pytest.mark.parametrize("uid", [{"uid": "u1"}, {}])
def test_what_a_first_kubelet_gets_again(uid: dict[str, str]) -> None:
    """With its uid; one that an operator wrote may have none."""
    found = nodes.trim(node("n1", version="v1.9.11"))
    # pylint: disable-next=protected-access
    one = revert._Revert(row({**place("good"), **uid}), None)
    assert one.goal(found) == {**place("good"), **uid}
    later = nodes.trim(node("n1", place("bad")))
    assert one.goal(later) == place("good")


def test_a_first_kubelet_at_timeout() -> None:
    """API servers of its time have no Leases, so that it is not known whether it is alive."""
    pending = verdict.Verdict("pending", "waiting")
    for silent in (None, 5.0):
        stuck = verdict.at_timeout(pending, "native", silent, 180, FORM)
        assert (stuck.state, stuck.final) == ("not_restarting", True)
        assert stuck.message == (
            "waiting. After 180 s its kubelet has not restarted: start it with "
            "--feature-gates=DynamicKubeletConfig=true and --dynamic-config-dir=DIR, and set Restart=always in its unit"
        )
    assert "empty checkpoints/.cur in" in verdict.at_timeout(pending, "native", 90.0, 180, FORM).message
    assert verdict.at_timeout(pending, "checkpoint", None, 180, FORM).state == "pending"


def test_silence_without_leases() -> None:
    """Before 1.14. A Node is only looked at for the first kubelets, and once its control plane misses a heartbeat."""
    found = {name: nodes.trim(node(name, version="v1.9.11", ready="Unknown")) for name in ("n1", "n4")}
    found["n2"] = nodes.trim(node("n2", version="v1.9.11"))
    found["n3"] = nodes.trim(node("n3", version="v1.11.10", ready="Unknown"))
    with Calls(Call("GET", diagnose.LEASES, ApiError(404, "404 page not found"))) as session:
        ages = diagnose.silence(session, ["n1", "n2", "n3"], found)
        since = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
        assert ages == {"n1": session.server_time() - since.timestamp()}


def test_who_needs_a_role() -> None:
    """Kubelets up to 1.10 by their source; later ones, and those on their local config, need none."""
    with Simulated("v1.10.13", tls=False) as cluster:
        for name, version in {"n1": "v1.9.11", "n2": "v1.10.13", "n3": "v1.20.2"}.items():
            cluster.add(name, version)
        cluster.store.patch(KINDS["nodes"], "", "n1", MERGE, {"spec": {"configSource": {"configMapRef": ALPHA}}})
        found = node_requests.read(Session({"host": cluster.url}))
    assert readers.in_use(found.values()) == {("kube-system", "config-a"): {"n1"}}
