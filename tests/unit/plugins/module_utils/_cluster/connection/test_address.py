# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster in words is the one that a client of the same options talks to."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import kubernetes
import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import client_configuration
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.connection import address

pytestmark = pytest.mark.usefixtures("bare_environment")


def config(name: str, *more: str) -> dict[str, t.Any]:
    """A kubeconfig whose current context is the first name."""
    names = (name, *more)
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": f"c-{one}", "cluster": {"server": f"https://{name}-{one}:6443"}} for one in names],
        "users": [{"name": "u", "user": {"token": "hunter2"}}],
        "contexts": [{"name": one, "context": {"cluster": f"c-{one}", "user": "u"}} for one in names],
    }


@pytest.fixture
def two(tmp_path: Path) -> str:
    """The paths of two files, of which the second repeats a context of the first, and of one that does not exist."""
    (tmp_path / "a").write_text(json.dumps(config("a", "b")))
    (tmp_path / "b").write_text(json.dumps(config("b", "c")))
    return f"{tmp_path}/none:{tmp_path}/a:{tmp_path}/b"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "https://u:hunter2@h:1"}, "https://********@h:1"),
        ({"kubeconfig": config("a")}, "https://a-a:6443 (context a of a kubeconfig given as a mapping)"),
        ({}, "https://a-{current}:6443 (context {current} of {two})"),
        ({"context": "b"}, "https://a-b:6443 (context b of {two})"),
        ({"context": "c"}, "https://b-c:6443 (context c of {two})"),
    ],
)
def test_it_is_that_of_the_client(
    options: dict[str, t.Any], words: str, two: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", two)
    found = address.in_words(options)
    # The client takes the last one, until 31 the first one, as kubectl does.
    current = kubernetes.config.list_kube_config_contexts(two)[1]["name"]
    assert found == words.replace("{two}", two).replace("{current}", current)
    server = client_configuration.of(options).host
    assert "@" in server or found.startswith(server)


def test_in_cluster() -> None:
    assert address.in_words({"in_cluster": True}) == "the cluster in which Ansible runs"


@pytest.mark.parametrize("content", ["", "[]", "current-context: x", "contexts: 5", "\t: ["])
def test_what_is_not_known_is_left_to_the_client(content: str, tmp_path: Path) -> None:
    (tmp_path / "k").write_text(content)
    assert address.in_words({"kubeconfig": str(tmp_path / "k")}) == ""
    assert address.in_words({"kubeconfig": 5 * "x"}) == ""
