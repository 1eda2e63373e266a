# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks the variables of a run on the controller."""

from __future__ import annotations

import functools
import time
import typing as t

from ansible.plugins.action import ActionBase

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import specs
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
        _spec, options = self.validate_argument_spec(
            {"roles": {"type": "list", "elements": "str", "choices": sorted(by_role)}}
        )
        roles = by_role if options["roles"] is None else options["roles"]
        read = {*OF_EVERY_PLAYBOOK, *(name for role in roles for name in by_role[role])}
        variables = task_vars or {}
        message = self._message(Inputs(specs.known(by_role), read), variables)
        result.update(changed=False, began=began)
        if message:
            result.update(failed=True, msg=message)
        return result

    def _message(self, inputs: Inputs, variables: dict[str, t.Any]) -> str:
        hosts, hostvars = variables["ansible_play_hosts_all"], variables["hostvars"]
        own = hostvars.raw_get(variables["inventory_hostname"])
        # Variables of the play or of import_playbook. They are not in hostvars, and they override those of the hosts.
        of_play = {
            name: _value(functools.partial(self._templar.template, value), value)
            for name, value in variables.items()
            if inputs.matters(name) and not inputs.is_default(name, value) and (name not in own or own[name] != value)
        }
        for host in hosts:
            given = hostvars.raw_get(host)
            found = {
                name: _value(functools.partial(_of_host, hostvars, host, name), value)
                for name, value in given.items()
                if name not in of_play and inputs.matters(name)
            }
            for name, value in {**found, **of_play}.items():
                if value is not UNKNOWN:
                    inputs.add(host, name, value)
        return inputs.message(len(hosts))


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
