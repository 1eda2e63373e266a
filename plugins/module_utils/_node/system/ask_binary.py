# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks a kubelet binary which version, flags, feature gates and fields it has.

`--help` lists the gates that may still change, with stage and default (k8s.io/component-base/featuregate,
KnownFeatures). The rest comes from starts with a kubeconfig that does not exist, as in binary.py: with -v=1 a kubelet
logs all its flags, it names the gates that it does not know or has locked, and the fields that it ignores. It may name
one at a time, so what was named is left out and the binary is asked again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from typing import Any, Callable, Iterable, Mapping, NamedTuple, Sequence

from ..._config.fields import binary_facts, fields, shadow
from ..._config.fields.binary_facts import ABSENT, GATES, BinaryFacts
from ..records.json_file import RecordFile
from ..store.installed import identity
from . import binary, command, files

_CACHE = "/run/livenodes-kubelet-binaries"
"""What binaries have answered since the boot, for root alone: a file for each path."""
HEADER = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
MOST_STARTS = 40
"""The largest number of starts for the gates of one question. A start takes a tenth of a second."""
_CHUNK = 1 << 20

Start = Callable[[Mapping[str, Any]], str]
"""Starts the binary with a configuration, and returns its output; empty if it could not be started."""

_HELP_GATE = re.compile(
    r"^\s+(?:--feature-gates.*? )?([A-Za-z0-9]+)=true\|false \(([A-Z]+) - default=(true|false)\)", re.M
)
_FLAG = re.compile(r"\] FLAG: --([a-z0-9][A-Za-z0-9_.-]*)=")
_REFUSED = re.compile(
    r"unrecognized feature gate: ([A-Za-z0-9]+)"
    r"|cannot set feature gate ([A-Za-z0-9]+) to (?:true|false), feature is (?:locked to (true|false)|PreAlpha)"
)
# From 1.22 on the message is structured.
_OLD = re.compile(r'etting (GA|deprecated) feature gate(?: ([A-Za-z0-9]+)=|\..*? featureGate="?([A-Za-z0-9]+))')
# Before 1.23 (json-iterator).
_LAST_KEY_ONLY = "found unknown field"
# Checked after each gate was accepted.
_DEPENDS = "but depends on features that are disabled"
_STAGES = {"ALPHA": "a", "BETA": "b", "DEPRECATED": "d", "GA": "g", "deprecated": "d"}
# What the decoder of a type takes (apimachinery, metav1.Duration and resource.Quantity). All others take null.
_SAMPLES: dict[str, Any] = {"duration": "0s", "duration or nanoseconds": 0, "quantity": "0"}


class _Cached(NamedTuple):
    """The answers of the binary at a path, with what identifies the file, and its SHA-256."""

    path: str
    inode: int
    size: int
    modified: int
    digest: str
    version: str
    flags: list[str]
    gates: dict[str, str]
    fields: dict[str, bool]


def ask(
    program: str,
    names: Iterable[str] = (),
    run: command.Run = command.execute,
    scratch: str = "/run",
    sandboxed: bool = True,
    cache: str = _CACHE,
) -> BinaryFacts | None:
    """Return the facts of a kubelet binary; None for no binary, or one that prints no version; never raises.

    `names` are the fields and gates that are asked besides those of --help, see binary_facts.asked_of(). `sandboxed`:
    each start is in the sandbox of binary.py, which needs root. `cache` is a folder, empty for none: as long as the
    binary has the same digest, only what was not asked before is asked.
    """
    if not os.path.isfile(program):
        return None
    record = RecordFile(
        os.path.join(cache, files.sha256(program.encode())[:16]), _Cached("", 0, 0, 0, "", "", [], {}, {})
    )
    kept = _recalled(program, record) if cache else None
    facts = BinaryFacts(*kept[5:]) if kept else of_help(program, run)
    if facts is None or not facts.gates:
        # A program that lists no gate is not a kubelet, and must not be started as one.
        return facts

    def start(config: Mapping[str, Any]) -> str:
        started = binary.start(program, ["-v=1"], json.dumps({**HEADER, **config}), run, scratch, sandboxed=sandboxed)
        return "" if isinstance(started, str) else started.output

    complete = asked(facts, names, start)
    if cache and kept is None:
        _remember(program, record, complete, _digest(program))
    elif kept and complete != facts:
        _remember(program, record, complete, kept.digest)
    return complete


def asked(facts: BinaryFacts, names: Iterable[str], start: Start) -> BinaryFacts:
    """Return facts with the flags, and with the answers about those of `names` that the facts do not have.

    What the binary gave no clear answer about is missing.
    """
    of_gates, of_fields = [], []
    for name in names:
        if facts.was_asked(name):
            continue
        if name.startswith(f"{GATES}."):
            of_gates.append(name[len(GATES) + 1 :])
        else:
            of_fields.append(name)
    if of_fields or not facts.flags:
        answers, output = _fields(of_fields, start)
        flags = sorted({name.replace("_", "-") for name in _FLAG.findall(output)})
        facts = facts._replace(flags=flags or facts.flags, fields={**facts.fields, **answers})
    if not of_gates:
        return facts
    return facts._replace(gates={**facts.gates, **_gates(of_gates, facts, start)})


def names_of(argv: Sequence[str], layers: Sequence[Any]) -> set[str]:
    """Return the fields and gates that configurations and flags set, as a binary is asked about them."""
    names = {name for name in shadow.values(argv, None) if name.startswith(f"{GATES}.")}
    for content in layers:
        names.update(binary_facts.asked_of(content))
    return names


def flags_in(argv: Sequence[str]) -> list[str]:
    """Return the names of the flags of a command line, with `-` for `_`; none of one letter."""
    names = []
    for word in argv:
        name = word[2:].partition("=")[0].replace("_", "-")
        if word.startswith("--") and name and name not in names:
            names.append(name)
    return names


