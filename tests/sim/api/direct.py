# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The simulated API server as a session of the collection, without HTTP: for tests that control every moment."""

from __future__ import annotations

import copy
import typing as t
import urllib.parse

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from tests.sim.api.handlers import Answer, Api, Request
from tests.sim.api.refusal import Refusal, unreachable
from tests.sim.api.server import ADMIN
from tests.sim.api.store import Entry, Page, Store


class Direct:
    """An API server of 1.20 in memory. `now` is its clock, in seconds since 1970."""

    host = "https://api.example:6443"
    concurrency = 1
    kubelets = None

    def __init__(self, now: float = 1_800_000_000.0) -> None:
        self.now = now
        self.store = Store(20, self.server_time)
        self._api = Api(self.store, "v1.20.2", _no_kubelet)

    def server_time(self) -> float:
        """Return the time of the API server's clock."""
        return self.now

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
        """Answer like a session. Raises ApiError."""
        url = f"{path}?{urllib.parse.urlencode(query)}"
        try:
            answer = self._api.answer(Request(method, url, content_type, body if body is not None else b"", ADMIN))
        except Refusal as error:
            raise ApiError(error.status, error.message, error.reason, causes=error.causes) from None
        if isinstance(answer.body, Entry):
            return copy.deepcopy(answer.body.item)
        if isinstance(answer.body, Page):
            items = [copy.deepcopy(entry.item) for entry in answer.body.entries]
            return {"metadata": answer.body.metadata, "items": items}
        return answer.body


def _no_kubelet(_name: str, _path: str) -> Answer:
    raise unreachable("there is none")
