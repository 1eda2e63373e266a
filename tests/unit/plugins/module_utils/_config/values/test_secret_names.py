# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No error about a document with secrets quotes it."""

from __future__ import annotations

import datetime
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document, secret_names


def test_the_names() -> None:
    secrets = {name for name, field in fields.ALL.items() if field.secret}
    assert set(secret_names.NAMES) == {*secrets, *fields.FORMER_SECRETS}


@pytest.mark.parametrize("name", secret_names.NAMES)
@pytest.mark.parametrize(
    "value",
    [
        "*s4711",
        "!s4711 x",
        "!s'4711 x",
        "04711",
        "!!binary NDcxMQ==",
        "4711-01-01",
        "0o4711",
        "{<<: [*s4711]}",
        "@4711",
    ],
)
def test_what_cannot_be_read_is_not_quoted(name: str, value: str) -> None:
    for text in (f"{name}:\n  A: [{value}]\n", f"{name}:\n  A:\n  - {value}\n"):
        with pytest.raises(document.DocumentError, match=r"^the document, line [1-4]: ") as raised:
            document.parse(text, "the document")
        assert not any(word in str(raised.value) for word in ("4711", "NDcx")), raised.value


@pytest.mark.parametrize("value", [datetime.date(4711, 1, 1), b"4711", {4711: "x"}])
def test_what_json_cannot_hold_is_not_quoted(value: t.Any) -> None:
    with pytest.raises(document.DocumentError, match=r"the document: .* (in quotes|cannot hold)") as raised:
        document.accept({"staticPodURLHeader": {"A": [value]}}, "the document")
    assert "4711" not in str(raised.value)


def test_what_has_no_secrets_is_quoted() -> None:
    with pytest.raises(document.DocumentError, match="`04711` is an octal number"):
        document.parse("maxPods: 04711", "the document")
    with pytest.raises(document.DocumentError, match="4711, 1, 1"):
        document.accept({"maxPods": datetime.date(4711, 1, 1)}, "the document")
