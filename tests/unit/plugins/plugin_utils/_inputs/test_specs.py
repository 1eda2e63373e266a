# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The specs are read from the roles of the collection."""

from __future__ import annotations

from pathlib import Path

import yaml

from ansible_collections.livenodes.kubelet.plugins.modules import kubelet_config_inputs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import check, specs
from tests.support.ansible import ROOT


def test_all_roles_and_all_entry_points_are_read() -> None:
    found = specs.by_role()
    assert sorted(found) == sorted(path.name for path in (ROOT / "roles").iterdir())
    assert {"kubelet_config_serial", "kubelet_config_variant"} <= set(found["rollout"])
    assert {"type", "default", "choices"} <= set(found["rollout"]["kubelet_config_drain"])


def test_an_entry_point_without_options(tmp_path: Path) -> None:
    path = tmp_path / "mine/meta/argument_specs.yml"
    path.parent.mkdir(parents=True)
    path.write_text("argument_specs: {main: {short_description: a}}")
    assert specs.by_role(tmp_path) == specs.by_role(tmp_path, "main") == {"mine": {}}


def test_one_entry_point() -> None:
    assert "kubelet_config_prune_access_only" in specs.by_role(entry_point="prune")["push"]
    assert "kubelet_config_immutable" not in specs.by_role(entry_point="prune")["push"]


def test_every_type_can_be_checked() -> None:
    assert all(check.accepted(name, option, []) is not None for name, option in specs.known(specs.by_role()).items())


def test_the_module_documents_all_roles() -> None:
    options = yaml.safe_load(kubelet_config_inputs.DOCUMENTATION)["options"]
    assert options["roles"]["choices"] == sorted(specs.by_role())
