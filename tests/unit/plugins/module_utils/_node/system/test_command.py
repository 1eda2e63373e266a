# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import os
import subprocess
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import host_checks
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import command


def test_output_and_exit_status() -> None:
    done = command.execute(["sh", "-c", "echo out; echo err >&2; exit 3"])
    assert (done.returncode, done.stdout, done.stderr) == (3, "out\n", "err\n")
    assert command.execute(["/no/such/program"]).returncode == 127


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("0", 0), ("", 0), (None, 0), ("[not set]", 0), ("-1", 0)])
def test_a_number_of_systemd(text: str | None, number: int) -> None:
    assert command.number(text) == number


def running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("last", ["wait", "exit 0"])
def test_a_command_ends_at_its_limit_with_all_that_it_started(tmp_path: Path, last: str) -> None:
    """A process that the command started holds its output open, also after the command itself has ended."""
    begun = time.monotonic()
    done = command.execute(["sh", "-c", f"sleep 300 & echo $! >{tmp_path}/pid; {last}"], limit=0.5)
    assert time.monotonic() - begun < 200
    assert (done.returncode, done.stderr) == (124, "sh did not end within 0.5 s")
    child = int((tmp_path / "pid").read_text())
    for _wait in range(300):
        if not running(child):
            return
        time.sleep(0.1)
    os.kill(child, 9)
    pytest.fail("a process of the command still runs")


def test_all_questions_together_have_one_time_limit() -> None:
    ran: list[t.Sequence[str]] = []
    times = iter((0.0, 1.0, 7.96, 8.0))

    def run(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        ran.append(argv)
        return subprocess.CompletedProcess(list(argv), 0, "", "")

    limited = command.until(run, 8, lambda: next(times))
    codes = [limited(["kubelet", "--version"]).returncode for _question in range(3)]
    assert codes == [0, 0, 124]
    assert [words[:4] for words in ran] == [["timeout", "--signal=KILL", left, "kubelet"] for left in ("7.0", "0.1")]
    assert command.until(command.execute, 0.3)(["sleep", "20"]).returncode


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"kubelet\0--config=/x\0\0", ["kubelet", "--config=/x", ""]),
        (b"", []),
        # A process may write its own title, without an end.
        (b"nginx: worker", ["nginx: worker"]),
        (b"kubelet\0--config=/\xff\r\n/k\0", ["kubelet", "--config=/\udcff\r\n/k"]),
    ],
)
def test_every_byte_of_a_command_line_is_kept(tmp_path: Path, data: bytes, words: list[str]) -> None:
    place = tmp_path / "proc/7"
    place.mkdir(parents=True)
    (place / "cmdline").write_bytes(data)
    assert command.of_process(7, str(tmp_path)) == words
    assert command.of_process(8, str(tmp_path)) == []
    if words:
        assert host_checks.running(os.path.basename(words[0]), str(tmp_path)) == words
