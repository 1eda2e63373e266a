# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the tables of fields, defaults, flags and feature gates end, for tests that hold whatever that minor is."""

from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields

NEWEST = fields.NEWEST_MINOR
BEYOND = NEWEST + 1
"""A minor that no table knows."""
EVERY = range(fields.OLDEST_MINOR, BEYOND)
