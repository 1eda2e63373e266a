# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of drop-ins on the simulation, with the versions of which the answers of a real kubelet are recorded."""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml

from tests.contract.dropin_rules import (  # noqa: F401  # pylint: disable=unused-import  # tests
    test_flags_win_over_all,
    test_json_is_taken,
    test_what_ends_the_kubelet,
    test_what_is_live,
)
from tests.sim.cluster import Cluster
from tests.support.lab_node.dropin_contract import recorded


class SimulatedNode:
    """A node of the simulation whose kubelet has a drop-in folder. Its own file is that of the real node."""

    def __init__(self, cluster: Cluster, version: str) -> None:
        self.version = version
        self._own = recorded()[version].own
        self._kubelet = cluster.simulate("n3", version, folder=True, own=json.dumps(self._own))

    def write(self, base: dict[str, t.Any], files: dict[str, str]) -> None:
        """Replace the fields of the config file, and all files of the folder."""
        self._kubelet.write(json.dumps({**self._own, **base}), files)

    def base(self) -> dict[str, t.Any]:
        """Return the config file as it is."""
        return t.cast("dict[str, t.Any]", yaml.safe_load(self._kubelet.own))

    def flags(self, *words: str) -> None:
        """Give it `--max-pods`, or nothing."""
        given = dict(word.removeprefix("--").split("=") for word in words)
        self._kubelet.flags = {"maxPods": int(given["max-pods"])} if given else {}

    def live(self) -> dict[str, t.Any]:
        """Restart the kubelet; return what it runs then."""
        self._kubelet.restart()
        assert self._kubelet.running, self._kubelet.words
        return t.cast("dict[str, t.Any]", json.loads(self._kubelet.answer("/configz").content())["kubeletconfig"])

    def last_words(self) -> str:
        """Return its last words. One that takes its files opens its kubeconfig next."""
        self._kubelet.restart()
        return self._kubelet.words or "kubeconfig: stat /nowhere: no such file or directory"


@pytest.fixture(scope="module", params=sorted(recorded()))
def node(request: pytest.FixtureRequest) -> t.Iterator[SimulatedNode]:
    """Yield a node of a version."""
    with Cluster(request.param, tls=False) as cluster:
        yield SimulatedNode(cluster, request.param)
