# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import contextlib
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
        ("a: {{ pods", 1, "It holds an unresolved template expression"),
        ("a: 1\nmaxPods: {{ pods }}", 2, "It holds an unresolved template expression"),
        ("a: {b: {{ pods }}}", 1, "It holds an unresolved template expression"),
        ("{{ all }}", 1, "It holds an unresolved template expression"),
        ("? [a]\n: b", 1, "Field names and map keys are text"),
        ("b: {{ x }}\na: [1", 2, "Check indentation"),
        ("a: {{ x }}\nb: {\n", 3, "Check indentation"),
        ("a: 1\n2: b", 2, "Field names and map keys are text"),
        ("a: 2020-01-01", 1, "Put it in quotes if it is text."),
        ("a: 1\n---\nb: 2", 2, "Keep one; the kubelet reads only the first."),
        ("[" * 3000, 1, "A kubelet configuration has four levels at most"),
        ("a: \x07", None, "Give a YAML or JSON text file in UTF-8."),
        ("a: 1\na: 2", 2, "Keep one; the kubelet would silently use the last."),
        ("a: &a {x: 1}\nb: &b {x: 2}\nc: {<<: [*a, *b]}", 3, "Merge one map, as the first key"),
        ("a: &a {x: 1}\nb: &b {x: 2}\nc: {<<: *a, <<: *b}", 3, "Merge one map, as the first key"),
        ("a: &a {x: 1}\nc:\n  x: 2\n  <<: *a", 4, "Merge one map, as the first key"),
    ],
)
def test_a_problem_has_its_line_and_a_remedy(text: str, line: int, remedy: str) -> None:
    with pytest.raises(strict_yaml.YamlError) as error:
        strict_yaml.load(text)
    assert error.value.line == line
    assert error.value.remedy.startswith(remedy)
    assert str(error.value) == error.value.cause


@pytest.mark.parametrize("text", ["{<<: *a, x: 2}", "{<<: [*a], x: 2}"])
def test_one_map_is_merged_below_its_own_keys(text: str) -> None:
    assert strict_yaml.load(f"a: &a {{x: 1, w: 3}}\nc: {text}")["c"] == {"x": 2, "w": 3}


MERGES = "a0: &a0 {k0: 1}\n" + "".join(f"a{at}: &a{at} {{<<: *a{at - 1}, k{at}: 1}}\n" for at in range(1, 2000))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[" * 30_000, "nested too deeply"),
        ("a: " + "{a: " * 30_000, "nested too deeply"),
        ("\n".join(" " * level + "a:" for level in range(1200)), "nested too deeply"),
        ("- " * 30_000, "nested too deeply"),
        ("? " * 30_000, "nested too deeply"),
        ("a: [" + "1," * 500_000 + "]", "more than 20000 values"),
        ("".join(f"a{number}: 1\n" for number in range(90_000)), "more than 20000 values"),
        (MERGES, "more than 20000 values"),
    ],
    ids=["lists", "maps", "lines", "items", "keys", "long list", "long map", "merge keys"],
)
def test_what_would_take_long_is_refused_at_once(text: str, words: str) -> None:
    """Without the limits, the long list took 20 s, and the merge keys make two million values of 10,000."""
    begun = time.process_time()
    with pytest.raises(strict_yaml.YamlError, match=words):
        strict_yaml.load(text)
    assert time.process_time() - begun < 10


PARTS = ("[", "{", "- ", "? ", "a: ", "{a: ", "\n ", "]", "}")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(PARTS), min_size=1), st.integers(1, 3000))
def test_no_nesting_takes_long(parts: list[str], times: int) -> None:
    begun = time.process_time()
    with contextlib.suppress(strict_yaml.YamlError):
        strict_yaml.load("".join(parts) * times)
    assert time.process_time() - begun < 10
