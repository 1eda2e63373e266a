# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What systemd has loaded, as busctl of systemd 252 prints it, and what it would start."""

from __future__ import annotations

import subprocess
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unitfile
from tests.sim.nodes import unit_words

SHOWN = r"""a(sasbttttuii) 1 "sleep" 7 "sleep" "--h=n1/x.service/" "$A" "\\." "two words" "\303\274" "--q=\"a\"" true 0
as 2 "A=--x=\ta\nb $c `d" "B="
a(sb) 2 "/etc/sysconfig/x y" true "/etc/*.env" false
"""


def answers(text: str, code: int = 0) -> t.Callable[[t.Sequence[str]], subprocess.CompletedProcess[str]]:
    return lambda words: subprocess.CompletedProcess(list(words), code, text, "")


def test_each_word_arrives_as_it_is() -> None:
    assert unitfile.ask("kubelet.service", answers(SHOWN)) == unitfile.Loaded(
        ["sleep", "--h=n1/x.service/", "$A", "\\.", "two words", "ü", '--q="a"'],
        ["A=--x=\ta\nb $c `d", "B="],
        ["-/etc/sysconfig/x y", "/etc/*.env"],
    )


def test_the_stand_in_prints_alike() -> None:
    words = ["/k", "ü", 'a "b" \\ c', "", "x\ny\tz"]
    shown = unit_words.shown_on_bus(words, {"A": "b c"}, [("/e", True)])
    assert unitfile.ask("kubelet.service", answers(shown)) == unitfile.Loaded(words, ["A=b c"], ["-/e"])


@pytest.mark.parametrize(
    ("text", "code"),
    [("", 1), (SHOWN, 1), ("", 0), ("a(sasbttttuii) 0\nas 0\na(sb) 0\n", 0), ("what\never\n", 0)],
)
def test_no_answer(text: str, code: int) -> None:
    assert unitfile.ask("kubelet.service", answers(text, code)) is None


@pytest.mark.parametrize(
    ("name", "path"),
    [("kubelet.service", "kubelet_2eservice"), ("rke2-agent.service", "rke2_2dagent_2eservice"), ("1a1", "_31a1")],
)
def test_the_name_of_a_unit_on_the_bus(name: str, path: str) -> None:
    assert unitfile.object_name(name) == path


@pytest.mark.parametrize(
    ("code", "text", "words"), [(0, "a\0b c\0\0", ["a", "b c", ""]), (1, "a\0", None), (0, "a", None)]
)
def test_what_it_would_start(code: int, text: str, words: list[str] | None) -> None:
    asked: list[list[str]] = []

    def run(given: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked.append(list(given))
        return subprocess.CompletedProcess(list(given), code, text, "")

    found = unitfile.Loaded(["/k", "$A"], ["A=--x y"], ["-/e"])
    assert unitfile.starts(found, {"UnsetEnvironment": "B", "PassEnvironment": ""}, run) == words
    given = [word for word in asked[0] if word.startswith(("--property", "--setenv"))]
    assert given == ["--property=EnvironmentFile=-/e", "--property=UnsetEnvironment=B", "--setenv=A=--x y"]
    assert asked[0][-2:] == ["/k", "$A"]
