# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the variables of a run on the controller."""

from __future__ import annotations

import functools
import time
import typing as t

from ansible import constants as C
from ansible import context
from ansible.plugins.action import ActionBase

from ansible_collections.livenodes.kubelet.plugins.plugin_utils import in_process
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import cluster, scopes, specs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.differing import Differing
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.inputs import Inputs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.limits import OF_EVERY_PLAYBOOK

UNKNOWN = object()


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core has no types
    """See the module. There is no module to run: only Ansible's own process has the variables of all hosts."""

    TRANSFERS_FILES = False

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return a failure that names every wrong variable of the play's hosts."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        began = int(time.time())
        by_role = specs.by_role()
        known = specs.known(by_role)
        _spec, options = self.validate_argument_spec(
            {
                "roles": {"type": "list", "elements": "str", "choices": sorted(by_role)},
                "of_the_run": {"type": "list", "elements": "str", "choices": sorted(known), "default": []},
            }
        )
        roles = by_role if options["roles"] is None else options["roles"]
        read = {*OF_EVERY_PLAYBOOK, *(name for role in roles for name in by_role[role])}
        shared = {name for name in read if scopes.is_of_the_run(name) or name in options["of_the_run"]}
        message = self._message(Inputs(known, read), Differing(known), shared, task_vars or {})
        result.update(changed=False, began=began, cluster="")
        if message:
            result.update(failed=True, msg=message)
        elif set(roles) - cluster.WITHOUT:
            result.update(cluster=self._cluster(task_vars or {}))
        return result

    def _cluster(self, variables: dict[str, t.Any]) -> str:
        """Return the cluster of the run in words, empty if it is not known."""
        environment: dict[str, t.Any] = {}
        self._compute_environment_string(environment)
        given = variables.get(scopes.AUTH) or {}
        given = _value(functools.partial(self._templar.template, given), given)
        with in_process.surroundings(environment, self._loader.get_basedir()):
            return cluster.in_words(given)

    def _message(
        self, inputs: Inputs, differing: Differing, shared: t.Collection[str], variables: dict[str, t.Any]
    ) -> str:
        """Return all that is wrong; `shared` are the variables of the run."""
        hosts, hostvars = variables["ansible_play_hosts_all"], variables["hostvars"]
        own = hostvars.raw_get(variables["inventory_hostname"])
        # Variables of the play or of import_playbook. They are not in hostvars, and they override those of the hosts.
        of_play = {
            name: _value(functools.partial(self._templar.template, value), value)
            for name, value in variables.items()
            if (inputs.matters(name) or name in shared or name in scopes.HANDED_ON)
            and not inputs.is_default(name, value)
            and (name not in own or own[name] != value)
        }
        handed = self._handed_on(hosts, hostvars) | (scopes.HANDED_ON & of_play.keys())
        if handed:
            return (
                f"{', '.join(sorted(handed))}: roles hand these to each other, and a playbook finds them out itself. "
                "What it shows would not be what it does. Nothing was changed. Remove them from the inventory and the "
                "-e options, then run again"
            )
        for host in hosts:
            given = hostvars.raw_get(host)
            found = {
                name: _value(functools.partial(_of_host, hostvars, host, name), value)
                for name, value in given.items()
                if name not in of_play and (inputs.matters(name) or name in shared)
            }
            found.update(of_play)
            for name, value in found.items():
                if value is not UNKNOWN and inputs.matters(name):
                    inputs.add(host, name, value)
            for name in shared:
                value = found.get(name, inputs.default(name))
                differing.add(host, name, given.get(name) if value is UNKNOWN else value)
        wrong = inputs.message(len(hosts))
        return "\n".join(filter(None, [differing.message(variables["groups"], hosts), wrong, _localhost(hostvars)]))

    def _handed_on(self, hosts: t.Sequence[str], hostvars: t.Any) -> set[str]:
        """Return the variables of the inventory, and extra variables, that only roles may set."""
        manager = self._task.get_variable_manager()
        # Only this cache separates what an earlier play of this run has set from what the inventory has.
        facts = getattr(manager, "_nonpersistent_fact_cache", {})
        of_hosts = ((scopes.HANDED_ON & hostvars.raw_get(host).keys()) - facts.get(host, {}).keys() for host in hosts)
        return set().union(scopes.HANDED_ON & manager.extra_vars.keys(), *of_hosts)


def _localhost(hostvars: t.Any) -> str:
    """Return what is wrong with the host localhost, to which all tasks of the controller are delegated."""
    given = hostvars.raw_get("localhost")
    connection = given.get("ansible_connection") or context.CLIARGS.get("connection") or C.DEFAULT_TRANSPORT
    if _is_template(connection):
        connection = hostvars["localhost"]["ansible_connection"]
    if connection in ("local", "ansible.builtin.local"):
        return ""
    return (
        f"the inventory has the host {given['inventory_hostname']} with the connection {connection}, and the tasks of "
        "the controller would run there, with the credentials of the cluster. Nothing was changed. Rename the host, or "
        "set its ansible_connection to local, then run again"
    )


def _of_host(hostvars: t.Mapping[str, t.Mapping[str, t.Any]], host: str, name: str) -> t.Any:
    return hostvars[host][name]


def _value(rendered: t.Callable[[], t.Any], value: t.Any) -> t.Any:
    """Return a value, rendered if it is a template, or UNKNOWN if that is not possible yet: its role will render it."""
    try:
        if _is_template(value):
            value = rendered()
            return UNKNOWN if _is_template(value) else value
    # A template may fail in any way.
    except Exception:  # pylint: disable=broad-except
        return UNKNOWN
    return value


def _is_template(value: t.Any) -> bool:
    if isinstance(value, dict):
        return any(map(_is_template, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_is_template, value))
    return isinstance(value, str) and ("{{" in value or "{%" in value)
