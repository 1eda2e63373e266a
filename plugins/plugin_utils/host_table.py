# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Turns the variables of many hosts into columns by node name."""

from __future__ import annotations

import functools
import json
import re
import typing as t

import jinja2
from ansible.errors import AnsibleError, AnsibleFilterError
from ansible.release import __version__

from ..module_utils._config.plan.layers import GROUP, OF_HOSTS, PROFILE
from ..module_utils._config.values import document, paths
from ._inputs import rendered

# Further columns of the node table, and the host variable each of them comes from.
KINDS = {
    "flags": "kubelet_config_flags",
    "deliveries": "kubelet_config_delivery",
    "transports": "kubelet_config_transport",
    "profiles": PROFILE,
    "exceptions": "kubelet_config_exceptions",
}

NODE_NAME = "kubelet_config_node_name"
CAPACITY = "kubelet_capacity"
"""What the machine of a host has. The inventory plugin sets it, else the role dump."""

OF_THE_HOST = {
    "kubelet_config_allow_effect": "disrupt",
    "kubelet_config_drain": "never",
    "kubelet_config_forecast": "refuse",
    "kubelet_config_forecast_pods": 0,
}
"""Options that each host has its own value of, with their defaults. One task reads those of all hosts."""

READ = tuple(dict.fromkeys((*OF_HOSTS, NODE_NAME, *KINDS.values())))
"""The variables that users set."""


def unseen(variables: t.Mapping[str, t.Any], hostvars: t.Mapping[str, t.Mapping[str, t.Any]]) -> str:
    """Return which variables are set for the current task but not for its host, in words; empty if there are none.

    They would silently have no effect.
    """
    host = str(variables.get("inventory_hostname"))
    if host not in hostvars:
        return ""
    names = [name for name in READ if name in variables and name not in hostvars[host]]
    if not names:
        return ""
    return (
        f"{', '.join(names)} is set in the vars of a play, a role or import_playbook. It has no effect there: "
        "it is not a variable of the hosts. Set it in the inventory, in group_vars or host_vars, or with -e"
    )


def same_node(hosts: t.Sequence[str], name: str) -> str:
    """Return what is wrong with several hosts that name the same node."""
    return (
        f"hosts {', '.join(hosts)} name the same node {name}. Nothing was changed. Set a different {NODE_NAME} for "
        "each of them, or remove those that are too many"
    )


def node_table(
    hosts: t.Sequence[str],
    hostvars: t.Mapping[str, t.Mapping[str, t.Any]],
    of_the_play: t.Mapping[str, t.Any] | None = None,
    configs: bool = True,
) -> dict[str, dict[str, t.Any]]:
    """Return what Ansible knows about each host, as columns by node name.

    C(hosts): the inventory host. C(configs): the overrides of the host by their variables.
    C(group_configs): the overrides of its group, an empty mapping if there are none. C(flags), C(deliveries),
    C(transports), C(profiles) and C(exceptions): the kubelet's flags, the delivery, the transport, the profiles and the
    exceptions from them, if the inventory sets them. With C(of_the_play), which overrides them, also the options of
    each host. Without C(configs), what hosts declare is not read: it may depend on what the role dump finds out.

    Raises AnsibleFilterError when two hosts name the same node, and for a variable that names an undefined one.
    """
    columns = ["hosts", *KINDS]
    if configs:
        columns += ["configs", "group_configs"]
    if of_the_play is not None:
        columns += ["allow_effects", "drains", "forecasts"]
    table: dict[str, dict[str, t.Any]] = {column: {} for column in columns}
    for host in hosts:
        variables = hostvars[host]
        name = _add_host(table, host, variables)
        if of_the_play is not None:
            _add_options(table, name, variables, of_the_play)
    return table


def _add_host(table: dict[str, dict[str, t.Any]], host: str, variables: t.Mapping[str, t.Any]) -> str:
    """Add what the inventory sets for a host, and return the name of its node."""
    read = functools.partial(of_host, host, variables)
    # YAML and an INI inventory make a number of a name of digits.
    name = str(read(NODE_NAME) or host)
    if name in table["hosts"]:
        raise AnsibleFilterError(same_node([table["hosts"][name], host], name))
    table["hosts"][name] = host
    if "configs" in table:
        layers = {variable: read(variable) for variable in OF_HOSTS}
        if any(layers.values()):
            table["configs"][name] = {variable: layer for variable, layer in layers.items() if layer}
        table["group_configs"][name] = of_group(read)
    for kind, variable in KINDS.items():
        given = read(variable)
        if given:
            table[kind][name] = given
    return name


def unsized(hosts: t.Mapping[str, str], hostvars: t.Any) -> dict[str, str]:
    """Return those of the hosts, by node name, that declare values by their capacity, and do not have that variable."""
    raw = getattr(hostvars, "raw_get", hostvars.get)
    return {name: host for name, host in hosts.items() if any(needs_capacity(raw(host), layer) for layer in OF_HOSTS)}


