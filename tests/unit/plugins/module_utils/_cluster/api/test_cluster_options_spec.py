# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The connection options are those of kubernetes.core, so its variables and module_defaults work here too."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import cluster_options

# kubernetes.core, plugins/doc_fragments/k8s_auth_options.py: options, aliases and environment variables.
THEIRS = {
    "kubeconfig": ("K8S_AUTH_KUBECONFIG",),
    "context": ("K8S_AUTH_CONTEXT",),
    "host": ("K8S_AUTH_HOST",),
    "api_key": ("K8S_AUTH_API_KEY",),
    "username": ("K8S_AUTH_USERNAME",),
    "password": ("K8S_AUTH_PASSWORD",),
    "validate_certs": ("K8S_AUTH_VERIFY_SSL",),
    "ca_cert": ("K8S_AUTH_SSL_CA_CERT",),
    "client_cert": ("K8S_AUTH_CERT_FILE",),
    "client_key": ("K8S_AUTH_KEY_FILE",),
    "proxy": ("K8S_AUTH_PROXY",),
    "no_proxy": ("K8S_AUTH_NO_PROXY",),
    "proxy_headers": (),
    "persist_config": ("K8S_AUTH_PERSIST_CONFIG",),
    "impersonate_user": ("K8S_AUTH_IMPERSONATE_USER",),
    "impersonate_groups": ("K8S_AUTH_IMPERSONATE_GROUPS",),
}
ALIASES = {
    "validate_certs": "verify_ssl",
    "ca_cert": "ssl_ca_cert",
    "client_cert": "cert_file",
    "client_key": "key_file",
}
TYPES = {
    "kubeconfig": "raw",
    "validate_certs": "bool",
    "ca_cert": "path",
    "client_cert": "path",
    "client_key": "path",
    "proxy_headers": "dict",
    "persist_config": "bool",
    "impersonate_groups": "list",
}


@pytest.mark.parametrize("name", THEIRS)
def test_option(name: str) -> None:
    option = cluster_options.argument_spec()[name]
    assert option["type"] == TYPES.get(name, "str")
    assert set(option.get("aliases", [])) >= {ALIASES[name]} if name in ALIASES else "aliases" not in option
    assert "default" not in option and not option.get("required")
    assert "fallback" not in option, "precedence completes the options together"
    assert set(cluster_options.VARIABLES.get(name, ())) >= set(THEIRS[name])


@pytest.mark.parametrize("name", ["proxy_basic_auth", "basic_auth", "user_agent"])
def test_proxy_headers(name: str) -> None:
    option = cluster_options.argument_spec()["proxy_headers"]["options"][name]
    assert (option["type"], option["fallback"][1]) == ("str", [f"K8S_AUTH_PROXY_HEADERS_{name.upper()}"])


def test_secrets_stay_out_of_logs() -> None:
    """File names are not treated as secrets, so the log stays readable."""
    spec = cluster_options.argument_spec()
    hidden = {name for name, option in spec.items() if option.get("no_log")}
    assert hidden == {"api_key", "password"}
    assert {name for name, option in spec["proxy_headers"]["options"].items() if option.get("no_log")} == {
        "proxy_basic_auth",
        "basic_auth",
    }


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"host": "https://u:p@h:6443/x"}, {"host": "https://********@h:6443/x"}),
        ({"proxy": "http://u:p/q@r@proxy:3128"}, {"proxy": "http://********@proxy:3128"}),
        ({"host": "https://h:6443", "context": "jane@prod"}, {"host": "https://h:6443", "context": "jane@prod"}),
        ({"kubeconfig": "~/.kube/config"}, {"kubeconfig": "~/.kube/config"}),
        ({"kubeconfig": "users:\n- user: {token: t}\n"}, {"kubeconfig": "********"}),
        ({"kubeconfig": '{"users": [{"user": {"token": "t"}}]}'}, {"kubeconfig": "********"}),
        ({"kubeconfig": ["t"]}, {"kubeconfig": "********"}),
        (
            {
                "kubeconfig": {
                    "current-context": "c",
                    "clusters": [{"cluster": {"proxy-url": "http://u:p@proxy:1"}}],
                    "users": [{"name": "u", "user": {"exec": {"args": ["--secret=t"]}}}],
                }
            },
            {
                "kubeconfig": {
                    "current-context": "c",
                    "clusters": [{"cluster": {"proxy-url": "http://********@proxy:1"}}],
                    "users": "********",
                }
            },
        ),
        ({"token": "t", "nodes": ["n1"]}, {"token": "********", "nodes": ["n1"]}),
        (
            {"proxy_headers": {"basic": "u:p", "user_agent": "a"}, "ssl_ca_cert": "/a"},
            {"proxy_headers": {"basic": "********", "user_agent": "a"}, "ssl_ca_cert": "/a"},
        ),
        ({"proxy_headers": "u:p"}, {"proxy_headers": "u:p"}),
    ],
)
def test_the_options_as_they_are_shown(given: dict[str, t.Any], shown: dict[str, t.Any]) -> None:
    """An option that the module does not have may be a misspelled one."""
    assert cluster_options.shown(given, {**cluster_options.argument_spec(), "nodes": {"type": "list"}}) == shown


def test_nothing_beyond_theirs_takes_a_variable() -> None:
    assert {
        name for name, option in cluster_options.argument_spec().items() if name not in THEIRS and "fallback" in option
    } == set()


@pytest.mark.parametrize(
    ("kubeconfig", "secrets"),
    [
        (
            {
                "users": [
                    {"name": "a", "user": {"token": "t1", "client-certificate-data": "public"}},
                    {"name": "b", "user": {"username": "u", "password": "p1"}},
                    {"name": "c", "user": {"client-key-data": "k1", "client-key": "/path"}},
                ]
            },
            {"t1", "p1", "k1"},
        ),
        (
            {
                "users": [
                    {
                        "name": "a",
                        "user": {
                            "auth-provider": {
                                "name": "oidc",
                                "config": {
                                    "client-id": "public",
                                    "client-secret": "s1",
                                    "id-token": "i1",
                                    "refresh-token": "r1",
                                    "access-token": "a1",
                                },
                            }
                        },
                    }
                ]
            },
            {"s1", "i1", "r1", "a1"},
        ),
        (
            {
                "users": [
                    {
                        "name": "a",
                        "user": {
                            "exec": {
                                "command": "c",
                                "env": [{"name": "PASSWORD", "value": "e1"}, {"name": "EMPTY", "value": ""}],
                            }
                        },
                    }
                ]
            },
            {"e1"},
        ),
        ({"users": [{"name": "a", "user": {"token": 12345}}]}, {"12345"}),
        ({"users": [{"name": "a", "user": {"token": ""}}, {"name": "b"}, None]}, set()),
        ({}, set()),
        ({"users": None}, set()),
        ("/some/path", set()),
        (None, set()),
        ({"users": "text"}, set()),
        ({"users": 5}, set()),
        ({"users": ["text", {"user": "text"}, {"user": {"exec": [], "auth-provider": 1}}]}, set()),
    ],
)
def test_secrets_in_a_kubeconfig(kubeconfig: t.Any, secrets: set[str]) -> None:
    assert cluster_options.kubeconfig_secrets(kubeconfig) == secrets
