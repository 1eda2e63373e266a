# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Distinguishes a misspelt variable of this collection from one of another collection or of the user."""

from __future__ import annotations

import difflib
import functools
import re
import typing as t

from ...module_utils._config.fields import fields

MAIN = "kubelet_config"
PREFIX = f"{MAIN}_"
FACT = "kubelet_configz"
"""What a module of this collection returns as a fact."""
_WHOLE = 0.92
"""So alike is our shortest name with one wrong, missing or additional character. Kubespray's kube_config_dir has 0.909.
"""
_END = 0.77
"""Of what follows the prefix. The path in kubelet_config_path has 0.75 of auth."""
_ABBREVIATED = re.compile(r"kubelet_conf(_.*)?")
"""Roles of others have such variables for the kubeconfig kubelet.conf."""


class Names:
    """The names of all variables of this collection."""

    def __init__(self, known: t.Iterable[str]) -> None:
        self._known = frozenset(known)
        self._ends = sorted(name[len(PREFIX) :] for name in self._known - {MAIN})
        # Most hosts have the same variables.
        self.near = functools.lru_cache(maxsize=None)(self._near)

    def meant(self, name: str, value: t.Any) -> str:
        """Return the variable that an unknown one with this value most likely means, empty if it is not ours."""
        if _ABBREVIATED.fullmatch(name) and not _is_configuration(value):
            return ""
        return self.near(name)

    def _near(self, name: str) -> str:
        """Return our variable whose name is most like this one, empty without any."""
        if name in self._known or name == FACT or name[:1].lower() != MAIN[:1]:
            return ""
        if not name.startswith(PREFIX) or name == PREFIX:
            return _closest(name, self._known, _WHOLE)
        end = name[len(PREFIX) :]
        found = _closest(end, self._ends, _END)
        if not found:
            first = end.partition("_")[0]
            alike = [known for known in self._ends if known.partition("_")[0] == first]
            found = _closest(end, alike, 0)
        return f"{PREFIX}{found}" if found else ""


def _closest(word: str, words: t.Iterable[str], least: float) -> str:
    return next(iter(difflib.get_close_matches(word, list(words), n=1, cutoff=least)), "")


def _is_configuration(value: t.Any) -> bool:
    return isinstance(value, dict) and any(key in fields.ALL for key in value)
