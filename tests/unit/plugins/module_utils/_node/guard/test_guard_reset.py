# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A reset is a trial of the local configuration, which reverts to what ran before."""

from __future__ import annotations

import typing as t
from pathlib import Path
from unittest import mock

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import statefiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.kept_files import Kept, KeptFiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import checkpoint_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from tests.support.node.guard_node import LOCAL, NEW, NONE, OTHER, SOURCE, STATIC, Node, state_file

OLD = "store/checkpoints/u2/1"
REASON = "it did not stay up"


@pytest.fixture(autouse=True)
def _graduated(node: Node, on_its_clock: None, guarded: None) -> None:
    """The node has a guard, and a configuration has graduated on it."""
    node.switch()
    node.store.graduate(SOURCE, "v1.20.2")


def reset(node: Node, **options: t.Any) -> dict[str, t.Any]:
    """Begin a reset, and start the kubelet with the local configuration."""
    done = node.call("reset", **options)
    node.start()
    return done


@pytest.mark.fault(case=34)
def test_a_local_configuration_that_ends_the_kubelet_is_reverted(node: Node, tmp_path: Path) -> None:
    state = state_file(node, tmp_path, STATIC)
    done = reset(node, state_files=[str(state)])
    assert (done["restart_needed"], done["assigned"], done["active"]) == (True, None, None)
    assert done["trial"]["to"] is None and done["trial"]["revert_to"] == SOURCE == done["lastKnownGood"]
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


@pytest.mark.parametrize(
    ("happen", "words"),
    [(lambda node: node.later(61), "not confirmed within 60 s"), (lambda node: node.reboot(5.0), "rebooted")],
    ids=["time passes", "a reboot"],
)
def test_a_reset_that_no_controller_confirms_is_reverted(
    node: Node, happen: t.Callable[[Node], object], words: str
) -> None:
    reset(node)
    happen(node)
    assert node.ran == [NEW, LOCAL, NEW] and words in node.error()


@pytest.mark.parametrize(
    ("graduated", "reason"), [(True, "reverted to last-known-good"), (False, "reverted to the previous configuration")]
)
def test_what_it_was_reverted_to_is_reported(node: Node, graduated: bool, reason: str) -> None:
    """What ran before the reset may have been on trial itself."""
    if not graduated:
        node.store.forget_good()
    reset(node)
    node.start(2)
    assert (node.ran[-1], node.reason()) == (NEW, reason)


@pytest.mark.parametrize("confirmed", [False, True])
def test_what_is_on_trial_itself_is_nothing_to_revert_to(node: Node, confirmed: bool) -> None:
    """The kubelet is deaf with OTHER. The controller resets the node and is lost before it restarts the kubelet."""
    node.switch(OTHER, confirmed=confirmed)
    done = node.call("reset", was_healthy=not confirmed)
    assert done["trial"]["to"] is None and done["trial"]["revert_to"] == SOURCE
    node.well = False
    node.later(60, times=10)
    assert (node.store.active_source(), node.ran[-1]) == (SOURCE, NEW)


@pytest.mark.parametrize("what", ["on trial", "graduated", "assigned is emptied"])
def test_a_switch_that_never_happened_does_not_hide_what_runs(node: Node, what: str) -> None:
    """A switch to a third one is interrupted after its trial was armed, and the node is reset."""
    if what == "on trial":
        node.switch(OTHER)
    node.arm({**SOURCE, "uid": "u3"}, invocation="i1")
    if what == "assigned is emptied":
        Path(node.store.meta, "assigned").write_bytes(b"")
    trial = node.call("reset")["trial"]
    assert trial and (trial["to"], trial["revert_to"]) == (None, SOURCE)


