# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep a controller that is about to end, as ansible-core itself does now and then after Ctrl-C."""

from __future__ import annotations

import atexit
import time

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: stuck
type: aggregate
short_description: Keeps the controller from ending, for tests
description: What it does at the end precedes what other callbacks do, which ask for it at the start of the playbook.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types
    """Runs in the controller's main process."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "stuck"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_play_start(self, play: object) -> None:
        """Wait at the end of the run."""
        atexit.register(time.sleep, 1000)
