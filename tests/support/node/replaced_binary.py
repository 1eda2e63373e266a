# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node whose kubelet's binary is replaced."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.binary_facts import BinaryFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import ask_binary, binary
from tests.support.node.guard_node import SOURCE, Node

OLD_VERSION, NEW_VERSION = "v1.28.3", "v1.36.2"
WORDS = "invalid configuration: SECOND is gone"


class Kubelet:
    """The kubelet's binary: it refuses each text with one of the words `refuses`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.asked: list[str] = []
        self.flags: tuple[str, ...] = ()
        self.answer: binary.Verdict | None = None
        self.replace(OLD_VERSION)

    def replace(self, version: str, *refuses: str) -> None:
        self.version, self.refuses = version, refuses
        self.path.write_text(version + " ".join(refuses))

    def facts(self, program: str, **_more: t.Any) -> BinaryFacts:
        assert program == str(self.path)
        return BinaryFacts(self.version, self.flags, {}, {})

    def check(self, text: str, argv: t.Sequence[str], **_more: t.Any) -> binary.Verdict:
        assert argv[0] == str(self.path)
        self.asked.append(text)
        refused = any(word in text for word in self.refuses)
        return self.answer or binary.Verdict("invalid" if refused else "valid", [WORDS] if refused else [], [])


def replaceable(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Kubelet:
    """Put a kubelet's binary into a folder; it answers what the guard asks of one."""
    found = Kubelet(folder / "kubelet")
    monkeypatch.setattr(binary, "check", found.check)
    monkeypatch.setattr(ask_binary, "ask", found.facts)
    return found


def on_trial(folder: Path, confirmed: bool = False) -> Node:
    """Return a node on which SOURCE, which contains FIRST, is on trial. Its next one OTHER contains SECOND."""
    node = Node(folder)
    node.texts = {"u1": "{FIRST: 1}", "u2": "{SECOND: 1}"}
    node.argv = (str(folder / "kubelet"),)
    node.switch(kubelet_version=OLD_VERSION, confirmed=confirmed)
    return node


def with_good(folder: Path) -> Node:
    """Return a node like that on which SOURCE is last-known-good."""
    node = on_trial(folder)
    node.store.graduate(SOURCE, OLD_VERSION)
    return node
