# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The condition of kubelets 1.8 to 1.10: every row of the table of their documentation."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.alpha import config_ok

PLACE = {"namespace": "kube-system", "name": "config-a", "uid": "a1", "kubeletConfigKey": "kubelet"}
BEFORE = {**PLACE, "name": "config-b", "uid": "b2"}
PATH = "/api/v1/namespaces/kube-system/configmaps/config-"
INIT_OK = "current is set to the local default, and an init config was provided"
DEFAULT_OK = "current is set to the local default, and no init config was provided"
LOCAL_OK = "when the config source is nil, the Kubelet uses its local config"


def read(message: t.Any, reason: t.Any, status: str, kind: str = "ConfigOK") -> config_ok.Reported:
    condition = {"type": kind, "status": status, "message": message, "reason": reason}
    return config_ok.read([{"type": "Ready", "status": "True"}, condition], [None, PLACE, BEFORE])


def parts(**sources: dict[str, str]) -> dict[str, t.Any]:
    return {part: {"configMap": source} for part, source in sources.items()}


@pytest.mark.parametrize(
    ("message", "reason", "place", "active"),
    [
        ("using current (default)", DEFAULT_OK, "local", None),
        ("using current (init)", INIT_OK, "init", None),
        ('using current (UID: "a1")', "passing all checks", "checkpoint", PLACE),
        ("using current (UID: a1)", "passed all checks", "checkpoint", PLACE),
        ("using current: local", LOCAL_OK, "local", None),
        (f"using current: {PATH}a", "passing all checks", "checkpoint", PLACE),
        ('using current (UID: "c3")', "passing all checks", "checkpoint", {"uid": "c3", "kubeletConfigKey": "kubelet"}),
    ],
)
def test_in_use(message: str, reason: str, place: str, active: dict[str, str] | None) -> None:
    expected = parts(assigned=active, active=active) if active else {}
    assert read(message, reason, "True") == (expected, place, "")


@pytest.mark.parametrize("step", ["load", "parse", "validate"])
@pytest.mark.parametrize(
    ("message", "place", "active"),
    [
        ("using last-known-good (default)", "local", None),
        ("using last-known-good (init)", "init", None),
        ('using last-known-good (UID: "b2")', "checkpoint", BEFORE),
        ("using last-known-good: local", "local", None),
        (f"using last-known-good: {PATH}b", "checkpoint", BEFORE),
    ],
)
def test_refused(step: str, message: str, place: str, active: dict[str, str] | None) -> None:
    """The uid in the reason is the assigned one, that in the message the one in use."""
    for reason in (f'failed to {step} current (UID: "a1")', f"failed to {step} current: {PATH}a"):
        good = parts(active=active, lastKnownGood=active) if active else {}
        assert read(message, reason, "False") == ({**parts(assigned=PLACE), **good, "error": reason}, place, "")
        assert config_ok.meaning(reason) and not config_ok.is_sync_error(reason)


SYNCS = [
    ("failed to read Node from informer object cache", "own Node"),
    ("failed to reset to local (default or init) config", "--dynamic-config-dir"),
    ("failed to reset to local config", "--dynamic-config-dir"),
    ("invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil", "names nothing"),
    ("invalid ObjectReference, all of UID, Name, and Namespace must be specified", "lacks the uid"),
    ('invalid ObjectReference, UID "a1" does not match UID of downloaded ConfigMap "c3"', "created again"),
    (f"invalid ConfigSource.ConfigMapRef.UID: a1 does not match {PATH}a.UID: c3", "created again"),
    ('failed to determine whether object with UID "a1" was already checkpointed', "--dynamic-config-dir"),
    ('failed to download ConfigMap with name "config-a" from namespace "kube-system"', "no Role"),
    ('failed to save config checkpoint for object with UID "a1"', "--dynamic-config-dir"),
    (f"failed to save config checkpoint for object {PATH}a with UID a1", "--dynamic-config-dir"),
    ("failed to set current config checkpoint to default", "--dynamic-config-dir"),
    ("failed to set current config checkpoint to local config", "--dynamic-config-dir"),
    ('failed to set current config checkpoint to object with UID "a1"', "--dynamic-config-dir"),
]


@pytest.mark.parametrize(("why", "words"), SYNCS)
@pytest.mark.parametrize("start", ["failed to sync, reason: ", "failed to sync, desired config unclear, reason: "])
def test_sync_errors(start: str, why: str, words: str) -> None:
    """Any message may have any of these reasons; what is in use stays."""
    for message, good in [("using current (UID: b2)", False), ("using last-known-good (UID: b2)", True)]:
        found = read(message, start + why, "False")
        use = parts(active=BEFORE, lastKnownGood=BEFORE) if good else parts(assigned=BEFORE, active=BEFORE)
        assert found == ({**use, "error": start + why}, "checkpoint", "")
    assert read("using current (init)", start + why, "Unknown") == ({"error": start + why}, "init", "")
    assert words in config_ok.meaning(start + why) and config_ok.is_sync_error(start + why)
    assert config_ok.is_download_error(start + why) == ("failed to download" in why)


def test_a_crash_loop() -> None:
    reason = 'current failed trial period due to crash loop (UID: "a1")'
    found = read("using last-known-good (default)", reason, "False")
    assert found.status == {**parts(assigned=PLACE), "error": reason}
    assert "too often" in config_ok.meaning(reason)


@pytest.mark.parametrize("kind", config_ok.TYPES)
def test_the_types_of_all_minors(kind: str) -> None:
    assert read("using current (default)", DEFAULT_OK, "True", kind).status == {}


def test_without_the_condition() -> None:
    assert config_ok.read([]) == config_ok.read([{"type": "Ready"}, None, "x"]) == (None, "", "")


@pytest.mark.parametrize("message", ["unknown - message not provided", None, 5, "", "using current (UID: )", {}])
def test_a_malformed_message(message: t.Any) -> None:
    found = read(message, "unknown - reason not provided", "Unknown")
    assert (found.status, found.place) == ({}, "")
    assert "its condition ConfigOK is malformed" in found.fault and "Restart" in found.fault


def test_a_malformed_reason() -> None:
    assert read("using current (default)", None, "True").fault


def test_the_meaning_of_errors_of_others() -> None:
    later = "failed to validate config, see Kubelet log for details"
    assert config_ok.meaning(later) == config_ok.meaning("") == config_ok.meaning("failed to sync, reason: x") == ""
    assert not config_ok.is_sync_error("failed to sync: failed to download config, see Kubelet log for details")
