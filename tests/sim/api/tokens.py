# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Tokens of service accounts (pkg/registry/core/serviceaccount/storage/token.go) and what their users may do."""

from __future__ import annotations

import secrets
import typing as t

from tests.sim.api import roles
from tests.sim.api.kinds import Route
from tests.sim.api.refusal import Refusal, missing
from tests.sim.api.store import Store, stamp

RULES = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
LEAST = 600
Identity = tuple[str, tuple[str, ...]]


class Tokens:
    """The tokens that the API server has given out. `sent` are all of them, in their order."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._users: dict[str, tuple[Identity, float]] = {}

    @property
    def sent(self) -> list[str]:
        return list(self._users)

    def create(self, place: Route, body: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return an answered TokenRequest. Raises Refusal."""
        if self._store.find("serviceaccounts", place.name, place.namespace) is None:
            raise missing("serviceaccounts", place.name)
        seconds = (body.get("spec") or {}).get("expirationSeconds") or 3600
        if seconds < LEAST:
            raise Refusal(
                422,
                f'TokenRequest.authentication.k8s.io "{place.name}" is invalid: spec.expirationSeconds: Invalid value: '
                f"{seconds}: may not specify a duration less than 10 minutes",
            )
        token, end = f"sim.{secrets.token_urlsafe(32)}", self._store.clock() + seconds
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{place.namespace}")
        self._users[token] = (f"system:serviceaccount:{place.namespace}:{place.name}", groups), end
        return {**body, "status": {"token": token, "expirationTimestamp": stamp(end)}}

    def user(self, header: str | None) -> Identity:
        """Return user and groups of an Authorization header, empty without a token that is valid now."""
        kind, _space, token = (header or "").partition(" ")
        identity, end = self._users.get(token, (("", ()), 0.0))
        return identity if kind == "Bearer" and end > self._store.clock() else ("", ())

    def rules(self, user: str, groups: t.Sequence[str], body: dict[str, t.Any]) -> dict[str, t.Any]:
        """Return an answered SelfSubjectRulesReview; the Node authorizer does not list its own."""
        namespace = (body.get("spec") or {}).get("namespace") or ""
        found = roles.rules_of(self._store, user, groups, namespace)
        return {**body, "status": {"resourceRules": found, "nonResourceRules": [], "incomplete": True}}
