# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node's reader of YAML: every form of a value, files of people, refusals, any document, and limits of Go."""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.records.blockyaml import Unreadable, load
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.records.yaml_scalars import (
    as_json,
    double_quoted,
    resolved,
    single_quoted,
)
from tests.lab import kubeadm
from tests.support.texts import kubelet_yaml
from tests.support.texts.yaml_documents import document
from tests.support.texts.yaml_forms import FORMS, Form


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.text)
def test_every_form_of_a_value(form: Form) -> None:
    found = load(form.text)[form.field]
    assert (found, type(found)) == (form.read, type(form.read))


CA = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM="
USER = {"name": "u", "user": {"exec": {"command": "gke-exec", "args": ["--a", "b"]}}}
# As people and their tools write these files.
FILES = {
    "Kubespray": (
        "---\nmaxPods: 110\nfailSwapOn: False\nrotateCertificates: True\nclusterDNS:\n  - 10.233.0.3\n"
        "kubeReserved:\n  cpu: 100m\n  memory: 256Mi\nsystemReserved:\n\nevictionHard:\n  \n  imagefs.available: 15%\n"
    ),
    "Deckhouse": (
        'clusterDNS: ["10.222.0.10"]\nreservedSystemCPUs: 0-3,8\nsystemReserved: {memory: 1220k}\n'
        "containerLogMaxSize: 50Mi\nnodeStatusUpdateFrequency: 10s\n"
    ),
    "tutorial": (
        "authentication: {anonymous: {enabled: false}, webhook: {enabled: true,}}\nclusterDomain: cluster.local.\n"
    ),
    "kind": (
        "imageGCHighThresholdPercent: 100\nevictionHard:\n  imagefs.available: 0%\n  nodefs.available: 0%\n"
        "cgroupRoot: /kubelet\nfeatureGates: {}\ntracing: null\n"
    ),
    "MemoryQoS": "memoryThrottlingFactor: 0.8\nmemoryReservations: 1e9\n",
    "IPv6": "clusterDNS:\n- fd00:10:96::a\naddress: ::1\n",
    "Windows editor": "\ufeffmaxPods: 5\r\nclusterDNS:\r\n- 10.96.0.10\r\n",
    "several documents": "# c\n---\nmaxPods: 5 # c\n...\n---\nmaxPods: [\n",
    "with a version": "%YAML 1.1 # c\n---\nmaxPods: 5\n",
    "kubeadm": kubeadm.config_yaml(kubeadm.traits("n2")),
    "kubeconfig of GKE": (
        f"apiVersion: v1\nkind: Config\nclusters: [{{name: k, cluster: {{certificate-authority-data: {CA},\n"
        "  server: 'https://10.0.0.1:6443'}}]\ncontexts:\n- {name: c, context: {cluster: k, user: u}}\n"
        'current-context: c\nusers:\n- name: u\n  user: {"exec":{"command":gke-exec, args: ["--a", "b"]}}\n'
    ),
    "kubeconfig with blocks": (
        "apiVersion: v1\nkind: Config\nclusters:\n  - cluster:\n      certificate-authority-data: >-\n"
        f"        {CA}\n      server: |-\n        https://10.0.0.1:6443\n    name: k\n"
        "contexts:\n-\n  name: c\n  context:\n    cluster: k\n    user:\n      u\ncurrent-context: c\n"
        "users:\n- name: 'u'\n  user:\n    exec:\n      command: gke-exec\n      args:\n      - --a\n      - b\n"
    ),
    "kubeconfig as JSON": json.dumps({"current-context": "c", "users": [USER]}, indent=1),
    "bootstrap token": "token: 07401b.f395accd246ae52d\n",
    "a block at the column of its key": "a:\n|\n b\nc: d\n",
    "arguments of EKS": 'args:\n  - token\n  - -i\n  - "my-cluster"\n',
    "nothing": "# c\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files_as_people_have_them(name: str) -> None:
    assert load(FILES[name]) == kubelet_yaml.load(FILES[name])


def test_tabs_that_pyyaml_refuses_and_the_kubelet_skips() -> None:
    text = "a:\tb\t# c\nd: [e,\t\n\tf]\ng: h\ti\t\nj: 'k'\t\n"
    assert load(text) == {"a": "b", "d": ["e", "f"], "g": "h\ti", "j": "k"}


BLANK = "put it in quotes if it is text"
ANCHOR = "line 1: the anchor{} can have two meanings: write the value out where it is used"
TWICE = "line 4: the key{} is there twice: keep one"
LONG_KEY = (
    "line 2: what stands before the colon is longer than a line or 1024 characters: "
    "check indentation, quotes and brackets above it"
)
# What is refused: the text, the message, and the message beside secrets if that is another one.
REFUSED: tuple[tuple[str, str, str], ...] = (
    ("a: &x 1\nb: *x\n", ANCHOR.format(" `&x`"), ANCHOR.format("")),
    ("a: 1\nb: *x\n", "line 2: the alias `*x` can have two meanings: write the value out", ""),
    ("a:\n  <<: {b: 1}\n", "line 2: the merge key `<<` can have two meanings: write the keys out", ""),
    ("a: !!str 1\n", "line 1: the tag `!!str` can have two meanings: leave it out, and put text in quotes", ""),
    ("%TAG ! x\n", f"line 1: the directive or mark `%TAG` is not allowed: leave the line out, or {BLANK}", ""),
    ("a: 1\n\nb: 2\na: 1\n", TWICE.format(" `a`"), TWICE.format("")),
    ('{"a": 1,\n "a": 2}', 'line 2: the key `"a"` is there twice: keep one', ""),
    ("1: a\n'1': b\n", "line 2: the key `'1'` is there twice: keep one", ""),
    ("? a\n: b\n", f"line 1: the mark `?` begins a key of another form: write `key: value`, or {BLANK}", ""),
    ("a: {{ pods }}\n", "line 1: the key `{` is not text: put it in quotes, or resolve its template", ""),
    ("1.5: a\n", "line 1: the key `1.5` is not text: put it in quotes, or resolve its template", ""),
    ("~: a\n", "line 1: the key `~` is not text: put it in quotes, or resolve its template", ""),
    ("a: .inf\n", f"line 1: no configuration can hold the number `.inf`: {BLANK}", ""),
    ("a: 1\n  b: 2\n", LONG_KEY, ""),
    ("a:\n    b: 1\n  c: 2\n", "line 3: its indentation matches no line above it: correct it", ""),
    ("a:\n\tb: 1\n", "line 2: a tab is used where YAML requires spaces: indent with spaces", ""),
    ("a: b\n\tc\n", "line 2: a tab is used where YAML requires spaces: indent with spaces", ""),
    ("a: |\n \tb\n", "line 2: a tab is used where YAML requires spaces: indent with spaces", ""),
    ("a: 'b\n", "line 1: the text in ' does not end in this document: close it", ""),
    ('a: "\\d"\n', "line 1: the escape `\\d` does not exist: double the backslash, or use single quotes", ""),
    ("a: 'b' c\n", f"line 1: the value ends before `c`: {BLANK}, all of it", ""),
    ("a: - b\n", f"line 1: a list does not begin on the line of its key: begin a new line, or {BLANK}", ""),
    ("a: b: c\n", f"line 1: a value holds a colon before a blank: {BLANK}, or begin the inner map on a new line", ""),
    ("a\nb: c\n", LONG_KEY, ""),
    ("a: 1\nb\n", "line 2: the line is not `key: value`: add the colon and a blank", ""),
    ("- a\nb: c\n", "line 2: this line belongs to nothing above it: check its indentation", ""),
    ("{a: 1}\nb: c\n", "line 2: this line belongs to nothing above it: check its indentation", ""),
    ("a: [b\nc: d\n", LONG_KEY, ""),
    ("a: [b\n'c'\n", f"line 2: a `,` or `]` is missing: add it, or {BLANK}", ""),
    ("a: [b,\n", "line 2: the text ends within brackets: close them", ""),
    ("a: [b}\n", f"line 1: a `,` or `]` is missing: add it, or {BLANK}", ""),
    ("a: {b:}\n", f"line 1: the colon after `b:` needs a blank: add one, or {BLANK}", ""),
    ("a: [,]\n", "line 1: no value can begin with `,`: put text in quotes", ""),
    ("a: @b\n", "line 1: no value can begin with `@`: put text in quotes", ""),
    ("a: |x\n  b\n", "line 1: only a sign, a digit and a comment can follow `|`: put text in quotes", ""),
    ("a: \x07\n", "line 1: the invisible character U+0007 is not allowed: remove it", ""),
    ("a: b\u2028c\n", "line 1: the invisible character U+2028 is not allowed: remove it", ""),
    ("...\na: 1\n", "line 1: the document ends before it begins: remove the line", ""),
    ("a: " + "[" * 5000, "line 1: it is nested too deeply: check that this is the right file", ""),
    ("- " * 5000, "line 1: it is nested too deeply: check that this is the right file", ""),
)


@pytest.mark.parametrize(("text", "message", "unquoted"), REFUSED, ids=lambda text: text[:20])
def test_the_words_of_a_refusal(text: str, message: str, unquoted: str) -> None:
    with pytest.raises(Unreadable) as raised:
        load(text)
    assert str(raised.value) == message
    assert raised.value.unquoted == (unquoted or raised.value.unquoted)


SCALARS = st.one_of(st.booleans(), st.none(), st.integers(-(10**9), 10**9), st.text(max_size=12))
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(
    st.dictionaries(st.text(min_size=1, max_size=8), TREES, max_size=4), st.booleans(), st.sampled_from([None, True])
)
# A no-break space is no blank of YAML.
@example({"0\xa0": None}, True, None)
@example({"a": "\xa0b\u3000"}, True, None)
def test_what_pyyaml_writes_is_read(tree: dict[str, object], unicode: bool, flow: bool | None) -> None:
    text = yaml.safe_dump(tree, default_flow_style=flow, allow_unicode=unicode)
    try:
        expected = kubelet_yaml.load(text)
    except kubelet_yaml.Unlike:
        return
    try:
        assert load(text) == expected
    except Unreadable as error:
        assert any(word in str(error) for word in ("another form", "invisible character", "than a line", "no text"))


# What PyYAML reads and this reader refuses: the kubelet refuses it too, or it can have two meanings.
OURS = (
    *("can have two meanings", "another form", "is not text", "is there twice", "invisible character"),
    *("no configuration", "needs a blank", "directive", "does not exist", "ends before it begins"),
)
# What PyYAML refuses and the kubelet reads: the escape of a single quote, a comment right behind `|`.
THEIRS = ('found unknown escape character "\'"', "but found '#'")


def of_json(text: str) -> t.Any:
    """Return what a JSON text holds: the kubelet reads it so, with tabs and line breaks that YAML does not allow."""
    try:
        return json.loads(text)
    except ValueError:
        return ...


def differences(seeds: range) -> tuple[list[tuple[str, t.Any, t.Any]], int]:
    """Return the documents that our reader and PyYAML read differently, and how many both read."""
    found, both = [], 0
    for seed in seeds:
        text = document(seed)
        ours: t.Any
        theirs: t.Any
        try:
            theirs = kubelet_yaml.load(text)
        except (yaml.YAMLError, kubelet_yaml.Unlike, ValueError) as error:
            theirs = error
        try:
            ours = load(text)
        except Unreadable as error:
            ours = error
        if isinstance(ours, Exception):
            alike = isinstance(theirs, Exception) or any(reason in str(ours) for reason in OURS)
        elif isinstance(theirs, Exception):
            alike = any(reason in str(theirs) for reason in THEIRS) or ours == of_json(text)
        else:
            # JSON is read as it is, and its floats remain.
            alike = json.dumps(kubelet_yaml.rounded(ours), sort_keys=True) == json.dumps(theirs, sort_keys=True)
            both += 1
        one_refuses = isinstance(ours, Exception) or isinstance(theirs, Exception)
        # PyYAML refuses tabs within a line, which the kubelet skips: what both read must still be the same.
        if not alike and not (one_refuses and "\t" in text):
            found.append((text, ours, theirs))
    return found, both


@pytest.mark.parametrize(
    "seeds",
    [
        range(600),
        *(pytest.param(range(at, at + 10_000), marks=pytest.mark.long) for at in range(0, 100_000, 10_000)),
    ],
    ids=lambda seeds: f"{seeds.start}-{seeds.stop}",
)
def test_any_document_is_read_as_pyyaml_reads_it_by_the_kubelets_rules(seeds: range) -> None:
    found, both = differences(seeds)
    assert not found, (len(found), found[0])
    assert both > len(seeds) / 4


# Each answer is that of sigs.k8s.io/yaml.
TEXTS = ("9" * 400, "-1e400", "0x", "+-1", "._1", ".1__0", ".1_", ".", "-.nan", "<<", "\u0661", "1\u0661")
WORDS: dict[str, t.Any] = {
    **{text: text for text in TEXTS},
    "9223372036854775808": 2**63,
    "18446744073709551615": 2**64 - 1,
    "18446744073709551616": 2.0**64,
    "-9223372036854775808": -(2**63),
    "-9223372036854775809": -(2.0**63),
    "0" * 200 + "17": 15,
    "1e-400": 0.0,
    "-0": 0,
    "-052": -42,
    "-0b11": -3,
    "09": 9.0,
    "0_": 0,
    "-_5": -5,
    ".1_0": 0.1,
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
