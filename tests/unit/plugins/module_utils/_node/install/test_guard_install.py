# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's program runs without Ansible, from the files that are installed."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import types
import typing as t
from pathlib import Path
from unittest import mock

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_install, guard_steps
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import installed
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Moment, Store, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import command, files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import FileError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.dropin_folder import Folder
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import DROPIN, Unit
from tests.support.node import systemd_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the guard's folder on a node that has no store yet."""
    place = tmp_path_factory.mktemp("config") / "guard"
    place.mkdir()
    guard_install.install_program(str(place), guard_install.program())
    # The guard must not ask the kubelet of this machine.
    settings = {"unit": "livenodes-no-such.service", "argv": ["/usr/bin/kubelet"]}
    (place / "settings.json").write_text(json.dumps(settings))
    return place


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return ended([*installed.program(sys.executable, str(folder.parent)), *words])


def ended(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd="/", check=False, text=True, capture_output=True, timeout=60)


def test_the_program_reports_its_status(folder: Path) -> None:
    done = run(folder, "status")
    assert done.returncode == 0, done.stderr
    status = json.loads(done.stdout)
    assert (status["reported"], status["progress"]) == (True, None)


@pytest.mark.parametrize("command", ["report", "verify"])
def test_without_a_cluster_there_is_nothing_to_report_or_verify(folder: Path, command: str) -> None:
    done = run(folder, command)
    assert (done.returncode, done.stderr) == (0, "")


def test_wanted_files_are_the_settings_and_the_service(tmp_path: Path) -> None:
    settings, installed_service, *_program = guard_install.changes(str(tmp_path), {"unit": "kubelet.service"})
    assert (settings.path, settings.mode) == (f"{tmp_path}/guard/settings.json", 0o600)
    assert (installed_service.path, installed_service.mode) == (guard_install.SERVICE_PATH, 0o644)
    service = (installed_service.after or b"").decode()
    assert f"-I -B {tmp_path}/guard/__main__.py watch\n" in service and "ConditionPathExists=|" in service
    assert f"ExecStart={guard_install.python()} " in service and "Type=exec\n" in service


def step(line: str) -> subprocess.CompletedProcess[str]:
    """Run the line of a drop-in as systemd does: words in quotes, and `$$` for a dollar sign (systemd.service(5))."""
    prefix = "ExecStartPre=-+"
    assert line.startswith(prefix) and "\n" not in line
    return ended([word.replace("$$", "$") for word in shlex.split(line[len(prefix) :])])


def test_a_guard_that_runs_before_the_kubelet_adds_nothing_to_the_log(tmp_path: Path) -> None:
    main = tmp_path / "guard" / "__main__.py"
    main.parent.mkdir()
    main.write_text("import sys\nprint('ran')\nassert sys.argv[1:] == ['prestart'] and sys.flags.isolated\n")
    done = step(guard_install.prestart(str(tmp_path)))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.fault(case=68)
def test_no_byte_code_is_written_and_a_torn_one_is_not_read(tmp_path: Path) -> None:
    """A power cut leaves a short file of it, or a full disk: the guard would never run again."""
    folder = tmp_path / "guard"
    folder.mkdir()
    guard_install.install_program(str(folder), guard_install.program())
    step(guard_install.prestart(str(tmp_path)))
    assert run(folder, "status").returncode == 0
    assert not list(tmp_path.rglob("*.pyc"))
    # An operator may have started the folder, without `-B`.
    subprocess.run([sys.executable, "-I", str(folder), "status"], check=True, capture_output=True, timeout=60)
    torn = list(tmp_path.rglob("*.pyc"))
    for path in torn:
        path.write_bytes(path.read_bytes()[:40])
    done = run(folder, "status")
    assert done.returncode == 0 and json.loads(done.stdout) and len(torn) == 1
    guard_install.install_program(str(folder), guard_install.program())
    assert not list(tmp_path.rglob("*.pyc"))


EMPTY, TORN, ABSENT = "an empty script", "a torn program", "no script"


def spoil(config: Path, how: str) -> None:
    script = config / "guard/__main__.py"
    if how == EMPTY:
        script.write_bytes(b"")
    elif how == ABSENT:
        script.unlink()
    elif how == TORN:
        program = (config / "guard/current").resolve()
        program.write_bytes(program.read_bytes()[:-99])


@pytest.mark.parametrize("how", ["", EMPTY, TORN, ABSENT])
@pytest.mark.fault(case=48)
@pytest.mark.fault(case=68)
def test_a_guard_shows_that_it_runs_before_a_switch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """By the interpreter and the command line of its service; its start by systemd shows nothing."""
    (tmp_path / "guard").mkdir()
    guard_install.install_program(str(tmp_path / "guard"), guard_install.program())
    service = tmp_path / "guard.service"
    service.write_text(guard_install.service_text(str(tmp_path)))
    armed = Trial(None, None, Moment("boot", 1.5, 2.0))
    store = Store(str(tmp_path))
    files.make_folder(store.folder)
    store.record(armed)
    spoil(tmp_path, how)
    found = guard_install.problem(str(service), armed.name, command.execute)
    assert bool(found) == bool(how) and ("run the role checkpoint again" in found) == bool(how), found
    if not how:
        found = guard_install.problem(str(service), "another", command.execute)
        assert "does not see the trial another, but boot/1.5" in found
        service.write_text("")
        assert "has no command of the guard" in guard_install.problem(str(service), armed.name, command.execute)


