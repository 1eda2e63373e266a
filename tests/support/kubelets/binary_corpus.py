# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What kubelet binaries answer about all names of the tables and all configurations of the rules: asked, or recorded.

.nox/newest/bin/python -m tests.support.kubelets.record_binary PATH_OF_A_KUBELET [binary] [values] [starts]

It writes the files of these kinds, by default of all; `starts` are large, and two versions of them are enough. It
records as any user, without a lab: a start ends before the kubelet would do anything (see ask_binary.py).
"""

from __future__ import annotations

import json
import re
import tempfile
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import binary_facts, fields, gates
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.binary_facts import BinaryFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import ask_binary, binary, command
from tests.support.kubelets.asked_rules import CONFIGS, FACTS

WHOLE = ("v1.28.15", "v1.33.13", "v1.36.2")
"""The versions whose answers about all names and all values are recorded."""
SOME = (
    "maxPods",
    "maxPodz",
    "memorySwap.swapBehavior",
    "memorySwap.swop",
    "noSuchField",
    "shutdownGracePeriodByPodPriority[].priority",
    "shutdownGracePeriodByPodPriority[].none",
    "syncFrequency",
    *(f"{binary_facts.GATES}.{name}" for name in ("AnyVolumeDataSource", "AppArmor", "NodeSwap", "NoSuchGate")),
)
"""The names whose starts are recorded word by word."""
WIDTH = 66
"""Characters of each line of --help that are recorded: the descriptions are long and mean nothing here."""
LONGEST = 990
"""Characters of each line of a start that are recorded."""
Fields = dict[str, t.Any]
Answer = tuple[Fields, str, list[str]]
"""A configuration, the verdict, and its messages."""


def every_name() -> list[str]:
    """Return all fields and gates of the tables, as a binary is asked about them."""
    return [*fields.ALL, *(f"{binary_facts.GATES}.{name}" for name in gates.GATES)]


def ask(program: str, names: t.Sequence[str]) -> BinaryFacts:
    """Ask a binary about names, however many it does not know."""
    limit, ask_binary.MOST_STARTS = ask_binary.MOST_STARTS, len(names) + 1
    try:
        with tempfile.TemporaryDirectory() as scratch:
            found = ask_binary.ask(program, names, scratch=scratch, sandboxed=False, cache="")
    finally:
        ask_binary.MOST_STARTS = limit
    assert found is not None, f"{program} is not a kubelet"
    return found


def judged(program: str) -> list[Answer]:
    """Return what a binary answers to the configurations of the rules. The host's cgroups are of version 1 or 2."""
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for config in CONFIGS:
            text = json.dumps({**ask_binary.HEADER, "failCgroupV1": False, **config})
            started = binary.start(program, [], text, scratch=scratch, sandboxed=False)
            assert not isinstance(started, str), started
            answer = binary.verdict(started.output, started.missing, started.code)
            found.append((config, answer.verdict, [_placed(one, scratch) for one in answer.messages]))
    return found


def starts(program: str) -> dict[str, str]:
    """Return the output of each start that the question about SOME needs, by its configuration."""
    found: dict[str, str] = {}

    with tempfile.TemporaryDirectory() as scratch:

        def start(config: t.Mapping[str, t.Any]) -> str:
            key = json.dumps(config, sort_keys=True)
            text = json.dumps({**ask_binary.HEADER, **config})
            started = binary.start(program, ["-v=1"], text, scratch=scratch, sandboxed=False)
            assert not isinstance(started, str), started
            found[key] = _placed(_short(started.output, not found), scratch)
            return started.output

        of_help = ask_binary.of_help(program, command.execute)
        assert of_help is not None
        ask_binary.asked(of_help, SOME, start)
    return found


def _placed(text: str, scratch: str) -> str:
    """Return a text without the random names of the folders in which a binary was asked."""
    return re.sub(r"livenodes-check-\w+", "livenodes-check-1", text.replace(scratch, "/run"))


def _short(output: str, whole: bool) -> str:
    """Return an output without the traces of goroutines, and, unless it is `whole`, with its first three flags only."""
    kept, flags = [], 0
    for line in output.partition("goroutine ")[0].splitlines():
        flags += "] FLAG: " in line
        if whole or flags <= 3 or "] FLAG: " not in line:
            kept.append(line[:LONGEST])
    return "\n".join(kept)


def record(program: str, *kinds: str) -> None:
    """Write what a binary answers into the files of its version: those of some kinds, without any of all."""
    version = binary.version(program)
    assert version is not None, f"{program} is not a kubelet"
    for kind in kinds or KINDS:
        _write(f"{kind}-{version}", KINDS[kind](program))


def printed(program: str) -> dict[str, t.Any]:
    """Return what a binary prints, in part: its help, and its starts."""
    shown = command.execute([program, "--help"]).stdout.splitlines()
    shown = [line for line in shown if line.startswith("   ")]
    return {"help": [line[:WIDTH].rstrip() if " --" in line else line for line in shown], "starts": starts(program)}


KINDS: dict[str, t.Callable[[str], t.Any]] = {
    "binary": lambda program: ask(program, every_name())._asdict(),
    "values": judged,
    "starts": printed,
}
"""What can be recorded of a binary, by the name of its kind."""


def recorded(version: str) -> BinaryFacts:
    return BinaryFacts(**_read(f"binary-{version}"))


def recorded_values(version: str) -> list[Answer]:
    answers: list[Answer] = [tuple(answer) for answer in _read(f"values-{version}")]
    return answers


def recorded_starts(version: str) -> tuple[str, dict[str, str]]:
    found = _read(f"starts-{version}")
    return "\n".join(found["help"]), found["starts"]


def _write(name: str, value: t.Any) -> None:
    lines = json.dumps(value, indent=0, sort_keys=True)
    (FACTS / f"{name}.json").write_text(f"{lines}\n", encoding="utf-8")


def _read(name: str) -> t.Any:
    return json.loads((FACTS / f"{name}.json").read_text(encoding="utf-8"))
