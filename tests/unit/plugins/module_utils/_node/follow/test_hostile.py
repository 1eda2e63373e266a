# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Forged, replayed, re-ordered, foreign and oversized assignments, of a user whom no policy of the cluster stops.

None leaves the way of every assignment: inspection, limits of root, trial. What a follower refuses touches nothing.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow import decide
from tests.unit.plugins.module_utils._node.follow.test_follower import RESTART, A, World

LARGEST = 1 << 18
"""The most bytes of all annotations of an object."""
DEEP = "[" * LARGEST
BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> World:
    return World(monkeypatch, tmp_path)


def looked(world: World, **notes: str) -> str:
    """Write annotations by their names after the prefix, look, and return why that is refused; nothing was called."""
    world.notes.update({annotation.PREFIX + name: text for name, text in notes.items()})
    world.follower.look()
    assert world.calls == []
    found, fault = following.answer(world.notes)
    assert found is not None and not fault
    return found.refused


def source(**parts: t.Any) -> str:
    """Return the annotation for A with other parts."""
    return annotation.text({"configMap": {**A, **parts}})


@pytest.mark.parametrize(
    ("kind", "notes", "refused"),
    [
        ("forged", {"source": source(name="../secrets/token")}, "source is malformed"),
        ("forged", {"source": source(), "follow": '{"transport": "root"}'}, "follow is malformed: transport"),
        # Its own answer, as another user wrote it, is no reason to believe that the work was done.
        ("forged", {"source": source(uid="u2"), "follower": source(uid="u2")}, "its uid differs"),
        ("replayed", {"source": annotation.text({"configMap": A, "nodeUID": "uid-before"})}, decide.REPLACED),
        ("replayed", {"source": annotation.text({"configMap": A, "machineID": "m0"})}, decide.REPLACED),
        ("replayed", {"source": source(uid="of-the-deleted-one")}, "its uid differs"),
        ("replayed", {"source": source(resourceVersion="6")}, "its resourceVersion differs"),
        ("foreign", {"source": source(namespace="default")}, "namespace kube-system only"),
        ("oversized", {"source": DEEP}, "source is malformed: it is not JSON"),
        ("oversized", {"source": source(), "follow": DEEP}, "follow is malformed: it is not JSON"),
        ("oversized", {"source": source(name="x" * LARGEST)}, "source is malformed"),
    ],
)
def test_refused_annotations(world: World, kind: str, notes: dict[str, str], refused: str) -> None:
    found = looked(world, **notes)
    assert refused in found, kind
    assert len(found) < 1000


@pytest.mark.parametrize(
    ("kind", "change", "refused"),
    [
        ("foreign", {"metadata": {"uid": "u1", "resourceVersion": "7", "labels": {"app": "web"}}}, "no label"),
        ("oversized", {"data": {"kubelet": "{}", "more": "x" * LARGEST * 4}}, "more than"),
        ("oversized", {"data": {"kubelet": DEEP}}, "cannot be read"),
        ("oversized", {"data": {"kubelet": f'{{"clusterDNS": {"[" * 900}{"]" * 900}}}'}}, "cannot be read"),
        ("oversized", {"data": {"kubelet": BOMB}}, "cannot be read"),
    ],
)
def test_refused_configmaps(world: World, kind: str, change: dict[str, t.Any], refused: str) -> None:
    world.configmap.update(change)
    assert refused in looked(world, source=source()), kind


def test_a_forged_effect_is_that_of_the_change(world: World) -> None:
    """Whatever the annotations claim: root on the node has set the limit."""
    world.configmap["data"]["kubelet"] = json.dumps({"cpuManagerPolicy": "static"})
    orders = annotation.text({"attempt": 2, "effect": "reboot", "allow_unchecked": True, "namespace": "default"})
    assert "allows disrupt at most" in looked(world, source=source(), follow=orders)


def test_an_oversized_answer_is_replaced(world: World) -> None:
    world.notes[following.FOLLOWER] = DEEP
    assert world.look().refused == ""
    assert world.calls == [("assigned", None), RESTART]
