# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A security profile on simulated nodes: what it finds before and after its rollout, and the evidence."""

from __future__ import annotations

import json
import typing as t
from xml.etree import ElementTree

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.profile import profiles
from tests.sim.nodes.node import SimNode
from tests.support.plays.ansible import Ansible, Run

CIS = "cis-1.12"
SET = {item.id for item in profiles.CIS_1_12 if item.sets is not None}
"""What the profile itself sees to."""
TERMS = {"owner": "ops", "until": "9999-12-31", "reason": "of the simulation"}


def checked(ansible: Ansible, **variables: t.Any) -> tuple[Run, dict[str, dict[str, dict[str, t.Any]]]]:
    """Run the playbook; return it with the rows by node and item."""
    folder = ansible.home / "evidence"
    given = {"kubelet_config_profile": CIS, "kubelet_config_compliance_dir": str(folder), **variables}
    run = ansible.playbook("comply", "-e", json.dumps(given))
    found = json.loads((folder / "compliance.json").read_text(encoding="utf-8"))["nodes"]
    return run, {name: {row["item"]: row for row in node["rows"]} for name, node in found.items()}


def test_after_a_rollout_everything_passes_that_a_profile_sets(ansible: Ansible, nodes: dict[str, SimNode]) -> None:
    before, rows = checked(ansible)
    assert before.code != 0 and "compliance: 2 nodes" in before.output, before.output
    assert rows["n2"]["4.2.13"]["verdict"] == "fail"
    refused = ansible.playbook("rollout", "-e", json.dumps({"kubelet_config_profile": CIS}))
    assert refused.code != 0 and "seccompDefault: the effect of the change is drain" in refused.output
    given = {"kubelet_config_profile": CIS, "kubelet_config_allow_effect": "drain"}
    done = ansible.playbook("rollout", "-e", json.dumps(given))
    assert done.code == 0, done.output
    _after, rows = checked(ansible)
    for name, node in nodes.items():
        assert {item: rows[name][item]["verdict"] for item in SET} == dict.fromkeys(SET, "pass"), rows[name]
        assert node.configz()["podPidsLimit"] == 4096
    # A checkpoint takes the place of the file, a drop-in lies over it: the file does not have the value.
    assert rows["n1"]["4.2.13"]["origin"].startswith("file /var/lib/kubelet-config/store/checkpoints/")
    assert rows["n2"]["4.2.13"]["origin"] == "drop-in /var/lib/kubelet-config/conf.d/90-livenodes-kubelet.conf"
    assert rows["n2"]["4.1.9"]["verdict"] in ("pass", "fail"), rows["n2"]["4.1.9"]

    left = {row["item"] for each in rows.values() for row in each.values() if row["verdict"] == "fail"}
    excepted = dict.fromkeys(left, TERMS)
    run, rows = checked(ansible, kubelet_config_exceptions=excepted)
    assert left and run.code == 0, run.output
    assert {row["item"] for each in rows.values() for row in each.values() if row["verdict"] == "excepted"} == left
    top = ElementTree.parse(ansible.home / "evidence/compliance.xml").getroot()
    assert [suite.get("failures") for suite in top] == ["0", "0"]
    page = (ansible.home / "evidence/compliance.html").read_text(encoding="utf-8")
    assert "Compliant" in page and "Not compliant" not in page

    ended = {**excepted, min(left): {**TERMS, "until": "2026-01-01"}}
    run, _rows = checked(ansible, kubelet_config_exceptions=ended)
    assert run.code != 0 and "the exception by ops ended on 2026-01-01" in run.output, run.output
