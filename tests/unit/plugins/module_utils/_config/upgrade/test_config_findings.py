# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.field_row import Field, Flag
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import config_findings, node_facts
from tests.support.api.upgrading import CHECKPOINT, ENV, OWN, facts_of
from tests.support.plays.ansible import ROOT

SOCKET = "--container-runtime-endpoint=unix:///s"
POLICY = "imagePullCredentialsVerificationPolicy"
OFF = {"featureGates": {"KubeletEnsureSecretPulledImages": False}}


@pytest.mark.parametrize("name", sorted(fields.LAST_MINOR))
def test_each_flag_of_the_table_stops_the_version_after_its_last_one_and_no_earlier_one(name: str) -> None:
    last = fields.LAST_MINOR[name]
    facts = facts_of(f"v1.{last}.0", "--container-runtime=remote", SOCKET, f"--{name.replace('-', '_')}=1")
    stopped = {minor: {one.name for one in config_findings.flags(facts, minor)} for minor in (last, last + 1)}
    assert f"--{name}" not in stopped[last] and f"--{name}" in stopped[last + 1]


def test_the_table_is_that_of_the_data() -> None:
    rows = yaml.safe_load((ROOT / "tools/data/flags-by-version.yaml").read_text())["flags"]
    expected = {row["name"]: int(row["until"].split(".")[1]) for row in rows if "until" in row}
    assert len(expected) > 40 and expected == fields.LAST_MINOR


def test_a_flag_without_a_known_place() -> None:
    facts = node_facts.UpgradeFacts("v1.34.0", flags=[node_facts.SetFlag("register-schedulable", "", "")])
    (found,) = config_findings.flags(facts, 35)
    assert (found.where, found.remedy) == ("", "Remove it with the upgrade.")


@pytest.mark.parametrize(
    ("flags", "minor", "target", "names"),
    [
        ((), 23, 23, []),
        ((), 23, 24, ["--container-runtime"]),
        (("--container-runtime=remote", SOCKET), 23, 24, []),
        (("--container-runtime=docker",), 23, 27, ["--container-runtime", "--container-runtime"]),
        ((), 24, 26, ["--container-runtime-endpoint"]),
        ((), 26, 27, []),
        (("--container-runtime-endpoint=",), 25, 26, ["--container-runtime-endpoint"]),
        ((SOCKET,), 25, 26, []),
    ],
)
def test_the_runtime(flags: tuple[str, ...], minor: int, target: int, names: list[str]) -> None:
    found = list(config_findings.flags(facts_of(f"v1.{minor}.0", *flags), target))
    assert [one.name for one in found] == names
    places = {f"{ENV}, line 1"} if any(flag.startswith("--container-runtime=") for flag in flags) else {""}
    assert not found or {one.where for one in found} == places


@pytest.mark.parametrize(
    ("value", "gate", "target", "stops"),
    [
        ("aws", "", 28, False),
        ("aws", "", 29, True),
        ("aws", "--feature-gates=DisableCloudProviders=false", 30, False),
        ("aws", "--feature-gates=DisableCloudProviders=false", 31, True),
        ("external", "", 36, False),
        ("", "", 36, False),
    ],
)
def test_in_tree_cloud_providers(value: str, gate: str, target: int, stops: bool) -> None:
    found = list(config_findings.flags(facts_of("v1.28.0", f"--cloud-provider={value}", gate), target))
    assert [(one.name, one.where) for one in found] == [("--cloud-provider", f"{ENV}, line 1")] * stops


def named(target: int, severity: str, version: str = "v1.20.2", **facts: t.Any) -> list[str]:
    found = config_findings.values(facts_of(version, **facts), target)
    return sorted({one.name for one in found if one.severity == severity})


def test_a_locked_gate_says_since_when() -> None:
    (found,) = config_findings.values(facts_of("v1.28.0", config={"featureGates": {"AppArmor": False}}), 31)
    assert (found.where, found.message) == (OWN, "cannot set feature gate AppArmor to false, feature is locked to true")
    assert found.remedy == "Remove it, or set it to true. Locked since 1.31."


def test_a_right_value_of_a_flag_does_not_hide_a_wrong_one_of_the_file() -> None:
    flag = "--feature-gates=AppArmor=true"
    found = list(config_findings.values(facts_of("v1.28.0", flag, config={"featureGates": {"AppArmor": False}}), 31))
    assert [one.name for one in found] == ["AppArmor"]


@pytest.mark.parametrize(
    ("config", "stops"),
    [
        # Refused by the validation of the target alone, of both, of the running kubelet alone.
        ({"memorySwap": {"swapBehavior": "UnlimitedSwap"}, "featureGates": {"NodeSwap": True}}, 1),
        ({"kubeAPIQPS": -1}, 1),
        ({"memorySwap": {"swapBehavior": "NoSwap"}, "featureGates": {"NodeSwap": True}}, 0),
        # A wrong type.
        ({"maxPods": "many"}, 1),
        # Kubelets ignore unknown fields.
        ({"noSuchField": 1}, 0),
        ({"clusterDNS": ["dns.local"]}, 0),
        # Passes the validation and ends the kubelet.
        ({"evictionHard": {"memory.available": "120%"}}, 1),
    ],
)
def test_values(config: dict[str, t.Any], stops: int) -> None:
    assert len(named(30, "stops", "v1.28.0", config=config)) == stops
    assert named(30, "changes", "v1.28.0", config=config) == []


