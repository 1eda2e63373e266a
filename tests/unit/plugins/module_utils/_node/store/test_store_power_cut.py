# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A power cut after every single call that changes the disk, and every call failing: the node always has a whole config
to start with.
"""

from __future__ import annotations

import contextlib
import errno
import typing as t

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.local import OVERRIDE
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import File, Store, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from tests.support.examples import examples
from tests.support.node.disk import FILLING, Disk, PowerCut
from tests.support.node.stored import CONFIG, NOW, source

DIR = "/var/lib/kubelet-config"
LOCAL = b"kind: KubeletConfiguration\n# as kubeadm left it\n" * 3


def text(name: str) -> str:
    return f'{{"kind": "KubeletConfiguration", "nodeStatusUpdateFrequency": "{name}"}}\n' * 3


WHOLE = {LOCAL, *(text(name).encode() for name in "abc")}
Operation = t.Callable[[Store], object]


def stage(name: str) -> Operation:
    return lambda store: store.stage(source(name), {"kubelet": text(name), "ca.crt": "certificate " * 9})


def arm(name: str) -> Operation:
    return lambda store: store.arm(Trial(source(name), store.last_known_good(), NOW))


def switch(name: str | None) -> Operation:
    return lambda store: store.switch(source(name) if name else None)


def graduate(name: str) -> Operation:
    return lambda store: store.graduate(source(name), "v1.20.2")


OPERATIONS: dict[str, Operation] = {
    "remember": lambda store: store.remember_local({CONFIG: File(LOCAL), "/etc/default/kubelet": File(None)}, CONFIG),
    **{
        f"{name} {which}": make(which)
        for which in "abc"
        for name, make in (("stage", stage), ("arm", arm), ("switch", switch), ("graduate", graduate))
    },
    # As a reset does.
    "arm local": lambda store: store.arm(Trial(None, store.last_known_good(), NOW)),
    "switch local": switch(None),
    "roll back, restart due": lambda store: store.revert("it did not start", NOW),
    "roll back": lambda store: store.revert("it did not start"),
    "settle": lambda store: store.settle(),
    "disarm": lambda store: store.disarm(),
    "reset": lambda store: store.reset(),
    "collect": lambda store: store.collect_garbage(),
    "remove": lambda store: store.remove(),
}
# Install, two good configs, a bad one and its revert, the same once more, a reset and its revert, a reset that holds,
# revert to local, remove all.
LIFE = [
    *("remember", "stage a", "arm a", "switch a", "graduate a"),
    *("stage b", "arm b", "switch b", "graduate b", "collect"),
    *("stage c", "arm c", "switch c", "roll back", "settle"),
    *("arm c", "switch c", "roll back", "stage a", "arm a", "switch a", "collect", "graduate a", "collect"),
    *("arm local", "switch local", "roll back, restart due", "collect"),
    *("arm local", "switch local", "reset", "collect"),
    *("stage b", "arm b", "switch b", "roll back", "switch local", "reset", "remove"),
]


def fresh() -> Disk:
    disk = Disk()
    for path in ("/var", "/var/lib"):
        disk.mkdir(path, 0o755)
    return disk.copy()


def check(disk: Disk, must_have_active: bool) -> None:
    """What has to hold in any state of the disk."""
    store = Store(DIR, disk)
    found = store.resolve()
    active = None
    try:
        active = disk.look(f"{DIR}/active/kubelet")
    except FileNotFoundError:
        assert f"{DIR}/active" not in disk.tree(), "active leads nowhere"
        assert not must_have_active
    else:
        assert active in WHOLE
        assert store.usable()
    if found.target is None:
        assert active is None, "a config is active and no revert is possible"
    else:
        assert disk.look(f"{DIR}/{found.target}/kubelet") in WHOLE
        if found.source is not None:
            assert disk.look(f"{DIR}/{found.target}/kubelet").decode() == text(found.source["name"])


def test_the_life_itself() -> None:
    """Without any fault the sequence does what its tests below rely on."""
    store = Store(DIR, fresh())
    states = []
    for name in LIFE:
        OPERATIONS[name](store)
        assigned, good, active = store.assigned(), store.last_known_good(), store.active_source()
        states.append((name, *(item["name"] if item else None for item in (assigned, good, active)), store.error()))
    assert ("graduate b", "b", "b", "b", "") in states
    assert ("switch c", "c", "b", "c", "") in states
    assert ("roll back", "c", "b", "b", "it did not start") in states
    assert ("switch local", None, "a", None, "") in states
    assert ("roll back, restart due", None, "a", "a", "it did not start") in states
    assert ("reset", None, None, None, "") in states
    assert ("roll back", "b", None, None, "it did not start") in states
    assert list(store.fs.tree()) == ["/var", "/var/lib"]  # type: ignore[attr-defined]


def prepared(step: int) -> tuple[Disk, Operation, Disk]:
    """Return the disk before an operation of the life, the operation, and the disk after it."""
    before = fresh()
    for name in LIFE[:step]:
        OPERATIONS[name](Store(DIR, before))
    operation, smooth = OPERATIONS[LIFE[step]], before.copy()
    operation(Store(DIR, smooth))
    return before, operation, smooth


def stays(step: int, before: Disk) -> bool:
    """Return whether `active` must exist during an operation, whatever happens."""
    return f"{DIR}/active" in before.tree() and LIFE[step] != "remove"


EACH_STEP = pytest.mark.parametrize(
    "step", range(len(LIFE)), ids=[f"{index:02d} {name}" for index, name in enumerate(LIFE)]
)


@EACH_STEP
@pytest.mark.fault(case=19)
def test_cut_after_every_call(step: int) -> None:
    """Every state any cut of this operation may leave is whole, and running the operation again ends where it would
    have ended.
    """
    before, operation, smooth = prepared(step)
    must_stay = stays(step, before)
    wanted = outcome(smooth)
    assert all(state.tree() == smooth.tree() for state in smooth.after_power_cut()), (
        "done, and a power cut would undo it"
    )
    for cut in range(len(smooth.calls) + 1):
        disk = before.copy()
        disk.cut_after = cut
        with contextlib.suppress(PowerCut):
            operation(Store(DIR, disk))
        disk.cut_after = None
        for state in (disk.copy(), *disk.after_power_cut(cut)):
            check(state, must_stay)
            started = state.copy()
            if Store(DIR, started).settle().target is not None:
                check(started, must_have_active=True)
            operation(Store(DIR, state))
            assert outcome(state) == wanted, f"after a cut at call {cut} of {smooth.calls}"


def outcome(disk: Disk) -> tuple[object, ...]:
    store = Store(DIR, disk)
    trial = store.trial()
    return (
        store.assigned(),
        store.last_known_good(),
        store.running(),
        store.resolve(),
        trial and trial.encode(),
        store.graduated_with(),
    )


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO])
@EACH_STEP
@pytest.mark.fault(case=20)
def test_every_call_failing(step: int, number: int) -> None:
    """Full (from one call on nothing new fits), read-only (nothing goes) or broken (one call fails): the error names
    path and cause.
    """
    before, operation, smooth = prepared(step)
    must_stay = stays(step, before)
    for at in range(len(smooth.calls)):

        def failure(index: int, name: str, at: int = at) -> int:
            hit = index == at if number == errno.EIO else index >= at and (number == errno.EROFS or name in FILLING)
            return number if hit else 0

        disk = before.copy()
        disk.failure = failure
        try:
            operation(Store(DIR, disk))
        except StoreError as error:
            assert str(error).startswith("/var/lib")
            assert any(
                word in str(error)
                for word in ("No space left on device", "Read-only file system", "Input/output error")
            )
        else:
            assert number == errno.ENOSPC, "an error was passed over"
        if number == errno.ENOSPC and LIFE[step] not in ("collect", "remove"):
            assert not [path for path in disk.tree() if "tmp_" in path]
        check(disk, must_stay)
        after = {name: data for name, data in disk.tree().items() if "tmp_" not in name}
        for path, data in after.items():
            known = (before.tree().get(path), smooth.tree().get(path))
            assert data in known or data == "folder" or path.endswith("/trial"), f"{path} is neither old nor new"


names = st.sampled_from(sorted(OPERATIONS))


@given(st.lists(st.tuples(names, st.none() | st.integers(0, 25), st.integers(0, 10**6)), max_size=25))
@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
def test_any_sequence_with_any_cuts(steps: list[tuple[str, int | None, int]]) -> None:
    """Operations in any order, each possibly cut off, one after another on what the cut left. A refusal is fine, a
    broken node is not.
    """
    disk = fresh()
    OPERATIONS["remember"](Store(DIR, disk))
    for which in "ab":
        OPERATIONS[f"stage {which}"](Store(DIR, disk))
    OPERATIONS["switch a"](Store(DIR, disk))
    for name, cut, choice in steps:
        active = f"{DIR}/active" in disk.tree()
        disk.calls.clear()
        disk.cut_after = cut
        with contextlib.suppress(StoreError, PowerCut):
            OPERATIONS[name](Store(DIR, disk))
        disk.cut_after = None
        if cut is not None:
            states = list(disk.after_power_cut(choice))
            disk = states[choice % len(states)]
        check(disk, must_have_active=active and name != "remove")


@pytest.mark.parametrize("call", ["sync", "sync_folder"])
def test_the_disk_does_forget(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests above see it when a change is not made durable before the next one builds on it."""
    disk = fresh()
    for name in LIFE[:5]:
        OPERATIONS[name](Store(DIR, disk))
    monkeypatch.setattr(Disk, call, lambda _self, _what: None)
    for name in LIFE[5:8]:
        OPERATIONS[name](Store(DIR, disk))
    with pytest.raises(AssertionError):
        for state in disk.after_power_cut():
            check(state, must_have_active=True)


