# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Requests to the kubelet of a node: through the proxy of the API server, straight to its port, or from its host.

The proxy needs `get` on nodes/proxy, which includes exec. From 1.33 on a kubelet itself accepts nodes/configz
(pkg/kubelet/server/auth.go, feature gate KubeletFineGrainedAuthz). `kubelet_ways.py` chooses a way.
"""

from __future__ import annotations

import ipaddress
import threading
import typing as t
import urllib.parse

from ..._config.values import following
from ..._config.values.short_texts import minor_of
from .errors import ApiError

AUTO, PROXY, KUBELET, NODE = "auto", "proxy", "kubelet", "node"
_PORT = 10250
_Answer = t.TypeVar("_Answer")


if t.TYPE_CHECKING:
    # Python 3.7 has no protocols.
    from .session import Session

    class KubeletClient(t.Protocol):
        """A way to one kubelet, such as a session with its port."""

        def request(self, method: str, path: str, *, budget: float | None = None) -> t.Any:
            """Return the JSON of an answer. Raises ApiError."""

        def text(self, path: str, budget: float | None = None) -> str:
            """Return the text of an answer (one GET). Raises ApiError."""


class Kubelets:
    """The ways to the kubelets of nodes."""

    def ask(self, node: str, question: t.Callable[[KubeletClient], _Answer]) -> _Answer:
        """Return what a question got from the kubelet of a node. Raises ApiError."""
        raise NotImplementedError

    def is_proxied(self, _node: str) -> bool:
        """Return whether the API server is asked for the kubelet of a node."""
        return False

    def warnings(self) -> list[str]:
        """Return which ways were left, and why."""
        return []


class Seen(t.NamedTuple):
    """What a Node shows of the ways to its kubelet: its minor version (0: unknown), `addresses` and `daemonEndpoints`
    of its status as the kubelet wrote them, and whether it has a follower, so that Ansible may have no login there.
    """

    minor: int
    addresses: t.Sequence[t.Mapping[str, t.Any]]
    endpoints: t.Mapping[str, t.Any]
    followed: bool

    @property
    def port(self) -> int:
        """The port of the kubelet. Raises TypeError and ValueError."""
        return int((self.endpoints.get("kubeletEndpoint") or {}).get("Port") or _PORT)


def seen_in(node: t.Mapping[str, t.Any]) -> Seen:
    """Return what a Node object of the API shows."""
    status, notes = node.get("status") or {}, (node.get("metadata") or {}).get("annotations") or {}
    minor = minor_of((status.get("nodeInfo") or {}).get("kubeletVersion")) or 0
    endpoints = status.get("daemonEndpoints") or {}
    return Seen(minor, status.get("addresses") or (), endpoints, following.FOLLOWER in notes)


def seen(session: Session, node: str) -> Seen:
    """Return what a Node shows: as this session has read it, else with one GET. Raises ApiError."""
    if node not in session.seen:
        session.seen[node] = seen_in(session.request("GET", f"/api/v1/nodes/{urllib.parse.quote(node)}"))
    return session.seen[node]


class Proxied:
    """A kubelet behind the proxy of the API server."""

    def __init__(self, session: Session, node: str) -> None:
        self._session, self._path = session, f"/api/v1/nodes/{urllib.parse.quote(node)}/proxy"

    def request(self, method: str, path: str, *, budget: float | None = None) -> t.Any:
        """Return the JSON of an answer. Raises ApiError."""
        return self._session.request(method, self._path + path, budget=budget)

    def text(self, path: str, budget: float | None = None) -> str:
        """Return the text of an answer (one GET). Raises ApiError."""
        return self._session.text(self._path + path, budget)


class DirectClients(Kubelets):
    """Sessions with the kubelets of nodes, at the address and port in the status of their Node. Safe for threads."""

    def __init__(self, session: Session, ca_cert: str | None) -> None:
        self._session, self._ca_cert = session, ca_cert
        self._lock = threading.Lock()
        self._known: dict[str, Session] = {}

    def ask(self, node: str, question: t.Callable[[KubeletClient], _Answer]) -> _Answer:
        """Return what a question got from the kubelet of a node. Raises ApiError."""
        client = self._of(node)
        try:
            return question(client)
        except ApiError as error:
            self._forget(node, error)
            if error.status != 401 or not self._session.renewed_since(client):
                raise _explained(error, client.host) from error
        try:
            return question(self._of(node))
        except ApiError as error:
            raise _explained(error, client.host) from error

    def _forget(self, node: str, error: ApiError) -> None:
        """Forget the session with a kubelet that did not answer or refused it: its port may move, credentials end."""
        if error.status in (0, 401):
            with self._lock:
                self._known.pop(node, None)
                self._session.seen.pop(node, None)

    def _of(self, node: str) -> Session:
        """Return the session with a kubelet. Raises ApiError."""
        with self._lock:
            known = self._known.get(node)
        if known is None:
            # Not for the address, which the kubelet writes itself: a self-signed certificate has only the name.
            known = self._session.at(self._url(node), node, self._ca_cert)
            with self._lock:
                self._known[node] = known
        return known

    def _url(self, node: str) -> str:
        about = seen(self._session, node)
        found = [one["address"] for one in about.addresses if one.get("type") == "InternalIP"]
        try:
            # A kubelet writes its own status: nothing but an address and a number gets into the URL.
            address = ipaddress.ip_address(found[0])
            if "%" in found[0]:
                # A zone, which may be any text.
                raise ValueError(found[0])
            return f"https://{f'[{address}]' if address.version == 6 else address}:{about.port}"
        except (IndexError, TypeError, ValueError) as error:
            raise ApiError(
                200, f"its Node has no InternalIP at which its kubelet can be asked ({found}): set read to proxy"
            ) from error


def read(session: Session, node: str, path: str, budget: float | None = None) -> t.Any:
    """Return the JSON that a kubelet serves at a path, such as `configz` (one GET). Raises ApiError."""
    return _ask(session, node, lambda client: client.request("GET", f"/{path}", budget=budget))


def text(session: Session, node: str, path: str, budget: float | None = None) -> str:
    """Return the text that a kubelet serves at a path (one GET). Raises ApiError."""
    return _ask(session, node, lambda client: client.text(f"/{path}", budget))


def _ask(session: Session, node: str, question: t.Callable[[KubeletClient], _Answer]) -> _Answer:
    if session.kubelets is None:
        return question(Proxied(session, node))
    return session.kubelets.ask(node, question)


def is_proxied(session: Session, node: str) -> bool:
    """Return whether a session asks the API server for the kubelet of a node."""
    return session.kubelets is None or session.kubelets.is_proxied(node)


def untrusted(certificate: str, why: str) -> str:
    """Return that a certificate cannot be verified, and what to do."""
    return (
        f"{certificate} cannot be verified ({why}): it must be for the name of the node. Let the cluster sign it "
        "(serverTLSBootstrap: true, and approve its CertificateSigningRequest), or set kubelet_ca_cert to a file with "
        "the certificates of all kubelets"
    )


def _explained(error: ApiError, host: str) -> ApiError:
    """Return the error of a request straight to a kubelet: what happened, and what to do."""
    message, status = error.message.replace(f"no usable answer from the API server {host}: ", ""), error.status
    if "CERTIFICATE_VERIFY_FAILED" in message or "SSLError" in message:
        message = untrusted(f"the certificate of its kubelet at {host}", message)
    elif status == 401:
        # Unlike a 401 of the API server, it concerns this node only.
        status = 403
        message = (
            f"its kubelet at {host} does not accept these credentials: it needs authentication.webhook.enabled for "
            "tokens, and authentication.x509.clientCAFile for client certificates"
        )
    elif status == 403:
        message = (
            f"{message}. Kubelets from 1.33 on need the verb get on nodes/configz, nodes/metrics, nodes/healthz and "
            "nodes/stats; older ones on nodes/proxy, nodes/metrics and nodes/stats"
        )
    elif not status:
        message = f"its kubelet does not answer at {host} ({message}); is its port open for this controller?"
    return ApiError(status, message, error.reason, transient=error.transient)
