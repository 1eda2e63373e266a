# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reset is a trial of the local configuration, which reverts to what ran before."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import statefiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.kept_files import Kept, KeptFiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Moment, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import checkpoint_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from tests.support.guard_node import (
    LOCAL,
    NEW,
    NONE,
    OTHER,
    SOURCE,
    STATIC,
    Node,
    guard_answers,
    installed_guard,
    state_file,
)
from tests.support.versions import OURS

OLD = "store/checkpoints/u2/1"
SPEC: dict[str, t.Any] = {
    "source": None,
    "data": None,
    "trial_seconds": 60,
    "confirm_seconds": 60,
    "was_healthy": True,
    "invocation": "i1",
    "kubelet_version": "v1.20.2",
    "state_files": None,
    "lock_timeout": 1,
    "reason": "it did not stay up",
    "unconfirmed_only": True,
}


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    """A node with a guard, on which a configuration has graduated."""
    node = Node(tmp_path)
    monkeypatch.setattr(checkpoint_module, "GUARD", installed_guard(tmp_path))
    monkeypatch.setattr(checkpoint_module, "execute", guard_answers)
    monkeypatch.setattr(Moment, "now", lambda: Moment(node.boot, node.seconds, node.wall))
    node.assign()
    node.start()
    node.store.graduate(SOURCE, "v1.20.2")
    return node


def apply(node: Node, state: str, pretend: bool = False, **options: t.Any) -> dict[str, t.Any]:
    given = {**SPEC, "state": state, "config_dir": node.store.config_dir, "local_config": str(node.own), **options}
    return OURS.apply(given, pretend, node.store)


@pytest.mark.fault(case=34)
def test_a_local_configuration_that_ends_the_kubelet_is_reverted(node: Node, tmp_path: Path) -> None:
    state = state_file(node, tmp_path, STATIC)
    done = apply(node, "reset", state_files=[str(state)])
    assert (done["restart_needed"], done["assigned"], done["active"]) == (True, None, None)
    assert done["trial"]["to"] is None and done["trial"]["revert_to"] == SOURCE == done["lastKnownGood"]
    node.start()
    assert node.ran[-1] == LOCAL and not state.exists()
    state.write_text(NONE)
    node.start(1)
    node.start(2)
    assert node.ran[-1] == NEW and state.read_text() == STATIC
    assert (node.store.assigned(), node.store.active_source(), node.store.last_known_good()) == (None, SOURCE, SOURCE)
    assert node.error() == node.store.error() == "the kubelet ended 2 times"
    for _look in range(3):
        node.later(60)
        node.start()
    assert node.ran[-1] == NEW, "it stays there"


def test_a_reset_that_no_controller_confirms_is_reverted(node: Node) -> None:
    apply(node, "reset")
    node.start()
    node.later()
    node.later(60)
    assert node.ran == [NEW, LOCAL, NEW] and "not confirmed within 60 s" in node.error()


@pytest.mark.parametrize(
    ("graduated", "reason"), [(True, "reverted to last-known-good"), (False, "reverted to the previous configuration")]
)
def test_what_it_was_reverted_to_is_reported(node: Node, graduated: bool, reason: str) -> None:
    """What ran before the reset may have been on trial itself."""
    if not graduated:
        node.store.forget_good()
    apply(node, "reset")
    node.start()
    node.start(2)
    report = node.guard().records.report()
    assert node.ran[-1] == NEW and report and report.status["reason"] == reason


def test_a_reboot_before_the_confirmation_reverts_it(node: Node) -> None:
    apply(node, "reset")
    node.start()
    node.boot, node.seconds = "b2", 5.0
    node.start()
    assert node.ran[-1] == NEW and "rebooted" in node.error()


def test_what_is_confirmed_and_runs_well_is_what_to_revert_to(node: Node) -> None:
    node.assign(OTHER, confirmed=True)
    node.start()
    assert apply(node, "reset", was_healthy=True)["trial"]["revert_to"] == OTHER


@pytest.mark.parametrize("confirmed", [False, True])
def test_what_is_on_trial_itself_is_nothing_to_revert_to(node: Node, confirmed: bool) -> None:
    """The kubelet is deaf with OTHER. The controller resets the node and is lost before it restarts the kubelet."""
    node.assign(OTHER, confirmed=confirmed)
    node.start()
    done = apply(node, "reset", was_healthy=not confirmed)
    assert done["trial"]["to"] is None and done["trial"]["revert_to"] == SOURCE
    node.well = False
    for _look in range(10):
        node.later(60)
    assert (node.store.active_source(), node.ran[-1]) == (SOURCE, NEW)


