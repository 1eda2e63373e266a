# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet binary is asked what it has: real ones as they were recorded, and stand-ins for what they do not show."""

from __future__ import annotations

import json
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.binary_facts import BinaryFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import ask_binary, binary, files
from tests.support.kubelets import binary_corpus

NONE = BinaryFacts("v1.36.2", [], {}, {})
FLAG = 'I1126 06:34:30.457467   15823 flags.go:64] FLAG: --max-pods="110"\n'
LISTED = "  A=true|false (ALPHA - default=false)\n"


def ran(output: str) -> t.Callable[..., subprocess.CompletedProcess[str]]:
    """Return a `run` that answers with this help."""
    printed = {"--help": output, "--version": "Kubernetes v1.36.2"}
    return lambda argv: subprocess.CompletedProcess(list(argv), 0, printed[argv[-1]], "")


@pytest.mark.parametrize("version", ["v1.20.2", "v1.36.2"])
def test_a_recorded_binary(version: str) -> None:
    """The starts that the question needs are those that were recorded, and the answers those of the whole record."""
    shown, starts = binary_corpus.recorded_starts(version)
    whole = binary_corpus.recorded(version)
    of_help = ask_binary.of_help("/k", ran(shown))
    assert of_help is not None and of_help.flags == []
    assert {name: word.rstrip("=!") for name, word in whole.gates.items() if name in of_help.gates} == of_help.gates
    found = ask_binary.asked(of_help, binary_corpus.SOME, lambda config: starts[json.dumps(config, sort_keys=True)])
    # Of one start all flags were recorded.
    assert ask_binary.asked(of_help, [], lambda _config: max(starts.values(), key=len)).flags == whole.flags
    assert found.fields == {name: _has(whole, name) for name in binary_corpus.SOME if not name.startswith("feature")}
    asked = [name[len("featureGates.") :] for name in binary_corpus.SOME if name.startswith("featureGates.")]
    assert {name: found.gates[name] for name in asked} == {name: whole.gates.get(name, "x") for name in asked}


def _has(whole: BinaryFacts, name: str) -> bool:
    above = name.rpartition(".")[0].replace("[]", "")
    return whole.fields.get(name, False) and whole.fields.get(above, True)


def test_a_list_of_the_help() -> None:
    text = "      --feature-gates mapStringBool   Options are:\n"
    text += "     A=true|false (ALPHA - default=false)\n     B=true|false (BETA - default=true)\n"
    found = ask_binary.of_help("/k", ran(text))
    assert found == NONE._replace(gates={"A": "a-", "B": "b+"})
    assert ask_binary.of_help("/k", lambda argv: subprocess.CompletedProcess(list(argv), 1, "", "no such file")) is None


class Kubelet:
    """A binary that lacks some gates and locks others, and names one of them at a time."""

    def __init__(self, lacks: t.Sequence[str] = (), locks: t.Mapping[str, bool] | None = None) -> None:
        self.lacks, self.locks, self.starts = lacks, locks or {}, 0

    def start(self, config: t.Mapping[str, t.Any]) -> str:
        self.starts += 1
        for name, value in config.get("featureGates", {}).items():
            if name in self.lacks:
                return f"F1126 server.go:208] unrecognized feature gate: {name}"
            if self.locks.get(name, value) is not value:
                to, wanted = str(self.locks[name]).lower(), str(value).lower()
                return f"cannot set feature gate {name} to {wanted}, feature is locked to {to}"
        return FLAG


def test_gates_that_are_named_one_at_a_time() -> None:
    kubelet = Kubelet(("A", "B"), {"C": True, "D": False})
    names = [f"featureGates.{name}" for name in "ABCDE"]
    found = ask_binary.asked(NONE._replace(gates={"E": "b-"}), names, kubelet.start)
    assert found.gates == {"A": "x", "B": "x", "C": "?+!", "D": "?-!", "E": "b-="} and found.flags == ["max-pods"]
    before = kubelet.starts
    assert ask_binary.asked(found, names, kubelet.start) == found and kubelet.starts == before, "nothing is left to ask"


@pytest.mark.parametrize("output", ["", "killed", "F1126 server.go:208] failed to load kubelet config file"])
def test_without_a_clear_answer_nothing_is_known(output: str) -> None:
    """A field whose type does not take the sample spoils no other one."""
    assert ask_binary.asked(NONE, ["featureGates.A", "maxPods", "newField"], lambda _config: output) == NONE
    found = ask_binary.asked(NONE, ["odd", "maxPods"], lambda config: output if "odd" in config else FLAG)
    assert found.fields == {"maxPods": True}


def test_more_gates_than_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ask_binary, "MOST_STARTS", 2)
    found = ask_binary.asked(NONE, [f"featureGates.{name}" for name in "ABCDE"], Kubelet("ABCD").start)
    assert len([word for word in found.gates.values() if word == "x"]) == 4 or "E" not in found.gates


@pytest.fixture
def program(tmp_path: Path) -> Path:
    found = tmp_path / "kubelet"
    found.write_text("one")
    return found


def test_a_binary_is_asked_once(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy with the same content is the same binary, and another content another one."""
    starts: list[str] = []

    def start(*_words: t.Any, **_more: t.Any) -> binary.Started:
        starts.append("")
        return binary.Started(FLAG, 1, "")

    monkeypatch.setattr(binary, "start", start)
    monkeypatch.setattr(ask_binary.files, "check_owner", lambda *_words: None)

    def ask(*names: str) -> BinaryFacts | None:
        return ask_binary.ask(str(program), names, run=ran(LISTED), cache=str(tmp_path / "cache"))

    known = NONE._replace(gates={"A": "a-"})
    first = ask("maxPods")
    assert first == known._replace(flags=["max-pods"], fields={"maxPods": True}) and len(starts) == 1
    assert ask("maxPods") == first and len(starts) == 1
    assert ask("podCIDR") == known._replace(flags=["max-pods"], fields={"maxPods": True, "podCIDR": True})
    assert len(starts) == 2
    program.unlink()
    program.write_text("one")
    assert ask("maxPods", "podCIDR") and len(starts) == 2, "a copy"
    program.write_text("another")
    assert ask("maxPods") == first and len(starts) == 3
    (tmp_path / "cache" / files.sha256(str(program).encode())[:16]).write_text("damaged")
    assert ask("maxPods") == first and len(starts) == 4


def test_no_binary_and_no_cache(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ask_binary.ask("/none/kubelet", run=ran("")) is None
    monkeypatch.setattr(binary, "start", lambda *_words, **_more: "no sandbox")
    known = NONE._replace(gates={"A": "a-"})
    assert ask_binary.ask(str(program), ["maxPods"], run=ran(LISTED), cache="") == known
    # A folder that cannot be created.
    assert ask_binary.ask(str(program), ["maxPods"], run=ran(LISTED), cache=f"{program}/cache") == known


def test_a_program_that_lists_no_gate_is_not_started(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binary, "start", None)
    assert ask_binary.ask(str(program), ["maxPods"], run=ran("Usage: k3s"), cache="") == NONE


def test_flags_of_a_command_line() -> None:
    assert ask_binary.flags_in(["/k", "--a_b=1", "--c", "d", "-v=2", "--", "--a-b"]) == ["a-b", "c"]
    found = ask_binary.names_of(["/k", "--feature-gates=B=true", "--max-pods=5"], [{"podCIDR": 1}, None])
    assert found == {"featureGates.B", "podCIDR"}
