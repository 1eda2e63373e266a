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
from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.livenodes.kubelet.plugins.plugin_utils import actions, host_table
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import hosts, specs, stages
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.hosts import Groups, Hosts
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.inputs import (
    MAIN,
    WITHOUT_CLUSTER,
    Differing,
    Inputs,
    in_words,
)
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.rendered import (
    UNKNOWN,
    Rendered,
    failure,
    is_template,
    rendered,
)
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.specs import OF_EVERY_PLAYBOOK, OF_ROLLOUTS

Vars = dict[str, t.Any]


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core has no types
    """See the module. There is no module to run: only Ansible's own process has the variables of all hosts."""

    TRANSFERS_FILES = False

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Return a failure that names every wrong variable of the play's hosts."""
        result: dict[str, t.Any] = super().run(tmp, task_vars)
        variables = task_vars or {}
        began = int(time.time())
        by_role = specs.by_role()
        known = specs.known(by_role)
        _spec, options = self.validate_argument_spec(
            {
                "roles": {"type": "list", "elements": "str", "choices": sorted(by_role)},
                "entry_point": {"type": "str"},
                "of_the_run": {"type": "list", "elements": "str", "choices": sorted(known), "default": []},
                "stage": {"type": "str", "choices": list(stages.STAGES)},
                "hosts": {"type": "str", "choices": [hosts.ANY, hosts.NAMED]},
            }
        )
        if options["hosts"] or options["stage"]:
            wrong = hosts.cut_off(self._task.get_variable_manager().extra_vars)
            if wrong:
                return {**result, "changed": False, **_failure(wrong)}
        if options["hosts"]:
            wrong = self._run(variables).problem(options["hosts"])
            return {**result, "changed": False, **_failure(wrong)}
        if options["stage"]:
            return {**result, "changed": False, **self._of_stage(options["stage"], variables)}
        roles = options["roles"]
        if roles is None:
            roles = list(by_role)
        if options["entry_point"]:
            by_role = specs.by_role(entry_point=options["entry_point"])
        read = _read(roles, by_role)
        shared = {*options["of_the_run"], *filter(specs.is_of_the_run, read)}
        read.update(shared)
        inputs = Inputs(known, read)
        message = self._message(inputs, Differing(known), shared, variables)
        warnings = [inputs.ignored()]
        if MAIN in read:
            warnings.append(self._groups(variables))
        result.update(changed=False, began=began, cluster="", warnings=list(filter(None, warnings)))
        if message:
            result.update(failed=True, msg=message)
        elif set(roles) - WITHOUT_CLUSTER:
            result.update(cluster=self._cluster(variables))
        return result

    def _run(self, variables: Vars) -> hosts.Run:
        """Return the hosts that the run takes."""
        patterns = None
        if hosts.HOSTS in variables:
            patterns = hosts.asked(self._templar.template(variables[hosts.HOSTS]))
        inventory = self._task.get_variable_manager()._inventory
        found = inventory.get_hosts(patterns or "all", ignore_limits=True, ignore_restrictions=True)
        own = variables["hostvars"][variables["inventory_hostname"]]
        return hosts.Run(
            patterns,
            [host.name for host in found],
            variables.get(hosts.LIMIT),
            variables["ansible_play_hosts_all"],
            hosts.HOSTS in own,
        )

    def _of_stage(self, stage: str, variables: Vars) -> Vars:
        """Return whether the role of a stage works for each host alone, or why it cannot work."""
        strategy = str(self._templar.template(self._task.get_play().strategy))
        alone = strategy.endswith(stages.ALONE)
        hosts = variables["ansible_play_batch"]
        if alone and stage != "dump":
            # Two hosts that work alone must not change one node at the same time.
            hosts = [variables["inventory_hostname"]]
        given = {name: self._handed(value) for name, value in variables.items() if name in stages.READ}
        try:
            wrong = host_table.unseen(variables, variables["hostvars"])
            names = list(host_table.node_table(hosts, variables["hostvars"], configs=False)["hosts"])
        except AnsibleError as error:
            return {"failed": True, "msg": str(error)}
        wrong = wrong or stages.missing(stage, given, names)
        if alone and not wrong:
            wrong = stages.unshared(stage, variables)
        if wrong:
            return _failure(wrong)
        return {"alone": alone}

    def _handed(self, value: t.Any) -> t.Any:
        """Return what one role hands to another, None for a template of what no role has found."""
        if isinstance(value, str):
            value = rendered(value, functools.partial(self._templar.template, value))
        if value is UNKNOWN:
            return None
        return value

    def _cluster(self, variables: Vars) -> str:
        """Return the cluster of the run in words, empty if it is not known."""
        environment: dict[str, t.Any] = {}
        self._compute_environment_string(environment)
        given = variables.get(specs.AUTH) or {}
        given = rendered(given, functools.partial(self._templar.template, given))
        with actions.surroundings(environment, self._loader.get_basedir()):
            return in_words(given)

    def _message(self, inputs: Inputs, differing: Differing, shared: t.Collection[str], variables: Vars) -> str:
        """Return all that is wrong; `shared` are the variables of the run."""
        hosts, hostvars = variables["ansible_play_hosts_all"], variables["hostvars"]
        of_play = _of_play(inputs, shared, variables)
        # Only this cache separates what an earlier play of this run has set from what the inventory has.
        facts = getattr(self._task.get_variable_manager(), "_nonpersistent_fact_cache", {})
        handed = specs.HANDED_ON & {*of_play, *self._task.get_variable_manager().extra_vars}
        templates, of_hosts = Rendered(), Hosts(inputs.reads)
        names_nodes = inputs.matters(host_table.NODE_NAME)
        # Tasks of a role see the defaults, too.
        around = {**inputs.defaults(), **variables}
        for host in hosts:
            given = hostvars.raw_get(host)
            handed |= (specs.HANDED_ON & given.keys()) - facts.get(host, {}).keys()
            read = [name for name in given if name not in of_play and (inputs.matters(name) or name in shared)]
            found = self._rendered(host, given, read, of_play, templates, variables)
            for name in filter(inputs.matters, found):
                inputs.add(host, name, found[name])
            for name in filter(inputs.reads, host_table.READ):
                inputs.add_failure(host, name, _failure_of_host(hostvars, host, name, templates))
            self._add_undefined(inputs, host, found, of_play, given, around, templates)
            if names_nodes:
                of_hosts.add(host, found.get(host_table.NODE_NAME), given)
            for name in shared:
                value = found.get(name, inputs.default(name))
                differing.add(host, name, given.get(name) if value is UNKNOWN else value)
        problems = [_handed_on(handed)]
        if names_nodes:
            problems.append(host_table.unseen(variables, hostvars))
        problems += [
            differing.message(variables["groups"], hosts),
            inputs.message(len(hosts)),
            of_hosts.message(),
            _localhost(hostvars),
        ]
        return "\n".join(filter(None, problems))

    def _add_undefined(
        self, inputs: Inputs, host: str, found: Vars, of_play: Vars, given: Vars, around: Vars, templates: Rendered
    ) -> None:
        """Add why variables that may be unset have a template that fails. C(around): what all templates see."""
        for name in filter(inputs.may_be_unset, found):
            if found[name] is not UNKNOWN or name in host_table.READ:
                continue
            value = of_play.get(name, given.get(name))
            render = functools.partial(self._as_host, {**around, **given}, value)
            why = templates.failure(given, name, value, functools.partial(failure, render))
            inputs.add_failure(host, name, why and f": {why}. Define its variables, or correct the template")

    def _rendered(
        self, host: str, given: Vars, read: t.Iterable[str], of_play: Vars, templates: Rendered, variables: Vars
    ) -> Vars:
        """Return these variables of a host, which `given` has as they are set, and those of the play, rendered."""
        found = {}
        for name in read:
            render = functools.partial(_of_host, variables["hostvars"], host, name)
            found[name] = templates.of_host(given, given[name], render)
        seen = given
        if any(map(is_template, of_play.values())):
            seen = {**variables, **given}
        for name, value in of_play.items():
            found[name] = templates.of_host(seen, value, functools.partial(self._as_host, seen, value))
        return found

    def _groups(self, variables: Vars) -> str:
        """Return which of its groups counts for each host, if several of them set kubelet_config."""
        groups = Groups(self._task.get_variable_manager()._inventory, self._loader)
        hosts = variables["ansible_play_hosts_all"]
        for host in hosts:
            groups.add(host, variables["hostvars"].raw_get(host).get(MAIN))
        return groups.message(len(hosts))

    def _as_host(self, seen: dict[str, t.Any], value: t.Any) -> t.Any:
        """Return a template of the play, rendered with what a task of one host sees."""
        return self._templar.copy_with_new_env(available_variables=seen).template(value)


