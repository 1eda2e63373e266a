# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The live configuration of one kubelet, and why it cannot be read."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import configz
from tests.support.calls import NODES, Call, Calls

PATH = f"{NODES}/n1/proxy/configz"


def deep(levels: int) -> t.Any:
    """A value that is nested so deeply."""
    return {"a": deep(levels - 1)} if levels else 1


def test_read() -> None:
    with Calls(Call("GET", PATH, {"kubeletconfig": {"maxPods": 110}})) as session:
        assert configz.read(session, "n1") == {"maxPods": 110}
    assert session.budgets == [configz.PATIENCE]


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            ApiError(403, "words", "Forbidden"),
            "reading /configz was refused (words); grant the verb get on nodes/proxy",
        ),
        (
            ApiError(404, "words"),
            "its kubelet serves no /configz (words); it needs enableServer and enableDebuggingHandlers",
        ),
        (ApiError(503, "words", transient=True), "its kubelet does not answer the API server (words); see `systemctl"),
        (ApiError(0, "no usable answer", transient=True), "no usable answer"),
        (ApiError(401, "words"), "words"),
    ],
)
def test_refusals(error: ApiError, text: str) -> None:
    with Calls(Call("GET", PATH, error)) as session, pytest.raises(ApiError) as caught:
        configz.read(session, "n1")
    assert caught.value.message.startswith(text)
    assert (caught.value.status, caught.value.reason, caught.value.transient) == (
        error.status,
        error.reason,
        error.transient,
    )


@pytest.mark.parametrize("answer", [{}, {"kubeletconfig": None}, [], "text", None, {"other": {}}])
def test_answers_that_are_no_configz(answer: t.Any) -> None:
    with (
        Calls(Call("GET", PATH, answer)) as session,
        pytest.raises(ApiError, match="has no kubeletconfig; is this a kubelet") as caught,
    ):
        configz.read(session, "n1")
    assert not caught.value.transient


@pytest.mark.parametrize(
    "config",
    [{"maxPods": float("nan")}, {"maxPods": float("inf")}, {"address": "\ud800"}, {"\ud800": 1}, {"a": deep(200)}],
)
def test_values_that_no_kubelet_has(config: t.Any) -> None:
    """They have no place in a ConfigMap, in a hash or in a message; one such node must not end the dump of all."""
    with (
        Calls(Call("GET", PATH, {"kubeletconfig": config})) as session,
        pytest.raises(ApiError, match=r"its /configz is malformed \(.+\); is this a kubelet") as caught,
    ):
        configz.read(session, "n1")
    assert not caught.value.transient
