# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible's side of tests/support/plays/boundaries.py: each task and handler waits for the permission."""

from __future__ import annotations

import os
import socket
import typing as t

from ansible.plugins.callback import CallbackBase

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import controller_module

DOCUMENTATION = """
name: boundaries
type: aggregate
short_description: Stops a play before each task, for tests
description:
  - Does nothing unless the environment names a socket.
  - Can also shorten the time in which modules wait for an API server that does not answer.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]
    """Runs in the controller's main process only, so that all nodes stop at the same boundary."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "boundaries"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        patience = os.environ.get("LIVENODES_TEST_PATIENCE")
        if patience:
            # Modules of the controller run in children of this process.
            controller_module.PATIENT_CONTACT = float(patience)
        self.connection: t.Any = None
        path = os.environ.get("LIVENODES_TEST_BOUNDARIES")
        if path:
            connection = socket.socket(socket.AF_UNIX)
            connection.connect(path)
            self.connection = connection.makefile("rw", encoding="utf-8")

    def v2_playbook_on_task_start(self, task: t.Any, is_conditional: bool) -> None:
        """Stop before a task of a play."""
        self._stop(task)

    def v2_playbook_on_handler_task_start(self, task: t.Any) -> None:
        self._stop(task)

    def _stop(self, task: t.Any) -> None:
        if self.connection:
            self.connection.write(f"{task.get_name()}\n")
            self.connection.flush()
            self.connection.readline()
