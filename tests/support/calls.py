# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A session that expects given requests in a given order and returns given answers."""

from __future__ import annotations

import copy
import dataclasses
import typing as t

NODES = "/api/v1/nodes"
CONFIGMAPS = "/api/v1/namespaces/kube-system/configmaps"
DRY = (("dryRun", "All"),)
PAGE = (("limit", 250),)
MERGE = "application/merge-patch+json"


@dataclasses.dataclass
class Call:
    """One expected request and its answer: JSON, or an exception to raise."""

    method: str
    path: str
    answer: t.Any
    query: t.Sequence[tuple[str, t.Any]] = ()
    body: t.Any = None
    content_type: str = "application/json"


class Calls:
    """`with Calls(Call(...), ...) as session:` - fails on any other request, and at the end on missing ones.

    It serves one request at a time, so that the order is certain.
    """

    host = "https://api.example:6443"
    concurrency = 1
    kubelets = None
    nodes_listed = 0

    def __init__(self, *expected: Call | t.Sequence[Call]) -> None:
        self._expected = [call for item in expected for call in ([item] if isinstance(item, Call) else item)]
        self.budgets: list[float | None] = []

    def __enter__(self) -> Calls:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        if kind is None:
            assert not self._expected, f"never asked for: {self._expected}"

    def server_time(self) -> float:
        """Return the time of the API server's clock, as the session does."""
        return 1_800_000_000.0

    def dry_runs(self) -> bool:
        """Return whether the API server has dry runs, as the session does."""
        return True

    def request(
        self,
        method: str,
        path: str,
        query: t.Sequence[tuple[str, t.Any]] = (),
        body: t.Any = None,
        content_type: str = "application/json",
        budget: float | None = None,
    ) -> t.Any:
        """Compare a request with the next expected one and return its answer."""
        assert self._expected, f"one request too many: {method} {path} {query} {body}"
        call = self._expected.pop(0)
        assert (method, path, list(query), body, content_type) == (
            call.method,
            call.path,
            list(call.query),
            call.body,
            call.content_type,
        )
        self.budgets.append(budget)
        if isinstance(call.answer, BaseException):
            raise call.answer
        return copy.deepcopy(call.answer)


class OldCalls(Calls):
    """The same with an API server that has no dry runs."""

    def dry_runs(self) -> bool:
        """Return that it has none."""
        return False