LINK = f"{DIR}/conf.d/90-livenodes-kubelet.conf"


@pytest.mark.parametrize("active", ["a checkpoint", "the local configuration"])
def test_cut_while_a_checkpoint_becomes_a_drop_in(active: str) -> None:
    """The copy of the own file gives way to an empty override, and a revert is possible at every moment."""
    before = fresh()
    for name in ("remember", "stage a", "arm a", "switch a", *(["roll back"] if active != "a checkpoint" else [])):
        OPERATIONS[name](Store(DIR, before))
    smooth = before.copy()
    assert Store(DIR, smooth).lay_over(LINK)
    assert smooth.look(f"{DIR}/store/local/config/kubelet") == OVERRIDE
    for cut in range(len(smooth.calls) + 1):
        disk = before.copy()
        disk.cut_after = cut
        with contextlib.suppress(PowerCut):
            Store(DIR, disk).lay_over(LINK)
        disk.cut_after = None
        for state in (disk.copy(), *disk.after_power_cut(cut)):
            store = Store(DIR, state)
            if active == "a checkpoint":
                assert state.look(f"{DIR}/active/kubelet") == text("a").encode()
            if not store.usable():
                store.renew_local(LINK, "kubelet")
            assert state.look(f"{DIR}/active/kubelet") in {*WHOLE, OVERRIDE}
            # The run is repeated.
            store.lay_over(LINK)
            assert state.look(f"{DIR}/store/local/config/kubelet") == OVERRIDE
            assert store.revert("again").target and store.usable()
