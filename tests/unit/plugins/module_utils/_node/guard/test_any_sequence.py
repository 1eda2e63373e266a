# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""After any sequence of changes and faults the node runs a configuration that its binary accepts: one that an operator
assigned, or its own.

300 sequences are tried, the same in every run. The long tier tries 20,000 random ones.
"""

from __future__ import annotations

from tests.support.any_sequence import AnySequence, settings_for

AnySequence.TestCase.settings = settings_for(300, 20000)
TestAnySequence = AnySequence.TestCase
