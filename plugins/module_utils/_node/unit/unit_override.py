# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether and how a drop-in can make a unit read another config file, without a change of the unit's own files."""

from __future__ import annotations

import os
import re
from typing import Mapping, NamedTuple, Sequence

from ..._config.values.short_texts import flag, flag_words
from ..system.health import is_kubelet
from . import unitfile
from .unitfile import Setting

KUBEADM, PLAIN, CHILD, REFUSED = "kubeadm", "plain", "child", "refused"

FOLDER_MARK = "# This folder was made for this file and goes with it."

_HEAD = """# Written by the Ansible collection livenodes.kubelet; its reset removes it. Edits here are lost.
# It points the kubelet at the configuration that is assigned to this node and changes nothing else.
"""
_REPEATED = ("ExecStart=", "Environment=")
_MOUNTS = "RequiresMountsFor="
# A kubelet is one long-lived process, which a unit of these types runs.
_TYPES = ("simple", "exec", "notify", "notify-reload")
# What may stand before the program, systemd.service(5) "special executable prefixes".
_PREFIXES = "@-:+!|"
_PATH = r"[A-Za-z0-9._/+-]+"
# How kubeadm's 10-kubeadm.conf names the config file.
_KUBEADM = re.compile(rf"""(["']?)([A-Za-z_][A-Za-z0-9_]*)=--config=(/{_PATH})\1""")
_VARIABLE = re.compile(r'^Environment="(\w+=)', re.MULTILINE)
_OURS = re.compile(rf"--config(?:-dir)?={_PATH}")
_OWN = re.compile(rf"""--config(?:=|\s+)["']?({_PATH})""")
_WRAPPER_OF_OPENSHIFT = "kubenswrapper"


class Form(NamedTuple):
    """What a unit is without our drop-in."""

    kind: str
    """`kubeadm`: a variable that Environment= sets holds --config and nothing else, so it gets another value. `plain`:
    --config is elsewhere, so ExecStart= gets one more, and the last one wins. `child`: the unit runs another program,
    which starts the kubelet. `refused`: none of these.
    """
    reason: str = ""
    """Why it is refused, with the remedy."""
    config: str = ""
    """The config file that the unit names, absolute."""
    file: str = ""
    line: int = 0
    variable: str = ""
    """The variable that holds --config (kubeadm)."""


class Layer(NamedTuple):
    """What our drop-in adds for a kubelet that reads a drop-in folder of its own; its --config stays as it is.

    `folder`: one more --config-dir; empty if the kubelet reads the folder without us.
    """

    folder: str = ""


class Found(NamedTuple):
    """What was found of a unit, without our drop-in."""

    command: Setting
    """ExecStart= as its files have it."""
    program: str
    """The path of the program that it runs."""
    words: Sequence[str]
    """The command line as systemd starts it."""
    settings: Sequence[Setting]
    """The assignments of its files."""
    texts: Sequence[tuple[str, str]]
    """Path and text of its files and of its environment files, first to last."""
    environment: Sequence[str]
    """The paths of those that are environment files."""


def prefix(command: Setting) -> str:
    """Return what stands before the program of ExecStart=."""
    return command.value[: len(command.value) - len(command.value.lstrip(_PREFIXES))]


def judge(
    properties: Mapping[str, str], found: Found, root: str = "/", layered: bool = False, child: bool = False
) -> Form:
    """Return the form of a unit with these properties (`systemctl show`).

    `layered`: our file is a drop-in, so that it does not matter where --config comes from. `child`: the unit
    may run another program, which starts a kubelet with a known drop-in folder.
    """
    unfit, other = _unfit(properties), _no_kubelet(found, root)
    if unfit:
        return Form(REFUSED, unfit)
    if other and not child:
        return Form(REFUSED, other)
    form = _find(found, layered)
    if other:
        form = form._replace(kind=CHILD, reason="")
    return form


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


