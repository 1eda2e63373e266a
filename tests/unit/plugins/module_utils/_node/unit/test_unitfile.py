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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[Unit]\nA=no\n[Service]\nA=b\n[Install]\nA=no\n", [("A", "b", 4)]),
        ("\ufeff[Service]\nA=b\n", [("A", "b", 2)]),
        ("[Service]\r\n  A = b c \r\n", [("A", "b c", 2)]),
        ("[Service]\nA=b \\\n# c\n;d\n  e \\\n f\nB=\n", [("A", "b    e   f", 2), ("B", "", 7)]),
        ("[Service]\nA=b \\\\\nB=c\n", [("A", "b \\\\", 2), ("B", "c", 3)]),
        ("[Service]\nA=b \\", [("A", "b", 2)]),
        ("[Service]\nno equals\n", []),
    ],
)
def test_settings_are_read_as_systemd_reads_them(text: str, found: list[tuple[str, str, int]]) -> None:
    assert [(one.key, one.value, one.line) for one in unitfile.settings(text, "/f")] == found


def test_an_empty_assignment_resets_a_list() -> None:
    found = list(unitfile.settings("[Service]\nA=a\nB=x\nA=\nA=b\nA=c\n", "/f"))
    assert [one.value for one in unitfile.effective(found, "A")] == ["b", "c"]


UNIT = """[Service]
# --max-pods=61
Environment="A=--v=2 --hostname-override=%H" B=--node-labels=a=b
ExecStart=/usr/bin/kubelet $A \\
  --max-pods=61 --config /etc/k.yaml \\
  --node-ip=${IP} "--x=a b"
"""


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("--max-pods=61", ("/unit", 5)),
        ("--max-pods=6", None),
        ("--max-pods=99", None),
        ("max-pods=61", None),
        ("/usr/bin/kubelet", ("/unit", 4)),
        ("--config", ("/unit", 5)),
        ("--hostname-override=n1", ("/unit", 3)),
        ("--node-ip=10.0.0.1", ("/unit", 6)),
        ("--x=a b", ("/unit", 6)),
        ("--v=2", ("/env", 2)),
        ("--v=3", None),
        ("--node-labels=a=b", ("/unit", 3)),
        ("--q=1 2", ("/env", 3)),
        ("", None),
    ],
)
def test_the_place_of_a_word(word: str, place: tuple[str, int] | None) -> None:
    assert unitfile.place(word, [("/unit", UNIT), ("/env", "; --v=2\nC='--v=2'\nD=\"--q='1 2'\"\n")]) == place


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("kubelet --v=2 --max-pods=61", "kubelet --v=2 --max-pods=61"),
        ("a --manifest-url-header=A:b --v=2\nnext", "a --manifest-url-header=******** --v=2\nnext"),
        ("a --manifest-url-header A:b", "a --manifest-url-header ********"),
        ("a --manifest_url_header=A:b", "a --manifest_url_header=********"),
        ('a "--manifest-url-header=A:b c" --v=2', 'a "--manifest-url-header=******** --v=2'),
        ("a --manifest-url-header='A:b \"c\" d' --v=2", "a --manifest-url-header=******** --v=2"),
        ("a --manifest-url-header \\\n  'A:b c' \\\n  --v=2", "a --manifest-url-header ******** --v=2"),
        (
            "a --manifest-url-header=A:b --manifest-url-header=C:d --manifest-url=http://x --v=2",
            "a --manifest-url-header=******** --manifest-url-header=******** --manifest-url=******** --v=2",
        ),
    ],
)
def test_values_of_secret_flags_are_masked(text: str, shown: str) -> None:
    assert unitfile.masked(text) == shown


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
