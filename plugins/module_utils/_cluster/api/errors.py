# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of requests to the API server, with messages for operators, and which failed requests are repeated."""

from __future__ import annotations

import contextlib
import random
import time
import typing as t

from ..._config.values import node_row

# Answers that mean "not now" rather than "no". The API server also answers 500 while its storage is briefly
# unavailable; every request of this collection may be repeated.
TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})

_Result = t.TypeVar("_Result")


class ClusterError(Exception):
    """A failure that ends the module.

    `result` holds what is known so far, in the shape of the module's result; it is returned beside the message.
    `status` is that of an answer of the API server, None for other failures. `transient`: whether it may pass by
    itself.
    """

    status: int | None = None
    transient = False

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

    status: int

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


class Accepting:
    """`with Accepting(404):` - the block ends without an error if the API server answers with one of these statuses."""

    def __init__(self, *statuses: int) -> None:
        self._statuses = statuses

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, _kind: object, error: object, _trace: object) -> bool:
        return isinstance(error, ApiError) and error.status in self._statuses


@contextlib.contextmanager
def explained(*kinds: type[Exception], before: str = "", after: str = "") -> t.Iterator[None]:
    """Raise what is wrong with a value, an exception of one of these kinds, as a ClusterError with words around it."""
    try:
        yield
    except kinds as error:
        raise ClusterError(f"{before}{error}{after}") from error


class NodesFailed(ClusterError):
    """A failure of one or more nodes; the message lists all of them."""

    def __init__(self, what: str, failures: dict[str, str], result: dict[str, t.Any] | None = None) -> None:
        lines = [f"{what}: {len(failures)} node{'s' if len(failures) > 1 else ''} failed."]
        lines += [f"{name}: {why}" for name, why in failures.items()]
        super().__init__("\n".join(lines), result)
        self.failures = failures


def without_failure(what: str, result: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return a result whose rows are all ok. Raises NodesFailed, which names the others."""
    failures = node_row.failures(result["nodes"])
    if failures:
        raise NodesFailed(what, failures, result)
    return result


def short(error: Exception) -> str:
    """Return the type and the text of an exception of another package on one line."""
    text = str(getattr(error, "reason", "") or error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def pauses(first: float = 0.2, longest: float = 5.0) -> t.Iterator[float]:
    """Yield the seconds to wait before each further try: doubling, with jitter to spread the tries of many clients."""
    step = first
    while True:
        yield step * random.uniform(0.5, 1.0)
        step = min(step * 2, longest)


def persist(
    attempt: t.Callable[[], _Result],
    budget: float,
    sleep: t.Callable[[float], None] = time.sleep,
    clock: t.Callable[[], float] = time.monotonic,
) -> _Result:
    """Call `attempt` until it succeeds, fails permanently, or `budget` seconds are over.

    Only a transient ApiError is retried. The pause is the server's Retry-After if that is longer than our own.
    Raises the last error when the time is over.
    """
    end = clock() + budget
    for pause in pauses():
        try:
            return attempt()
        except ApiError as error:
            wait = max(pause, error.retry_after or 0)
            if not error.transient or clock() + wait > end:
                raise
        sleep(wait)
    raise AssertionError("pauses() never ends")
