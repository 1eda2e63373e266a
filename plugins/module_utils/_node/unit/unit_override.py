# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether and how a drop-in can make a unit read another config file, without a change of the unit's own files."""

from __future__ import annotations

import os
from typing import Mapping, NamedTuple

from ..system.health import flag
from . import unitfile
from .commandline import CommandLine, Word

KUBEADM, PLAIN, APPENDED, CHILD, REFUSED = "kubeadm", "plain", "appended", "child", "refused"

FOLDER_MARK = "# This folder was made for this file and goes with it."

_HEAD = """# Written by the Ansible collection livenodes.kubelet; its reset removes it. Edits here are lost.
# It points the kubelet at the configuration that is assigned to this node and changes nothing else.
"""
_REPEATED = ("ExecStart=", "Environment=")
_MOUNTS = "RequiresMountsFor="
# A kubelet is one long-lived process, which a unit of these types runs.
_TYPES = ("simple", "exec", "notify", "notify-reload")


class Form(NamedTuple):
    """What a unit is without our drop-in."""

    kind: str
    """`kubeadm`: --config is in a variable that Environment= sets. `plain`: it is in ExecStart, or for a drop-in folder
    elsewhere. `appended`: it is in an environment file or in several variables, so that ExecStart gets one more, and
    the last one wins. `child`: the unit runs another program, which starts the kubelet. `refused`: none of these.
    """
    reason: str = ""
    """Why it is refused, with the remedy."""
    config: str = ""
    """The config file that the unit names, as it names it."""
    file: str = ""
    line: int = 0
    variable: str = ""
    first: int = 0
    """The first word of ExecStart (plain) or of the variable's value (kubeadm) that gives --config, counted from 0."""
    length: int = 1
    """The number of its words: 2 for `--config FILE`."""


class Layer(NamedTuple):
    """What our drop-in adds for a kubelet that reads a drop-in folder of its own; its --config stays as it is.

    `folder`: one more --config-dir; empty if the kubelet reads the folder without us.
    """

    folder: str = ""


def refused(reason: str) -> Form:
    """Return the form of a unit that this collection does not change."""
    return Form(REFUSED, reason)


def judge(
    properties: Mapping[str, str], command: CommandLine, root: str = "/", layered: bool = False, child: bool = False
) -> Form:
    """Return the form of a unit with these properties (`systemctl show`) and command line (without our drop-in).

    `layered`: our file is a drop-in, so that it does not matter where --config comes from. `child`: the unit
    may run another program, which starts a kubelet with a known drop-in folder.
    """
    wrong = _no_kubelet(command, root)
    reason = _unfit(properties) or ("" if child else wrong)
    if reason:
        return refused(reason)
    found = _find(command)
    if wrong:
        return found._replace(kind=CHILD, reason="")
    if layered and found.kind == REFUSED:
        words = [word.text for word in command.words()]
        return Form(PLAIN, "", config_of(words), command.setting.file, command.setting.line(0))
    return found


def _unfit(properties: Mapping[str, str]) -> str:
    name = properties.get("Id", "")
    kind = properties.get("Type", "")
    user = properties.get("User", "")
    if "@" in name:
        return f"{name} is an instance of a template. Run the kubelet by a unit of its own."
    if kind not in _TYPES:
        return f"{name} has Type={kind}, whose restart cannot be judged. Supported are {', '.join(_TYPES)}."
    if properties.get("RootDirectory") or properties.get("RootImage"):
        return (
            f"{name} runs in a root folder of its own (RootDirectory= or RootImage=), where the paths of this host "
            "name other files. Run the kubelet without these settings."
        )
    if user not in ("", "root", "0"):
        return f"{name} runs as user {user}, which cannot read a configuration of root. Run the kubelet as root."
    return ""


def _no_kubelet(command: CommandLine, root: str) -> str:
    program = command.program
    where = f"{command.setting.file}, line {command.setting.line(0)}"
    if "@" in command.prefix or "|" in command.prefix:
        return f"{where}: ExecStart= with the prefix {command.prefix} is not supported. Remove the prefix."
    base = os.path.basename(program)
    if "snap" in program.split("/") or base == "snap":
        return f"{where}: {program} belongs to a snap, which manages its kubelet's arguments: it is not supported."
    if not base.startswith("kubelet"):
        return f"{where}: ExecStart= runs {program}, which is not the kubelet. Let the unit run the kubelet's binary."
    try:
        with open(os.path.join(root, program.lstrip("/")), "rb") as stream:
            magic = stream.read(4)
    except OSError as error:
        return f"{where}: {program} cannot be read: {error.strerror}. Install the kubelet there."
    if magic != b"\x7fELF":
        return f"{where}: {program} is a script or another file, not the kubelet's binary. Let the unit run the binary."
    return ""


def config_words(words: list[str]) -> tuple[int, int] | None:
    """Return position and number of words of the last --config, which wins; None when there is none."""
    found = None
    for at, word in enumerate(words):
        if word == "--":
            break
        if word.startswith("--config="):
            found = (at, 1)
        elif word == "--config" and at + 1 < len(words):
            found = (at, 2)
    return found


def config_of(words: list[str]) -> str:
    """Return the config file that a command line names; empty for none."""
    return flag(words, "config") or ""


