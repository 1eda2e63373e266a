# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of modules on the node that differ by the delivery: in place of the kubelet's config file, or over it."""

from __future__ import annotations


class ModuleDocFragment:
    """How the node's kubelet reads a configuration."""

    DOCUMENTATION = r"""
options:
  delivery:
    description:
      - How the kubelet reads the configuration. V(checkpoint), as its config file in place of its own. V(dropin), as a
        drop-in that it lays over its own config file (kubelets of 1.30 and later). The configuration then contains
        only what is declared.
    type: str
    choices: [checkpoint, dropin]
    default: checkpoint
  dropin_dir:
    description:
      - With V(dropin) of O(delivery), the kubelet's drop-in folder, which must exist. Needed where the unit runs
        another program that starts the kubelet, such as RKE2.
      - By default the folder that the unit names in its last C(--config-dir), else one below O(config_dir), which the
        unit then names too.
    type: path
"""