def _read(roles: t.Sequence[str], by_role: t.Mapping[str, t.Iterable[str]]) -> set[str]:
    """Return the variables that a playbook with these roles reads."""
    read = set(OF_EVERY_PLAYBOOK)
    for role in roles:
        read.update(by_role[role])
    if "rollout" in roles:
        read.update(OF_ROLLOUTS)
    return read


def _failure(wrong: str) -> Vars:
    return {"failed": True, "msg": wrong} if wrong else {}


def _of_play(inputs: Inputs, shared: t.Container[str], variables: Vars) -> Vars:
    """Return the variables of the play or of import_playbook: not in hostvars, they override those of the hosts."""
    own = variables["hostvars"].raw_get(variables["inventory_hostname"])
    found = {}
    for name, value in variables.items():
        is_read = inputs.matters(name) or name in shared or name in specs.HANDED_ON
        if is_read and not inputs.is_default(name, value) and (name not in own or own[name] != value):
            found[name] = value
    return found


def _handed_on(names: t.Collection[str]) -> str:
    """Return what is wrong with inputs that only roles may set."""
    if not names:
        return ""
    return (
        f"{', '.join(sorted(names))}: roles hand these to each other, and a playbook finds them out itself. "
        "What it shows would not be what it does. Nothing was changed. Remove them from the inventory and the "
        "-e options, then run again"
    )


def _localhost(hostvars: t.Any) -> str:
    """Return what is wrong with the host localhost, to which all tasks of the controller are delegated."""
    given = hostvars.raw_get("localhost")
    connection = given.get("ansible_connection") or context.CLIARGS.get("connection") or C.DEFAULT_TRANSPORT
    if is_template(connection):
        connection = hostvars["localhost"]["ansible_connection"]
    if connection in ("local", "ansible.builtin.local"):
        return ""
    return (
        f"the inventory has the host {given['inventory_hostname']} with the connection {connection}, and the tasks of "
        "the controller would run there, with the credentials of the cluster. Nothing was changed. Rename the host, or "
        "set its ansible_connection to local, then run again"
    )


def _failure_of_host(hostvars: t.Any, host: str, name: str, templates: Rendered) -> str:
    """Return why a variable that tasks read of all hosts cannot be rendered, empty if it can.

    All that it depends on is known by now, but for what the machine has.
    """
    given = hostvars.raw_get(host)
    why = templates.failure(given, name, given.get(name), lambda: host_table.failure(host, hostvars[host], name))
    if why and host_table.needs_capacity(given, name):
        return ""
    return why


def _of_host(hostvars: t.Mapping[str, t.Mapping[str, t.Any]], host: str, name: str) -> t.Any:
    return hostvars[host][name]
