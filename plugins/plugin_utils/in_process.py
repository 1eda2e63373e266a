# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs a controller module in Ansible's own process, with the checks and results of AnsibleModule."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import os
import traceback
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.parameters import remove_values
from ansible.module_utils.common.warnings import get_warning_messages
from ansible.module_utils.errors import UnsupportedError

from ..module_utils._cluster.api import client_configuration, cluster_options
from ..module_utils._cluster.api.controller_module import Definition
from ..module_utils._cluster.api.errors import MissingLibrary
from . import sealed

Result = t.Dict[str, t.Any]
# A mapping with more values than this is not part of what Ansible keeps of a task's arguments.
LARGE = 500


PATHS = frozenset({"KUBECONFIG", "K8S_AUTH_KUBECONFIG"})
"""Variables of the environment with the paths of kubeconfigs."""


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
