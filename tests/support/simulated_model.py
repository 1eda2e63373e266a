# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a 1.20 kubelet handles a source and a configuration, without a clock, a socket or an API server
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
    """Return the /configz of a kubelet that runs this configuration.

    `own`: the /configz of its local configuration, for the paths of its serving certificate.
    """
    result = compare.with_defaults({key: value for key, value in config.items() if key not in compare.HEADER}, 20)
    # Set before /configz is registered (cmd/kubelet/app/server.go).
    for path in ("tlsCertFile", "tlsPrivateKeyFile"):
        if not result.get(path) and not result.get("serverTLSBootstrap") and path in own:
            result[path] = own[path]
    return _written(result, "")


def refusal(text: str | None) -> tuple[str, Config | None]:
    """Return the error that a kubelet reports when it starts with this text, and the configuration if it runs it.

    `text` is None when the ConfigMap lacks the key; the error is "" for none.
    """
    try:
        config = document.parse(text or "", "the ConfigMap", complete=True)
    except document.DocumentError:
        return LOAD, None
    if any(problem.rule == "type" for problem in types.check(config, fields.OLDEST_MINOR)):
        return LOAD, None
    return (VALIDATE, None) if any(validation.check(EffectiveConfig(config, fields.OLDEST_MINOR))) else ("", config)


@dataclasses.dataclass
class Kubelet:
    """The state of one node's kubelet."""

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
        """Follow the removal of its source; return whether the kubelet restarts."""
        self.good = None
        if self.assigned is None:
            # The error of an earlier sync stays.
            return False
        self.assigned = None
        self._start("", None)
        return True

    def missing(self) -> None:
        """Record that the ConfigMap could not be fetched."""
        self.override = DOWNLOAD

    def follow(self, reference: Reference, text: str | None) -> bool:
        """Follow a fetched source; return whether the kubelet restarts."""
        self.override = ""
        if reference == self.assigned:
            return False
        self.assigned = reference
        self._start(*refusal(text))
        return True

    def graduate(self) -> bool:
        """End the trial; return whether that changed the last-known-good."""
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
        """Return its `status.config` as a merge patch; a part that is local is null."""
        parts = {"assigned": self.assigned, "active": self.active, "lastKnownGood": self.good}
        return {
            **{name: {"configMap": part} if part else None for name, part in parts.items()},
            "error": self.override or self.error or None,
        }


def _identity(reference: Reference) -> str:
    return f"{reference['uid']}/{reference['resourceVersion']}/{reference['kubeletConfigKey']}"


def _written(value: t.Mapping[str, t.Any], above: str) -> Config:
    """Return the object as Go writes it: without omittable zero values, durations in their canonical form."""
    result: Config = {}
    for name, inner in value.items():
        field = fields.ALL.get(f"{above}{name}")
        if inner is None:
            continue
        if field is None:
            # The kubelet drops unknown fields, but not inside a map or an object of another package.
            if above:
                result[name] = copy.deepcopy(inner)
        elif field.type == "object" and isinstance(inner, t.Mapping):
            result[name] = _written(inner, f"{field.path}.")
        elif not (field.zero_omitted and compare.is_zero(inner, field)):
            result[name] = copy.deepcopy(compare.canonical(inner, field))
    return result
