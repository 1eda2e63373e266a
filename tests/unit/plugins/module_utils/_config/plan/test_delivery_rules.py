# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import delivery_rules
from tests.support.table_minors import BEYOND

from . import tables

NATIVE = {"delivery": "native", "source": tables.reference(), "status": tables.status("other")}


@pytest.mark.parametrize(
    ("declared", "minor", "found"),
    [
        ({"evictionHard": None}, 36, [("refusal", "evictionHard", "dropin-null")]),
        ({"evictionHard": {"memory.available": None}}, 36, []),
        ({"evictionSoft": None}, 36, []),
        ({"resolvConf": "/etc/x"}, 30, [("refusal", "resolvConf", "dropin-field")]),
        ({"resolvConf": None}, 31, [("refusal", "resolvConf", "dropin-field")]),
        ({"resolvConf": "/etc/x"}, 32, []),
        ({"mergeDefaultEvictionSettings": True}, 33, [("warning", "mergeDefaultEvictionSettings", "dropin-field")]),
        ({"tlsCertFile": "pki/kubelet.crt"}, 36, [("refusal", "tlsCertFile", "dropin-path")]),
        ({"tlsCertFile": "/pki/kubelet.crt"}, 36, []),
        ({"tlsCertFile": ""}, 36, []),
        ({"noSuchField": None}, 36, [("refusal", "noSuchField", "unknown-field")]),
        ({"noSuchField": None}, BEYOND, [("refusal", "noSuchField", "unknown-field")]),
        ({"maxPods": None}, BEYOND, []),
        ({"crashLoopBackOff": None}, 31, [("refusal", "crashLoopBackOff", "unknown-field")]),
        ({"crashLoopBackOff": None}, 32, []),
    ],
)
def test_what_a_drop_in_must_not_hold(declared: dict[str, Any], minor: int, found: list[tuple[str, str, str]]) -> None:
    problems = delivery_rules.check(declared, minor)
    assert [(problem.severity, problem.path, problem.rule) for problem in problems] == found


@pytest.mark.parametrize(
    ("live", "declared", "found"),
    [
        ({"enforceNodeAllocatable": []}, {}, ["enforceNodeAllocatable"]),
        ({"enforceNodeAllocatable": []}, {"enforceNodeAllocatable": []}, []),
        ({"enforceNodeAllocatable": ["pods"]}, {}, []),
        ({"evictionHard": {}}, {}, []),
        # Absence is no default of its own.
        ({"clusterDNS": []}, {}, []),
    ],
)
def test_which_empty_values_a_drop_in_folder_loses(
    live: dict[str, Any], declared: dict[str, Any], found: list[str]
) -> None:
    problems = list(delivery_rules.forgotten(live, declared, 36))
    assert [problem.path for problem in problems] == found
    assert {(problem.severity, problem.rule) for problem in problems} <= {("warning", "dropin-empty")}


@pytest.mark.parametrize(
    ("version", "row", "delivery", "message", "remedy"),
    [
        (
            "v1.29.3",
            {},
            "dropin",
            "kubelet v1.29.3 does not read drop-ins, which the delivery dropin needs: kubelets from 1.30 on do",
            "Set kubelet_config_delivery to auto or checkpoint for the node.",
        ),
        (
            "v1.30.1",
            NATIVE,
            "dropin",
            "the node has a source by the delivery native, which would override the drop-in",
            "Migrate the node with the playbook migrate, or set kubelet_config_delivery to auto.",
        ),
    ],
)
def test_a_delivery_that_a_node_cannot_get_refuses_its_change_only(
    version: str, row: dict[str, Any], delivery: str, message: str, remedy: str
) -> None:
    table = tables.table({**tables.LIVE}, kubelet_version=version, **row)
    made = tables.planned(table, {"maxPods": 50}, deliveries={"n0": delivery})
    found = [problem for problem in made["nodes"]["n0"]["problems"] if problem["rule"] == "delivery"]
    assert found == [
        {"severity": "refusal", "path": "", "message": message, "remedy": remedy, "rule": "delivery"},
    ]
    unchanged = tables.planned(table, deliveries={"n0": delivery})
    assert (tables.rules(unchanged), unchanged["nodes"]["n0"]["own"]) == ([], None)
