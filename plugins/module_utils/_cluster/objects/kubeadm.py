# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ConfigMap of kubeadm: nodes that join start with its configuration, and `kubeadm upgrade node` writes it to
existing nodes.
"""

from __future__ import annotations

import functools
import typing as t

from ..._config import rollback
from ..._config.fields import compare, fields, overlay
from ..._config.plan import layers
from ..._config.plan.layers import Layers
from ..._config.rules import checks
from ..._config.rules.problem import REFUSAL, Problem
from ..._config.values import document
from ..._config.values.node_row import first_of
from ..._config.values.short_texts import minor_of
from ..api.errors import Accepting, ApiError, ClusterError, explained
from ..api.session import Json, Session
from . import config_sources, configmaps, node_requests

NAMESPACE, KEY = "kube-system", "kubelet"
_CLUSTER = "kubeadm-config"
_TRIES = 5
_SHOWN = 2
_NOT_KUBEADM = "If kubeadm does not manage the cluster, set kubelet_config_kubeadm to ignore"

_NodeLayers = t.Dict[str, t.Tuple[t.Dict[str, t.Any], ...]]


def names(minor: int) -> tuple[str, ...]:
    """Return the possible names of kubeadm's ConfigMap in a cluster of this minor version: in 1.23 a feature gate
    decides.

    Source: cmd/kubeadm/app/constants of Kubernetes; gate UnversionedKubeletConfigMap, alpha in 1.23, on in 1.24.
    """
    plain, versioned = "kubelet-config", f"kubelet-config-1.{minor}"
    if minor == 23:
        return plain, versioned
    return (plain,) if minor > 23 else (versioned,)


def synchronise(session: Session, options: Json, check_mode: bool) -> Json:
    """Write the overrides that all nodes have in common into kubeadm's configuration, and return the module's result.

    Nodes of the cluster that `node_configs` omits count with `other_configs`. Values that they do not share are
    refused, because the cluster has one such ConfigMap for the nodes of all groups.

    A ConfigMap keeps in an annotation which fields were written, by which rollout, and what they were before. With the
    option `undo`, the fields return to that, unless others have changed them since: those of this rollout, or of all.

    Requests: two GETs (three for 1.23). If a ConfigMap must change, a LIST of the nodes, and one PATCH for each such
    ConfigMap. Raises ClusterError, which names the ConfigMap.
    """
    minor, found = read(session)
    undo, rollout = options.get("undo"), options.get("rollout") or ""
    if undo is None:
        declared = _Declared(session, options["node_configs"], options["other_configs"] or {}, minor)
        change, warning = functools.partial(_update, session, declared, minor, rollout, check_mode), _not_in_sync
    else:
        change, warning = functools.partial(_undo, session, undo, check_mode), _not_undone
    rows: dict[str, Json] = {}
    diffs: list[dict[str, str]] = []
    for configmap in found:
        name = configmap["metadata"]["name"]
        try:
            rows[name], difference = change(configmap)
        except (ClusterError, document.DocumentError, overlay.OverlayError) as error:
            result = _result(rows, diffs, check_mode, warning)
            raise ClusterError(f"ConfigMap {NAMESPACE}/{name}: {error}", result) from error
        diffs += difference
    return _result(rows, diffs, check_mode, warning)


def read(session: Session) -> tuple[int, list[Json]]:
    """Return the cluster's minor version according to kubeadm, and kubeadm's ConfigMaps for it.

    Requests: two GETs, three for 1.23. Raises ClusterError if there is no such ConfigMap.
    """
    minor = _minor(session)
    found = []
    for name in names(minor):
        configmap = configmaps.read(session, NAMESPACE, name)
        if configmap:
            found.append(configmap)
    if not found:
        looked = " or ".join(f"{NAMESPACE}/{name}" for name in names(minor))
        raise ClusterError(
            f"the cluster has no ConfigMap {looked}, which kubeadm 1.{minor} creates (version according to "
            f"{NAMESPACE}/{_CLUSTER}). Create it with `kubeadm init phase upload-config kubelet`. {_NOT_KUBEADM}"
        )
    return minor, found


class _Declared:
    """The layers of nodes, from the options of the module, with the values that profiles have for kubelets of a minor.
    Equal layers are the same objects.
    """

    def __init__(
        self, session: Session, node_configs: t.Mapping[str, t.Any], other_configs: t.Mapping[str, t.Any], minor: int
    ) -> None:
        if not node_configs:
            raise ClusterError(
                "node_configs is an empty mapping: name every node that kubeadm's ConfigMap must match, "
                "also nodes without overrides"
            )
        self._session = session
        self._others, self._minor = other_configs, minor
        self._layers = Layers()
        self._outside: _NodeLayers | None = None
        self.nodes: _NodeLayers = self._read("node_configs", node_configs)

    def outside(self) -> _NodeLayers:
        """Return the layers of the cluster's other nodes, none for a node of which the options know nothing."""
        if self._outside is None:
            # Read once, and only the other configurations that count: an inventory may have several clusters.
            names = [name for name in node_requests.read(self._session) if name not in self.nodes]
            self._outside = self._read("other_configs", {name: self._others.get(name) for name in names})
        return self._outside

    def _read(self, option: str, given: t.Mapping[str, t.Any]) -> _NodeLayers:
        with explained(document.DocumentError, before=f"{option}: "):
            return self._layers.of_nodes(given, dict.fromkeys(given, self._minor))


