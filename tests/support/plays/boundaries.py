# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stop a play between two steps: to do something to its nodes, or to kill the controller."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import typing as t
from pathlib import Path

from tests.support.plays.ansible import Ansible, Run

PLUGINS = Path(__file__).with_name("callback")
# Not steps of a node: included roles, and argument checks on the controller.
NO_STEPS = ("include_role", "Validating arguments against arg spec")

PRESSES = 5
"""How often a user presses Ctrl-C, at most."""

LAST = 1000
"""A number that no step has: the play reaches its end."""


def steps(
    ansible: Ansible,
    playbook: Path | str,
    before: t.Callable[[int, str], bool | signal.Signals],
    *arguments: str,
    **environment: str,
) -> Run:
    """Run a playbook; call `before` with number (from 1) and name of each step, kill the controller on False.

    A signal instead is sent to the controller, whose remaining steps are not counted. Returns the finished run; the
    exit code of a controller that a signal ended is its number below zero.
    """
    # The address of a socket is short, the folder of a test may be deep.
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as server:
        path = Path(folder) / "boundaries"
        server.bind(str(path))
        server.listen(1)
        process = ansible.start(
            str(playbook),
            *arguments,
            **environment,
            LIVENODES_TEST_BOUNDARIES=str(path),
            ANSIBLE_CALLBACK_PLUGINS=str(PLUGINS),
            ANSIBLE_CALLBACKS_ENABLED=",".join(
                filter(None, ("boundaries", ansible.environment.get("ANSIBLE_CALLBACKS_ENABLED")))
            ),
        )
        output: list[str] = []
        reader = threading.Thread(target=lambda: output.append(process.stdout.read() if process.stdout else ""))
        reader.start()
        try:
            _serve(server, process, before)
            process.wait(timeout=300)
        finally:
            _kill(process)
            reader.join(timeout=30)
    return Run(process.returncode, "".join(output))


def _serve(
    server: socket.socket, process: subprocess.Popen[str], before: t.Callable[[int, str], bool | signal.Signals]
) -> None:
    while not select.select([server], [], [], 1)[0]:
        assert process.poll() is None, "the controller ended before its first task"
    connection, _address = server.accept()
    connection.settimeout(300)
    count, last = 0, ""
    with connection, connection.makefile("rw", encoding="utf-8") as stream:
        for line in stream:
            name = line.strip().rpartition(" : ")[2]
            # Ansible announces a flush of handlers once per node.
            if not name.startswith(NO_STEPS) and name != last:
                count, last = count + 1, name
                goes_on = before(count, name)
                if isinstance(goes_on, signal.Signals):
                    strike(process, goes_on)
                    return
                if not goes_on:
                    _kill(process)
                    return
            stream.write("go\n")
            stream.flush()


def strike(process: subprocess.Popen[str], number: signal.Signals, patience: float = 30) -> None:
    """Send a signal to a controller as a terminal does, which sends it to all of its processes; again if nothing ends.

    A controller that gets SIGINT kills its workers immediately. One that has just returned its result may still hold
    the lock of the queue of results. In its cleanup the controller puts an end mark into this queue, and waits for that
    lock for ever (ansible-core 2.19). A user presses Ctrl-C once more then, and again where Ansible still cleans up.
    """
    for _press in range(PRESSES):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=patience)
            return


def _kill(process: subprocess.Popen[str]) -> None:
    """Kill the controller and its workers, as a power failure of its machine would."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
