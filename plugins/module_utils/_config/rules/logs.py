# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubelets of 1.23 to 1.36 refuse in `logging` and `tracing`.

Source: logs/api/v1/options.go and tracing/api/v1/config.go of k8s.io/component-base, of each minor.
"""

from __future__ import annotations

import re
from typing import Iterator

from ..fields.compare import FLUSH_TEXT
from .problem import EffectiveConfig, Finding, Rule
from .types import show

_MOST = 2**31 - 1
_DECIMAL = 34
"""Kubelets before this minor show a refused verbosity in hexadecimal. Seen with 1.28 and 1.33; 1.36 shows decimals."""
_FLUSH_VALIDATED = 35
"""The first minor whose validation refuses a negative flushFrequency."""
# net/url parseAuthority: a host with colons ends in a port, which is a number. An IPv6 address is in brackets.
_HOST = r"[^\s\\^`{|}:]*"
_SERVER = re.compile(rf"(?!\[)({_HOST}|({_HOST}:)+[0-9]*)|\[.*\](:[0-9]*)?", re.ASCII)


def _log_verbosity(config: EffectiveConfig) -> Iterator[Finding]:
    levels = [("logging.verbosity", config.number("logging.verbosity"))]
    modules = config.objects("logging.vmodule")
    levels += [(f"logging.vmodule[{at}]", entry.get("verbosity")) for at, entry in enumerate(modules)]
    for path, level in levels:
        if isinstance(level, int) and level > _MOST:
            shown = str(level) if config.minor >= _DECIMAL else hex(level)
            yield path, f"{path}: Invalid value: {shown}: Must be <= {_MOST}", "Give a number from 0 to 10."
    if modules and config.text("logging.format") not in ("", "text"):
        message = "logging.vmodule: Forbidden: Only supported for text log format"
        yield "logging.vmodule", message, "Remove it, or set logging.format: text."
    for at, entry in enumerate(modules):
        path, pattern = f"logging.vmodule[{at}]", entry.get("filePattern") or ""
        if not pattern:
            yield path, f"{path}: Required value: File pattern must not be empty", "Set filePattern."
        elif set("=,") & set(str(pattern)):
            message = f'{path}: Invalid value: "{pattern}": File pattern must not contain equal sign or comma'
            yield path, message, "Write one entry for each pattern."


def _log_options(config: EffectiveConfig) -> Iterator[Finding]:
    if config.gate("LoggingAlphaOptions"):
        return
    for form in ("text", "json") if config.minor >= 30 else ("json",):
        # The kubelet overwrites splitStream of its file with the default of the flag before it looks.
        path = f"logging.options.{form}.infoBufferSize"
        if config.value(path) is not None:
            message = f"{path}: Forbidden: Feature LoggingAlphaOptions is disabled"
            yield path, message, "Remove it, or set featureGates.LoggingAlphaOptions: true."


def _flush_as_text(config: EffectiveConfig) -> Iterator[Finding]:
    if isinstance(config.value("logging.flushFrequency"), str):
        message = "json: cannot unmarshal string into Go struct field of type time.Duration"
        remedy = "Write nanoseconds: 5000000000 for 5s. Kubelets from 1.28 on also take a text."
        yield "logging.flushFrequency", message, remedy


def _flush_positive(config: EffectiveConfig) -> Iterator[Finding]:
    path, value = "logging.flushFrequency", config.value("logging.flushFrequency")
    if isinstance(value, str) and config.minor < FLUSH_TEXT:
        return
    given = value if isinstance(value, int) else config.nanoseconds(path)
    if given is not None and given < 0:
        # Before its validation looked at it, klog.StartFlushDaemon made a ticker of it.
        why = f"{show(value)} ends the kubelet in a Go panic: non-positive interval for NewTicker"
        if config.minor >= _FLUSH_VALIDATED:
            why = f"Invalid value: {show(value)}: Must be greater than zero"
        remedy = 'Write a duration such as "5s".' if config.minor >= FLUSH_TEXT else "Write nanoseconds: 5000000000."
        yield path, f"{path}: {why}", remedy


def _tracing_endpoint(config: EffectiveConfig) -> Iterator[Finding]:
    path, value = "tracing.endpoint", config.text("tracing.endpoint")
    url = value if "//" in value else f"dns://{value}"
    scheme, _colon, rest = url.partition(":")
    server = re.split("[/?#]", rest[len("//") :])[0].rpartition("@")[2]
    message = f'{path}: Invalid value: "{url}": '
    remedy = "Write host:port with a number as the port, such as localhost:4317."
    if scheme.lower() not in ("dns", "unix", "unix-abstract"):
        yield path, f"{message}unsupported scheme: {scheme}.  Options are none, dns, unix, or unix-abstract.", remedy
    elif not _SERVER.fullmatch(server):
        yield path, f'{message}parse "{url}"', remedy


def _tracing_gate(config: EffectiveConfig) -> Iterator[Finding]:
    if config.value("tracing") is not None and not config.gate("KubeletTracing"):
        message = "tracing should not be configured if KubeletTracing feature flag is disabled."
        yield "tracing", message, "Remove it, or set featureGates.KubeletTracing: true."


def _sampling(config: EffectiveConfig) -> Iterator[Finding]:
    path, value = "tracing.samplingRatePerMillion", config.number("tracing.samplingRatePerMillion")
    if value is None:
        return
    for broken, words in (
        (value < 0, "rate must be positive"),
        (value > 10**6, "rate per million must be less than or equal to one million"),
    ):
        if broken:
            yield path, f"{path}: Invalid value: {value}: sampling {words}", "Give a number from 0 to 1000000."


RULES = (
    Rule("log-flush-positive", 24, None, _flush_positive),
    Rule("log-flush-text", 23, FLUSH_TEXT - 1, _flush_as_text),
    Rule("log-options", 25, None, _log_options),
    Rule("log-verbosity", 23, None, _log_verbosity),
    Rule("tracing-endpoint", 25, None, _tracing_endpoint),
    Rule("tracing-gate", 25, 33, _tracing_gate),
    Rule("tracing-sampling", 25, None, _sampling),
)
