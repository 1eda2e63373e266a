# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A terminal for tests."""

from __future__ import annotations

import io

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.output import ERASE


class Terminal(io.StringIO):
    """A terminal that shows what remains after all erasures."""

    def isatty(self) -> bool:
        return True

    def screen(self) -> list[str]:
        """Return the visible lines."""
        return [line.rpartition(ERASE)[2] for line in self.getvalue().split("\n")]
