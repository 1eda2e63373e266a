# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every gate of tools/gates/declared.py, and the sessions of tools/sessions.py.

`make test` runs the short tier, `make test-long` the long one, `.venv/bin/nox -s NAME` one gate; `.venv/bin/nox -l`
lists all of them. TIER=long includes all points of the products, also by hand: `TIER=long .venv/bin/nox -s e2e`.

Environments are made once and kept under .nox. Remove .nox to get the newest releases of what is not pinned.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import nox

sys.path.insert(0, str(Path(__file__).resolve().parent))

from tools import sessions  # noqa: F401  # pylint: disable=unused-import  # nox finds its sessions
from tools.collection_tree import clean
from tools.gates.declared import GATES

clean(os.environ)
# One environment serves many gates, which nox itself cannot do: see Tools.
nox.options.default_venv_backend = "none"
for gate in GATES.values():
    nox.session(tags=[gate.lane, *gate.limits])(gate.body)
