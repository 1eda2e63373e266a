# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every finding that a test sees."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import node_facts


@pytest.fixture(autouse=True)
def complete_findings(monkeypatch: pytest.MonkeyPatch) -> None:
    """A finding states its cause and its remedy, and is of a known kind. Its name and its place may be empty."""
    make = node_facts.Finding.__new__

    def check(cls: type[node_facts.Finding], *words: t.Any, **named: t.Any) -> node_facts.Finding:
        made = make(cls, *words, **named)
        assert made.severity in node_facts.SEVERITIES and made.kind in node_facts.KINDS, made
        assert all(isinstance(text, str) for text in made) and made.message and made.remedy, made
        # Some policies are called None.
        policy = made.name in fields.ALL and fields.ALL[made.name].type == "string"
        assert policy or "None" not in f"{made.message} {made.remedy}", made
        return made

    monkeypatch.setattr(node_facts.Finding, "__new__", check)
