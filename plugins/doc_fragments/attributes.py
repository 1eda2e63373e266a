# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Attributes of every module: check mode, diff mode, idempotency and action group."""

from __future__ import annotations


class ModuleDocFragment:
    """Attributes shared by the modules. What a module documents of one replaces what is here."""

    DOCUMENTATION = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
  diff_mode:
    description: >-
      Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
    support: full
  idempotent:
    description: >-
      When run twice in a row outside check mode, with the same arguments, the second invocation indicates no change.
    support: full
"""
    """Of a module that writes."""

    READ_ONLY = r"""
options: {}
attributes:
  check_mode:
    description: Can run in C(check_mode) and return changed status prediction without modifying target.
    support: full
    details: This module changes nothing.
  diff_mode:
    description: >-
      Will return details on what has changed (or possibly needs changing in C(check_mode)), when in diff mode.
    support: N/A
    details: This module changes nothing.
  idempotent:
    description: >-
      When run twice in a row outside check mode, with the same arguments, the second invocation indicates no change.
    support: full
"""
    """Of a module that only reads."""

    CLUSTER = r"""
options: {}
attributes:
  action_group:
    description: Use C(group/livenodes.kubelet.cluster) in C(module_defaults) to set defaults for this module.
    support: full
    membership:
      - livenodes.kubelet.cluster
"""
    """Of a module that has the options of a cluster."""
