# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import flag_findings, flags_table
from tests.support.ansible import ROOT
from tests.support.upgrading import ENV, facts_of

SOCKET = "--container-runtime-endpoint=unix:///s"


@pytest.mark.parametrize("name", sorted(flags_table.LAST_MINOR))
def test_each_flag_of_the_table_stops_the_version_after_its_last_one_and_no_earlier_one(name: str) -> None:
    last = flags_table.LAST_MINOR[name]
    facts = facts_of(f"v1.{last}.0", "--container-runtime=remote", SOCKET, f"--{name.replace('-', '_')}=1")
    stopped = {minor: {one.name for one in flag_findings.check(facts, minor)} for minor in (last, last + 1)}
    assert f"--{name}" not in stopped[last] and f"--{name}" in stopped[last + 1]


def test_the_table_is_that_of_the_data() -> None:
    rows = yaml.safe_load((ROOT / "tools/data/flags-by-version.yaml").read_text())["flags"]
    expected = {row["name"]: int(row["until"].split(".")[1]) for row in rows if "until" in row}
    assert len(expected) > 40 and expected == flags_table.LAST_MINOR


def test_a_flag_without_a_known_place() -> None:
    facts = facts_of("v1.34.0")
    facts = type(facts)(
        facts.version, flags=[facts_of("v1.34.0", "--register-schedulable").flags[-1]._replace(where="")]
    )
    (found,) = flag_findings.check(facts, 35)
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
    found = list(flag_findings.check(facts_of(f"v1.{minor}.0", *flags), target))
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
    found = list(flag_findings.check(facts_of("v1.28.0", f"--cloud-provider={value}", gate), target))
    assert [(one.name, one.where) for one in found] == [("--cloud-provider", f"{ENV}, line 1")] * stops
