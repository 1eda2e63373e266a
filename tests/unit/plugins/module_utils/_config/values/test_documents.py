# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documents: what is read, what is refused with which words, and the names
that contents get and are referred to by.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document, strict_yaml
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import reference as references
from tests.support.api.objects import place, reference

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


QUOTE, KEYS, TEMPLATE = "Put it in quotes", "Field names and map keys are text", "It holds an unresolved template"


@pytest.mark.parametrize(
    ("text", "line", "cause", "remedy"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, "key `a` is given twice, first on line 1", "Keep one; the kubelet would silently"),
        ('{"a": 1,\n"a": 2}', 2, "key `a` is given twice", "Keep one; the kubelet would silently use the last."),
        ("a: {b: 1, b: 2}", 1, "key `b` is given twice", "Keep one; the kubelet would silently use the last."),
        ("a:\n\t- x", 2, "a tab is used", "Indent with spaces."),
        ("a: 1\n---\nb: 1\n", 2, "more than one YAML document", "Keep one; the kubelet reads only the first."),
        ("1: 2", 1, "key `1` is not text", KEYS),
        ("on: 2", 1, "key `on` is not text", KEYS),
        ("? [a]\n: 1", 1, "a list or mapping is not text", KEYS),
        ("a: 2020-01-01", 1, "`2020-01-01` is a date", f"{QUOTE} if it is text."),
        ("a: 1:30", 1, "base 60", QUOTE),
        ("a: 1:30.5", 1, "base 60", QUOTE),
        ("a: 1\nb: 010", 2, "octal", QUOTE),
        ("a: 0o10", 1, "some YAML readers", QUOTE),
        ("a: 0x1f", 1, "some YAML readers", QUOTE),
        ("a: 0X1F", 1, "some YAML readers", QUOTE),
        *[(f"a: {text}", 1, "underscores", QUOTE) for text in ("1_000", "-_6", ".5_", "1_0e3", "1_0.5")],
        *[(f"a: {text}", 1, "number to Go and text", QUOTE) for text in ("1e3", ".5E-1", "-.5", "+.5")],
        ("a: .inf", 1, "not a finite number", QUOTE),
        ("a: y", 1, "true or false to some", QUOTE),
        ("a: !!binary aGk=", 1, "binary data", QUOTE),
        ("a: !!set {x, z}", 1, "a YAML set", QUOTE),
        ("a: !mine 1", 1, "not valid YAML", "Check indentation"),
        ("a: [1\nb: 2", 2, "not valid YAML: expected ',' or ']'", "Check indentation"),
        ("b: {{ x }}\na: [1", 2, "not valid YAML", "Check indentation"),
        ("a: {{ x }}\nb: {\n", 3, "not valid YAML", "Check indentation"),
        ("a: 1\nmaxPods: {{ pods }}", 2, "`{{` begins a template expression", TEMPLATE),
        ("a: {b: {{ pods }}}", 1, "`{{` begins a template expression", TEMPLATE),
        ("{{ all }}", 1, "`{{` begins a template expression", TEMPLATE),
        ("a: {{ pods", 1, "not valid YAML", TEMPLATE),
        ("a: {% if x %}", 1, "not valid YAML", TEMPLATE),
        ("[" * 3000, 1, "nested too deeply", "A kubelet configuration has four levels at most"),
        ("a: &a {x: 1}\nb: &b {x: 2}\nc: {<<: [*a, *b]}", 3, "has several maps", "Merge one map, as the first key"),
        ("a: &a {x: 1}\nb: &b {x: 2}\nc: {<<: *a, <<: *b}", 3, "after another key", "Merge one map, as the first"),
        ("a: &a {x: 1}\nc:\n  x: 2\n  <<: *a", 4, "after another key", "Merge one map, as the first key"),
        ("a: 1\nb: \x00\nc: 2", 2, "control character U+0000", "Give a YAML or JSON text file in UTF-8"),
    ],
)
@pytest.mark.fault(case=1)
def test_what_is_refused_names_origin_line_cause_and_remedy(text: str, line: int, cause: str, remedy: str) -> None:
    with pytest.raises(document.DocumentError) as error:
        document.parse(text, "group_vars/all.yml")
    assert str(error.value).startswith(f"group_vars/all.yml, line {line}: ")
    assert cause in str(error.value) and f". {remedy}" in str(error.value)


LAUGHS = "".join(f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(7))


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
        ("a: &a [x,x,x,x,x,x,x,x,x]\n" + LAUGHS, "aliases"),
        ("a: '" + "x" * document.MAX_BYTES + "'", "1 MiB"),
        ("a: \x7f\x85\x86", r"not YAML: .*\. Give a YAML or JSON text file in UTF-8\."),
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
    for levels in (100, 5000):
        with pytest.raises(document.DocumentError, match=r"^x: the document expands to more than 100000 values or 100"):
            document.accept(nested(levels, lists), "x")
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


def test_the_names_of_secrets() -> None:
    """Two are former names."""
    secrets = {name for name, field in fields.ALL.items() if field.secret}
    assert set(document.SECRETS) == {*secrets, "manifestURL", "manifestURLHeader"}


