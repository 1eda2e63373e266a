# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One order of precedence, as a table over every combination of options, K8S_AUTH_* and kubeconfig.

Every credential names the place that it was given in, and every address too. What counts is what a session sends where.
The cluster in words is the one that a client of the same options talks to. The options are those of kubernetes.core, so
its variables and module_defaults work here too.
"""

from __future__ import annotations

import itertools
import json
import typing as t
from pathlib import Path

import kubernetes
import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import (
    client_configuration,
    cluster_options,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.cluster_options import completed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from tests.support.api.server import kubeconfig

pytestmark = pytest.mark.usefixtures("bare_environment")

PLACES = ("options", "environment")
PARTS = ("nothing", "host", "kubeconfig", "context")
WHO = ("none", "token", "certificate", "password")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a kubeconfig and a client certificate of each place; `default` has that of KUBECONFIG."""
    for place in (*PLACES, "default"):
        certificate = f"{tmp_path}/{place}.crt"
        Path(certificate).write_text("")
        user = {"token": f"token of {place}.conf", "client-certificate": certificate, "client-key": certificate}
        names = ("here", *(f"context-of-{other}" for other in PLACES))
        servers = {name: f"https://{name}.{place}.conf" for name in names}
        (tmp_path / f"{place}.conf").write_text(json.dumps(kubeconfig(servers, user)))
    return tmp_path


def given(place: str, part: str, who: str, files: Path) -> dict[str, str]:
    """Return the options that a place sets."""
    certificate = f"{files}/{place}.crt"
    parts = {
        "host": {"host": f"https://host-of-{place}"},
        "kubeconfig": {"kubeconfig": f"{files}/{place}.conf"},
        "context": {"context": f"context-of-{place}"},
        "token": {"api_key": f"token-of-{place}"},
        "certificate": {"client_cert": certificate, "client_key": certificate},
        "password": {"username": f"user-of-{place}", "password": "p"},
    }
    return {**parts.get(part, {}), **parts.get(who, {})}


