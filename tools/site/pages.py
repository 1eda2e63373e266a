# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The body of the gate `site`: builds the documentation site."""

from __future__ import annotations

import re
import shutil

import nox

from tools.collection_tree import NAME, ROOT
from tools.environments import CACHE, Tools, newest


def build(session: nox.Session) -> None:
    """Build the site in build/site. Ends the session with an error if a page would fetch from elsewhere."""
    tools = Tools(session, "site", ["-r", "tools/requirements/site.txt"])
    source, target = CACHE / "site", ROOT / "build/site"
    for old in (source, target):
        shutil.rmtree(old, ignore_errors=True)
    # antsibull-docs refuses a folder that others may write to.
    source.mkdir(mode=0o755, parents=True)
    tools.run(
        "antsibull-docs",
        "--config-file",
        "tools/site/antsibull-docs.cfg",
        "collection",
        "--cleanup",
        "everything",
        "--fail-on-error",
        "--use-current",
        "--squash-hierarchy",
        "--dest-dir",
        str(source),
        NAME,
    )
    # antsibull-docs copies the pages only.
    shutil.copytree(ROOT / "docs/docsite/rst/images", source / "docsite/images")
    newest(session).run("python", "-m", "tools.site.evidence", str(source / "docsite"))
    tools.run(
        "sphinx-build",
        "--quiet",
        "--builder",
        "html",
        "--conf-dir",
        "tools/site",
        "--fail-on-warning",
        "--keep-going",
        str(source),
        str(target),
    )
    remote = {
        found
        for page in target.rglob("*.html")
        for found in re.findall(
            r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"?(?:https?:)?//[^>]*>", page.read_text(encoding="utf-8")
        )
    }
    if remote:
        session.error("pages would fetch from elsewhere: " + "; ".join(sorted(remote)))
    print(f"{target}/index.html")
