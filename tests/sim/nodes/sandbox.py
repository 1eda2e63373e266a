# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""systemd-run on a simulated node: commands with the environment of a unit, and in a stand-in for its sandbox.

The product asks for a sandbox without network and with read-only folders, and lets a shell check that it is in force.
The stand-in needs no rights, so it has no walls. It answers the shell's questions as a sandbox would, and the only
program that it runs is the stand-in for the kubelet, which writes nothing when it is asked about a configuration.
"""

from __future__ import annotations

import subprocess
import typing as t

from tests.sim.nodes import unit_files, unit_words

if t.TYPE_CHECKING:
    from tests.sim.nodes.systemd import Answer, Systemd

LIMIT = 60.0
"""Seconds that a command may take. The shorter limit of a real sandbox means nothing on a machine that runs tests."""


def sandboxed(systemd: Systemd, given: t.Sequence[str]) -> Answer:
    """Run the command of a `systemd-run --wait --pipe`; return its exit status, output and errors."""
    options = [word for word in given[: _first(given)] if word.startswith("--")]
    words = list(given[_first(given) :])
    properties = [word.partition("=")[2] for word in options if word.startswith("--property=")]
    files = [(value.lstrip("-"), value.startswith("-")) for value in _values(properties, "EnvironmentFile")]
    own = dict(word.partition("=")[2].partition("=")[::2] for word in options if word.startswith("--setenv="))
    try:
        words = unit_words.replaced(words, unit_files.variables(systemd.root, own, files))
        done = subprocess.run(
            _mapped(systemd, words, walls="PrivateNetwork=yes" in properties),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=LIMIT,
            env={**systemd.environment(), **own},
            cwd=systemd.root,
        )
    except subprocess.TimeoutExpired:
        return 1, "", ""
    except OSError as error:
        return 1, "", f"Failed to start transient service unit: {error}\n"
    return done.returncode, done.stdout, done.stderr


def _mapped(systemd: Systemd, words: list[str], walls: bool) -> list[str]:
    """Return the command line as one of this machine: the program behind the shell of a sandbox, too."""
    if walls and words[:2] == ["/bin/sh", "-c"]:
        script = words[2].replace("/proc/self/ns/net", f"{systemd.root}/proc/walls/net")
        for folder in ("/usr", "/var/lib"):
            # No user can write to a folder that does not exist.
            script = script.replace(f"-w {folder} ", f"-w {systemd.root}/proc/walls{folder} ")
        return [*words[:2], script, *words[3:5], *systemd.words(words[5:])]
    return words if words[0] == "/usr/bin/printf" else systemd.words(words)


def _first(words: t.Sequence[str]) -> int:
    """Return where the command begins."""
    return next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))


def _values(properties: t.Sequence[str], name: str) -> list[str]:
    return [text.partition("=")[2] for text in properties if text.startswith(f"{name}=")]
