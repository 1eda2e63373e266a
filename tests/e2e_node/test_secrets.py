# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A secret of a configuration is neither in a run's output nor in the node's journal.

The entries of the kubelet itself are not searched.
"""

from __future__ import annotations

import json

import pytest

from tests.support.lab_node.role_bench import Role

SECRET = "planted-secret-4711"
CALLS = ("state=assigned", "state=restarted", "state=reset", "state=removed")


def journal(role: Role, cursor: str) -> list[str]:
    """Return the messages since a cursor, without those of the kubelet."""
    text = role.node.run(f"journalctl --sync; journalctl --output=json --after-cursor='{cursor}'")
    entries = [json.loads(line) for line in text.splitlines()]
    return [
        str(entry.get("MESSAGE"))
        for entry in entries
        if not {entry.get("_SYSTEMD_UNIT"), entry.get("SYSLOG_IDENTIFIER")} & {"kubelet.service", "kubelet"}
    ]


def cursor(role: Role) -> str:
    return role.node.run("journalctl -n 0 --show-cursor").rpartition("cursor: ")[2].strip()


def check(role: Role, begin: str, *outputs: str) -> None:
    """The modules have logged their calls, without the secret and without the configuration."""
    messages = journal(role, begin)
    assert [text for text in outputs if SECRET in text] == []
    assert [text for text in messages if SECRET in text] == []
    for call in CALLS:
        assert [text for text in messages if "Invoked with" in text and call in text], call
    assert [text for text in messages if "Invoked with" in text and "KubeletConfiguration" in text] == []


@pytest.mark.fault(case=45)
def test_a_secret_of_the_configuration(role: Role) -> None:
    begin = cursor(role)
    config = {**role.local, "maxPods": 77, "staticPodURLHeader": {"Authorization": [f"Bearer {SECRET}"]}}
    switched = role.play(role.bench.source(), config, "-vvvv", "--diff", kubelet_config_trial_seconds=1)
    assert switched.code == 0, switched.output
    assert SECRET in role.node.run("cat /var/lib/kubelet-config/active/kubelet")
    assert "********" in switched.output
    refused = role.play(role.bench.source("2"), {**config, "kubeAPIQPS": -1}, "-vvvv", "--diff")
    assert refused.code and "kubeAPIQPS" in refused.output, refused.output
    reset = role.play(None, "", "-vvvv", "--diff", tasks_from="reset")
    assert reset.code == 0, reset.output
    check(role, begin, switched.output, refused.output, reset.output)
