# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what the inventory declares for a host as plain values, with every version of ansible-core."""

from __future__ import annotations

import re
import typing as t

from ansible.errors import AnsibleFilterError
from ansible.release import __version__

from ..module_utils._config.values import document, paths

LENIENT = tuple(map(int, __version__.split(".")[:2])) < (2, 19)
"""Whether this ansible-core hands on a template of an undefined variable as text. Later ones raise an error."""
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


def of_host(host: str, variables: t.Mapping[str, t.Any], name: str) -> t.Any:
    """Return a variable of a host with vaulted values as their text, None if it is not set.

    Raises AnsibleFilterError for a text with a template that Ansible has not rendered.
    """
    value = variables.get(name)
    return _plain(value, (), f"{name} of host {host}")


def _plain(value: t.Any, path: paths.Path, origin: str) -> t.Any:
    if isinstance(value, t.Mapping):
        return {key: _plain(inner, (*path, key), origin) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, (*path, position), origin) for position, inner in enumerate(value)]
    if hasattr(value, "__ENCRYPTED__"):
        # AnsibleVaultEncryptedUnicode up to ansible-core 2.18, which is no str. Later ones decrypt by themselves.
        return str(value)
    # Ansible does not render texts that are marked, such as by `!unsafe`.
    if LENIENT and isinstance(value, str) and not hasattr(value, "__UNSAFE__"):
        _refuse_template(value, path, origin)
    return value


def _refuse_template(text: str, path: paths.Path, origin: str) -> None:
    found = _TEMPLATE.search(text)
    if not found:
        return
    place = paths.show(path) if path else f"line {text.count(chr(10), 0, found.start()) + 1}"
    is_secret = any(name in path or name in text for name in document.SECRETS)
    quoted = "a template" if is_secret else found.group()
    raise AnsibleFilterError(
        f"{origin}, {place}: {quoted} names an undefined variable. Nothing was changed. Define the variable for this "
        "host, or mark the text with !unsafe if it is no template, then run again"
    )
