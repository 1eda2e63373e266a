# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong between us and the API server, in words for people."""

from __future__ import annotations

import typing as t


class ClusterError(Exception):
    """A failure that ends the module.

    `result` holds what was learned until then, in the module's usual result shape; it is returned beside the message.
    """

    def __init__(self, message: str, result: dict[str, t.Any] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.result = result or {}


class MissingLibrary(ClusterError):
    """The Python package `kubernetes` is absent, too old or a release that cannot authenticate."""


class ApiError(ClusterError):
    """An answer of the API server other than success, or no answer at all (`status` 0). `causes` are messages by reason
    (metav1.StatusCause).
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
    """One or more nodes could not be handled; the message lists every one of them."""

    def __init__(self, what: str, failures: dict[str, str], result: dict[str, t.Any] | None = None) -> None:
        lines = [f"{what}: {len(failures)} node{'s' if len(failures) > 1 else ''} failed."]
        lines += [f"{name}: {why}" for name, why in failures.items()]
        super().__init__("\n".join(lines), result)
        self.failures = failures