def _no_kubelet(found: Found, root: str) -> str:
    program, before = found.program, prefix(found.command)
    where = f"{found.command.file}, line {found.command.line}"
    if "@" in before or "|" in before:
        return f"{where}: ExecStart= with the prefix {before} is not supported. Remove the prefix."
    base = os.path.basename(program)
    if "snap" in program.split("/") or base == "snap":
        return f"{where}: {program} belongs to a snap, which manages its kubelet's arguments: it is not supported."
    if base == _WRAPPER_OF_OPENSHIFT:
        folder = flag(found.words, "config-dir")
        other = f", or kubelet_config_dropin_dir: {folder}" if folder else ""
        return (
            f"{where}: the Machine Config Operator of OpenShift owns this unit, and its {base} starts the kubelet. "
            f"Use a KubeletConfig of OpenShift{other}; do not change the unit."
        )
    if not is_kubelet(program):
        return f"{where}: ExecStart= runs {program}, which is not the kubelet. Let the unit run the kubelet's binary."
    try:
        with open(os.path.join(root, program.lstrip("/")), "rb") as stream:
            magic = stream.read(4)
    except OSError as error:
        return f"{where}: {program} cannot be read: {error.strerror}. Install the kubelet there."
    if magic != b"\x7fELF":
        return f"{where}: {program} is a script or another file, not the kubelet's binary. Let the unit run the binary."
    return ""


def _find(found: Found, layered: bool) -> Form:
    where = f"{found.command.file}, line {found.command.line}"
    used = flag_words(found.words, "config")
    config = flag(found.words, "config") or ""
    if used is None and not layered:
        return Form(
            REFUSED,
            f"{where}: the command line has no --config. "
            "Let the kubelet read its configuration from a file: --config=/var/lib/kubelet/config.yaml.",
        )
    if not config and not layered:
        return Form(REFUSED, f"{where}: --config is empty. Name the kubelet's config file.")
    if "--" in found.words:
        return Form(REFUSED, f"{where}: no flag can follow `--`. Remove `--` and what follows it.")
    word = found.words[used[0]] if used else ""
    file, line = unitfile.place(word, found.texts) or (found.command.file, found.command.line)
    variable = _variable(found, config)
    return Form(KUBEADM if variable else PLAIN, "", config, file, line, variable)


def _variable(found: Found, config: str) -> str:
    """Return the variable of Environment= whose value is the one --config of a command line; empty for none."""
    if sum(word.partition("=")[0] == "--config" for word in found.words) != 1:
        return ""
    for form in _as_kubeadm(found.command, found.settings):
        # No drop-in can override an environment file.
        again = re.compile(rf"(?m)^\s*{form.variable}\s*=")
        overridden = any(path in found.environment and again.search(text) for path, text in found.texts)
        if form.config == config and not overridden:
            return form.variable
    return ""


def _as_kubeadm(command: Setting, own: Sequence[Setting]) -> list[Form]:
    """Return the variables of ExecStart= that hold one --config in these assignments."""
    forms = []
    for setting in unitfile.effective(own, "Environment"):
        match = _KUBEADM.fullmatch(setting.value)
        if match and f" ${match.group(2)} " in f"{command.value} ":
            forms.append(Form(KUBEADM, config=match.group(3), variable=match.group(2)))
    return forms


def without(words: Sequence[str], ours: str, own: Sequence[Setting]) -> list[str]:
    """Return a command line as it is without our drop-in. `ours`: its text; `own`: the assignments of other files."""
    effective = unitfile.effective(own, "Environment") + unitfile.effective(own, "ExecStart")
    texts = [setting.value for setting in effective]
    added = _added(ours, texts)
    if not added or added not in words:
        return list(words)
    at = max(place for place, word in enumerate(words) if word == added)
    before, after = words[:at], words[at + 1 :]
    rest = [*before, *after]
    if not added.startswith("--config=") or flag_words(rest, "config") is not None:
        return rest
    given = _own_config(_VARIABLE.search(ours), texts)
    # Ours stands in the place of the unit's own.
    return [*before, f"--config={given}", *after] if given else rest


