# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Words and escapes at the limits of Go's numbers; tests/support/texts/yaml_forms.py has the usual forms."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.records.yaml_scalars import (
    as_json,
    double_quoted,
    resolved,
    single_quoted,
)

# Each answer is that of sigs.k8s.io/yaml.
WORDS: dict[str, t.Any] = {
    "9223372036854775808": 2**63,
    "18446744073709551615": 2**64 - 1,
    "18446744073709551616": 2.0**64,
    "-9223372036854775808": -(2**63),
    "-9223372036854775809": -(2.0**63),
    "0" * 200 + "17": 15,
    "9" * 400: "9" * 400,
    "-1e400": "-1e400",
    "1e-400": 0.0,
    "-0": 0,
    "-052": -42,
    "-0b11": -3,
    "09": 9.0,
    "0x": "0x",
    "0_": 0,
    "-_5": -5,
    "+-1": "+-1",
    ".1_0": 0.1,
    "._1": "._1",
    ".1__0": ".1__0",
    ".1_": ".1_",
    ".": ".",
    "-.nan": "-.nan",
    "<<": "<<",
    "\u0661": "\u0661",
    "1\u0661": "1\u0661",
}


@pytest.mark.parametrize("word", WORDS)
def test_words(word: str) -> None:
    found = resolved(word)
    assert (found, type(found)) == (WORDS[word], type(WORDS[word]))


@pytest.mark.parametrize("word", [".inf", "+.Inf", "-.INF", ".nan", ".NaN", ".NAN"])
def test_no_number_of_json(word: str) -> None:
    with pytest.raises(ValueError, match=r"(?i)inf|nan"):
        resolved(word)


@pytest.mark.parametrize(
    ("value", "shown"), [(1e3, 1000), (-0.0, 0), (1.5, 1.5), (2.0**53, 2.0**53), ("1e3", "1e3"), (True, True)]
)
def test_whole_numbers_as_json_has_them(value: t.Any, shown: t.Any) -> None:
    assert (as_json(value), type(as_json(value))) == (shown, type(shown))


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        ("a\\tb\\\tc", "a\tb\tc"),
        ("\\0\\a\\b\\v\\f\\r\\e\\ \\\"\\'\\\\\\N\\_\\L\\P", "\0\a\b\v\f\r\x1b \"'\\\x85\xa0\u2028\u2029"),
        ("\\x41\\u00e9\\U0001F600", "A\u00e9\U0001f600"),
        ("a \\\n  b", "a b"),
        ("a\\\n\n b", "a\nb"),
        (" \n a \n\n\tb", " a\nb"),
    ],
)
def test_double_quoted(inner: str, text: str) -> None:
    assert double_quoted(inner) == text


@pytest.mark.parametrize("escape", ["\\d", "\\/", "\\x4", "\\xzz", "\\ud83d", "\\U00110000"])
def test_escapes_that_do_not_exist(escape: str) -> None:
    with pytest.raises(ValueError, match=r"\\"):
        double_quoted(f"a{escape} b")


def test_single_quoted() -> None:
    assert single_quoted("it''s \\n\n  a \n \n b") == "it's \\n a\nb"
