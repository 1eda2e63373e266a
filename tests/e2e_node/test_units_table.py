# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units as people have them, each started by a real systemd with a stand-in for the kubelet: what the product reads is
what the process has, the override wins, and its removal leaves every file as it was.
"""

from __future__ import annotations

import base64
import json
import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support.lab_node.preflight_node import ACTIVE, PLACE, Node
from tests.support.texts.unit_rows import DROPINS, ETC, FRAGMENT, PROGRAM, ROWS, STAND_IN, UNIT, Row, path_of

# Of a test that failed.
LEFT = f"/etc/systemd/system/{UNIT}.d"
STEPS = f"""
import hashlib, os, subprocess, time
def systemctl(*words):
    done = subprocess.run(["systemctl", *words], capture_output=True, text=True)
    return done.stdout
def cmdline():
    systemctl("reset-failed", {UNIT!r})
    systemctl("restart", {UNIT!r})
    pid = systemctl("show", "-P", "MainPID", {UNIT!r}).strip()
    deadline = time.monotonic() + 10
    # A simple service counts as started before systemd's child has become its program.
    while os.readlink(f"/proc/{{pid}}/exe") == os.readlink("/proc/1/exe") and time.monotonic() < deadline:
        time.sleep(0.01)
    with open(f"/proc/{{pid}}/cmdline", "rb") as stream:
        return [os.fsdecode(word) for word in stream.read().split(b"\\0")[:-1]]
def tree():
    found = []
    for top in ("/etc/systemd/system", "/run/systemd/system", {ETC!r}):
        for folder, _folders, names in os.walk(top):
            found.append([folder, os.lstat(folder).st_mode])
            for name in names:
                path = os.path.join(folder, name)
                data = open(path, "rb").read() if os.path.isfile(path) else b""
                found.append([path, os.lstat(path).st_mode, hashlib.sha256(data).hexdigest()])
    return sorted(found, key=str)
def asked():
    return unit.Unit({UNIT!r})
"""
LOOK = (
    STEPS
    + f"""
stopped = asked().next_command()._asdict()
before, argv = tree(), cmdline()
found = asked()
result = {{"stopped": stopped, "argv": argv, "form": found.form()._asdict(), "command": found.command()._asdict()}}
result["next"] = asked().next_command()._asdict()
result["places"] = [found.place(word) for word in WORDS]
for name, path in (("config", {ACTIVE!r}), ("folder", unit_override.Layer("/store/conf.d"))):
    ours = unit.Unit({UNIT!r})
    ours.install(path)
    result[name] = {{"argv": cmdline(), "own": asked().own_words(), "form": asked().form()._asdict()}}
    result[name]["again"] = asked().install(path)
asked().remove()
result["back"], result["same"] = cmdline(), tree() == before
systemctl("stop", {UNIT!r})
"""
)
WRITE = """
import json, os, sys
for path, text in json.load(sys.stdin).items():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w", newline="", encoding="utf-8").write(text)
"""
JUDGE = f"{STEPS}result = asked().form()._asdict()\n"


@pytest.fixture(scope="module")
def bare(static_lab: Lab, tree: str) -> t.Iterator[Node]:
    """Yield a node with the product's code and the stand-in; remove both afterwards."""
    node = Node(static_lab, static_lab.node("n1"))
    node.lab_node.run(f"mkdir -p {PLACE} && base64 -d | tar -xz -C {PLACE}", stdin=tree)
    data = base64.b64encode(STAND_IN).decode()
    node.run(f"echo {data} | base64 -d > {PROGRAM} && chmod 755 {PROGRAM}")
    yield node
    node.run(f"rm -rf {PLACE} {PROGRAM}; systemctl daemon-reload")


@pytest.fixture
def node(bare: Node) -> t.Iterator[Node]:
    """Yield the node; remove the row's files afterwards. The next row makes systemd forget them."""
    yield bare
    bare.run(f"systemctl stop {UNIT}; rm -rf {FRAGMENT} {DROPINS} {ETC} {LEFT}")


def load(node: Node, row: Row) -> None:
    node.lab_node.run(f"python3 -c '{WRITE}' && systemctl daemon-reload", stdin=json.dumps(row.written()))


def rows(refused: bool) -> list[t.Any]:
    return [
        pytest.param(row, id=row.name, marks=[] if row.short else [pytest.mark.long])
        for row in ROWS
        if bool(row.refused) == refused
    ]


def option(words: t.Sequence[str], name: str) -> str:
    """Return the last value of a flag."""
    found = ""
    for at, word in enumerate(words):
        if word == name:
            found = words[at + 1]
        elif word.startswith(f"{name}="):
            found = word.partition("=")[2]
    return found


@pytest.mark.parametrize("row", rows(refused=False))
def test_a_unit_is_read_overridden_and_restored(node: Node, row: Row) -> None:
    load(node, row)
    found = node.python(f"WORDS = {list(row.places)!r}\n{LOOK}")
    argv = found["argv"]
    relative = not option(argv, "--config").startswith("/")
    read = [found[name]["argv"] for name in ("stopped", "next", "command")]
    if relative:
        # As the kubelet opens it: in its working directory.
        assert [option(words, "--config") for words in read] == [row.config] * 3
    else:
        assert read == [argv] * 3
    assert [found[name]["source"] for name in ("stopped", "next", "command")] == ["systemd", "systemd", "process"]
    form = found["form"]
    assert (form["kind"], form["reason"], form["config"]) == (row.form, "", row.config)
    assert form["file"] and form["line"]
    places = {word: (path_of(name), line) for word, (name, line) in row.places.items()}
    assert dict(zip(row.places, map(tuple, found["places"]))) == places

    own = found["command"]["argv"]
    assert option(found["config"]["argv"], "--config") == ACTIVE
    assert option(found["folder"]["argv"], "--config-dir") == "/store/conf.d"
    assert option(found["folder"]["argv"], "--config") == option(argv, "--config")
    for name in ("config", "folder"):
        assert (found[name]["own"], found[name]["form"], found[name]["again"]) == (own, form, False)
    assert (found["back"], found["same"]) == (argv, True)


@pytest.mark.parametrize("row", rows(refused=True))
def test_a_unit_is_refused_with_the_reason(node: Node, row: Row) -> None:
    load(node, row)
    form = node.python(JUDGE)
    assert form["kind"] == "refused" and row.refused in form["reason"], form
