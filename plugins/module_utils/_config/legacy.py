# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dynamic Kubelet Configuration as Nodes with kubelets 1.8 to 1.10 have it, in the shape of later ones, and the
fields of these kubelets.

They have spec.configSource.configMapRef, with uid, and report with a condition instead of Node.status.config. ConfigOK
in 1.8 and 1.9 names the ConfigMap by its uid, KubeletConfigOk in 1.10 by its path (kubernetes PR 59905; the texts:
pkg/kubelet/kubeletconfig/status/status.go of each minor).

The fields are those of kubeletconfig/v1alpha1 that are not those of v1beta1, for kubelets 1.8 and 1.9; and those that
v1beta1 has got before 1.12, with which the table of all fields begins. Source:
pkg/kubelet/apis/kubeletconfig/v1alpha1/types.go of 1.9. In 1.8, maps of thresholds and gates are texts (CHANGELOG-1.9).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Iterable, Mapping, NamedTuple

from .values import annotation, paths, reference
from .values.forms import FieldForm, SourceForm

MINORS = range(8, 11)
"""The minors with configMapRef (kubernetes PR 46254 added it, PR 63221 replaced it by configMap in 1.11)."""
FIRST_WITH_FILE = 10
"""The first minor whose kubelet reads a config file."""
KEY = "kubelet"
"""The only key that these kubelets read."""
FLAGS = "--feature-gates=DynamicKubeletConfig=true and --dynamic-config-dir=DIR"
"""What these kubelets need; the gate is off by default."""
_PARTS = ("namespace", "name", "uid")


def holder(config_source: Any) -> Any:
    """Return a spec.configSource of these kubelets in the later shape, `{"configMap": {...}}`.

    What is malformed stays so, and the reader of the later shape names it. One that names nothing is malformed as well:
    these kubelets then neither follow it nor return to their local configuration.
    """
    if not isinstance(config_source, Mapping):
        return config_source
    found = config_source.get("configMapRef")
    if found is None:
        return {"configMap": {}}
    if not isinstance(found, Mapping):
        return {"configMap": found}
    return {"configMap": {**paths.only(found, _PARTS), "kubeletConfigKey": KEY}}


def without_revision(source: Mapping[str, str]) -> dict[str, str]:
    """Return a reference as these kubelets know it: they follow the uid, not the revision."""
    return paths.without(source, ("resourceVersion",))


CONDITIONS = ("ConfigOK", "KubeletConfigOk")
FROM_LOCAL, FROM_INIT, FROM_CONFIGMAP = "local", "init", "checkpoint"
"""From where a kubelet has its configuration: flags and defaults, its --init-config-dir, a ConfigMap."""
_IN_USE = re.compile(
    r"using (?P<which>current|last-known-good)"
    r"(?: \((?:(?P<place>default|init)|UID: \"?(?P<uid>[^\")]+)\"?)\)"
    r"|: (?:(?P<local>local)|/api/v1/namespaces/(?P<namespace>[^/]+)/configmaps/(?P<name>[^/]+)))"
)
_REFUSED = re.compile(
    r"(?:failed to (?P<step>load|parse|validate) current|(?P<loop>current failed trial period due to crash loop))"
    r"(?: \(UID:? \"?(?P<uid>[^\")]+)\"?\)|: /api/v1/namespaces/(?P<namespace>[^/]+)/configmaps/(?P<name>[^/]+))"
)
_SYNC = re.compile(r"failed to sync, (?:desired config unclear, )?reason: (?P<why>.+)", re.DOTALL)
_DISK = "it cannot write to its --dynamic-config-dir: check the disk and the rights there"
_REFUSALS = {
    "load": "it could not read its checkpoint of it",
    "parse": "it could not decode it: a wrong apiVersion, kind or type",
    "validate": "it contains an invalid value",
}
_DOWNLOAD = "failed to download"
# The start of the reason after `failed to sync`, and what it means.
_SYNCS = (
    ("failed to read Node from informer object cache", "it does not see its own Node yet; it tries again"),
    ("failed to reset to local", _DISK),
    ("invalid NodeConfigSource", "its spec.configSource names nothing: assign a source again"),
    ("all of UID, Name", "its spec.configSource lacks the uid, name or namespace: assign a source again"),
    ("does not match", "the ConfigMap was deleted and created again, so it has another uid: assign it again"),
    ("failed to determine whether object", _DISK),
    (_DOWNLOAD, "it cannot read the ConfigMap: it is gone, or no Role lets the node get it"),
    ("failed to save config checkpoint", _DISK),
    ("failed to set current config checkpoint", _DISK),
)


class Reported(NamedTuple):
    """What a kubelet reports. `status` has the shape of Node.status.config, None if it never reported.

    `place` is one of the places above, empty if unknown. `fault` states what is malformed, empty if nothing is.
    """

    status: dict[str, Any] | None
    place: str = ""
    fault: str = ""