def of_help(program: str, run: command.Run) -> BinaryFacts | None:
    """Return what a binary answers without a start, None if it prints no version."""
    version = binary.version(program, run)
    if version is None:
        return None
    gates = {}
    for name, stage, default in _HELP_GATE.findall(run([program, "--help"]).stdout):
        gates[name] = binary_facts.word(_STAGES.get(stage, "?"), default == "true")
    return BinaryFacts(version, [], gates, {})


def _fields(names: Sequence[str], start: Start) -> tuple[dict[str, bool], str]:
    """Return which of the fields the binary has, and the output of its last start, which has its flags."""
    found: dict[str, bool] = {}
    left = list(names)
    output = start(_setting(left))
    while _was_decoded(output):
        ignored = [name for name in left if _is_ignored(name, output)]
        found.update(dict.fromkeys(ignored, False))
        left = [name for name in left if name not in ignored]
        if not ignored:
            return {**found, **dict.fromkeys(left, True)}, output
        output = start(_setting(left))
    if len(left) > 1:
        # One of them has a type that does not take its sample.
        for name in left:
            answer, last = _fields([name], start)
            found.update(answer)
            if _was_decoded(last):
                output = last
    return found, output


def _was_decoded(output: str) -> bool:
    """Return whether the binary has read its configuration: it logs its flags after that, and before it validates."""
    return bool(_FLAG.search(output))


def _is_ignored(name: str, output: str) -> bool:
    """Return whether the binary names a field, or an object that it is in, as unknown. Old ones name the last key."""
    named = {re.sub(r"\[\d+\]", "[]", one) for one in binary.unknown_fields(output)}
    if _LAST_KEY_ONLY in output:
        return bool(named & {*name.replace("[]", "").split(".")})
    return name in named or any(name.startswith((f"{one}.", f"{one}[")) for one in named)


def _setting(names: Sequence[str]) -> dict[str, Any]:
    """Return a configuration that sets fields, each to a value of its type."""
    config: dict[str, Any] = {}
    for name in sorted(names):
        *parents, last = name.split(".")
        inside = config
        for parent in parents:
            inside = _member(inside, parent)
        field = fields.ALL.get(name)
        inside.setdefault(last, _SAMPLES.get(field.type) if field else None)
    return config


def _member(inside: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the object at a name of a configuration, or the first one of a list (its name ends in []); add it."""
    key, is_list = name.replace("[]", ""), name.endswith("[]")
    if inside.get(key) is None:
        inside[key] = {}
        if is_list:
            inside[key] = [{}]
    found: dict[str, Any] = inside[key]
    if is_list:
        found = inside[key][0]
    return found


def _gates(names: Sequence[str], facts: BinaryFacts, start: Start) -> dict[str, str]:
    """Return the words of gates: each is set to true, and to false."""
    found = _Gates()
    answered = set(names)
    for value in (True, False):
        asked_now = {name for name in names if name not in found.absent and found.locked.get(name) is not value}
        answered -= _unanswered(asked_now, value, found, start)
    words = dict.fromkeys(found.absent, ABSENT)
    for name in answered - found.absent:
        stage = found.stages.get(name) or facts.gates.get(name, "?")[0]
        default = found.locked.get(name, facts.default(name))
        words[name] = binary_facts.word(stage, default, name in found.locked)
    return words


class _Gates:
    """What a binary has answered: the gates that it does not have, the values of those that it has locked, stages."""

    def __init__(self) -> None:
        self.absent: set[str] = set()
        self.locked: dict[str, bool] = {}
        self.stages: dict[str, str] = {}

    def add(self, output: str, left: set[str]) -> set[str]:
        """Take the answers of a start; return which of the gates that are left it refuses."""
        for stage, older, newer in _OLD.findall(output):
            self.stages[older or newer] = _STAGES[stage]
        refused = set()
        for unknown, kept, to in _REFUSED.findall(output):
            name = unknown or kept
            if name not in left:
                continue
            refused.add(name)
            if to:
                self.locked[name] = to == "true"
            else:
                self.absent.add(name)
        return refused


def _unanswered(left: set[str], value: bool, found: _Gates, start: Start) -> set[str]:
    """Set gates to a value, again without those that the binary refuses; return those without a clear answer."""
    for _each in range(MOST_STARTS):
        if not left:
            break
        output = start({GATES: dict.fromkeys(sorted(left), value)})
        refused = found.add(output, left)
        if not refused:
            if _was_decoded(output) or _DEPENDS in output:
                return set()
            return left
        left = left - refused
    return left


def _recalled(program: str, record: RecordFile[_Cached]) -> _Cached | None:
    """Return the answers of this binary, None without any. A file that was copied or touched has the same digest."""
    kept, now = record.read(), identity(program)
    if kept is None or now is None:
        return None
    if kept[:4] == now[:4] or kept.digest == _digest(program):
        return kept
    return None


def _remember(program: str, record: RecordFile[_Cached], facts: BinaryFacts, digest: str) -> None:
    now = identity(program)
    if now is None or not digest:
        return
    # Without a cache the binary is asked again.
    with contextlib.suppress(files.FileError):
        files.make_folder(os.path.dirname(record.path))
        record.write(_Cached(*now[:4], digest, facts.version, [*facts.flags], dict(facts.gates), dict(facts.fields)))


def _digest(program: str) -> str:
    """Return the SHA-256 of a file, empty if it cannot be read."""
    found = hashlib.sha256()
    try:
        with open(program, "rb") as stream:
            for chunk in iter(lambda: stream.read(_CHUNK), b""):
                found.update(chunk)
    except OSError:
        return ""
    return found.hexdigest()
