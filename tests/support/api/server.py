# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A real HTTP server on the loopback interface that answers each request with the next of its answers."""

from __future__ import annotations

import dataclasses
import json
import ssl
import threading
import typing as t

from tests.sim.api.listener import Connection, Listener


@dataclasses.dataclass
class Answer:
    """An answer of the server. `cut`: announce the whole text but close after that many bytes; -1: close at once."""

    status: int = 200
    body: t.Any = dataclasses.field(default_factory=dict)
    headers: t.Sequence[tuple[str, str]] = ()
    cut: int | None = None


@dataclasses.dataclass(frozen=True)
class Seen:
    """A received request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Server:
    """`with Server(Answer(...), ...) as server:` - the last answer is repeated."""

    def __init__(self, *answers: Answer, tls: ssl.SSLContext | None = None) -> None:
        self._answers = list(answers) or [Answer()]
        self._lock = threading.Lock()
        self.seen: list[Seen] = []
        self._listener = Listener(self._serve, tls)
        self.url = self._listener.url

    def __enter__(self) -> t.Self:
        self._listener.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._listener.close()

    def answer(self, *answers: Answer) -> None:
        """Use these answers from now on."""
        with self._lock:
            self._answers = list(answers)

    def _serve(self, client: Connection, body: bytes) -> None:
        headers = {name.lower(): value for name, value in client.headers.items()}
        with self._lock:
            self.seen.append(Seen(client.command, client.path, headers, body))
            answer = self._answers[0] if len(self._answers) == 1 else self._answers.pop(0)
        if answer.cut == -1:
            client.close_connection = True
            return
        text = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        client.reply(answer.status, text, answer.headers, answer.cut)


def kubeconfig(servers: t.Mapping[str, str], user: t.Any) -> dict[str, t.Any]:
    """Return a kubeconfig with a context for each server by its name, the first of them the current one."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": next(iter(servers)),
        "clusters": [{"name": name, "cluster": {"server": server}} for name, server in servers.items()],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": "u"}} for name in servers],
    }


def here(server: str, **user: t.Any) -> dict[str, t.Any]:
    return kubeconfig({"here": server}, user)
