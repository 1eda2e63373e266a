# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of requests to the API server, with messages for operators."""

from __future__ import annotations

import typing as t

from ..._config.values import node_row


class ClusterError(Exception):
    """A failure that ends the module.

    `result` holds what is known so far, in the shape of the module's result; it is returned beside the message.
    """

    def __init__(self, message: str, result: dict[str, t.Any] | None = None) -> None:
        super().__init__(message)
        self.message = node_row.printable(message)
        self.result = result or {}


class MissingLibrary(ClusterError):
    """The Python package `kubernetes` is absent, too old or a release that cannot authenticate."""


class ApiError(ClusterError):
    """An answer of the API server other than success, or no answer at all (`status` 0).

    `causes` maps a reason to its message (metav1.StatusCause).
    """

    def __init__(
        self,
        status: int,
        message: str,
        reason: str = "",
        retry_after: float | None = None,
        transient: bool = False,
        causes: t.Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        self.transient = transient
        self.causes = causes or {}


class NodesFailed(ClusterError):
    """A failure of one or more nodes; the message lists all of them."""

    def __init__(self, what: str, failures: dict[str, str], result: dict[str, t.Any] | None = None) -> None:
        lines = [f"{what}: {len(failures)} node{'s' if len(failures) > 1 else ''} failed."]
        lines += [f"{name}: {why}" for name, why in failures.items()]
        super().__init__("\n".join(lines), result)
        self.failures = failures


def short(error: Exception) -> str:
    """Return the type and the text of an exception of another package on one line."""
    text = str(getattr(error, "reason", "") or error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