def _find(command: CommandLine) -> Form:
    words = command.words()
    texts = [word.text for word in words]
    found = config_words(texts)
    if found is None:
        return refused(
            f"{command.setting.file}, line {command.setting.line(0)}: the command line has no --config. "
            "Let the kubelet read its configuration from a file: --config=/var/lib/kubelet/config.yaml."
        )
    at, count = found
    used = words[at : at + count]
    word, config = words[at], config_of(texts)
    if not config:
        return refused(f"{word.file}, line {word.line}: --config is empty. Name the kubelet's config file.")
    if word.variable:
        return _in_variable(command, words, at, count, config)
    tokens = [each.token for each in used]
    if count == 2 and sum(each.token == tokens[1] for each in words) != 1:
        return _appended(word, texts, config)
    return Form(PLAIN, "", config, word.file, word.line, "", tokens[0], tokens[-1] - tokens[0] + 1)


def _in_variable(command: CommandLine, words: list[Word], at: int, count: int, config: str) -> Form:
    word = words[at]
    in_one = all(each.token == word.token for each in words[at : at + count])
    if not in_one or not command.environment[word.variable].in_unit:
        # No drop-in can override an environment file.
        return _appended(word, [each.text for each in words], config)
    first = at - next(index for index, each in enumerate(words) if each.token == word.token)
    return Form(KUBEADM, "", config, word.file, word.line, word.variable, first, count)


def _appended(word: Word, texts: list[str], config: str) -> Form:
    if "--" in texts:
        return refused(
            f"{word.file}, line {word.line}: --config={config} is not in ExecStart= itself, and no flag can follow "
            "`--` there. Remove `--` and what follows it."
        )
    return Form(APPENDED, "", config, word.file, word.line)


def dropin(
    form: Form, command: CommandLine, path: str | Layer, extra: tuple[str, ...] = (), mounts_for: str = ""
) -> str:
    """Return the drop-in that makes this unit read the config file `path` instead, or a drop-in folder too; `extra`:
    more lines for [Service]; `mounts_for`: a folder whose mount the kubelet waits for, empty for none.

    Raises ValueError for a refused form and for a path that would need quoting.
    """
    if form.kind == REFUSED:
        raise ValueError(form.reason)
    if mounts_for:
        _check_fit(mounts_for)
    wait = ["[Unit]", f"{_MOUNTS}{mounts_for}", ""] if mounts_for else []
    lines = _layered(form, command, path.folder) if isinstance(path, Layer) else _pointed(form, command, path)
    return _HEAD + "\n".join([*wait, "[Service]", *lines, *extra]) + "\n"


def _pointed(form: Form, command: CommandLine, path: str) -> list[str]:
    """Return the lines that give the kubelet another --config."""
    _check_fit(path)
    if form.kind == KUBEADM:
        value = command.environment[form.variable].value
        replaced = _replace(value, unitfile.split(value, escapes=False), form, path)
        return [f"Environment={unitfile.quoted(f'{form.variable}={replaced}')}"]
    if form.kind == APPENDED:
        return ["ExecStart=", f"ExecStart={command.setting.value} --config={path}"]
    return ["ExecStart=", f"ExecStart={_replace(command.setting.value, command.tokens, form, path)}"]


def repeated(text: str) -> bool:
    """Return whether a drop-in of ours repeats a command or a variable of the unit's own files."""
    return any(line.startswith(_REPEATED) for line in text.splitlines())


def extra_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a drop-in of ours that do not come from the unit's own files."""
    _head, _section, body = text.partition("[Service]\n")
    return tuple(line for line in body.splitlines() if not line.startswith(_REPEATED))


def mounts(text: str) -> str:
    """Return the folder whose mount a drop-in of ours makes the kubelet wait for; empty for one of a former version."""
    found = [line[len(_MOUNTS) :] for line in text.splitlines() if line.startswith(_MOUNTS)]
    return found[-1] if found else ""


def ineffective(path: str | Layer, words: list[str]) -> str:
    """Return why the drop-in for `path` has no effect on this command line; empty if it has."""
    wanted = path.folder if isinstance(path, Layer) else path
    found = (flag(words, "config-dir") or "") if isinstance(path, Layer) else config_of(words)
    return "" if not wanted or found == wanted else f"the kubelet would read {found or 'none'}, not {wanted}"


def _layered(form: Form, command: CommandLine, folder: str) -> list[str]:
    """Return the lines that give the kubelet one more --config-dir, the last one, which wins."""
    if not folder:
        return []
    _check_fit(folder)
    word = f"--config-dir={folder}"
    if form.kind == KUBEADM:
        value = f"{form.variable}={command.environment[form.variable].value} {word}"
        return [f"Environment={unitfile.quoted(value)}"]
    return ["ExecStart=", f"ExecStart={command.setting.value} {word}"]


def _check_fit(path: str) -> None:
    if unitfile.unfit(path):
        raise ValueError(f"{path}: {unitfile.unfit(path)}")


def _replace(text: str, tokens: list[unitfile.Token], form: Form, path: str) -> str:
    used = tokens[form.first : form.first + form.length]
    return f"{text[: used[0].start]}--config={path}{text[used[-1].end :]}"
