# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of a node before its upgrade: its command line, its files and its host; and what is found, as rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, NamedTuple, Sequence

from ..fields import binary_facts, compare, merged_dropins, overlay, shadow
from ..fields.binary_facts import BinaryFacts
from ..values import paths
from ..values.paths import Config
from ..values.short_texts import minor_of

STOPS = "stops"
"""The kubelet, or a static pod of it, would not start, or would end."""
UNKNOWN = "unknown"
"""It was not possible to find out whether the kubelet would start."""
CHANGES = "changes"
"""The kubelet would start and behave differently."""
STAYS = "stays"
"""Something stays as it is that would change without this collection."""
SEVERITIES = (STOPS, UNKNOWN, CHANGES, STAYS)
"""In the order in which they are shown."""

_OF_CONFIG = FLAG, GATE, FIELD, DEFAULT, VALUE = ("flag", "gate", "field", "default", "value")
_OF_HOST = CGROUP, RUNTIME, POD, DELIVERY = ("cgroup", "runtime", "pod", "delivery")
_OF_TARGET = BINARY, VERSION = ("binary", "version")
KINDS = (*_OF_CONFIG, *_OF_HOST, *_OF_TARGET)
"""What a row is about."""
VALIDATED = {GATE, CGROUP, VALUE}
"""What the kubelet's validation decides. Flags are parsed before it, and some flags do not reach the binary."""


class Finding(NamedTuple):
    """One row. `message` states the cause, `remedy` what to do."""

    severity: str
    kind: str
    name: str
    """The flag, the gate, or the path of the field; empty for a finding about the whole node."""
    message: str
    remedy: str
    where: str = ""
    """The files that contain it, with the line where it is known; empty for a finding that has no place."""


def order(finding: Finding) -> tuple[int, int, str]:
    """Return the key to sort findings by: what stops a kubelet comes first."""
    return (SEVERITIES.index(finding.severity), KINDS.index(finding.kind), finding.name)


class SetFlag(NamedTuple):
    """A flag of the kubelet's command line at its next start."""

    name: str
    """Without dashes in front, and with `-` for `_`."""
    value: str
    """Empty for a flag without a value."""
    where: str
    """File and line that contain it; empty if they are not known."""

    @property
    def place(self) -> str:
        """The flag, with the place where it is set if that is known."""
        if not self.where:
            return f"flag --{self.name}"
        return f"flag --{self.name} in {self.where}"


class ReadFile(NamedTuple):
    """A file with configuration that the kubelet reads."""

    path: str
    content: Config
    lines: Mapping[str, int] = {}
    """Where it sets each field of its top level and each feature gate, as far as known."""

    def place(self, keys: paths.Path) -> str:
        """Return the file, with the line of a path where it is known."""
        line = self.lines.get(paths.show(keys[:2])) or self.lines.get(paths.show(keys[:1]))
        if not line:
            return self.path
        return f"{self.path}, line {line}"


class StaticPod(NamedTuple):
    """A static pod that refers to objects of the API, or a file of static pods that cannot be read."""

    file: str
    name: str
    refers_to: Sequence[str]
    unreadable: str


@dataclass(frozen=True)
class UpgradeFacts:
    """The facts of one node. Secrets are masked in all of them."""

    version: str
    """The kubelet's version; empty if it is not known."""
    argv: Sequence[str] = ()
    flags: Sequence[SetFlag] = ()
    files: Sequence[ReadFile] = ()
    """The config file, then the drop-ins in the kubelet's order. A file that could not be read is missing."""
    unreadable: Mapping[str, str] = field(default_factory=dict)
    """The files that could not be read, with the reasons."""
    own: ReadFile | None = None
    """The node's own config file, if the kubelet reads a checkpoint of this collection instead."""
    checkpoint: str = ""
    """The file of the checkpoint of this collection that the kubelet reads; empty if it reads none."""
    dynamic: bool = False
    """Whether the kubelet may follow `Node.spec.configSource`."""
    cgroup_version: int | None = None
    runtime: str = ""
    """`containerd`, `cri-o` or `docker`; empty if it is not known."""
    runtime_version: str = ""
    huge_pages: int = 0
    """Memory in bytes that the host reserves as huge pages; 0 also if it is not known."""
    static_pods: Sequence[StaticPod] = ()
    check: Mapping[str, Any] | None = None
    """The target binary's answer; None if there is no target binary."""
    binary: BinaryFacts | None = None
    """What the target binary answered about itself; None if there is none, or no answer."""

    @property
    def minor(self) -> int | None:
        """The kubelet's minor version, None if it is not known."""
        return minor_of(self.version)

    def known_of(self, target: int) -> BinaryFacts | None:
        """Return what the target binary answered about itself, None if it is of another minor: that does not count."""
        return self.binary if self.binary and self.binary.minor == target else None

    def flag(self, name: str) -> SetFlag | None:
        """Return the use of a flag that counts: the last one."""
        return next((one for one in reversed(self.flags) if one.name == name), None)

    def merged(self, minor: int) -> dict[str, Any]:
        """Return what files and flags set for a kubelet of this minor, without defaults but those that a drop-in may
        turn into a fault.
        """
        base, *layers = [one.content for one in self.files] or [{}]
        if layers:
            base = compare.with_gate_defaults(base, minor)
        by_flags = {}
        for path, value in shadow.values(self.argv, minor).items():
            if value is not shadow.UNKNOWN:
                by_flags[path] = value
        return overlay.put(merged_dropins.merge(base, layers), by_flags)

    def places(self, path: str, minor: int) -> str:
        """Return the files and flags that set a path, as text."""
        keys = paths.parse(path)
        found = [file.place(keys) for file in self._files_with(keys)]
        flags = shadow.shadow_of(path, shadow.shadows(self.argv, minor)) or ""
        names = {word[2:].partition("=")[0] for word in flags.split()}
        for flag in self.flags:
            if flag.name in names:
                found.append(flag.place)
        return "; ".join(dict.fromkeys(found))

    def is_only_in(self, file: str, path: str, minor: int) -> bool:
        """Return whether a file, and nothing else, sets a path."""
        if shadow.shadow_of(path, shadow.shadows(self.argv, minor)):
            return False
        found = self._files_with(paths.parse(path))
        return len(found) == 1 and found[0].path == file

    def _files_with(self, keys: paths.Path) -> Sequence[ReadFile]:
        return [one for one in self.files if has(one.content, keys)]


