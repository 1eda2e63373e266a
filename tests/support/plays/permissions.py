# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifests in docs/rbac, permission by permission."""

from __future__ import annotations

import copy
import dataclasses
import typing as t
from pathlib import Path

import yaml

from tests.support.plays.ansible import ROOT

FOLDER = ROOT / "docs/rbac"
USER = "kubelet-config-operator"
PLAYBOOKS = tuple(sorted(path.stem for path in FOLDER.glob("*.yaml") if not path.stem.startswith("option-")))
Objects = list[dict[str, t.Any]]


@dataclasses.dataclass(frozen=True, order=True)
class Permission:
    """One verb on one resource. `namespace` is empty for those of a ClusterRole."""

    verb: str
    resource: str
    group: str = ""
    namespace: str = ""

    def __str__(self) -> str:
        return " ".join(word for word in (self.verb, self.resource, self.namespace) if word)


def manifest(name: str) -> Objects:
    return _items(FOLDER / f"{name}.yaml")


def everything() -> Objects:
    """Return the objects of docs/rbac.yaml."""
    return _items(FOLDER.with_suffix(".yaml"))


def _items(path: Path) -> Objects:
    return list(yaml.safe_load(path.read_text(encoding="utf-8"))["items"])


def permissions(objects: Objects) -> list[Permission]:
    return [
        Permission(verb, resource, rule["apiGroups"][0], role["metadata"].get("namespace", ""))
        for role in objects
        for rule in role.get("rules", ())
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def without(objects: Objects, taken: Permission) -> Objects:
    """Return the objects without one permission."""
    found = copy.deepcopy(objects)
    for role in found:
        for rule in role.get("rules", ()):
            about = (rule["resources"], rule["apiGroups"], role["metadata"].get("namespace", ""))
            if about == ([taken.resource], [taken.group], taken.namespace) and taken.verb in rule["verbs"]:
                rule["verbs"].remove(taken.verb)
        if "rules" in role:
            role["rules"] = [rule for rule in role["rules"] if rule["verbs"]]
    return found


def used(asked: t.Iterable[tuple[str, str, str, str]], given: t.Iterable[Permission]) -> set[Permission]:
    """Return the permissions of `given` that requests needed: verb, API group, resource, namespace of each."""
    return {
        one
        for one in given
        for verb, group, resource, namespace in asked
        if (verb, resource, group) == (one.verb, one.resource, one.group) and one.namespace in ("", namespace)
    }