def connection(options: dict[str, str], environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> t.Any:
    """Return the connection, or the message of a refusal."""
    for name, value in environment.items():
        monkeypatch.setenv(cluster_options.VARIABLES[name][0], value)
    try:
        return client_configuration.of(completed(dict(options)))
    except ClusterError as error:
        return error.message


def address(parts: dict[str, str]) -> str:
    """Return the address of the first place that names a cluster."""
    for place in PLACES:
        part = parts[place]
        if part == "host":
            return f"https://host-of-{place}"
        if part == "kubeconfig":
            return f"https://here.{place}.conf"
        if part == "context":
            lower = "environment" if place == "options" and parts["environment"] == "kubeconfig" else "default"
            return f"https://context-of-{place}.{lower}.conf"
    return "https://here.default.conf"


@pytest.mark.parametrize("parts", list(itertools.product(PARTS, PARTS)), ids="-".join)
def test_every_combination(parts: tuple[str, str], files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first place that names a cluster wins, and gets only credentials of itself or of those before it."""
    monkeypatch.setenv("KUBECONFIG", f"{files}/default.conf")
    wanted = address(dict(zip(PLACES, parts)))
    owner = next((place for place, part in zip(PLACES, parts) if part != "nothing"), "default")
    for whos in itertools.product(WHO, WHO):
        values = [given(place, part, who, files) for place, part, who in zip(PLACES, parts, whos)]
        with monkeypatch.context() as patch:
            found = connection(values[0], values[1], patch)
        if parts[0] == "host" and whos[0] == "none" and whos[1] != "none":
            assert isinstance(found, str) and "is not sent there" in found, (parts, whos)
            continue
        assert not isinstance(found, str), (parts, whos, found)
        places = [
            place
            for place, who in zip(PLACES, whos)
            if who != "none" and not (owner == "options" and place == "environment")
        ]
        kind = dict(zip(PLACES, whos))[places[0]] if places else ""
        sent = (found.host, sorted(set(found.api_key.values())), found.cert_file)
        # Without other credentials, those of the kubeconfig that names the address.
        of_kubeconfig = wanted.rpartition("/")[2].split(".")[1:2]
        tokens, certificate = [], None
        if kind == "token":
            tokens = [f"Bearer token-of-{places[0]}"]
        elif kind == "password":
            tokens = [next(iter(found.api_key.values()))]
            assert found.username == f"user-of-{places[0]}", (parts, whos)
        elif kind == "certificate":
            certificate = f"{files}/{places[0]}.crt"
        elif of_kubeconfig:
            tokens, certificate = [f"Bearer token of {of_kubeconfig[0]}.conf"], f"{files}/{of_kubeconfig[0]}.crt"
        assert sent == (wanted, tokens, certificate), (parts, whos)


@pytest.mark.parametrize("place", PLACES)
def test_a_host_and_a_kubeconfig_of_one_place_belong_together(
    place: str, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a tunnel to a cluster."""
    monkeypatch.setenv("KUBECONFIG", f"{files}/default.conf")
    both = {**given(place, "host", "none", files), **given(place, "kubeconfig", "none", files)}
    found = connection(both if place == "options" else {}, both if place == "environment" else {}, monkeypatch)
    assert (found.host, *found.api_key.values()) == (f"https://host-of-{place}", f"Bearer token of {place}.conf")


@pytest.mark.parametrize(
    ("options", "environment", "words"),
    [
        ({"host": "https://h", "context": "c"}, {}, "context c is one of a kubeconfig"),
        ({}, {"host": "https://h", "context": "c"}, "context c is one of a kubeconfig"),
        ({"in_cluster": True, "host": "https://h"}, {}, "in_cluster names the cluster"),
        ({"in_cluster": True, "context": "c"}, {}, "in_cluster names the cluster"),
        ({"host": "https://h", "username": "u"}, {"password": "p"}, "belong together"),
        ({"host": "https://h", "password": "p"}, {}, "belong together"),
        ({"host": "https://u:hunter2@h"}, {"api_key": "hunter2"}, "host https://********@h without credentials"),
        ({}, {"validate_certs": "perhaps"}, "correct the K8S_AUTH_ variable"),
    ],
)
def test_what_would_be_ignored_is_refused(
    options: dict[str, t.Any], environment: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = connection(options, environment, monkeypatch)
    assert isinstance(found, str) and words in found and "hunter2" not in found, found


@pytest.mark.parametrize(
    ("options", "environment", "kept"),
    [
        # What decides whether an address is trusted belongs to that address.
        ({"host": "https://h"}, {"validate_certs": "false"}, {"validate_certs": None}),
        ({"host": "https://h"}, {"ca_cert": "/ca"}, {"ca_cert": None}),
        ({}, {"host": "https://h", "validate_certs": "false"}, {"validate_certs": False}),
        ({"validate_certs": True}, {"host": "https://h", "validate_certs": "false"}, {"validate_certs": True}),
        ({"in_cluster": True}, {"host": "https://h", "api_key": "t"}, {"host": None, "api_key": None}),
        # The network is that of the controller, and a narrower user never does more.
        ({"host": "https://h"}, {"proxy": "http://p"}, {"proxy": "http://p"}),
        ({"host": "https://h"}, {"impersonate_user": "u"}, {"impersonate_user": "u"}),
        ({"impersonate_groups": ["g"]}, {"impersonate_user": "u"}, {"impersonate_user": None}),
        ({}, {"impersonate_groups": "a,b"}, {"impersonate_groups": ["a", "b"]}),
        ({}, {"host": ""}, {"host": None}),
        # As where AWX has no answer: it would replace the address and the trust of the kubeconfig.
        ({"host": "", "ca_cert": "", "proxy": ""}, {}, {"host": None, "ca_cert": None, "proxy": None}),
        ({"host": ""}, {"host": "https://h"}, {"host": "https://h"}),
    ],
)
def test_what_else_is_taken_from_the_environment(
    options: dict[str, t.Any], environment: dict[str, str], kept: dict[str, t.Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(cluster_options.VARIABLES[name][0], value)
    found = completed(dict(options))
    assert {name: found.get(name) for name in kept} == kept
    assert completed(found) == found


def of(name: str, *more: str) -> dict[str, t.Any]:
    """A kubeconfig whose current context is the first name."""
    return kubeconfig({one: f"https://{name}-{one}:6443" for one in (name, *more)}, {"token": "hunter2"})


@pytest.fixture
def two(tmp_path: Path) -> str:
    """The paths of two files, of which the second repeats a context of the first, and of one that does not exist."""
    (tmp_path / "a").write_text(json.dumps(of("a", "b")))
    (tmp_path / "b").write_text(json.dumps(of("b", "c")))
    return f"{tmp_path}/none:{tmp_path}/a:{tmp_path}/b"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"host": "https://u:hunter2@h:1"}, "https://********@h:1"),
        ({"kubeconfig": of("a")}, "https://a-a:6443 (context a of a kubeconfig given as a mapping)"),
        ({}, "https://a-{current}:6443 (context {current} of {two})"),
        ({"context": "b"}, "https://a-b:6443 (context b of {two})"),
        ({"context": "c"}, "https://b-c:6443 (context c of {two})"),
    ],
)
def test_it_is_that_of_the_client(
    options: dict[str, t.Any], words: str, two: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", two)
    found = cluster_options.in_words(options)
    # The client takes the last one, until 31 the first one, as kubectl does.
    current = kubernetes.config.list_kube_config_contexts(two)[1]["name"]
    assert found == words.replace("{two}", two).replace("{current}", current)
    server = client_configuration.of(options).host
    assert "@" in server or found.startswith(server)


@pytest.mark.parametrize("content", ["", "[]", "current-context: x", "contexts: 5", "\t: ["])
def test_what_is_not_known_is_left_to_the_client(content: str, tmp_path: Path) -> None:
    (tmp_path / "k").write_text(content)
    assert cluster_options.in_words({"kubeconfig": str(tmp_path / "k")}) == ""
    assert cluster_options.in_words({"kubeconfig": 5 * "x"}) == ""
    assert cluster_options.in_words({"in_cluster": True}) == "the cluster in which Ansible runs"


OPTIONS: dict[str, tuple[str, str, str]] = {
    # The type, the alias, and the variable without its prefix.
    "kubeconfig": ("raw", "", "KUBECONFIG"),
    "context": ("str", "", "CONTEXT"),
    "host": ("str", "", "HOST"),
    "api_key": ("str", "", "API_KEY"),
    "username": ("str", "", "USERNAME"),
    "password": ("str", "", "PASSWORD"),
    "validate_certs": ("bool", "verify_ssl", "VERIFY_SSL"),
    "ca_cert": ("path", "ssl_ca_cert", "SSL_CA_CERT"),
    "client_cert": ("path", "cert_file", "CERT_FILE"),
    "client_key": ("path", "key_file", "KEY_FILE"),
    "proxy": ("str", "", "PROXY"),
    "no_proxy": ("str", "", "NO_PROXY"),
    "proxy_headers": ("dict", "", ""),
    "persist_config": ("bool", "", "PERSIST_CONFIG"),
    "impersonate_user": ("str", "", "IMPERSONATE_USER"),
    "impersonate_groups": ("list", "", "IMPERSONATE_GROUPS"),
}


@pytest.mark.parametrize("name", OPTIONS)
def test_option(name: str) -> None:
    option, (kind, alias, variable) = cluster_options.argument_spec()[name], OPTIONS[name]
    assert option["type"] == kind
    assert option.get("aliases", []) == list(filter(None, [alias]))
    assert "default" not in option and not option.get("required")
    assert not variable or f"K8S_AUTH_{variable}" in cluster_options.VARIABLES[name]


def test_no_option_takes_a_variable_alone() -> None:
    """Precedence completes the options together."""
    assert not [name for name, option in cluster_options.argument_spec().items() if "fallback" in option]


@pytest.mark.parametrize("name", ["proxy_basic_auth", "basic_auth", "user_agent"])
def test_proxy_headers(name: str) -> None:
    option = cluster_options.argument_spec()["proxy_headers"]["options"][name]
    assert (option["type"], option["fallback"][1]) == ("str", [f"K8S_AUTH_PROXY_HEADERS_{name.upper()}"])


def test_secrets_stay_out_of_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    """File names are not treated as secrets, so the log stays readable."""
    spec = cluster_options.argument_spec()
    hidden = {name for name, option in spec.items() if option.get("no_log")}
    assert hidden == {"api_key", "password"}
    headers = spec["proxy_headers"]["options"]
    assert {name for name, option in headers.items() if option.get("no_log")} == {"proxy_basic_auth", "basic_auth"}
    monkeypatch.setenv("K8S_AUTH_API_KEY", "one")
    monkeypatch.setenv("K8S_AUTH_PASSWORD", "two")
    assert cluster_options.environment_secrets() == {"one", "two"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"host": "https://u:p@h:6443/x"}, {"host": "https://********@h:6443/x"}),
        ({"proxy": "http://u:p/q@r@proxy:3128"}, {"proxy": "http://********@proxy:3128"}),
        ({"kubeconfig": "users:\n- user: {token: t}\n"}, {"kubeconfig": "********"}),
        ({"kubeconfig": '{"users": [{"user": {"token": "t"}}]}'}, {"kubeconfig": "********"}),
        ({"kubeconfig": ["t"]}, {"kubeconfig": "********"}),
        (
            {"kubeconfig": {"clusters": [{"proxy-url": "http://u:p@proxy:1"}], "users": [{"exec": ["--secret=t"]}]}},
            {"kubeconfig": {"clusters": [{"proxy-url": "http://********@proxy:1"}], "users": "********"}},
        ),
        # An option that the module does not have may be a misspelled one.
        ({"token": "t", "nodes": ["n1"]}, {"token": "********", "nodes": ["n1"]}),
        (
            {"proxy_headers": {"basic": "u:p", "user_agent": "a"}},
            {"proxy_headers": {"basic": "********", "user_agent": "a"}},
        ),
    ],
)
def test_the_options_as_they_are_shown(given: dict[str, t.Any], shown: dict[str, t.Any]) -> None:
    """Those without a secret as they are."""
    spec = {**cluster_options.argument_spec(), "nodes": {"type": "list"}}
    assert cluster_options.shown(given, spec) == shown
    plain = {"host": "https://h:6443", "context": "jane@prod", "kubeconfig": "~/.kube/config", "proxy_headers": "u:p"}
    assert cluster_options.shown({**plain, "ssl_ca_cert": "/a"}, spec) == {**plain, "ssl_ca_cert": "/a"}


