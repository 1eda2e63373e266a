# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The source that each node must have, from a module's options."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import config_sources
from tests.support.calls import CONFIGMAPS, Call, Calls
from tests.support.objects import configmap, place, reference


def wanted(**given: t.Any) -> dict[str, config_sources.Wanted]:
    return config_sources.wanted(
        {"state": "present", "nodes": None, "source": None, "sources": None, "delivery": "auto", **given}
    )


@pytest.mark.parametrize(
    ("given", "source", "delivery"),
    [
        (
            {"nodes": ["n1"], "source": {"namespace": "s", "name": "a", "kubelet_config_key": "k"}},
            {"namespace": "s", "name": "a", "kubeletConfigKey": "k"},
            "auto",
        ),
        ({"sources": {"n1": reference()}}, place(), "auto"),
        ({"sources": {"n1": {**reference(), "delivery": "native"}}, "delivery": "checkpoint"}, place(), "native"),
        (
            {"sources": {"n1": {"namespace": "s", "name": "a"}}, "delivery": "checkpoint"},
            {"namespace": "s", "name": "a", "kubeletConfigKey": "kubelet"},
            "checkpoint",
        ),
        ({"state": "absent", "nodes": ["n1"]}, None, "auto"),
        ({"state": "absent", "sources": {"n1": reference()}}, None, "auto"),
    ],
)
def test_wanted(given: dict[str, t.Any], source: dict[str, str] | None, delivery: str) -> None:
    assert wanted(**given) == {"n1": config_sources.Wanted(source, delivery)}


@pytest.mark.parametrize(
    "source", [None, "config-a", {}, {"name": "a"}, {"namespace": "s"}, {"namespace": "", "name": "a"}, ["a"]]
)
def test_incomplete_sources(source: t.Any) -> None:
    with pytest.raises(ClusterError, match=r"node n1 is .*; set a mapping with namespace, name and kubeletConfigKey"):
        wanted(sources={"n1": source})


def test_an_unknown_delivery() -> None:
    with pytest.raises(
        ClusterError, match="node n1 has the unknown delivery 'nativ'; set one of auto, native, checkpoint"
    ):
        wanted(sources={"n1": {**place(), "delivery": "nativ"}})


@pytest.mark.parametrize("state", ["present", "absent", "verified"])
def test_an_empty_list_of_nodes(state: str) -> None:
    with pytest.raises(ClusterError, match="nodes is an empty list"):
        wanted(state=state, nodes=[], source=place())


def test_each_configmap_is_read_once() -> None:
    with Calls(
        Call("GET", f"{CONFIGMAPS}/config-a", configmap()),
        Call("GET", f"{CONFIGMAPS}/config-b", ApiError(403, "forbidden")),
    ) as session:
        found = config_sources.find(session, [place(), reference(), place("config-b")])
    assert found == {
        "kube-system/config-a key kubelet": config_sources.Found(configmap(), None),
        "kube-system/config-b key kubelet": config_sources.Found(None, "the ConfigMap could not be read: forbidden"),
    }
