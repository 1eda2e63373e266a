# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The port of a simulated kubelet: TLS, client certificates, tokens, the webhook authorizer
(pkg/kubelet/server/auth.go).
"""

from __future__ import annotations

import typing as t

from tests.sim.api.listener import Connection, Listener
from tests.sim.api.refusal import Refusal
from tests.sim.api.roles import Asked, allows, is_admin
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
        tls = (signer or cluster.certificates).server(name)
        tls.load_verify_locations(cluster.certificates.authority)
        self._listener = Listener(self._serve, tls)

    def __enter__(self) -> t.Self:
        self._listener.start()
        self.cluster.patch_status(self.name, self.at("127.0.0.1"))
        return self

    def __exit__(self, *_error: object) -> None:
        self._listener.close()

    def _serve(self, client: Connection, _body: bytes) -> None:
        user, groups = client.user, client.groups
        if not user and self.webhook:
            user, groups = self.cluster.api.tokens.user(client.headers["Authorization"])
        self.asked.append((user, client.path))
        # So that none outlives this port.
        client.reply(*self.answer(user, groups, client.path), [("Connection", "close")])

    def at(self, address: str) -> dict[str, t.Any]:
        """Return the status of a Node whose kubelet listens here."""
        return {
            "addresses": [{"type": "InternalIP", "address": address}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self._listener.server_port}},
        }

    def answer(self, user: str, groups: t.Sequence[str], path: str) -> tuple[int, bytes]:
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
