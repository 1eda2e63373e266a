# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet does with its drop-in folder: a simulated one of each version whose answers are recorded, or with
`--on modern` a real one. A new minor that differs fails here.

`_config/fields/merged_dropins.py` models these rows, and must agree with the kubelet about every field.
"""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml

from tests.contract.machines import modern
from tests.sim.cluster import Cluster
from tests.support.lab_node.dropin_contract import ABSENT, LIVE, REFUSED, ask, differences, model, recorded
from tests.support.lab_node.dropin_node import HEADER, dropin, with_folder

VERSIONS = {"sim": sorted(recorded()), "lab": [], "modern": ["newest", pytest.param("earlier", marks=pytest.mark.long)]}


class Contracted(t.Protocol):
    """A node whose kubelet has a drop-in folder."""

    version: str

    def write(self, base: dict[str, t.Any], files: dict[str, str]) -> None:
        """Replace the fields of the config file, and all files of the folder."""

    def base(self) -> dict[str, t.Any]:
        """Return the config file as it is."""

    def flags(self, *words: str) -> None:
        """Give the kubelet these words more from its next start on."""

    def live(self) -> dict[str, t.Any]:
        """Restart the kubelet; return what it runs then."""

    def last_words(self) -> str:
        """Return the last message of the kubelet's binary for these files, with a kubeconfig that does not exist."""


class SimulatedNode:
    """A node of the simulation whose kubelet has a drop-in folder. Its own file is that of the real node."""

    def __init__(self, cluster: Cluster, version: str) -> None:
        self.version = version
        self._own = recorded()[version].own
        self._kubelet = cluster.simulate("n3", version, folder=True, own=json.dumps(self._own))

    def write(self, base: dict[str, t.Any], files: dict[str, str]) -> None:
        self._kubelet.write(json.dumps({**self._own, **base}), files)

    def base(self) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", yaml.safe_load(self._kubelet.own))

    def flags(self, *words: str) -> None:
        """Give it `--max-pods`, or nothing."""
        given = dict(word.removeprefix("--").split("=") for word in words)
        self._kubelet.flags = {"maxPods": int(given["max-pods"])} if given else {}

    def live(self) -> dict[str, t.Any]:
        self._kubelet.restart()
        assert self._kubelet.running, self._kubelet.words
        return t.cast("dict[str, t.Any]", json.loads(self._kubelet.answer("/configz").content())["kubeletconfig"])

    def last_words(self) -> str:
        """Return its last words. One that takes its files opens its kubeconfig next."""
        self._kubelet.restart()
        return self._kubelet.words or "kubeconfig: stat /nowhere: no such file or directory"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Ask kubelets of these versions. Those of the lab of 1.20 have no folder."""
    if "node" in metafunc.fixturenames:
        versions = VERSIONS[metafunc.config.getoption("on")]
        metafunc.parametrize("node", versions, indirect=True, scope="module")


@pytest.fixture(scope="module")
def node(request: pytest.FixtureRequest) -> t.Iterator[Contracted]:
    if request.config.getoption("on") == "sim":
        with Cluster(request.param, tls=False) as cluster:
            yield SimulatedNode(cluster, request.param)
        return
    with modern() as lab, with_folder(lab, "n3", request.param) as real:
        yield real


@pytest.mark.parametrize("name", LIVE)
def test_what_is_live(node: Contracted, name: str) -> None:
    """As in the table; and in every other field as in the model."""
    row, minor = LIVE[name], int(node.version.split(".")[1])
    live = ask(node, row)
    assert {field: live.get(field, ABSENT) for field in row.live} == row.live
    assert differences(live, model(node.base(), row.dropins, minor), minor) == []
    answers = recorded().get(node.version)
    if answers:
        # The unit tests use what was recorded.
        assert {field: live.get(field, ABSENT) for field in answers.rows[name]} == answers.rows[name]


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.fault(case=5)
def test_what_ends_the_kubelet(node: Contracted, name: str) -> None:
    """The binary ends before it opens its kubeconfig; the last row is a file that it takes."""
    text, words = REFUSED[name]
    node.write({}, {"1.conf": text})
    assert words in node.last_words()


def test_json_is_taken(node: Contracted) -> None:
    node.write({}, {"1.conf": json.dumps({**HEADER, "maxPods": 73})})
    assert node.live()["maxPods"] == 73


@pytest.mark.fault(case=10)
def test_flags_win_over_all(node: Contracted) -> None:
    node.write({}, {"1.conf": dropin({"maxPods": 79})})
    try:
        node.flags("--max-pods=80")
        assert node.live()["maxPods"] == 80
    finally:
        node.flags()
