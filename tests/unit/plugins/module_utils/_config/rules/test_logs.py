# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.support.rule_minors import NEWEST, accepted, off, on, refuses_in, since


def vmodule(pattern: str, verbosity: int = 4, **more: Any) -> dict[str, Any]:
    return {"logging": {"vmodule": [{"filePattern": pattern, "verbosity": verbosity}], **more}}


def options(form: str, **given: Any) -> dict[str, Any]:
    return {"logging": {"options": {form: given}}}


REFUSED: tuple[tuple[dict[str, Any], str, Iterable[int]], ...] = (
    ({"logging": {"verbosity": 2**31}}, "log-verbosity", since(23)),
    (vmodule("kubelet", 2**31), "log-verbosity", since(23)),
    (vmodule(""), "log-verbosity", since(23)),
    (vmodule("a=1"), "log-verbosity", since(23)),
    (vmodule("a,b"), "log-verbosity", since(23)),
    (vmodule("kubelet", format="json"), "log-verbosity", since(23)),
    (options("json", infoBufferSize="64Ki"), "log-options", since(25)),
    (options("text", infoBufferSize=1), "log-options", since(30)),
    ({"logging": {"flushFrequency": "5s"}}, "log-flush-text", range(23, 28)),
    # Before 1.35 it is no rule of the validation: the kubelet ends in a panic.
    ({"logging": {"flushFrequency": -1}}, "log-flush-positive", since(24)),
    ({"logging": {"flushFrequency": "-1s"}}, "log-flush-positive", since(28)),
    ({"tracing": {}}, "tracing-gate", {25, 26}),
    ({"tracing": {"endpoint": "a"}, **off("KubeletTracing")}, "tracing-gate", range(25, 34)),
    ({"tracing": {"samplingRatePerMillion": 10**6 + 1}, **on("KubeletTracing")}, "tracing-sampling", since(25)),
    ({"tracing": {"samplingRatePerMillion": -1}, **on("KubeletTracing")}, "tracing-sampling", since(25)),
    ({"tracing": {"endpoint": "http://a:4317"}, **on("KubeletTracing")}, "tracing-endpoint", since(25)),
)


@pytest.mark.parametrize(("config", "rule", "refused"), REFUSED)
def test_the_versions_that_refuse(config: dict[str, Any], rule: str, refused: Iterable[int]) -> None:
    refuses_in(config, rule, refused)


ACCEPTED: tuple[dict[str, Any], ...] = (
    {"logging": {"verbosity": 2**31 - 1, "format": "json"}},
    vmodule("kubelet*", format="text"),
    options("json", splitStream=True, infoBufferSize="0"),
    {**options("text", infoBufferSize="1Ki"), **on("LoggingAlphaOptions")},
    {"logging": {"flushFrequency": 5 * 10**9}},
    {"logging": "text"},
    {"tracing": {"samplingRatePerMillion": 10**6}, **on("KubeletTracing")},
    {"tracing": {"endpoint": "localhost:4317"}, **on("KubeletTracing")},
    {"tracing": {"endpoint": "unix:///run/otel.sock"}, **on("KubeletTracing")},
)


@pytest.mark.parametrize("minor", range(20, NEWEST + 1))
@pytest.mark.parametrize("config", ACCEPTED)
def test_what_every_version_accepts(config: dict[str, Any], minor: int) -> None:
    assert accepted(config, minor)
