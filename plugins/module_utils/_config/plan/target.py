# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One complete configuration as the goal of many nodes, each of which keeps the values that belong to its machine."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from ..fields import compare, fields
from ..rules.problem import WARNING, Problem

_MACHINE = sorted(field.path for field in fields.ALL.values() if field.machine)


def for_machine(target: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``target`` with the fields of ``live`` that belong to one machine, and with no other such fields.

    The arguments are not modified, but their values are shared.
    """
    result = {name: value for name, value in target.items() if name not in _MACHINE}
    result.update({name: live[name] for name in _MACHINE if name in live})
    return result


def declared(target: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``target`` without the fields that belong to one machine, as a layer of a drop-in."""
    return {name: value for name, value in target.items() if name not in _MACHINE}


def kept(target: Mapping[str, Any], live: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield a warning for each field of ``target`` that a node does not get, because it belongs to one machine."""
    for name in _MACHINE:
        if target.get(name) is not None and not compare.same(*(_form(name, config) for config in (target, live))):
            yield Problem(
                WARNING,
                name,
                "the configuration to roll back to has another value, but it belongs to one machine: the node keeps "
                "its own",
                "To change it, declare it for the node in kubelet_config_host and run a rollout.",
                "machine-specific",
            )


def _form(name: str, config: Mapping[str, Any]) -> Any:
    return compare.canonical(config.get(name), fields.ALL[name], fields.NEWEST_MINOR)
