# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What follows from the facts of a preflight: no files, no commands. Roles branch on this and on nothing else."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from ..._config.fields import fields
from ..._config.fields.shadow import HIDDEN
from ..._config.rules.problem import Problem
from ..._config.values.short_texts import flag, flag_words
from ..system import binary
from ..unit import unit_override
from .host_checks import MANAGER_STATE, state_file_of

SWITCH, RESET, LOOK = "switch", "reset", "look"
"""What the preflight is for: a configuration that will be assigned, the removal of this collection, or nothing."""


class Terms(NamedTuple):
    """What the caller wants and allows.

    `config_dir`: folder of the store. `state_files`: `keep` or `switch`. `delivery`: one on the node;
    `dropin_dir`: the kubelet's drop-in folder, empty to find it; `key`: name of the config file.
    `files`: names of the files beside the future config file. `allow_pending_edits`: edits of the unit's files take
    effect at the switch. `allow_unchecked`: the kubelet binary need not have checked the configuration.
    `allow_offline_guard`: the guard need not be able to ask the API server. `node`: the name of the Node whose host
    this must be, empty for any.
    """

    config_dir: str = "/var/lib/kubelet-config"
    state_files: str = "keep"
    files: Sequence[str] = ()
    allow_pending_edits: bool = False
    allow_unchecked: bool = False
    allow_offline_guard: bool = False
    delivery: str = "checkpoint"
    dropin_dir: str = ""
    key: str = "kubelet"
    node: str = ""
    ask: Sequence[str] = ()


DEFAULTS = Terms()


class Answers(NamedTuple):
    """What was answered. `check`: the binary's verdict on a configuration, None without one. `unasked`: why the guard
    cannot ask the API server for its Node; empty if it can, or if nothing is staged. `own_unreadable`: why the node's
    own config file, which a reset needs, cannot be read.
    """

    check: Mapping[str, Any] | None = None
    version: str | None = None
    unasked: str = ""
    own_unreadable: str = ""


class Findings(NamedTuple):
    """What the checks of a configuration against the node found: what prevents a switch, and what may be wrong."""

    reasons: Sequence[str] = ()
    warnings: Sequence[str] = ()
    ignored: Sequence[str] = ()
    """Fields that this kubelet does not know, and ignores in the node's own file already."""


NOTHING = Findings()


class Decisions(NamedTuple):
    """The decisions, as the module returns them."""

    reasons: list[str]
    """Why nothing may be written; empty if the switch or reset may begin."""
    warnings: list[str]
    """What the operator should know and what does not prevent the switch or reset."""
    state_files: list[str]
    """Paths of the manager state files that must be moved away before the kubelet starts with another policy."""
    reads_store: bool
    """Whether the kubelet reads its configuration from the store already, so that the local one is stored."""
    node_proof: bool
    """Whether the guard must see the Node as Ready itself before the configuration becomes last-known-good."""


def decide(
    purpose: str,
    terms: Terms,
    kubelet: Mapping[str, Any],
    host: Mapping[str, Any],
    problems: Sequence[Problem],
    answers: Answers,
    edits: Sequence[str] = (),
    found: Findings = NOTHING,
    elsewhere: str = "",
) -> Decisions:
    """Return the decisions from what the module returns as `kubelet` and `host`, from the problems and the answers.

    `edits`: the edits of the unit's files that take effect at a restart. `found`: what else is known of the
    configuration on this node. `elsewhere`: why this is not the node's host.
    """
    conflicts, switched = _state_files(purpose, terms, problems, host)
    warnings = _warnings(problems, found)
    reasons = [elsewhere] if elsewhere else []
    if purpose == RESET:
        # A reset only removes what points the unit at the store.
        reasons += _own_file(kubelet, answers)
    else:
        if kubelet["form"] == unit_override.REFUSED:
            reasons.append(kubelet["reason"])
        reasons += _binary(answers.check, found.ignored)
    reasons += found.reasons
    for texts, allowed in (
        (_edits(kubelet, edits), terms.allow_pending_edits or purpose == RESET),
        (_unchecked(answers.check), terms.allow_unchecked or purpose == RESET),
        (_offline(answers.unasked), terms.allow_offline_guard),
    ):
        if allowed:
            warnings += texts
        else:
            reasons += texts
    reasons += conflicts
    if purpose == LOOK:
        warnings = []
    reads_store = below(kubelet["config"] or "", terms.config_dir)
    node_proof = not (answers.unasked and terms.allow_offline_guard)
    return Decisions(reasons, warnings, switched, reads_store, node_proof)


