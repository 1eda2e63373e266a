# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes `ansible_collections.livenodes.kubelet` importable from this checkout, and removes from the environment what
the caller's shell has set for other work, so that a plain `pytest` behaves as the gates do.
"""

from __future__ import annotations

import contextlib
import os
import platform
import sys
import typing as t
from pathlib import Path

import pytest

from tools.collection_tree import ROOT, clean, link

COLLECTIONS = str(link(ROOT / ".nox" / ".cache" / "link"))
clean(os.environ)
os.environ.update(
    ANSIBLE_COLLECTIONS_PATH=COLLECTIONS,
    ANSIBLE_HOME=str(ROOT / ".nox" / ".cache" / "ansible"),
    PYTHONPATH=COLLECTIONS,
)
if COLLECTIONS not in sys.path:
    sys.path.insert(0, COLLECTIONS)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what tests/contract reads, and what tests/support/plays/tape.py does."""
    parser.addoption(
        "--on",
        choices=("sim", "lab", "modern"),
        default="sim",
        help="what tests/contract runs on: the simulation, the lab of 1.20, or that of LIVENODES_LAB_KUBERNETES",
    )
    parser.addoption("--tape", metavar="FOLDER", help="write there what each simulated test did")


def pytest_configure(config: pytest.Config) -> None:
    """Record if asked to."""
    if config.getoption("tape"):
        # Imports the collection, which the lines above make importable.
        from tests.support.plays.tape import Tape

        config.pluginmanager.register(Tape(Path(config.getoption("tape"))))


@pytest.fixture(scope="session", autouse=True)
def versions(record_testsuite_property: t.Callable[[str, object], None]) -> None:
    """Write what the tests run with into the report (`--junitxml`), for the documentation site."""
    record_testsuite_property("python", platform.python_version())
    # Python 3.7 has no importlib.metadata, and none of these packages.
    with contextlib.suppress(ImportError):
        from importlib import metadata

        for name in ("ansible-core", "kubernetes"):
            record_testsuite_property(name, metadata.version(name))
