# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to the kubelet of a node from its own host, over the connection that Ansible has to that host.

The credentials of the user never leave the controller. A node receives a token of a service account that is valid for
ten minutes, on the standard input of a program. Root on the node can read it there, so a token that allows exec on
other nodes is not handed out.
"""

from __future__ import annotations

import base64
import contextlib
import inspect
import json
import re
import threading
import time
import typing as t
import urllib.parse
import zlib

from ..._node.host import ask_kubelet
from . import kubelet_endpoint
from .errors import TRANSIENT, ApiError, ClusterError, persist

ACCOUNT = "kube-system/kubelet-configz"
# What a kubelet signs for itself without serverTLSBootstrap (cmd/kubelet/app/server.go InitializeTLS), for its name.
OWN_CERTIFICATE = "/var/lib/kubelet/pki/kubelet.crt"
# In the name of the account: an account for each node.
PLACE = "{node}"
_MANIFEST = "docs/rbac/option-read-node.yaml of the collection"
# The least that an API server accepts, in seconds, and after how many a token is replaced.
_LIFE, FRESH = 600, 300.0
# Seconds for which a request is repeated unless its caller sets another time.
_PATIENCE = 8.0
_Answer = t.TypeVar("_Answer")


if t.TYPE_CHECKING:
    from .session import Session

ProgramRunner = t.Callable[[str, str], str]
"""Returns what a program prints on the host of a node, by node and program, which Python reads from its standard input
there. Raises ApiError (0).
"""

_given: list[ProgramRunner] = []


def can_reach() -> bool:
    """Return whether sessions that are made now reach hosts."""
    return bool(_given)


@contextlib.contextmanager
def running_programs_with(reach: ProgramRunner) -> t.Iterator[None]:
    """Let sessions made in between reach hosts. Only Ansible's own process has the connections to them."""
    _given.append(reach)
    try:
        yield
    finally:
        _given.pop()


class HostKubelets(kubelet_endpoint.Kubelets):
    """The kubelets of nodes, each from its own host. Safe for threads.

    `account` is namespace and name of the service account. `authorities` is the file with the certificates that verify
    those of kubelets, None: those that the node trusts. `seconds`: how long one request may take.
    """

    def __init__(self, session: Session, account: str, authorities: str | None, verify: bool, seconds: float) -> None:
        self._session = session
        self.tokens = _Tokens(session, account)
        self._reach = _given[-1] if _given else None
        trusted = _read(authorities) if verify else None
        self.request = {"authorities": trusted, "own": OWN_CERTIFICATE, "verify": verify, "seconds": seconds}

    def ask(self, node: str, question: t.Callable[[kubelet_endpoint.KubeletClient], _Answer]) -> _Answer:
        """Return what a question got from the kubelet of a node. Raises ApiError."""
        if self._reach is None:
            raise ClusterError(
                "read: node needs the connections of Ansible's own process: run the module on the controller "
                "(delegate_to: localhost) without become, async, and an interpreter of its own, or set read to proxy "
                "or kubelet"
            )
        try:
            return question(_Client(self, self._reach, node, self._port(node)))
        except ApiError as error:
            if not error.status:
                # A change of its configuration may move its port.
                self._session.seen.pop(node, None)
            raise

    def _port(self, node: str) -> int:
        about = kubelet_endpoint.seen(self._session, node)
        try:
            return about.port
        except (TypeError, ValueError) as error:
            raise ApiError(200, "the status of its Node has no port of its kubelet: set read to proxy") from error


class _Client:
    """One kubelet, asked from its own host."""

    def __init__(self, hosts: HostKubelets, reach: ProgramRunner, node: str, port: int) -> None:
        self._hosts, self._reach, self._node, self._port = hosts, reach, node, port

    def request(self, _method: str, path: str, *, budget: float | None = None) -> t.Any:
        """Return the JSON of an answer. Raises ApiError."""
        try:
            return json.loads(self.text(path, budget))
        except (ValueError, RecursionError) as error:
            raise ApiError(200, f"its kubelet answered GET {path} with text that is not JSON") from error

    def text(self, path: str, budget: float | None = None) -> str:
        """Return the text of an answer (one GET). Raises ApiError."""
        return persist(lambda: self._once(path), _PATIENCE if budget is None else budget)

    def _once(self, path: str) -> str:
        token = self._hosts.tokens.of(self._node)
        asked = {**self._hosts.request, "name": self._node, "port": self._port, "path": path, "token": token}
        try:
            status, body = answer_in(self._reach(self._node, _program(asked)))
            if token in body:
                raise ApiError(200, "its answer contains the token of the request: what serves its port?")
            if status != 200:
                raise self._refusal(status, body.strip())
        except ApiError as error:
            # A node that sends its token back must not get it into messages.
            text = error.message.replace(token, "********")
            raise ApiError(error.status, text, error.reason, transient=error.transient) from None
        return body

    def _refusal(self, status: int, text: str) -> ApiError:
        account = self._hosts.tokens.account
        if status == 401:
            # Unlike a 401 of the API server, it concerns this node only.
            return ApiError(
                403,
                f"its kubelet does not accept a token of the service account {account} (401 {text}): it needs "
                "authentication.webhook.enabled",
            )
        if status == 403:
            return ApiError(
                403,
                f"its kubelet refuses the service account {account} ({text}). Grant it the verb get on nodes/configz, "
                f"nodes/metrics, nodes/healthz and nodes/stats, see {_MANIFEST}. Kubelets before 1.33 need nodes/proxy "
                f"and nodes/metrics, from an account for each node",
            )
        return ApiError(status, f"its kubelet answered {status} {text}", transient=status in TRANSIENT)


