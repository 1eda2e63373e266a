# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A second change within a trial. Each state of the module by itself: tests/unit/plugins/modules."""

from __future__ import annotations

import contextlib
import typing as t
from functools import partial
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import base
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.base import CRASHED, Records
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report.status_annotation import Outbox
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.installed import Binary, binary_record
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Progress, ProgressFile
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import checkpoint_module
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from tests.support.node.guard_node import Node, NoRoom, assign, graduate, guard_answers, installed_guard, runs
from tests.support.node.stored import source


@pytest.mark.fault(case=48)
def test_a_guard_that_does_not_start_leaves_the_trial_before_as_it_was(
    node: Node, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assign(node, "a")
    before = node.trial()
    monkeypatch.setattr(checkpoint_module, "GUARD", installed_guard(tmp_path))
    monkeypatch.setattr(checkpoint_module, "execute", partial(guard_answers, code=1, errors="no such unit"))
    with pytest.raises(StoreError, match=r"no guard would watch .*, so nothing was switched: no such unit"):
        assign(node, "b")
    assert node.trial() == before and runs(node) == source("a")
    monkeypatch.setattr(checkpoint_module, "execute", guard_answers)
    assign(node, "b")
    assert runs(node) == source("b")


@pytest.mark.parametrize(("confirmed", "reason"), [(True, "on trial, confirmed"), (False, None)])
@pytest.mark.usefixtures("guarded")
def test_what_runs_already_is_reported_again(node: Node, confirmed: bool, reason: str | None) -> None:
    """Its Node may have been deleted and created again since. What is not confirmed has a guard that reports."""
    assign(node, "a")
    if confirmed:
        assign(node, "a", "confirmed")
    assert not assign(node, "a")["changed"]
    queued = Outbox(node.store.config_dir).report()
    assert (queued.status["reason"] if queued else None) == reason
    if queued:
        assert queued.status["active"] == {"configMap": source("a")} and not queued.message


@pytest.mark.parametrize(
    ("progress", "binary", "error"),
    [(Progress(reported=CRASHED), "", "the kubelet kept ending"), (Progress(), "kubelet v1.21 refuses it", "v1.21")],
)
@pytest.mark.usefixtures("guarded")
def test_an_error_that_the_guard_has_reported_is_reported_again(
    node: Node, progress: Progress, binary: str, error: str
) -> None:
    graduate(node, "a")
    ProgressFile(node.store.config_dir).write(progress)
    binary_record(node.store.folder).write(Binary("/usr/bin/kubelet", 1, 2, 3, reported=binary))
    assign(node, "a")
    queued = Outbox(node.store.config_dir).report()
    assert queued and error in queued.status["error"]


def test_a_trial_that_another_run_has_replaced_cannot_be_confirmed(node: Node) -> None:
    first = assign(node, "a")["trial"]["name"]
    second = assign(node, "b")["trial"]["name"]
    with pytest.raises(StoreError, match=r"another run has put ConfigMap kube-system/b .* on trial since"):
        assign(node, "b", "confirmed", trial=first)
    assert assign(node, "b", "confirmed", trial=second)["trial"]["confirmed"]


@pytest.mark.fault(case=71)
def test_a_revert_ends_the_trial_that_it_names_and_no_other(node: Node) -> None:
    """A run that was stopped before its own switch must not revert what another run has put on trial."""
    earlier = assign(node, "a")["trial"]["name"]
    armed = assign(node, "b")["trial"]["name"]
    for other in (earlier, "", "boot/1.0"):
        assert not node.call("rolled_back", trial=other)["changed"]
    assert node.store.active_source() == source("b")
    done = node.call("rolled_back", trial=armed, reason="it failed")
    assert done["changed"] and done["error"] == "it failed"
    assert not node.call("rolled_back", trial=armed)["changed"], "it has ended"
    assign(node, "c")
    assert node.call("rolled_back")["changed"], "by hand, whichever there is"


@pytest.mark.parametrize("recorded", ["in the store", "in memory", "only active"])
@pytest.mark.fault(case=72)
def test_a_confirmation_after_a_verdict_is_refused(
    node: Node, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, recorded: str
) -> None:
    """The guard has decided to revert, and was killed before it recorded more than that."""
    monkeypatch.setattr(base, "MEMORY", str(tmp_path / "run"))
    assign(node, "a")
    reason = "the kubelet ended 2 times"
    disk = NoRoom()
    disk.full = recorded == "in memory"
    records = Records(node.store.config_dir, disk, str(tmp_path / "run/progress"))
    if recorded == "only active":
        node.store.point("store/local/config")
        reason = "leads to another configuration"
    else:
        with contextlib.suppress(StoreError):
            records.remember(Progress(name=node.trial().name, verdict=reason))
    refused = f"^ConfigMap kube-system/a .* cannot be confirmed, because the node reverted it: .*{reason}"
    with pytest.raises(StoreError, match=refused):
        node.call("confirmed")
    assert not node.trial().confirmed
    disk.full = False
    records.remember(Progress(name="another trial", verdict=reason))
    if recorded != "only active":
        node.call("confirmed")


@pytest.mark.parametrize("call", ["_write_source", "point"])
def test_a_switch_that_fails_leaves_no_trial(node: Node, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    """The module ends it itself: no later run can know whose trial that is."""
    assign(node, "a")
    node.call("confirmed")

    def fail(*_arguments: object) -> t.NoReturn:
        monkeypatch.undo()
        raise StoreError("no space left")

    monkeypatch.setattr(Store, call, fail)
    with pytest.raises(StoreError, match="no space left"):
        assign(node, "b")
    assert node.store.active_source() == source("a")
    assert node.trial().failed == "no space left" or node.trial().to == source("a")


@pytest.mark.parametrize("assigned", [True, False])
def test_the_cause_of_a_failed_switch_is_named_although_its_trial_stays(
    node: Node, monkeypatch: pytest.MonkeyPatch, assigned: bool
) -> None:
    """On a disk that takes nothing any more. The guard ends the trial at its next look."""

    def fail(_store: Store, found: t.Any) -> t.NoReturn:
        if assigned:
            node.store._write_source("assigned", found)
        monkeypatch.setattr(Store, "record", full)
        monkeypatch.setattr(Store, "withdraw", full)
        raise StoreError("cannot write: no space left")

    def full(*_arguments: object) -> t.NoReturn:
        raise StoreError("cannot end the trial")

    monkeypatch.setattr(Store, "switch", fail)
    with pytest.raises(StoreError, match="cannot write: no space left"):
        assign(node, "a")
