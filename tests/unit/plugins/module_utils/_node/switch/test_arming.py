# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the trial of a change reverts to, with the state files of that. What a reset puts on trial."""

from __future__ import annotations

import base64
import errno
import os
from pathlib import Path
from unittest import mock

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import statefiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch.arming import TRIAL, Arming
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch.values import Inspected
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from tests.support.node.guard_node import Node, assign, graduate, runs, runs_local
from tests.support.node.stored import source


def saved(node: Node) -> list[str]:
    return [base64.b64decode(entry["data"]).decode() for entry in node.trial().state_files]


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.fault(case=32)
def test_a_second_change_keeps_the_state_files_that_belong_to_the_source_of_a_revert(
    node: Node, state: Path, again: bool
) -> None:
    """A sets the policy `static`, its kubelet writes a file of its own, then B is assigned within the trial of A."""
    assign(node, "a", state_files=[str(state)])
    state.write_text("static")
    assign(node, "b", state_files=[str(state)] if again else None)
    assert saved(node) == ["none"]


@pytest.mark.parametrize("lost", [False, True])
def test_state_files_are_taken_anew_once_the_first_configuration_has_graduated(
    node: Node, state: Path, lost: bool
) -> None:
    """If last-known-good is lost, the revert leaves no state file of another policy."""
    graduate(node, "a", state_files=[str(state)])
    state.write_text("static")
    if lost:
        Path(node.store.meta, "last-known-good").write_bytes(b"")
    assign(node, "b", state_files=[str(state)])
    assert node.trial().revert_to == (None if lost else source("a"))
    assert [entry["data"] for entry in node.trial().state_files] == [None if lost else "c3RhdGlj"]


@pytest.mark.parametrize("same", [True, False], ids=["the same policy", "another policy"])
def test_a_third_change_reverts_to_what_was_confirmed_with_its_state_files(node: Node, state: Path, same: bool) -> None:
    """A ("none") is confirmed, B ("static") is not."""
    assign(node, "a")
    node.call("confirmed")
    assign(node, "b", state_files=[str(state)])
    state.write_text("static")
    assign(node, "c", state_files=[] if same else [str(state)])
    assert node.trial().revert_to == source("a") and saved(node) == ["none"]
    statefiles.restore(node.trial().state_files)
    assert state.read_text() == "none"


@pytest.mark.fault(case=69)
def test_nothing_is_switched_while_a_state_file_cannot_be_removed(node: Node, state: Path) -> None:
    """The guard removes it before the kubelet starts, and a kubelet ends with the state file of another policy."""
    assign(node, "a")
    before = node.trial()

    refused = PermissionError(errno.EPERM, os.strerror(errno.EPERM))
    words = f"{state}: cannot remove: Operation not permitted; .*lsattr"
    with mock.patch.object(os, "link", side_effect=refused), pytest.raises(StoreError, match=words):
        assign(node, "b", state_files=[str(state)])
    assert node.trial() == before and runs(node) == source("a")


@pytest.mark.parametrize("graduated", [True, False])
@pytest.mark.parametrize(("before", "known"), [(True, True), (False, False), (None, True)])
def test_a_second_change_knows_whether_the_kubelet_was_healthy_before_the_first(
    node: Node, graduated: bool, before: bool | None, known: bool
) -> None:
    """The first configuration has stopped the kubelet; the guard must not take that for the state before."""
    if graduated:
        graduate(node, "good")
    assign(node, "a", was_healthy=before)
    assign(node, "b", was_healthy=False)
    assert node.trial().extra["was_healthy"] == known


def test_a_change_after_a_reverted_one_has_terms_of_its_own(node: Node) -> None:
    assign(node, "a")
    node.store.revert("it ended")
    assign(node, "b", was_healthy=False)
    assert not node.trial().extra["was_healthy"]


@pytest.mark.parametrize("between", [False, True])
@pytest.mark.fault(case=24)
def test_a_damaged_last_known_good_does_not_prevent_another_configuration(node: Node, between: bool) -> None:
    """The trial reverts to the local configuration, as a revert to what is damaged does."""
    graduate(node, "a")
    if between:
        assign(node, "b")
    Path(node.store.config_dir, node.store.target(source("a")), "kubelet").write_text("torn")
    node.store.settle()
    found = assign(node, "c")
    assert node.trial().revert_to is None and node.store.assigned() == source("c")
    damaged = "ConfigMap kube-system/a at resourceVersion 7 is damaged: no revert will lead to it"
    assert damaged in found["warnings"]
    node.store.revert("it ended")
    assert node.store.running() == node.store.target(None)


@pytest.mark.usefixtures("guarded")
def test_a_reset_with_a_damaged_last_known_good(node: Node) -> None:
    """It reverts to what runs, although that is not confirmed yet."""
    graduate(node, "a")
    assign(node, "b")
    Path(node.store.config_dir, node.store.target(source("a")), "kubelet").write_text("torn")
    node.call("reset")
    assert node.trial().to is None and node.trial().revert_to == source("b")


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize("confirmed", [True, False])
@pytest.mark.parametrize("damaged", [True, False])
def test_a_reset_does_not_lead_back_to_what_is_on_trial_and_not_healthy(
    node: Node, confirmed: bool, damaged: bool
) -> None:
    """Its trial would have led to the local configuration, as the reset does. So the reset ends that trial."""
    if damaged:
        graduate(node, "a")
    assign(node, "b")
    if confirmed:
        node.call("confirmed")
    if damaged:
        Path(node.store.config_dir, node.store.target(source("a")), "kubelet").write_text("torn")
    done = node.call("reset", was_healthy=False)
    assert done["restart_needed"] and runs_local(node)
    assert node.trial().to == source("b") and node.trial().failed, "no trial leads back"


