# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A parser under test, and what some of them need: a session, files."""

from __future__ import annotations

import copy
import os
import tempfile
import typing as t
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kubernetes.client.exceptions import ApiException

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session


class Answering(Session):
    """A session of which each request has the same answer."""

    kubelets = None
    concurrency = 1

    def __init__(self, value: t.Any) -> None:  # pylint: disable=super-init-not-called  # that connects
        self.value = value
        self.seen: dict[str, t.Any] = {}
        self.nodes_revision = None

    def request(self, *_words: t.Any, **_options: t.Any) -> t.Any:
        return self.value

    def server_time(self) -> float:
        return 1_767_225_600.0

    def dry_runs(self) -> bool:
        return True

    def text(self, *_words: t.Any, **_options: t.Any) -> t.Any:
        return self.value


class Sending:
    """A client of which each request gets these bytes, as a refusal (`status` 500) or as an answer."""

    def __init__(self, data: bytes, status: int) -> None:
        self.data, self.status = data, status
        self.headers = {"Warning": '299 - "a"', "Date": "now"}

    def request(self, *_words: t.Any, **_options: t.Any) -> t.Any:
        if self.status == 200:
            return self
        error = ApiException(status=self.status, reason="r")
        error.body, error.headers = self.data, self.headers
        raise error


def sent(data: bytes, status: int = 200) -> Session:
    """Return a session to which the server sends these bytes."""
    session = copy.copy(SESSION)
    session._client = Sending(data, status)
    return session


SESSION = Session({"host": "http://127.0.0.1:9", "concurrency": 1})


class Parser(t.NamedTuple):
    """What it gets, the call, and the errors that it documents."""

    inputs: st.SearchStrategy[t.Any]
    call: t.Callable[[t.Any], object]
    errors: tuple[type[Exception], ...] = ()


# Removed when Python ends.
HOLDER = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
FOLDER = Path(HOLDER.name)


def kept(read: t.Callable[[str], object], name: str) -> t.Callable[[bytes], object]:
    """Return a call that reads a file of this name below a config folder."""

    def call(data: bytes) -> object:
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return read(str(FOLDER))

    return call


LONG = int(os.environ.get("LIVENODES_FUZZ", "100000"))
"""How many inputs the long tier tries."""


def attempt(parser: Parser, examples: int) -> None:
    """Call a parser with many inputs. An error that it does not document fails the test, with the input."""

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(parser.inputs)
    def call(value: t.Any) -> None:
        try:
            parser.call(value)
        except parser.errors as error:
            assert str(error)

    call()