@pytest.mark.parametrize("missing", ["the interpreter", "the program", "all but its name"])
@pytest.mark.fault(case=48)
@pytest.mark.fault(case=68)
def test_a_guard_that_cannot_run_is_an_error_in_the_log_of_the_kubelet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """The kubelet starts all the same, so nothing else would show that nothing reverts a configuration any more."""
    if missing != "the program":
        (tmp_path / "guard").mkdir()
        (tmp_path / "guard" / "__main__.py").write_text("")
    if missing == "the interpreter":
        monkeypatch.setattr(guard_install, "python", lambda: "/no/such/python3")
    done = step(guard_install.prestart(str(tmp_path)))
    assert done.returncode == 0
    loud = [line for line in done.stderr.splitlines() if line.startswith("<3>")]
    code = {"the interpreter": 127, "the program": 2, "all but its name": 0}[missing]
    assert len(loud) == 1 and f"(exit status {code})" in loud[0]
    assert missing != "the interpreter" or "/no/such/python3" in done.stderr.partition("<3>")[0]


@pytest.mark.fault(case=49)
def test_a_guard_that_runs_is_replaced_when_its_files_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_install, "SERVICE_PATH", str(tmp_path / "guard.service"))
    # A node whose image enables all services has no such folder in /etc.
    monkeypatch.setattr(guard_install, "WANTED_BY", str(tmp_path / "multi-user.target.wants/guard.service"))
    monkeypatch.setattr(guard_install.base, "STARTED", str(tmp_path / "run/started"))
    commands: list[str] = []
    noting = t.cast(Unit, types.SimpleNamespace(run=lambda argv: commands.append(" ".join(argv))))
    program, config_dir = guard_install.program(), str(tmp_path / "config")

    def present(**settings: str) -> list[str]:
        commands.clear()
        before = sorted(tmp_path.rglob("*"))
        would = guard_install.present(config_dir, noting, settings, check=True)
        assert sorted(tmp_path.rglob("*")) == before and not commands
        done = guard_install.present(config_dir, noting, settings)
        assert done == would
        assert bool(done) == bool(commands)
        assert not guard_install.changes(config_dir, settings)
        return commands

    replaced = "systemctl try-restart livenodes-kubelet-guard.service"
    assert present() == ["systemctl daemon-reload", replaced]
    assert present() == []
    monkeypatch.setattr(guard_install, "program", lambda: {**program, f"{guard_install.PACKAGE}/new.py": b""})
    assert present() == [replaced]
    assert present(key="other") == [replaced]
    (tmp_path / "run").mkdir()
    (tmp_path / "run/started").touch()
    assert guard_install.absent(config_dir, noting, keep_follower=True) and (tmp_path / "config/guard").exists()
    assert guard_install.absent(config_dir, noting)
    left = ("config/guard", "guard.service", "run")
    assert not [name for name in left if (tmp_path / name).exists()]


def test_no_program_is_installed_where_others_may_write(tmp_path: Path) -> None:
    assert guard_install.changes(str(tmp_path / "config"), {})
    tmp_path.chmod(0o1777)
    with pytest.raises(FileError, match=f"^{tmp_path}: others may write to it"):
        guard_install.changes(str(tmp_path / "config"), {})


@pytest.mark.parametrize(
    "folder", [None, Folder("/etc/k.d", "unit", True, False), Folder("/x/conf.d", "us", False, False)]
)
@pytest.mark.fault(case=80)
def test_both_units_wait_for_the_mount_of_the_store(tmp_path: Path, folder: Folder | None) -> None:
    place = str(tmp_path / "config")
    line = f"RequiresMountsFor={place}"
    unit = systemd_model.Systemd(tmp_path / "root").kubeadm()
    shown = guard_steps.present(place, unit, "kubelet", True, folder)["diff"]
    after = {entry["after_header"]: entry["after"].splitlines() for entry in shown}
    for path in (guard_install.SERVICE_PATH, f"{systemd_model.FOLDER}/{DROPIN}"):
        at = after[path].index(line)
        assert [text for text in after[path][:at] if text.startswith("[")] == ["[Unit]"], path


def test_the_interpreter_has_a_name_that_survives_an_upgrade(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    current, other = tmp_path / "python3.11", tmp_path / "python3"
    current.touch()
    monkeypatch.setattr(sys, "executable", str(current))
    monkeypatch.setattr(guard_install, "STABLE_NAMES", (str(tmp_path / "none"), str(other)))
    assert guard_install.python() == str(current)
    other.symlink_to(current)
    assert guard_install.python() == str(other)


@pytest.mark.parametrize(("script", "taken"), [(f'exec {sys.executable} "$@"', True), ("exit 1", False)])
def test_the_interpreter_is_that_of_the_system_where_ansible_has_found_another(
    script: str, taken: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless it is too old, or has a part of the library only."""
    system = tmp_path / "python3"
    system.write_text(f"#!/bin/sh\n{script}\n")
    system.chmod(0o755)
    monkeypatch.setattr(guard_install, "STABLE_NAMES", (str(system),))
    assert guard_install.python() == (str(system) if taken else sys.executable)


def test_labels_are_restored_where_selinux_is_enabled(tmp_path: Path) -> None:
    run = mock.Mock(return_value=subprocess.CompletedProcess([], 0, "", ""))
    enabled = tmp_path / "enforce"
    assert guard_install.restore_labels(["/store"], run, str(enabled)) == [] and not run.called
    enabled.touch()
    assert guard_install.restore_labels(["/store", "/unit"], run, str(enabled)) == []
    run.assert_called_once_with(["restorecon", "-R", "/store", "/unit"])
    what = "the SELinux labels of /store were not restored"
    for code, words, cause in (
        (255, "restorecon: cannot access /store\n", "restorecon: cannot access /store"),
        (127, "", "exit 127"),
    ):
        run.return_value = subprocess.CompletedProcess([], code, "", words)
        warnings = guard_install.restore_labels(["/store"], run, str(enabled))
        assert warnings == [f"{what}: {cause}. Run restorecon -R on them"]
