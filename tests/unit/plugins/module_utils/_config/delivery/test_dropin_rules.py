# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.delivery import dropin_rules
from tests.support.table_minors import BEYOND


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
    problems = dropin_rules.check(declared, minor)
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
    problems = list(dropin_rules.forgotten(live, declared, 36))
    assert [problem.path for problem in problems] == found
    assert {(problem.severity, problem.rule) for problem in problems} <= {("warning", "dropin-empty")}
