# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Two snapshots of a node's pods: the lost, the restarted and the unready pods."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import pod_loss

Pod = dict[str, t.Any]


def pod(name: str = "a", **fields: t.Any) -> Pod:
    about = {"namespace": "default", "name": name, "owner": "ReplicaSet/a", "static": False, "tolerates": 300}
    runs = {"phase": "Running", "ready": True, "containers": {"main": 0}, "ids": {"main": "containerd://1"}}
    faultless = {"reason": "", "fault": "", "disruption": "", "revision": "5", "at": 1000.0}
    return {**about, **runs, **faultless, **fields}


def losses(before: dict[str, Pod], now: dict[str, Pod], last: t.Any = None, unready: float = 0) -> pod_loss.Losses:
    return pod_loss.compare(before, now, last or {}, unready)


def compare(old: Pod, new: Pod | None, uid: str = "u1", **more: t.Any) -> tuple[str, str]:
    """Which of the lists a pod is in, and the reason there; empty for none."""
    found = losses({"u1": old}, {uid: new} if new else {}, **more)._asdict()
    [(kind, entry)] = [(kind, entry) for kind, entries in found.items() for entry in entries] or [("", None)]
    if entry is None:
        return "", ""
    assert (entry["namespace"], entry["name"]) == (old["namespace"], old["name"])
    return kind, entry["reason"]


MISSING = "missing: staticPodPath or staticPodURL no longer has its manifest, or its kubelet has not reported it yet"
JOB = {"owner": "Job/backup"}
STATIC = {"owner": "Node/n1", "static": True}
GOING, UNREADY, OTHER = {"reason": "Terminating"}, {"ready": False}, {"ids": {"main": "containerd://2"}}
AGAIN = "container main restarted"


def failed(**fields: t.Any) -> Pod:
    return pod(phase="Failed", ready=False, **fields)


REPORTED = ("reported", "deleted through the API")
FINE = ("", "")
READY_AGAIN = "was not Ready before the change, and is Ready with the same containers"
MORE = {"main": "containerd://1", "debugger": "containerd://4", "logs": "containerd://5"}
PAIRS: dict[str, tuple[Pod, Pod | None, str, str]] = {
    # case: the pod before, the pod now, which list it is in, and the reason there
    "the same": (pod(), pod(), *FINE),
    "gone": (pod(), None, *REPORTED),
    "going": (pod(), pod(reason="Terminating"), *REPORTED),
    "evicted": (pod(), failed(fault="Evicted"), "lost", "Evicted"),
    "failed": (pod(), failed(), "lost", "Failed"),
    "refused, of a job": (pod(**JOB), failed(fault="OutOfcpu", **JOB), "lost", "OutOfcpu"),
    "succeeded": (pod(), pod(phase="Succeeded", ready=False), *FINE),
    "gone, of a job": (pod(**JOB), None, *REPORTED),
    "going, of a job": (pod(**JOB), pod(reason="Terminating", ready=False, **JOB), *REPORTED),
    "failed, of a job": (pod(**JOB), failed(**JOB), "reported", "its containers ended with an error"),
    "its own deadline": (pod(), failed(fault="DeadlineExceeded"), "reported", "DeadlineExceeded"),
    "evicted, then deleted": (pod(), failed(**GOING, fault="Evicted"), "lost", "Evicted, then deleted"),
    "going, its containers ended": (pod(), failed(**GOING), *REPORTED),
    "had failed before": (failed(reason="Evicted"), None, *FINE),
    "had finished before": (pod(phase="Succeeded", ready=False), None, *FINE),
    "was going before": (pod(reason="Terminating"), None, *FINE),
    "gone, not ready before": (pod(ready=False), None, *REPORTED),
    "restarted": (pod(), pod(containers={"main": 1}, **OTHER), "restarted", f"{AGAIN} once"),
    "restarted, not ready": (pod(), pod(containers={"main": 2}, **UNREADY), "restarted", f"{AGAIN} 2 times"),
    "removed by hand": (pod(), pod(**OTHER), "restarted", "container main was replaced"),
    "status not written yet": (pod(), pod(containers={}, ids={}, ready=False), "unready", "not Ready"),
    "in a crash loop": (pod(**UNREADY), pod(**UNREADY, **OTHER, containers={"main": 7}), *FINE),
    "not ready": (pod(), pod(ready=False, reason="CrashLoopBackOff"), "unready", "CrashLoopBackOff"),
    "not ready before": (pod(ready=False), pod(ready=False), *FINE),
    "Ready by the restart alone": (pod(ready=False), pod(), "reported", READY_AGAIN),
    "Ready after a restart of its container": (pod(ready=False), pod(containers={"main": 1}), *FINE),
    "Ready after its start": (pod(ready=False, ids={}, phase="Pending"), pod(), *FINE),
    "containers more": (pod(), pod(containers={"main": 0, "debugger": 3, "logs": 0}, ids=MORE), *FINE),
    "static, gone": (pod(**STATIC), None, "unready", MISSING),
    "static, mirror deleted": (pod(**STATIC), pod(**STATIC, reason="Terminating"), "unready", MISSING),
}


@pytest.mark.parametrize(("old", "new", "kind", "reason"), PAIRS.values(), ids=PAIRS)
def test_one_pod(old: Pod, new: Pod | None, kind: str, reason: str) -> None:
    assert compare(old, new) == (kind, reason)


@pytest.mark.parametrize(
    ("new", "kind"),
    [
        pytest.param({}, "", id="the same containers"),
        pytest.param({"ids": {"main": "containerd://2"}}, "restarted", id="another container"),
        pytest.param({"containers": {"main": 1}}, "restarted", id="restarted"),
        pytest.param({"name": "b"}, "unready", id="another pod"),
    ],
)
def test_a_static_pod_whose_mirror_was_made_again(new: Pod, kind: str) -> None:
    """The API gives it another uid; its containers show whether it is the same."""
    assert compare(pod(**STATIC), pod(**{**STATIC, **new}), "u2")[0] == kind


