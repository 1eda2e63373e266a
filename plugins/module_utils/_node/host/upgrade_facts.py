# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must be known of a node before its kubelet is upgraded, and how the new binary judges its configuration.

At the end, the static pods that refer to objects of the API, which kubelets from 1.34 on refuse. Source:
HasAPIObjectReference (pkg/api/pod/util.go), and pkg/kubelet/config/file.go for which files are read.
"""

from __future__ import annotations

import os
import re
from typing import Any, Iterator, Mapping, Sequence

from ..._config.values.short_texts import flag
from ..records import blockyaml
from ..system import ask_binary, binary, command, config_summary, files
from ..unit.unit import Unit
from . import dropin_look, host_checks, preflight, preflight_decisions
from .preflight_decisions import masked

_OWN_PATH_OF_RUNTIME = {"containerd": "containerd", "cri-o": "crio"}
_COPY = re.compile(r"/[^\s:,]*/livenodes-check-[^/\s]+/kubelet\b")
_VERSION = re.compile(r"\bv?(\d+\.\d+\.\d+\S*)")
_HUGE_PAGES = re.compile(r"^Hugetlb:\s*(\d+) kB$", re.MULTILINE)
_GATES = "featureGates"


def look(
    name: str = "kubelet.service",
    target: str = "",
    root: str = "/",
    run: command.Run = command.execute,
    dropin_dir: str = "",
) -> dict[str, Any]:
    """Return the facts of `preflight.look` with the disk, and: the words of the kubelet's next command line with their
    places (`words`), the node's own config file if the kubelet reads another one (`own`), `cgroup_version`,
    `runtime_version`, `huge_pages`, the `lines` of the config files, and the `static_pods` that refer to objects of the
    API; for a `target` binary on the node also its answer (`target`).

    `dropin_dir`: the drop-in folder of a kubelet that another program, which the unit runs, starts. Raises UnitError
    without systemd.
    """
    unit = Unit(name, root, run, bool(dropin_dir))
    terms = preflight_decisions.Terms(dropin_dir=dropin_dir)
    found = preflight.of_unit(unit, None, local=False, with_disk=True, terms=terms)
    argv = preflight.commands(unit)[1].argv
    runtime = found["host"]["container_runtime"]
    disk = found["disk"]
    layers = [(disk["path"] or "", disk["content"]), *disk["dropins"].items()]
    contents = [content for _path, content in layers]
    return {
        **found,
        "words": _words(unit, argv),
        "own": _own(found, root),
        "cgroup_version": cgroup_version(root),
        "runtime_version": runtime_version(runtime["name"], root, run),
        "huge_pages": huge_pages(root),
        "lines": {path: lines(path, content, root) for path, content in layers if content},
        "static_pods": referring_pods(static_pod_folder(argv, layers), root),
        "target": asked(target, argv, contents, root, run) if target else None,
    }


def huge_pages(root: str = "/") -> int | None:
    """Return the bytes of memory that this host reserves as huge pages of all sizes, None if that is unknown."""
    try:
        found = _HUGE_PAGES.search(files.text(os.path.join(root, "proc/meminfo")))
    except OSError:
        return None
    return int(found.group(1)) * 1024 if found else None


def lines(path: str, content: Mapping[str, Any], root: str = "/") -> dict[str, int]:
    """Return the line of each field of the top level and of each feature gate that a config file sets.

    It is the first line with the name in front of a colon, which no other key of a KubeletConfiguration has.
    """
    try:
        text = files.text(files.below(root, path))
    except OSError:
        return {}
    names = dict(zip(content, content))
    gates = content.get(_GATES)
    if isinstance(gates, Mapping):
        names.update((f"{_GATES}.{name}", name) for name in gates)
    found = {}
    for shown, name in names.items():
        match = re.search(rf"^[^#\n]*?(?<![\w.-]){re.escape(name)}[\"']?[ \t]*:", text, re.M)
        if match:
            found[shown] = text.count("\n", 0, match.end()) + 1
    return found


def cgroup_version(root: str = "/") -> int | None:
    """Return the version of the host's cgroup controllers for a kubelet: 2 only where no controller is of version 1."""
    place = os.path.join(root, "sys/fs/cgroup")
    if not os.path.isdir(place):
        return None
    return 2 if os.path.exists(os.path.join(place, "cgroup.controllers")) else 1


