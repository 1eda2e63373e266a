# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage push: creates one content-addressed ConfigMap for each variant, and prunes those that are no longer used."""

from __future__ import annotations

import datetime
import re
import typing as t

from ..._config.fields import compare
from ..._config.minors import api_versions
from ..._config.values import document, paths
from ..api.errors import ClusterError, explained
from ..api.session import Json, Session
from ..objects import configmaps, kubeadm, lease, node_requests, nodes, readers

# Ten years: nothing is staged for longer, and the calendar ends.
_MOST_DAYS = 3650
# Why nothing is pruned; the rollouts follow.
_UNDER_WAY = "a rollout is under way, and may have pushed ConfigMaps that no node uses yet; nothing was pruned."


def push(session: Session, options: Json, check_mode: bool) -> Json:
    """Ensure that every variant exists as a ConfigMap.

    State `pruned` removes the unused ConfigMaps unless a rollout is under way, state `kubeadm` synchronises kubeadm's
    ConfigMap. Raises ClusterError.
    """
    if options["state"] == "pruned":
        return _prune(session, options, check_mode)
    if options["state"] == "kubeadm":
        return kubeadm.synchronise(session, options, check_mode)
    return _create(session, options, check_mode)


def _create(session: Session, options: Json, check_mode: bool) -> Json:
    with explained(document.DocumentError):
        wanted = _wanted(options)
    names = {}
    for label, (_variant, text) in wanted.items():
        names[label] = document.configmap_name(options["name"], text, options["key"])
    rows: dict[str, Json] = {}
    failed = []
    for outcome in session.each(
        wanted, lambda label: _ensure(session, options, names[label], *wanted[label], check_mode)
    ):
        if outcome.value is not None:
            rows[outcome.item] = outcome.value
        else:
            failed.append(f"{options['namespace']}/{names[outcome.item]}: {outcome.why}")
    created = {label: row for label, row in rows.items() if row["changed"]}
    result = {
        "changed": bool(created),
        "configmaps": rows,
        "summary": {"configmaps": len(rows), "created": len(created)},
        "diff": [_diff(row["namespace"], row["name"], "", wanted[label][1]) for label, row in created.items()],
    }
    if options.get("config") is not None and not failed:
        row = rows[next(iter(wanted))]
        result["source"] = paths.only(row, configmaps.REFERENCE)
    if failed:
        first = f"pushing variants: {len(failed)} of {len(wanted)} ConfigMaps could not be created."
        raise ClusterError("\n".join([first, *failed]), result)
    return result


def _wanted(options: Json) -> dict[str, tuple[str, str]]:
    """Return (variant, text) of all ConfigMaps to push, by variant or file.

    Raises ClusterError and DocumentError before any write.
    """
    if options["keep_days"] > _MOST_DAYS:
        raise ClusterError(f"keep_days is {options['keep_days']}: use at most {_MOST_DAYS}")
    wanted: dict[str, tuple[str, str]] = {}
    if options.get("config") is not None:
        own = _complete(options["config"])
        wanted[document.variant(own)] = (document.variant(own), document.render(own))
    for variant, config in (options["variants"] or {}).items():
        if document.variant(config) != variant:
            raise ClusterError(
                f"variants: the configuration under {variant} has the hash {document.variant(config)}, so it was "
                "changed after planning. Pass the plan unchanged, or set src to files"
            )
        wanted[variant] = (variant, document.render(config))
    for path in options["src"] or []:
        try:
            with open(path, "rb") as source:
                content = source.read()
            config = document.parse(content, path, complete=True, versions=api_versions(None))
        except OSError as error:
            raise ClusterError(f"src: cannot read {path}: {error.strerror}") from error
        except document.DocumentError as error:
            raise ClusterError(f"src: {error}") from error
        # The unchanged bytes, so that the name is the one that kubectl generates for the same file.
        wanted[path] = (document.variant(config), content.decode("utf-8"))
    for label, (_variant, text) in wanted.items():
        document.check_size(text, label)
    return wanted


def _complete(given: t.Any) -> Json:
    """Return a configuration with kind and apiVersion, which it may omit. Raises DocumentError."""
    config = {"kind": document.KIND, "apiVersion": document.API_VERSION, **document.accept(given, "config")}
    return document.parse(document.render(config), "config", complete=True, versions=api_versions(None))


def _ensure(session: Session, options: Json, name: str, variant: str, text: str, check_mode: bool) -> Json:
    namespace, key = options["namespace"], options["key"]
    there = configmaps.read(session, namespace, name)
    changed = there is None
    if there is None:
        there = configmaps.create(session, _body(options, variant, name, text), check_mode)
    if (there.get("data") or {}).get(key) != text or len(there["data"]) > 1 or there.get("binaryData"):
        raise ClusterError(
            "its content does not match the hash in its name, so it was edited in place. Kubelets that follow it run "
            "the edited content. Inspect it with kubectl, delete it once no node uses it, and run again"
        )
    return {"changed": changed, "variant": variant, **configmaps.reference(there, key)}