@pytest.mark.parametrize("what", ["on trial", "graduated", "assigned is emptied"])
def test_a_switch_that_never_happened_does_not_hide_what_runs(node: Node, what: str) -> None:
    """A switch to a third one is interrupted after its trial was armed, and the node is reset."""
    if what == "on trial":
        node.assign(OTHER)
        node.start()
    third = {**SOURCE, "uid": "u3"}
    node.store.stage(third, {"kubelet": "{}"})
    node.store.arm(Trial(third, None, Moment(node.boot, node.seconds, node.wall), invocation="i1"))
    if what == "assigned is emptied":
        Path(node.store.meta, "assigned").write_bytes(b"")
    trial = apply(node, "reset")["trial"]
    assert trial and (trial["to"], trial["revert_to"]) == (None, SOURCE)


def test_a_first_configuration_on_trial_is_reverted_to_the_local_one(node: Node) -> None:
    node.store.reset()
    node.assign(OTHER)
    node.start()
    done = apply(node, "reset")
    assert done["restart_needed"] and node.store.running() == LOCAL
    node.start()
    assert node.ran[-1] == LOCAL and apply(node, "reset")["trial"] is None


def test_a_confirmed_reset_stays(node: Node) -> None:
    apply(node, "reset")
    node.start()
    node.later()
    foretold, done = apply(node, "confirmed", pretend=True), apply(node, "confirmed")
    assert all(foretold[key] == done[key] for key in ("changed", "trial", "lastKnownGood", "assigned", "active"))
    assert done["changed"] and not done["restart_needed"] and done["trial"] is None and done["lastKnownGood"] is None
    for restarts in (1, 2, 3):
        node.start(restarts)
        node.later(60)
    assert node.ran[-1] == LOCAL and node.store.error() == ""
    with pytest.raises(StoreError, match="the local config cannot be confirmed"):
        apply(node, "confirmed")


def test_the_controller_reverts_it(node: Node) -> None:
    apply(node, "reset")
    node.start()
    done = apply(node, "rolled_back")
    assert done["changed"] and done["active"] == SOURCE and done["error"] == "it did not stay up"
    node.start()
    assert node.ran[-1] == NEW
    assert not apply(node, "rolled_back")["changed"]
    with pytest.raises(StoreError, match="the node reverted it: it did not stay up"):
        apply(node, "confirmed")


@pytest.mark.parametrize("restarted", [False, True])
def test_run_again_without_an_end(node: Node, restarted: bool) -> None:
    """The controller was killed after the switch, before or after the restart."""
    apply(node, "reset")
    if restarted:
        node.start()
    before = node.store.trial()
    done = apply(node, "reset", invocation="i2" if restarted else "i1")
    assert not done["changed"] and done["restart_needed"] is not restarted
    trial = node.store.trial()
    # The model arms its trials before the start i1.
    assert trial == before and trial and trial.invocation == "i1"


@pytest.mark.fault(case=34)
def test_run_again_after_a_revert(node: Node) -> None:
    apply(node, "reset")
    node.start()
    node.start(2)
    assert node.ran[-1] == NEW
    done = apply(node, "reset", invocation="i3")
    assert done["changed"] and done["restart_needed"] and done["error"] == "" and done["trial"]["revert_to"] == SOURCE
    node.start()
    assert node.ran[-1] == LOCAL


class Killed(Exception):
    """The module is killed."""


