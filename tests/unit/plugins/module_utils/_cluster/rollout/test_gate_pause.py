# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The pause that operators can set with kubectl."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import gate
from tests.support.calls import CONFIGMAPS, Call, Calls


def entry(manager: str, time: str, *keys: str) -> dict[str, t.Any]:
    return {
        "manager": manager,
        "time": time,
        "operation": "Update",
        "fieldsV1": {"f:data": {f"f:{key}": {} for key in keys}},
    }


def read(data: dict[str, str] | None, *managers: dict[str, t.Any]) -> dict[str, str] | None:
    found = {
        "metadata": {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z", "managedFields": list(managers)},
        "data": data,
    }
    with Calls(Call("GET", f"{CONFIGMAPS}/p", found)) as session:
        return gate.read_pause(t.cast("t.Any", session), "kube-system", "p")


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"reason": "why"},
        {"paused": ""},
        {"paused": "false"},
        {"paused": " No\n"},
        {"paused": "0"},
        {"paused": "OFF"},
    ],
)
def test_not_paused(data: dict[str, str] | None) -> None:
    assert read(data) is None


def test_no_such_configmap() -> None:
    with Calls(Call("GET", f"{CONFIGMAPS}/p", ApiError(404, "not found"))) as session:
        assert gate.read_pause(t.cast("t.Any", session), "kube-system", "p") is None


@pytest.mark.parametrize("value", ["true", "True", "yes", "1", "until monday"])
def test_paused(value: str) -> None:
    assert read({"paused": value}) == {"since": "2026-01-01T00:00:00Z", "by": "", "reason": ""}


def test_since_when_and_by_whom_is_that_of_the_key() -> None:
    """Who wrote something else later has not paused anything."""
    found = read(
        {"paused": "true", "reason": " release day\n"},
        entry("kubectl-create", "2026-01-01T00:00:00Z", "reason"),
        entry("kubectl-edit", "2026-01-02T00:00:00Z", "paused"),
        entry("kubectl-patch", "2026-01-03T00:00:00Z", "paused", "reason"),
        entry("other", "2026-01-04T00:00:00Z", "reason"),
        {"manager": "odd"},
    )
    assert found == {"since": "2026-01-03T00:00:00Z", "by": "kubectl-patch", "reason": "release day"}
