# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A second change within a trial. Each state of the module by itself: tests/unit/plugins/modules."""

from __future__ import annotations

import base64
import contextlib
import errno
import os
import typing as t
from functools import partial
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.base import Records
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import statefiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Progress
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import checkpoint_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import ordered_stop
from tests.support.guard_node import NoRoom, guard_answers, installed_guard
from tests.support.versions import OURS

SPEC: dict[str, t.Any] = {
    "trial_seconds": 60,
    "confirm_seconds": 60,
    "was_healthy": True,
    "invocation": "i0",
    "kubelet_version": "v1.20.2",
    "state_files": None,
    "lock_timeout": 1,
    "reason": "",
    "unconfirmed_only": False,
}


class Place:
    """A store and the kubelet's own files in a folder."""

    def __init__(self, folder: Path) -> None:
        self.store = Store(str(folder / "config"))
        self.config = folder / "kubelet.yaml"
        self.config.write_text("kind: KubeletConfiguration\n")
        self.state = folder / "cpu_manager_state"
        self.state.write_text("none")

    def assign(self, name: str, **options: t.Any) -> dict[str, t.Any]:
        place = {"namespace": "kube-system", "name": name, "uid": name, "resource_version": "1"}
        return OURS.apply(
            {
                **SPEC,
                "state": "assigned",
                "config_dir": self.store.config_dir,
                "local_config": str(self.config),
                "source": {**place, "kubelet_config_key": "kubelet"},
                "data": {"kubelet": "{}"},
                **options,
            }
        )

    def saved(self) -> dict[str, str]:
        """The content of the state files in the trial."""
        trial = self.store.trial()
        assert trial is not None
        return {Path(entry["path"]).name: base64.b64decode(entry["data"]).decode() for entry in trial.state_files}


def confirm(place: Place) -> None:
    """Confirm what is on trial."""
    place.assign(t.cast("dict[str, str]", place.store.assigned())["name"], state="confirmed", data=None)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize("again", [True, False])
@pytest.mark.fault(case=32)
def test_a_second_change_keeps_the_state_files_that_belong_to_the_source_of_a_revert(place: Place, again: bool) -> None:
    """A sets the policy `static`, its kubelet writes a file of its own, then B is assigned within the trial of A."""
    place.assign("a", state_files=[str(place.state)])
    place.state.write_text("static")
    place.assign("b", state_files=[str(place.state)] if again else None)
    assert place.saved() == {"cpu_manager_state": "none"}


def test_state_files_are_taken_anew_once_the_first_configuration_has_graduated(place: Place) -> None:
    place.assign("a", state_files=[str(place.state)])
    place.state.write_text("static")
    assigned = place.store.assigned()
    assert assigned is not None
    place.store.graduate(assigned, "v1.20.2")
    place.assign("b", state_files=[str(place.state)])
    assert place.saved() == {"cpu_manager_state": "static"}


@pytest.mark.parametrize("same", [True, False], ids=["the same policy", "another policy"])
def test_a_third_change_reverts_to_what_was_confirmed_with_its_state_files(place: Place, same: bool) -> None:
    """A ("none") is confirmed, B ("static") is not."""
    place.assign("a")
    confirm(place)
    place.assign("b", state_files=[str(place.state)])
    place.state.write_text("static")
    place.assign("c", state_files=[] if same else [str(place.state)])
    trial = place.store.trial()
    assert trial and trial.revert_to and trial.revert_to["name"] == "a" and place.saved() == {place.state.name: "none"}
    statefiles.restore(trial.state_files)
    assert place.state.read_text() == "none"


def test_a_fourth_change_reverts_there_too(place: Place) -> None:
    """Not to what graduated before: the state files that belong to that went with the trial of what was confirmed."""
    for name in "abc":
        place.assign(name)
        if name == "a":
            confirm(place)
    trial = place.store.trial()
    assert trial and trial.revert_to and trial.revert_to["name"] == "a"


def test_a_lost_last_known_good_leaves_no_state_file_of_another_policy(place: Place) -> None:
    place.assign("a", state_files=[str(place.state)])
    place.state.write_text("static")
    assigned = place.store.assigned()
    assert assigned is not None
    place.store.graduate(assigned, "v1.20.2")
    Path(place.store.meta, "last-known-good").write_bytes(b"")
    place.assign("b", state_files=[str(place.state)])
    trial = place.store.trial()
    assert trial and trial.revert_to is None and [entry["data"] for entry in trial.state_files] == [None]


