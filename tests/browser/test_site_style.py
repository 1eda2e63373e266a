# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The style that the documentation site adds to its theme, on tables as the site has them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.report.browser import chromium
from tools.collection_tree import ROOT

STYLE = ROOT / "tools/site/static/site.css"
NAMES = ("pending", "kubelet_config_wait_timeout", "conditions.KubeletConfigOk")
# The theme puts each table into a container of the page's width, which scrolls.
TABLE = f"""<!DOCTYPE html><link rel="stylesheet" href="{STYLE.as_uri()}">
<div class="table-wrapper" style="overflow-x: auto"><table class="docutils"><colgroup><col style="width: 20%">
<col style="width: 45%"><col style="width: 35%"></colgroup><tr><td><code class="literal">{NAMES[0]}</code></td>
<td>The timeout ended before the kubelet had switched, or the API server was unavailable.</td>
<td>Run again, or raise <code class="literal">{NAMES[1]}</code>, then see <code class="literal">{NAMES[2]}</code>.</td>
</tr></table></div>"""
LINES = """const tops = (code) => { const range = document.createRange(); range.selectNodeContents(code);
return new Set([...range.getClientRects()].map((one) => Math.round(one.top))).size; };
return Object.fromEntries([...document.querySelectorAll('code')].map((code) => [code.textContent, tops(code)]));"""


@pytest.mark.parametrize("width", [1360, 390])
def test_names_in_tables_stay_in_one_line_and_the_page_in_its_window(tmp_path: Path, width: int) -> None:
    page = tmp_path / "page.html"
    page.write_text(TABLE, encoding="utf-8")
    with chromium(width) as driver:
        driver.set_window_size(width, 900)
        driver.get(page.as_uri())
        assert driver.execute_script(LINES) == dict.fromkeys(NAMES, 1)
        assert driver.execute_script(
            "return document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        )
