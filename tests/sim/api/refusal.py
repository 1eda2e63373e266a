# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An answer of the API server other than success."""

from __future__ import annotations

import typing as t

REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    405: "MethodNotAllowed",
    409: "Conflict",
    410: "Expired",
    415: "UnsupportedMediaType",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Refusal(Exception):
    """An HTTP status with a metav1.Status. `causes` are messages by reason; `retry_after` is in seconds."""

    def __init__(
        self,
        status: int,
        message: str,
        reason: str = "",
        causes: t.Mapping[str, str] | None = None,
        retry_after: int | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.message = status, message
        self.reason = reason or REASONS.get(status, "")
        self.causes = causes or {}
        self.retry_after = retry_after

    def body(self) -> dict[str, t.Any]:
        details: dict[str, t.Any] = {}
        if self.causes:
            details["causes"] = [{"reason": reason, "message": text} for reason, text in self.causes.items()]
        if self.retry_after is not None:
            details["retryAfterSeconds"] = self.retry_after
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            **({"details": details} if details else {}),
            "code": self.status,
        }


def missing(what: str, name: str) -> Refusal:
    """Return the answer to a request for an object that does not exist."""
    return Refusal(404, f'{what} "{name}" not found')


def unreachable(why: str) -> Refusal:
    """Return what the API server answers when a kubelet does not (apimachinery's pkg/util/proxy/transport.go)."""
    return Refusal(503, f"error trying to reach service: {why}")
