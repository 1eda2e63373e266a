# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests over real connections to a server on the loopback interface, and the releases of the library they need."""

from __future__ import annotations

import datetime
import gzip
import json
import socket
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import answers, library, session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, MissingLibrary
from tests.sim.api.direct import Clock
from tests.sim.api.listener import Connection
from tests.sim.tls import Certificates
from tests.support.api.calls import MERGE, NODES
from tests.support.api.server import Answer, Server

pytestmark = pytest.mark.usefixtures("bare_environment", "clock")
STATUS = {"kind": "Status", "message": "words of the server", "reason": "SomeReason"}


def ask(server: Server, method: str = "GET", **options: t.Any) -> t.Any:
    """Send one request to a server with a session of its own."""
    return session.Session({"host": server.url}).request(method, NODES, **options)


def test_request_and_answer() -> None:
    """Method, path, query, body and content type arrive as given; the answer is decoded."""
    answer = {"items": [1]}
    with Server(Answer(body=answer)) as server:
        api = session.Session({"host": server.url})
        assert api.request("GET", NODES, [("labelSelector", "a=b,c"), ("limit", 250)]) == answer
        assert api.request("PATCH", f"{NODES}/n1", [("dryRun", "All")], {"spec": None}, MERGE) == answer
        assert api.request("DELETE", f"{NODES}/n1", (), {"kind": "DeleteOptions"}) == answer
    get, patch, delete = server.seen
    assert (get.method, get.path) == ("GET", f"{NODES}?labelSelector=a%3Db%2Cc&limit=250")
    assert (patch.method, patch.path, json.loads(patch.body)) == ("PATCH", f"{NODES}/n1?dryRun=All", {"spec": None})
    assert patch.headers["content-type"] == MERGE
    assert (delete.method, json.loads(delete.body)) == ("DELETE", {"kind": "DeleteOptions"})
    assert api.sent == 3
    assert not {"authorization", "impersonate-user"} & set(get.headers)


def test_text() -> None:
    """Text other than JSON, transferred with gzip."""
    metrics = b"# HELP process_start_time_seconds\n" * 100
    with Server(Answer(body=gzip.compress(metrics), headers=[("Content-Encoding", "gzip")])) as server:
        assert session.Session({"host": server.url}).text(f"{NODES}/n1/proxy/metrics") == metrics.decode()
    (seen,) = server.seen
    assert (seen.method, seen.path, seen.headers["accept-encoding"]) == ("GET", f"{NODES}/n1/proxy/metrics", "gzip")


def test_causes_are_kept() -> None:
    """By reason, as the Eviction API names a disruption budget."""
    causes = [{"reason": "DisruptionBudget", "message": "The disruption budget web needs 1 healthy pods"}]
    with Server(Answer(429, {**STATUS, "details": {"causes": causes}})) as server, pytest.raises(ApiError) as caught:
        ask(server, "POST", budget=0.0)
    assert caught.value.causes == {"DisruptionBudget": "The disruption budget web needs 1 healthy pods"}


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_passing_failures_are_repeated(status: int, clock: Clock) -> None:
    with Server(Answer(status, STATUS), Answer(status, STATUS), Answer(body={"ok": 1})) as server:
        assert ask(server) == {"ok": 1}
    assert (len(server.seen), len(clock.slept)) == (3, 2)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 410, 422])
def test_lasting_failures_are_not_repeated(status: int) -> None:
    with Server(Answer(status, STATUS)) as server, pytest.raises(ApiError, match="words of the server") as caught:
        ask(server)
    assert (caught.value.status, caught.value.reason, caught.value.transient) == (status, "SomeReason", False)
    assert len(server.seen) == 1


RBAC = 'nodes is forbidden: User "ops" cannot list resource "nodes" in API group "" at the cluster scope'


@pytest.mark.parametrize(
    ("message", "permission"),
    [
        (RBAC, True),
        ('users "x" is forbidden: User "ops" cannot impersonate resource "users" in API group "" at the scope', True),
        ("nodes is forbidden: User ops cannot list nodes at the cluster scope", True),
        ('pods "p" is forbidden: exceeded quota: q, requested: configmaps=1, used: configmaps=5, limited: 5', False),
        ('admission webhook "nodes.example.com" denied the request: frozen', False),
        ("nodes \"n1\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no", False),
        ("the namespace apps is being terminated", False),
    ],
)
def test_a_403_has_the_reason_of_the_server(message: str, permission: bool) -> None:
    """It is one of RBAC only if the authorizer has refused."""
    with Server(Answer(403, {**STATUS, "message": message})) as server, pytest.raises(ApiError) as caught:
        ask(server)
    assert caught.value.message.startswith(message)
    assert ("rbac.yaml" in caught.value.message) is permission


