# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`read: auto`: the way by which each kubelet is asked, with the least that the user needs for it.

What the user may do is asked once a run: one SelfSubjectAccessReview for each permission that could help. The first
node that is asked by a way decides for the run whether the way works from here. A node with a way that failed for it
is asked by its next one.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import threading
import typing as t
from pathlib import Path

from . import cluster_options, kubelet_endpoint, kubelet_on_host
from .errors import Accepting, ApiError
from .kubelet_endpoint import KUBELET, NODE, PROXY, Seen
from .parallel import Outcome

if t.TYPE_CHECKING:
    from .kubelet_endpoint import KubeletClient
    from .session import Session

# The first minor whose kubelets accept nodes/configz (KubeletFineGrainedAuthz, on by default from here on).
_FINE_GRAINED = 33
# What a user needs for each way: verb, resource, and the manifest of it in the collection.
_NEEDS = {
    KUBELET: ("get", "nodes/configz", "docs/rbac.yaml"),
    NODE: ("create", "serviceaccounts/token", "docs/rbac/option-read-node.yaml"),
    PROXY: ("get", "nodes/proxy", "docs/rbac/option-read-proxy.yaml"),
}
_IN_WORDS = {KUBELET: "at its port", NODE: "from its own host", PROXY: "through the proxy of the API server"}
# After so many failures of a way that has worked for no node, no other node waits for it.
_ENOUGH = 3
# Answers after which another way may work: none at all, a certificate that cannot be verified, no address, no service
# account, credentials that the kubelet refuses.
_NOT_SET_UP = 400
_OTHER_WAY = frozenset({0, 200, _NOT_SET_UP, 403})
_Answer = t.TypeVar("_Answer")


def ways(about: Seen, safe: bool, login: bool, own_account: bool, may: t.Callable[[str], bool]) -> t.Iterator[str]:
    """Yield the ways by which a kubelet can be asked, the best one first.

    `safe`: whether a kubelet may receive the credentials. `login`: whether Ansible can run programs on hosts.
    `own_account`: whether each node has a service account of its own, which alone may read earlier kubelets. `may`:
    whether the user has the permission for a way. It is not asked for the only one: the API server refuses that itself.
    """
    fine = about.minor >= _FINE_GRAINED
    straight = fine and safe
    on_host = login and not about.followed and (fine or own_account)
    if straight and may(KUBELET):
        yield KUBELET
    if on_host and may(NODE):
        yield NODE
    if not (straight or on_host) or may(PROXY):
        yield PROXY


@dataclasses.dataclass
class Known:
    """What a run knows. `may`: by way, whether the user has the permission for it. `works`: the ways that have worked
    for a node. `failed`: by way, how often it did not, and `why` at first. `ways`: by node, the way that was taken.
    """

    may: dict[str, bool] = dataclasses.field(default_factory=dict)
    works: dict[str, bool] = dataclasses.field(default_factory=dict)
    failed: dict[str, int] = dataclasses.field(default_factory=dict)
    why: dict[str, str] = dataclasses.field(default_factory=dict)
    ways: dict[str, str] = dataclasses.field(default_factory=dict)

    def is_closed(self, way: str) -> bool:
        """Return whether a way has not worked for the node that was asked first."""
        return way not in self.works and way in self.failed


class _Records:
    """What modules of one run have found out, in files of a folder that ends with the run; by cluster and user."""

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        self._open: dict[Path, tuple[Known, str]] = {}

    def of(self, options: t.Mapping[str, t.Any]) -> Known:
        """Return what is known for the options of a module."""
        given = {name: options.get(name) for name in cluster_options.argument_spec()}
        mark = hashlib.sha256(json.dumps(given, sort_keys=True, default=str).encode()).hexdigest()
        path = self._folder / f"livenodes-kubelet-ways-{mark}.json"
        text = "{}"
        with contextlib.suppress(OSError):
            text = path.read_text(encoding="utf-8")
        known = Known(**json.loads(text))
        self._open[path] = known, text
        return known

    def save(self) -> None:
        """Write what is new. Without it the next module asks again."""
        for path, (known, before) in self._open.items():
            text = json.dumps(dataclasses.asdict(known))
            if text == before or known == Known():
                continue
            fresh = path.with_suffix(f".{os.getpid()}")
            with contextlib.suppress(OSError):
                fresh.write_text(text, encoding="utf-8")
                fresh.replace(path)


