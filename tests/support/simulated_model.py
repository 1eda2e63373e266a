# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a 1.20 kubelet makes of a source and of a configuration, without a clock, a socket or an API server
(pkg/kubelet/kubeletconfig).
"""

from __future__ import annotations

import copy
import dataclasses
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.effective_config import EffectiveConfig
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import types, validation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from tests.support.kubelet_model import DOWNLOAD, LOAD, VALIDATE

Reference = dict[str, str]
Config = dict[str, t.Any]


def shown(config: t.Mapping[str, t.Any], own: t.Mapping[str, t.Any]) -> Config:
    """What /configz says when a kubelet runs this configuration. `own`: /configz of the kubelet's local one, for the
    paths of its serving certificate.
    """
    result = compare.with_defaults({key: value for key, value in config.items() if key not in compare.HEADER})
    # Filled in before /configz is registered (cmd/kubelet/app/server.go).
    for path in ("tlsCertFile", "tlsPrivateKeyFile"):
        if not result.get(path) and not result.get("serverTLSBootstrap") and path in own:
            result[path] = own[path]
    return _written(result, "")


def refusal(text: str | None) -> tuple[str, Config | None]:
    """What a kubelet that starts with this text reports as its error, "" for none, and the configuration when it runs
    it. None: no such key.
    """
    try:
        config = document.parse(text or "", "the ConfigMap", complete=True)
    except document.DocumentError:
        return LOAD, None
    if any(problem.rule == "type" for problem in types.check(config, fields.TABLE_MINOR)):
        return LOAD, None
    return (VALIDATE, None) if any(validation.check(EffectiveConfig(config, fields.TABLE_MINOR))) else ("", config)


@dataclasses.dataclass
class Kubelet:
    """One node's kubelet between two looks at it."""

    local: Config
    """/configz of the configuration on its disk."""
    assigned: Reference | None = None
    active: Reference | None = None
    good: Reference | None = None
    error: str = ""
    override: str = ""
    configz: Config = dataclasses.field(default_factory=dict)
    starts: int = 0
    saved: dict[str, Config] = dataclasses.field(default_factory=dict)
    """The configurations of its sources, by uid and resourceVersion."""

    def __post_init__(self) -> None:
        self.configz = self.configz or self.local

    def reset(self) -> bool:
        """Follow a source that was taken away; return whether that restarts it."""
        self.good = None
        if self.assigned is None:
            # The error of an earlier sync stays.
            return False
        self.assigned = None
        self._start("", None)
        return True

    def missing(self) -> None:
        """The ConfigMap could not be fetched."""
        self.override = DOWNLOAD

    def follow(self, reference: Reference, text: str | None) -> bool:
        """Follow a source that was fetched; return whether that restarts it."""
        self.override = ""
        if reference == self.assigned:
            return False
        self.assigned = reference
        self._start(*refusal(text))
        return True

    def graduate(self) -> bool:
        """The time of trial is over; return whether that changed its last-known-good."""
        if self.assigned is None or self.error or self.good == self.assigned:
            return False
        self.good = self.assigned
        return True

    def _start(self, error: str, config: Config | None) -> None:
        self.starts += 1
        self.error, self.override = error, ""
        if config is not None and self.assigned:
            self.saved[_identity(self.assigned)] = shown(config, self.local)
        self.active = self.assigned if not error else self.good
        self.configz = self.saved[_identity(self.active)] if self.active else self.local

    def status(self) -> dict[str, t.Any]:
        """Its `status.config` as a merge patch; a part that is local is null."""
        parts = {"assigned": self.assigned, "active": self.active, "lastKnownGood": self.good}
        return {
            **{name: {"configMap": part} if part else None for name, part in parts.items()},
            "error": self.override or self.error or None,
        }


def _identity(reference: Reference) -> str:
    return f"{reference['uid']}/{reference['resourceVersion']}/{reference['kubeletConfigKey']}"


def _written(value: t.Mapping[str, t.Any], above: str) -> Config:
    """As Go writes the object: fields that are left out when zero are, durations stand in their one form."""
    result: Config = {}
    for name, inner in value.items():
        field = fields.ALL.get(f"{above}{name}")
        if inner is None:
            continue
        if field is None:
            # The kubelet drops what it does not know; inside a map, or an object of another package, everything is
            # known.
            if above:
                result[name] = copy.deepcopy(inner)
        elif field.type == "object" and isinstance(inner, t.Mapping):
            result[name] = _written(inner, f"{field.path}.")
        elif not (field.zero_omitted and compare.is_zero(inner, field)):
            result[name] = copy.deepcopy(compare.canonical(inner, field))
    return result
