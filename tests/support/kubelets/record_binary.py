# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record in tests/facts what a kubelet binary answers about itself, see binary_corpus.py."""

from __future__ import annotations

import importlib
import sys

if __name__ == "__main__":
    # Makes the collection importable.
    importlib.import_module("tests.conftest")
    importlib.import_module("tests.support.kubelets.binary_corpus").record(*sys.argv[1:])