@pytest.mark.fault(case=69)
def test_nothing_is_switched_while_a_state_file_cannot_be_removed(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The guard removes it before the kubelet starts, and a kubelet ends with the state file of another policy."""
    place.assign("a")
    before = place.store.trial()

    def refuse(*_paths: object, **_options: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(StoreError, match=f"{place.state}: cannot remove: Operation not permitted; .*lsattr"):
        place.assign("b", state_files=[str(place.state)])
    assert place.store.trial() == before and (place.store.assigned() or {})["name"] == "a"
    assert place.store.active_source() == place.store.assigned()


@pytest.mark.fault(case=48)
def test_a_guard_that_does_not_start_leaves_the_trial_before_as_it_was(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    place.assign("a")
    before = place.store.trial()
    monkeypatch.setattr(checkpoint_module, "GUARD", installed_guard(tmp_path))
    monkeypatch.setattr(checkpoint_module, "execute", partial(guard_answers, code=1, errors="no such unit"))
    with pytest.raises(StoreError, match=r"no guard would watch .*, so nothing was switched: no such unit"):
        place.assign("b")
    assert place.store.trial() == before and place.store.active_source() == place.store.assigned()
    assert (place.store.assigned() or {})["name"] == "a"
    monkeypatch.setattr(checkpoint_module, "execute", guard_answers)
    place.assign("b")
    assert place.store.active_source() == place.store.assigned() and (place.store.assigned() or {})["name"] == "b"


def test_a_trial_that_another_run_has_replaced_cannot_be_confirmed(place: Place) -> None:
    first = place.assign("a")["trial"]["name"]
    second = place.assign("b")["trial"]["name"]
    with pytest.raises(StoreError, match=r"another run has put ConfigMap kube-system/b .* on trial since"):
        place.assign("b", state="confirmed", data=None, trial=first)
    assert place.assign("b", state="confirmed", data=None, trial=second)["trial"]["confirmed"]


def test_what_a_trial_does_not_know_or_need(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.assign("a", node_proof=False, kubelet_version="")
    armed = place.store.trial()
    assert armed and armed.extra["node_proof"] is False and armed.kubelet_version == ""


@pytest.mark.parametrize("graduated", [True, False])
@pytest.mark.parametrize(("before", "known"), [(True, True), (False, False), (None, True)])
def test_a_second_change_knows_whether_the_kubelet_was_healthy_before_the_first(
    place: Place, graduated: bool, before: bool | None, known: bool
) -> None:
    """The first configuration has stopped the kubelet; the guard must not take that for the state before."""
    if graduated:
        place.assign("good")
        place.store.graduate(t.cast("dict[str, str]", place.store.assigned()), "v1.20.2")
    place.assign("a", was_healthy=before)
    place.assign("b", was_healthy=False)
    armed = place.store.trial()
    assert armed and armed.extra["was_healthy"] == known


def test_a_change_after_a_reverted_one_has_terms_of_its_own(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.assign("a")
    place.store.revert("it ended")
    place.assign("b", was_healthy=False)
    armed = place.store.trial()
    assert armed and not armed.extra["was_healthy"]


@pytest.mark.parametrize("between", [False, True])
@pytest.mark.fault(case=24)
def test_a_damaged_last_known_good_does_not_prevent_another_configuration(place: Place, between: bool) -> None:
    """The trial reverts to the local configuration, as a revert to what is damaged does."""
    place.assign("a")
    good = t.cast("dict[str, str]", place.store.assigned())
    place.store.graduate(good, "v1.20.2")
    if between:
        place.assign("b")
    Path(place.store.config_dir, place.store.target(good), "kubelet").write_text("torn")
    place.store.settle()
    found = place.assign("c")
    armed = place.store.trial()
    assert armed and armed.revert_to is None and (place.store.assigned() or {})["name"] == "c"
    damaged = "ConfigMap kube-system/a at resourceVersion 1 is damaged: no revert will lead to it"
    assert damaged in found["warnings"]
    place.store.revert("it ended")
    assert place.store.running() == place.store.target(None)


def test_a_reset_with_a_damaged_last_known_good(place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It reverts to what runs, although that is not confirmed yet."""
    place.assign("a")
    good = t.cast("dict[str, str]", place.store.assigned())
    place.store.graduate(good, "v1.20.2")
    place.assign("b")
    Path(place.store.config_dir, place.store.target(good), "kubelet").write_text("torn")
    monkeypatch.setattr(checkpoint_module, "GUARD", installed_guard(tmp_path))
    monkeypatch.setattr(checkpoint_module, "execute", guard_answers)
    place.assign("b", state="reset", source=None, data=None)
    armed = place.store.trial()
    assert armed and armed.to is None and (armed.revert_to or {})["name"] == "b"


def revert(place: Place, trial: str | None) -> dict[str, t.Any]:
    return place.assign("any", state="rolled_back", source=None, data=None, reason="it failed", trial=trial)


@pytest.mark.fault(case=71)
def test_a_revert_ends_the_trial_that_it_names_and_no_other(place: Place) -> None:
    """A run that was stopped before its own switch must not revert what another run has put on trial."""
    earlier = place.assign("a")["trial"]["name"]
    armed = place.assign("b")
    for other in (earlier, "", "boot/1.0"):
        assert not revert(place, other)["changed"]
    assert place.store.active_source() == armed["assigned"]
    done = revert(place, armed["trial"]["name"])
    assert done["changed"] and done["error"] == "it failed"
    assert not revert(place, armed["trial"]["name"])["changed"], "it has ended"
    place.assign("c")
    assert revert(place, None)["changed"], "by hand, whichever there is"


@pytest.mark.parametrize("recorded", ["in the store", "in memory", "only active"])
@pytest.mark.fault(case=72)
def test_a_confirmation_after_a_verdict_is_refused(
    place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recorded: str
) -> None:
    """The guard has decided to revert, and was killed before it recorded more than that."""
    monkeypatch.setattr(ordered_stop, "FOLDER", str(tmp_path / "run"))
    place.assign("a")
    armed = t.cast(Trial, place.store.trial())
    reason = "the kubelet ended 2 times"
    disk = NoRoom()
    disk.full = recorded == "in memory"
    records = Records(place.store.config_dir, disk, str(tmp_path / "run/progress"))
    if recorded == "only active":
        place.store.point("store/local/config")
        reason = "leads to another configuration"
    else:
        with contextlib.suppress(StoreError):
            records.remember(Progress(name=armed.name, verdict=reason))
    refused = f"^ConfigMap kube-system/a .* cannot be confirmed, because the node reverted it: .*{reason}"
    with pytest.raises(StoreError, match=refused):
        confirm(place)
    assert not t.cast(Trial, place.store.trial()).confirmed
    disk.full = False
    records.remember(Progress(name="another trial", verdict=reason))
    if recorded != "only active":
        confirm(place)


@pytest.mark.fault(case=76)
def test_a_revert_leads_to_what_was_confirmed_last(place: Place) -> None:
    """Also when it has not yet become last-known-good; a change within its trial is not a reason for older values."""
    place.assign("a")
    a = place.store.assigned()
    assert t.cast(Trial, place.store.trial()).revert_to is None
    place.assign("b")
    assert t.cast(Trial, place.store.trial()).revert_to is None, "a was never confirmed"
    confirm(place)
    b = place.store.assigned()
    place.assign("c", was_healthy=False)
    assert t.cast(Trial, place.store.trial()).revert_to is None, "b does not run well"
    place.assign("b")
    confirm(place)
    place.assign("c")
    assert t.cast(Trial, place.store.trial()).revert_to == b != a
    place.store.revert("it failed")
    assert (place.store.active_source(), place.store.last_known_good()) == (b, None)
    place.assign("d")
    assert t.cast(Trial, place.store.trial()).revert_to == b
    place.store.revert("it failed too")
    place.assign("b")
    assert t.cast(Trial, place.store.trial()).revert_to is None, "not to itself"


@pytest.mark.parametrize("call", ["_write_source", "point"])
def test_a_switch_that_fails_leaves_no_trial(place: Place, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """The module ends it itself: no later run can know whose trial that is."""
    place.assign("a")
    confirm(place)
    before = place.store.active_source()

    def fail(*_arguments: object) -> t.NoReturn:
        monkeypatch.undo()
        raise StoreError("no space left")

    monkeypatch.setattr(Store, call, fail)
    with pytest.raises(StoreError, match="no space left"):
        place.assign("b")
    armed = t.cast(Trial, place.store.trial())
    assert place.store.active_source() == before
    assert armed.failed == "no space left" or armed.to == before


@pytest.mark.parametrize("assigned", [True, False])
def test_the_cause_of_a_failed_switch_is_named_although_its_trial_stays(
    place: Place, monkeypatch: pytest.MonkeyPatch, assigned: bool
) -> None:
    """On a disk that takes nothing any more. The guard ends the trial at its next look."""

    def fail(_store: Store, source: t.Any) -> t.NoReturn:
        if assigned:
            place.store._write_source("assigned", source)
        monkeypatch.setattr(Store, "record", full)
        monkeypatch.setattr(Store, "withdraw", full)
        raise StoreError("cannot write: no space left")

    def full(*_arguments: object) -> t.NoReturn:
        raise StoreError("cannot end the trial")

    monkeypatch.setattr(Store, "switch", fail)
    with pytest.raises(StoreError, match="cannot write: no space left"):
        place.assign("a")