def read_condition(conditions: Iterable[Any], known: Iterable[Mapping[str, str] | None] = ()) -> Reported:
    """Return what the condition among `conditions` reports. Never raises.

    `known` are references that the node may name by uid or path alone. One that is not among them has only those parts
    that the condition names. The last-known-good is only visible while it is in use.
    """
    found = _condition(conditions)
    if found is None:
        return Reported(None)
    message, reason = found.get("message"), found.get("reason")
    in_use = _IN_USE.fullmatch(str(message))
    if in_use is None or not isinstance(message, str) or not isinstance(reason, str):
        fault = f"its condition {found['type']} is malformed: its message is {reference.shown(message)}"
        return Reported({}, "", f"{fault}. Restart its kubelet, which writes it again")
    named = list(filter(None, known))
    active = _source(in_use.groupdict(), named)
    parts = {"assigned": active, "active": active}
    if in_use.group("which") == "last-known-good":
        parts.update(assigned=None, lastKnownGood=active)
    refused = _REFUSED.fullmatch(reason)
    if refused:
        parts["assigned"] = _source(refused.groupdict(), named)
    status: dict[str, Any] = {part: {"configMap": source} for part, source in parts.items() if source}
    if found.get("status") != "True":
        status["error"] = reason
    if active:
        return Reported(status, FROM_CONFIGMAP)
    is_init = in_use.group("place") == FROM_INIT
    return Reported(status, FROM_INIT if is_init else FROM_LOCAL)


def _condition(conditions: Iterable[Any]) -> Mapping[str, Any] | None:
    """Return the condition in which a kubelet reports its configuration."""
    for item in conditions:
        if isinstance(item, Mapping) and item.get("type") in CONDITIONS:
            return item
    return None


def _source(named: Mapping[str, str | None], known: Iterable[Mapping[str, str]]) -> dict[str, str] | None:
    """Return the reference for the parts that a condition names, completed by the known ones; None: local."""
    parts = {part: text for part, text in named.items() if part in ("namespace", "name", "uid") and text}
    if not parts:
        return None
    for source in known:
        if all(source.get(part) == text for part, text in parts.items()):
            return without_revision(source)
    return {**parts, "kubeletConfigKey": KEY}


@dataclass(frozen=True)
class _FirstForm(SourceForm):
    """The form of these kubelets: `configMapRef` and a condition."""

    by_uid: bool = True
    by_role: bool = True
    has_lease: bool = False
    explains_errors: bool = True
    clears_sync_error: bool = True
    status_name: str = f"condition {' or '.join(CONDITIONS)}"
    needs: str = FLAGS
    to_start: str = f". Start it with {FLAGS}, and kube-apiserver with the same feature gate"
    # With the gate alone, 1.8 and 1.9 report a condition, too.
    to_restart: str = f"has not restarted: start it with {FLAGS}, and set Restart=always in its unit"
    gate_off: str = "(default up to 1.10), or it is newer than 1.10 and knows no configMapRef"
    assigned_file: str = "checkpoints/.cur"
    fallbacks: Mapping[str, str] = field(
        default_factory=lambda: {FROM_INIT: "the configuration in its --init-config-dir"}
    )

    def records(
        self, notes: Mapping[str, Any], spec: Mapping[str, Any], status: Mapping[str, Any]
    ) -> tuple[annotation.NodeRecords, str]:
        """Return the records of a Node in the shape of later ones, and the place that its kubelet reports."""
        found = annotation.records(notes, holder(spec.get("configSource")), None)
        known = (found.spec, (found.previous or {}).get("configMap"))
        reported = read_condition(status.get("conditions") or [], known)
        malformed = dict(found.malformed)
        if reported.fault:
            malformed[annotation.CONFIG] = reported.fault
        return found._replace(config=reported.status, malformed=malformed), reported.place

    def config_source(self, source: Mapping[str, str]) -> dict[str, Any]:
        """Return the spec.configSource for a source; these kubelets demand all three of its parts."""
        return {"configMapRef": paths.only(source, _PARTS)}

    def as_reported(self, reference: dict[str, str]) -> dict[str, str]:
        """Return a reference as these kubelets know it."""
        return without_revision(reference)

    def same(self, one: Mapping[str, str] | None, other: Mapping[str, str] | None) -> bool:
        """Return whether two sources are the same ConfigMap, not only one of the same name."""
        return super().same(one, other) and (one or {}).get("uid") == (other or {}).get("uid")

    def unfit(self, reports: bool, key: str, version: str) -> str | None:
        """Return why a kubelet cannot run a key of a ConfigMap: it must report its status, and reads only one key."""
        if reports and key != KEY:
            return (
                f"its kubelet {version} reads only the key {KEY} of a ConfigMap, not {key}; set kubelet_config_key "
                f"to {KEY}"
            )
        return super().unfit(reports, key, version)

    def is_sync_error(self, error: str) -> bool:
        """Return whether a kubelet could not take up its source, so that it still runs what it ran."""
        return _SYNC.fullmatch(error) is not None

    def is_explained(self, error: str) -> bool:
        """Return whether a sync error names its cause: all but one that it could not get its ConfigMap."""
        found = _SYNC.fullmatch(error)
        return found is not None and not found.group("why").startswith(_DOWNLOAD)

    def meaning_of_error(self, error: str) -> str:
        """Return what an error of these kubelets means and what to do, empty for one that is not theirs."""
        sync, refused = _SYNC.fullmatch(error), _REFUSED.fullmatch(error)
        if sync:
            return next((words for part, words in _SYNCS if part in sync.group("why")), "")
        if refused:
            return _REFUSALS.get(refused.group("step"), "the kubelet ended too often during its trial")
        return ""


