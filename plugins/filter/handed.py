# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter by which each role of a stage takes what the role before it has found."""

from __future__ import annotations

import typing as t

import jinja2

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import stages


@jinja2.pass_context
def found_by(context: jinja2.runtime.Context, given: t.Any, role: str) -> t.Any:
    """Return what a play gives, else what a role has found; see stages.found."""
    return stages.found(given, role, t.cast("t.Mapping[str, t.Any]", context))


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {"found_by": found_by}
