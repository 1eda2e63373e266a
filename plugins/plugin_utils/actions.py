# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The two kinds of actions: of a controller module, and of a module that runs on a node.

A controller module runs in Ansible's own process if the result is the same, with the checks and results of
AnsibleModule: a process for the module would cost most of a second.

On a node, a lost connection fails the task instead of removing the host. Ansible removes an unreachable host from the
play without rescue and always. If it was the last host of a batch, nothing of the batch would be cleaned up.
"""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import os
import re
import sys
import traceback
import typing as t

from ansible import constants as C
from ansible.errors import AnsibleAction, AnsibleConnectionFailure, AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.parameters import remove_values
from ansible.module_utils.common.warnings import get_warning_messages
from ansible.module_utils.errors import UnsupportedError
from ansible.plugins.action.normal import ActionModule as Normal

from ..module_utils._cluster.api import client_configuration, cluster_options, kubelet_on_host, kubelet_ways
from ..module_utils._cluster.api.controller_module import Definition
from ..module_utils._cluster.api.errors import MissingLibrary
from ..module_utils._config.values import paths
from . import sealed
from .host_programs import HostPrograms

Result = t.Dict[str, t.Any]
# A mapping with more values than this is not part of what Ansible keeps of a task's arguments.
LARGE = 500
PATHS = frozenset({"KUBECONFIG", "K8S_AUTH_KUBECONFIG"})
"""Variables of the environment with the paths of kubeconfigs."""
# Python and the dynamic loader read these variables when they start.
_AT_START = ("PYTHON", "LD_")
ELSEWHERE = (
    "this task is delegated to localhost, and the inventory has a host of this name with the connection {}: the task, "
    "with the credentials of the cluster in its arguments, would run there. Nothing was sent. Rename the host, or set "
    "its ansible_connection to local"
)
UNREACHABLE = "unreachable"
_OF_BECOME = re.compile(r"\bsudo|\bsu\b|\bdoas\b|privilege escalation|become")
"""Words of the failures to become root: of Ansible and of the programs."""
_AS_ROOT = (
    "Ansible cannot become root on its host: {}. Let its user become root: set ansible_become_password (in AWX in the "
    "machine credential), or correct sudoers there (its requiretty, if a terminal is missing)"
)
NOT_RUN = "the module could not run on its host: {}. Correct that there, or in the variables of the host"
_NO_RESULT = (
    "the module gave no result on its host: {}. Correct that there, or in the variables of the host. If it had begun a "
    "change, the guard ends that"
)
_OF_SSH = re.compile(r"(Shared connection|Connection) to \S+ closed\.?|debug\d: .*")
"""What ssh adds to the words of a program."""
QUOTED = 300
"""So many characters of these are quoted."""
FOUND = "discovered_interpreter_"


@contextlib.contextmanager
def surroundings(environment: t.Mapping[str, t.Any], folder: str) -> t.Iterator[None]:
    """Give this process the surroundings of a module: the task's environment, the playbook's folder, no terminal.

    The former state is restored at the end.
    """
    variables, place = dict(os.environ), os.getcwd()
    os.environ.update({str(name): str(value) for name, value in environment.items()})
    for name in PATHS & os.environ.keys():
        # As kubectl reads them: in the folder of the command, not in that of the playbook.
        parts = os.environ[name].split(os.pathsep)
        os.environ[name] = os.pathsep.join(os.path.abspath(os.path.expanduser(part)) for part in parts if part)
    try:
        os.chdir(folder)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        os.chdir(place)
        # The same worker runs all items of a loop and all retries.
        os.environ.clear()
        os.environ.update(variables)


def run(
    definition: Definition,
    name: str,
    arguments: t.Mapping[str, t.Any],
    *,
    check_mode: bool,
    diff: bool,
    verbosity: int,
    invocation: bool,
) -> Result:
    """Validate the arguments of the task `name` and return the result, both as AnsibleModule does.

    An unexpected exception is a failure with the traceback in `exception`. Raises MissingLibrary.
    """
    warned_before = len(get_warning_messages())
    checked = ArgumentSpecValidator(definition.spec, **definition.limits).validate(_plain(arguments))
    options = checked.validated_parameters
    # pylint: disable=protected-access  # these three have no public accessor
    secrets, warnings, deprecations = checked._no_log_values, checked._warnings, checked._deprecations
    texts = [f"Both option {both['option']} and its alias {both['alias']} are set." for both in warnings]
    texts += get_warning_messages()[warned_before:]
    if checked.error_messages:
        message = checked.errors.msg
        if isinstance(checked.errors[0], UnsupportedError):
            message = f"Unsupported parameters for ({name}) module: {message}"
        result = {"failed": True, "msg": message}
    else:
        secrets = secrets | definition.secrets(options)
        result, more = _attempt(definition, options, check_mode, diff, verbosity)
        texts += more
    if texts:
        result["warnings"] = texts
    if deprecations:
        result["deprecations"] = deprecations
    if invocation:
        result["invocation"] = {"module_args": brief(options)}
    # A secret may have the same text as a value of the result; true, false and null contain no secret.
    kept = {key: value for key, value in result.items() if value is None or isinstance(value, bool)}
    return {**remove_values(result, secrets), **kept}


def brief(arguments: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return arguments with a note in place of each large mapping, such as a plan or the dump of a group.

    Ansible sends the arguments back twice with each result and copies both for every callback.
    """
    found = dict(arguments)
    for name, value in arguments.items():
        if _is_large(value):
            found[name] = f"({len(value)} entries, not repeated in the result)"
    return found


