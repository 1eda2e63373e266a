# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which cluster and which credentials are meant, and that cluster in words. Sends no request, and does not run the
plugin of a kubeconfig.

One order of precedence: options, then K8S_AUTH_*, then the kubeconfig. The first of these that names a cluster is used
alone: neither the credentials nor the trust of those after it are sent to its address, for which they were not given.
Credentials without a cluster are for the cluster of those after them, and replace all of its credentials.
"""

from __future__ import annotations

import os
import typing as t

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.yaml import yaml_load

from . import auth, library
from .errors import ClusterError

Options = t.Dict[str, t.Any]

CLUSTER = ("host", "kubeconfig", "context", "in_cluster")
CREDENTIALS = ("api_key", "username", "password", "client_cert", "client_key")
TRUST = ("validate_certs", "ca_cert")
IDENTITY = ("impersonate_user", "impersonate_groups")
"""Who acts for the user. This narrows what may be done, so that of the environment is used for every cluster."""


def completed(options: Options) -> Options:
    """Return the options of a module, completed from the environment; they are complete after one call or several.

    Raises ClusterError for a variable with a wrong value, and for options that leave open which cluster is meant.
    """
    found = _of_environment()
    given = {name: value for name, value in options.items() if value not in (None, "")}
    if _any(given, CLUSTER):
        # A context is one of the kubeconfig, wherever that is named.
        kept = ("kubeconfig",) if not _any(given, ("host", "kubeconfig", "in_cluster")) else ()
        stray = [auth.VARIABLES[name][0] for name in CREDENTIALS if name in found]
        if stray and not _any(given, ("kubeconfig", "context", "in_cluster", *CREDENTIALS)):
            raise ClusterError(
                f"the options name the host {auth.without_login(str(given['host']))} without credentials, and "
                f"{', '.join(stray)} of the environment is not sent there, since it was not given for this host. Set "
                "api_key, client_cert or username beside host, or set the host as K8S_AUTH_HOST too"
            )
        found = _without(found, {*CLUSTER, *TRUST, *CREDENTIALS} - {*kept})
    if _any(given, CREDENTIALS):
        found = _without(found, CREDENTIALS)
    if _any(given, IDENTITY):
        found = _without(found, IDENTITY)
    both = {**options, **found, **given}
    _check(both)
    return both


def _of_environment() -> Options:
    """Return the options that K8S_AUTH_* sets. An empty variable sets none, as where AWX has no value."""
    spec = auth.argument_spec()
    texts = {
        name: next(filter(None, map(os.environ.get, variables)), None) for name, variables in auth.VARIABLES.items()
    }
    given = {name: text for name, text in texts.items() if text}
    checked = ArgumentSpecValidator({name: spec[name] for name in given}).validate(given)
    if checked.error_messages:
        raise ClusterError(f"{'; '.join(checked.error_messages)}: correct the K8S_AUTH_ variable")
    return t.cast("Options", checked.validated_parameters)


def secrets() -> set[str]:
    """Return the secret texts of the environment, so that they stay out of logs."""
    found = (os.environ.get(variable) for name in ("api_key", "password") for variable in auth.VARIABLES[name])
    return {text for text in found if text}


def _check(both: Options) -> None:
    """Raise ClusterError for options of which some would be ignored."""
    if both.get("in_cluster") and _any(both, ("host", "kubeconfig", "context")):
        raise ClusterError(
            "in_cluster names the cluster in which Ansible runs, and host, kubeconfig or context another one: set "
            "only one of them"
        )
    if both.get("context") and both.get("host") and not both.get("kubeconfig"):
        raise ClusterError(
            f"context {both['context']} is one of a kubeconfig, and host {auth.without_login(str(both['host']))} is "
            "set without a kubeconfig: set kubeconfig too, or remove context or host"
        )
    if bool(both.get("username")) != bool(both.get("password")):
        raise ClusterError("username and password belong together: set both in the same place, or none of them")


def _any(options: Options, names: t.Iterable[str]) -> bool:
    return any(options.get(name) for name in names)


def _without(options: Options, names: t.Container[str]) -> Options:
    return {name: value for name, value in options.items() if name not in names}


def in_words(options: t.Mapping[str, t.Any]) -> str:
    """Return the address and where it comes from; empty if it cannot be found out. The first request reports why.

    `options` are completed, see `completed`.
    """
    if options.get("in_cluster"):
        return "the cluster in which Ansible runs"
    if options.get("host"):
        return auth.without_login(str(options["host"]))
    given = options.get("kubeconfig")
    path = "" if isinstance(given, dict) else kubeconfig(given)
    try:
        files = _files(given)
        context = options.get("context") or _current(given, path)
        cluster = _named(files, "contexts", context)["context"]["cluster"]
        server = _named(files, "clusters", cluster)["cluster"]["server"]
    # Whatever is wrong with a kubeconfig, the client reports it.
    except Exception:  # pylint: disable=broad-except
        return ""
    return f"{auth.without_login(str(server))} (context {context} of {path or 'a kubeconfig given as a mapping'})"


def contexts(options: t.Mapping[str, t.Any]) -> list[str]:
    """Return the names of the contexts that a kubeconfig has, none if it cannot be read. `options` as in in_words."""
    given = options.get("kubeconfig")
    try:
        files = _files(given)
        return [str(entry["name"]) for one in files for entry in one.get("contexts") or ()]
    # Whatever is wrong with a kubeconfig, the client reports it.
    except Exception:  # pylint: disable=broad-except
        return []


def kubeconfig(given: t.Any) -> str:
    """Return the path of the kubeconfig, several ones with colons between them, as kubectl takes them."""
    return os.path.expanduser(given) if given else os.environ.get("KUBECONFIG") or os.path.expanduser("~/.kube/config")


def _current(given: t.Any, path: str) -> str:
    """Return the current context. Of several files, each release of the client takes another one's."""
    if isinstance(given, dict):
        return str(given["current-context"])
    return str(library.kubernetes.config.list_kube_config_contexts(path)[1]["name"])


def _files(given: t.Any) -> list[dict[str, t.Any]]:
    return (
        [given] if isinstance(given, dict) else [_kubeconfig_at(part) for part in kubeconfig(given).split(os.pathsep)]
    )


def _kubeconfig_at(path: str) -> dict[str, t.Any]:
    """Return a kubeconfig, an empty one if there is no such file: kubectl skips those."""
    if not os.path.isfile(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return t.cast("dict[str, t.Any]", yaml_load(file.read()))


def _named(files: t.Sequence[t.Mapping[str, t.Any]], kind: str, name: str) -> t.Any:
    """Return the first entry of a name, which wins over those in later files."""
    return next(entry for one in files for entry in one.get(kind) or () if entry["name"] == name)
