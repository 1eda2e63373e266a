# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option with which a module renews the Lease of its rollout."""

from __future__ import annotations


class ModuleDocFragment:
    """The Lease of the rollout."""

    DOCUMENTATION = r"""
options:
  lease:
    description:
      - The Lease of the rollout, from RV(livenodes.kubelet.kubelet_rollout_lease#module:lease).
      - The module renews it before it writes and while it waits. If the rollout has lost it, the module writes nothing
        more and fails. No Lease is renewed by default.
    type: dict
"""
