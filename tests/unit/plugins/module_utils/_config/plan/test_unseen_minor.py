# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""With a minor taken out of all tables, its binary gives the findings that the tables give, as it was recorded.

`tests/e2e_modern/test_kubelet_answers.py` compares the record with the binary.
"""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.binary_facts import BinaryFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.short_texts import minor_of
from tests.support.kubelets import binary_corpus, unseen
from tests.support.kubelets import unseen_findings as found
from tests.support.kubelets.rule_minors import off, on
from tests.support.kubelets.table_minors import BEYOND
from tests.unit.plugins.module_utils._config.rules.test_managers import BETA_CPU as BETA
from tests.unit.plugins.module_utils._config.rules.test_managers import CPU, TOPOLOGY, cpu, topology
from tests.unit.plugins.module_utils._config.rules.test_newer_rules import ALLOWLIST, POLICY, ids, images

Names = frozenset[tuple[str, str]]
"""Configurations of the rules, as texts, each with the path that a finding names."""


def names(path: str, *configs: dict[str, t.Any]) -> Names:
    return frozenset((found.text_of(config), path) for config in configs)


class Differing(t.NamedTuple):
    """Where a binary and the tables of its minor differ about the configurations of the rules."""

    quoted: Names = frozenset()
    """What rules refuse that are new in this minor. The plan does not have them. Preflight and upgrade check ask the
    binary about the configuration, and show its words instead."""
    lost: Names = frozenset()
    """What nothing else names: the binary that is asked ends, for its kubeconfig, before it judges these values."""
    lost_of_plan: Names = frozenset()
    """What the plan names in another way: it refuses the field itself, which no table has yet."""
    lost_of_upgrade: Names = frozenset()
    """As `lost`. The plan warns: the live configuration has the default of maxPods."""
    more: Names = frozenset()
    """What this minor is the first to accept: plan and upgrade check warn all the same."""
    more_of_plan: Names = frozenset()
    """As `more`, where the upgrade check finds something else at the same path."""


# The default of this field is known of the minors in the tables alone.
ZERO = names(
    "logging.options.json.infoBufferSize",
    {"logging": {"options": {"json": {"infoBufferSize": "0", "splitStream": True}}}},
)
MOST_IDS = ids(2**32 - 65536)
ALWAYS, PULLED = {POLICY: "AlwaysVerify"}, on("KubeletEnsureSecretPulledImages")
TIERED = {"memoryReservationPolicy": "TieredReservation"}
ALLOWED = "preloadedImagesVerificationAllowlist"
CLOSEST = "prefer-closest-numa-nodes"
PATTERNS = ("example.com/a:1", "example.com/A", "*.example.com/a", "/*")
CPU_OPTIONS, TOPOLOGY_OPTIONS = "cpuManagerPolicyOptions", "topologyManagerPolicyOptions"
DIFFERING = {
    "v1.28.15": Differing(
        lost_of_plan=names("podLogsDir", {"podLogsDir": "logs"}),
        more=names("logging.flushFrequency", {"logging": {"flushFrequency": "5s"}})
        | names(f"{TOPOLOGY_OPTIONS}.{CLOSEST}", topology(CLOSEST, "true"), topology(CLOSEST, "true", TOPOLOGY)),
        more_of_plan=names("logging.flushFrequency", {"logging": {"flushFrequency": "-1s"}}),
    ),
    "v1.33.13": Differing(
        quoted=names(POLICY, ALWAYS, {**ALWAYS, **ALLOWLIST}, {POLICY: "Always", **PULLED})
        | names(ALLOWED, ALLOWLIST, {**ALWAYS, **ALLOWLIST}, *map(images, PATTERNS))
        | names("userNamespaces.idsPerPod", ids(65535), ids(65537), ids(2**32)),
        lost=names("userNamespaces.idsPerPod", MOST_IDS),
        lost_of_upgrade=names("maxPods", MOST_IDS),
        more=names(f"{CPU_OPTIONS}.distribute-cpus-across-numa", cpu("distribute-cpus-across-numa", "true", CPU))
        | names(f"{CPU_OPTIONS}.strict-cpu-reservation", cpu("strict-cpu-reservation", "true", CPU))
        | names(f"{CPU_OPTIONS}.full-pcpus-only", {**cpu("full-pcpus-only"), "featureGates": {CPU: True, BETA: False}}),
    ),
    "v1.36.2": Differing(
        quoted=names("imageMinimumGCAge", {"imageMinimumGCAge": "-1s"})
        | names("memoryReservationPolicy", {"memoryReservationPolicy": "Tiered"}, {**TIERED, **off("MemoryQoS")}),
        lost_of_upgrade=names("maxPods", MOST_IDS),
    ),
}


@pytest.fixture(autouse=True)
def tables_again() -> t.Iterator[None]:
    yield
    unseen.forget()


@pytest.mark.parametrize("version", binary_corpus.WHOLE)
def test_the_binary_gives_what_its_tables_give(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All findings by name, and all that differ: less than one in a hundred is lost that the binary does not name.

    A binary names also the fields and flags of later minors that it has not got. Tables name those that are gone.
    """
    minor, differing = minor_of(version) or 0, DIFFERING[version]
    binary, values = binary_corpus.recorded(version), binary_corpus.recorded_values(version)
    cases, flags = found.configs(binary, values), found.every_flag()
    later = {name for name, row in fields.ALL.items() if (row.since or 0) > minor}
    later |= {f"--{name}" for name, row in fields.FLAGS.items() if (row.since or 0) > minor}
    plan = found.named(found.of_plan(version, cases, None))
    upgrade = found.named(found.of_upgrade(version, cases, values, flags, None))
    unseen.end_before(monkeypatch, minor)
    plan_asked = found.named(found.of_plan(version, cases, binary))
    upgrade_asked = found.named(found.of_upgrade(version, cases, values, flags, binary))
    lost, more = differing.quoted | differing.lost, differing.more
    assert {(case[1], case[2]) for case in plan - plan_asked} == lost | differing.lost_of_plan
    assert {(case[1], case[3]) for case in upgrade - upgrade_asked} == lost | differing.lost_of_upgrade
    assert {(case[1], case[2]) for case in plan_asked - plan} == ZERO | more | differing.more_of_plan
    quotes = {("value", config, "binary", "/opt/kubelet") for config, _path in differing.quoted}
    unknown = {case for case in upgrade_asked if case[2] in ("field", "flag") and case[3] in later}
    assert quotes <= upgrade_asked
    assert {(case[1], case[3]) for case in upgrade_asked - upgrade - quotes - unknown} == more
    for before, after, at in ((plan, plan_asked, 2), (upgrade, upgrade_asked, 3)):
        unsaid = [case for case in before - after if (case[1], case[at]) not in differing.quoted]
        assert len(unsaid) < len(before) / 100


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
        ({"featureGates": {"New": True}}, {"gates": {"New": "x"}}, {("refusal", "featureGates.New", "gate-unknown")}),
        ({"featureGates": {"New": True}}, {"gates": {"New": "g-!"}}, {("refusal", "featureGates.New", "gate-locked")}),
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
