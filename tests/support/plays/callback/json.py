# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Print one document at the end of a run, as ansible.posix.json does, which tests do not install."""

from __future__ import annotations

import json
import typing as t

from ansible.plugins.callback import CallbackBase

DOCUMENTATION = """
name: json
type: stdout
short_description: Prints JSON, for tests
description: Prints which hosts ran tasks.
"""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types
    """Prints where the callback of ansible.posix does."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "stdout"
    CALLBACK_NAME = "json"

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        self._display.display(json.dumps({"stats": sorted(stats.processed)}))
