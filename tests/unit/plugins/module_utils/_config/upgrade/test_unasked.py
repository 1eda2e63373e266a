# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import node_facts, unasked
from tests.support.table_minors import BEYOND, NEWEST
from tests.support.upgrading import answer, facts_of

GATES = {"featureGates": {"NoSuchGate": True}}
ANSWER = answer(BEYOND)


@pytest.mark.parametrize(
    ("flags", "config", "kinds"),
    [
        ((), {}, ["flag"]),
        (("--max-pods=5",), {}, ["flag"]),
        ((), GATES, ["flag", "gate"]),
        (("--feature-gates=NoSuchGate=true",), {}, ["flag", "gate"]),
        ((), {"maxPodz": 5}, ["flag", "field"]),
        ((), {**GATES, "maxPods": 5}, ["flag", "gate", "field"]),
    ],
)
def test_what_was_not_asked_is_unknown(flags: tuple[str, ...], config: dict[str, t.Any], kinds: list[str]) -> None:
    facts = facts_of(f"v1.{NEWEST}.0", *flags, config=config)
    found = list(unasked.check(facts, BEYOND))
    assert [(one.severity, one.kind) for one in found] == [("unknown", kind) for kind in kinds]
    assert all(f"1.{NEWEST}, and no binary of 1.{BEYOND} was asked" in one.message for one in found)
    assert all("kubelet_config_target_binary" in one.remedy for one in found)
    assert list(unasked.check(facts, NEWEST)) == []
    assert list(unasked.check(facts_of(f"v1.{NEWEST}.0", *flags, config=config, target=ANSWER), BEYOND)) == []


def test_names_and_how_many() -> None:
    config = {"maxPods": 1, "kubeReserved": {"cpu": "1"}, "featureGates": {"B": True, "A": False}}
    flag, gate, field = unasked.check(facts_of("v1.30.0", "--no_such=5", "--docker=x", config=config), BEYOND)
    assert flag.message.endswith("(--config, --no-such)"), "what an earlier version lost, stops the kubelet anyway"
    assert gate.message.endswith("(A, B)")
    assert field.message.endswith("(kubeReserved.cpu, maxPods)")
    many = dict.fromkeys(list(fields.children(""))[:20], "x")
    assert [*unasked.check(facts_of("v1.30.0", config=many), BEYOND)][-1].message.endswith(" and 12 more)")


def test_a_node_that_sets_nothing_is_unknown_too() -> None:
    (found,) = unasked.check(node_facts.Facts(version="v1.30.0"), BEYOND)
    assert (found.severity, found.kind) == ("unknown", "version")
