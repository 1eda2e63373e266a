# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Standing between two steps of a play: something is done to its nodes there, or the controller is killed."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import threading
import typing as t
from pathlib import Path

from tests.support.ansible import Ansible, Run

PLUGINS = Path(__file__).with_name("callback")
# What is no step of a node: roles that are included, and arguments that are checked on the controller.
NO_STEPS = ("include_role", "Validating arguments against arg spec")


def steps(
    ansible: Ansible, playbook: Path, before: t.Callable[[int, str], bool], *arguments: str, **environment: str
) -> Run:
    """Run a playbook; before each of its steps, counted from 1, call `before` with its name, and kill the controller
    when that returns False.

    Returns what was left behind: the exit code of a controller that was killed is -9.
    """
    path = ansible.home / "boundaries"
    path.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen(1)
        process = ansible.start(
            str(playbook),
            *arguments,
            **environment,
            LIVENODES_TEST_BOUNDARIES=str(path),
            ANSIBLE_CALLBACK_PLUGINS=str(PLUGINS),
            ANSIBLE_CALLBACKS_ENABLED="boundaries",
        )
        said: list[str] = []
        reader = threading.Thread(target=lambda: said.append(process.stdout.read() if process.stdout else ""))
        reader.start()
        try:
            _serve(server, process, before)
            process.wait(timeout=300)
        finally:
            _kill(process)
            reader.join(timeout=30)
    return Run(process.returncode, "".join(said))


def _serve(server: socket.socket, process: subprocess.Popen[str], before: t.Callable[[int, str], bool]) -> None:
    while not select.select([server], [], [], 1)[0]:
        assert process.poll() is None, "the controller ended before its first task"
    connection, _address = server.accept()
    connection.settimeout(300)
    count, last = 0, ""
    with connection, connection.makefile("rw", encoding="utf-8") as stream:
        for line in stream:
            name = line.strip().rpartition(" : ")[2]
            # A flush of handlers is announced for each node.
            if not name.startswith(NO_STEPS) and name != last:
                count, last = count + 1, name
                if not before(count, name):
                    _kill(process)
                    return
            stream.write("go\n")
            stream.flush()


def _kill(process: subprocess.Popen[str]) -> None:
    """End the controller and its workers at once, as when its machine loses power."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