@pytest.mark.parametrize(
    ("error", "transient"),
    [
        (library.urllib3.exceptions.SSLError("bad certificate"), False),
        (OSError("[SSL: CERTIFICATE_VERIFY_FAILED]"), False),
        (OSError("Name or service not known"), False),
        (OSError("Connection refused"), True),
    ],
)
def test_a_failure_to_connect_that_may_pass(error: Exception, transient: bool) -> None:
    found = answers.no_answer("https://h", error)
    assert (found.status, found.transient) == (0, transient) and "https://h" in found.message


def test_words_for_401() -> None:
    words = r"does not accept these credentials \(401 words of the server\).*renew it"
    with Server(Answer(401, STATUS)) as server, pytest.raises(ApiError, match=server.url + " " + words):
        ask(server)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"plain words", "plain words"),
        (b"", "Not Found"),
        (b"[1]", "1"),
        (b"[" * 200_000, "[[["),
        ({"message": None}, "message"),
        ({"message": {"a": 1}, "reason": ["b"]}, "{'a': 1}"),
        ({"message": "words", "details": {"causes": [{"reason": ["a"], "message": {}}]}}, "words"),
        ({"message": "words", "details": {"causes": 1}}, "words"),
    ],
    ids=range(8),
)
@pytest.mark.usefixtures("no_garbage")
def test_refusals_that_are_no_status_objects(body: t.Any, text: str) -> None:
    """A kubelet behind the proxy of the API server, or another server, may answer anything."""
    with Server(Answer(404, body)) as server, pytest.raises(ApiError) as caught:
        ask(server)
    error = caught.value
    assert text in error.message and isinstance(error.reason, str)
    assert all(isinstance(word, str) for word in (*error.causes, *error.causes.values()))


def test_retry_after(clock: Clock) -> None:
    """It is waited for. A date is no reason to fail, more than the budget is one."""
    date = "Wed, 21 Oct 2015 07:28:00 GMT"
    refusals = [Answer(429, STATUS, [("Retry-After", value)]) for value in ("3", date, "300")]
    with Server(refusals[0], Answer(), refusals[1], Answer(), refusals[2]) as server:
        api = session.Session({"host": server.url})
        api.request("GET", NODES)
        assert clock.slept == [3.0]
        api.request("GET", NODES)
        assert len(clock.slept) == 2
        with pytest.raises(ApiError) as caught:
            api.request("GET", NODES)
    assert (caught.value.retry_after, len(clock.slept)) == (300.0, 2)


@pytest.mark.parametrize("cut", [-1, 5])
def test_lost_connections_are_repeated(cut: int) -> None:
    """Before the answer, and in the middle of it."""
    with Server(Answer(body={"items": list(range(100))}, cut=cut), Answer(body={"ok": 1})) as server:
        assert ask(server) == {"ok": 1}
    assert len(server.seen) == 2


def test_no_server_answers(clock: Clock) -> None:
    """Short retries for an address that never answered, and none for the requests after the first failure."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    api = session.Session({"host": url}, first_contact=10)
    with pytest.raises(ApiError, match=f"no usable answer from the API server {url}") as caught:
        api.request("GET", NODES)
    assert (caught.value.status, caught.value.transient) == (0, True)
    assert 5 <= clock.now - 1000 <= 10
    tries, waited = api.sent, clock.now
    assert tries > 3
    with pytest.raises(ApiError):
        api.request("GET", NODES)
    assert (api.sent, clock.now) == (tries + 1, waited)


def test_patience_with_a_server_that_has_answered(clock: Clock) -> None:
    """The long budget applies after the first answer of any kind, and again after an outage."""
    lost = Answer(cut=-1)
    with Server(Answer(404, STATUS), lost) as server:
        api = session.Session({"host": server.url}, outage=60, first_contact=1)
        for _time in range(2):
            with pytest.raises(ApiError) as caught:
                api.request("GET", NODES)
        assert caught.value.status == 0
        assert 50 <= clock.now - 1000 <= 60
        server.answer(Answer(), Answer(503, STATUS))
        assert api.request("GET", NODES) == {}
        before = clock.now
        with pytest.raises(ApiError):
            api.request("GET", NODES)
        assert 50 <= clock.now - before <= 60


def test_budget_of_one_request(clock: Clock) -> None:
    with Server(Answer(), Answer(503, STATUS)) as server:
        api = session.Session({"host": server.url}, outage=60)
        api.request("GET", NODES)
        with pytest.raises(ApiError, match="words of the server"):
            api.request("GET", NODES, budget=4)
    assert 1 <= clock.now - 1000 <= 4


def test_timeout_of_one_request(clock: Clock) -> None:
    """An API server that accepts connections and sends nothing."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        # The oldest release takes a fraction of a second only in a pair (to connect, to read).
        options = {"host": f"http://127.0.0.1:{mute.getsockname()[1]}", "request_timeout": (0.05, 0.05)}
        api = session.Session(options, first_contact=0)
        with pytest.raises(ApiError, match="no usable answer") as caught:
            api.request("GET", NODES)
    assert caught.value.transient


