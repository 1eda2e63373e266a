# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes `ansible_collections.livenodes.kubelet` importable from this checkout, and removes from the environment what
the caller's shell has set for other work, so that a plain `pytest` behaves as the gates do.
"""

from __future__ import annotations

import os
import sys

from tools.clean_environment import clean
from tools.collection_tree import ROOT, link

COLLECTIONS = str(link(ROOT / ".nox" / ".cache" / "link"))
clean(os.environ)
os.environ.update(
    ANSIBLE_COLLECTIONS_PATH=COLLECTIONS,
    ANSIBLE_HOME=str(ROOT / ".nox" / ".cache" / "ansible"),
    PYTHONPATH=COLLECTIONS,
)
if COLLECTIONS not in sys.path:
    sys.path.insert(0, COLLECTIONS)
