# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The command `make sim`: which kubelets get a node of their own, and what kubectl cannot do with it."""

from __future__ import annotations

import pytest

from tests.sim import __main__ as command
from tests.sim.api.handlers import Request
from tests.sim.api.refusal import Refusal


@pytest.mark.parametrize(
    ("versions", "on_node"),
    [
        ({"": "v1.20.2"}, {}),
        ({"": "v1.23.17", "n2": "v1.24.0"}, {"n2": "v1.24.0"}),
        # This API server drops spec.configSource.
        ({"": "v1.36.2", "n2": "v1.20.2"}, {"n1": "v1.36.2", "n2": "v1.20.2"}),
    ],
)
def test_a_kubelet_from_1_24_on_gets_a_node(versions: dict[str, str], on_node: dict[str, str]) -> None:
    """Its configuration is a file, and a role cannot write it on the controller."""
    assert command._on_node(["n1", "n2"], versions, {}) == on_node


@pytest.mark.parametrize(
    ("count", "states", "words"),
    [
        (command.MOST_ON_NODE + 1, {}, "21 kubelets need a simulated node each"),
        (2, {"n2": "deaf"}, "only for kubelets and API servers before 1.24: leave out n2"),
    ],
)
def test_what_nodes_cannot_be(count: int, states: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        command._on_node([f"n{number + 1}" for number in range(count)], {"": "v1.36.2"}, states)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--kubelet", "n9=down"], "there is no node n9, only n1, n2, n3"),
        (["--kubernetes", "n9=v1.22.2"], "there is no node n9"),
        (["--fault", "status=503 node=n9"], "there is no node n9"),
        (["--kubelet", "n1"], "n1 is no state of a kubelet: use NODE=STATE"),
        (["--scale", "0"], "--scale must be above 0"),
    ],
)
def test_what_cannot_be_used_is_named(
    arguments: list[str], words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that no node has ended in a KeyError, or changed nothing."""
    monkeypatch.setattr("sys.argv", ["tests.sim", *arguments])
    # What is accepted would run until Ctrl-C.
    monkeypatch.setattr(command, "Cluster", None)
    with pytest.raises(SystemExit):
        command.main()
    assert words in capsys.readouterr().err


def test_a_body_in_protobuf_names_the_way_with_json() -> None:
    with pytest.raises(Refusal, match=r"kubectl apply -f -") as caught:
        Request("POST", "/api/v1/namespaces/kube-system/configmaps", body=b"k8s\0\n\xff\x12").json()
    assert caught.value.status == 415