def runtime_version(name: str | None, root: str = "/", run: command.Run = command.execute) -> str | None:
    """Return the version that the program of a container runtime prints, None if it prints none."""
    program = _OWN_PATH_OF_RUNTIME.get(name or "")
    if program is None:
        return None
    words = host_checks.running(program, root) or [program]
    done = run([words[0], "--version"])
    match = _VERSION.search(done.stdout)
    return match.group(1) if match and not done.returncode else None


def asked(
    target: str, argv: Sequence[str], layers: Sequence[Any] = (), root: str = "/", run: command.Run = command.execute
) -> dict[str, Any]:
    """Return the facts of another kubelet binary about the names in these layers and flags, and its answer to the
    node's own config file with the arguments of the command line.

    Flags that the binary does not have are noted and left out: it judges a configuration only if it knows all flags.
    """
    result: dict[str, Any] = {"binary": target, "version": None, "refused_flags": [], "facts": None}
    facts = ask_binary.ask(target, ask_binary.names_of(argv, layers), run)
    minor = None
    words = list(argv)
    if facts:
        minor = facts.minor
        refused = facts.without(ask_binary.flags_in(argv))
        for name in refused:
            words = without_flag(words, name)
        result.update(version=facts.version, refused_flags=refused, facts=facts._asdict())
    path = flag(argv, "config") or ""
    answer = _verdict(path, words, target, minor, root, run)
    return {**result, **answer._asdict()}


def _verdict(
    path: str, words: Sequence[str], target: str, minor: int | None, root: str, run: command.Run
) -> binary.Verdict:
    """Return how a binary of this minor (None: not known), with this command line, judges the file at a path."""
    if not path:
        return binary.Verdict(binary.NOT_CHECKED, ["the command line names no config file"], [])
    try:
        # A kubelet refuses what is no UTF-8 itself.
        text = files.text(files.below(root, path))
    except OSError as error:
        return binary.Verdict(binary.NOT_CHECKED, [f"{path}: {error.strerror}"], [])
    answer = binary.check(text, words, target, lambda: minor, run)
    messages = config_summary.without_secrets(answer.messages, text)
    # The sandbox has a copy of the file in a folder with a random name.
    return answer._replace(messages=[_COPY.sub(path, message) for message in messages])


def without_flag(words: Sequence[str], name: str) -> list[str]:
    """Return a command line without all uses of a flag and their values."""
    kept: list[str] = []
    skip = False
    for at, word in enumerate(words):
        if skip:
            skip = False
            continue
        key, equals, _value = word.partition("=")
        if word.startswith("-") and key.lstrip("-").replace("_", "-") == name.replace("_", "-"):
            # A flag without a value cannot have a word after it that is not a flag.
            skip = not equals and at + 1 < len(words) and not words[at + 1].startswith("-")
            continue
        kept.append(word)
    return kept


def _words(unit: Unit, argv: Sequence[str]) -> list[dict[str, Any]]:
    """Return each word, secrets masked, with file and line if a file of the unit contains it."""
    result = []
    for word, text in zip(argv, masked(argv)):
        file, line = unit.place(word) or (None, None)
        result.append({"text": text, "file": file, "line": line})
    return result


def _own(found: dict[str, Any], root: str) -> dict[str, Any] | None:
    path = found["kubelet"]["local_config"]
    if not path or path == found["disk"]["path"]:
        return None
    content, wrong = dropin_look.read(path, root)
    return {"path": path, "content": dropin_look.shown(content), "unreadable": wrong or None}


