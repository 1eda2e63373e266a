# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With a minor taken out of all tables, its binary gives the findings that the tables give, as it was recorded.

`tests/e2e_modern/test_binary_facts.py` compares the record with the binary.
"""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.binary_facts import BinaryFacts
from tests.support import binary_corpus, unseen
from tests.support import unseen_findings as found
from tests.support.table_minors import BEYOND

VERSION, MINOR = "v1.36.2", 36
# Rules that 1.36 added to its validation: the plan does not have them, and the upgrade check quotes the binary instead.
NEW_RULES = {
    '{"imageMinimumGCAge": "-1s"}': "imageMinimumGCAge",
    '{"memoryReservationPolicy": "Tiered"}': "memoryReservationPolicy",
    '{"featureGates": {"MemoryQoS": false}, "memoryReservationPolicy": "TieredReservation"}': "memoryReservationPolicy",
}
# The binary that is asked ends, for its kubeconfig, before it judges this value. The plan warns.
JUDGED_LATER = {('{"userNamespaces": {"idsPerPod": 4294901760}}', "maxPods")}
OF_THE_BINARY = {("value", at, "binary", "/opt/kubelet") for at in NEW_RULES}
# A later field of the tables, which the tables of 1.36 do not know as one that 1.36 ignores.
LATER = {("fields", "right", "field", "defaultPodSysctls")}
# The default of this field stands in the tables from 1.36 on.
ZERO = {
    (
        "value",
        '{"logging": {"options": {"json": {"infoBufferSize": "0", "splitStream": true}}}}',
        "logging.options.json.infoBufferSize",
        "zero-is-unset",
    )
}


@pytest.fixture(autouse=True)
def tables_again() -> t.Iterator[None]:
    yield
    unseen.forget()


def test_the_binary_gives_what_its_tables_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """All findings by name, and all that differ: less than one in a hundred."""
    binary, values = binary_corpus.recorded(VERSION), binary_corpus.recorded_values(VERSION)
    cases, flags = found.configs(values), found.every_flag()
    plan = found.named(found.of_plan(VERSION, cases, None))
    upgrade = found.named(found.of_upgrade(VERSION, cases, values, flags, None))
    unseen.end_before(monkeypatch, MINOR)
    plan_asked = found.named(found.of_plan(VERSION, cases, binary))
    upgrade_asked = found.named(found.of_upgrade(VERSION, cases, values, flags, binary))
    lost, lost_of_upgrade = plan - plan_asked, upgrade - upgrade_asked
    assert {(case[1], case[2]) for case in lost} == {*NEW_RULES.items()}
    assert {(case[1], case[3]) for case in lost_of_upgrade} == {*NEW_RULES.items()} | JUDGED_LATER
    assert (plan_asked - plan, upgrade_asked - upgrade) == (ZERO, OF_THE_BINARY | LATER)
    assert len(lost) < len(plan) / 100 and len(lost_of_upgrade) < len(upgrade) / 100


@pytest.mark.parametrize(
    ("config", "answer", "problems"),
    [
        # It was not asked.
        ({"newField": 1}, None, {("refusal", "newField", "unknown-field")}),
        ({"newField": 1}, {}, {("refusal", "newField", "unknown-field")}),
        # Its binary has a field, or does not, whatever the tables have.
        ({"newField": 1}, {"fields": {"newField": True}}, set()),
        ({"newField": 1}, {"fields": {"newField": False}}, {("refusal", "newField", "unknown-field")}),
        ({"podsPerCore": 1}, {"fields": {"podsPerCore": False}}, {("refusal", "podsPerCore", "unknown-field")}),
        # A gate that no table has: refused only by the binary.
        ({"featureGates": {"New": True}}, None, set()),
        ({"featureGates": {"New": True}}, {"gates": {"New": "a-="}}, set()),
        (
            {"featureGates": {"New": True}},
            {"gates": {"New": "x"}},
            {("refusal", "featureGates.New", "gate-unknown")},
        ),
        (
            {"featureGates": {"New": True}},
            {"gates": {"New": "g-!"}},
            {("refusal", "featureGates.New", "gate-locked")},
        ),
        # The answer of another binary, which the next start will run, does not count.
        (
            {"newField": 1},
            {"fields": {"newField": True}, "version": "v1.30.1"},
            {("refusal", "newField", "unknown-field")},
        ),
    ],
)
def test_a_kubelet_beyond_the_tables(
    config: dict[str, t.Any], answer: dict[str, t.Any] | None, problems: set[tuple[str, str, str]]
) -> None:
    version = f"v1.{BEYOND}.0"
    binary = (
        None
        if answer is None
        else BinaryFacts(**{"version": version, "flags": [], "gates": {}, "fields": {}, **answer})
    )
    assert found.of_plan(version, {("value", "0"): config}, binary) == {("value", "0"): problems}
