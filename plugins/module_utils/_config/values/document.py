# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading and writing kubelet configuration documents, and the names that follow from their content: variants, and the
hash suffix of ``kubectl create configmap --append-hash``. The only file here that needs PyYAML.

Reading is stricter than YAML: text that PyYAML and the kubelet's Go decoder read differently is an error. Writing
produces JSON, which both read alike.

Source of the suffix: staging/src/k8s.io/kubectl/pkg/util/hash/hash.go of Kubernetes.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from typing import Any, Container, Mapping, NoReturn, Sequence

from . import strict_yaml

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"
MAX_BYTES = 1024 * 1024
"""Largest text a ConfigMap can hold, in bytes (MaxSecretSize of the Kubernetes API: 1 MiB for all keys together)."""

SECRETS = ("staticPodURL", "staticPodURLHeader", "manifestURL", "manifestURLHeader")
"""The fields with secrets; the last two are former names. The table of all fields, which builds on the values, marks
the first two.
"""
_NOT_SHOWN = "(not shown)"
# From the first quotation mark to the last one: a quotation may contain others.
_QUOTATION = re.compile(r"([`'\"]).*\1", re.DOTALL)
_MAX_VALUES = 100_000
_MAX_DEPTH = 100
_HALF_PAIR = re.compile("[\ud800-\udfff]")


class DocumentError(ValueError):
    """A document cannot be used. The text names the origin, the line if known, the cause and the remedy."""


class _NotJson(Exception):
    """A value that JSON cannot hold, with the words before and after it."""

    def __init__(self, value: Any, before: str, after: str) -> None:
        super().__init__(after)
        self.value, self.before, self.after = value, before, after


def parse(
    text: str | bytes, origin: str, complete: bool = False, versions: Sequence[str] = (API_VERSION,)
) -> dict[str, Any]:
    """Return the mapping that a YAML or JSON document holds, made of dict, list, str, int, float, bool and None only.

    ``origin`` names the source of the text in error messages. With ``complete`` the document must contain the kind of a
    KubeletConfiguration and one of the apiVersions ``versions``, of which a message names the first; without it a
    fragment is accepted. Raises DocumentError for an encoding other than UTF-8, control characters, duplicate keys,
    tabs, several documents, an empty document, keys that are not strings, values that PyYAML and Go read differently,
    and more than 1 MiB.
    """
    content = _decode(text, origin)
    check_size(content, origin)
    try:
        found = _load(content)
    except strict_yaml.YamlError as error:
        where = f"{origin}, line {error.line}" if error.line else origin
        cause = _QUOTATION.sub(_NOT_SHOWN, error.cause) if _has_secrets(content) else error.cause
        raise DocumentError(f"{where}: {cause}. {error.remedy}") from None
    if found is None:
        raise DocumentError(f"{origin}: the document is empty. Write at least one field, or {{}} for none.")
    result = accept(found, origin)
    if complete:
        _check_header(result, origin, versions)
    return result


def accept(value: Any, origin: str) -> dict[str, Any]:
    """Return a copy of a mapping that was read elsewhere, such as an Ansible variable.

    Raises DocumentError when the value is not a mapping or contains what JSON cannot hold: keys that are not strings,
    dates, NaN, texts that are not Unicode.
    """
    if not isinstance(value, Mapping):
        kind = "list" if isinstance(value, list) else "single value"
        raise DocumentError(f"{origin}: the document is a {kind}, not a mapping of fields. Write `field: value` lines.")
    try:
        result: dict[str, Any] = _plain(value, origin, 0, [_MAX_VALUES])
    except _NotJson as error:
        shown = _NOT_SHOWN if _has_secrets(value) else repr(error.value)
        raise DocumentError(f"{origin}: {error.before}{shown} {error.after}") from None
    return result


# A boolean is an integer of Python, too.
_KINDS: tuple[tuple[Any, str], ...] = (
    (Mapping, "mapping"),
    (list, "list"),
    (str, "string"),
    (bool, "boolean"),
    ((int, float), "number"),
    (type(None), "empty entry"),
)


def kind(value: Any) -> str:
    """Return what a value of a document is, in words of YAML."""
    return next(name for types, name in _KINDS if isinstance(value, types))