_FLAG, _FIELD = "pod-manifest-path", "staticPodPath"
_KINDS = {
    "secret": "Secret",
    "secretRef": "Secret",
    "secretKeyRef": "Secret",
    "nodePublishSecretRef": "Secret",
    "imagePullSecrets": "Secret",
    "azureFile": "Secret",
    "configMap": "ConfigMap",
    "configMapRef": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "serviceAccountName": "ServiceAccount",
    "serviceAccount": "ServiceAccount",
    "serviceAccountToken": "ServiceAccount",
    "persistentVolumeClaim": "PersistentVolumeClaim",
    "ephemeral": "PersistentVolumeClaim",
    "resourceClaims": "ResourceClaim",
    "clusterTrustBundle": "ClusterTrustBundle",
    "podCertificate": "PodCertificateRequest",
    "csi": "CSIDriver",
    "glusterfs": "Endpoints",
}
"""What a key of a pod's spec refers to."""
_NAMES = ("name", "secretName", "claimName", "driver", "endpoints")
_FREE = ("nodeSelector", "overhead", "limits", "requests", "options")
"""Mappings with keys of the user's own."""


def static_pod_folder(argv: Sequence[str], layers: Sequence[tuple[str, Any]]) -> str:
    """Return the file or folder with static pods, empty for none.

    ``layers``: the paths of the config file and of the drop-ins with their contents, in the kubelet's order. A relative
    path begins beside its file.
    """
    given = flag(argv, _FLAG)
    if given is not None:
        return given
    for path, content in reversed(layers):
        value = _field(content, _FIELD)
        if value == "":
            return ""
        if isinstance(value, str):
            return os.path.join(os.path.dirname(path), value)
    return ""


def referring_pods(place: str, root: str = "/") -> list[dict[str, Any]]:
    """Return the pods that refer to objects, each with its `file`, its `name` and what it `refers_to`.

    A file that cannot be read is a row too, with the reason (`unreadable`).
    """
    found: list[dict[str, Any]] = []
    for path in _manifests(place, root):
        found += _pods(path, root)
    return found


def _manifests(place: str, root: str) -> list[str]:
    """Return the files that the kubelet reads there: not those that begin with a dot, and none of a folder in it."""
    found = files.below(root, place) if place else ""
    if os.path.isfile(found):
        return [place]
    if not os.path.isdir(found):
        return []
    names = sorted(name for name in os.listdir(found) if not name.startswith("."))
    return [os.path.join(place, name) for name in names if os.path.isfile(os.path.join(found, name))]


def _pods(path: str, root: str) -> Iterator[dict[str, Any]]:
    why = ""
    try:
        content = blockyaml.load(files.text(files.below(root, path)))
    except OSError as error:
        why = str(error.strerror)
    except ValueError as error:
        why = getattr(error, "unquoted", "it is not text in UTF-8")
    if why:
        yield {"file": path, "name": "", "refers_to": [], "unreadable": why}
        return
    items = _field(content, "items")
    pods = items if isinstance(items, list) else [content]
    for pod in pods:
        refers_to = sorted(set(_references(_field(pod, "spec"))))
        if refers_to:
            name = _field(_field(pod, "metadata"), "name") or ""
            yield {"file": path, "name": str(name), "refers_to": refers_to, "unreadable": None}


def _field(value: Any, name: str) -> Any:
    """Return a field of what should be a map; None if it is not one, or has no such field."""
    return value.get(name) if isinstance(value, Mapping) else None


def _references(spec: Any) -> Iterator[str]:
    """Yield each kind of object with its name, as far as it has one, to which a part of a pod's spec refers."""
    if isinstance(spec, list):
        for item in spec:
            yield from _references(item)
    elif isinstance(spec, Mapping):
        for key, value in spec.items():
            if key in _KINDS and value:
                objects = value if isinstance(value, list) else [value]
                for one in objects:
                    yield f"{_KINDS[key]} {_name(one)}".strip()
            elif key not in _FREE:
                yield from _references(value)


def _name(reference: Any) -> str:
    """Return the name in a reference to an object, empty for none."""
    if isinstance(reference, str):
        return reference
    for key in _NAMES:
        name = _field(reference, key)
        if name:
            return name if isinstance(name, str) else ""
    return ""