@pytest.mark.parametrize(
    "body", [b"<html>welcome</html>", b"", b"\xff", b"[" * 200_000], ids=["html", "empty", "bytes", "deep"]
)
@pytest.mark.usefixtures("no_garbage")
def test_an_answer_that_is_not_json(body: bytes) -> None:
    words = "not JSON; is it a Kubernetes API server"
    with Server(Answer(body=body)) as server, pytest.raises(ApiError, match=words) as caught:
        ask(server)
    assert not caught.value.transient and len(server.seen) == 1


def test_warnings_of_the_server() -> None:
    warnings = [("Warning", '299 - "first"'), ("Warning", '299 - "with \\"quotes\\" and, comma"')]
    with Server(Answer(headers=warnings), Answer(headers=warnings[:1]), Answer()) as server:
        api = session.Session({"host": server.url})
        for _time in range(3):
            api.request("GET", NODES)
    assert api.warnings == ["first", 'with "quotes" and, comma']


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_untrusted_certificate_is_not_retried(clock: Clock, tmp_path: Path) -> None:
    """It is trusted with its authority, or without validation."""
    certificates = Certificates(tmp_path)
    with Server(Answer(), tls=certificates.server()) as server:
        trusting = session.Session({"host": server.url, "ca_cert": str(certificates.authority)})
        assert trusting.request("GET", NODES) == {}
        assert session.Session({"host": server.url, "validate_certs": False}).request("GET", NODES) == {}
        api = session.Session({"host": server.url})
        with pytest.raises(ApiError, match=r"(?i)certificate.verify.failed") as caught:
            api.request("GET", NODES)
    assert not caught.value.transient
    assert (api.sent, clock.slept) == (1, [])


def test_server_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the Date of any answer of the API server, not of a kubelet behind it. A session without one asks for it."""
    dates = iter(["Sun, 22 Nov 2026 15:00:00 GMT", "Sun, 22 Nov 2026 15:10:00 GMT", "Sun, 22 Nov 2026 17:00:00 GMT"])
    monkeypatch.setattr(Connection, "date_time_string", lambda _connection: next(dates))
    began = datetime.datetime(2026, 11, 22, 15, tzinfo=datetime.UTC).timestamp()
    with Server(Answer(403)) as server:
        api = session.Session({"host": server.url})
        assert 0 <= api.server_time() - began < 60
        for path in (NODES, f"{NODES}/n1/proxy/metrics"):
            with pytest.raises(ApiError):
                api.text(path)
            assert 600 <= api.server_time() - began < 660
    assert [seen.path for seen in server.seen] == ["/version", NODES, f"{NODES}/n1/proxy/metrics"]


@pytest.mark.parametrize("asked", [session.Session.server_time, session.Session.dry_runs])
def test_what_is_not_known_without_an_api_server(asked: t.Callable[[session.Session], t.Any]) -> None:
    with Server(Answer(cut=-1)) as server, pytest.raises(ApiError, match="no usable answer"):
        asked(session.Session({"host": server.url}, first_contact=0))


@pytest.mark.parametrize(
    ("answer", "dry_runs"),
    [
        (Answer(body={"gitVersion": "v1.12.10"}), False),
        (Answer(body={"gitVersion": "v1.13.0-beta.1+k3s1"}), True),
        (Answer(403, STATUS), False),
        (Answer(body={}), False),
    ],
)
def test_dry_runs(answer: Answer, dry_runs: bool) -> None:
    """It is asked once for its version."""
    with Server(answer) as server:
        api = session.Session({"host": server.url})
        assert [api.dry_runs(), api.dry_runs()] == [dry_runs] * 2
    assert [seen.path for seen in server.seen] == ["/version"]


@pytest.mark.parametrize("version", ["28.1.0", "35.9.0", "36.0.2", "37.1.0b1", "40.0"])
def test_releases_that_can_be_used(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library.kubernetes, "__version__", version)
    library.check()


@pytest.mark.parametrize("version", ["27.2.0", "36.0.0", "36.0.1", "1.0"])
def test_releases_that_cannot_be_used(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library.kubernetes, "__version__", version)
    words = rf"kubernetes {version} at .*install kubernetes>=28.1.0,!=36.0.0,!=36.0.1"
    with pytest.raises(MissingLibrary, match=words):
        session.Session({"host": "http://h"})


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(library, "IMPORT_ERROR", "Traceback: no module")
    with pytest.raises(MissingLibrary, match="could not be imported") as caught:
        session.Session({"host": "http://h"})
    assert caught.value.result == {"exception": "Traceback: no module"}
