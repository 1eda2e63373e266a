# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The body of the gate `galaxy`: builds the artifact, lets Galaxy's importer read it, and installs it."""

from __future__ import annotations

import re
import shutil

import nox

from tools.collection_tree import NAME, ROOT, copy
from tools.environments import CACHE, Tools


def build_and_install(session: nox.Session) -> None:
    """Build the artifact in build/ and install it. Ends the session with an error if the importer complains."""
    tools = Tools(session, "galaxy", ["-r", "tools/requirements/galaxy.txt"])
    for old in (ROOT / "build").glob("*.tar.gz"):
        old.unlink()
    tools.run(
        "ansible-galaxy",
        "collection",
        "build",
        "--output-path",
        str(ROOT / "build"),
        str(copy(CACHE / "artifact")),
        alone=True,
    )
    artifact = next((ROOT / "build").glob("*.tar.gz"))
    # The importer writes importer_result.json where it runs.
    with session.chdir(ROOT / "build"):
        report = tools.run("python", "-m", "galaxy_importer.main", str(artifact), silent=True, alone=True)
    print(report)
    complaints = re.findall(r"^(?:WARNING|ERROR|CRITICAL).*$", report, re.MULTILINE)
    if complaints:
        session.error("galaxy-importer complains:\n" + "\n".join(complaints))
    place = CACHE / "installed"
    shutil.rmtree(place, ignore_errors=True)
    tools.run(
        "ansible-galaxy",
        "collection",
        "install",
        str(artifact),
        "--collections-path",
        str(place / "collections"),
        alone=True,
    )
    tools.run("ansible-doc", "--playbook-dir", str(place), f"{NAME}.node_config_source", silent=True, alone=True)