def _minor(session: Session) -> int:
    """Return the minor version of the cluster according to kubeadm; the name of its ConfigMap depends on it."""
    configmap = configmaps.read(session, NAMESPACE, _CLUSTER)
    if configmap is None:
        raise ClusterError(
            f"the cluster has no ConfigMap {NAMESPACE}/{_CLUSTER}, so kubeadm did not create it. {_NOT_KUBEADM}"
        )
    text = (configmap.get("data") or {}).get("ClusterConfiguration") or ""
    with explained(document.DocumentError):
        cluster = document.parse(text, f"ConfigMap {NAMESPACE}/{_CLUSTER}, key ClusterConfiguration")
    minor = minor_of(cluster.get("kubernetesVersion"))
    if minor is None:
        raise ClusterError(
            f"ConfigMap {NAMESPACE}/{_CLUSTER}: kubernetesVersion is {cluster.get('kubernetesVersion')!r}, so it is "
            "unknown which ConfigMap kubeadm reads; correct it with `kubectl edit` to a version such as v1.20.2"
        )
    return minor


def _update(
    session: Session, declared: _Declared, minor: int, rollout: str, dry_run: bool, configmap: Json
) -> tuple[Json, list[dict[str, str]]]:
    """Synchronise one ConfigMap; return its row and its diff.

    On a conflict with another writer the ConfigMap is read again and the change is computed again, so that no other
    change is overwritten.
    """
    current: Json | None = configmap
    row: Json = {}
    difference: list[dict[str, str]] = []
    sent = ""
    for _try in range(_TRIES):
        if current is None:
            raise ClusterError("it was deleted during the update; run again")
        if sent and (current.get("data") or {}).get(KEY) == sent:
            # An earlier try has written it, and its answer was lost.
            return {**row, **configmaps.reference(current, KEY)}, difference
        before, after, changes = _decide(current, declared.nodes, minor)
        refused = ""
        if changes:
            refused = _refusal(before, declared, minor)
        if refused and not dry_run:
            raise ClusterError(refused)
        row = {"changed": bool(changes), "changes": changes, "refused": refused, "variant": document.variant(after)}
        if not changes:
            return {**row, **configmaps.reference(current, KEY)}, []
        # JSON, as in all ConfigMaps of this collection: it is valid YAML, and kubeadm renders it again for the nodes.
        # kubeadm's hash of the text, an annotation, is not changed: with a hash that no longer matches, kubeadm
        # treats the configuration as edited by an administrator, as after `kubectl edit`.
        sent, difference = document.render(after), [_diff(current, before, after)]
        note = _note(current, rollout, before, after)
        with Accepting(409):
            stored = configmaps.write_key(session, current, KEY, sent, dry_run, note)
            return {**row, **configmaps.reference(stored, KEY)}, difference
        current = configmaps.read(session, NAMESPACE, current["metadata"]["name"])
    raise ApiError(409, "it changes faster than it can be patched; run again", "Conflict")


def _note(current: Json, rollout: str, before: Json, after: Json) -> dict[str, str | None]:
    """Return what lets a rollback undo a change. Without a name of the rollout there is nothing that it could undo."""
    if not rollout:
        return {}
    return rollback.written(rollback.read(current), rollout, before, after)


