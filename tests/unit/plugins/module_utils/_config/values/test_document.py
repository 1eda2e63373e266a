# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import datetime
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document, strict_yaml

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(_TEXT, _JSON, max_size=4))
def test_rendered_documents_are_parsed_without_loss(config: dict[str, Any]) -> None:
    text = document.render(config)
    assert document.parse(text, "x") == config
    assert document.parse(text.encode("utf-8"), "x") == config
    assert text.endswith("}\n")


def test_the_canonical_text() -> None:
    """Its hash is the name of a variant: the same on every controller."""
    config = {"b": {"d": [1, "\u00e9"], "c": None}, "a": True}
    text = '{\n  "a": true,\n  "b": {\n    "c": null,\n    "d": [\n      1,\n      "\u00e9"\n    ]\n  }\n}\n'
    assert document.render(config) == text
    with pytest.raises(ValueError, match="not JSON compliant"):
        document.render({"a": float("nan")})


@given(st.dictionaries(st.text("abcXYZ", min_size=2, max_size=5), st.integers(1, 99) | st.booleans(), max_size=4))
def test_yaml_reads_like_json(config: dict[str, Any]) -> None:
    lines = "".join(f"{key}: {str(value).lower()}\n" for key, value in config.items())
    assert document.parse(lines or "{}", "x") == config


@pytest.mark.parametrize(
    ("text", "line", "cause"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "key `a` is given twice, first on line 1"),
        ('{"a": 1,\n"a": 2}', 2, "key `a` is given twice"),
        ("a: {b: 1, b: 2}", 1, "key `b` is given twice"),
        ("a:\n\t- x", 2, "a tab is used"),
        ("a: 1\n---\nb: 1\n", 2, "more than one YAML document"),
        ("1: 2", 1, "key `1` is not text"),
        ("on: 2", 1, "key `on` is not text"),
        ("? [a]\n: 1", 1, "a list or mapping is not text"),
        ("a: 2020-01-01", 1, "`2020-01-01` is a date"),
        ("a: 1:30", 1, "base 60"),
        ("a: 1:30.5", 1, "base 60"),
        ("a: 010", 1, "octal"),
        ("a: 0o10", 1, "some YAML readers"),
        ("a: 0x1f", 1, "some YAML readers"),
        ("a: 1_000", 1, "underscores"),
        ("a: 1e3", 1, "number to Go and text"),
        ("a: .inf", 1, "not a finite number"),
        ("a: y", 1, "true or false to some"),
        ("a: !!binary aGk=", 1, "binary data"),
        ("a: !!set {x, z}", 1, "a YAML set"),
        ("a: !mine 1", 1, "not valid YAML"),
        ("a: [1\nb: 2", 2, "not valid YAML: expected ',' or ']'"),
        ("a: {{ pods }}", 1, "`{{` begins a template expression"),
        ("a: 1\nb: \x00\nc: 2", 2, "control character U+0000"),
    ],
)
@pytest.mark.fault(case=1)
def test_what_is_refused_names_origin_line_and_cause(text: str, line: int, cause: str) -> None:
    with pytest.raises(document.DocumentError) as error:
        document.parse(text, "group_vars/all.yml")
    assert str(error.value).startswith(f"group_vars/all.yml, line {line}: ")
    assert cause in str(error.value)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("", "is empty"),
        ("# only a comment", "is empty"),
        ("---\n", "is empty"),
        ("- a", "is a list"),
        ("just words", "is a single value"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        ("a: &x [*x]", "aliases"),
        (
            "a: &a [x,x,x,x,x,x,x,x,x]\n"
            + "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(7)),
            "aliases",
        ),
        ("a: '" + "x" * document.MAX_BYTES + "'", "1 MiB"),
        ("[" * 3000, "nested too deeply"),
        ("a: \x7f\x85\x86", "not YAML"),
    ],
)
@pytest.mark.fault(case=5)
@pytest.mark.usefixtures("no_garbage")
def test_what_is_refused_as_a_whole(text: str | bytes, cause: str) -> None:
    with pytest.raises(document.DocumentError, match=cause):
        document.parse(text, "x")


def test_anchors_and_merge_keys_are_fine_and_nothing_is_shared() -> None:
    found = document.parse("base: &b {x: 1, y: [2]}\nc: {<<: *b, x: 3}\nd: *b\ne: {<<: *b}", "x")
    assert found["c"] == {"x": 3, "y": [2]}
    assert found["d"] == found["base"]
    assert found["d"] is not found["base"]


def test_complete_documents_need_their_header() -> None:
    good = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
    assert document.parse(document.render(good), "x", complete=True) == good
    with pytest.raises(document.DocumentError, match="x: apiVersion is missing"):
        document.parse("kind: KubeletConfiguration", "x", complete=True)
    with pytest.raises(document.DocumentError, match="x: kind is 'Pod'"):
        document.parse("kind: Pod\napiVersion: kubelet.config.k8s.io/v1beta1", "x", complete=True)


def test_the_header_is_one_of_those_that_are_named() -> None:
    for version in ("a/v1", "b/v2"):
        good = {"kind": "KubeletConfiguration", "apiVersion": version}
        assert document.parse(document.render(good), "x", complete=True, versions=("a/v1", "b/v2")) == good
    with pytest.raises(document.DocumentError, match=r"apiVersion is 'c/v3'.* Write `apiVersion: a/v1`\.$"):
        document.parse(document.render({**good, "apiVersion": "c/v3"}), "x", complete=True, versions=("a/v1", "b/v2"))


