# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A session without HTTP, and one that expects given requests in a given order and returns given answers."""

from __future__ import annotations

import dataclasses
import json
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import NodesFailed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session

NODES = "/api/v1/nodes"
CONFIGMAPS = "/api/v1/namespaces/kube-system/configmaps"
DRY = (("dryRun", "All"),)
PAGE = (("limit", 250),)
MERGE = "application/merge-patch+json"


def by_name(*names: str) -> t.Sequence[tuple[str, t.Any]]:
    """Return the query of a LIST of the nodes of these names."""
    if len(names) == 1:
        return (("fieldSelector", f"metadata.name={names[0]}"), *PAGE)
    return (("labelSelector", f"kubernetes.io/hostname in ({','.join(names)})"), *PAGE)


class InProcess(Session):
    """A session whose `_send` a subclass replaces. It serves one request at a time, so that the order is certain."""

    def __init__(self) -> None:  # pylint: disable=super-init-not-called  # that connects
        self.host = "https://api.example:6443"
        self.concurrency = 1
        self.kubelets = None
        self.timeout = 30
        # Its user may not watch nodes, so that tests decide what each read finds.
        self.nodes_revision: str | None = None
        self.seen = {}

    def lines(self, path: str, query: t.Sequence[tuple[str, t.Any]], quiet: float) -> t.Iterator[bytes]:
        yield from filter(None, self._send("GET", path, query, None, {}, None).split(b"\n"))

    def server_time(self) -> float:
        """Return the time of the API server's clock; no request."""
        return 1_800_000_000.0

    def dry_runs(self) -> bool:
        """Return whether the API server has dry runs; no request."""
        return True


@dataclasses.dataclass
class Call:
    """One expected request and its answer: JSON, bytes of another text, or an exception to raise."""

    method: str
    path: str
    answer: t.Any
    query: t.Sequence[tuple[str, t.Any]] = ()
    body: t.Any = None
    content_type: str = "application/json"


class Calls(InProcess):
    """`with Calls(Call(...), ...) as session:` - fails on any other request, and at the end on missing ones.

    `old`: the API server has no dry runs.
    """

    def __init__(self, *expected: Call | t.Sequence[Call], old: bool = False) -> None:
        super().__init__()
        self._expected = [call for item in expected for call in ([item] if isinstance(item, Call) else item)]
        self._old = old
        self.budgets: list[float | None] = []

    def __enter__(self) -> t.Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        # A stage that fails for some nodes has sent all of its requests.
        if kind is None or issubclass(kind, NodesFailed):
            assert not self._expected, f"never asked for: {self._expected}"

    def dry_runs(self) -> bool:
        """Return whether the API server has dry runs."""
        return not self._old

    def _send(
        self,
        method: str,
        path: str,
        query: t.Sequence[tuple[str, t.Any]],
        body: t.Any,
        more: dict[str, t.Any],
        budget: float | None,
    ) -> bytes:
        """Compare a request with the next expected one and return its answer."""
        assert self._expected, f"one request too many: {method} {path} {query} {body}"
        call = self._expected.pop(0)
        assert (method, path, list(query), body, more.get("content_type", "application/json")) == (
            call.method,
            call.path,
            list(call.query),
            call.body,
            call.content_type,
        )
        self.budgets.append(budget)
        if isinstance(call.answer, BaseException):
            raise call.answer
        return call.answer if isinstance(call.answer, bytes) else json.dumps(call.answer).encode()
