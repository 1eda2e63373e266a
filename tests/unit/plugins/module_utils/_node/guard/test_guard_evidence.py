# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard on a node whose container runtime is away, whose power was cut, or whose kubelet states why it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Progress
from tests.support.node.guard_node import LOCAL, NEW, SOURCE, Node

AWAY = "/run/containerd/containerd.sock refuses connections"
INVALID = (
    "failed to validate kubelet configuration, error: invalid configuration: "
    "maxPods (--max-pods) -3 must not be a negative number"
)
REFUSAL = f'E1122 13:38:14.192413     419 run.go:72] "command failed" err="{INVALID}"'
RUNTIME = (
    "F1122 13:38:14.192413     419 server.go:269] failed to run Kubelet: failed to create kubelet: get remote runtime "
    "typed version failed: rpc error: code = Unavailable desc = connection refused"
)
NOT_JOINED = (
    'E1127 23:34:09.376929    1175 run.go:72] "command failed" err="failed to run Kubelet: cannot create certificate '
    'signing request: Post: dial tcp 10.239.0.99:6443: connect: no route to host"'
)
SIGNAL = "kubelet.service: Main process exited, code=killed, status=9/KILL"
KILLED = "E1122 13:38:14.192413     419 factory.go:1] failed to get docker version: connection refused"
ELSEWHERE = "although this configuration worked before: the cause lies elsewhere"


@pytest.fixture
def node(node: Node) -> Node:
    node.argv = ("/usr/bin/kubelet", "--container-runtime-endpoint=unix:///run/containerd/containerd.sock")
    return node


def ends(node: Node, times: int, words: str = "") -> None:
    """Let the kubelet end, and systemd start it again."""
    for _end in range(times):
        node.journal[f"i{node.starts}"] = words
        node.seconds += 11
        node.start(int(node.properties["NRestarts"]) + 1)


def test_a_kubelet_that_waits_for_its_certificate_reverts_nothing(node: Node, tmp_path: Path) -> None:
    """Without network, or until its request is approved: it serves no healthz, and ends once a request has failed."""
    kubeconfig = tmp_path / "kubelet.conf"
    node.argv = ("/usr/bin/kubelet", f"--kubeconfig={kubeconfig}", "--bootstrap-kubeconfig=/b")
    node.switch(confirmed=True)
    node.well = False
    for _end in range(3):
        node.later(60, times=4)
        ends(node, 1, NOT_JOINED)
    assert node.ran == [NEW] * 4
    kubeconfig.write_text("")
    node.later(60, times=4)
    assert "its healthz has failed for 60 s" in node.error()


@pytest.mark.parametrize("away", ["", AWAY])
@pytest.mark.fault(case=81)
def test_a_refusal_reverts_at_the_first_end_with_its_words(node: Node, away: str) -> None:
    node.switch()
    node.away = away
    ends(node, 1, REFUSAL)
    assert node.ran == [NEW, LOCAL] and "maxPods (--max-pods) -3 must not be a negative number" in node.error()


def test_the_words_of_the_former_kubelet_and_of_a_killed_one_are_no_evidence(node: Node) -> None:
    node.journal["i0"] = REFUSAL
    node.assign()
    node.later()
    node.start()
    # systemd shows the signal only until the next start.
    node.journal["i1"] = REFUSAL
    node.properties.update(ActiveState="activating", SubState="auto-restart", ExecMainCode="2")
    node.later()
    node.properties["ExecMainCode"] = "0"
    ends(node, 1, REFUSAL)
    assert node.ran == [NEW, NEW]


@pytest.mark.fault(case=77)
def test_a_signal_that_only_the_journal_still_shows_is_known(node: Node) -> None:
    """systemd 252 shows ExecMainCode=0 in the step before the next start."""
    node.switch()
    ends(node, 1, f"{REFUSAL}\n{SIGNAL}")
    assert node.ran == [NEW, NEW] and node.guard().records.progress().killed == "i1"


@pytest.mark.parametrize(("words", "asked"), [(SIGNAL, 1), (RUNTIME, 2)])
def test_the_journal_is_asked_once_for_each_end(node: Node, words: str, asked: int) -> None:
    """For the signal, and without one for the last words."""
    node.switch()
    node.journal["i1"] = words
    node.properties.update(ActiveState="activating", SubState="auto-restart")
    guard = node.guard()
    for _look in range(3):
        guard.tick()
    assert node.commands.count("timeout 5") == asked


def test_a_configuration_that_names_a_runtime_which_is_away_is_reverted(node: Node) -> None:
    node.argv = ("/usr/bin/kubelet",)
    node.own.write_text("kind: KubeletConfiguration\ncontainerRuntimeEndpoint: unix:///run/a.sock\n")
    node.texts[SOURCE["uid"]] = '{"containerRuntimeEndpoint": "unix:///run/b.sock"}'
    node.switch()
    node.away = "/run/b.sock does not exist"
    ends(node, 2, RUNTIME)
    assert node.ran[-1] == LOCAL and "ended 2 times" in node.error()


@pytest.mark.parametrize(
    ("away", "words", "apart", "error"),
    [
        ("", "", 0, f"the kubelet ended 2 times, {ELSEWHERE}"),
        (AWAY, "", 0, f"the kubelet ended 2 times, and the container runtime is away: {AWAY}"),
        ("", RUNTIME, 0, "the kubelet ended 2 times, and the container runtime did not answer the kubelet"),
        ("", KILLED, 0, f"the kubelet ended 2 times, {ELSEWHERE}; it logged last: {KILLED.partition('] ')[2]}"),
        (AWAY, REFUSAL, 0, f"the kubelet refused the configuration: {INVALID}; it accepted this configuration before"),
        ("", "", 86400, None),
    ],
)
def test_a_configuration_that_worked_before(node: Node, away: str, words: str, apart: float, error: str | None) -> None:
    node.seconds = 5000.0
    node.assign()
    node.store.graduate(SOURCE, "v1.20.2")
    node.start()
    node.away = away
    ends(node, 1, words)
    assert not node.error()
    node.seconds += apart
    ends(node, 1, words)
    assert node.store.running() == NEW and (node.error() or None) == error


def test_without_a_trial_a_boot_is_no_evidence(node: Node) -> None:
    node.assign()
    node.store.graduate(SOURCE, "v1.20.2")
    node.seconds = 20.0
    node.start()
    ends(node, 4)
    assert not node.error() and node.guard().records.progress() == Progress()