_given: list[_Records] = []


@contextlib.contextmanager
def remembered_in(folder: str) -> t.Iterator[None]:
    """Let sessions made in between know what those before them in the same run have found out."""
    records = _Records(folder)
    _given.append(records)
    try:
        yield
    finally:
        _given.pop()
        records.save()


class _Hurried:
    """A way to a kubelet by which each question is asked once, since there may be another way."""

    def __init__(self, client: KubeletClient) -> None:
        self._client = client

    def request(self, method: str, path: str, *, budget: float | None = None) -> t.Any:  # pylint: disable=unused-argument
        """Return the JSON of an answer. Raises ApiError."""
        return self._client.request(method, path, budget=0.0)

    def text(self, path: str, budget: float | None = None) -> str:  # pylint: disable=unused-argument
        """Return the text of an answer. Raises ApiError."""
        return self._client.text(path, 0.0)


class BestKubelets(kubelet_endpoint.Kubelets):
    """The kubelets of nodes, each by the best way that works for it. Safe for threads."""

    def __init__(self, session: Session, options: t.Mapping[str, t.Any]) -> None:
        self._session, self._options = session, options
        self._login = kubelet_on_host.can_reach()
        self._account = str(options.get("read_service_account") or kubelet_on_host.ACCOUNT)
        self._own_accounts = kubelet_on_host.PLACE in self._account
        self._known = _given[-1].of(options) if _given else Known()
        self._direct = kubelet_endpoint.DirectClients(session, options.get("kubelet_ca_cert"))
        self._hosts: kubelet_on_host.HostKubelets | None = None
        self._asking = threading.Lock()
        self._first = {way: threading.Lock() for way in (KUBELET, NODE)}
        self._left: dict[tuple[str, ...], list[tuple[str, str]]] = {}

    def is_proxied(self, node: str) -> bool:
        """Return whether the API server is asked for the kubelet of a node."""
        return self._known.ways.get(node) == PROXY

    def ask(self, node: str, question: t.Callable[[KubeletClient], _Answer]) -> _Answer:
        """Return what a question got from the kubelet of a node. Raises ApiError."""
        way = self._known.ways.get(node)
        if way:
            try:
                return self._by(way, node, question)
            except ApiError as error:
                if way == PROXY or error.transient or error.status not in _OTHER_WAY:
                    raise
                # Its certificate or its authorization may have changed with its configuration.
                self._known.ways.pop(node, None)
        return self._choose(node, question)

    def warnings(self) -> list[str]:
        """Return which ways were left, and why; once for all nodes for which these were the same."""
        found = []
        for (*left, way), nodes in self._left.items():
            node, why = nodes[0]
            more = f" and {len(nodes) - 1} more" if len(nodes) > 1 else ""
            places = " or ".join(_IN_WORDS[one] for one in left)
            found.append(
                f"{node}{more}: the kubelet is read {_IN_WORDS[way]}, not {places}: {why}. The same holds for "
                "all nodes of the run for which nothing better is known. To choose a way, set kubelet_config_read"
            )
        return found

    def _choose(self, node: str, question: t.Callable[[KubeletClient], _Answer]) -> _Answer:
        """Ask by each way until one works, and keep that one for the node. Raises ApiError."""
        about = kubelet_endpoint.seen(self._session, node)
        failed: dict[str, ApiError] = {}
        closed, lacking = [], []

        def may(way: str) -> bool:
            if not self._may(way, node):
                lacking.append(way)
            return way not in lacking

        for way in ways(about, self._session.is_safe_at_kubelets, self._login, self._own_accounts, may):
            if way == PROXY:
                self._take(node, way, failed)
                return self._by(way, node, question)
            outcome = self._tried(way, node, question)
            if outcome is None:
                closed.append(way)
            elif outcome.error is None:
                self._take(node, way, failed)
                return outcome.result()
            else:
                failed[way] = t.cast("ApiError", outcome.error)
        # Its kubelet may be starting, or the node that was asked first may be down.
        for way in (*closed, *(way for way, error in failed.items() if error.transient)):
            if self._known.is_closed(way) and self._known.failed[way] >= _ENOUGH:
                failed.setdefault(way, ApiError(0, f"not asked, as it failed for others ({self._known.why[way]})"))
                continue
            outcome = self._attempt(way, node, question)
            if outcome.error is None:
                self._take(node, way, {})
                return outcome.result()
            failed[way] = t.cast("ApiError", outcome.error)
        raise self._no_way(about, failed, lacking)

    def _tried(
        self, way: str, node: str, question: t.Callable[[KubeletClient], _Answer]
    ) -> Outcome[str, _Answer] | None:
        """Return what came of a way, None if it is closed. The others wait for the first node. Raises ApiError."""

        def hurried(client: KubeletClient) -> _Answer:
            return question(_Hurried(client))

        with self._first[way]:
            if self._known.is_closed(way):
                return None
            if way not in self._known.works:
                return self._attempt(way, node, hurried)
        return self._attempt(way, node, hurried)

    def _attempt(self, way: str, node: str, question: t.Callable[[KubeletClient], _Answer]) -> Outcome[str, _Answer]:
        """Return what came of a way, or its error if another way may work. Raises ApiError for other errors."""
        try:
            answer = self._by(way, node, question)
        except ApiError as error:
            if error.status not in _OTHER_WAY:
                raise
            self._known.failed[way] = self._known.failed.get(way, 0) + 1
            self._known.why.setdefault(way, error.message)
            return Outcome(way, error=error)
        self._known.works[way] = True
        return Outcome(way, value=answer)

    def _take(self, node: str, way: str, failed: t.Mapping[str, ApiError]) -> None:
        self._known.ways[node] = way
        # A cluster without the service account has not chosen that way.
        if any(error.status != _NOT_SET_UP for error in failed.values()):
            why = "; ".join(error.message for error in failed.values())
            self._left.setdefault((*failed, way), []).append((node, why))

    def _by(self, way: str, node: str, question: t.Callable[[KubeletClient], _Answer]) -> _Answer:
        if way == PROXY:
            return question(kubelet_endpoint.Proxied(self._session, node))
        if way == KUBELET:
            return self._direct.ask(node, question)
        with self._asking:
            self._hosts = self._hosts or self._session.on_hosts(self._options)
        return self._hosts.ask(node, question)

    def _may(self, way: str, node: str) -> bool:
        """Return whether the user has the permission for a way (one POST a run). Raises ApiError."""
        with self._asking:
            if way not in self._known.may:
                self._known.may[way] = self._reviewed(way, node)
            return self._known.may[way]

    def _reviewed(self, way: str, node: str) -> bool:
        verb, resource, _manifest = _NEEDS[way]
        attributes = {"verb": verb, "name": node}
        if way == NODE:
            attributes["namespace"], _slash, name = self._account.partition("/")
            attributes["name"] = name.replace(kubelet_on_host.PLACE, node)
        attributes["resource"], _slash, attributes["subresource"] = resource.partition("/")
        with Accepting(403, 404):
            review = self._session.review("SelfSubjectAccessReview", {"resourceAttributes": attributes})
            return bool(review.get("allowed"))
        # A user who may not ask uses the proxy, which names what is missing.
        return way == PROXY

    def _no_way(self, about: Seen, failed: t.Mapping[str, ApiError], lacking: t.Sequence[str]) -> ApiError:
        why = [f"{_IN_WORDS[way]}: {error.message}" for way, error in failed.items()]
        if about.minor >= _FINE_GRAINED and not self._session.is_safe_at_kubelets:
            why.append(f"{_IN_WORDS[KUBELET]}: it would receive these credentials, which are no client certificate")
        for way in lacking:
            verb, resource, place = _NEEDS[way]
            why.append(
                f'{_IN_WORDS[way]}: the user cannot {verb} resource "{resource}" in API group "", see {place} of the '
                "collection"
            )
        first = next(iter(failed.values()), ApiError(403, ""))
        text = f"there is no way to read its kubelet. {'; '.join(why)}"
        return ApiError(first.status, text, first.reason, transient=first.transient)
