# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files that the guide The workflow by hand shows, and the commands that it lets its readers type."""

from __future__ import annotations

import re
import textwrap
import typing as t
from pathlib import Path

import yaml

from tests.support.plays.ansible import ROOT, Ansible, Run
from tests.support.plays.doc_commands import blocks, lines

PAGE = ROOT / "docs/docsite/rst/guide_by_hand.rst"
ROLLOUT = "rollout.yml"
"""The file on the page that no command of it types."""
FILES = re.compile(r"^\.\. code-block:: yaml\n\n((?: {4}[^\n]*\n|\n)+)", re.MULTILINE)


def files() -> dict[str, str]:
    """Return the text of each file on the page by the name in its first line."""
    found = {}
    for block in FILES.findall(PAGE.read_text(encoding="utf-8")):
        text = textwrap.dedent(block)
        found[text.partition("\n")[0].removeprefix("# ")] = text
    return found


def commands() -> list[str]:
    """Return the commands on the page, in their order."""
    return [command for kind, block in blocks(PAGE) for command in lines(kind, block)]


def declared() -> dict[str, t.Any]:
    """Return the configuration that the page declares."""
    found: dict[str, t.Any] = yaml.safe_load(files()["group_vars/workers.yml"])["kubelet_config"]
    return found


def types(ansible: Ansible, command: str, folder: Path, *more: str, **environment: str) -> Run:
    """Type a command of the page in a folder with its files. `more` are arguments that the page does not need.

    `environment` are further variables of it.
    """
    for name, text in files().items():
        if "/" not in name:
            (folder / name).write_text(text, encoding="utf-8")
    words = command.split()
    assert words[0] == "ansible-playbook", command
    given = words[1:]
    if given[:2] == ["-i", "inventory"]:
        given = given[2:]
    name, *arguments = given
    return ansible.playbook(str(folder / name), *arguments, *more, **environment)
