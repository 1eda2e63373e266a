# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The port of a simulated kubelet: TLS, client certificates, tokens, the webhook authorizer
(pkg/kubelet/server/auth.go).
"""

from __future__ import annotations

import http.server
import threading
import typing as t

from tests.sim.api.refusal import Refusal
from tests.sim.api.roles import Asked, allows, is_admin
from tests.sim.api.server import identity
from tests.sim.cluster import Cluster
from tests.sim.tls import Certificates

# KubeletFineGrainedAuthz is on by default from here on.
FINE_GRAINED = 33
OLD = {"/metrics": "metrics", "/stats": "stats"}
NEW = {**OLD, "/configz": "configz", "/healthz": "healthz"}


class Port:
    """`with Port(cluster, "n1", 36):` - its Node has the address 127.0.0.1 and this port.

    `asked` are user and path of all requests. `signer` signs its certificate, by default the cluster's authority.
    `webhook`: whether it asks the API server for the user of a token.
    """

    webhook = True

    def __init__(self, cluster: Cluster, name: str, minor: int, signer: Certificates | None = None) -> None:
        self.cluster, self.name, self.minor = cluster, name, minor
        self.asked: list[tuple[str, str]] = []
        if cluster.certificates is None:
            raise ValueError("this cluster has no TLS")
        tls, owner = (signer or cluster.certificates).server(name), self
        tls.load_verify_locations(cluster.certificates.authority)

        class Handler(http.server.BaseHTTPRequestHandler):
            """One connection."""

            user, groups = "", ()

            def setup(self) -> None:
                """Do the handshake."""
                self.request = tls.wrap_socket(self.request, server_side=True)
                self.user, self.groups = identity(self.request.getpeercert())
                super().setup()

            def log_message(self, *_args: t.Any) -> None:
                """Log nothing."""

            def do_GET(self) -> None:
                """Answer."""
                user, groups = self.user, self.groups
                if not user and owner.webhook:
                    user, groups = cluster.api.tokens.user(self.headers["Authorization"])
                owner.asked.append((user, self.path))
                status, content = owner.answer(user, groups, self.path)
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        class Listener(http.server.ThreadingHTTPServer):
            """Ends with the test."""

            daemon_threads = True

            def handle_error(self, request: t.Any, client_address: t.Any) -> None:
                """Log nothing."""

        self._server = Listener(("127.0.0.1", 0), Handler)

    def __enter__(self) -> t.Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        self.cluster.patch_status(self.name, self.at("127.0.0.1"))
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def at(self, address: str) -> dict[str, t.Any]:
        """Return the status of a Node whose kubelet listens here."""
        return {
            "addresses": [{"type": "InternalIP", "address": address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._server.server_port}},
        }

    def answer(self, user: str, groups: t.Sequence[str], path: str) -> tuple[int, bytes]:
        """Return status and body."""
        if not user:
            return 401, b"Unauthorized"
        root = "/" + path.lstrip("/").partition("/")[0]
        wanted = [NEW[root]] if self.minor >= FINE_GRAINED and root in NEW else []
        # Without a rule for the finer one, nodes/proxy still counts.
        wanted += [OLD.get(root, "proxy")]
        store = self.cluster.store
        allowed = is_admin(user, groups) or any(
            allows(store, user, groups, Asked("get", "", f"nodes/{sub}", name=self.name)) for sub in wanted
        )
        if not allowed:
            text = f"Forbidden (user={user}, verb=get, resource=nodes, subresource(s)=[{' '.join(wanted)}])"
            return 403, text.encode()
        try:
            answer = self.cluster.proxied(self.name, path)
        except Refusal as error:
            return error.status, error.message.encode()
        return answer.status, answer.content()
