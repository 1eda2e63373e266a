# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet makes of a configuration: whether it reads it, refuses it or dies of it, and what /configz shows."""

from __future__ import annotations

import copy
import dataclasses
import functools
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import compare, fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.minors import api_versions, fields_of
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import fatal, types, validation
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import EffectiveConfig
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document, paths
from tests.lab import kubeadm
from tests.sim.kubelets.words import LOAD, VALIDATE

Config = dict[str, t.Any]
# The kubelet sets these itself when it creates its serving certificate.
CERTIFICATE = {
    "tlsCertFile": "/var/lib/kubelet/pki/kubelet.crt",
    "tlsPrivateKeyFile": "/var/lib/kubelet/pki/kubelet.key",
}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What happens to a kubelet that starts with a configuration. `error`: it does not run it, "" if it does.

    `deadly`: it takes it, and ends before it looks at the API server.
    """

    error: str = ""
    config: Config | None = None
    deadly: bool = False


@functools.lru_cache(maxsize=512)
def outcome(text: str | None, minor: int = fields.OLDEST_MINOR, flags: tuple[tuple[str, t.Any], ...] = ()) -> Outcome:
    """Return what a kubelet with these flags does with a text; None: its ConfigMap lacks the key.

    Flags count before the validation (pkg/kubelet/kubeletconfig/controller.go). The result must not be changed.
    """
    known = max(minor, fields.OLDEST_MINOR)
    try:
        config = document.parse(text or "", "the configuration", complete=True, versions=api_versions(minor))
    except document.DocumentError:
        return Outcome(LOAD)
    if any(problem.rule == "type" for problem in types.check(config, known)):
        return Outcome(LOAD)
    config = {**config, **dict(flags)}
    effective = EffectiveConfig(config, known)
    if any(validation.check(effective)):
        return Outcome(VALIDATE)
    return Outcome("", config, any(fatal.check(effective)))


def shown(config: t.Mapping[str, t.Any], own: t.Mapping[str, t.Any], minor: int = fields.OLDEST_MINOR) -> Config:
    """Return the /configz of a kubelet that runs this configuration.

    `own`: the /configz of its local configuration, for the paths of its serving certificate.
    """
    known = max(minor, fields.OLDEST_MINOR)
    result = compare.with_defaults(paths.without_header(config), known)
    # Set before /configz is registered (cmd/kubelet/app/server.go).
    for path in ("tlsCertFile", "tlsPrivateKeyFile"):
        if not result.get(path) and not result.get("serverTLSBootstrap") and path in own:
            result[path] = own[path]
    return written(result, known)


def own_file(name: str, minor: int) -> str:
    """Return what `kubeadm join` writes for a node of this name in the lab."""
    text = kubeadm.config_yaml(kubeadm.traits(name), minor)
    return text.replace(document.API_VERSION, fields_of(minor).api_version)


def lab_flags(name: str) -> dict[str, t.Any]:
    """Return the fields that the flags of a node of the lab set."""
    words = dict(flag.partition("=")[::2] for flag in kubeadm.traits(name).flags)
    return {"maxPods": int(words["--max-pods"])} if "--max-pods" in words else {}


def written(value: t.Mapping[str, t.Any], minor: int, above: str = "") -> Config:
    """Return the object as Go writes it: without omittable zero values, all others in their canonical form."""
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
            result[name] = written(inner, minor, f"{field.path}.")
        elif not (field.zero_omitted and compare.is_zero(inner, field)):
            result[name] = copy.deepcopy(compare.canonical(inner, field, minor))
    return result