def test_another_pod_of_the_name_is_another_pod() -> None:
    """As a StatefulSet makes them, on the same node again; or a manifest of the name."""
    for other in (pod(owner="StatefulSet/a"), pod(**STATIC)):
        assert compare(pod(owner="StatefulSet/a"), other, "u2") == ("reported", "deleted through the API")


AGENT = {"owner": "DaemonSet/agent", "tolerates": None}
GONE = {"phase": "Failed", "reason": "Terminating"}
TOO_LONG = "deleted while its Node was not Ready ({} s at most, and it tolerates {} s)"
Absent = tuple[t.Any, ...]


def disrupted(by: str, unready: float, kind: str) -> Absent:
    return {}, {"disruption": by}, unready, kind, f"{REPORTED[1]} ({by})"


ABSENT: dict[str, Absent] = {
    # case: the pod before, its last state, seconds in which its Node was not Ready, the list, the reason
    "scaled down": ({}, {"reason": "Terminating"}, 0, *REPORTED),
    "Job and its TTL": (JOB, {"phase": "Succeeded"}, 0, *REPORTED),
    "update of a DaemonSet": (AGENT, {"reason": "Terminating"}, 900, *REPORTED),
    "descheduler": disrupted("EvictionByEvictionAPI", 900, "reported"),
    "preempted": disrupted("PreemptionByScheduler", 0, "reported"),
    "evicted by a taint": disrupted("DeletionByTaintManager", 0, "lost"),
    "no Node": disrupted("DeletionByPodGC", 0, "lost"),
    "refused, deleted": (AGENT, {**GONE, "fault": "OutOfcpu"}, 0, "lost", "OutOfcpu, then deleted"),
    "evicted, deleted": ({}, {**GONE, "fault": "Evicted"}, 0, "lost", "Evicted, then deleted"),
    "unknown, Ready": ({}, None, 0, *REPORTED),
    "unknown, not Ready for less than it tolerates": ({}, None, 20, *REPORTED),
    "not Ready for long": ({}, None, 300, "lost", TOO_LONG.format(300, 300)),
    "tolerates nothing": ({"tolerates": 0}, None, 1, "lost", TOO_LONG.format(1, 0)),
    "tolerates nothing, Ready": ({"tolerates": 0}, None, 0, *REPORTED),
    "tolerates it for ever": (AGENT, None, 900, *REPORTED),
    "an API server without the condition": ({}, {"reason": "Terminating"}, 400, "lost", TOO_LONG.format(400, 300)),
}


@pytest.mark.parametrize(("old", "last", "unready", "kind", "reason"), ABSENT.values(), ids=ABSENT)
@pytest.mark.fault(case=55)
def test_a_pod_that_is_gone(old: Pod, last: Pod | None, unready: float, kind: str, reason: str) -> None:
    """Only what the restart caused counts: the pod's last state shows it, or else how long its Node was not Ready."""
    found = compare(pod(**old), None, last={"u1": pod(**old, **last)} if last else {}, unready=unready)
    assert found == (kind, reason)
    if last and last.get("reason") == "Terminating":
        assert compare(pod(**old), pod(**old, **last), unready=unready) == found


@pytest.mark.parametrize(
    ("new", "kind"),
    [
        ({"phase": "Failed", "fault": "OutOfcpu", **AGENT}, "lost"),
        ({**AGENT}, "reported"),
        ({"phase": "Failed", "fault": "OutOfcpu", "owner": "DaemonSet/other"}, "reported"),
    ],
)
def test_a_successor_that_the_kubelet_refuses(new: Pod, kind: str) -> None:
    """A DaemonSet deletes a failed pod at once and makes another, which fails as well."""
    assert compare(pod(**AGENT), pod("b", **new), "u2")[0] == kind
    assert compare(pod(**AGENT), pod("b", **new), "u2", last={"u1": pod(**AGENT)})[0] == "reported"


PODS = st.dictionaries(
    st.integers(0, 30).map(str),
    st.builds(
        pod,
        name=st.sampled_from("abcd"),
        ready=st.booleans(),
        containers=st.fixed_dictionaries({"x": st.integers(0, 3), "y": st.integers(0, 3)}),
        ids=st.dictionaries(st.sampled_from("xy"), st.sampled_from("12")),
        static=st.booleans(),
        owner=st.sampled_from(["", "Job/j", "ReplicaSet/r"]),
        phase=st.sampled_from(["Pending", "Running", "Succeeded", "Failed"]),
        reason=st.sampled_from(["", "Terminating", "CrashLoopBackOff"]),
        fault=st.sampled_from(["", "Evicted"]),
    ).map(lambda made: made if made["phase"] == "Failed" else {**made, "fault": ""}),
)


@given(before=PODS, now=PODS)
def test_what_never_happens(before: dict[str, Pod], now: dict[str, Pod]) -> None:
    """A pod in two lists, one that was not there before, one without a reason; new pods that matter."""
    found = losses(before, now)
    named = [*found.final, *found.unready, *found.reported]
    assert len(named) <= len(before)
    assert all(entry["reason"] for entry in named)
    assert {entry["name"] for entry in named} <= {old["name"] for old in before.values()}
    matter = {uid: new for uid, new in now.items() if uid in before or new["static"] or new["fault"]}
    assert found == losses(before, matter)


@given(pods=PODS)
def test_nothing_happened(pods: dict[str, Pod]) -> None:
    """What stays as it is was neither lost nor restarted, and is no less Ready than it was."""
    assert losses(pods, pods) == ([], [], [], [])