def test_every_removed_field_is_named_from_its_minor_on() -> None:
    gone = [field for field in fields.ALL.values() if field.until and field.until >= 20]
    assert "logging.sanitization" in [field.path for field in gone]
    given = {"logging": {"sanitization": True}}
    assert named(23, "changes", config=given) == []
    assert named(24, "changes", config=given) == ["logging.sanitization"]
    # The flag stops a 1.24: it sets the field no more.
    facts = facts_of("v1.23.0", "--experimental-logging-sanitization", config=given)
    (found,) = (one for one in config_findings.values(facts, 24) if one.kind == "field")
    assert found.where == OWN
    assert found.message == "1.23 was the last version with this field; a later kubelet ignores it"


@pytest.mark.parametrize(
    ("config", "name", "where"),
    [
        ({"evictionHard": {"memory.available": "120%"}}, 'evictionHard["memory.available"]', OWN),
        # A field that is missing has no place.
        ({"memoryManagerPolicy": "Static"}, "reservedMemory", ""),
    ],
)
def test_the_place_of_a_value(config: dict[str, t.Any], name: str, where: str) -> None:
    found = config_findings.values(facts_of("v1.28.0", config=config), 30)
    assert [(one.name, one.where) for one in found if one.severity == "stops"] == [(name, where)]


def test_a_flag_that_the_target_lacks_neither_sets_a_value_nor_is_its_place() -> None:
    facts = facts_of("v1.30.0", "--iptables-drop-bit=98", config={"iptablesDropBit": 99})
    (found,) = config_findings.values(facts, 31)
    assert (found.name, found.where) == ("iptablesDropBit", OWN) and "99" in found.message
    before = {one.where for one in config_findings.values(facts, 30)}
    assert before == {f"{OWN}; flag --iptables-drop-bit in {ENV}, line 1"}


@pytest.mark.parametrize(
    ("name", "where"),
    # Names that are not a path, or one that no file has.
    [("NoSuchGate", OWN), ("No.Such.Gate", OWN), ("no such gate", "")],
)
def test_a_gate_that_no_version_knows(name: str, where: str) -> None:
    (found,) = config_findings.values(facts_of("v1.28.0", config={"featureGates": {name: True}}), 31)
    assert (found.severity, found.name, found.where) == ("stops", name, where)
    assert found.message == f"unrecognized feature gate: {name}"


def test_a_target_beyond_the_tables_may_refuse_a_gate() -> None:
    """Only its binary shows which gates it knows."""
    given = {"featureGates": {"AppArmor": True, "NoSuchGate": True}}
    (found,) = config_findings.values(facts_of("v1.32.0", config=given), fields.NEWEST_MINOR + 1)
    assert (found.severity, found.name) == ("changes", "AppArmor")


def changed_defaults(version: str, target: int, **facts: t.Any) -> list[str]:
    return [one.name for one in config_findings.defaults(facts_of(version, **facts), target)]


BURSTS = ["eventBurst", "eventRecordQPS", "kubeAPIBurst", "kubeAPIQPS", "memoryThrottlingFactor"]


@pytest.mark.parametrize(
    ("version", "target", "expected"),
    [
        ("v1.20.2", 21, []),
        ("v1.20.2", 27, BURSTS[:-1]),
        ("v1.26.0", 26, []),
        ("v1.26.0", 27, BURSTS),
        # The same duration in another form.
        ("v1.27.0", 28, []),
        ("v1.29.0", 30, ["evictionHard"]),
        ("v1.30.0", 34, []),
        # A gate is on from then on.
        ("v1.34.0", 35, [POLICY]),
        ("v1.35.0", 36, []),
        # Newer than the tables.
        ("v1.26.0", 99, [*BURSTS[:2], "evictionHard", *BURSTS[2:], POLICY]),
        ("v1.99.0", 36, []),
        ("", 36, []),
    ],
)
def test_defaults_that_change(version: str, target: int, expected: list[str]) -> None:
    assert changed_defaults(version, target) == expected


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({"config": OFF}, []),
        ({"config": {}, "dropins": {"/d/1.conf": {"maxPods": 50}}}, [POLICY]),
        ({"config": {"featureGates": {"KubeletEnsureSecretPulledImages": True}}}, []),
        ({"config": {POLICY: "NeverVerify"}}, []),
        ({"config": {}, "dropins": {"/d/1.conf": {POLICY: "NeverVerify"}}}, []),
        ({"config": {POLICY: ""}}, [POLICY]),
    ],
)
def test_a_default_that_comes_with_a_gate(files: dict[str, t.Any], names: list[str]) -> None:
    """The kubelet then asks for the credentials of images that the node has. The other such default is no change."""
    found = list(config_findings.defaults(facts_of("v1.34.0", **files), 35))
    assert [one.name for one in found] == names
    assert {one.message for one in found} <= {"the default changes: unset -> NeverVerifyPreloadedImages"}