def _body(options: Json, variant: str, name: str, text: str) -> Json:
    labels = {}
    if options["keep_days"]:
        labels[configmaps.STAGED_LABEL] = last_day(options["keep_days"])
    body = configmaps.body(options["namespace"], name, labels, {configmaps.VARIANT_ANNOTATION: variant})
    body["data"] = {options["key"]: text}
    if options["immutable"]:
        # API servers older than 1.19 drop the field.
        body["immutable"] = True
    return body


def _prune(session: Session, options: Json, check_mode: bool) -> Json:
    """Remove the unused ConfigMaps. Raises ClusterError, before anything is removed, if a rollout is under way.

    A rollout uses what it has pushed only when it assigns it. A Lease on all nodes keeps rollouts from beginning now.
    """
    with lease.whole_cluster(session, "prune", _UNDER_WAY, check_mode) as (keeper, warnings):
        result = _remove_idle(session, options, check_mode, keeper)
    return {**result, "warnings": warnings}


def _remove_idle(session: Session, options: Json, check_mode: bool, keeper: lease.Keeper) -> Json:
    namespace, key = options["namespace"], options["key"]
    ours = configmaps.read_managed(session, namespace)
    # Read after the ConfigMaps: one that is assigned between the two reads counts as used.
    found = node_requests.read(session).values()
    idle = _idle(ours, found, options)
    revoked = []
    if any(node.form.by_role or node.follower for node in found):
        revoked = readers.revoke(session, namespace, readers.in_use(found), check_mode)
    gone, failed = _removed(session, idle, check_mode, keeper)
    kept = [item for item in ours if item not in idle]
    result = {
        "changed": bool(gone or revoked),
        "configmaps": {},
        "pruned": _names(gone),
        "kept": _names(kept),
        "summary": {"pruned": len(gone), "kept": len(kept)},
        "diff": [
            _diff(namespace, item["metadata"]["name"], (item.get("data") or {}).get(key, ""), "") for item in gone
        ],
    }
    if revoked:
        result["revoked"] = revoked
    if failed:
        raise ClusterError("\n".join(["pruning: some ConfigMaps could not be removed.", *failed]), result)
    return result


def _removed(
    session: Session, idle: list[Json], check_mode: bool, keeper: lease.Keeper
) -> tuple[list[Json], list[str]]:
    """Remove ConfigMaps; return those that are gone, and why others are not."""

    def remove(item: Json) -> None:
        keeper.keep()
        configmaps.delete(session, item, check_mode)

    gone, failed = [], []
    for outcome in session.each(idle, remove):
        if outcome.error is None:
            gone.append(outcome.item)
        else:
            failed.append(f"{outcome.item['metadata']['name']}: {outcome.why}")
    return gone, failed


def _idle(ours: list[Json], found: t.Collection[nodes.Node], options: Json) -> list[Json]:
    """Return the ConfigMaps of this name that no node or seed uses, and that wait for no rollout.

    None with `access_only`.
    """
    if options.get("access_only"):
        return []
    used, uids = _used(found), set().union(*(node.uids for node in found))
    # Only the hash may follow: the ConfigMaps of another name, such as `NAME-gpu`, begin with the same text.
    made = re.compile(re.escape(options["name"]) + "-[a-z0-9]{10}")
    of_seeds = {_of_seed(item) for item in ours if _is_staged(item)}
    idle = []
    for item in ours:
        name, uid = item["metadata"]["name"], item["metadata"].get("uid")
        in_use = (options["namespace"], name) in used or uid in uids or name in of_seeds
        if made.fullmatch(_of_seed(item) or name) and not in_use and not _is_staged(item):
            idle.append(item)
    return idle


def _of_seed(configmap: Json) -> str:
    """Return the ConfigMap that this one keeps for a seed, empty for any other one."""
    return str((configmap["metadata"].get("annotations") or {}).get(configmaps.SEED_ANNOTATION, ""))


def _names(found: list[Json]) -> list[str]:
    return sorted(item["metadata"]["name"] for item in found)


def _used(all_nodes: t.Iterable[nodes.Node]) -> set[tuple[str, str]]:
    """Return the ConfigMaps (namespace, name) that any node is assigned, runs or could revert to."""
    return {(reference["namespace"], reference["name"]) for node in all_nodes for reference in node.references}


def _is_staged(configmap: Json) -> bool:
    """Return whether a ConfigMap waits for the rollout that it was staged for. A malformed day protects nothing."""
    until = (configmap["metadata"].get("labels") or {}).get(configmaps.STAGED_LABEL, "")
    try:
        return datetime.date.fromisoformat(until) >= _today()
    except ValueError:
        return False


def last_day(days: int) -> str:
    """Return the last of so many days, as STAGED_LABEL has it."""
    return (_today() + datetime.timedelta(days=days)).isoformat()


def _today() -> datetime.date:
    return datetime.datetime.now(datetime.timezone.utc).date()


def _diff(namespace: str, name: str, before: str, after: str) -> dict[str, str]:
    header = f"ConfigMap {namespace}/{name}"
    return compare.diff(_shown(before), _shown(after), header, header)


def _shown(text: str) -> Json | None:
    try:
        return document.parse(text, "data") if text else None
    except document.DocumentError:
        # Text that cannot be parsed cannot be masked, so it is not shown.
        return {}
