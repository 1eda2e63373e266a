# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters that turn hosts into nodes, size values, open what stages pass on, and make one message about a node."""

from __future__ import annotations

import functools
import multiprocessing
import typing as t
from pathlib import Path

import jinja2
from ansible import context as command
from ansible.errors import AnsibleFilterError

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import machine_size
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import host_table, sealed
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import hosts as run_hosts
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import stages
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.rows import node_message

PLAYBOOKS = Path(__file__).resolve().parents[2] / "playbooks"
SEALED = {"configs": sealed.layers, "group_configs": sealed.group, "flags": sealed.flags}
"""How the secrets of a column are sealed."""
_TABLES: dict[tuple[t.Any, ...], dict[str, t.Any]] = {}
"""The tables of this task, by what they are made of."""


@jinja2.pass_context
def node_table_of_hosts(
    context: jinja2.runtime.Context,
    hosts: t.Sequence[str],
    hostvars: t.Mapping[str, t.Mapping[str, t.Any]],
    configs: bool = True,
) -> dict[str, t.Any]:
    """Return the node_table of the hosts, and the options of each host, as the modules that read them take them.

    These are C(allow_effects), C(drains) and C(forecasts). Without C(configs), also which hosts are C(unsized).

    Raises AnsibleFilterError when a variable is set for the current task but not for its host. It would silently have
    no effect.
    """
    wrong = host_table.unseen(context, hostvars)
    if wrong:
        raise AnsibleFilterError(wrong)
    of_the_play = _of_the_play(context, hostvars)
    if not _is_in_worker():
        return _table(hosts, hostvars, of_the_play, configs)
    asked = (*hosts, configs, repr(of_the_play))
    if asked not in _TABLES:
        _TABLES[asked] = _table(hosts, hostvars, of_the_play, configs)
    return _TABLES[asked]


def _is_in_worker() -> bool:
    """Return whether this process runs one task, in which no variable of a host changes.

    Ansible renders a variable of a task again wherever the task names it, and reading those of all hosts is slow.
    """
    return multiprocessing.parent_process() is not None


def _table(
    hosts: t.Sequence[str],
    hostvars: t.Mapping[str, t.Mapping[str, t.Any]],
    of_the_play: t.Mapping[str, t.Any],
    configs: bool,
) -> dict[str, t.Any]:
    table = host_table.node_table(hosts, hostvars, of_the_play, configs)
    if not configs:
        table["unsized"] = host_table.unsized(table["hosts"], hostvars)
    # Tasks show and keep what they are given.
    for kind in SEALED.keys() & table.keys():
        table[kind] = {name: SEALED[kind](given) for name, given in table[kind].items()}
    return table