def test_a_zero_counts_as_unset_where_the_field_is_no_pointer() -> None:
    given = dict.fromkeys(BURSTS, 0)
    assert changed_defaults("v1.26.0", 27, config=given) == ["eventBurst", "kubeAPIBurst"]
    found = config_findings.defaults(facts_of("v1.26.0", config={"eventBurst": 10, "kubeAPIQPS": 5}, own=given), 27)
    (pinned,) = (one for one in found if one.severity == "stays")
    assert (pinned.name, pinned.where) == ("eventBurst", CHECKPOINT)
    only = "only the checkpoint sets it, to the old default; the new default is not used: 10 -> 100"
    assert pinned.message == only


def test_defaults_of_other_types(monkeypatch: pytest.MonkeyPatch) -> None:
    """Later tables may have them: keys of a map that change or are gone, a map where there was none, another type."""
    first: t.Any = {"same": 1, "other": 2, "gone": 5}
    later: t.Any = {"same": 1, "other": 3, "new": 4}
    table = {
        "keys": Field("keys", "map[string]string", default=first, later_defaults=((30, later),)),
        "map": Field("map", "map[string]string", later_defaults=((30, {"a": 1}),), unset="nil"),
        "type": Field("type", "any", default=5, later_defaults=((30, "five"),), unset="nil"),
    }
    monkeypatch.setattr(fields, "ALL", table)
    assert [one.message for one in config_findings.defaults(facts_of("v1.29.0"), 30)] == [
        "the default changes: gone 5 -> absent, new absent -> 4, other 2 -> 3",
        "the default changes: unset -> {'a': 1}",
        "the default changes: 5 -> five",
    ]


@pytest.mark.parametrize(
    ("flags", "config", "own", "severities"),
    [
        ((), {}, None, ["changes"]),
        ((), {"number": 0}, None, []),
        ((), {"number": 1}, {}, ["stays"]),
        ((), {"number": 1}, {"number": 0}, []),
        (("--number=1",), {}, None, ["changes"]),
        (("--number=1",), {"number": 1}, {}, ["stays"]),
    ],
)
def test_fields_and_flags_are_those_of_the_target(
    flags: t.Any, config: t.Any, own: t.Any, severities: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later table may have a field that became a pointer, and a flag that is gone, with a default that changes."""
    number = Field("number", "int32", default=1, later_defaults=((30, 2),), unset="zero", nil_since=30)
    monkeypatch.setattr(fields, "ALL", {"number": number})
    monkeypatch.setattr(fields, "FLAGS", {"number": Flag("number", until=29)})
    found = config_findings.defaults(facts_of("v1.29.0", *flags, config=config, own=own), 30)
    assert [one.severity for one in found] == severities


@pytest.mark.parametrize(
    ("flags", "facts", "severities"),
    [
        ([], {"config": {"kubeAPIQPS": 5}, "own": {}}, ["stays"]),
        # Declared: another value than the default.
        ([], {"config": {"kubeAPIQPS": 6}, "own": {}}, []),
        # The node's own file has it too, or there is no checkpoint.
        ([], {"config": {"kubeAPIQPS": 5}, "own": {"kubeAPIQPS": 7}}, []),
        ([], {"config": {"kubeAPIQPS": 5}}, []),
        # More than the checkpoint sets it.
        (["--kube-api-qps=5"], {"own": {}}, []),
        (["--kube-api-qps=5"], {"own": {}, "config": {"kubeAPIQPS": 5}}, []),
        ([], {"own": {}, "dropins": {"/d/1.conf": {"kubeAPIQPS": 5}}}, []),
        ([], {"own": {}, "config": {"kubeAPIQPS": 5}, "dropins": {"/d/1.conf": {"kubeAPIQPS": 5}}}, []),
        # The kubelet's own checkpoint, of which the next kubelet knows nothing.
        ([], {"own": {}, "config": {"kubeAPIQPS": 5}, "dynamic": "/d"}, []),
    ],
)
def test_what_a_checkpoint_pins(flags: list[str], facts: dict[str, t.Any], severities: list[str]) -> None:
    found = config_findings.defaults(facts_of("v1.26.0", *flags, **facts), 27)
    assert [one.severity for one in found if one.name == "kubeAPIQPS"] == severities


@pytest.mark.parametrize(
    ("files", "names"),
    [
        ({"config": OFF}, []),
        ({"config": {}, "dropins": {"/d/1.conf": OFF}}, [POLICY]),
        ({"config": OFF, "dropins": {"/d/1.conf": {"maxPods": 50}}}, []),
        ({"config": {}, "dropins": {"/d/1.conf": {**OFF, POLICY: None}}}, []),
    ],
)
def test_a_drop_in_that_turns_off_the_gate_of_a_new_default(files: dict[str, t.Any], names: list[str]) -> None:
    found = config_findings.values(facts_of("v1.34.0", **files), 35)
    assert [one.name for one in found if one.severity == node_facts.STOPS] == names