@pytest.mark.parametrize(
    ("good", "healthy", "reverts_to"),
    [(True, True, source("b")), (True, None, source("b")), (True, False, source("a")), (False, False, None)],
)
def test_a_reset_of_what_runs_with_a_lost_trial(
    node: Node, good: bool, healthy: bool | None, reverts_to: dict[str, str] | None
) -> None:
    """If its kubelet is not healthy, nothing shows that it ever was."""
    if good:
        graduate(node, "a")
    assign(node, "b")
    Path(node.store.config_dir, "store", "trial").write_text("torn")
    arming = Arming(node.store, {"reason": ""}, Inspected(was_healthy=healthy))
    assert arming.return_to_local(source("b")) == (TRIAL, reverts_to)


@pytest.mark.usefixtures("guarded")
@pytest.mark.parametrize("good", [True, False])
@pytest.mark.parametrize("pretend", [True, False])
def test_a_reset_after_a_rollback_that_was_stopped_before_it_switched(node: Node, good: bool, pretend: bool) -> None:
    """What has failed still runs. The reset ends that revert, or its trial reverts to what was good before."""
    if good:
        graduate(node, "a")
    assign(node, "b")
    node.store.record(node.trial()._replace(failed="it was rolled back"))
    done = node.call("reset", pretend=pretend)
    assert done["restart_needed"] and done["active"] is None
    on_trial = (None, source("a")) if good else (source("b"), None)
    if not pretend:
        assert node.store.running() == node.store.target(None)
        assert (node.trial().to, node.trial().revert_to) == on_trial


@pytest.mark.fault(case=76)
def test_a_revert_leads_to_what_was_confirmed_last(node: Node) -> None:
    """Also when it has not yet become last-known-good; a change within its trial is not a reason for older values."""
    assign(node, "a")
    assert node.trial().revert_to is None
    assign(node, "b")
    assert node.trial().revert_to is None, "a was never confirmed"
    node.call("confirmed")
    assign(node, "c", was_healthy=False)
    assert node.trial().revert_to is None, "b does not run well"
    assign(node, "b")
    node.call("confirmed")
    # A third change reverts there too: the state files that belong to what graduated before went with its trial.
    for name in "cd":
        assign(node, name)
        assert node.trial().revert_to == source("b")
    node.store.revert("it failed")
    assert (node.store.active_source(), node.store.last_known_good()) == (source("b"), None)
    assign(node, "e")
    assert node.trial().revert_to == source("b")
    node.store.revert("it failed too")
    assign(node, "b")
    assert node.trial().revert_to is None, "not to itself"


def test_what_is_last_known_good_on_trial_again_does_not_revert_to_what_was_on_trial(node: Node) -> None:
    """Nothing is known of that one. The guard leaves what is on trial, which has worked before."""
    graduate(node, "a")
    assign(node, "b")
    assign(node, "a")
    assert node.trial().revert_to == source("a")


@pytest.mark.parametrize("healthy", [True, False])
@pytest.mark.parametrize("pretend", [True, False])
@pytest.mark.fault(case=76)
def test_no_revert_leads_to_a_last_known_good_that_has_failed(node: Node, healthy: bool, pretend: bool) -> None:
    """It has failed on trial again, and the local configuration runs. What comes after reverts there, too."""
    graduate(node, "a")
    assign(node, "b")
    assign(node, "a")
    node.call("rolled_back")
    assert runs_local(node) and node.store.last_known_good() == source("a")
    found = assign(node, "c", was_healthy=healthy, pretend=pretend)
    assert (found["trial"]["revert_to"], found["lastKnownGood"]) == (None, None)
    if not pretend:
        assign(node, "d", was_healthy=False)
        assert node.trial().revert_to is None, "also after several trials"
        node.store.revert("it failed")
        assert runs_local(node)


def test_a_last_known_good_that_has_failed_is_tried_again(node: Node) -> None:
    graduate(node, "a")
    assign(node, "b")
    assign(node, "a")
    node.call("rolled_back")
    graduate(node, "a")
    assign(node, "b")
    assert node.trial().revert_to == source("a")


@pytest.mark.usefixtures("guarded")
def test_a_reset_of_what_has_failed_does_not_lead_back_to_it(node: Node) -> None:
    """The rollback was stopped before it switched, and the copy that the kubelet would read instead is damaged."""
    assign(node, "b")
    node.store.record(node.trial()._replace(failed="it was rolled back"))
    Path(node.store.local_folder, "config", "kubelet").write_text("torn")
    node.call("reset")
    assert node.trial().to == source("b"), "a trial of the local configuration would lead back to what has failed"
    assert runs_local(node)
