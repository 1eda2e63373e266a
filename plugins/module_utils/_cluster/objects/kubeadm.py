# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""kubeadm's own ConfigMap: nodes start with what it says when they join, and `kubeadm upgrade node` writes it on those
that are there.
"""

from __future__ import annotations

import typing as t

from ..._config.fields import difftext, overlay
from ..._config.plan import shared_overrides
from ..._config.plan.layers import Layers
from ..._config.rules import checks
from ..._config.rules.problem import REFUSAL
from ..._config.values import document, identity
from ..._config.values.version import minor_of
from ..api.errors import ApiError, ClusterError
from ..api.session import Session
from . import config_sources, configmaps

NAMESPACE, KEY = "kube-system", "kubelet"
CLUSTER = "kubeadm-config"
TRIES = 5
_NOT_KUBEADM = "Where kubeadm does not look after the cluster there is nothing to keep in step: set kubelet_config_kubeadm to ignore"

Overrides = t.List[t.Tuple[t.Dict[str, t.Any], ...]]


def names(minor: int) -> tuple[str, ...]:
    """Return the names that kubeadm gives its ConfigMap in a cluster of this minor; of 1.23 it depends on a feature
    gate.

    Source: cmd/kubeadm/app/constants of Kubernetes; gate UnversionedKubeletConfigMap, alpha in 1.23, on in 1.24.
    """
    plain, versioned = "kubelet-config", f"kubelet-config-1.{minor}"
    return (plain, versioned) if minor == 23 else (plain,) if minor > 23 else (versioned,)


def keep_in_step(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Lay what the overrides of all nodes have in common over kubeadm's configuration.

    Requests: two GETs (three for 1.23), and a PATCH for a ConfigMap that does not have it yet. Raises ClusterError
    naming the ConfigMap.
    """
    overrides = _overrides(options["node_configs"])
    minor, found = read(session)
    rows: dict[str, dict[str, t.Any]] = {}
    diffs: list[dict[str, str]] = []
    for configmap in found:
        name = configmap["metadata"]["name"]
        try:
            rows[name], difference = _bring(session, configmap, overrides, minor, check_mode)
        except (ClusterError, document.DocumentError, overlay.OverlayError) as error:
            raise ClusterError(f"ConfigMap {NAMESPACE}/{name}: {error}", _result(rows, diffs, check_mode)) from error
        diffs += difference
    return _result(rows, diffs, check_mode)


def read(session: Session) -> tuple[int, list[dict[str, t.Any]]]:
    """Return the cluster's minor as kubeadm knows it, and kubeadm's ConfigMaps of it: two GETs, three for 1.23. Raises
    ClusterError when there is none.
    """
    minor = _minor(session)
    found = [
        configmap for name in names(minor) for configmap in [configmaps.read(session, NAMESPACE, name)] if configmap
    ]
    if not found:
        looked = " or ".join(f"{NAMESPACE}/{name}" for name in names(minor))
        raise ClusterError(
            f"the cluster has no ConfigMap {looked}, which kubeadm 1.{minor} makes (the version is from {NAMESPACE}/{CLUSTER}): "
            f"`kubeadm init phase upload-config kubelet` makes it anew. {_NOT_KUBEADM}"
        )
    return minor, found


def _overrides(node_configs: dict[str, t.Any]) -> Overrides:
    if not node_configs:
        raise ClusterError(
            "node_configs is an empty mapping: name every node whose overrides count, also one that has none"
        )
    layers = Layers()
    try:
        return [layers.read(given, f"the configuration of node {name}") for name, given in node_configs.items()]
    except document.DocumentError as error:
        raise ClusterError(f"node_configs: {error}") from error


def _minor(session: Session) -> int:
    """Return the minor of the cluster as kubeadm knows it, which names its ConfigMap; kubelets may be older."""
    configmap = configmaps.read(session, NAMESPACE, CLUSTER)
    if configmap is None:
        raise ClusterError(
            f"the cluster has no ConfigMap {NAMESPACE}/{CLUSTER}, so it was not made by kubeadm. {_NOT_KUBEADM}"
        )
    try:
        cluster = document.parse(
            (configmap.get("data") or {}).get("ClusterConfiguration") or "",
            f"ConfigMap {NAMESPACE}/{CLUSTER}, key ClusterConfiguration",
        )
    except document.DocumentError as error:
        raise ClusterError(str(error)) from error
    minor = minor_of(cluster.get("kubernetesVersion"))
    if minor is None:
        raise ClusterError(
            f"ConfigMap {NAMESPACE}/{CLUSTER}: kubernetesVersion is {cluster.get('kubernetesVersion')!r}, so it is not known which ConfigMap "
            "kubeadm reads; correct it with `kubectl edit`, to a version such as v1.20.2"
        )
    return minor