def _of_the_play(context: jinja2.runtime.Context, hostvars: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """Return the options that a play, a role call or import_playbook sets for all hosts. They override those of hosts.

    Those that a task sees as their default come from the role, and do not.
    """
    host = context.get("inventory_hostname")
    own = hostvars.get(host, {})
    seen = {name: context[name] for name, default in host_table.OF_THE_HOST.items() if name in context}
    return {
        name: value
        for name, value in seen.items()
        if value != host_table.OF_THE_HOST[name] and (name not in own or own[name] != value)
    }


def other_configs(hosts: t.Sequence[str], hostvars: t.Mapping[str, t.Mapping[str, t.Any]]) -> dict[str, t.Any]:
    """Return by node name the C(kubelet_config) of hosts that a task does not change, an empty mapping if it is unset.

    Unlike in the node_table, several hosts may name one node, as in an inventory of several clusters. If their
    overrides differ, the node has none, because it is unknown which host is the node.
    """
    found: dict[str, t.Any] = {}
    for host in hosts:
        read = functools.partial(host_table.of_host, host, hostvars[host])
        name, given = str(read(host_table.NODE_NAME) or host), host_table.of_group(read)
        found[name] = given if found.get(name, given) == given else {}
    return {name: sealed.group(given) for name, given in found.items()}


def reserved(capacity: t.Any, by: t.Any, step: str = "1Mi") -> dict[str, str]:
    """Return what is reserved of a machine; see machine_size.reserved. Raises AnsibleFilterError."""
    try:
        return machine_size.reserved(capacity, by, step)
    except ValueError as error:
        raise AnsibleFilterError(f"livenodes.kubelet.reserved: {error}") from error


@jinja2.pass_context
def found_by(context: jinja2.runtime.Context, given: t.Any, role: str) -> t.Any:
    """Return what a play gives, else what a role has found; see stages.found."""
    return stages.found(given, role, t.cast("t.Mapping[str, t.Any]", context))


def unsealed(value: t.Any) -> t.Any:
    """Return a value with its secrets. Raises AnsibleFilterError for those of another run."""
    try:
        return sealed.unseal(value)
    except sealed.SealError as error:
        raise AnsibleFilterError(str(error)) from error


def whole_run(hosts: str, always: bool = False) -> str:
    """Return the hosts of the first play of a playbook as they are.

    Raises AnsibleFilterError if the operator has started a playbook of this collection with options that leave out its
    tasks: no task can refuse that. A playbook that imports it may have tags of its own, unless `always`.
    """
    wrong = run_hosts.left_out(command.CLIARGS)
    if wrong and (always or any(map(_is_of_this_collection, command.CLIARGS.get("args", ())))):
        raise AnsibleFilterError(wrong)
    return hosts


def _is_of_this_collection(playbook: str) -> bool:
    return playbook.startswith("livenodes.kubelet.") or Path(playbook).resolve().parent == PLAYBOOKS


Result = t.Mapping[str, t.Any]

UNREACHABLE = "unreachable"
"""State of the result of a call on a node whose host cannot be reached."""


def switch_failure(reason: t.Any, name: str, host: str, assigned: t.Any = None, reverted: t.Any = None) -> str:
    """Return why a node was not switched, and what it runs.

    C(reason): the message of the task that failed. C(assigned): the result of the call that inspects and switches.
    C(reverted): the result of the revert, if there was one.
    """
    assigned = _result(assigned)
    early = _before_the_switch(assigned, name, host, "switch", "switched")
    if early:
        return early
    # Without a switch, nothing was reverted: a result is that of an earlier switch of the host in this run.
    if not assigned.get("restart_needed"):
        return f"Node {name} was not switched and keeps its configuration: {_part(reason, name, host)}"
    # The guard may have reverted the switch before the role did.
    cause = _part(_result(reverted).get("error") or reason, name, host)
    return f"Node {name} was reverted to its previous configuration: {cause}"


def reset_failure(reason: t.Any, name: str, host: str, reset: t.Any = None, reverted: t.Any = None) -> str:
    """Return why a node was not reset, and what it runs. C(reset): the result of the call that inspects and switches.
    The others are those of C(switch_failure).
    """
    reset = _result(reset)
    early = _before_the_switch(reset, name, host, "reset", "reset")
    if early:
        return early
    reverted = _result(reverted)
    # With the trial, the end of the reset was confirmed too. The guard may have reverted it before the role did.
    if reset.get("trial") and (reverted.get("changed") or (reverted.get("trial") or {}).get("failed")):
        cause = _part(reverted.get("error") or reason, name, host)
        return f"Node {name} was not reset, and was reverted to its previous configuration: {cause}"
    return f"Node {name} was not reset: {_part(reason, name, host)}"


def revert_failure(reason: t.Any, name: str, host: str, why: t.Any, reverted: t.Any = None) -> str:
    """Return why a revert by the role failed, and who continues it. C(why): the reason for the revert. Ansible may
    evaluate it so late that it is the failure of the revert itself. The others are those of C(switch_failure).
    """
    reverted = _result(reverted)
    what = "does not run with its previous configuration" if reverted.get("changed") else "was not reverted"
    cause, begun = _part(reason, name, host), _part(reverted.get("error") or why, name, host)
    also = "" if begun in cause else f". The reason for the revert: {begun}"
    return (
        f"Node {name} {what}: {cause}{also}. The guard on the node continues the revert. If the Node does not become "
        "Ready, see `journalctl -u livenodes-kubelet-guard` there"
    )


def _before_the_switch(first: Result, name: str, host: str, noun: str, what: str) -> str:
    """Return what the first call reported, if the node cannot be reached or must not be changed."""
    if first.get("state") == UNREACHABLE:
        cause = _part(first.get("msg"), name, host)
        return f"Node {name} was not {what}: {cause}. If the {noun} had begun, the guard reverts it"
    reasons = first.get("reasons")
    if not reasons:
        return ""
    return f"{node_message(reasons, name, host)}. Nothing was changed."


def _part(reason: t.Any, name: str, host: str) -> str:
    return node_message([reason], name, host, node="")


def _result(value: t.Any) -> Result:
    return value if isinstance(value, t.Mapping) else {}


class FilterModule:
    """Ansible's entry point."""

    def filters(self) -> dict[str, t.Callable[..., t.Any]]:
        """Return the filters by name."""
        return {
            "node_table": node_table_of_hosts,
            "other_configs": other_configs,
            "reserved": reserved,
            "found_by": found_by,
            "unsealed": unsealed,
            "whole_run": whole_run,
            "node_message": node_message,
            "config_text": document.render,
            "switch_failure": switch_failure,
            "reset_failure": reset_failure,
            "revert_failure": revert_failure,
        }
