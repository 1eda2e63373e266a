# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What holds for every problem that a test sees."""

from __future__ import annotations

import dataclasses
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import problem


@pytest.fixture(autouse=True)
def complete_problems(monkeypatch: pytest.MonkeyPatch) -> None:
    """A problem states what is wrong, why, and what to do. Its value may be empty, and its path too: a problem may be
    about a whole node.
    """
    made = problem.Problem.__init__

    def check(self: problem.Problem, *words: t.Any, **named: t.Any) -> None:
        made(self, *words, **named)
        texts = dataclasses.asdict(self)
        assert [name for name, text in texts.items() if not isinstance(text, str)] == [], texts
        assert [name for name, text in texts.items() if not text and name not in ("value", "path")] == [], texts
        assert self.severity in (problem.REFUSAL, problem.WARNING), texts

    monkeypatch.setattr(problem.Problem, "__init__", check)