@pytest.mark.parametrize("call", ["arm", "switch", "point"])
def test_killed_within_the_switch(node: Node, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_arguments: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(Store, call, killed)
        with pytest.raises(Killed):
            apply(node, "reset")
    for _look in range(2):
        node.later(61)
    assert node.store.running() == NEW and node.store.active_source() == SOURCE and node.ran == [NEW]
    done = apply(node, "reset")
    assert done["restart_needed"] and node.store.running() == LOCAL


def test_a_reset_whose_trial_is_lost_is_put_on_trial_again(node: Node) -> None:
    """The kubelet was not restarted, and no record names what it runs."""
    apply(node, "reset")
    Path(node.store.trial_path).write_bytes(b"")
    done = apply(node, "reset")
    assert (done["restart_needed"], done["trial"]["to"], done["trial"]["revert_to"]) == (True, None, SOURCE)


def test_nothing_to_revert_to_needs_no_trial(node: Node) -> None:
    """The assigned configuration failed, and the local one runs already."""
    node.store.forget_good()
    node.assign(OTHER, back=None)
    node.start()
    node.start(2)
    assert node.ran[-2:] == [OLD, LOCAL]
    done = apply(node, "reset")
    assert done["changed"] and not done["restart_needed"] and done["trial"] is None


def test_a_revert_that_waits_for_its_restart_comes_first(node: Node, tmp_path: Path) -> None:
    """Only the guard's step before a start restores the state files."""
    state = tmp_path / "cpu_manager_state"
    state.write_text("none")
    node.store.forget_good()
    node.assign(OTHER, back=None, state_files=statefiles.take([str(state)]))
    node.start()
    state.write_text("static")
    apply(node, "rolled_back")
    assert apply(node, "reset")["restart_needed"]
    node.start()
    assert node.ran[-1] == LOCAL and state.read_text() == "none"
    done = apply(node, "reset")
    assert not done["restart_needed"] and done["assigned"] is None and done["trial"] is None


def test_the_own_file_as_it_is_now(node: Node) -> None:
    """`kubeadm upgrade` rewrote it since the switch."""
    node.own.write_text("kind: KubeletConfiguration\nmaxPods: 42\n")
    apply(node, "reset")
    assert "maxPods: 42" in Path(node.store.active, "kubelet").read_text()
    node.start()
    node.start(2)
    assert node.ran[-1] == NEW


@pytest.mark.parametrize("text", ["", "kind: KubeletConfiguration\nstaticPodPath: manifests\n"])
def test_an_own_file_that_cannot_run_from_the_store_changes_nothing(node: Node, text: str) -> None:
    node.own.write_text(text)
    before = node.store.local()
    with pytest.raises(StoreError, match=r"k\.yaml"):
        apply(node, "reset")
    assert (node.store.running(), node.store.local(), node.store.trial()) == (NEW, before, None)


def test_an_assignment_after_a_failed_reset_does_not_revert_to_what_failed(node: Node) -> None:
    node.store.forget_good()
    apply(node, "reset")
    node.start()
    node.start(2)
    assert node.ran[-1] == NEW
    place = {
        "namespace": "kube-system",
        "name": "b",
        "uid": "u2",
        "resource_version": "1",
        "kubelet_config_key": "kubelet",
    }
    done = apply(node, "assigned", source=place, data={"kubelet": "{}"})
    assert done["trial"]["revert_to"] == SOURCE


@pytest.mark.fault(case=46)
def test_a_folder_that_others_may_write_to_can_be_reset(node: Node, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    apply(node, "reset")
    node.start()
    with pytest.raises(StoreError, match="others may write to it"):
        apply(node, "staged")
    assert apply(node, "confirmed")["trial"] is None
    with pytest.raises(StoreError, match="others may write to it"):
        apply(node, "confirmed")


def test_without_a_guard_it_is_not_on_trial(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_module, "GUARD", "/no/such/unit")
    done = apply(node, "reset")
    assert done["restart_needed"] and done["trial"] is None and done["lastKnownGood"] is None


def test_a_damaged_checkpoint_can_be_reset(node: Node) -> None:
    """Nothing could be reverted to what ran before, and a reset is what helps."""
    (Path(node.store.config_dir) / NEW / "kubelet").write_text("edited")
    done = apply(node, "reset")
    assert (done["restart_needed"], done["assigned"], done["active"], done["trial"]) == (True, None, None, None)
    assert node.store.running() == LOCAL and "damaged" in done["warnings"][0]


@pytest.mark.parametrize("away", ["", "containerd refuses connections"])
def test_a_failed_reset_does_not_keep_what_never_became_last_known_good(node: Node, away: str) -> None:
    """The controller has confirmed OTHER, its trial is not over, and no controller confirms the reset. OTHER dies."""
    node.store.reset()
    node.ran.clear()
    node.assign(OTHER, confirmed=True)
    node.start()
    apply(node, "reset", invocation=f"i{node.starts}")
    node.start()
    node.later()
    node.later(60)
    other = node.ran[0]
    assert node.ran == [other, LOCAL, other]
    node.away = away
    for restarts in (1, 2):
        node.seconds += 200
        node.start(restarts)
    assert node.ran[-1] == (other if away else LOCAL)
    if away:
        node.away = ""
        node.start(3)
    assert node.ran[-1] == LOCAL and "never became last-known-good" in node.error()
    reason = node.error()
    node.start(4)
    assert node.ran[-1] == LOCAL and node.error() == reason


def test_what_is_left_keeps_no_state_files(node: Node, tmp_path: Path) -> None:
    """They were copied before the reset that failed, and belong to OTHER."""
    (tmp_path / "cpu_manager_state").write_text("none")
    node.store.reset()
    node.seconds = 5000.0
    node.assign(OTHER, confirmed=True)
    node.start()
    apply(node, "reset", invocation=f"i{node.starts}")
    KeptFiles(node.store.config_dir).write(Kept(str(tmp_path), node.boot, {"cpu_manager_state": "c3RhdGlj"}))
    node.start()
    node.later()
    node.later(60)
    for restarts in (1, 2, 3, 4):
        node.seconds += 10
        node.start(restarts)
    assert node.ran[-1] == LOCAL and (tmp_path / "cpu_manager_state").read_text() == "none"
