# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.field_row import EFFECTS
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import amounts
from tests.support.table_minors import BEYOND, EVERY

from .. import kubelet_model as model

ROOT = Path(__file__).resolve().parents[6]


def test_every_field_of_the_1_20_table_has_its_facts() -> None:
    for row in model.ROWS:
        field = fields.ALL[row["name"]]
        assert field.exists_at(20)
        assert (field.default, field.unset) == (row["default"], row["unset"])
        assert field.zero_omitted == (row["zero_shown"] == "omitted")
        assert set(field.flags) == set(row.get("flags", ()))


def test_only_fields_that_1_20_has_exist_there() -> None:
    assert {path for path, field in fields.ALL.items() if field.exists_at(20)} == {row["name"] for row in model.ROWS}


def test_every_field_has_an_effect_a_reason_and_a_known_type() -> None:
    scalars = {"bool", "int32", "int64", "uint32", "float", "string", "duration", "quantity", "time", "object"}
    scalars.add("duration or nanoseconds")
    for field in fields.ALL.values():
        assert field.effect in EFFECTS
        assert field.reason
        assert field.type.replace("map[string]", "").replace("list[", "").rstrip("]") in scalars
        # The defaults are filled in by the path of a field, which is none for the members of a list.
        assert "[" not in field.path or field.default_at(fields.NEWEST_MINOR) is None
        if field.type == "duration" and field.default is not None:
            assert amounts.format_duration(amounts.parse_duration(field.default)) == field.default


def test_classes_become_effects() -> None:
    effects = {
        "maxPods": "disrupt",
        "clusterDNS": "drain",
        "cgroupDriver": "reboot",
        "podCIDR": "forbidden",
        "runOnce": "forbidden",
        "syncFrequency": "safe",
        "topologyManagerScope": "reboot",
        "memoryManagerPolicy": "reboot",
        "cpuManagerPolicyOptions": "reboot",
        "topologyManagerPolicyOptions": "drain",
        "maxParallelImagePulls": "safe",
        "registerWithTaints": "safe",
        "seccompDefault": "drain",
        "failCgroupV1": "disrupt",
    }
    assert {path: fields.ALL[path].effect for path in effects} == effects


@pytest.mark.parametrize(
    ("path", "known"),
    [
        ("maxPods", range(20, 37)),
        ("failCgroupV1", range(31, 37)),
        ("cgroupDriver", range(20, 35)),
        ("logging.sanitization", range(20, 24)),
    ],
)
def test_the_minors_whose_default_is_known(path: str, known: range) -> None:
    assert [minor for minor in range(18, 37) if fields.default_known(fields.ALL[path], minor)] == list(known)
    assert not fields.default_known(fields.ALL[path], BEYOND)


def test_versions() -> None:
    assert fields.OLDEST_MINOR == 20
    assert fields.ALL["evictionHard"].exists_at(12)
    assert not fields.ALL["maxParallelImagePulls"].exists_at(26)
    assert fields.ALL["maxParallelImagePulls"].exists_at(27)
    assert not fields.ALL["logging.sanitization"].exists_at(24)
    assert fields.ALL["resolvConf"].unset_at(22) == "zero"
    assert fields.ALL["resolvConf"].unset_at(23) == "nil"


def test_every_flag_sets_a_field_that_names_it() -> None:
    assert len([flag for flag in fields.FLAGS.values() if flag.exists_at(20)]) == 94
    for name, flag in fields.FLAGS.items():
        field = fields.ALL[flag.field]
        assert name in field.flags
        assert all(field.exists_at(minor) for minor in EVERY if flag.exists_at(minor)), name


@pytest.mark.parametrize(
    ("path", "minor", "names"),
    [
        ("containerRuntimeEndpoint", 26, []),
        ("containerRuntimeEndpoint", 27, ["container-runtime-endpoint"]),
        ("containerRuntimeEndpoint", None, ["container-runtime-endpoint"]),
        ("kernelMemcgNotification", 24, ["experimental-kernel-memcg-notification", "kernel-memcg-notification"]),
        ("kernelMemcgNotification", 25, ["kernel-memcg-notification"]),
        ('evictionHard["memory.available"]', 36, ["eviction-hard"]),
        ("no.such", 36, []),
    ],
)
def test_flags_of_a_field(path: str, minor: int | None, names: list[str]) -> None:
    assert fields.flags_of(path, minor) == names


@pytest.mark.parametrize(
    ("path", "owner"),
    [
        ("maxPods", "maxPods"),
        ('evictionHard["memory.available"]', "evictionHard"),
        ("featureGates.A", "featureGates"),
        ("clusterDNS[0]", "clusterDNS"),
        ("authentication.webhook.enabled", "authentication.webhook.enabled"),
        ("authentication.webhok", None),
        ("maxpods", None),
        ("logging.verbosity", "logging.verbosity"),
        ("logging.new", None),
        ("registerWithTaints[0].key", "registerWithTaints[].key"),
        ("logging.flushFrequency.x", None),
        ("reservedMemory[1].limits.memory", "reservedMemory[].limits"),
        ("maxPods.a", None),
        ("(top level)", None),
    ],
)
def test_owner(path: str, owner: str | None) -> None:
    field = fields.owner(path)
    assert (field.path if field else None) == owner


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("maxpods", "maxPods"),
        ("maxPod", "maxPods"),
        ("clusterDns", "clusterDNS"),
        ("evictionhard", "evictionHard"),
        ("authentication.webhok", "authentication.webhook"),
        ("authentication.webhook.cacheTtl", "authentication.webhook.cacheTTL"),
        ("cacheTTL", "authentication.webhook.cacheTTL"),
        ("zzz", None),
    ],
)
def test_nearest(wrong: str, right: str | None) -> None:
    assert fields.nearest(wrong) == right


def test_children_are_members_only() -> None:
    assert fields.children("authentication") == ("anonymous", "webhook", "x509")
    assert "authentication.webhook" not in fields.children("")
    assert "reservedMemory[]" not in fields.children("")
