# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The line at the bottom of a terminal."""

from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.report_text import StatusLine
from tests.support.terminal import Terminal


def test_the_line_never_runs_into_other_output() -> None:
    terminal = Terminal()
    line = StatusLine(terminal)
    for number in range(3):
        line.show(f"a long status line {number}")
        terminal.write(f"ok {number}\n")
    line.show("at the bottom")
    assert terminal.screen() == ["ok 0", "ok 1", "ok 2", "at the bottom"]
    terminal.write("Are you sure? ")
    line.show("not now")
    assert terminal.screen()[-1] == "Are you sure? "
    terminal.write("\n")
    line.show("again")
    line.close()
    terminal.write("free\n")
    assert terminal.screen()[-2:] == ["free", ""]
