# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import validation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import EffectiveConfig
from tests.support.rule_minors import NEWEST, accepted, messages, off, on, refuses_in, since


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
    vmodule("X*", format="text"),
    options("json", splitStream=True, infoBufferSize="0"),
    {**options("text", infoBufferSize="1Ki"), **on("LoggingAlphaOptions")},
    {"logging": {"flushFrequency": 5 * 10**9}},
    {"logging": "text"},
    {"logging": {"flushFrequency": 0}},
    {"tracing": {"samplingRatePerMillion": 0}, **on("KubeletTracing")},
    {"tracing": {"samplingRatePerMillion": 10**6}, **on("KubeletTracing")},
    {"tracing": {"endpoint": "localhost:4317"}, **on("KubeletTracing")},
    {"tracing": {"endpoint": "unix:///run/otel.sock"}, **on("KubeletTracing")},
    {"tracing": {"endpoint": "unix-abstract:///otel"}, **on("KubeletTracing")},
)


@pytest.mark.parametrize("minor", range(20, NEWEST + 1))
@pytest.mark.parametrize("config", ACCEPTED)
def test_what_every_version_accepts(config: dict[str, Any], minor: int) -> None:
    assert accepted(config, minor)


FLUSH = "logging.flushFrequency"
SAMPLING = "tracing.samplingRatePerMillion: Invalid value"
PANIC = "ends the kubelet in a Go panic: non-positive interval for NewTicker"


@pytest.mark.parametrize(
    ("config", "minor", "message"),
    [
        ({"logging": {"flushFrequency": -1}}, 27, f"{FLUSH}: -1 {PANIC}"),
        ({"logging": {"flushFrequency": "-1s"}}, 34, f'{FLUSH}: "-1s" {PANIC}'),
        ({"logging": {"flushFrequency": "-1s"}}, 35, f'{FLUSH}: Invalid value: "-1s": Must be greater than zero'),
        ({"tracing": {"samplingRatePerMillion": -1}}, 36, f"{SAMPLING}: -1: sampling rate must be positive"),
        (
            {"tracing": {"samplingRatePerMillion": 10**6 + 1}},
            36,
            f"{SAMPLING}: 1000001: sampling rate per million must be less than or equal to one million",
        ),
        (
            {"tracing": {"endpoint": "http://a:4317"}},
            36,
            'tracing.endpoint: Invalid value: "http://a:4317": unsupported scheme: http.  '
            "Options are none, dns, unix, or unix-abstract.",
        ),
    ],
)
def test_the_words_of_the_version(config: dict[str, Any], minor: int, message: str) -> None:
    assert messages(config, minor) == [message]


@pytest.mark.parametrize(("minor", "example"), [(27, "nanoseconds: 5000000000."), (28, 'a duration such as "5s".')])
def test_the_remedy_has_the_type_that_the_version_takes(minor: int, example: str) -> None:
    [problem] = validation.check(EffectiveConfig({"logging": {"flushFrequency": -1}}, minor))
    assert problem.remedy == f"Write {example}"


def test_the_value_of_one_pattern_is_shown() -> None:
    [problem] = validation.check(EffectiveConfig(vmodule("a=1"), NEWEST))
    assert (problem.path, problem.value) == ("logging.vmodule[0]", '{"filePattern": "a=1", "verbosity": 4}')


def test_a_zero_is_the_default_and_other_types_are_left_to_the_check_of_types() -> None:
    """Kubelets before 1.28 refuse the text, not the zero in it."""
    assert accepted({"logging": {"flushFrequency": "0s"}}, NEWEST)
    assert accepted(vmodule("kubelet", format=5), NEWEST)
