# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifests of the playbooks."""

from __future__ import annotations

from tests.support.ansible import ROOT
from tests.support.permissions import FOLDER, PLAYBOOKS, everything, manifest, permissions

# They send no request with the credentials of the user, or are imported by others.
OTHERS = {"batches", "require_hosts", "upgrade_check"}


def test_every_playbook_has_a_manifest() -> None:
    assert {path.stem for path in (ROOT / "playbooks").glob("*.yml")} == {*PLAYBOOKS} | OTHERS


def test_no_permission_is_a_wildcard() -> None:
    for path in FOLDER.glob("*.yaml"):
        assert permissions(manifest(path.stem)), path
        assert "*" not in path.read_text(encoding="utf-8"), path


def test_all_of_them_are_those_of_the_single_manifests() -> None:
    """docs/rbac.yaml grants the same as docs/rbac, but for kubelets 1.8 to 1.10 and for what replaces nodes/proxy."""
    apart = {"option-first-kubelets", "option-read-kubelet", "option-read-node"}
    names = [path.stem for path in FOLDER.glob("*.yaml") if path.stem not in apart]
    single = {one for name in names for one in permissions(manifest(name))}
    assert {*permissions(everything())} == single
