# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter that opens the sealed secrets of a value."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleFilterError

from ansible_collections.livenodes.kubelet.plugins.plugin_utils import sealed


def unsealed(value: t.Any) -> t.Any:
    """Return a value with its secrets. Raises AnsibleFilterError for those of another run."""
    try:
        return sealed.unseal(value)
    except sealed.SealError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filter by its name."""
        return {"unsealed": unsealed}
