# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of the property tests."""

from __future__ import annotations

from hypothesis import settings

# Gates run side by side: the duration of an example means nothing.
settings.register_profile("noisy", parent=settings.default, deadline=None)
settings.load_profile("noisy")
