# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of the reference has the variables of hosts and of roles. All others are those of the run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import specs

ROOT = Path(__file__).resolve().parents[5]
PAGE = (ROOT / "docs/docsite/rst/guide_reference.rst").read_text(encoding="utf-8")


HANDED_ON = specs.HANDED_ON - specs.INTERNAL.keys()
"""Those that users may set in plays of their own."""


@pytest.mark.parametrize(("whose", "names"), [("the host", specs.OF_THE_HOST), ("the roles", HANDED_ON)])
def test_the_table_names_them(whose: str, names: frozenset[str]) -> None:
    row = PAGE.partition(f"  * - {whose}\n    - ")[2]
    assert set(re.findall(r"``(\w+)``", row.partition("\n    - ")[0])) == names


def test_all_of_them_are_known_variables() -> None:
    named = specs.OF_THE_HOST | HANDED_ON
    assert named <= set(specs.known(specs.by_role())) and not specs.OF_THE_HOST & specs.HANDED_ON


def test_internal_variables_are_those_of_the_roles() -> None:
    texts = [path.read_text() for folder in ("roles", "playbooks") for path in (ROOT / folder).rglob("*.yml")]
    assert set(re.findall(r"\b__kubelet_config_\w+", "\n".join(texts))) == set(specs.INTERNAL)


def test_a_variable_that_is_not_named_is_that_of_the_run() -> None:
    assert specs.is_of_the_run("kubelet_config_new") and specs.is_of_the_run(specs.AUTH)
    assert not any(map(specs.is_of_the_run, specs.OF_THE_HOST | specs.HANDED_ON))
