# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The end of a reset: the drop-in and the guard go only if the kubelet runs without them."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import typing as t
from pathlib import Path
from unittest import mock

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import observe
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import (
    guard_install,
    guard_steps,
    restarts,
    seed_files,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_reporter, textfile
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import statefiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import FileError, StoreError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import UnitError

DROPIN = "[Service]\nEnvironment=x\n"


class FakeUnit:
    """A kubelet's unit that writes down what happens to it. `fails`: with which drop-ins its kubelet ends."""

    name, dropin_path = "kubelet.service", "/etc/systemd/system/kubelet.service.d/z.conf"

    def __init__(self, text: str | None = DROPIN, fails: t.Container[str | None] = ()) -> None:
        self.text, self.fails = text, fails
        self.seen: list[str] = []

    def installed(self) -> str | None:
        return self.text

    def remove(self) -> None:
        self.seen.append("remove")
        self.text = None

    def restore(self, text: str) -> None:
        self.seen.append("restore")
        self.text = text

    def stop(self, _guard: str) -> None:
        self.seen += ["start", "stop"]

    def restart(self) -> str:
        self.seen.append("restart")
        if self.text in self.fails:
            raise UnitError(f"it did not stay up with {self.text and 'the drop-in'}.")
        return f"i{len(self.seen)}"

    def holds(self, _identity: str) -> None:
        """It stays up."""

    def pid(self) -> int:
        return 1

    def show(self) -> dict[str, str]:
        return {"InvocationID": "i0"}

    def run(self, argv: t.Sequence[str]) -> None:
        self.seen.append(argv[1])


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command line of the running kubelet; it needs no healthz."""
    words = ["kubelet", "--healthz-port=0"]
    monkeypatch.setattr(observe, "argv", lambda _pid: words)
    monkeypatch.setattr(status_reporter, "withdraw", lambda *_given: [])
    monkeypatch.setattr(restarts, "PAUSE", 0)
    monkeypatch.setattr(guard_install, "absent", lambda *_arguments: True)
    return words


SETTINGS: dict[str, t.Any] = {"unit": "kubelet.service", "argv": []}


def write_settings(config_dir: Path, **more: t.Any) -> None:
    (config_dir / "guard").mkdir()
    (config_dir / "guard/settings.json").write_text(json.dumps({**SETTINGS, **more}))


def removed(unit: FakeUnit, place: Path, check: bool = False, state_files: t.Sequence[str] = ()) -> dict[str, t.Any]:
    return guard_steps.removed(str(place), t.cast(t.Any, unit), 1, check, state_files)


def test_the_drop_in_goes_with_one_restart(runs: list[str], tmp_path: Path) -> None:
    unit = FakeUnit()
    assert removed(unit, tmp_path, check=True)["changed"] and unit.seen == []
    done = removed(unit, tmp_path)
    assert (done["changed"], done["invocation_id"], unit.seen) == (True, "i2", ["remove", "restart"])


@pytest.mark.parametrize(("config", "restarts"), [("{}/active/kubelet", ["remove", "restart"]), ("{}-2/k", [])])
def test_a_kubelet_that_still_runs_from_the_store_is_restarted(
    runs: list[str], tmp_path: Path, config: str, restarts: list[str]
) -> None:
    runs += ["--config", config.format(tmp_path)]
    unit = FakeUnit(None)
    removed(unit, tmp_path)
    assert unit.seen == restarts


def test_a_kubelet_that_does_not_run_without_the_drop_in_keeps_it(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard_install, "absent", lambda *_arguments: pytest.fail("the guard must stay"))
    unit = FakeUnit(fails=[None])
    with pytest.raises(UnitError, match=r"did not stay up.*The drop-in was restored, and the kubelet runs with it"):
        removed(unit, tmp_path)
    assert unit.text == DROPIN and unit.seen == ["remove", "restart", "restore", "restart"]
    both = FakeUnit(fails=[None, DROPIN])
    with pytest.raises(UnitError, match="does not run with it either: it did not stay up with the drop-in"):
        removed(both, tmp_path)
    without = FakeUnit(None, fails=[None])
    runs.append(f"--config={tmp_path}/active/kubelet")
    with pytest.raises(UnitError, match="did not stay up"):
        removed(without, tmp_path)
    assert without.text is None


@pytest.mark.parametrize(
    ("settings", "keep", "names"),
    [
        ({}, False, ["status"]),
        ({"follow": {}}, False, ["status", "follow", "follower"]),
        # A follower that resets its node goes on answering.
        ({"follow": {}}, True, ["status"]),
    ],
)
@pytest.mark.usefixtures("runs")
def test_which_annotations_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, t.Any], keep: bool, names: list[str]
) -> None:
    """A controller would wait for the answers of a follower that is gone. Of an agent, the credentials are in its
    folder.
    """
    write_settings(tmp_path, folder="/r/agent/etc/kubelet.conf.d", **settings)
    withdrawn: list[str] = []

    def withdraw(argv: t.Sequence[str], _pid: int, found: t.Sequence[str]) -> list[str]:
        assert argv[-1] == "--kubeconfig=/r/agent/kubelet.kubeconfig"
        withdrawn.extend(found)
        return []

    monkeypatch.setattr(status_reporter, "withdraw", withdraw)
    monkeypatch.setattr(guard_steps, "_program", lambda *_words: [])
    guard_steps.removed(str(tmp_path), t.cast("t.Any", FakeUnit()), 1, False, (), keep)
    assert withdrawn == [f"{annotation.PREFIX}{name}" for name in names]


def layered(place: Path, config_dir: Path) -> Path:
    """Make what delivery `dropin` leaves on a node; return its link."""
    link = place / "90-livenodes-kubelet.conf"
    place.mkdir()
    link.symlink_to("/active")
    write_settings(config_dir, config=str(link), folder=str(place))
    return link


def test_the_link_goes_before_the_restart_and_its_folder_with_it(runs: list[str], tmp_path: Path) -> None:
    link = layered(tmp_path / "conf.d", tmp_path)
    unit = FakeUnit()
    foretold = removed(unit, tmp_path, check=True)
    assert [entry["before_header"] for entry in foretold["diff"]] == [unit.dropin_path, str(link)]
    assert link.is_symlink() and unit.seen == []
    assert removed(unit, tmp_path)["changed"]
    assert unit.seen == ["remove", "restart"] and not link.parent.exists()
    # The restart is repeated until the guard is gone.
    unit.seen.clear()
    assert removed(unit, tmp_path)["changed"] and unit.seen == ["remove", "restart"]


def test_what_others_put_beside_the_link_stays(runs: list[str], tmp_path: Path) -> None:
    link = layered(tmp_path / "conf.d", tmp_path)
    (link.parent / "95-site.conf").touch()
    removed(FakeUnit(), tmp_path)
    assert [path.name for path in link.parent.iterdir()] == ["95-site.conf"]


def test_a_kubelet_that_does_not_run_without_the_link_gets_it_back(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard_install, "absent", lambda *_arguments: pytest.fail("the guard must stay"))
    link = layered(tmp_path / "conf.d", tmp_path)
    with pytest.raises(UnitError, match="The drop-in was restored"):
        removed(FakeUnit(fails=[None]), tmp_path)
    assert str(link.readlink()) == "/active"


def test_state_files_go_while_the_kubelet_is_stopped(runs: list[str], tmp_path: Path) -> None:
    state = tmp_path / "cpu_manager_state"
    state.touch()
    unit = FakeUnit()
    removed(unit, tmp_path, state_files=[str(state)])
    assert unit.seen == ["remove", "start", "stop", "restart"] and not state.exists()


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.fault(case=69)
def test_a_state_file_that_cannot_be_removed_leaves_no_stopped_kubelet(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    """It is noticed before the stop (`early`), or only when the kubelet is stopped."""
    state = tmp_path / "cpu_manager_state"
    state.touch()
    unit, remove = FakeUnit(), os.unlink

    def refuse(path: str, *_target: object, **_options: object) -> None:
        if early or ("stop" in unit.seen and path == str(state)):
            raise PermissionError(errno.EPERM, "Operation not permitted")
        remove(path)

    monkeypatch.setattr(os, "link" if early else "unlink", refuse)
    with pytest.raises(UnitError, match=f"{state}: cannot remove: Operation not permitted; .*lsattr.* it again"):
        removed(unit, tmp_path, state_files=[str(state)])
    stopped = [] if early else ["start", "stop", "restart"]
    assert unit.seen == ["remove", *stopped, "restore", "restart"] and state.exists() and unit.text == DROPIN


def test_a_start_that_took_long_leaves_the_kubelet_its_time(runs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    unit = FakeUnit()
    monkeypatch.setattr("time.monotonic", lambda: 100.0 * unit.seen.count("restart"))
    assert restarts.restarted(t.cast(t.Any, unit), 60, False, "")["seconds"] == 100


def test_healthz_is_where_the_drop_ins_of_a_kubelet_within_another_program_put_it(
    runs: list[str], tmp_path: Path
) -> None:
    """The command line of an agent of k3s names no drop-in folder, the settings of the guard do."""
    runs[:] = ["k3s", "agent"]
    (tmp_path / "kubelet.conf.d").mkdir()
    (tmp_path / "kubelet.conf.d/50.conf").write_text("healthzPort: 0\n")
    write_settings(tmp_path, folder=f"{tmp_path}/kubelet.conf.d")
    unit = FakeUnit()
    assert removed(unit, tmp_path)["invocation_id"] == "i2"
    assert guard_steps.updated(str(tmp_path), t.cast(t.Any, unit), True)["healthy"]


@pytest.mark.fault(case=69)
def test_an_immutable_state_file_is_noticed(tmp_path: Path) -> None:
    state = tmp_path / "cpu_manager_state"
    state.touch()
    statefiles.check_removable(str(state))
    statefiles.check_removable(str(tmp_path / "memory_manager_state"))
    if subprocess.run(["chattr", "+i", str(state)], check=False, capture_output=True).returncode:
        pytest.skip("chattr needs root and a file system with attributes")
    try:
        with pytest.raises(FileError, match="cannot remove"):
            statefiles.check_removable(str(state))
    finally:
        subprocess.run(["chattr", "-i", str(state)], check=True)
    assert [path.name for path in tmp_path.iterdir()] == ["cpu_manager_state"]


@pytest.mark.parametrize("installed", [True, False])
def test_only_an_installed_guard_is_brought_up_to_date(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, installed: bool
) -> None:
    write_settings(tmp_path)
    checks: list[bool] = []
    monkeypatch.setattr(guard_install, "present", lambda *given: checks.append(given[-1]) or [1])
    unit = t.cast(t.Any, FakeUnit(DROPIN if installed else None))
    assert guard_steps.updated(str(tmp_path), unit, check=True)["changed"] is installed
    done = guard_steps.updated(str(tmp_path), unit, check=False)
    assert (done["changed"], done["invocation_id"], done["healthy"]) == (installed, "i0", True)
    assert checks == [True, False] * installed


def test_a_guard_that_cannot_be_replaced_does_not_prevent_a_reset(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_settings(tmp_path)

    monkeypatch.setattr(guard_install, "changes", mock.Mock(side_effect=StoreError("others may write to it")))
    done = guard_steps.updated(str(tmp_path), t.cast(t.Any, FakeUnit()), check=False)
    assert not done["changed"] and "others may write to it" in done["warnings"][0]


@pytest.mark.parametrize(
    ("had", "asked", "has"),
    [("one", None, "one"), ("one", "other", "other"), ("one", "", ""), ("", None, ""), ("", "one", "one")],
)
def test_an_update_keeps_or_sets_the_folder_of_the_metrics(
    runs: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, had: str, asked: str | None, has: str
) -> None:
    place = {name: name and str(tmp_path / name) for name in ("", "one", "other")}
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
    known, wanted = ({"metrics": place[name]} if name else {} for name in (had, has))
    write_settings(tmp_path, **known)
    written: list[dict[str, t.Any]] = []

    def present(_place: str, _unit: object, settings: dict[str, t.Any], check: bool) -> list[int]:
        written.extend([] if check else [settings])
        return [1]

    monkeypatch.setattr(guard_install, "present", present)
    if had:
        textfile.write(place[had], "old\n")
    given = None if asked is None else place[asked]

    def left() -> dict[str, str]:
        return {file.parent.name: file.read_text()[:3] for file in tmp_path.rglob("*.prom")}

    before = left()
    guard_steps.updated(str(tmp_path), t.cast(t.Any, FakeUnit()), True, given)
    assert left() == before and not written
    done = guard_steps.updated(str(tmp_path), t.cast(t.Any, FakeUnit()), False, given)
    assert done["warnings"] == [] and written == [{**SETTINGS, **wanted}]
    assert left() == ({has: "old" if has == had else "# H"} if has else {})


@pytest.mark.parametrize("others", [[], ["other.service"]])
def test_a_seed_goes_with_its_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, others: list[str]) -> None:
    """The folder in which other units may be wanted stays for these."""
    unit, service, wants = FakeUnit(), tmp_path / "seed.service", tmp_path / "wants"
    monkeypatch.setattr(seed_files, "SERVICE_PATH", str(service))
    monkeypatch.setattr(seed_files, "wanted_by", lambda name: str(wants / f"{name}-seed"))
    waiting = Path(seed_files.content(str(tmp_path)))
    links = [wants / f"{name}-seed" for name in ("kubelet.service", seed_files.AT_BOOT)]
    for path in (waiting, service, *links, *(wants / name for name in others)):
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert seed_files.waits(str(tmp_path))
    seed_files.remove(str(tmp_path), unit.name, t.cast("t.Any", unit.run))
    assert not seed_files.waits(str(tmp_path)) and not service.exists() and unit.seen == ["daemon-reload"]
    assert sorted(path.name for path in tmp_path.rglob("*")) == (["other.service", "wants"] if others else [])
