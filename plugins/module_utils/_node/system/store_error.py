# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The base class of the store's errors; each kind is defined where it is raised."""

from __future__ import annotations


class StoreError(Exception):
    """The store cannot do what was requested, or is damaged. The text names the file, the cause and the remedy."""
