# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two files that name the config source a kubelet should use, and the one it falls back to.

The bytes are those of the kubelets of 1.11 to 1.23 (pkg/kubelet/kubeletconfig/checkpoint/download.go: a
SerializedNodeConfigSource as YAML, an empty file for the local config).
"""

from __future__ import annotations

import re
import typing as t

from ..records import blockyaml
from ..system.files import StoreError

Source = t.Dict[str, str]
"""A config source: namespace, name, uid, resourceVersion, kubeletConfigKey; two sources are equal when all five are
(kubelet, checkpoint/download.go).
"""

PARTS = ("kubeletConfigKey", "name", "namespace", "resourceVersion", "uid")
API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "SerializedNodeConfigSource"

# What a ConfigMap can have (apimachinery validation: IsConfigMapKey, IsDNS1123Subdomain, IsDNS1123Label). uid and
# resourceVersion become names of folders here; both are opaque, but never a path. They may not hold a dot, which is
# reserved for the files beside these folders.
_FORMS = {
    "kubeletConfigKey": re.compile(r"[-._a-zA-Z0-9]{1,253}"),
    "name": re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-.a-z0-9]*[a-z0-9])?"),
    "namespace": re.compile(r"(?=.{1,63}\Z)[a-z0-9]([-a-z0-9]*[a-z0-9])?"),
    "resourceVersion": re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9]{0,127}"),
    "uid": re.compile(r"[a-zA-Z0-9][-a-zA-Z0-9]{0,127}"),
}
# Plain scalars that YAML 1.1 does not read as a string, so that Go's encoder quotes them (gopkg.in/yaml.v2 encode.go,
# resolve.go).
_WORDS = {"", "~", "null", "true", "false", "yes", "no", "on", "off", "y", "n", "<<", "-", "---", "..."}
_NUMBER = re.compile(
    r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0o?[0-7_]+|[0-9][0-9_]*|(\.[0-9_]+|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?"
    r"|\.(inf|Inf|INF))|\.(nan|NaN|NAN)"
)
_TIME = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?")


class SourceError(StoreError, ValueError):
    """A config source, or the file that holds one, cannot be used."""


def checked(source: t.Mapping[str, t.Any]) -> Source:
    """Return a source reduced to its five parts. Raises SourceError when one is missing or invalid."""
    result: Source = {}
    for part in PARTS:
        value = source.get(part)
        if not isinstance(value, str) or not value:
            raise SourceError(
                f"the config source has no {part} (it needs {', '.join(PARTS)}): "
                "copy it from the ConfigMap that was pushed"
            )
        if not _FORMS[part].fullmatch(value) or value in (".", ".."):
            raise SourceError(
                f"{part} {value!r} of the config source is not possible for a ConfigMap: "
                "it must not hold path parts or special characters"
            )
        result[part] = value
    return result


def check_key(key: str) -> str:
    """Return a key of a ConfigMap that can be a file name. Raises SourceError for any other.

    The rules are those of the kubelet (fsstore.go, files.go) and of apimachinery.
    """
    if not _FORMS["kubeletConfigKey"].fullmatch(key) or key in (".", "..") or key.startswith(("..", "tmp_")):
        raise SourceError(
            f"key {key!r} cannot become a file: only base names of letters, digits, '-', '_' and '.' are allowed, "
            "at most 253 characters, not beginning with '..' or 'tmp_'. Rename the key in the ConfigMap"
        )
    return key


def encode(source: t.Mapping[str, str] | None) -> bytes:
    """Return the content of the file for a source, or for the local config (None). Raises SourceError."""
    if source is None:
        return b""
    whole = checked(source)
    lines = [f"apiVersion: {API_VERSION}", f"kind: {KIND}", "source:", "  configMap:"]
    lines += [f"    {part}: {_scalar(whole[part])}" for part in PARTS]
    return ("\n".join(lines) + "\n").encode()


def decode(data: bytes) -> Source | None:
    """Return the source a file holds, None for the local config. Raises SourceError that states what is wrong."""
    if not data:
        return None
    try:
        value = blockyaml.load(data.decode())
    except UnicodeDecodeError as error:
        raise SourceError(f"is not UTF-8 text ({error.reason} at byte {error.start})") from None
    except blockyaml.Unreadable as error:
        raise SourceError(f"is not what a kubelet writes: {error}") from None
    if not isinstance(value, dict):
        raise SourceError("does not hold a mapping")
    if value.get("kind") != KIND or value.get("apiVersion") != API_VERSION:
        raise SourceError(f"does not hold a {KIND} of {API_VERSION}")
    source = value.get("source")
    if not isinstance(source, dict) or not isinstance(source.get("configMap"), dict):
        raise SourceError("names no ConfigMap (source.configMap)")
    return checked(source["configMap"])


def _scalar(value: str) -> str:
    special = value.lower() in _WORDS or _NUMBER.fullmatch(value) or _TIME.fullmatch(value)
    return f'"{value}"' if special else value
