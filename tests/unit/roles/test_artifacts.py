# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The artifacts of a rollout for later jobs of a workflow stay small, whatever the length of names and reasons."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.ansible import bare

RESULT = Path(__file__).resolve().parents[3] / "roles/rollout/tasks/result.yml"
LIMIT = 4096


def test_a_hundred_failed_nodes_with_long_reasons(tmp_path: Path) -> None:
    """All are counted, but only the first five are named with their reasons."""
    hosts = [f"{index:03}-{'n' * 249}" for index in range(120)]
    rollout = {
        "group": "g" * 5000,
        "hosts": hosts,
        "rest": ["r1", "r2"],
        "skipped": {"s1": "not Ready"},
        "failed": dict.fromkeys(hosts[:100], "why " * 1000),
        "batches": [{"hosts": {hosts[0]: hosts[0]}, "done": 110}],
        "max_failed": 200,
        "lease": {},
        "name": "",
        "undoes": None,
    }
    published = f"{{{{ __kubelet_config_rollout | livenodes.kubelet.rollout('result', '{hosts[0]}') }}}}"
    play = [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "tasks": [
                {
                    "ansible.builtin.include_tasks": str(RESULT),
                    "vars": {"rollout_published": published, "__kubelet_config_rollout": rollout},
                },
            ],
        }
    ]
    (tmp_path / "play.yml").write_text(json.dumps(play))
    done = bare(tmp_path, "play.yml", ANSIBLE_SHOW_CUSTOM_STATS="true")
    assert done.code == 0, done.output
    text = done.output.partition("RUN: ")[2].strip()
    found = json.loads(text)["kubelet_rollout"]
    # ansible-core 2.17 returns a text.
    counts = {"changed": 10, "untouched": 10, "unchanged": 2, "failed": 100, "skipped": 1}
    assert {name: int(found[name]) for name in counts} == counts
    assert list(found["failures"]) == hosts[:5]
    assert len(text) < LIMIT