OIDC = {"client-id": "public", "client-secret": "s1", "id-token": "i1", "refresh-token": "r1", "access-token": "a1"}
VARIABLES = [{"name": "PASSWORD", "value": "e1"}, {"name": "EMPTY", "value": ""}]


@pytest.mark.parametrize(
    ("users", "secrets"),
    [
        ([{"token": "t1", "client-certificate-data": "public"}, {"username": "u", "password": "p1"}], {"t1", "p1"}),
        ([{"client-key-data": "k1", "client-key": "/path"}], {"k1"}),
        ([{"auth-provider": {"name": "oidc", "config": OIDC}}], {"s1", "i1", "r1", "a1"}),
        ([{"exec": {"command": "c", "env": VARIABLES}}], {"e1"}),
        ([{"token": 12345}], {"12345"}),
        ([{"token": ""}, None, "text", {"exec": [], "auth-provider": 1}], set()),
    ],
)
def test_secrets_in_a_kubeconfig(users: list[t.Any], secrets: set[str]) -> None:
    assert cluster_options.kubeconfig_secrets({"users": [{"name": "a", "user": user} for user in users]}) == secrets


@pytest.mark.parametrize(
    "kubeconfig",
    [{}, "/some/path", None, 5, *({"users": users} for users in (None, "text", 5, ["text", None, {"name": "b"}]))],
)
def test_a_kubeconfig_without_secrets(kubeconfig: t.Any) -> None:
    assert cluster_options.kubeconfig_secrets(kubeconfig) == set()
