# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""If several groups of a host set kubelet_config, a warning names the one that counts, as Ansible itself decides."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.vars.manager import VariableManager

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.hosts import Groups

FEW, MANY, MORE = {"kubelet_config": {"maxPods": 20}}, {"kubelet_config": {"maxPods": 90}}, {"kubelet_config": "a: 1"}
N1: dict[str, t.Any] = {"n1": {}}


def warning(home: Path, inventory: dict[str, t.Any], files: dict[str, t.Any]) -> str:
    """Return the message on an inventory with these files beside it."""
    source = home / "hosts.yml"
    source.write_text(json.dumps(inventory))
    for name, content in files.items():
        path = home / f"{name}.yml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(content))
    loader = DataLoader()
    loader.set_basedir(str(home))
    found = InventoryManager(loader, [str(source)])
    manager = VariableManager(loader, found)
    groups = Groups(found, loader)
    for host in found.get_hosts():
        groups.add(host.name, manager.get_vars(host=host, include_hostvars=False).get("kubelet_config"))
    return groups.message(len(found.get_hosts()))


@pytest.mark.parametrize(
    ("inventory", "files", "counts", "lost"),
    [
        # By name, the last one counts.
        ({"a": {"hosts": N1}, "b": {"hosts": N1}}, {"group_vars/a": FEW, "group_vars/b": MANY}, "b", "a"),
        ({"a": {"hosts": N1, "vars": FEW}, "b": {"hosts": N1, "vars": MANY}}, {}, "b", "a"),
        # Files count more than the inventory.
        ({"a": {"hosts": N1}, "b": {"hosts": N1, "vars": MANY}}, {"group_vars/a": FEW}, "a", "b"),
        # A priority counts more than a name.
        (
            {"a": {"hosts": N1, "vars": {"ansible_group_priority": 5}}, "b": {"hosts": N1}},
            {"group_vars/a": FEW, "group_vars/b": MANY},
            "a",
            "b",
        ),
        (
            {name: {"hosts": N1} for name in "abc"},
            {"group_vars/a": FEW, "group_vars/b": MANY, "group_vars/c": MORE},
            "c",
            "a, b",
        ),
    ],
)
def test_the_group_that_counts(
    tmp_path: Path, inventory: dict[str, t.Any], files: dict[str, t.Any], counts: str, lost: str
) -> None:
    assert warning(tmp_path, inventory, files) == (
        f"groups {lost} and {counts} both set kubelet_config: that of {counts} counts on n1, with nothing of {lost}. "
        "For another order, set ansible_group_priority of a group in the inventory file"
    )


@pytest.mark.parametrize(
    ("inventory", "files"),
    [
        ({"a": {"hosts": N1}, "b": {"hosts": N1}}, {"group_vars/a": FEW}),
        # Equal values lose nothing.
        ({"a": {"hosts": N1}, "b": {"hosts": N1}}, {"group_vars/a": FEW, "group_vars/b": FEW}),
        # A group within the other one, which Ansible's users expect to count.
        ({"a": {"children": {"b": {"hosts": N1}}}}, {"group_vars/a": FEW, "group_vars/b": MANY}),
        ({"b": {"hosts": N1}}, {"group_vars/all": FEW, "group_vars/b": MANY}),
        # A value of the host.
        (
            {"a": {"hosts": N1}, "b": {"hosts": N1}},
            {"group_vars/a": FEW, "group_vars/b": MANY, "host_vars/n1": MORE},
        ),
    ],
)
def test_nothing_is_lost(tmp_path: Path, inventory: dict[str, t.Any], files: dict[str, t.Any]) -> None:
    assert warning(tmp_path, inventory, files) == ""
