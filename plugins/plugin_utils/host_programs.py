# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs programs on the hosts of nodes while a controller module runs, over the connections that their tasks use too."""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import os
import shlex
import threading
import typing as t

from ansible import constants as C
from ansible.errors import AnsibleError
from ansible.plugins.loader import connection_loader
from ansible.template import Templar

from ..module_utils._cluster.api.errors import ApiError

NODE_NAME, KEY = "kubelet_config_node_name", "private_key_file"


@dataclasses.dataclass(frozen=True)
class _Login:
    """How to reach a host: the name of the connection plugin, what renders a variable (None without a value), the
    address, and the Python there.
    """

    kind: str
    value: t.Callable[[str], t.Any]
    address: str
    python: str


class HostPrograms:
    """Runs a program on the host of a node; see `ProgramRunner`. Safe for threads. Does nothing before the first call.

    `action` is that of the task on the controller, `variables` are its own.
    """

    def __init__(self, action: t.Any, variables: t.Mapping[str, t.Any]) -> None:
        self._action, self._variables = action, variables
        # The module runs in the folder of the playbook.
        self._folder = os.getcwd()
        self._lock = threading.Lock()
        self._names: dict[str, str] | None = None
        self._logins: dict[str, _Login] = {}
        # Plugins and templates need the context of the task, which a thread of a module does not have.
        self._context = contextvars.copy_context()

    def __call__(self, node: str, program: str) -> str:
        """Return what a program prints that Python reads from its standard input. Raises ApiError (0)."""
        return self._context.copy().run(self._run, node, program)

    def _run(self, node: str, program: str) -> str:
        with self._lock:
            way = self._logins.get(node) or self._login(node)
            self._logins[node] = way
            connection = self._connection(way)
        try:
            code, output, errors = connection.exec_command(f"{way.python} -I -", program.encode(), sudoable=False)
        except AnsibleError as error:
            text = " ".join(str(error).split()).rstrip(". ")
            raise ApiError(0, f"its host cannot be reached: {text}", "NoAnswer", transient=True) from None
        finally:
            with contextlib.suppress(AnsibleError):
                connection.close()
        if code:
            last = (_text(errors).strip().splitlines() or ["no message"])[-1]
            raise ApiError(
                0,
                f"{way.python} on its host ended with {code} ({last}): set ansible_python_interpreter to a Python from "
                "3.7 on",
            )
        return _text(output)

    # pylint: disable=protected-access  # Ansible has no public way from an action to another host

    def _login(self, node: str) -> _Login:
        """Return how to reach the host of a node. Raises ApiError."""
        name, hostvars, task = self._host(node), self._variables["hostvars"], self._action._task
        host = hostvars._inventory.get_host(name)
        # As for a task of that host: hostvars alone do not have the variables of the play.
        given = hostvars._variable_manager.get_vars(play=task.get_play(), host=host)
        templar = Templar(loader=self._action._loader, variables=given)

        def value(variable: str) -> t.Any:
            return templar.template(given[variable]) if variable in given else None

        kind = str(value("ansible_connection") or task.connection)
        if kind == "smart":
            kind = "ssh"
        return _Login(kind, value, str(value("ansible_host") or name), _python(value))

    def _connection(self, way: _Login) -> t.Any:
        """Return a new connection to a host. Raises ApiError."""
        action = self._action
        context = action._play_context.copy()
        context.remote_addr, context.become = way.address, False
        # With -vvv, ssh prints what a program has printed: a configuration, with its secrets.
        context.no_log = True
        connection = connection_loader.get(way.kind, context, new_stdin=None)
        if connection is None or not connection.has_pipelining:
            raise ApiError(
                0,
                f"read: node needs a connection that has pipelining, such as ssh, and that of its host is {way.kind}: "
                "set read to proxy or kubelet",
            )
        keys = action._task.dump_attrs()
        # As Ansible does: the first of these is that of the task, not of the connection.
        keys["timeout"] = context.timeout
        keys.pop("retries", None)
        if context.password:
            keys["password"] = context.password
        given = {}
        for name in C.config.get_plugin_vars("connection", connection._load_name):
            value = way.value(name)
            if value is not None:
                given[name] = value
        connection.set_options(task_keys=keys, var_options=given)
        with contextlib.suppress(KeyError):
            path = connection.get_option(KEY)
            if path and not os.path.isabs(os.path.expanduser(path)):
                connection.set_option(KEY, os.path.join(self._folder, path))
        return connection

    def _host(self, node: str) -> str:
        """Return the inventory host of a node. Raises ApiError."""
        hostvars = self._variables["hostvars"]
        if self._names is None:
            hosts = self._variables.get("ansible_play_hosts_all") or ()
            self._names = {str(hostvars[host].get(NODE_NAME) or host): host for host in hosts}
        found = self._names.get(node)
        if found:
            return found
        if node in hostvars:
            return node
        raise ApiError(
            0,
            "read: node needs the host of the node, and the inventory has none of this name: set read to proxy or "
            "kubelet",
        )


def _python(value: t.Callable[[str], t.Any]) -> str:
    """Return the command of the Python of a host: the one of its variable, else of its facts, else of its path."""
    given = str(value("ansible_python_interpreter") or "auto")
    if given.startswith("auto"):
        given = str((value("ansible_facts") or {}).get("discovered_interpreter_python") or "python3")
    return shlex.join(shlex.split(given))


def _text(content: bytes | str) -> str:
    return content.decode("utf-8", "replace") if isinstance(content, bytes) else content
