# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import strict_yaml


def test_plain_values_are_loaded() -> None:
    assert strict_yaml.load("a: [1, 1.5, x, true, null]\nb: {}") == {"a": [1, 1.5, "x", True, None], "b": {}}
    assert strict_yaml.load("# only a comment") is None


@pytest.mark.parametrize(
    ("text", "line", "remedy"),
    [
        ("a: 1\nb: 010", 2, "Put it in quotes"),
        ("a:\n\t- x", 2, "Indent with spaces."),
        ("a: {% if x %}", 1, "It holds an unresolved template expression"),
        ("a: 1\na: 2", 2, "Keep one; the kubelet would silently use the last."),
    ],
)
def test_a_problem_has_its_line_and_a_remedy(text: str, line: int, remedy: str) -> None:
    with pytest.raises(strict_yaml.Problem) as error:
        strict_yaml.load(text)
    assert error.value.line == line
    assert error.value.remedy.startswith(remedy)
