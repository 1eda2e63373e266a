# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The findings of plan, upgrade check and preflight over every gate, field, flag and configuration of the rules."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields, gates
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.binary_facts import BinaryFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import plan
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import upgrade
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.short_texts import minor_of
from tests.support.api.objects import HEADER
from tests.support.api.upgrading import OWN, SOCKET, result
from tests.support.kubelets.binary_corpus import Answer

Case = tuple[str, ...]
"""What a configuration or command line is about: its kind, then its name."""
Found = dict[Case, frozenset[tuple[str, ...]]]
Config = dict[str, t.Any]
UNKNOWN_FIELD = frozenset({"unknown-field", "field-too-new", "field-removed"})
RULES_OF = {"gates": frozenset({"gate-unknown", "gate-locked"}), "fields": UNKNOWN_FIELD}
"""The rules that each case but those of values is about. Its values may break others."""
KIND_OF = {"gates": "gate", "fields": "field", "flags": "flag"}
"""As RULES_OF, for the upgrade check."""


def configs(binary: BinaryFacts, values: t.Sequence[Answer]) -> dict[Case, Config]:
    """Return configurations: with all gates on, all gates off, all fields, all misspelt, and those of the rules.

    The gates are those about which the binary was asked when it was recorded.
    """
    asked = [name for name in sorted(gates.GATES) if name in binary.gates]
    names = [name for name in fields.children("") if name != "featureGates"]
    return {
        ("gates", "on"): {"featureGates": dict.fromkeys(asked, True)},
        ("gates", "off"): {"featureGates": dict.fromkeys(asked, False)},
        ("fields", "right"): {name: _value(fields.ALL[name].type) for name in names},
        ("fields", "wrong"): {f"{name}z": 1 for name in names},
        **{("value", text_of(config)): config for config, _verdict, _messages in values},
    }


def text_of(config: Config) -> str:
    return json.dumps(config, sort_keys=True)


def _value(kind: str) -> t.Any:
    """Return a value of a type that no rule refuses for most fields."""
    if kind.startswith("list["):
        return []
    if kind == "object" or kind.startswith("map["):
        return {}
    return {"bool": True, "string": "", "duration": "10s", "quantity": "1Mi"}.get(kind, 1)


def of_plan(version: str, cases: t.Mapping[Case, Config], binary: BinaryFacts | None) -> Found:
    """Return what the plan finds in each configuration: severity, path and rule."""
    minor = minor_of(version) or 0
    live = compare.with_defaults({**HEADER, "failCgroupV1": False}, minor - 1)
    variant = document.variant(live)
    row = {"variant": variant, "kubelet_version": version, "delivery": "none", "source": None, "status": None}
    given = {str(at): config for at, config in enumerate(cases.values())}
    looked_at = {"kubelet": {"local_config": OWN, "facts": binary and binary._asdict()}, "own": []}
    looked_at["own"] = [{"path": OWN, "content": HEADER}]
    made = plan.make_plan(
        plan.Request(
            {"variants": {variant: live}, "nodes": dict.fromkeys(given, row)},
            None,
            {name: [config] for name, config in given.items()},
            # What a change costs, only the tables know.
            allow_effect="reboot",
            own=dict.fromkeys(given, looked_at) if binary else None,
            deliveries=dict.fromkeys(given, "dropin"),
        )
    )
    return {
        case: frozenset(
            (one["severity"], one["path"], one["rule"])
            for one in made["nodes"][str(at)]["problems"]
            if case[0] == "value" or one["rule"] in RULES_OF[case[0]]
        )
        for at, case in enumerate(cases)
    }


def of_upgrade(
    version: str,
    cases: t.Mapping[Case, Config],
    values: t.Sequence[Answer],
    flags: t.Sequence[str],
    binary: BinaryFacts | None,
) -> Found:
    """Return what the upgrade check finds on earlier nodes with each configuration, and of one with all flags."""
    minor = minor_of(version) or 0
    before = f"v1.{minor - 2}.0"
    found: Found = {}
    refused = {text_of(config): messages for config, verdict, messages in values if verdict == "invalid"}
    for case, config in cases.items():
        messages = refused.get(case[1], [])
        found[case] = _upgrade(
            minor, case[0], result(before, SOCKET, config=config, target=_answer(binary, messages, []))
        )
    words = [f"--{name}=1" for name in flags]
    found["flags", "all"] = _upgrade(minor, "flags", result(before, SOCKET, *words, target=_answer(binary, [], flags)))
    return found


def _answer(binary: BinaryFacts | None, messages: t.Sequence[str], flags: t.Sequence[str]) -> dict[str, t.Any] | None:
    """Return the answer of a target. It accepts nothing, so that each finding of the tables keeps its severity."""
    if binary is None:
        return None
    return {
        "binary": "/opt/kubelet",
        "version": binary.version,
        "verdict": "invalid",
        "messages": [*messages],
        "refused_flags": binary.without(flags),
        "unknown_fields": [],
        "facts": binary._asdict(),
    }


def _upgrade(minor: int, about: str, given: dict[str, t.Any]) -> frozenset[tuple[str, ...]]:
    rows = upgrade.row(given, minor)["findings"]
    return frozenset(
        (row["severity"], row["kind"], row["name"])
        for row in rows
        if (about == "value" and (row["kind"] != "binary" or row["severity"] == "stops"))
        or row["kind"] == KIND_OF.get(about)
    )


def every_flag() -> list[str]:
    return sorted({*fields.FLAGS, *fields.LAST_MINOR})


def named(found: Found) -> set[Case]:
    """Return the findings with their cases, whatever their severity; all rules about unknown fields are one."""
    return {
        (*case, *("unknown-field" if word in UNKNOWN_FIELD else word for word in finding[1:]))
        for case, findings in found.items()
        for finding in findings
    }