_WITH_OLD_PROXY = _FirstForm(
    # Kubernetes PR 59884 removed it from later API servers.
    old_proxy="/api/v1/proxy/nodes/{}",
    old_proxy_permission="proxy on nodes, which the path of API servers up to 1.9 needs",
)
SOURCE_FORMS: dict[int, SourceForm] = {8: _WITH_OLD_PROXY, 9: _WITH_OLD_PROXY, 10: _FirstForm(by_path=True)}
"""By the minor of the kubelet."""


API_VERSION = "kubeletconfig/v1alpha1"
"""The apiVersion of kubelets 1.8 and 1.9, which know no other (pkg/kubelet/apis/kubeletconfig of these minors)."""
FORMER = (
    "configTrialDuration",
    "podManifestPath",
    "manifestURL",
    "manifestURLHeader",
    "seccompProfileRoot",
    "allowPrivileged",
    "hostNetworkSources",
    "hostPIDSources",
    "hostIPCSources",
    "cAdvisorPort",
)
"""The fields that v1beta1 does not have, or has under another name."""
RENAMED = {"staticPodPath": "podManifestPath", "staticPodURL": "manifestURL", "staticPodURLHeader": "manifestURLHeader"}
"""Their names by those of v1beta1."""
TEXTS = {
    "evictionHard": "memory.available<100Mi,nodefs.available<10%",
    "evictionSoft": "memory.available<300Mi",
    "evictionSoftGracePeriod": "memory.available=30s",
    "evictionMinimumReclaim": "imagefs.available=2Gi",
    "featureGates": "DynamicKubeletConfig=true",
}
"""The fields that are texts in 1.8, with an example."""


LATER = {
    "containerLogMaxFiles": 10,
    "containerLogMaxSize": 10,
    "podPidsLimit": 10,
    "qosReserved": 11,
    "serverTLSBootstrap": 11,
    "configMapAndSecretChangeDetectionStrategy": 12,
    "cpuCFSQuotaPeriod": 12,
    "nodeLeaseDurationSeconds": 12,
}
"""The first minor of the fields that 1.12 has and 1.8 has not (kubernetes PRs 59898, 57973, 62509, 62352, 64752, 63437
and 66257)."""


@dataclass(frozen=True)
class _BeforeTables(FieldForm):
    """The fields of a v1beta1 that has not got all fields with which the tables begin."""

    minor: int = 10

    def judge(self, name: str, value: Any) -> tuple[str, str] | None:
        """Return what is wrong with a field of the first level, and the remedy; both empty if it is right.

        None: the tables decide.
        """
        if value is not None and self.minor < LATER.get(name, 0):
            return (
                f"the field exists from 1.{LATER[name]} on; this kubelet is 1.{self.minor} and would ignore it "
                "silently",
                "Remove it for this node, or upgrade the node first.",
            )
        return None


@dataclass(frozen=True)
class _FirstFields(_BeforeTables):
    """The fields of kubelets 1.8 and 1.9, whose /configz omits nothing that matters."""

    api_version: str = API_VERSION
    omits_empties: bool = False
    minor: int = 9
    has_texts: bool = False
    """Whether maps are texts."""

    def judge(self, name: str, value: Any) -> tuple[str, str] | None:
        """Return what is wrong with a field of the first level, and the remedy, as in the base class."""
        if name in RENAMED:
            return (
                f"kubelets 1.8 and 1.9 have this field as {RENAMED[name]}",
                f"Write it as {RENAMED[name]} for this node.",
            )
        if name in FORMER:
            return "", ""
        if self.has_texts and name in TEXTS and value is not None:
            if isinstance(value, str):
                return "", ""
            return (
                "kubelet 1.8 expects a text here and could not load the configuration",
                f'Write a text such as "{TEXTS[name]}".',
            )
        return super().judge(name, value)


FIELD_FORMS: dict[int, FieldForm] = {8: _FirstFields(minor=8, has_texts=True), 9: _FirstFields(), 10: _BeforeTables()}
"""By the minor of the kubelet."""
