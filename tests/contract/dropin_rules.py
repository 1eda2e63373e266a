# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet does with its drop-in folder. test_dropins.py asks a simulated one, and
tests/e2e_modern/test_dropin_contract.py a real one.
"""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.support.lab_node.dropin_contract import ABSENT, LIVE, REFUSED, ask, differences, model, recorded
from tests.support.lab_node.dropin_node import HEADER, dropin


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
