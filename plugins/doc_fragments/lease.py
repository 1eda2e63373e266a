# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The option by which a module of a rollout keeps its Lease alive."""

from __future__ import annotations


class ModuleDocFragment:
    """The Lease of the rollout."""

    DOCUMENTATION = r"""
options:
  lease:
    description:
      - The Lease of the rollout, as RV(livenodes.kubelet.kubelet_rollout_lease#module:lease) is. It is renewed for as long as the module runs; the module
        fails when the rollout has lost it. Without it, nothing is renewed.
    type: dict
"""
