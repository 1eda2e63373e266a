# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""PyYAML with the kubelet's rules for words and numbers (go-yaml v2, resolve.go), to compare our reader with."""

from __future__ import annotations

import typing as t

import yaml

WORDS = {
    **dict.fromkeys(("y", "yes", "true", "on"), True),
    **dict.fromkeys(("n", "no", "false", "off"), False),
    **dict.fromkeys(("", "~", "null"), None),
}
# The largest whole number that is the same as a float and as an integer.
EXACT = 2**53


class Unlike(Exception):
    """The document holds what PyYAML and the kubelet read differently, or what JSON cannot hold."""


class Loader(yaml.SafeLoader):  # pylint: disable=too-many-ancestors
    """Resolves plain scalars as Go does."""

    yaml_implicit_resolvers: t.ClassVar[dict[str, t.Any]] = {}

    def compose_document(self) -> yaml.Node | None:
        """Return the document's value. Raises Unlike for text behind it, which the kubelet ignores."""
        self.get_event()
        node = self.compose_node(None, None)
        ended = self.get_event().explicit
        if not ended and not self.check_token(yaml.DocumentStartToken, yaml.StreamEndToken):
            raise Unlike("text after the document's value")
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> t.Any:
        """Return plain scalars as Go resolves them, everything else as PyYAML does."""
        if isinstance(node, yaml.ScalarNode) and node.style is None and node.tag == "tag:yaml.org,2002:str":
            return resolved(node.value)
        return super().construct_object(node, deep=True)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[t.Any, t.Any]:
        """Return a map with the keys of JSON. Raises Unlike for a key that is there twice, a number or no text."""
        found = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node)
            if key_node.value == "<<" or isinstance(key, float) or not isinstance(key, (str, int)):
                raise Unlike(f"key {key!r}")
            name = str(key).lower() if isinstance(key, bool) else str(key)
            if name in found:
                raise Unlike(f"{name} twice")
            found[name] = whole(self.construct_object(value_node))
        return found

    def construct_yaml_map(self, node: yaml.MappingNode) -> t.Iterator[t.Any]:
        yield self.construct_mapping(node)


Loader.add_constructor("tag:yaml.org,2002:map", Loader.construct_yaml_map)


def load(text: str) -> t.Any:
    """Return the first document. Raises yaml.YAMLError, Unlike."""
    loader = Loader(text.removeprefix("\ufeff"))
    try:
        if not loader.check_node():
            return None
        node = loader.get_node()
        return rounded(loader.construct_document(node))
    finally:
        loader.dispose()  # type: ignore[no-untyped-call]


def rounded(value: t.Any) -> t.Any:
    """Return a value with its whole floats as integers."""
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return {key: rounded(one) for key, one in value.items()} if isinstance(value, dict) else whole(value)


def whole(value: t.Any) -> t.Any:
    """Return a whole float as the integer that JSON shows."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < EXACT else value


def resolved(word: str) -> t.Any:
    """Return a plain scalar as Go's decoder does. Raises Unlike for what is not a number of JSON."""
    if word.lower() in WORDS and word in (word.lower(), word.upper(), word.capitalize()):
        return WORDS[word.lower()]
    sign, digits = (word[0], word[1:]) if word[0] in "+-" else ("", word)
    if digits.lower() in (".inf", ".nan") and digits[1:] in ("inf", "Inf", "INF", "nan", "NaN", "NAN"):
        if "n" in digits[1:2].lower() and sign:
            return word
        raise Unlike(word)
    if word[0] not in "+-.0123456789" or not word.isascii() or " " in word:
        return word
    if word[0] == ".":
        # strconv.ParseFloat wants a digit on both sides of `_`, as Python does.
        number = _float(word)
    else:
        plain = digits.replace("_", "")
        number = _integer(sign, plain)
        number = _float(sign + plain) if number is None else number
    return word if number is None else number


def _integer(sign: str, digits: str) -> int | None:
    if digits[:1] in ("+", "-") or not digits.isalnum():
        return None
    octal = digits[0] == "0" and digits.isdigit()
    try:
        number = int(sign + digits, 8 if octal else 0)
    except ValueError:
        return None
    return number if -(2**63) <= number < (2**63 if sign else 2**64) else None


def _float(word: str) -> float | None:
    try:
        number = float(word)
    except ValueError:
        return None
    return number if abs(number) < float("inf") and word[-1] not in "nNfFyY" else None