def read(result: Mapping[str, Any]) -> UpgradeFacts:
    """Return the facts in a result of the module `kubelet_upgrade_info`."""
    kubelet, disk, words = result["kubelet"], result["disk"], result["words"]
    # A kubelet may have flags only.
    contents = dict(disk.get("dropins") or {})
    if disk.get("path"):
        contents = {disk["path"]: disk.get("content"), **contents}
    dynamic = bool(kubelet.get("dynamic_config_dir"))
    huge_pages, check, lines = result.get("huge_pages"), result.get("target"), result.get("lines") or {}
    files, pods = [], []
    for path, content in paths.present(contents).items():
        files.append(ReadFile(path, content, lines.get(path) or {}))
    for one in result.get("static_pods") or ():
        pods.append(StaticPod(one["file"], one["name"], one["refers_to"], _text(one, "unreadable")))
    return UpgradeFacts(
        version=_text(kubelet, "version"),
        argv=_texts(words),
        flags=flags(words),
        files=files,
        unreadable=_unreadable(contents, disk),
        own=_own(result),
        checkpoint=disk["path"] if disk.get("checkpoint") and not dynamic else "",
        dynamic=dynamic,
        cgroup_version=result.get("cgroup_version"),
        runtime=_text(result["host"]["container_runtime"], "name"),
        runtime_version=_text(result, "runtime_version"),
        huge_pages=huge_pages if isinstance(huge_pages, int) else 0,
        static_pods=pods,
        check=check,
        binary=binary_facts.read((check or {}).get("facts")),
    )


def _texts(words: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(word["text"]) for word in words]


def _text(part: Mapping[str, Any], key: str) -> str:
    return str(part.get(key) or "")


def _unreadable(contents: Mapping[str, Config | None], disk: Mapping[str, Any]) -> dict[str, str]:
    unknown = "it could not be read"
    reasons = dict.fromkeys(contents.keys() - paths.present(contents), unknown)
    if disk.get("path") and disk.get("content") is None:
        reasons[disk["path"]] = _text(disk, "unreadable") or unknown
    return reasons


def _own(result: Mapping[str, Any]) -> ReadFile | None:
    own = result.get("own") or {}
    if own.get("content") is None:
        return None
    return ReadFile(own["path"], own["content"])


def flags(words: Sequence[Mapping[str, Any]]) -> list[SetFlag]:
    """Return the flags among the words of a command line, each a mapping with text, file and line."""
    found: list[SetFlag] = []
    texts = _texts(words)
    for at, (word, text) in enumerate(zip(words, texts)):
        if text == "--":
            break
        if not text.startswith("--"):
            continue
        name, equals, value = text[2:].partition("=")
        if not equals and at + 1 < len(texts) and not texts[at + 1].startswith("-"):
            value = texts[at + 1]
        where = ""
        if word.get("file"):
            where = f"{word['file']}, line {word['line']}"
        found.append(SetFlag(name.replace("_", "-"), value, where))
    return found


def has(config: Any, keys: paths.Path) -> bool:
    """Return whether a configuration sets a path, also to null."""
    for key in keys:
        if not isinstance(config, Mapping) or key not in config:
            return False
        config = config[key]
    return True
