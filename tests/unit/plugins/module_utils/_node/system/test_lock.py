# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One holder at a time, and a process that waits can name it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.lock import LockError, locked

HOLD = """
import sys, time
sys.path[:0] = {path!r}
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.lock import locked
with locked({folder!r}, 5):
    print("held", flush=True)
    time.sleep({seconds})
    open({folder!r} + "/ended", "w").close()
"""


@pytest.fixture
def hold(tmp_path: Path) -> t.Iterator[t.Callable[[float], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def holder(seconds: float) -> subprocess.Popen[str]:
        script = HOLD.format(path=sys.path, folder=str(tmp_path / "store"), seconds=seconds)
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield holder
    for process in started:
        process.kill()
        process.wait()


def test_the_second_fails_naming_the_first(tmp_path: Path, hold: t.Callable[[float], subprocess.Popen[str]]) -> None:
    process = hold(60)
    with (
        pytest.raises(LockError, match=rf"process {process.pid} \(.*python.* for 0.2 s"),
        locked(str(tmp_path / "store"), 0.2),
    ):
        pass


def test_the_second_waits(tmp_path: Path, hold: t.Callable[[float], subprocess.Popen[str]]) -> None:
    hold(0.5)
    with locked(str(tmp_path / "store"), 60):
        assert (tmp_path / "store/ended").exists()


def test_a_killed_holder_holds_nothing(tmp_path: Path, hold: t.Callable[[float], subprocess.Popen[str]]) -> None:
    process = hold(60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with locked(str(tmp_path / "store"), 0):
        assert (tmp_path / "store" / "lock").read_text() == str(os.getpid())


def test_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), locked(str(tmp_path), 0):
        raise KeyError
    with locked(str(tmp_path), 0):
        assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o600


def test_a_store_that_was_removed_meanwhile(tmp_path: Path) -> None:
    """The holder removes the store with its lock file: the next one gets a lock that others see."""
    folder = tmp_path / "store"
    with locked(str(folder), 0):
        (folder / "lock").unlink()
        folder.rmdir()
    with locked(str(folder), 0), pytest.raises(LockError), locked(str(folder), 0):
        pass


def test_a_link_in_its_place(tmp_path: Path) -> None:
    (tmp_path / "lock").symlink_to("/etc/passwd")
    with pytest.raises(files.FileError, match="a symbolic link is in the place"), locked(str(tmp_path), 0):
        pass