class _Tokens:
    """Tokens of a service account, or of one for each node: made when needed, kept for five minutes."""

    def __init__(self, session: Session, account: str) -> None:
        namespace, _mark, name = account.partition("/")
        label = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
        if not re.fullmatch(label, namespace) or not re.fullmatch(rf"{label}(\.{label})*", name.replace(PLACE, "n")):
            raise ClusterError(f"read_service_account: {account} is not of the form namespace/name")
        self._session, self.account = session, account
        self._locks: dict[str, threading.Lock] = {}
        self._known: dict[str, tuple[float, str | ApiError]] = {}

    def of(self, node: str) -> str:
        """Return a token for a node (two POSTs for each account). Raises ApiError."""
        account = self.account.replace(PLACE, node)
        with self._locks.setdefault(account, threading.Lock()):
            since, found = self._known.get(account, (0.0, ""))
            if not found or time.monotonic() - since > FRESH:
                since = time.monotonic()
                try:
                    found = self._new(account)
                    self._check(account, found, node if PLACE in self.account else "")
                except ApiError as error:
                    found = error
                    if error.transient:
                        raise
                self._known[account] = since, found
        if isinstance(found, ApiError):
            raise found
        return found

    def _new(self, account: str) -> str:
        namespace, name = account.split("/")
        spec = {"audiences": [], "expirationSeconds": _LIFE}
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec}
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{urllib.parse.quote(name)}/token"
        try:
            answer = self._session.request("POST", path, body=body)
        except ApiError as error:
            if error.status == 404:
                # Not 404: the Node exists.
                raise ApiError(
                    400,
                    f"the API server has no service account {account} ({error.message}): create it, see {_MANIFEST}, "
                    "or set read_service_account",
                ) from error
            if error.status == 403:
                raise ApiError(
                    403,
                    f"a token of the service account {account} was refused: {error.message}. Grant the verb create on "
                    f"serviceaccounts/token, see {_MANIFEST}",
                ) from error
            raise
        token = (answer.get("status") or {}).get("token")
        if not isinstance(token, str) or not token:
            raise ApiError(200, f"the API server sent no token of the service account {account}: set read to proxy")
        return token

    def _check(self, account: str, token: str, node: str) -> None:
        """Refuse a token that allows exec on more than this `node`, on any if it is empty. Raises ApiError."""
        spec = {"namespace": account.split("/", maxsplit=1)[0]}
        try:
            review = self._session.with_token(token).review("SelfSubjectRulesReview", spec)
        except ApiError as error:
            status = 400 if error.status in (401, 404) else error.status
            raise ApiError(
                status,
                f"the rules of the service account {account} cannot be read with its token: {error.message}",
                transient=error.transient,
            ) from error
        for rule in review.get("resourceRules") or ():
            if _allows_exec(rule) and (not node or rule.get("resourceNames") != [node]):
                raise ApiError(
                    403,
                    f"the service account {account} may get nodes/proxy, which includes exec into containers, and a "
                    "node would receive its token. Take that permission away. Kubelets before 1.33 need it: set "
                    f"read_service_account to a name with {PLACE}, and grant each account nodes/proxy with the "
                    "resourceNames of its node only",
                )


def _program(asked: t.Mapping[str, t.Any]) -> str:
    """Return the program that sends a request from the host of a node."""
    return f"{inspect.getsource(ask_kubelet)}\n\nmain(json.loads({json.dumps(asked)!r}))\n"


def answer_in(printed: str) -> tuple[int, str]:
    """Return status and text of the answer that the program printed. Raises ApiError."""
    lines = [line for line in printed.splitlines() if line.startswith(ask_kubelet.MARK)]
    try:
        found = json.loads(lines[-1][len(ask_kubelet.MARK) :])
        if "error" not in found:
            packed = zlib.decompressobj()
            body = packed.decompress(base64.b64decode(found["body"]), ask_kubelet.LARGEST)
            return int(found["status"]), body.decode("utf-8", "replace")
        text, untrusted = str(found["error"]), bool(found.get("untrusted"))
    except (IndexError, KeyError, TypeError, ValueError, OverflowError, RecursionError, zlib.error) as error:
        raise ApiError(0, "its host did not run the request: what its Python printed is not an answer") from error
    if untrusted:
        raise ApiError(0, kubelet_endpoint.untrusted("the certificate of its kubelet", text))
    raise ApiError(
        0,
        f"its kubelet does not answer at the loopback address of its host ({text}); see `systemctl status kubelet` "
        "there. If its field address names another one, set read to proxy or kubelet",
        transient=True,
    )


def _allows_exec(rule: t.Mapping[str, t.Any]) -> bool:
    """Return whether a rule of RBAC includes nodes/proxy. Any verb: a kubelet takes that of the HTTP method."""
    wanted = (("apiGroups", {"", "*"}), ("resources", {"nodes/proxy", "*/proxy", "*"}))
    return all(values & {*(rule.get(field) or ())} for field, values in wanted)


def _read(path: str | None) -> str | None:
    try:
        if path:
            with open(path, encoding="ascii", errors="replace") as file:
                return file.read()
    except OSError as error:
        raise ClusterError(f"kubelet_ca_cert: {path} cannot be read: {error.strerror}") from error
    return None
