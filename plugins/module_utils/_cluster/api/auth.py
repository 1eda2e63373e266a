# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Connection options of every API module, with the names and environment variables of kubernetes.core."""

from __future__ import annotations

import re
import typing as t

from ansible.module_utils.basic import env_fallback

from . import kubelet_on_host

HIDDEN = "********"
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
"""The environment variables of each option. `precedence` reads them: an option is not completed on its own."""


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
        "read": {"type": "str", "choices": ["proxy", "kubelet", "node"], "default": "proxy"},
        "read_service_account": {"type": "str", "default": kubelet_on_host.ACCOUNT},
        "kubelet_ca_cert": {"type": "path"},
    }


def secrets(kubeconfig: t.Any) -> set[str]:
    """Return the secret strings of a kubeconfig that is set as a mapping, so that they stay out of logs."""
    found = []
    users = _mapping(kubeconfig).get("users")
    for user in users if isinstance(users, list) else []:
        values = _mapping(_mapping(user).get("user"))
        found += [values.get(key) for key in ("token", "password", "client-key-data")]
        provider = _mapping(_mapping(values.get("auth-provider")).get("config"))
        found += [provider.get(key) for key in ("access-token", "client-secret", "id-token", "refresh-token")]
        variables = _mapping(values.get("exec")).get("env")
        found += [_mapping(variable).get("value") for variable in (variables if isinstance(variables, list) else [])]
    return {str(value) for value in found if value}


def shown(arguments: t.Any, spec: t.Mapping[str, t.Any]) -> t.Any:
    """Return the arguments of a module as they are shown: without the users of a kubeconfig, without logins in
    addresses, and without the values of options that the module does not have, such as misspelled ones.
    """
    if not isinstance(arguments, dict):
        return arguments
    known = {name: option for given, option in spec.items() for name in (given, *option.get("aliases", ()))}
    found: dict[str, t.Any] = {}
    for name, value in arguments.items():
        if name not in known:
            found[name] = HIDDEN
        elif name == "kubeconfig":
            found[name] = _kubeconfig(value)
        elif "options" in known[name]:
            found[name] = shown(value, known[name]["options"])
        else:
            found[name] = without_login(value) if isinstance(value, str) else value
    return found


def without_login(text: str) -> str:
    """Return a text with the user and the password of an address masked."""
    return _LOGIN.sub(HIDDEN, text)


def is_path(kubeconfig: t.Any) -> bool:
    """Return whether a kubeconfig is given as a path, not as its own text."""
    return isinstance(kubeconfig, str) and "\n" not in kubeconfig and not kubeconfig.lstrip().startswith(("{", "["))


def _kubeconfig(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {key: HIDDEN if key == "users" else _addresses(inner) for key, inner in value.items()}
    return value if value is None or is_path(value) else HIDDEN


def _addresses(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return {key: _addresses(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_addresses(inner) for inner in value]
    return without_login(value) if isinstance(value, str) else value


def _mapping(value: t.Any) -> dict[str, t.Any]:
    """Return a mapping as it is, and an empty one for any other value: loading the kubeconfig reports the error."""
    return value if isinstance(value, dict) else {}
