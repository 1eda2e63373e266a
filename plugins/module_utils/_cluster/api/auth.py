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


def argument_spec() -> dict[str, dict[str, t.Any]]:
    """Return the connection options of every API module; K8S_AUTH_* variables replace options that are not set."""

    def option(*variables: str, **spec: t.Any) -> dict[str, t.Any]:
        return {"type": "str", "fallback": (env_fallback, [f"K8S_AUTH_{name}" for name in variables]), **spec}

    return {
        "kubeconfig": option("KUBECONFIG", type="raw"),
        "context": option("CONTEXT"),
        "host": option("HOST"),
        "api_key": option("API_KEY", no_log=True),
        "username": option("USERNAME"),
        "password": option("PASSWORD", no_log=True),
        "validate_certs": option("VERIFY_SSL", "VALIDATE_CERTS", type="bool", aliases=["verify_ssl"]),
        "ca_cert": option("SSL_CA_CERT", "CA_CERT", type="path", aliases=["ssl_ca_cert"]),
        "client_cert": option("CERT_FILE", "CLIENT_CERT", type="path", aliases=["cert_file"]),
        "client_key": option("KEY_FILE", "CLIENT_KEY", type="path", aliases=["key_file"], no_log=False),
        "proxy": option("PROXY"),
        "no_proxy": option("NO_PROXY"),
        "proxy_headers": {
            "type": "dict",
            "options": {
                "proxy_basic_auth": option("PROXY_HEADERS_PROXY_BASIC_AUTH", no_log=True),
                "basic_auth": option("PROXY_HEADERS_BASIC_AUTH", no_log=True),
                "user_agent": option("PROXY_HEADERS_USER_AGENT"),
            },
        },
        "persist_config": option("PERSIST_CONFIG", type="bool"),
        "impersonate_user": option("IMPERSONATE_USER"),
        "impersonate_groups": option("IMPERSONATE_GROUPS", type="list", elements="str"),
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