def needs_capacity(given: t.Mapping[str, t.Any], name: str) -> bool:
    """Return whether a variable of a host names its capacity, which is not known. C(given): the variables as set."""
    if CAPACITY in given or name not in given:
        return False
    return rendered.is_template(given[name]) and CAPACITY in rendered.words(given[name], given)


def of_group(read: t.Callable[[str], t.Any]) -> t.Any:
    """Return what the group of a host declares, by its variables if a profile is one of them. C(read) reads these."""
    profile, config = read(PROFILE), read(GROUP)
    if profile:
        return {PROFILE: profile, GROUP: config or {}}
    return config or {}


def _add_options(
    table: dict[str, dict[str, t.Any]], name: str, variables: t.Mapping[str, t.Any], of_the_play: t.Mapping[str, t.Any]
) -> None:
    """Add what the host of a node has in OF_THE_HOST."""
    options = dict(of_the_play)
    for key, default in OF_THE_HOST.items():
        if key not in options:
            options[key] = variables.get(key, default)
    table["allow_effects"][name] = options["kubelet_config_allow_effect"]
    table["drains"][name] = options["kubelet_config_drain"]
    table["forecasts"][name] = {
        "forecast": options["kubelet_config_forecast"],
        "pods": options["kubelet_config_forecast_pods"],
    }


LENIENT = tuple(map(int, __version__.split(".")[:2])) < (2, 19)
"""Whether this ansible-core hands on a template of an undefined variable as text. Later ones raise an error."""
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)


def of_host(host: str, variables: t.Mapping[str, t.Any], name: str) -> t.Any:
    """Return a variable of a host with vaulted values as their text, None if it is not set.

    Raises AnsibleFilterError for a template that fails, and for a text with one that Ansible has not rendered.
    """
    origin = _origin(name, host)
    try:
        # From 2.19 on, a template is rendered when its place in a value is read.
        found = _plain(variables.get(name), (), origin)
    except (AnsibleError, jinja2.UndefinedError) as error:
        if origin in str(error):
            raise
        cause = str(error.__cause__ or error).rstrip(".")
        remedy = "Define its variables for this host, or correct the template, then run again"
        # Ansible would add the cause once more, behind the remedy.
        raise AnsibleFilterError(f"{origin}: {cause}. {remedy}") from None
    if name in OF_HOSTS and name != PROFILE:
        _refuse_nothing(found, origin)
    return found


def failure(host: str, variables: t.Mapping[str, t.Any], name: str) -> str:
    """Return why C(of_host) fails, what follows the names of variable and host; empty if it does not."""
    try:
        of_host(host, variables, name)
    except AnsibleFilterError as error:
        return str(error).removeprefix(_origin(name, host))
    return ""


def _origin(name: str, host: str) -> str:
    return f"{name} of host {host}"


def _refuse_nothing(found: t.Any, origin: str) -> None:
    """Raise AnsibleFilterError for a value that has no field by mistake: that would revert the values of the node."""
    if found is None or isinstance(found, t.Mapping):
        return
    remedy = "Write at least one field, or {} for none"
    if isinstance(found, str) and not found.strip():
        raise AnsibleFilterError(f"{origin}: the text is empty, as of a survey without an answer. {remedy}")
    if not found:
        raise AnsibleFilterError(f"{origin}: {json.dumps(found)} is no configuration. {remedy}")


def _plain(value: t.Any, path: paths.Path, origin: str) -> t.Any:
    if isinstance(value, t.Mapping):
        return {key: _plain(inner, (*path, key), origin) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, (*path, position), origin) for position, inner in enumerate(value)]
    if isinstance(value, jinja2.Undefined):
        # It stands for the error of its template, and raises it.
        return str(value)
    if hasattr(value, "__ENCRYPTED__"):
        # AnsibleVaultEncryptedUnicode up to ansible-core 2.18, which is not a str. Later ones decrypt by themselves.
        return str(value)
    # Ansible does not render texts that are marked, such as by `!unsafe`.
    if LENIENT and isinstance(value, str) and not hasattr(value, "__UNSAFE__"):
        _refuse_template(value, path, origin)
    return value


def _refuse_template(text: str, path: paths.Path, origin: str) -> None:
    found = _TEMPLATE.search(text)
    if not found:
        return
    place = f"line {text.count(chr(10), 0, found.start()) + 1}"
    if path:
        place = paths.show(path)
    quoted = found.group()
    if any(name in path or name in text for name in document.SECRETS):
        quoted = "a template"
    raise AnsibleFilterError(
        f"{origin}, {place}: {quoted} names an undefined variable. Nothing was changed. Define the variable for this "
        "host, or mark the text with !unsafe if it is not a template, then run again"
    )
