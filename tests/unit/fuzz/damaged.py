# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inputs for parsers: good ones with damage in some places, and nonsense."""

from __future__ import annotations

import copy
import json
import typing as t

from hypothesis import strategies as st

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(["", "0", "-1", "1e999", "\ud800"]),
)
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
)
DEEP = st.sampled_from(["[" * 1200, '{"a":' * 1200, "- " * 1200, "a: [" * 1200])
MARKS = st.sampled_from([*"\\\"'\n\t=:#;%$", "${A}", *"{}[]\0\ud800-", "\\x", "&a"])
PIECES = st.one_of(st.text(max_size=6), MARKS, st.integers().map(str))


@st.composite
def texts(draw: st.DrawFn, *good: str) -> str:
    """Draw one of the good texts with up to four pieces replaced, sometimes another text."""
    kind = draw(st.integers(0, 199))
    if kind < 8:
        return draw(st.text(max_size=60) if kind else DEEP)
    text = draw(st.sampled_from(good))
    for _piece in range(draw(st.integers(0, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + draw(PIECES) + text[end:]
    return text


def contents(*good: str) -> st.SearchStrategy[bytes]:
    """Return the content of a file: a text as above, sometimes cut off, or any bytes."""
    written = texts(*good).map(lambda text: text.encode("utf-8", "surrogatepass"))
    cut = st.tuples(written, st.integers(0, 400)).map(lambda pair: pair[0][: pair[1]])
    return written | cut | st.binary(max_size=60)


@st.composite
def values(draw: st.DrawFn, good: t.Any) -> t.Any:
    """Draw a value of JSON: the good one with up to three parts replaced by others, or removed."""
    value = copy.deepcopy(good)
    for _part in range(draw(st.integers(0, 3))):
        holder: t.Any = None
        key: t.Any = None
        inner = value
        while isinstance(inner, (dict, list)) and inner and (holder is None or draw(st.booleans())):
            holder, key = inner, draw(st.sampled_from(sorted(inner) if isinstance(inner, dict) else range(len(inner))))
            inner = holder[key]
        if holder is None:
            return draw(JSON)
        if draw(st.booleans()):
            holder[key] = draw(JSON)
        else:
            del holder[key]
    return value


def documents(good: t.Any) -> st.SearchStrategy[bytes]:
    """Return a file of JSON: a damaged value, or damaged text."""
    text = json.dumps(good)
    return values(good).map(lambda value: json.dumps(value).encode()) | contents(text)