@pytest.mark.parametrize("text", ['\n  {"a": 1e3}', '{"a": 1e3}\n\n', '\ufeff{"a": 1e3}', b'\xef\xbb\xbf{"a": 1e3}'])
def test_json_is_read_as_json_wherever_it_begins(text: str | bytes) -> None:
    """YAML 1.1 would refuse the number."""
    assert document.parse(text, "x") == {"a": 1000.0}


def nested(levels: int, lists: bool) -> dict[str, Any]:
    """Return a mapping with as many mappings or lists in one another below it."""
    value: Any = 1
    for _level in range(levels):
        value = [value] if lists else {"a": value}
    return {"a": value}


@pytest.mark.parametrize("lists", [False, True])
def test_limits_of_what_aliases_may_expand_to(lists: bool) -> None:
    assert document.accept(nested(99, lists), "x") == nested(99, lists)
    with pytest.raises(document.DocumentError, match=r"^x: the document expands to more than 100000 values or 100 lev"):
        document.accept(nested(100, lists), "x")
    # The mapping counts, and so does the list.
    assert document.accept({"a": [0] * 99_998}, "x")
    with pytest.raises(document.DocumentError, match=r"^x: the document expands"):
        document.accept({"a": [0] * 99_999}, "x")


def test_size_is_counted_in_bytes() -> None:
    document.check_size("x" * document.MAX_BYTES, "x")
    with pytest.raises(document.DocumentError, match="node n1: 1048578 bytes are more than the 1048576 bytes"):
        document.check_size("\u00e9" * (document.MAX_BYTES // 2 + 1), "node n1")


@pytest.mark.parametrize(
    "value", [{1: 2}, {"a": datetime.date(2020, 1, 1)}, {"a": float("inf")}, [], "text", {"a": {"b": {3: 4}}}]
)
def test_variables_that_json_cannot_hold(value: Any) -> None:
    with pytest.raises(document.DocumentError, match="config of n1: "):
        document.accept(value, "config of n1")


@pytest.mark.parametrize("config", [{"a": "x\ud800"}, {"a": [{"\udfff": 1}]}])
def test_half_a_surrogate_pair_is_no_text(config: dict[str, Any]) -> None:
    """JSON can write it as an escape. No file, no hash and no message can hold it."""
    with pytest.raises(document.DocumentError, match=r"^x: .*half of a surrogate pair"):
        document.accept(config, "x")
    with pytest.raises(document.DocumentError, match=r"^x: .*half of a surrogate pair"):
        document.parse(json.dumps(config), "x")
    whole = {"a": "\U0001f600"}
    assert document.parse(json.dumps(whole), "x") == document.accept(whole, "x") == whole


def test_json_is_read_without_pyyaml_and_yaml_names_the_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strict_yaml, "yaml", None)
    assert document.parse('{"a": 1e3}', "x") == {"a": 1000.0}
    with pytest.raises(document.DocumentError, match="PyYAML is not installed"):
        document.parse("a: 1", "x")


@pytest.mark.parametrize("levels", [1, 100, 101, 5000])
def test_levels(levels: int) -> None:
    value: Any = 1
    for level in range(levels):
        value = {"a": value} if level == levels - 1 else [value]
    if levels <= 100:
        assert document.accept(value, "x") == value
    else:
        with pytest.raises(document.DocumentError, match="100 levels"):
            document.accept(value, "x")


def test_the_names_of_secrets() -> None:
    secrets = {name for name, field in fields.ALL.items() if field.secret}
    assert set(document.SECRETS) == {*secrets, *fields.FORMER_SECRETS}


@pytest.mark.parametrize("name", document.SECRETS)
@pytest.mark.parametrize(
    "value",
    [
        "*s4711",
        "!s4711 x",
        "!s'4711 x",
        "04711",
        "!!binary NDcxMQ==",
        "4711-01-01",
        "0o4711",
        "{<<: [*s4711]}",
        "@4711",
    ],
)
def test_what_cannot_be_read_is_not_quoted(name: str, value: str) -> None:
    for text in (f"{name}:\n  A: [{value}]\n", f"{name}:\n  A:\n  - {value}\n"):
        with pytest.raises(document.DocumentError, match=r"^the document, line [1-4]: ") as raised:
            document.parse(text, "the document")
        assert not any(word in str(raised.value) for word in ("4711", "NDcx")), raised.value


@pytest.mark.parametrize("value", [datetime.date(4711, 1, 1), b"4711", {4711: "x"}])
def test_what_json_cannot_hold_is_not_quoted(value: Any) -> None:
    with pytest.raises(document.DocumentError, match=r"the document: .* (in quotes|cannot hold)") as raised:
        document.accept({"staticPodURLHeader": {"A": [value]}}, "the document")
    assert "4711" not in str(raised.value)


def test_what_has_no_secrets_is_quoted() -> None:
    with pytest.raises(document.DocumentError, match="`04711` is an octal number"):
        document.parse("maxPods: 04711", "the document")
    with pytest.raises(document.DocumentError, match="4711, 1, 1"):
        document.accept({"maxPods": datetime.date(4711, 1, 1)}, "the document")
