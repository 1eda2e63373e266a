# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the guard observes of the kubelet: start, process, healthz endpoint."""

from __future__ import annotations

import os
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import new_binary, observe
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.decide import Unit
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import local
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import files


def test_the_start_of_the_kubelet_is_reported_by_the_current_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.clock_gettime", lambda _clock: 100.0)
    monkeypatch.setattr("time.time", lambda: 5000.0)
    seen = observe.Kubelet(Unit(), 7, 40.0)
    assert seen.since() == 4940.0
    monkeypatch.setattr("time.time", lambda: 8600.0)
    assert seen.since() == 8540.0
    assert seen._replace(pid=0).since() is None and seen._replace(unit=Unit(sub="start-pre")).since() is None


def answer(text: str) -> t.Callable[[t.Sequence[str]], subprocess.CompletedProcess[str]]:
    """Return a systemd that shows this."""
    return lambda argv: subprocess.CompletedProcess(list(argv), 0, text, "")


def test_systemd_is_not_asked_again_while_the_process_runs_on() -> None:
    calls: list[str] = []
    with subprocess.Popen(["sleep", "60"]) as process:
        text = f"ActiveState=active\nSubState=running\nMainPID={process.pid}\nExecMainStartTimestampMonotonic=5500000\n"

        def run(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
            calls.append(argv[1])
            return answer(text)(argv)

        first = observe.kubelet("kubelet.service", run)
        assert first and first.started == 5.5
        assert observe.kubelet("kubelet.service", run, first) == first and calls == ["show"]
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        observe.kubelet("kubelet.service", run, first)
        assert calls == ["show", "show"]


def test_numbers_that_systemd_has_not_set() -> None:
    """systemd prints this for a number without a value."""
    names = ("NRestarts", "MainPID", "ExecMainStartTimestampMonotonic")
    text = "".join(f"{name}=[not set]\n" for name in names)
    found = observe.kubelet("kubelet.service", answer(f"ActiveState=active\n{text}"))
    assert found and (found.unit.restarts, found.pid, found.started) == (0, 0, 0.0)


@pytest.mark.parametrize(
    ("words", "config", "expected"),
    [
        (["--healthz_port", "1"], "healthzPort: 2\n", ("127.0.0.1", 1)),
        ([], '{"healthzPort": 0}', ("127.0.0.1", 0)),
        ([], "clusterDNS: [10.0.0.1]\nhealthzPort: 7\n", ("127.0.0.1", 7)),
        # An edit that its next start refuses.
        ([], "healthzPort: many\n", ("127.0.0.1", 10248)),
        ([], "healthzPort: [7]\n", ("127.0.0.1", 10248)),
    ],
)
def test_healthz_is_where_flags_and_configuration_put_it(
    tmp_path: Path, words: list[str], config: str, expected: tuple[str, int]
) -> None:
    (tmp_path / "k").write_text(config)
    assert observe.target(["kubelet", f"--config={tmp_path / 'k'}", *words]) == expected


def test_fields_are_found_in_yaml_that_can_have_two_meanings(tmp_path: Path) -> None:
    path = tmp_path / "k"
    path.write_text(
        "clusterDNS: &dns [10.0.0.1]\ncontainerRuntimeEndpoint: 'unix:///run/c.sock' # here\nhealthzPort: 7\n"
    )
    assert observe.config_of(str(path)) == {"containerRuntimeEndpoint": "unix:///run/c.sock", "healthzPort": "7"}
    assert observe.config_of(None) == observe.config_of(str(tmp_path / "absent")) == {}


@pytest.mark.parametrize(("code", "killed"), [("0", False), ("1", False), ("2", True), ("3", True)])
def test_a_kubelet_that_a_signal_ended_did_not_state_why(code: str, killed: bool) -> None:
    text = f"ActiveState=activating\nSubState=auto-restart\nExecMainCode={code}\n"
    seen = observe.kubelet("k", answer(text))
    assert seen and seen.killed == killed


def test_drop_ins_decide_where_healthz_is(tmp_path: Path) -> None:
    """Those of --config-dir, else of the folder that the guard knows; flags win over all."""
    base, folder = tmp_path / "kubelet", tmp_path / "conf.d"
    base.write_text("healthzPort: 1\n")
    folder.mkdir()
    (folder / "10.conf").write_text("healthzPort: 2\n")
    (folder / "90-livenodes-kubelet.conf").write_text("healthzPort: 3\n")
    words = ["kubelet", f"--config={base}"]
    assert observe.target(words).port == 1
    assert observe.target(words, str(folder)).port == 3
    assert observe.target([*words, f"--config-dir={folder}"]).port == 3
    assert observe.target([*words, f"--config-dir={folder}", "--healthz-port=4"]).port == 4
    (tmp_path / "other").write_text("eventBurst: 7\n")
    assert observe.merged(words, str(folder), str(tmp_path / "other")) == {"healthzPort": 2, "eventBurst": 7}


def test_a_config_file_that_is_no_file_delays_no_start(tmp_path: Path) -> None:
    """To open a pipe that no process writes would take for ever."""
    path = str(tmp_path / "kubelet")
    os.mkfifo(path)
    assert observe.config_of(path) == {}
    for read in (new_binary._text, files.text, local.take):
        with pytest.raises((OSError, files.FileError), match="is a FIFO, not a file"):
            read(path)


def test_the_command_line_of_a_process() -> None:
    with open("/proc/self/cmdline", "rb") as stream:
        words = stream.read().split(b"\0")[:-1]
    assert observe.argv(os.getpid()) == [word.decode() for word in words] != []
    assert observe.argv(99_999_999) == []