@pytest.mark.parametrize("name", document.SECRETS)
@pytest.mark.parametrize(
    "value",
    [
        *("*s4711", "!s4711 x", "!s'4711 x", "04711", "!!binary NDcxMQ==", "4711-01-01", "0o4711"),
        *("{<<: [*s4711]}", "@4711"),
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


def test_plain_values_are_loaded() -> None:
    assert strict_yaml.load("a: [1, 1.5, x, true, null]\nb: {}") == {"a": [1, 1.5, "x", True, None], "b": {}}
    assert strict_yaml.load("# only a comment") is None


@pytest.mark.parametrize("text", ["{<<: *a, x: 2}", "{<<: [*a], x: 2}"])
def test_one_map_is_merged_below_its_own_keys(text: str) -> None:
    assert strict_yaml.load(f"a: &a {{x: 1, w: 3}}\nc: {text}")["c"] == {"x": 2, "w": 3}


@pytest.fixture(scope="module")
def at_once() -> float:
    """Return some times the seconds of CPU that this machine takes for the longest document that is accepted."""
    begun = time.process_time()
    strict_yaml.load("a: [" + "1," * 19_000 + "]")
    return 8 * (time.process_time() - begun)


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
def test_what_would_take_long_is_refused_at_once(at_once: float, text: str, words: str) -> None:
    """Without the limits, the long list took 20 s, and the merge keys make two million values of 10,000."""
    begun = time.process_time()
    with pytest.raises(strict_yaml.YamlError, match=words):
        strict_yaml.load(text)
    assert time.process_time() - begun < at_once


PARTS = ("[", "{", "- ", "? ", "a: ", "{a: ", "\n ", "]", "}")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(PARTS), min_size=1), st.integers(1, 3000))
def test_no_nesting_takes_long(at_once: float, parts: list[str], times: int) -> None:
    begun = time.process_time()
    with contextlib.suppress(strict_yaml.YamlError):
        strict_yaml.load("".join(parts) * times)
    assert time.process_time() - begun < at_once


HEADER = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: 100\n"
AS_JSON = (
    '{\n  "kind": "KubeletConfiguration",\n  "apiVersion": "kubelet.config.k8s.io/v1beta1",\n'
    '  "evictionHard": {"memory.available": "<200Mi & more>"}\n}\n'
)
ODD = 'h\u00e9llo \u2028 \u2029 \u6f22\u5b57 \U0001f600 \u007f\r\n\ttab "q" \\ back / slash\u0001'
KEYS_IN_DISORDER = {"kubelet": "maxPods: 1\n", "a.yaml": "z", "B": "upper", "_u": "1", "-d": "2", ".dot": "3"}


# What kubectl 1.27 to 1.33 print for `create configmap NAME --append-hash`.
@pytest.mark.parametrize(
    ("name", "data", "suffix"),
    [
        ("empty", {}, "b6t642d2fb"),
        ("x", {"kubelet": ""}, "9dk65kdhm7"),
        ("my-node-config", {"kubelet": HEADER}, "b79f6tk8hb"),
        ("my-node-config", {"kubelet": AS_JSON}, "bmdch2mc94"),
        ("uni", {"kubelet": ODD}, "8727mm7gb5"),
        ("mix", KEYS_IN_DISORDER, "285g5hm4d4"),
        ("bom", {"kubelet": "\ufeffmaxPods: 1\n"}, "7k78md6dkb"),
        ("nul", {"kubelet": "a\x00b"}, "7t745b74kf"),
        # A kubectl built by Go before 1.22 has the suffix mhc476tm4h here.
        ("bf", {"kubelet": "a\x08b\x0cc"}, "gktbtcmt2k"),
    ],
)
def test_suffix_is_kubectls(name: str, data: dict[str, str], suffix: str) -> None:
    assert document.append_hash(name, data) == suffix


def test_name_is_base_and_suffix() -> None:
    assert document.configmap_name("my-node-config", HEADER) == "my-node-config-b79f6tk8hb"
    assert document.configmap_name("my-node-config", HEADER, "other") != "my-node-config-b79f6tk8hb"


def test_variants_differ_by_content_and_not_by_order() -> None:
    one = document.variant({"a": 1, "b": 2})
    assert one == document.variant({"b": 2, "a": 1}) != document.variant({"a": 1, "b": 3})
    # The first ten digits of what sha256sum prints for the text.
    assert document.variant({"maxPods": 110}) == "2e23fa46bd"
    assert document.parse(document.render({"b": 1, "a": 2}), "x") == {"a": 2, "b": 1}


def test_same_place() -> None:
    assert references.same_place(reference(revision="1"), reference(revision="2"))
    assert references.same_place(place(), reference())
    assert references.same_place(None, None)
    assert not references.same_place(None, place())
    assert not references.same_place(place("a"), place("b"))
    assert not references.same_place(place(key="a"), place(key="b"))
    assert not references.same_place({**place(), "namespace": "other"}, place())


def test_read() -> None:
    assert references.read(None) is references.read({}) is None
    assert references.read({"configMap": {**reference(), "more": 1}}) == reference()
    with pytest.raises(ValueError, match=r"active\.configMap has no namespace"):
        references.read({"configMap": {}}, "active")


def test_describe() -> None:
    assert references.describe(None) == "the local config"
    assert references.describe(place()) == "kube-system/config-a key kubelet"
    assert references.describe(reference()) == "kube-system/config-a key kubelet"
    assert references.describe({"uid": "a1", "kubeletConfigKey": "kubelet"}) == "the ConfigMap with uid a1"