def shown(definition: Definition, arguments: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return the arguments of a task as Ansible keeps them and hands them to callbacks: brief, and without secrets."""
    secrets = {*_of_no_log(definition.spec, arguments), *definition.secrets(dict(arguments))}
    without_login = cluster_options.shown(brief(arguments), definition.spec)
    return t.cast("dict[str, t.Any]", remove_values(sealed.masked(without_login), secrets))


def _of_no_log(spec: t.Mapping[str, t.Any], given: t.Any) -> t.Iterator[str]:
    if not isinstance(given, t.Mapping):
        return
    for name, option in spec.items():
        for each in (name, *option.get("aliases", ())):
            if not given.get(each):
                continue
            if option.get("no_log"):
                yield str(given[each])
            yield from _of_no_log(option.get("options") or {}, given[each])


def _is_large(value: t.Any) -> bool:
    if not isinstance(value, t.Mapping):
        return False
    count = 0
    found: list[t.Any] = [value]
    while found and count <= LARGE:
        values = found.pop()
        if isinstance(values, t.Mapping):
            values = values.values()
        count += len(values)
        found += [item for item in values if isinstance(item, (dict, list))]
    return count > LARGE


def _attempt(
    definition: Definition, options: Result, check_mode: bool, diff: bool, verbosity: int
) -> tuple[Result, list[str]]:
    try:
        with client_configuration.files_removed():
            result, warnings = definition.outcome(options, check_mode, diff, verbosity)
        return json.loads(json.dumps(result)), warnings
    except MissingLibrary:
        raise
    # A module that ends with a traceback fails its task only.
    except Exception as error:  # pylint: disable=broad-except
        return {"failed": True, "msg": f"{type(error).__name__}: {error}", "exception": traceback.format_exc()}, []


def _plain(arguments: t.Any) -> t.Any:
    """Return the arguments as a module gets them: plain JSON, without Ansible's own text types."""
    return json.loads(json.dumps(arguments, default=_text))


def _text(value: t.Any) -> str:
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(value)


class ControllerAction(Normal):  # type: ignore[misc]  # ansible-core has no types
    """Base class of the actions; a subclass sets `module`. Ansible runs the module if this class cannot."""

    module: Definition

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module in this process, otherwise as an ordinary module. Secrets are sealed in its result."""
        given = self._task.args
        if self._task.delegate_to in C.LOCALHOST and self._connection.transport != "local":
            # Before the credentials are opened.
            return {"failed": True, "changed": False, "msg": ELSEWHERE.format(self._connection.transport)}
        try:
            self._task.args = sealed.unseal(given)
        except sealed.SealError as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        try:
            result = self._result(tmp, task_vars or {})
        finally:
            opened, self._task.args = self._task.args, given
        if not (self._task.until or self._task.retries):
            # This process ends with the task, and its arguments return to the main process with the result.
            self._task.args = shown(self.module, opened)
        if (result.get("invocation") or {}).get("module_args"):
            given = cluster_options.shown(result["invocation"]["module_args"], self.module.spec)
            result["invocation"] = {"module_args": sealed.masked(given)}
        result = sealed.seal(result)
        if not sealed.SHARED and sealed.has_sealed(result):
            # The next task could not open them.
            return {**sealed.unseal(result), "_ansible_no_log": True}
        return result

    def _result(self, tmp: t.Any, variables: dict[str, t.Any]) -> dict[str, t.Any]:
        environment: dict[str, t.Any] = {}
        self._compute_environment_string(environment)
        if self._is_here(variables) and not any(name.startswith(_AT_START) for name in environment):
            try:
                programs = HostPrograms(self, variables)
                around = surroundings(environment, self._loader.get_basedir())
                known = kubelet_ways.remembered_in(C.DEFAULT_LOCAL_TMP)
                with around, known, kubelet_on_host.running_programs_with(programs):
                    return run(
                        self.module,
                        self._task.action,
                        self._task.args,
                        check_mode=self._task.check_mode,
                        diff=self._task.diff,
                        verbosity=self._display.verbosity,
                        invocation=_wants_invocation(variables),
                    )
            except MissingLibrary:
                # The interpreter that Ansible finds for modules may be another one that has the library.
                pass
        if self._connection.transport != "local":
            # With -vvv, the connection ssh prints what a module has printed.
            self._play_context.no_log = True
        return t.cast("dict[str, t.Any]", super().run(tmp, variables))

    def _is_here(self, variables: dict[str, t.Any]) -> bool:
        if self._connection.transport != "local" or self._connection.become or self._task.async_val:
            return False
        if self._task.delegate_to:
            variables = variables["ansible_delegated_vars"][self._task.delegate_to]
        python = str(self._templar.template(C.config.get_config_value("INTERPRETER_PYTHON", variables=variables)))
        return python.startswith("auto") or _same_python(python, sys.executable)


def _same_python(one: str, other: str) -> bool:
    """Return whether two paths are the same Python.

    The interpreter of a virtual environment is a link to another one, so the folders must be equal too.
    """
    return os.path.dirname(one) == os.path.dirname(other) and os.path.realpath(one) == os.path.realpath(other)


def _wants_invocation(variables: dict[str, t.Any]) -> bool:
    setting = "INJECT_INVOCATION"  # since ansible-core 2.21; before, always
    return not C.config.get_configuration_definition(setting) or bool(
        C.config.get_config_value(setting, variables=variables)
    )


class NodeAction(Normal):  # type: ignore[misc]  # ansible-core has no types
    """Base class of the actions. Ansible goes on by itself with a host that a task with C(ignore_unreachable) loses."""

    def run(self, tmp: t.Any = None, task_vars: dict[str, t.Any] | None = None) -> dict[str, t.Any]:
        """Run the module. A host that cannot be reached is a failure with C(state=unreachable)."""
        given = self._task.args
        try:
            self._task.args = sealed.unseal(given)
        except sealed.SealError as error:
            return {"failed": True, "changed": False, "msg": str(error)}
        try:
            return _without_variables(self._reached(tmp, task_vars))
        finally:
            # Callbacks get the arguments, too. A retry needs them as they were.
            self._task.args = given if self._task.until or self._task.retries else sealed.masked(given)

    def _reached(self, tmp: t.Any, task_vars: dict[str, t.Any] | None) -> dict[str, t.Any]:
        try:
            result: dict[str, t.Any] = super().run(tmp, task_vars)
        except AnsibleAction:
            raise
        except AnsibleConnectionFailure as error:
            if _OF_BECOME.search(str(error)):
                return _not_run(str(error))
            return self._lost(str(error))
        except AnsibleError as error:
            # An exception ends the play of the host, also where failed_when leaves the failure to its row.
            return _not_run(str(error))
        if result.get(UNREACHABLE):
            return self._lost(str(result.get("msg") or ""))
        if "module_stdout" in result:
            return {**result, **_not_run(last_words(result), _NO_RESULT)}
        return result

    def _lost(self, reason: str) -> dict[str, t.Any]:
        """Return the result of a task whose host cannot be reached, for Ansible's own `reason`."""
        words = f"its host cannot be reached: {_one_line(reason) or 'the connection failed'}"
        if self._task.ignore_unreachable:
            # The row of the node quotes it, with a remedy of its own.
            return {UNREACHABLE: True, "changed": False, "msg": words}
        msg = f"{words}. Run again once it can be reached"
        return {"failed": True, "changed": False, "state": UNREACHABLE, "msg": msg}

    def cleanup(self, force: bool = False) -> None:
        """Remove the temporary folder on the node. A lost connection must not replace the result of the task."""
        # The next task on the host reports it.
        with contextlib.suppress(AnsibleConnectionFailure):
            super().cleanup(force)


def _without_variables(result: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the result of a module on a node without facts and statistics, which none of these modules has.

    Root on the node decides what its Python prints. Facts would be variables of the host: those that tasks of the whole
    batch use on the controller, such as the address of the API server. AWX hands statistics to later jobs.
    """
    kept = paths.without(result, ("ansible_facts", "ansible_stats"))
    # Which Python Ansible has found: it removes that of a module itself.
    given = result.get("ansible_facts")
    if isinstance(given, dict):
        facts = {key: given[key] for key in given if key.startswith(FOUND)}
        if facts:
            kept["ansible_facts"] = facts
    return kept


def _not_run(reason: str, words: str = NOT_RUN) -> dict[str, t.Any]:
    """Return the failure of a task whose module did not run on its host, for Ansible's own `reason`."""
    if _OF_BECOME.search(reason):
        words = _AS_ROOT
    return {"failed": True, "changed": False, "msg": words.format(_one_line(reason))}


def last_words(result: t.Mapping[str, t.Any]) -> str:
    """Return what ran on a host in place of a module, or instead of its result, has printed at its end.

    Without such words it is Ansible's own message.
    """
    printed = f"{result['module_stdout']}\n{result.get('module_stderr') or ''}".splitlines()
    lines = [line.strip() for line in printed if line.strip() and not _OF_SSH.fullmatch(line.strip())]
    return " ".join(lines[-2:])[-QUOTED:] or str(result.get("msg") or "")


def _one_line(text: str) -> str:
    return " ".join(text.split()).rstrip(".:, ")
