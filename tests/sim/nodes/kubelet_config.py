# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet of 1.24 or later reads, refuses and runs, by the rules of the collection, in a kubelet's own words."""

from __future__ import annotations

import copy
import posixpath
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import (
    fields,
    merged_dropins,
    shadow,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.fields import LAST_MINOR
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import (
    fatal,
    feature_gates,
    types,
    validation,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import REFUSAL, EffectiveConfig
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document, paths
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.short_texts import flag
from tests.sim.kubelets.configs import written

Config = dict[str, t.Any]
PATH_OF = "path: &TypeMeta{Kind:,APIVersion:,}"
_DEFAULTING = "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
_GO_TYPES = {
    "bool": "bool",
    "int32": "int32",
    "int64": "int64",
    "float": "float64",
    "string": "string",
    "duration": "string",
}


class Ended(Exception):
    """The kubelet ends with this message, which it logs after some words. `panics`: not with an error but a panic."""

    def __init__(self, message: str, panics: bool = False, logged: str = "command failed") -> None:
        super().__init__(message)
        self.panics, self.logged = panics, logged


class Read(t.NamedTuple):
    """What a kubelet runs: its effective configuration, and the unknown fields of its config file."""

    config: Config
    unknown: list[str]


def read(words: t.Sequence[str], minor: int, root: Path) -> Read:
    """Return what a kubelet with this command line runs. Raises Ended."""
    for word in words:
        name = word.lstrip("-").partition("=")[0]
        if word.startswith("--") and minor > LAST_MINOR.get(name, minor):
            raise Ended(f"failed to parse kubelet flag: unknown flag: --{name}")
    path, folder = flag(words, "config"), flag(words, "config-dir")
    base: Config = {}
    if path:
        try:
            base = _load(root, path)
        except ValueError as error:
            where = f"failed to load Kubelet config file {path}, error {error}"
            raise Ended(f"failed to load kubelet config file, path: {path}, error: {where}") from None
    known, unknown = _known(base, minor)
    config = _absolute(known, path or "")
    layers = None if folder is None or minor < 30 else [_dropin(root, each, minor) for each in _dropins(root, folder)]
    config = merged_dropins.effective(config, layers, minor)
    _decoded(
        config, minor, "failed to merge kubelet configs: failed to unmarshal merged JSON into kubelet configuration"
    )
    for place, value in shadow.values(words, minor).items():
        if value != shadow.UNKNOWN and "[" not in place:
            _set(config, place.split("."), value)
    _validate(config, minor)
    return Read(config, unknown)


def deadly(config: Config, minor: int, root: Path) -> str:
    """Return why a kubelet ends that has accepted this configuration; empty if it runs."""
    authority = (((config.get("authentication") or {}).get("x509")) or {}).get("clientCAFile")
    if authority and not (root / authority.lstrip("/")).exists():
        return f"unable to load client CA file {authority}: open {authority}: no such file or directory"
    effective = EffectiveConfig(config, minor)
    found = [
        problem.message
        for problem in (*fatal.check(effective), *validation.check(effective))
        if problem.severity == REFUSAL and problem.rule not in validation.NAMES
    ]
    return found[0] if found else ""


def shown(config: Config, minor: int) -> Config:
    """Return the /configz of a kubelet that runs this configuration."""
    return written(paths.without_header(config), minor)


def _load(root: Path, path: str) -> Config:
    place = root / path.lstrip("/")
    try:
        text = place.read_bytes()
    except OSError as error:
        name = (error.strerror or "").lower()
        raise ValueError(f'failed to read kubelet config file "{path}", error: open {path}: {name}') from None
    if not text.strip():
        raise ValueError(f'kubelet config file "{path}" was empty')
    try:
        found = document.parse(text, path)
    except document.DocumentError as error:
        raise ValueError(f"failed to decode: {error}") from None
    for name in ("kind", "apiVersion"):
        if name not in found:
            raise ValueError(f"failed to decode: Object '{name[0].upper()}{name[1:]}' is missing in '{path}'")
    return found


def _dropins(root: Path, folder: str) -> list[str]:
    place = root / folder.lstrip("/")
    if place.is_symlink() and not folder.endswith("/"):
        return []
    paths = [f"/{path.relative_to(root)}" for path in place.rglob("*") if not path.is_dir()] if place.is_dir() else []
    return merged_dropins.in_order(paths)


def _dropin(root: Path, path: str, minor: int) -> Config:
    try:
        found = _load(root, path)
    except ValueError as error:
        raise Ended(
            f"failed to merge kubelet configs: failed to walk through kubelet dropin directory: {error}"
        ) from None
    # Unknown fields are dropped without a word when the merged configuration is decoded.
    return _known(found, minor)[0]


def _known(config: Config, minor: int) -> tuple[Config, list[str]]:
    """Return a configuration without the fields that this minor does not know, and their names."""
    unknown = [
        problem.path
        for problem in types.check(config, minor)
        if problem.rule not in ("type", "header") and "." not in problem.path and "[" not in problem.path
    ]
    return {key: value for key, value in config.items() if key not in unknown}, sorted(unknown)


def _decoded(config: Config, minor: int, doing: str) -> None:
    """Raise Ended if a value has not the type of its field."""
    for problem in types.check(config, minor):
        if problem.rule == "type":
            field = fields.ALL.get(problem.path)
            value = _at(config, problem.path.split("."))
            kind = {bool: "bool", str: "string", list: "array", dict: "object"}.get(type(value), "number")
            wanted = _GO_TYPES.get(field.type if field else "", field.type if field else "value")
            place = f"Go struct field KubeletConfiguration.{problem.path} of type {wanted}"
            raise Ended(f"{doing}: json: cannot unmarshal {kind} into {place}")


def _validate(config: Config, minor: int) -> None:
    effective = EffectiveConfig(config, minor)
    gates = [problem.message for problem in feature_gates.check(effective) if problem.severity == REFUSAL]
    if gates and minor >= 32:
        raise Ended(_DEFAULTING + gates[0], panics=True)
    if gates:
        raise Ended(f"failed to set feature gates from initial flags-based config: {gates[0]}")
    # The others are those that a kubelet checks later: see `deadly`.
    found = [
        problem.message
        for problem in validation.check(effective)
        if problem.severity == REFUSAL and problem.rule in validation.NAMES
    ]
    if found:
        messages = found[0] if len(found) == 1 else f"[{', '.join(found)}]"
        raise Ended(f"failed to validate kubelet configuration, error: {messages}, {PATH_OF}")


def _absolute(config: Config, path: str) -> Config:
    """Return a config file's fields with their relative paths resolved beside it."""
    result = copy.deepcopy(config)
    for field in fields.ALL.values():
        if field.path_ref and "[" not in field.path:
            value = _at(result, field.path.split("."))
            if isinstance(value, str) and value and not value.startswith("/"):
                _set(result, field.path.split("."), posixpath.join(posixpath.dirname(path), value))
    return result


def _at(config: t.Any, parts: t.Sequence[str]) -> t.Any:
    for part in parts:
        config = config.get(part) if isinstance(config, dict) else None
    return config


def _set(config: Config, parts: t.Sequence[str], value: t.Any) -> None:
    for part in parts[:-1]:
        config = config.setdefault(part, {})
    config[parts[-1]] = value
