# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server answers other than success, and no answer at all, as an ApiError with words for operators."""

from __future__ import annotations

import json
import re
import typing as t

from . import library
from .errors import TRANSIENT, ApiError, short

# Words of failures to connect that do not pass by themselves: of the certificate and of the name.
_LASTING = ("CERTIFICATE_VERIFY_FAILED", "SSLError", "Name or service not known", "Failed to resolve")
# How the API server refuses what no rule allows (apiserver's forbiddenMessage in responsewriters/errors.go; old ones
# write no quotes). A quota, a webhook and other admission answer 403 too, each with its own reason.
_BY_AUTHORIZER = re.compile(r"\buser .* cannot ", re.IGNORECASE)


def refusal(host: str, error: t.Any, user: str = "", remedy: str = "renew it") -> ApiError:
    """Turn an HTTP answer other than success into an ApiError that quotes the server's message.

    `user`: whose credentials these are, empty if that is not known; `remedy`: how to renew them.
    """
    message, reason, causes = _status(error)
    if error.status == 401:
        message = (
            f"{host} does not accept these credentials (401 {message}): the token or client certificate{user} is "
            f"missing, expired or belongs to another cluster; {remedy} and run again"
        )
    elif error.status == 403 and _BY_AUTHORIZER.search(message):
        message = (
            f"{message} (this user lacks the permission; docs/rbac.yaml of the collection grants those of playbooks, "
            "docs/rbac those of one playbook or option)"
        )
    after = (error.headers or {}).get("Retry-After")
    seconds = float(after) if after and re.fullmatch(r"\d+", after) else None
    return ApiError(error.status, message, reason, seconds, error.status in TRANSIENT, causes)


def _status(error: t.Any) -> tuple[str, str, dict[str, str]]:
    """Return message, reason and causes of an answer: those of its metav1.Status, else its text."""
    body = error.body.decode("utf-8", "replace") if isinstance(error.body, bytes) else str(error.body or "")
    try:
        status = json.loads(body)
        message, reason = str(status.get("message") or body), str(status.get("reason") or "")
        given = (status.get("details") or {}).get("causes") or []
        causes = {str(item.get("reason") or ""): str(item.get("message") or "") for item in given}
    except (ValueError, AttributeError, RecursionError, TypeError):
        message, reason, causes = body.strip(), "", {}
    return message or str(error.reason), reason, causes


def no_answer(host: str, error: Exception) -> ApiError:
    text = short(error)
    lasting = isinstance(error, library.urllib3.exceptions.SSLError) or any(words in text for words in _LASTING)
    return ApiError(0, f"no usable answer from the API server {host}: {text}", "NoAnswer", transient=not lasting)
