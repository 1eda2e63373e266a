# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Releases of the package kubernetes that can be used, and those that cannot."""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import library, session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import MissingLibrary


@pytest.mark.parametrize("version", ["27.2.0", "36.0.0", "36.0.1", "1.0"])
def test_releases_that_cannot_be_used(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library.kubernetes, "__version__", version)
    with pytest.raises(
        MissingLibrary, match=rf"kubernetes {version} at .*install kubernetes>=28.1.0,!=36.0.0,!=36.0.1"
    ):
        session.Session({"host": "http://h"})


@pytest.mark.parametrize("version", ["28.1.0", "35.9.0", "36.0.2", "37.1.0b1", "40.0"])
def test_releases_that_can(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library.kubernetes, "__version__", version)
    library.check()


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "IMPORT_ERROR", "Traceback: no module")
    with pytest.raises(MissingLibrary, match="could not be imported") as caught:
        session.Session({"host": "http://h"})
    assert caught.value.result == {"exception": "Traceback: no module"}
