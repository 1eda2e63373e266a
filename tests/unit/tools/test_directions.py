# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Imports between the rooms of plugins/ go one way, and only one file imports what others must not need."""

from __future__ import annotations

import ast
import graphlib
import importlib
import sys
import typing as t
from pathlib import Path

import pytest

from tools.collection_tree import ROOT

PLUGINS = ROOT / "plugins"
OURS = "ansible_collections.livenodes.kubelet.plugins."
MAY = {
    "_config": set(),
    "_node": {"_config"},
    "_cluster": {"_config", "ansible"},
    "modules": {"_cluster", "_node", "ansible"},
    "plugin_utils": {"_cluster", "_config", "_node", "ansible", "jinja2"},
    "action": {"modules", "plugin_utils", "ansible"},
    "callback": {"plugin_utils", "ansible"},
    "filter": {"plugin_utils", "_config", "ansible", "jinja2"},
    "inventory": {"_cluster", "ansible"},
    "doc_fragments": set(),
}
"""What each room may import beside itself and Python's standard library, which is all that a node has."""
ALONE = {
    # A node and a machine without PyYAML read JSON.
    "yaml": "module_utils/_config/values/strict_yaml.py",
    "kubernetes": "module_utils/_cluster/api/library.py",
    "urllib3": "module_utils/_cluster/api/library.py",
    # ansible-core needs it.
    "cryptography": "plugin_utils/sealed.py",
    # The program that it sends to the host of a node, a binary on the controller that is asked as on a node, and the
    # files that a machine gets before it is a node.
    "_node": (
        "module_utils/_cluster/api/kubelet_on_host.py",
        "module_utils/_cluster/upgrade_check.py",
        "module_utils/_cluster/seed.py",
    ),
}
"""What one file imports for all others of its room."""


def subrooms(package: str) -> dict[str, set[str]]:
    """Return, for each folder and file of a package of module_utils, the other ones of it that it imports."""
    above = PLUGINS / "module_utils" / package
    found: dict[str, set[str]] = {}
    for path in sorted([*above.glob("*.py"), *above.glob("*/*.py")]):
        own = found.setdefault(path.relative_to(above).parts[0].removesuffix(".py"), set())
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == len(path.relative_to(above).parts):
                own.add((node.module or node.names[0].name).partition(".")[0])
    return {name: others - {name} for name, others in found.items()}


def circle(imports: t.Mapping[str, t.Collection[str]]) -> set[str]:
    """Return folders that import each other, over any number of others; empty if all imports go one way."""
    try:
        graphlib.TopologicalSorter(imports).prepare()
    except graphlib.CycleError as error:
        return set(error.args[1])
    return set()


def room(parts: t.Sequence[str]) -> str:
    """Return the room of a path below plugins/: a package of module_utils, or the kind of plugin."""
    return parts[1] if parts[0] == "module_utils" else parts[0]


def imported(path: Path, text: str) -> set[str]:
    """Return the rooms and the packages that a file imports, without its own room and the standard library."""
    here, found = path.relative_to(PLUGINS).parent.parts, set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                found.add(room((*here[: len(here) - node.level + 1], *module, node.names[0].name)))
            elif (node.module or "").startswith(OURS):
                found.add(room((*module[OURS.count(".") :], node.names[0].name)))
            else:
                found.add(module[0])
    return found - {room(path.relative_to(PLUGINS).parts)} - set(sys.stdlib_module_names)


@pytest.mark.parametrize("path", sorted(PLUGINS.rglob("*.py")), ids=lambda path: path.relative_to(PLUGINS).as_posix())
def test_imports_go_one_way(path: Path) -> None:
    name = path.relative_to(PLUGINS).as_posix()
    may = MAY[room(path.relative_to(PLUGINS).parts)] | {
        what for what, files in ALONE.items() if name in ([files] if isinstance(files, str) else files)
    }
    assert imported(path, path.read_text(encoding="utf-8")) - may == set()


def test_the_rooms_of_config_import_each_other_one_way() -> None:
    imports = subrooms("_config")
    assert {"fields", "values"} <= imports["rules"] and imports["values"] == set()
    assert circle(imports) == set()


@pytest.mark.parametrize(
    ("imports", "found"),
    [
        ({"rules": {"values"}, "values": set()}, set()),
        ({"rules": {"starts"}, "starts": {"rules", "values"}, "values": set()}, {"rules", "starts"}),
        (
            {"plan": {"rules"}, "rules": {"starts"}, "starts": {"values"}, "values": {"rules"}},
            {"rules", "starts", "values"},
        ),
    ],
)
def test_a_circle_is_seen(imports: dict[str, set[str]], found: set[str]) -> None:
    assert circle(imports) == found


@pytest.mark.parametrize(
    ("name", "line", "found"),
    [
        ("module_utils/_node/store/meta.py", "from ..._cluster.api import session", {"_cluster"}),
        ("module_utils/_node/store/meta.py", "from ..system import files", set()),
        ("module_utils/_config/plan/plan.py", "from . import costs", set()),
        ("module_utils/_config/plan/plan.py", "import yaml, os", {"yaml"}),
        ("modules/node_drain.py", f"from {OURS}module_utils._cluster.rollout import drain", {"_cluster"}),
        ("modules/node_drain.py", f"from {OURS}plugin_utils import sealed", {"plugin_utils"}),
        ("plugin_utils/sealed.py", "from ..module_utils._node import store", {"_node"}),
        ("filter/node.py", "from jinja2.filters import pass_environment", {"jinja2"}),
    ],
)
def test_an_import_is_seen(name: str, line: str, found: set[str]) -> None:
    assert imported(PLUGINS / name, line) == found


# The files of the other folders run, or are imported, in gates that need nothing.
FOLDERS = ("awx", "benchmarks", "browser", "e2e", "e2e_fleet", "e2e_modern", "e2e_node", "lab", "support")


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_imported_is_there(folder: str) -> None:
    for path in sorted((ROOT / "tests" / folder).rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            # A package that only one gate has.
            assert (error.name or "").partition(".")[0] not in ("tests", "tools"), f"{module}: {error}"
