# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets are masked in messages about a configuration, and unknown fields are completed."""

from __future__ import annotations

import json

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import config_summary


def test_secrets_in_the_config_are_not_in_the_messages() -> None:
    text = '{"staticPodURLHeader": {"Authorization": ["Bearer hunter2"]}, "maxPods": "5"}'
    message = f"failed to load, error failed to decode: in {text} bigger context ...|hunt"
    [shown] = config_summary.without_secrets([message], text)
    assert "hunt" not in shown and "maxPods" in shown
    unread = "staticPodURLHeader: &a {Authorization: [hunter2]}"
    [shown] = config_summary.without_secrets([f"failed to load config /x, error {unread}"], unread)
    assert shown.startswith("failed to load config /x, (more is not shown")
    assert config_summary.without_secrets(["as it is"], "{}") == ["as it is"]
    [kept] = config_summary.without_secrets(["cannot read `[hunter2`"], unread)
    assert "hunter2" not in kept and config_summary.without_secrets([kept], unread) == [kept]


def test_a_line_that_cannot_be_read_is_not_quoted_beside_a_secret() -> None:
    with pytest.raises(ValueError, match="line 2: the alias can have two meanings: write the value out") as raised:
        config_summary.load("staticPodURLHeader:\n  A: *hunter2\n")
    assert "hunter2" not in str(raised.value)
    with pytest.raises(ValueError, match="hunter2"):
        config_summary.load("clusterDNS: *hunter2\n")


@pytest.mark.parametrize(
    "written",
    ["[hunter2]", "\n  - hunter2", "\n  - |\n    hunter2\n", "\n  - >-\n    hunter2\n    hunter3\n", '[two"hunters]'],
)
def test_a_secret_is_masked_however_it_is_written(written: str) -> None:
    text = f"staticPodURLHeader:\n  A: {written}\n"
    quoted = json.dumps(yaml.safe_load(text))
    [shown] = config_summary.without_secrets([f"failed to decode: {quoted}"], text)
    assert "hunter" not in shown
    assert "failed to decode" in shown


def test_only_messages_of_a_result_are_masked() -> None:
    text = '{"staticPodURLHeader": {"A": ["hunter2", "1"]}}'
    found = {"path": "/hunter2", "problems": [{"message": "has hunter2 and 1"}], "check": {"messages": ["hunter2"]}}
    assert config_summary.shown(found, text) == {
        "path": "/hunter2",
        "problems": [{"message": "has ******** and 1"}],
        "check": {"messages": ["********"]},
    }


def test_fields_that_an_old_kubelet_leaves_unnamed_are_added() -> None:
    text = (
        '{"kind": "K", "maxPodz": 1, "foo": 2, "logging": {"formatt": "x"}, "evictionHard": {"a": "b"}, '
        '"memorySwap": {}}'
    )
    assert config_summary.complete(["formatt"], text, 20) == ["foo", "logging.formatt", "maxPodz", "memorySwap"]
    assert config_summary.complete(["formatt"], text, 34) == ["foo", "logging.formatt", "maxPodz"]
    assert config_summary.complete(["a.b", "maxPodz"], "&not json", 20) == ["a.b", "maxPodz"]
    assert config_summary.complete([], text, 20) == []
