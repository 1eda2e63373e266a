# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Take the screenshots of the report that the documentation shows.

Usage: python -m tools.screenshots [FOLDER]      default: docs/docsite/rst/images

Needs Debian's chromium and chromium-driver, and an environment with selenium; `nox -s screenshots` has both.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import output
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.page import page
from tests.support.report.browser import chromium, prefer
from tests.support.report.played_rollout import example
from tools.collection_tree import ROOT

# Name: number of nodes, colour scheme, anchor on the page.
PICTURES = {
    "report_3": (3, "light", ""),
    "report_100": (100, "light", ""),
    "report_3000": (3000, "light", "#nodes"),
    "report_100_dark": (100, "dark", "#batches"),
}


def main(folder: Path) -> None:
    """Write one PNG per picture."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder_of_pages, chromium(1200, 1340) as driver:
        for name, (size, scheme, anchor) in PICTURES.items():
            report = Path(folder_of_pages) / f"{name}.html"
            page.write(str(report), output.document(example(size)))
            prefer(driver, scheme)
            driver.get(report.as_uri() + anchor)
            driver.save_screenshot(str(folder / f"{name}.png"))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "docsite" / "rst" / "images")