def render(config: Mapping[str, Any]) -> str:
    """Return the canonical text of a configuration: JSON, two spaces, sorted keys, plain Unicode, a final newline.

    Raises ValueError for values that JSON cannot hold (NaN, infinity).
    """
    return json.dumps(config, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


def check_size(text: str, origin: str) -> None:
    """Raise DocumentError when the text does not fit into a ConfigMap (1 MiB)."""
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_BYTES:
        raise DocumentError(
            f"{origin}: {size} bytes are more than the {MAX_BYTES} bytes (1 MiB) a ConfigMap can hold. "
            "A kubelet configuration has a few kilobytes: check that this is the right file, or shorten it."
        )


def _has_secrets(document: Container[str]) -> bool:
    """Return whether a text or a mapping has a field with secrets: an error about it quotes nothing."""
    return any(name in document for name in SECRETS)


def _decode(text: str | bytes, origin: str) -> str:
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DocumentError(
                f"{origin}: byte {error.start} is not UTF-8 text. "
                "Give a YAML or JSON text file in UTF-8, not a binary file."
            ) from None
    text = text[1:] if text.startswith("\ufeff") else text
    bad = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff]", text)
    if bad:
        line = text.count("\n", 0, bad.start()) + 1
        raise DocumentError(
            f"{origin}, line {line}: control character U+{ord(bad.group()):04X} in the text. "
            "Give a YAML or JSON text file in UTF-8, not a binary file; escape such a character inside double quotes."
        )
    return text


def _load(text: str) -> Any:
    """Read JSON as JSON, because YAML 1.1 reads some JSON numbers (1e3) as text.

    Everything else is read as YAML, whose reader also reports the line of an error.
    """
    if text.lstrip().startswith("{"):
        try:
            return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            pass
    return strict_yaml.load(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("duplicate key")
    return found


def _no_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


_SCALARS = (str, int, float)


def _plain(value: Any, origin: str, depth: int, budget: list[int]) -> Any:
    """Return a deep copy of a value that shares nothing.

    The number of values and levels is limited: a few aliases of aliases could otherwise expand to gigabytes.
    """
    budget[0] -= 1
    if budget[0] < 0 or depth > _MAX_DEPTH:
        raise DocumentError(
            f"{origin}: the document expands to more than {_MAX_VALUES} values or {_MAX_DEPTH} levels "
            "when its aliases are resolved. "
            "Write the values without anchors and aliases."
        )
    if value is None or isinstance(value, _SCALARS):
        # Most values: what asks for a mapping first takes twice as long.
        _check_scalar(value, origin)
        return value
    if isinstance(value, Mapping):
        for key in value:
            _check_key(key, origin)
        return {key: _plain(inner, origin, depth + 1, budget) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, origin, depth + 1, budget) for inner in value]
    _check_scalar(value, origin)
    return value


def _check_key(key: Any, origin: str) -> None:
    if not isinstance(key, str):
        raise _NotJson(key, "the key ", "is not text. Field names and map keys are text: put the key in quotes.")
    _check_text(key, origin)


def _check_scalar(value: Any, origin: str) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise DocumentError(f"{origin}: a number is too large or not a number. Give a finite number.")
    if value is not None and not isinstance(value, _SCALARS):
        kind = type(value).__name__
        raise _NotJson(value, "", f"is a {kind}, which a configuration cannot hold. Put it in quotes if it is text.")
    if isinstance(value, str):
        _check_text(value, origin)


def _check_text(text: str, origin: str) -> None:
    """Raise DocumentError for a text that UTF-8 cannot hold. An escape of JSON or YAML can write one."""
    if not text.isascii() and _HALF_PAIR.search(text):
        raise DocumentError(f"{origin}: a text holds half of a surrogate pair. Write the whole character, without \\u.")


def _check_header(config: Mapping[str, Any], origin: str, versions: Sequence[str]) -> None:
    given = config.get("apiVersion")
    version = given if given in versions else versions[0]
    for key, wanted in (("apiVersion", version), ("kind", KIND)):
        if config.get(key) != wanted:
            has = f"is {config[key]!r}" if key in config else "is missing"
            raise DocumentError(f"{origin}: {key} {has}, the kubelet would not load it. Write `{key}: {wanted}`.")


# Go's encoding/json escapes these for HTML; \b and \f have short forms since Go 1.22, as json.dumps writes them.
_GO_ESCAPES = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
# kubectl replaces the digits that could spell bad words.
_SAFE_DIGITS = str.maketrans("013ae", "ghkmt")


def append_hash(name: str, data: Mapping[str, str]) -> str:
    """Return the ten character suffix that ``kubectl --append-hash`` gives a ConfigMap with this base name and content.

    An object that is made immutable later keeps the name.
    """
    content = {"data": dict(data), "kind": "ConfigMap", "name": name}
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), sort_keys=True).translate(_GO_ESCAPES)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:10].translate(_SAFE_DIGITS)


def configmap_name(base: str, text: str, key: str = "kubelet") -> str:
    """Return the name that ``kubectl create configmap BASE --from-file=KEY=FILE --append-hash`` gives this text."""
    return f"{base}-{append_hash(base, {key: text})}"


def variant(config: Mapping[str, Any]) -> str:
    """Return the name of a variant: the first ten hex digits of the SHA-256 of its rendered text."""
    return hashlib.sha256(render(config).encode("utf-8")).hexdigest()[:10]