def _own_config(variable: re.Match[str] | None, texts: Sequence[str]) -> str:
    """Return the last --config of assignments, of those with the variable if there are any; empty for none."""
    with_it = [text for text in texts if variable and variable.group(1) in text]
    given = ""
    for text in with_it or texts:
        for config in _OWN.findall(text):
            given = config
    return given


def _added(ours: str, texts: Sequence[str]) -> str:
    """Return the last flag of our drop-in that is not in the other assignments; empty for none."""
    known: set[str] = set()
    for text in texts:
        known.update(_OURS.findall(text))
    added = ""
    for line in repeated(ours):
        for word in _OURS.findall(line):
            if word not in known:
                added = word
    return added


def dropin(form: Form, command: Setting, path: str | Layer, extra: tuple[str, ...] = (), mounts_for: str = "") -> str:
    """Return the drop-in that makes a unit of this form and with this ExecStart= read the config file `path` instead,
    or a drop-in folder too; `extra`: more lines for [Service]; `mounts_for`: a folder whose mount the kubelet waits
    for, empty for none.

    Raises ValueError for a path that would need quoting.
    """
    lines: list[str] = []
    if mounts_for:
        _check_fit(mounts_for)
        lines += ["[Unit]", f"{_MOUNTS}{mounts_for}", ""]
    lines += ["[Service]", *_repeating(form, command, path), *extra]
    return _HEAD + "\n".join(lines) + "\n"


def _repeating(form: Form, command: Setting, path: str | Layer) -> list[str]:
    """Return the lines that give the kubelet another --config, or one more --config-dir: the last one wins."""
    if path == Layer():
        return []
    name, target = _flag_of(path)
    _check_fit(target)
    words = f"--{name}={target}"
    if form.kind != KUBEADM:
        return ["ExecStart=", f"ExecStart={command.value} {words}"]
    if isinstance(path, Layer):
        words = f"--config={form.config} {words}"
    return [f'Environment="{form.variable}={words}"']


def _flag_of(path: str | Layer) -> tuple[str, str]:
    """Return the name and the value of the flag that our drop-in adds."""
    if isinstance(path, Layer):
        return "config-dir", path.folder
    return "config", path


def repeats(ours: str, command: Setting, own: Sequence[Setting], path: str | Layer) -> bool:
    """Return whether our drop-in repeats this ExecStart=, or a variable that own files still set as kubeadm does."""
    lines = repeated(ours)
    if lines[:1] == ["ExecStart="]:
        return lines == _repeating(Form(PLAIN), command, path)
    return any(lines == _repeating(form, command, path) for form in _as_kubeadm(command, own))


def repeated(text: str) -> list[str]:
    """Return the lines of a drop-in of ours that repeat a command or a variable of the unit's own files."""
    return [line for line in text.splitlines() if line.startswith(_REPEATED)]


def extra_lines(text: str) -> tuple[str, ...]:
    """Return the lines of a drop-in of ours that do not come from the unit's own files."""
    _head, _section, body = text.partition("[Service]\n")
    return tuple(line for line in body.splitlines() if not line.startswith(_REPEATED))


def mounts(text: str) -> str:
    """Return the folder whose mount a drop-in of ours makes the kubelet wait for; empty for one of a former version."""
    found = [line[len(_MOUNTS) :] for line in text.splitlines() if line.startswith(_MOUNTS)]
    return found[-1] if found else ""


def ineffective(path: str | Layer, words: Sequence[str]) -> str:
    """Return why the drop-in for `path` has no effect on this command line; empty if it has."""
    name, wanted = _flag_of(path)
    found = flag(words, name)
    if wanted in ("", found):
        return ""
    return f"the kubelet would read {found or 'none'}, not {wanted}"


def _check_fit(path: str) -> None:
    if unitfile.unfit(path):
        raise ValueError(f"{path}: {unitfile.unfit(path)}")