def _undo(session: Session, rollout: str, dry_run: bool, configmap: Json) -> tuple[Json, list[dict[str, str]]]:
    """Undo what a rollout (`all`: any) has written to one ConfigMap; return its row and its diff.

    Another writer since the read is an error of the API server, 409: run again.
    """
    row: Json = {"changed": False, "changes": [], "refused": ""}
    difference: list[dict[str, str]] = []
    record = rollback.read(configmap)
    if record:
        before = content(configmap)
        after, note = rollback.undone(record, rollout, before)
        changes = compare.changed_keys(before, after)
        row.update(changed=bool(changes), changes=changes, variant=document.variant(after))
        if changes:
            difference = [_diff(configmap, before, after)]
            configmap = configmaps.write_key(session, configmap, KEY, document.render(after), dry_run, note)
    return {**row, **configmaps.reference(configmap, KEY)}, difference


def _diff(configmap: Json, before: Json, after: Json) -> dict[str, str]:
    header = f"ConfigMap {NAMESPACE}/{configmap['metadata']['name']}"
    return compare.diff(before, after, header, header)


def content(configmap: Json) -> Json:
    """Return the configuration in one of kubeadm's ConfigMaps. Raises ClusterError if it is unusable."""
    fault = config_sources.fault(configmap, KEY)
    if fault:
        raise ClusterError(fault)
    return document.parse(configmap["data"][KEY], f"key {KEY}", complete=True)


def _not_undone(name: str, row: Json) -> str:
    return (
        f"ConfigMap {NAMESPACE}/{name} still has what was rolled out: {', '.join(row['changes'])}. Nodes that join and "
        "nodes that kubeadm upgrades get it; the same run with kubelet_config_kubeadm: update undoes it there too"
    )


def _decide(configmap: Json, overrides: _NodeLayers, minor: int) -> tuple[Json, Json, list[str]]:
    """Return the configuration of a ConfigMap, the one it must have, and the paths that differ. Raises ClusterError."""
    before = content(configmap)
    after = layers.lay_common(before, overrides.values())
    changes = layers.changed_paths(before, after, minor)
    # Problems that were there before are not reported. New warnings count as much as refusals: a kubelet that refuses
    # its first configuration has none to revert to. Only unknown fields pass, since a newer minor may have them.
    known = set(checks.problems(before, minor))
    faults = []
    for problem in checks.problems(after, minor):
        if problem not in known and not _may_be_newer(problem, minor):
            faults.append(f"{problem.path}: {problem.message}. {problem.remedy}")
    if changes and faults:
        first = (
            f"a kubelet 1.{minor} would not start with the result or would ignore a part of it; nothing was written."
        )
        raise ClusterError("\n".join([first, *faults]))
    return before, after, changes


def _may_be_newer(problem: Problem, minor: int) -> bool:
    """Whether a problem is a field that only our tables may not know. The plan refuses it where no kubelet shows it."""
    return problem.rule == "unknown-field" and (problem.severity != REFUSAL or minor > fields.NEWEST_MINOR)


def _refusal(before: Json, declared: _Declared, minor: int) -> str:
    """Return why the common values must not be written, empty if all nodes of the cluster share them."""
    not_shared = layers.not_shared(before, declared.nodes.values(), declared.outside(), minor)
    if not not_shared:
        return ""
    names = set().union(*not_shared.values())
    return (
        f"{first_of(sorted(not_shared), _SHOWN)} would get the values of one group. They are not declared for "
        f"{first_of(sorted(names), _SHOWN)}, and nodes of all groups join with this ConfigMap. Nothing was written. "
        "Declare the same for all nodes of the cluster, name all groups in kubelet_config_hosts, or set "
        "kubelet_config_kubeadm to check"
    )


def _not_in_sync(name: str, row: Json) -> str:
    remedy = "a rollout with kubelet_config_kubeadm: update synchronises it"
    if row["refused"]:
        remedy = f"an update would be refused: {row['refused']}"
    return (
        f"ConfigMap {NAMESPACE}/{name} is not in sync with the nodes: {', '.join(row['changes'])}. Nodes that join "
        f"and nodes that kubeadm upgrades get its values; {remedy}"
    )


def _result(
    rows: dict[str, Json], diffs: list[dict[str, str]], check_mode: bool, warning: t.Callable[[str, Json], str]
) -> Json:
    """Return the result. `warning`: what check mode warns of for each ConfigMap that it would update."""
    updated = {name: row for name, row in rows.items() if row["changed"]}
    warnings = []
    if check_mode:
        warnings = [warning(name, row) for name, row in updated.items()]
    counts = {"configmaps": len(rows), "updated": len(updated)}
    return {"changed": bool(updated), "configmaps": rows, "summary": counts, "diff": diffs, "warnings": warnings}
