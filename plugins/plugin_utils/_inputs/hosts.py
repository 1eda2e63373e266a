# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds hosts of one node, and configurations that are no YAML, before a role reads them."""

from __future__ import annotations

import functools
import typing as t

from ...module_utils._config.plan.layers import OF_HOSTS
from ...module_utils._config.values import document
from .. import host_table
from .inputs import named
from .rendered import UNKNOWN, is_template


class Hosts:
    """The hosts of a run, with the node and the configuration of each."""

    def __init__(self) -> None:
        self._nodes: dict[str, list[str]] = {}
        self._wrong: dict[tuple[str, str], list[str]] = {}

    def add(self, host: str, name: t.Any, given: t.Mapping[str, t.Any]) -> None:
        """Add a host. `name`: that of its node, None if it is that of the host. `given`: its variables as set."""
        if name is not UNKNOWN:
            self._nodes.setdefault(str(name or host), []).append(host)
        for layer in OF_HOSTS:
            value = given.get(layer)
            is_scalar = isinstance(value, (str, int, float)) and value and not is_template(value)
            fault = _fault(str(value)) if is_scalar else ""
            if fault:
                self._wrong.setdefault((layer, fault), []).append(host)

    def message(self) -> str:
        """Return the error for the operator, a line for each node and each text; empty without any."""
        lines = [host_table.same_node(hosts, name) for name, hosts in self._nodes.items() if len(hosts) > 1]
        lines += [f"{layer}{named(hosts, 0)}: {fault}" for (layer, fault), hosts in self._wrong.items()]
        return "\n".join(lines)


@functools.lru_cache(maxsize=64)
def _fault(text: str) -> str:
    """Return what is wrong with a configuration that is no mapping, empty if nothing is."""
    try:
        document.parse(text, "its value")
    except document.DocumentError as error:
        return str(error)
    return ""
