# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Import every module below some folders of the collection with this interpreter, which may be as old as Python 3.7.

Usage: python tools/import_all.py FOLDER ...      each folder as seen from the root of the checkout

Ends with the traceback of the first module that cannot be imported. `-W error` makes a warning of the compiler an
error. More than a check of syntax: a name that this Python's standard library lacks ends it too.
"""

from __future__ import annotations

import importlib
import sys

from collection_tree import INSIDE, ROOT, link


def main(folders: list[str]) -> int:
    """Return the exit status: 1 when there is nothing to import."""
    above = link(ROOT / ".nox" / ".cache" / "link")
    sys.path.insert(0, str(above))
    files = sorted(path for folder in folders for path in (above / INSIDE / folder).rglob("*.py"))
    for path in files:
        importlib.import_module(".".join(path.relative_to(above).with_suffix("").parts))
    print(f"Python {sys.version_info.major}.{sys.version_info.minor}: {len(files)} modules")
    return 0 if files else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
