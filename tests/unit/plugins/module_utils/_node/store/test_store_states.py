# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the store answers about a trial, a revert and a reset, and what a new kubelet version changes in it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import (
    Moment,
    Store,
    StoreError,
    Trial,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Progress, ProgressFile
from tests.support.node.stored import NOW, A, B, C, assign, source, under

LATER = Moment("boot", 5.0, 6.0)


def states(store: Store) -> tuple[bool, bool, bool]:
    """Return whether a revert waits for a start, whether it has had it, and whether a reset is on trial."""
    return store.revert_pending(), store.revert_ended(), store.resetting()


def test_from_a_trial_to_the_end_of_its_revert(store: Store) -> None:
    """The start of the kubelet is what ends a revert: until then the guard's progress has its reason."""
    progress = ProgressFile(store.config_dir)
    assert states(store) == (False, False, False)
    assign(store, B)
    assert states(store) == (False, False, False)
    # Decided, but not recorded in the trial yet.
    progress.write(Progress(name=Trial(B, A, NOW).name, verdict="it crashed"))
    assert states(store) == (False, False, False)
    store.revert("it crashed")
    assert states(store) == (True, False, False)
    # It was started, and what is remembered then is of another trial.
    for known in (Progress(name=Trial(B, A, NOW).name), Progress(name=Trial(B, A, LATER).name, verdict="it crashed")):
        progress.write(known)
        assert states(store) == (False, True, False)


@pytest.mark.parametrize(
    ("damaged", "leads_to", "words"),
    [
        ([], C, "it crashed"),
        (["checkpoints/uid-c/7/kubelet"], A, "uid-c/7 does not match its digest"),
        (["checkpoints/uid-c/7/kubelet", "checkpoints/uid-a/7/kubelet"], None, "uid-a/7 does not match its digest"),
        (["checkpoints/uid-c/7/kubelet", "meta/last-known-good"], None, "store/meta/last-known-good"),
    ],
)
@pytest.mark.fault(case=76)
def test_a_revert_leads_to_what_its_trial_names_then_last_known_good_then_the_local_configuration(
    store: Store, damaged: list[str], leads_to: dict[str, str] | None, words: str
) -> None:
    store.arm(Trial(B, C, NOW))
    store.switch(B)
    for name in damaged:
        under(store, "store", name).write_bytes(b"{")
    found = store.revert("it crashed")
    assert (found.source, store.active_source(), store.running()) == (leads_to, leads_to, store.target(leads_to))
    assert found.reasons[0] == "it crashed" and words in store.error()


@pytest.mark.parametrize("switched", [True, False])
def test_a_revert_knows_from_its_trial_what_a_crash_has_emptied(store: Store, switched: bool) -> None:
    """Only the links show that the switch to what is on trial took place."""
    assign(store, B)
    if not switched:
        store.point("store/checkpoints/uid-a/7")
        store.links.prepare("store/checkpoints/uid-a/7")
    under(store, "store", "meta", "assigned").write_bytes(b"")
    found = store.revert("it crashed")
    assert (store.assigned(), found.source, store.error()) == ((B, A, "it crashed") if switched else (None, None, ""))


def test_a_trial_that_has_failed_is_only_recorded(store: Store) -> None:
    store.arm(Trial(B, A, NOW, failed="it crashed"))
    armed = store.last_armed()
    assert armed and (armed.to, armed.failed) == (B, "it crashed")
    assert not os.path.lexists(store.links.prepared)


@pytest.mark.parametrize("before", [None, b"{"], ids=["absent", "damaged"])
def test_a_switch_writes_last_known_good_where_there_is_none(store: Store, before: bytes | None) -> None:
    """A damaged one stays, so that the status goes on naming it."""
    path = under(store, "store", "meta", "last-known-good")
    path.unlink()
    if before:
        path.write_bytes(before)
    store.switch(B)
    assert path.read_bytes() == (before or b"")


@pytest.mark.parametrize("known", [None, Progress(name=Trial(B, A, NOW).name, failures=2, words="panic")])
def test_a_revert_with_a_restart_orders_it(store: Store, known: Progress | None) -> None:
    """What the guard remembers of the trial stays."""
    assign(store, B)
    if known:
        ProgressFile(store.config_dir).write(known)
    store.revert("it crashed", LATER)
    before = known or Progress(name=Trial(B, A, NOW).name)
    assert ProgressFile(store.config_dir).read() == before._replace(boot="boot", verdict="it crashed", due=5.0)
    assert states(store) == (True, False, False)


