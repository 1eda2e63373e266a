# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The meta files: byte for byte what a kubelet writes; everything else is refused."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import meta
from tests.support.node.stored import source

# Read from /var/lib/kubelet/dynamic-config/store/meta/assigned of a 1.20.2 kubelet, which quotes the name of a number.
NATIVE = b"""apiVersion: kubelet.config.k8s.io/v1beta1
kind: SerializedNodeConfigSource
source:
  configMap:
    kubeletConfigKey: kubelet
    name: c1
    namespace: kube-system
    resourceVersion: "255"
    uid: 5901b34c-f5b6-4232-809a-484336bd1dcf
"""
QUOTED = NATIVE.replace(b"name: c1", b'name: "1e3"')
SOURCE = source("c1", uid="5901b34c-f5b6-4232-809a-484336bd1dcf", resourceVersion="255")


def test_bytes_of_a_kubelet() -> None:
    for found, data in ((SOURCE, NATIVE), ({**SOURCE, "name": "1e3"}, QUOTED), (None, b"")):
        assert meta.decode(data) == found and meta.encode(found) == data


def test_what_a_kubelet_reads_too() -> None:
    """JSON, unknown keys, single quotes, another order."""
    known = {"configMap": {**SOURCE, "more": "x"}}
    wrapped = {"kind": meta.KIND, "apiVersion": meta.API_VERSION, "source": known, "later": 1}
    assert meta.decode(json.dumps(wrapped).encode()) == SOURCE
    assert meta.decode(NATIVE.replace(b'"255"', b"'255'") + b"later: x\n") == SOURCE


@pytest.mark.parametrize(
    "data",
    [
        *(b"\n", b" ", b"\0" * 239, b"\xff\xfe", b"[]", b"{", b"{}", b"source: {}\n"),
        NATIVE[:100],
        NATIVE.replace(b"uid", b"wid"),
        NATIVE.replace(b'"255"', b"255"),
        NATIVE.replace(b'"255"', b""),
        NATIVE.replace(b"v1beta1", b"v1"),
        NATIVE.replace(b"kind: S", b"kind: T"),
        NATIVE.replace(b"name: c1", b"name: ../c1"),
        NATIVE.replace(b"    uid", b"   uid"),
        NATIVE.replace(b"5901b34c", b"../5901"),
        NATIVE + b"kind: x\n",
        NATIVE.replace(b"name: c1", b"name: &a c1"),
        NATIVE.replace(b"name: c1", b"name: null"),
    ],
)
def test_damage_is_reported(data: bytes) -> None:
    with pytest.raises(meta.SourceError) as caught:
        meta.decode(data)
    assert str(caught.value)


UNFIT: dict[str, tuple[object, ...]] = {
    "uid": ("../x", ".", "..", "a/b", "", "a.sha256", "tmp_1"),
    "resourceVersion": ("1/2", "7.sha256", 274, None),
    "kubeletConfigKey": ("a/b", "..", "a b"),
    "name": ("A", "-a", "a" * 254),
    "namespace": ("a.b", "a\n"),
}


@pytest.mark.parametrize(("part", "value"), [(part, value) for part, unfit in UNFIT.items() for value in unfit])
def test_unfit_sources(part: str, value: object) -> None:
    with pytest.raises(meta.SourceError, match=part):
        meta.encode({**SOURCE, part: value})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "key", ["", ".", "..", "..data", "a/b", "/etc/passwd", "a\0", "tmp_kubelet", "ü", "a" * 254, "a\n", "-\\"]
)
def test_unfit_keys(key: str) -> None:
    with pytest.raises(meta.SourceError, match="base names"):
        meta.check_key(key)


@pytest.mark.parametrize(
    "value", ["1e3", "274", "0x1f", "1.5", "true", "no", "on", "null", "2026-01-01", "0b1", "017", "y"]
)
def test_values_yaml_reads_as_other_types_are_quoted(value: str) -> None:
    assert f'name: "{value}"\n'.encode() in meta.encode({**SOURCE, "name": value})


def possible(form: re.Pattern[str]) -> st.SearchStrategy[str]:
    """Return what fits a form. Without its lookahead: hypothesis would write that text before the rest."""
    return st.from_regex(re.sub(r"^\(\?=.*?\)", "", form.pattern), fullmatch=True).filter(form.fullmatch)


@given(st.fixed_dictionaries({part: possible(form) for part, form in meta._FORMS.items()}))
def test_round_trip(known: meta.Source) -> None:
    try:
        data = meta.encode(known)
    except meta.SourceError:
        return
    assert meta.decode(data) == known


DAMAGED = st.builds(lambda at, new: NATIVE[:at] + new + NATIVE[at + 1 :], st.integers(0, 238), st.binary(max_size=3))


@given(st.binary(max_size=400) | st.text(max_size=400).map(str.encode) | DAMAGED)
def test_any_bytes(data: bytes) -> None:
    """A source, local for the empty file alone, or a SourceError: never another exception."""
    try:
        found = meta.decode(data)
    except meta.SourceError:
        return
    assert (found is None) == (data == b"")