def test_a_confirmed_reset_stays(node: Node) -> None:
    reset(node)
    node.later()
    foretold, done = node.call("confirmed", pretend=True), node.call("confirmed")
    assert all(foretold[key] == done[key] for key in ("changed", "trial", "lastKnownGood", "assigned", "active"))
    assert done["changed"] and not done["restart_needed"] and done["trial"] is None and done["lastKnownGood"] is None
    for restarts in (1, 2, 3):
        node.start(restarts)
        node.later(60)
    assert node.ran[-1] == LOCAL and node.store.error() == ""
    with pytest.raises(StoreError, match="the local config cannot be confirmed"):
        node.call("confirmed")


def test_the_controller_reverts_it(node: Node) -> None:
    reset(node)
    done = node.call("rolled_back", reason=REASON, unconfirmed_only=True)
    assert done["changed"] and done["active"] == SOURCE and done["error"] == REASON
    node.start()
    assert node.ran[-1] == NEW
    assert not node.call("rolled_back", unconfirmed_only=True)["changed"]
    with pytest.raises(StoreError, match=f"the node reverted it: {REASON}"):
        node.call("confirmed")


@pytest.mark.parametrize("restarted", [False, True])
def test_run_again_without_an_end(node: Node, restarted: bool) -> None:
    """The controller was killed after the switch, before or after the restart."""
    node.call("reset")
    if restarted:
        node.start()
    before = node.trial()
    done = node.call("reset", invocation="i2" if restarted else "i1")
    assert not done["changed"] and done["restart_needed"] is not restarted
    # The model arms its trials before the start i1.
    assert node.trial() == before and before.invocation == "i1"


@pytest.mark.fault(case=34)
def test_run_again_after_a_revert(node: Node) -> None:
    reset(node)
    node.start(2)
    assert node.ran[-1] == NEW
    done = reset(node, invocation="i3")
    assert done["changed"] and done["restart_needed"] and done["error"] == "" and done["trial"]["revert_to"] == SOURCE
    assert node.ran[-1] == LOCAL


