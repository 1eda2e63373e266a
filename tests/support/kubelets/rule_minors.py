# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""In which minors a rule finds a problem."""

from __future__ import annotations

import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import validation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import LAST_READ as NEWEST
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import (
    REFUSAL,
    WARNING,
    EffectiveConfig,
)

BEYOND = NEWEST + 1
MINORS = (12, 19, *range(20, NEWEST + 1), BEYOND)


def since(minor: int) -> range:
    """Return the minors from one on, up to the newest whose validation was read."""
    return range(minor, NEWEST + 1)


def on(*gates: str) -> dict[str, t.Any]:
    """Return a configuration that switches gates on."""
    return {"featureGates": dict.fromkeys(gates, True)}


def off(*gates: str) -> dict[str, t.Any]:
    """Return a configuration that switches gates off."""
    return {"featureGates": dict.fromkeys(gates, False)}


def severities(config: dict[str, t.Any], rule: str = "") -> dict[str, set[int]]:
    """Return the minors in which a rule, by default any, refuses a configuration, and those in which it warns."""
    found: dict[str, set[int]] = {WARNING: set(), REFUSAL: set()}
    for minor in MINORS:
        for problem in validation.check(EffectiveConfig(config, minor)):
            if rule in ("", problem.rule):
                assert problem.value not in ("", "null") and problem.remedy, problem
                found[problem.severity].add(minor)
    return found


def refuses_in(config: dict[str, t.Any], rule: str, refused: t.Iterable[int]) -> None:
    """Assert that a rule refuses a configuration in these minors only. Beyond those read it is only a warning."""
    assert severities(config, rule) == {REFUSAL: set(refused), WARNING: {BEYOND} if NEWEST in refused else set()}


def messages(config: dict[str, t.Any], minor: int) -> list[str]:
    return [problem.message for problem in validation.check(EffectiveConfig(config, minor))]


def accepted(config: dict[str, t.Any], minor: int) -> bool:
    return not messages(config, minor)