def _bring(
    session: Session, configmap: dict[str, t.Any], overrides: Overrides, minor: int, dry_run: bool
) -> tuple[dict[str, t.Any], list[dict[str, str]]]:
    """Bring one ConfigMap in step and return its row and its diff.

    What somebody else changes between our read and our write is never overwritten unseen: on a conflict it is read and
    decided anew.
    """
    current: dict[str, t.Any] | None = configmap
    row: dict[str, t.Any] = {}
    difference: list[dict[str, str]] = []
    sent = ""
    for _try in range(TRIES):
        if current is None:
            raise ClusterError("somebody removed it meanwhile; run again")
        if sent and (current.get("data") or {}).get(KEY) == sent:
            # Ours after all: the answer to an earlier try was lost on the way.
            return {**row, **configmaps.reference(current, KEY)}, difference
        before, after, changes = _decide(current, overrides, minor)
        row = {"changed": bool(changes), "changes": changes, "variant": identity.variant(after)}
        if not changes:
            return {**row, **configmaps.reference(current, KEY)}, []
        header = f"ConfigMap {NAMESPACE}/{current['metadata']['name']}"
        # JSON, as in all our ConfigMaps: kubeadm reads it as the YAML it is, and writes a text of its own on the nodes.
        # Its hash of the text it made, an annotation, is left alone: with one that does not fit any more the
        # configuration counts as the administrator's, as after `kubectl edit`.
        sent, difference = document.render(after), [difftext.diff(before, after, header, header)]
        try:
            return {
                **row,
                **configmaps.reference(configmaps.write_key(session, current, KEY, sent, dry_run), KEY),
            }, difference
        except ApiError as error:
            if error.status != 409:
                raise
        current = configmaps.read(session, NAMESPACE, current["metadata"]["name"])
    raise ApiError(409, "it changes faster than it can be patched; run again", "Conflict")


def _decide(
    configmap: dict[str, t.Any], overrides: Overrides, minor: int
) -> tuple[dict[str, t.Any], dict[str, t.Any], list[str]]:
    """Return the configuration in a ConfigMap, the one it should hold, and the paths that differ."""
    fault = config_sources.fault(configmap, KEY)
    if fault:
        raise ClusterError(fault)
    before = document.parse(configmap["data"][KEY], f"key {KEY}", complete=True)
    after = shared_overrides.lay_common(before, overrides)
    changes = shared_overrides.changed_paths(before, after, minor)
    # What it had before is not ours to judge. Of the rest, warnings count as well: a kubelet that refuses its first
    # configuration has none to go back to. Only a field that a minor newer than all we know may have gets the benefit
    # of the doubt.
    known = set(checks.problems(before, minor))
    faults = [
        f"{problem.path}: {problem.message}. {problem.remedy}"
        for problem in checks.problems(after, minor)
        if problem not in known and (problem.severity == REFUSAL or problem.rule != "unknown-field")
    ]
    if changes and faults:
        raise ClusterError(
            "\n".join(
                [
                    f"nothing was written, since a kubelet 1.{minor} would not start with the result, or ignore part of it.",
                    *faults,
                ]
            )
        )
    return before, after, changes


def _result(rows: dict[str, dict[str, t.Any]], diffs: list[dict[str, str]], check_mode: bool) -> dict[str, t.Any]:
    updated = {name: row["changes"] for name, row in rows.items() if row["changed"]}
    return {
        "changed": bool(updated),
        "configmaps": rows,
        "summary": {"configmaps": len(rows), "updated": len(updated)},
        "diff": diffs,
        "warnings": [
            f"ConfigMap {NAMESPACE}/{name} is not in step with the nodes: {', '.join(changes)}. kubeadm gives its values to nodes that join and to "
            "those it upgrades; a rollout with kubelet_config_kubeadm: update brings it in step"
            for name, changes in updated.items()
            if check_mode
        ],
    }
