# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes `ansible_collections.livenodes.kubelet` importable from this checkout, so that a plain `pytest` finds what it
tests.
"""

from __future__ import annotations

import sys

from tools.collection_tree import ROOT, link

COLLECTIONS = str(link(ROOT / ".nox" / ".cache" / "link"))
if COLLECTIONS not in sys.path:
    sys.path.insert(0, COLLECTIONS)
