# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The data of the profiles fits the tables of fields, and a profile is the lowest layer of a plan."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import profiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields, gates
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks, types
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document, paths

from .plan import tables

PROFILE = "cis-1.12"
EVERY = [item for items in profiles.PROFILES.values() for item in items]


@pytest.mark.parametrize("item", EVERY, ids=lambda item: item.id)
def test_an_item_is_about_a_field_a_flag_or_a_file_that_exists(item: profiles.Item) -> None:
    assert item.title and not item.title.endswith(".")
    if item.kind != profiles.FIELD:
        assert item.sets is None
        return
    if item.rule == profiles.GATE:
        assert gates.lookup(item.of.partition(".")[2])
        return
    field = fields.ALL[item.of]
    for minor in range(max(20, item.since), min(fields.NEWEST_MINOR, item.until) + 1):
        assert field.exists_at(minor), minor


def test_no_number_is_twice() -> None:
    assert len({item.id for item in EVERY}) == len(EVERY)


@pytest.mark.parametrize("minor", [20, 24, 25, 33, 36, fields.NEWEST_MINOR])
@pytest.mark.parametrize("name", profiles.PROFILES)
def test_a_kubelet_accepts_what_a_profile_declares(name: str, minor: int) -> None:
    declared = profiles.layer([name], minor)
    assert declared["authentication"] == {"anonymous": {"enabled": False}} and declared["readOnlyPort"] == 0
    live = tables.model.configz({}) if minor == 20 else {}
    assert [str(each) for each in checks.problems({**tables.HEADER, **live, **declared}, minor)] == []
    assert ("seccompDefault" in declared) == (name == PROFILE and minor >= 25)


@pytest.mark.parametrize("minor", range(8, 20))
@pytest.mark.parametrize("name", profiles.PROFILES)
def test_a_profile_declares_no_field_that_an_early_kubelet_lacks(name: str, minor: int) -> None:
    assert list(types.check(profiles.layer([name], minor), minor)) == []


def test_of_several_profiles_the_last_one_counts() -> None:
    one, other = profiles.layer([PROFILE], 36), profiles.layer([PROFILE, "stig-v2r6"], 36)
    assert (one["streamingConnectionIdleTimeout"], other["streamingConnectionIdleTimeout"]) == ("4h", "5m")
    assert other.keys() == one.keys() | {"protectKernelDefaults"}
    # Of an unknown version, the newest.
    assert profiles.layer([PROFILE], None) == one


@pytest.mark.parametrize(
    ("given", "names"), [(None, []), ("", []), ([], []), (PROFILE, [PROFILE]), ([PROFILE], [PROFILE])]
)
def test_a_variable_names_profiles(given: Any, names: list[str]) -> None:
    assert profiles.named(given, "x") == names


@pytest.mark.parametrize("given", ["cis", [PROFILE, "cis"], 5, {PROFILE: True}, [5]])
def test_what_is_no_profile_is_refused(given: Any) -> None:
    with pytest.raises(document.DocumentError, match=r"^x(:| is)"):
        profiles.named(given, "x")


def test_a_profile_is_below_what_groups_and_hosts_declare() -> None:
    declared = {
        "kubelet_config_profile": PROFILE,
        "kubelet_config": {"podPidsLimit": 900, "readOnlyPort": None},
        "kubelet_config_host": {"rotateCertificates": False},
    }
    live = {**tables.LIVE, "readOnlyPort": 10255}
    made = tables.planned(tables.table(live), None, {"n0": declared})
    row = made["nodes"]["n0"]
    wanted = made["variants"][row["variant"]]
    assert (wanted["podPidsLimit"], wanted["authorization"]["mode"]) == (900, "Webhook")
    assert not wanted.get("rotateCertificates") and not wanted.get("readOnlyPort")
    assert wanted["tlsCipherSuites"] == list(profiles.STRONG_CIPHERS)
    assert row["effect"] == "disrupt"
    # A value that no profile declares any more returns to the node's own.
    after = tables.applied(tables.table(live), made)
    back = tables.planned(after, None, {"n0": {"kubelet_config": {"podPidsLimit": 900}}})
    changes = {change["path"]: change["after"] for change in back["nodes"]["n0"]["changes"]}
    assert changes["tlsCipherSuites"] is None and "podPidsLimit" not in changes
    assert compare.same(paths.value_at(live, ["authorization", "mode"]), changes.get("authorization.mode", "Webhook"))
