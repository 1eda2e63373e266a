# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets of configurations between the tasks of a run: sealed, that is encrypted, in every result.

Ansible prints results with `-v`, and gives them to every callback, to AWX and to the fact cache. `no_log` would hide
the plan too. The key exists only in the memory of this run: Ansible loads actions before it forks the workers.
"""

from __future__ import annotations

import json
import multiprocessing
import re
import typing as t

try:
    from cryptography import fernet
except ImportError:
    # ansible-core needs the package. ansible-test imports and documents plugins without it.
    fernet = None  # type: ignore[assignment]

from ..module_utils._config.fields import fields
from ..module_utils._config.fields.shadow import HIDDEN
from ..module_utils._config.plan.layers import PROFILE
from ..module_utils._config.values.document import SECRETS
from ..module_utils._node.unit import unitfile

MARK = "livenodes-sealed:"
_TOKEN = re.compile(re.escape(MARK) + r"([A-Za-z0-9_=-]+)")
_QUOTED = re.compile(rf'("?){_TOKEN.pattern}\1')
_KEY: t.Any = fernet.Fernet(fernet.Fernet.generate_key()) if fernet else None
SHARED = multiprocessing.parent_process() is None
"""Whether all workers have the key. Under a strategy that loads actions in its workers, each has its own."""

_FLAGS = [name for name, flag in fields.FLAGS.items() if fields.ALL[flag.field].secret]
# Where results have tables, a configuration, and the texts of ConfigMaps. The rows of nodes have no secrets.
_TABLES = ("ansible_facts", "kubelet_configz", "plan", "before")
_ROWS, _VARIANTS = "nodes", "variants"


class SealError(ValueError):
    """A sealed value cannot be opened. The text states the cause and the remedy."""


def without(value: t.Any) -> str:
    """Return a value as JSON in which all sealed secrets are equal: each time that one is sealed, it looks another."""
    return _TOKEN.sub(MARK, json.dumps(value, sort_keys=True, default=str))


def seal(result: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the result of a module with the secrets of its configurations sealed; the rest is the same object."""
    found = dict(result)
    for key, inner in result.items():
        if not isinstance(inner, t.Mapping):
            continue
        if key == _VARIANTS:
            found[key] = _each(inner, _config)
        elif key == "configmap":
            found[key] = _config(inner)
        elif key == "configmaps":
            found[key] = _each(inner, _texts)
        elif key in _TABLES:
            found[key] = seal(inner)
    return found


def layer(value: t.Any) -> t.Any:
    """Return what the inventory declares, a mapping, a text or a list of them, with its secrets sealed."""
    if not SHARED:
        return value
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (list, tuple)):
        return _each(value, layer)
    return _config(value)


def layers(given: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return what the inventory declares by the names of its variables, with its secrets sealed."""
    return {variable: layer(value) for variable, value in given.items()}


def group(value: t.Any) -> t.Any:
    """Return what the inventory declares of a group, by the names of its variables if it has a profile; sealed."""
    if isinstance(value, t.Mapping) and PROFILE in value:
        return layers(value)
    return layer(value)


def flags(value: t.Any) -> t.Any:
    """Return the kubelet's flags that the inventory names, a text or a list, sealed if one of them is a secret."""
    words = " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
    is_secret = any(name in words.replace("_", "-") for name in _FLAGS)
    if SHARED and is_secret:
        return _sealed(value)
    return value


def has_sealed(value: t.Any) -> bool:
    """Return whether a value contains a sealed one."""
    return unseal(value, lambda _token: "") is not value


def unseal(value: t.Any, opened: t.Callable[[str], t.Any] | None = None) -> t.Any:
    """Return a value with the sealed ones opened, also inside texts; the same object if there are none.

    Raises SealError for values of another run.
    """
    opened = opened or _open
    if isinstance(value, str) and MARK in value:
        return _in_text(value, opened)
    if isinstance(value, t.Mapping):
        parts = {key: _unsealed(key, inner, opened) for key, inner in value.items()}
        if any(parts[key] is not inner for key, inner in value.items()):
            return parts
    if isinstance(value, (list, tuple)):
        items = [unseal(inner, opened) for inner in value]
        if any(new is not old for new, old in zip(items, value)):
            return items
    return value


def _unsealed(key: t.Any, value: t.Any, opened: t.Callable[[str], t.Any]) -> t.Any:
    if key == _ROWS:
        return value
    if key == _VARIANTS and isinstance(value, t.Mapping) and not any(map(_may_have_secrets, value.values())):
        # Thousands of nodes may have as many configurations.
        return value
    return unseal(value, opened)


def masked(value: t.Any, key: t.Any = "") -> t.Any:
    """Return arguments as they are shown: without secrets of configurations and of the kubelet's command line."""
    if isinstance(value, t.Mapping):
        if key in SECRETS:
            return _each(value, lambda inner: masked(inner, key))
        return {name: masked(inner, name) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(inner, key) for inner in value]
    if key in SECRETS and value is not None:
        return HIDDEN
    if not isinstance(value, str):
        return value
    if _may_have_secrets(value):
        return HIDDEN
    return unitfile.masked(value) if "--" in value else value


def _each(value: t.Any, change: t.Callable[[t.Any], t.Any]) -> t.Any:
    """Return a mapping or a list with each value changed."""
    if isinstance(value, t.Mapping):
        return {key: change(inner) for key, inner in value.items()}
    return [change(inner) for inner in value]


def _may_have_secrets(config: t.Any) -> bool:
    return any(name in config for name in SECRETS)


def _config(config: t.Any) -> t.Any:
    if not isinstance(config, t.Mapping) or not _may_have_secrets(config):
        return config
    found = dict(config)
    for name in SECRETS:
        if name in found:
            found[name] = _sealed(found[name])
    return found


def _texts(data: t.Any) -> t.Any:
    return _each(data, _text) if isinstance(data, t.Mapping) else data


def _text(value: t.Any) -> t.Any:
    return _sealed(value) if _may_have_secrets(str(value)) else value


def _sealed(value: t.Any) -> t.Any:
    if isinstance(value, (t.Mapping, list, tuple)):
        return _each(value, _sealed)
    if value is None or value == HIDDEN or (isinstance(value, str) and _TOKEN.fullmatch(value)):
        return value
    return MARK + _KEY.encrypt(json.dumps(value).encode()).decode()


def _open(token: str) -> t.Any:
    try:
        return json.loads(_KEY.decrypt(token.encode()))
    except fernet.InvalidToken:
        raise SealError(
            "a secret of a configuration is sealed by another run of Ansible, so nothing can open it. Read the "
            "configurations again in this run, and do not take them from a fact cache or from an earlier output"
        ) from None


def _in_text(text: str, opened: t.Callable[[str], t.Any]) -> t.Any:
    whole = _TOKEN.fullmatch(text)
    if whole:
        return opened(whole.group(1))
    # A configuration that a filter has rendered as JSON or YAML.
    return _QUOTED.sub(lambda found: json.dumps(opened(found.group(2)), ensure_ascii=False), text)