def test_a_reset_on_trial(store: Store) -> None:
    """All of it: the local configuration is on trial, assigned and active, and did not fail."""
    store.arm(Trial(None, A, NOW))
    assert states(store) == (False, False, False)
    store.switch(None)
    assert states(store) == (False, False, True)
    store.point(store.target(A))
    assert not store.resetting()
    store.point(store.target(None))
    store.record(Trial(None, A, NOW, failed="no"))
    assert states(store) == (False, True, False)
    store.record(Trial(B, None, NOW))
    assert not store.resetting()
    store.disarm()
    assert not store.resetting()


def test_whether_staging_has_nothing_to_do(store: Store) -> None:
    whole = {"kubelet": "# b\n", "ca.crt": "x"}
    assert store.is_staged(B, whole) is True
    assert store.is_staged(source("d"), whole) is False
    with pytest.raises(StoreError, match="other content"):
        store.is_staged(B, {"kubelet": "# other\n"})
    under(store, "store", "checkpoints", "uid-b", "7", "ca.crt").write_bytes(b"y")
    assert store.is_staged(B, whole) is False
    with pytest.raises(StoreError, match=r"has no key 'kubelet', only ca.crt: name one of them"):
        store.is_staged(B, {"ca.crt": "x"})


def test_an_armed_trial_without_a_switch_is_withdrawn(store: Store) -> None:
    """The trial of what is assigned counts again, and a revert of it needs no more than a rename."""
    assign(store, B)
    first = store.trial()
    store.arm(Trial(C, None, LATER))
    assert store.trial() == first and store.last_armed() != first
    store.withdraw()
    assert store.trial() == first
    assert os.readlink(store.links.prepared) == store.target(A)
    assert store.revert("no").source == A


def test_a_reverted_configuration_stays_reverted_after_a_switch_that_never_happened(store: Store) -> None:
    """Otherwise the next start of the kubelet would use it, and no trial would revert it again."""
    assign(store, B)
    store.revert("no")
    store.arm(Trial(C, A, LATER))
    assert (store.resolve().source, store.error()) == (A, "no")
    store.withdraw()
    assert (store.resolve().source, store.error()) == (A, "no")


def test_the_only_armed_trial_without_a_switch_is_removed(store: Store) -> None:
    store.arm(Trial(B, A, NOW))
    for _again in range(2):
        store.withdraw()
        assert store.last_armed() is None and store.active_source() == A


def test_a_new_kubelet_version_accepts_what_another_one_verified(store: Store) -> None:
    assign(store, B)
    for accepted, version, good in ((B, "v1.21.0", "v1.20.2"), (C, "v1.22.0", "v1.20.2"), (A, "v1.22.0", "v1.22.0")):
        store.accept(accepted, version)
        armed = store.trial()
        assert armed and (armed.kubelet_version, store.graduated_with()) == ("v1.21.0", good)


def test_a_version_that_is_known_writes_nothing(store: Store) -> None:
    assign(store, B)
    store.accept(B, "v1.21.0")
    files = [under(store, "store", name) for name in ("trial", "graduated")]
    before = [path.stat().st_ino for path in files]
    store.accept(B, "v1.21.0")
    store.accept(A, "v1.20.2")
    assert [path.stat().st_ino for path in files] == before


@pytest.mark.parametrize(
    ("refused", "revert_to", "good"),
    [
        # The trial reverts to what is known good instead.
        (C, A, A),
        # Nothing is known good any more.
        (A, None, None),
        (B, C, A),
    ],
)
def test_a_source_that_a_new_kubelet_refuses_is_forgotten(
    store: Store, refused: dict[str, str], revert_to: dict[str, str] | None, good: dict[str, str] | None
) -> None:
    store.arm(Trial(B, A if refused is A else C, NOW))
    store.switch(B)
    store.forget(refused)
    armed = store.trial()
    assert armed is not None and (armed.to, armed.revert_to) == (B, revert_to)
    assert store.last_known_good() == good and bool(store.graduated_with()) == (good is not None)
    assert os.readlink(store.links.prepared) == store.target(revert_to)


def test_another_key_than_the_kubelet_reads_is_refused(store: Store, tmp_path: Path) -> None:
    """A revert is one rename of a link only while every configuration has the same file name."""
    store.check_key(B)
    other = source("e", kubeletConfigKey="kubelet.yaml")
    store.stage(other, {"kubelet.yaml": "# e\n"})
    for act in (store.check_key, store.switch):
        with pytest.raises(StoreError, match=r"under the key 'kubelet.yaml', but .* reads the file 'kubelet'"):
            act(other)
    # Nothing is known of the node yet.
    Store(str(tmp_path / "new")).check_key(other)
