# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which feature gates a kubelet of one minor refuses: it ends before it validates anything else.

Messages are the kubelet's own. Source: k8s.io/component-base/featuregate/feature_gate.go and the registered gates of
each minor of the table.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Iterator, Mapping

from ..fields import gates
from ..fields.fields import NEWEST_MINOR
from .problem import REFUSAL, WARNING, EffectiveConfig, Problem

UNKNOWN, LOCKED, NEEDS = NAMES = ("gate-unknown", "gate-locked", "gate-needs")
"""The identifiers of these rules."""
_FIELD = "featureGates"
_DYNAMIC = "DynamicKubeletConfig"
_OFF = "features that are disabled"


def check(config: EffectiveConfig) -> Iterator[Problem]:
    """Yield a problem for each gate that the kubelet refuses.

    What its binary answered about a gate wins over the table. Without that, for a kubelet that is newer than the table,
    only gates that the table lacks by then or has locked yield one, as a warning. Kubelets that are older than the
    table yield none.
    """
    given = config.value(_FIELD)
    if not isinstance(given, dict) or config.minor < gates.OLDEST_MINOR:
        return
    newer = config.minor > NEWEST_MINOR
    for name, value in given.items():
        if name in gates.GROUPS or not isinstance(value, bool):
            continue
        if config.binary and name in config.binary.gates:
            known, only = not config.binary.lacks_gate(name), config.binary.locked(name)
            yield from _one(name, value, known, only, config.minor)
        elif not newer:
            yield from _one(name, value, *_of_tables(name, config.minor), config.minor)
        elif gates.lookup(name) is not None:
            for problem in _one(name, value, *_of_tables(name, NEWEST_MINOR), NEWEST_MINOR):
                yield replace(problem, severity=WARNING)
    yield from _needs(given, config.minor)


def _of_tables(name: str, minor: int) -> tuple[bool, bool | None]:
    """Return whether a kubelet of a minor knows a gate, and the only value that it takes; None if it takes both."""
    state = gates.state(name, minor)
    if state is None or not state.locked:
        return state is not None, None
    return True, state.default


def _one(name: str, value: bool, known: bool, only: bool | None, minor: int) -> Iterator[Problem]:
    """Yield a refusal of a gate that is not known, or that takes another value only."""
    if not known:
        yield _problem(name, value, UNKNOWN, f"unrecognized feature gate: {name}", _remedy(name, minor))
    elif only is not None and value is not only:
        yield _locked(name, value, only)
    elif name == _DYNAMIC and value and minor >= 24:
        # Not locked, but the kubelet checks it by itself.
        yield _locked(name, value, False)


def _remedy(name: str, minor: int) -> str:
    gate = gates.lookup(name)
    if gate is None:
        near = gates.nearest(name, minor)
        if near:
            return f"Did you mean {near}?"
        return "Remove it, or correct its name."
    if gate.removed_in is not None and minor >= gate.removed_in:
        last = "on" if gate.states[-1].default else "off"
        return f"Remove it: 1.{gate.removed_in} removed the gate, which was {last} by default before."
    if minor >= gate.states[0].since:
        return "Remove it: the binary of this kubelet does not have the gate."
    return f"Remove it for this node: the gate exists from 1.{gate.states[0].since} on, and this kubelet is 1.{minor}."


def _locked(name: str, value: bool, locked: bool) -> Problem:
    wanted = str(locked).lower()
    message = f"cannot set feature gate {name} to {str(value).lower()}, feature is locked to {wanted}"
    return _problem(name, value, LOCKED, message, f"Remove it, or set it to {wanted}.")


def _needs(given: Mapping[str, Any], minor: int) -> Iterator[Problem]:
    """Yield a refusal of a gate whose needs are known and not met."""
    for name, needed in (gates.needs(minor) or {}).items():
        if not _on(name, given, minor):
            continue
        off = [other for other in needed if not _on(other, given, minor)]
        # Without a gate of these in the configuration, the defaults or flags decide, and they fit together.
        cause = next((one for one in (*off, name, *gates.GROUPS) if isinstance(given.get(one), bool)), None)
        if off and cause:
            message = f"{name} is enabled, but depends on {_OFF}: [{' '.join(off)}]"
            remedy = f"Set {_FIELD}.{name}: false too, or {' and '.join(off)} to true."
            yield _problem(cause, given[cause], NEEDS, message, remedy)


def _on(name: str, given: Mapping[str, Any], minor: int) -> bool:
    gate = gates.lookup(name)
    return gate is not None and gate.enabled(minor, given)


def _problem(name: str, value: bool, rule: str, message: str, remedy: str) -> Problem:
    return Problem(REFUSAL, f"{_FIELD}.{name}", message, remedy, rule, str(value).lower())
