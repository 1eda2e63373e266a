# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connection options of every API module, with the names and environment variables of kubernetes.core.

Which cluster and which credentials they mean, that cluster in words, and what of them is not shown. Sends no request,
and does not run the plugin of a kubeconfig.

One order of precedence: options, then K8S_AUTH_*, then the kubeconfig. The first of these that names a cluster is used
alone: neither the credentials nor the trust of those after it are sent to its address, for which they were not given.
Credentials without a cluster are for the cluster of those after them, and replace all of its credentials.
"""

from __future__ import annotations

import os
import re
import typing as t

from ansible.module_utils.basic import env_fallback
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.yaml import yaml_load

from ..._config.values.paths import typed, without
from . import kubelet_on_host, library
from .errors import ClusterError

_Options = t.Dict[str, t.Any]

_CLUSTER = ("host", "kubeconfig", "context", "in_cluster")
CREDENTIALS = ("api_key", "username", "password", "client_cert", "client_key")
_TRUST = ("validate_certs", "ca_cert")
_IDENTITY = ("impersonate_user", "impersonate_groups")
"""Who acts for the user. This narrows what may be done, so that of the environment is used for every cluster."""
_HIDDEN = "********"
_PLUGINS = {"auth-provider": "name", "exec": "command"}
"""What gives credentials to a user of a kubeconfig, and the key of its name."""
# Up to the last @: users write passwords as they are, with characters that a URL cannot have.
_LOGIN = re.compile(r"(?<=://)\S*(?=@)")
VARIABLES = {
    "kubeconfig": ("K8S_AUTH_KUBECONFIG",),
    "context": ("K8S_AUTH_CONTEXT",),
    "host": ("K8S_AUTH_HOST",),
    "api_key": ("K8S_AUTH_API_KEY",),
    "username": ("K8S_AUTH_USERNAME",),
    "password": ("K8S_AUTH_PASSWORD",),
    "validate_certs": ("K8S_AUTH_VERIFY_SSL", "K8S_AUTH_VALIDATE_CERTS"),
    "ca_cert": ("K8S_AUTH_SSL_CA_CERT", "K8S_AUTH_CA_CERT"),
    "client_cert": ("K8S_AUTH_CERT_FILE", "K8S_AUTH_CLIENT_CERT"),
    "client_key": ("K8S_AUTH_KEY_FILE", "K8S_AUTH_CLIENT_KEY"),
    "proxy": ("K8S_AUTH_PROXY",),
    "no_proxy": ("K8S_AUTH_NO_PROXY",),
    "persist_config": ("K8S_AUTH_PERSIST_CONFIG",),
    "impersonate_user": ("K8S_AUTH_IMPERSONATE_USER",),
    "impersonate_groups": ("K8S_AUTH_IMPERSONATE_GROUPS",),
}
"""The environment variables of each option. `completed` reads them: an option is not completed on its own."""


def argument_spec() -> dict[str, dict[str, t.Any]]:
    """Return the connection options of every API module."""

    def header(name: str, **spec: t.Any) -> dict[str, t.Any]:
        return {"type": "str", "fallback": (env_fallback, [f"K8S_AUTH_PROXY_HEADERS_{name}"]), **spec}

    return {
        "kubeconfig": {"type": "raw"},
        "context": {"type": "str"},
        "host": {"type": "str"},
        "api_key": {"type": "str", "no_log": True},
        "username": {"type": "str"},
        "password": {"type": "str", "no_log": True},
        "validate_certs": {"type": "bool", "aliases": ["verify_ssl"]},
        "ca_cert": {"type": "path", "aliases": ["ssl_ca_cert"]},
        "client_cert": {"type": "path", "aliases": ["cert_file"]},
        "client_key": {"type": "path", "aliases": ["key_file"], "no_log": False},
        "proxy": {"type": "str"},
        "no_proxy": {"type": "str"},
        "proxy_headers": {
            "type": "dict",
            "options": {
                "proxy_basic_auth": header("PROXY_BASIC_AUTH", no_log=True),
                "basic_auth": header("BASIC_AUTH", no_log=True),
                "user_agent": header("USER_AGENT"),
            },
        },
        "persist_config": {"type": "bool"},
        "impersonate_user": {"type": "str"},
        "impersonate_groups": {"type": "list", "elements": "str"},
        "in_cluster": {"type": "bool", "default": False},
        "request_timeout": {"type": "int", "default": 30},
        "concurrency": {"type": "int", "default": 8},
        "read": {"type": "str", "choices": ["auto", "kubelet", "node", "proxy"], "default": "auto"},
        "read_service_account": {"type": "str", "default": kubelet_on_host.ACCOUNT},
        "kubelet_ca_cert": {"type": "path"},
    }


def kubeconfig_secrets(kubeconfig: t.Any) -> set[str]:
    """Return the secret strings of a kubeconfig that is set as a mapping, so that they stay out of logs."""
    found: list[t.Any] = []
    # Loading the kubeconfig reports what is malformed.
    for user in typed(typed(kubeconfig, dict).get("users"), list):
        values = typed(typed(user, dict).get("user"), dict)
        found += map(values.get, ("token", "password", "client-key-data"))
        provider = typed(typed(values.get("auth-provider"), dict).get("config"), dict)
        found += map(provider.get, ("access-token", "client-secret", "id-token", "refresh-token"))
        for variable in typed(typed(values.get("exec"), dict).get("env"), list):
            found.append(typed(variable, dict).get("value"))
    return set(map(str, filter(None, found)))


def shown(arguments: t.Any, spec: t.Mapping[str, t.Any]) -> t.Any:
    """Return the arguments of a module as they are shown: without the users of a kubeconfig, without logins in
    addresses, and without the values of options that the module does not have, such as misspelled ones.
    """
    if not isinstance(arguments, dict):
        return arguments
    known: dict[str, t.Any] = {}
    for given, option in spec.items():
        known.update(dict.fromkeys((given, *option.get("aliases", ())), option))
    found: dict[str, t.Any] = {}
    for name, value in arguments.items():
        if name not in known:
            found[name] = _HIDDEN
        elif name == "kubeconfig":
            found[name] = _kubeconfig(value)
        elif "options" in known[name]:
            found[name] = shown(value, known[name]["options"])
        else:
            found[name] = _without_logins(value)
    return found


def without_login(text: str) -> str:
    """Return a text with the user and the password of an address masked."""
    return _LOGIN.sub(_HIDDEN, text)


def is_path(kubeconfig: t.Any) -> bool:
    """Return whether a kubeconfig is given as a path, not as its own text."""
    return isinstance(kubeconfig, str) and "\n" not in kubeconfig and not kubeconfig.lstrip().startswith(("{", "["))


def _kubeconfig(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        shown_config = _without_logins(value)
        if "users" in value:
            shown_config["users"] = _HIDDEN
        return shown_config
    if value is None or is_path(value):
        return value
    return _HIDDEN


def _without_logins(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {key: _without_logins(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return list(map(_without_logins, value))
    if isinstance(value, str):
        return without_login(value)
    return value


def completed(options: _Options) -> _Options:
    """Return the options of a module, completed from the environment; they are complete after one call or several.

    Raises ClusterError for a variable with a wrong value, and for options that leave open which cluster is meant.
    """
    found = _of_environment()
    given = {name: value for name, value in options.items() if value not in (None, "", [""])}
    # An empty option would replace what the kubeconfig has.
    unset = dict.fromkeys(options.keys() - given.keys())
    if _any(given, _CLUSTER):
        # A context is one of the kubeconfig, wherever that is named.
        replaced = {*_CLUSTER, *_TRUST, *CREDENTIALS}
        if not _any(given, ("host", "kubeconfig", "in_cluster")):
            replaced.remove("kubeconfig")
        stray = [VARIABLES[name][0] for name in CREDENTIALS if name in found]
        if stray and not _any(given, ("kubeconfig", "context", "in_cluster", *CREDENTIALS)):
            raise ClusterError(
                f"the options name the host {without_login(str(given['host']))} without credentials, and "
                f"{', '.join(stray)} of the environment is not sent there, since it was not given for this host. Set "
                "api_key, client_cert or username beside host, or set the host as K8S_AUTH_HOST too"
            )
        found = without(found, replaced)
    if _any(given, CREDENTIALS):
        found = without(found, CREDENTIALS)
    if _any(given, _IDENTITY):
        found = without(found, _IDENTITY)
    both = {**unset, **found, **given}
    _check(both)
    return both


def _of_environment() -> _Options:
    """Return the options that K8S_AUTH_* sets. An empty variable sets none, as where AWX has no value."""
    spec = argument_spec()
    given: dict[str, str] = {}
    for name, variables in VARIABLES.items():
        for text in filter(None, map(os.environ.get, variables)):
            given.setdefault(name, text)
    checked = ArgumentSpecValidator({name: spec[name] for name in given}).validate(given)
    if checked.error_messages:
        raise ClusterError(f"{'; '.join(checked.error_messages)}: correct the K8S_AUTH_ variable")
    return t.cast("_Options", checked.validated_parameters)


def environment_secrets() -> set[str]:
    """Return the secret texts of the environment, so that they stay out of logs."""
    return set(filter(None, map(os.environ.get, (*VARIABLES["api_key"], *VARIABLES["password"]))))


def _check(both: _Options) -> None:
    """Raise ClusterError for options of which some would be ignored."""
    if both.get("in_cluster") and _any(both, ("host", "kubeconfig", "context")):
        raise ClusterError(
            "in_cluster names the cluster in which Ansible runs, and host, kubeconfig or context another one: set "
            "only one of them"
        )
    if both.get("context") and both.get("host") and not both.get("kubeconfig"):
        raise ClusterError(
            f"context {both['context']} is one of a kubeconfig, and host {without_login(str(both['host']))} is "
            "set without a kubeconfig: set kubeconfig too, or remove context or host"
        )
    if bool(both.get("username")) != bool(both.get("password")):
        raise ClusterError("username and password belong together: set both in the same place, or none of them")


def _any(options: t.Mapping[str, t.Any], names: t.Iterable[str]) -> bool:
    return any(map(options.get, names))


def in_words(options: t.Mapping[str, t.Any]) -> str:
    """Return the address and where it comes from; empty if it cannot be found out. The first request reports why.

    `options` are completed, see `completed`.
    """
    if options.get("in_cluster"):
        return "the cluster in which Ansible runs"
    if options.get("host"):
        return without_login(str(options["host"]))
    files_of, given = "a kubeconfig given as a mapping", options.get("kubeconfig")
    if not isinstance(given, dict):
        files_of = kubeconfig_path(given)
    try:
        files = _files(given)
        context = options.get("context") or _current(given)
        cluster = _named(files, "contexts", context)["context"]["cluster"]
        server = _named(files, "clusters", cluster)["cluster"]["server"]
    # Whatever is wrong with a kubeconfig, the client reports it.
    except Exception:  # pylint: disable=broad-except
        return ""
    return f"{without_login(str(server))} (context {context} of {files_of})"


class User(t.NamedTuple):
    """The user of a kubeconfig. `plugin`: the program or provider that gives its credentials, empty without one."""

    name: str
    plugin: str


def kubeconfig_user(options: t.Mapping[str, t.Any]) -> User | None:
    """Return the user that a kubeconfig names, None if it cannot be read. `options` as in in_words."""
    given = options.get("kubeconfig")
    try:
        files = _files(given)
        name = _named(files, "contexts", options.get("context") or _current(given))["context"]["user"]
        values = _named(files, "users", name)["user"]
        plugin = ""
        for kind, label in _PLUGINS.items():
            if kind in values:
                plugin = str(values[kind].get(label) or kind)
        return User(str(name), plugin)
    # Whatever is wrong with a kubeconfig, the client reports it.
    except Exception:  # pylint: disable=broad-except
        return None


def user_in_words(options: t.Mapping[str, t.Any]) -> tuple[str, str]:
    """Return whose the credentials are, empty if that is not known, and how to renew them. `options` as in in_words."""
    if options.get("in_cluster"):
        return " of the service account of this pod", "renew it"
    user = None
    if not _any(options, CREDENTIALS) and (options.get("kubeconfig") or not options.get("host")):
        user = kubeconfig_user(options)
    if user is None:
        return "", "renew it"
    if user.plugin:
        return f" that the plugin {user.plugin} gave for the user {user.name} of the kubeconfig", "log in again with it"
    return f" of the user {user.name} of the kubeconfig", "renew it"


def contexts(options: t.Mapping[str, t.Any]) -> list[str]:
    """Return the names of the contexts that a kubeconfig has, none if it cannot be read. `options` as in in_words."""
    given = options.get("kubeconfig")
    try:
        return [str(entry["name"]) for entry in _entries(_files(given), "contexts")]
    # Whatever is wrong with a kubeconfig, the client reports it.
    except Exception:  # pylint: disable=broad-except
        return []


def kubeconfig_path(given: t.Any) -> str:
    """Return the path of the kubeconfig, several ones with colons between them, as kubectl takes them."""
    if not given and os.environ.get("KUBECONFIG"):
        return os.environ["KUBECONFIG"]
    return os.path.expanduser(given or "~/.kube/config")


def _current(given: t.Any) -> str:
    """Return the current context. Of several files, each release of the client takes another one's."""
    if isinstance(given, dict):
        return str(given["current-context"])
    return str(library.kubernetes.config.list_kube_config_contexts(kubeconfig_path(given))[1]["name"])


def _files(given: t.Any) -> list[dict[str, t.Any]]:
    if isinstance(given, dict):
        return [given]
    return list(map(_kubeconfig_at, kubeconfig_path(given).split(os.pathsep)))


def _kubeconfig_at(path: str) -> dict[str, t.Any]:
    """Return a kubeconfig, an empty one if there is no such file: kubectl skips those."""
    if not os.path.isfile(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return t.cast("dict[str, t.Any]", yaml_load(file.read()))


def _named(files: t.Sequence[t.Mapping[str, t.Any]], kind: str, name: str) -> t.Any:
    """Return the first entry of a name, which wins over those in later files."""
    return next(entry for entry in _entries(files, kind) if entry["name"] == name)


def _entries(files: t.Sequence[t.Mapping[str, t.Any]], kind: str) -> t.Iterator[t.Any]:
    for one in files:
        yield from one.get(kind) or ()
