# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compares our reading of a unit's files with systemd's, and asks systemd what it would start."""

from __future__ import annotations

from typing import Mapping

from ..system import command
from . import unitfile
from .commandline import CommandLine


def disagreement(properties: Mapping[str, str], found: CommandLine) -> str:
    """Return where our reading of the unit's files differs from what systemd has loaded; empty when both agree."""
    loaded = properties.get("ExecStart", "")
    if f" argv[]={found.shown()} ; " not in loaded:
        place = f"{found.setting.file}, line {found.setting.line(0)}"
        return f"{place}: ExecStart= is `{found.shown()}`, but systemd has `{loaded}`"
    variables = dict(token.text.partition("=")[::2] for token in unitfile.split(properties.get("Environment", "")))
    for name in sorted({*variables, *found.unit_environment}):
        if variables.get(name) != found.unit_environment.get(name):
            ours, theirs = found.unit_environment.get(name), variables.get(name)
            return f"Environment= of its files sets {name} to {ours!r}, but systemd has {theirs!r}"
    return ""


def by_systemd(properties: Mapping[str, str], found: CommandLine, run: command.Run) -> list[str] | None:
    """Return the words systemd would start now, environment files included; None without an answer (no system bus).

    A transient unit with the same words and the same environment prints them, so that systemd itself replaces the
    variables.
    """
    options = [
        f"--property=EnvironmentFile={'-' if 'ignore_errors=yes' in line else ''}{line.rpartition(' (')[0]}"
        for line in properties.get("EnvironmentFiles", "").splitlines()
        if line
    ]
    options += [
        f"--property={key}={properties[key]}" for key in ("PassEnvironment", "UnsetEnvironment") if properties.get(key)
    ]
    options += [f"--setenv={token.text}" for token in unitfile.split(properties.get("Environment", ""))]
    words = [token.text.replace("%%", "%") for token in found.tokens]
    printed = ["--collect", *options, "/usr/bin/printf", "%s\\0", *words]
    done = command.transient(run, "the kubelet's next command line", printed)
    return None if done.returncode or not done.stdout.endswith("\0") else done.stdout.split("\0")[:-1]