@pytest.mark.parametrize("call", ["arm", "switch", "point"])
def test_killed_within_the_switch(node: Node, call: str) -> None:
    with mock.patch.object(Store, call, side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        node.call("reset")
    node.later(61, times=2)
    assert node.store.running() == NEW and node.store.active_source() == SOURCE and node.ran == [NEW]
    done = node.call("reset")
    assert done["restart_needed"] and node.store.running() == LOCAL


def test_a_reset_whose_trial_is_lost_is_put_on_trial_again(node: Node) -> None:
    """The kubelet was not restarted, and no record names what it runs."""
    node.call("reset")
    Path(node.store.trial_path).write_bytes(b"")
    done = node.call("reset")
    assert (done["restart_needed"], done["trial"]["to"], done["trial"]["revert_to"]) == (True, None, SOURCE)


def test_nothing_to_revert_to_needs_no_trial(node: Node) -> None:
    """The assigned configuration failed, and the local one runs already."""
    node.store.forget_good()
    node.switch(OTHER, back=None)
    node.start(2)
    assert node.ran[-2:] == [OLD, LOCAL]
    done = node.call("reset")
    assert done["changed"] and not done["restart_needed"] and done["trial"] is None


def test_a_revert_that_waits_for_its_restart_comes_first(node: Node, tmp_path: Path) -> None:
    """Only the guard's step before a start restores the state files."""
    state = tmp_path / "cpu_manager_state"
    state.write_text("none")
    node.store.forget_good()
    node.switch(OTHER, back=None, state_files=statefiles.take([str(state)]))
    state.write_text("static")
    node.call("rolled_back", unconfirmed_only=True)
    assert reset(node)["restart_needed"]
    assert node.ran[-1] == LOCAL and state.read_text() == "none"
    done = node.call("reset")
    assert not done["restart_needed"] and done["assigned"] is None and done["trial"] is None


def test_the_own_file_as_it_is_now(node: Node) -> None:
    """`kubeadm upgrade` rewrote it since the switch."""
    node.own.write_text("kind: KubeletConfiguration\nmaxPods: 42\n")
    reset(node)
    assert "maxPods: 42" in Path(node.store.active, "kubelet").read_text()
    node.start(2)
    assert node.ran[-1] == NEW


@pytest.mark.parametrize("text", ["", "kind: KubeletConfiguration\nstaticPodPath: manifests\n"])
def test_an_own_file_that_cannot_run_from_the_store_changes_nothing(node: Node, text: str) -> None:
    node.own.write_text(text)
    before = node.store.local()
    with pytest.raises(StoreError, match=r"k\.yaml"):
        node.call("reset")
    assert (node.store.running(), node.store.local(), node.store.trial()) == (NEW, before, None)


def test_an_assignment_after_a_failed_reset_does_not_revert_to_what_failed(node: Node) -> None:
    node.store.forget_good()
    reset(node)
    node.start(2)
    assert node.ran[-1] == NEW
    assert node.call("assigned", OTHER)["trial"]["revert_to"] == SOURCE


@pytest.mark.fault(case=46)
def test_a_folder_that_others_may_write_to_can_be_reset(node: Node, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    reset(node)
    with pytest.raises(StoreError, match="others may write to it"):
        node.call("staged")
    assert node.call("confirmed")["trial"] is None
    with pytest.raises(StoreError, match="others may write to it"):
        node.call("confirmed")


def test_without_a_guard_it_is_not_on_trial(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint_module, "GUARD", "/no/such/unit")
    done = node.call("reset")
    assert done["restart_needed"] and done["trial"] is None and done["lastKnownGood"] is None


def test_a_damaged_checkpoint_can_be_reset(node: Node) -> None:
    """Nothing could be reverted to what ran before, and a reset is what helps."""
    (Path(node.store.config_dir) / NEW / "kubelet").write_text("edited")
    done = node.call("reset")
    assert (done["restart_needed"], done["assigned"], done["active"], done["trial"]) == (True, None, None, None)
    assert node.store.running() == LOCAL and "damaged" in done["warnings"][0]


def fail_a_reset_from_other(node: Node, **trial: t.Any) -> None:
    """Let the controller confirm OTHER, whose trial is not over, and lose it after it has begun a reset."""
    node.store.reset()
    node.ran.clear()
    node.switch(OTHER, confirmed=True, **trial)
    reset(node, invocation=f"i{node.starts}")


@pytest.mark.parametrize("away", ["", "containerd refuses connections"])
def test_a_failed_reset_does_not_keep_what_never_became_last_known_good(node: Node, away: str, tmp_path: Path) -> None:
    state = tmp_path / "cpu_manager_state"
    state.write_text("before OTHER")
    fail_a_reset_from_other(node, state_files=statefiles.take([str(state)]))
    state.write_text("of OTHER")
    node.later()
    node.later(60)
    assert node.ran == [OLD, LOCAL, OLD]
    node.away = away
    for restarts in (1, 2):
        node.seconds += 200
        node.start(restarts)
    assert node.ran[-1] == (OLD if away else LOCAL)
    if away:
        node.away = ""
        node.start(3)
    assert node.ran[-1] == LOCAL and "never became last-known-good" in node.error()
    assert state.read_text() == "before OTHER"
    reason = node.error()
    node.start(4)
    assert node.ran[-1] == LOCAL and node.error() == reason


def test_what_is_left_keeps_no_state_files(node: Node, tmp_path: Path) -> None:
    """They were copied before the reset that failed, and belong to OTHER."""
    state = tmp_path / "cpu_manager_state"
    state.write_text("none")
    node.seconds = 5000.0
    fail_a_reset_from_other(node)
    KeptFiles(node.store.config_dir).write(Kept(str(tmp_path), node.boot, {state.name: "c3RhdGlj"}))
    node.start()
    node.later()
    node.later(60)
    for restarts in (1, 2, 3, 4):
        node.seconds += 10
        node.start(restarts)
    assert node.ran[-1] == LOCAL and state.read_text() == "none"
