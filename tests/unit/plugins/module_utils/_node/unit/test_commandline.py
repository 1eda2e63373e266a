# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command line of a service; test_unit.py has more, on the files of a node."""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import (
    commandline,
)

SERVICE = "/usr/lib/systemd/system/kubelet.service"


@pytest.mark.parametrize(
    "text",
    [
        "[Service]\nExecStart=/a\nExecStart=/b\n",
        "[Service]\nExecStart=/a ; /b\n",
        "[Service]\nExecStart=\n",
        '[Service]\nExecStart="/a\n',
    ],
)
def test_commands_that_are_not_one_command_are_an_error(text: str) -> None:
    with pytest.raises(ValueError):
        commandline.CommandLine([(SERVICE, text)])