def below(path: str, folder: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/")


def waiting(now: Sequence[str], upcoming: Sequence[str], config_dir: str, unread: bool) -> list[str]:
    """Return what a restart changes apart from the configuration, secrets masked; see `waiting_edits`.

    `unread`: whether systemd must still read a unit file that is not ours.
    """
    found = waiting_edits(masked(now), masked(upcoming), config_dir)
    if not found and waiting_edits(now, upcoming, config_dir):
        found = ["the value of a secret flag"]
    if unread:
        found.append("files that `systemctl daemon-reload` would read")
    return found


def waiting_edits(now: Sequence[str], upcoming: Sequence[str], config_dir: str) -> list[str]:
    """Return how a restart changes the command line, as words with `-` and `+`; empty for no change.

    A --config that an interrupted switch or reset of this collection left behind is not an edit.
    """
    ours = any(below(flag(words, "config") or "", config_dir) for words in (now, upcoming))
    before = _compared(now, config_dir, ours)
    after = _compared(upcoming, config_dir, ours)
    if before == after:
        return []
    changed = [f"- {word}" for word in before if word not in after]
    changed += [f"+ {word}" for word in after if word not in before]
    return changed or ["the order of its words"]


def _compared(words: Sequence[str], config_dir: str, ours: bool) -> list[str]:
    """Return the words without a folder for drop-ins of ours and, if it may be `ours`, without the --config."""
    kept = list(words)
    place = flag_words(words, "config")
    if ours and place:
        at, count = place
        del kept[at : at + count]
    return [word for word in kept if not below(word, f"--config-dir={config_dir}")]


def _state_files(
    purpose: str, terms: Terms, problems: Sequence[Problem], host: Mapping[str, Any]
) -> tuple[list[str], list[str]]:
    """Return why the managers' state files prevent a switch or reset, and the paths of those that are moved away."""
    conflicts = [problem for problem in problems if problem.rule == MANAGER_STATE]
    if terms.state_files == "switch":
        return [], [state_file_of(problem.path, host["state_files"]) for problem in conflicts]
    if purpose == LOOK:
        return [], []
    remedy = f"Drain the node, then {purpose} it with kubelet_config_state_files: switch"
    return [f"{problem.message}. {remedy}" for problem in conflicts], []


def _warnings(problems: Sequence[Problem], found: Findings) -> list[str]:
    of_host = [f"{problem.path}: {problem.message}" for problem in problems if problem.rule != MANAGER_STATE]
    ignored = [f"{name}: this kubelet ignores it, as in the own file" for name in found.ignored]
    return [*of_host, *found.warnings, *ignored]


def _edits(kubelet: Mapping[str, Any], edits: Sequence[str]) -> list[str]:
    if not edits:
        return []
    return [
        f"edits of {kubelet['unit']} wait for a restart: {', '.join(edits)[:200]}. Restart the kubelet or undo them; "
        "kubelet_config_allow_pending_edits: true applies them with the switch"
    ]


def _unchecked(check: Mapping[str, Any] | None) -> list[str]:
    if not check or check["verdict"] != binary.NOT_CHECKED:
        return []
    return [
        f"the kubelet binary did not check the configuration: {'; '.join(check['messages'])}. Remove the cause; "
        "kubelet_config_allow_unchecked: true assigns it unchecked"
    ]


def _offline(unasked: str) -> list[str]:
    if not unasked:
        return []
    return [
        f"the guard cannot ask the API server for its Node: {unasked}. Correct the kubelet's kubeconfig or the way to "
        "the API server; kubelet_config_allow_offline_guard: true switches without the guard's own proof"
    ]


def _binary(check: Mapping[str, Any] | None, known: Sequence[str] = ()) -> list[str]:
    """Return why the node's kubelet refuses the configuration, or which of its fields it would ignore.

    `known` are fields of the node's own file. They may be for another version.
    """
    if not check or check["verdict"] == binary.NOT_CHECKED:
        return []
    # A valid verdict has a message only if the kubelet ignores fields and does not name them.
    found = list(check["messages"])
    ignored = ", ".join(name for name in check["unknown_fields"] if name not in known)
    if ignored and check["verdict"] == binary.VALID:
        found.append(f"this kubelet does not know {ignored} and would ignore it. Remove the field or correct its name")
    return found


def _own_file(kubelet: Mapping[str, Any], answers: Answers) -> list[str]:
    """Return why the kubelet could not run after a reset. It ignored unknown fields of this file before, too."""
    name = f"{kubelet['local_config']}, the node's own file"
    if answers.own_unreadable:
        return [f"{name}: {answers.own_unreadable}. Restore it, then reset the node"]
    check = answers.check
    if check and check["verdict"] == binary.INVALID:
        return [f"the kubelet binary refuses {name}: {'; '.join(check['messages'])}. Correct it, then reset the node"]
    return []


def masked(argv: Sequence[str]) -> list[str]:
    """Return a command line with the values of secret flags hidden."""
    result: list[str] = []
    hide = False
    for word in argv:
        name, equals, _value = word.partition("=")
        secret = _is_secret(name)
        if hide:
            word = HIDDEN
        elif secret and equals:
            word = f"{name}={HIDDEN}"
        result.append(word)
        hide = secret and not equals
    return result


def _is_secret(word: str) -> bool:
    flag = fields.FLAGS.get(word[2:].replace("_", "-"))
    return word.startswith("--") and flag is not None and fields.ALL[flag.field].secret
