# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a connection to the API server, from the options of a module and from a kubeconfig.

Also the temporary files into which the package `kubernetes` writes certificates and private keys of a kubeconfig. It
removes them when Python ends in the usual way. A worker of Ansible ends without that, so they would stay.
"""

from __future__ import annotations

import contextlib
import copy
import os
import sys
import threading
import time
import typing as t

from . import cluster_options, library
from .errors import ClusterError, short

# Seconds in which credentials of a kubeconfig are not looked at again: the library renews them five minutes before they
# expire, and would run a plugin for each request if its tokens are not valid for that long.
RENEWAL = 5.0


def of(options: dict[str, t.Any]) -> t.Any:
    """Return the `kubernetes.client.Configuration` of the options of a module, see `cluster_options.argument_spec`.

    Raises ClusterError.
    """
    configuration = library.kubernetes.client.Configuration()
    if options.get("in_cluster"):
        _guard(
            "in-cluster credentials",
            {},
            lambda: library.kubernetes.config.load_incluster_config(client_configuration=configuration),
        )
    elif not options.get("host") or options.get("kubeconfig"):
        _load_kubeconfig(options, configuration)
    if any(map(options.get, cluster_options.CREDENTIALS)):
        # An API server asks for a client certificate first: that of the kubeconfig would win over a token.
        _forget_credentials(configuration)
    for option, attribute in (
        ("host", "host"),
        ("username", "username"),
        ("password", "password"),
        ("validate_certs", "verify_ssl"),
        ("ca_cert", "ssl_ca_cert"),
        ("client_cert", "cert_file"),
        ("client_key", "key_file"),
        ("proxy", "proxy"),
        ("no_proxy", "no_proxy"),
    ):
        if options.get(option) is not None:
            setattr(configuration, attribute, options[option])
    _credentials(options, configuration)
    for option in ("ca_cert", "client_cert", "client_key"):
        if options.get(option) and not os.path.isfile(options[option]):
            raise ClusterError(f"{option}: there is no file {options[option]}")
    if options.get("proxy_headers"):
        configuration.proxy_headers = library.urllib3.util.make_headers(
            **{name: value for name, value in options["proxy_headers"].items() if value}
        )
    configuration.connection_pool_maxsize = options.get("concurrency") or 8
    # `errors.persist` repeats requests: it knows which failures are transient.
    configuration.retries = False
    return configuration


def _forget_credentials(configuration: t.Any) -> None:
    configuration.username = configuration.password = configuration.cert_file = configuration.key_file = None
    configuration.api_key, configuration.refresh_api_key_hook = {}, None


def _credentials(options: dict[str, t.Any], configuration: t.Any) -> None:
    """Let the options override the credentials of the kubeconfig for the whole session."""
    given = f"Bearer {options['api_key']}" if options.get("api_key") else ""
    if not given and options.get("username") and options.get("password"):
        # The library reads both settings and sends neither.
        given = library.urllib3.util.make_headers(basic_auth=f"{options['username']}:{options['password']}")[
            "authorization"
        ]
    if given:
        use(configuration, given)
    elif configuration.refresh_api_key_hook:
        configuration.refresh_api_key_hook = _once_for_all(configuration.refresh_api_key_hook)


def use(configuration: t.Any, authorization: str) -> None:
    """Make an Authorization header that of all requests, in place of other credentials that the library would send."""
    # Releases of the library look up one name or the other.
    configuration.api_key = {"authorization": authorization, "BearerToken": authorization}
    configuration.refresh_api_key_hook = None


def _once_for_all(renew: t.Callable[[t.Any], None]) -> t.Callable[[t.Any], None]:
    """Return a hook that renews an expired token once for all threads; the others wait for it.

    The library's hook is called before each request. It would run a plugin in every thread that finds the token
    expired. It also reloads the whole kubeconfig and would overwrite the options.
    """
    lock = threading.Lock()
    looked = time.monotonic()

    def renew_token_only(live: t.Any) -> None:
        nonlocal looked
        with lock:
            if time.monotonic() - looked < RENEWAL:
                return
            fresh = copy.copy(live)
            fresh.api_key = dict(live.api_key)
            renew(fresh)
            live.api_key = fresh.api_key
            looked = time.monotonic()

    return renew_token_only


def _load_kubeconfig(options: dict[str, t.Any], configuration: t.Any) -> None:
    given = options.get("kubeconfig")
    context = options.get("context")
    if isinstance(given, dict):
        _guard(
            "kubeconfig (given as a mapping)",
            options,
            lambda: library.kubernetes.config.load_kube_config_from_dict(
                given, context=context, client_configuration=configuration
            ),
        )
        return
    if isinstance(given, str) and not cluster_options.is_path(given):
        raise ClusterError(
            "kubeconfig is a text, and neither the path of a file nor a mapping: set it to the path, or make a mapping "
            "of the text with the filter from_yaml"
        )
    if given and not isinstance(given, str):
        raise ClusterError(
            f"kubeconfig is of type {type(given).__name__}: set it to the path of a file or to a mapping"
        )
    path = cluster_options.kubeconfig_path(given)
    parts = path.split(os.pathsep)
    if not any(map(os.path.isfile, parts)):
        raise ClusterError(
            f"no kubeconfig at {os.pathsep.join(map(os.path.abspath, parts))}: set the option kubeconfig, "
            "K8S_AUTH_KUBECONFIG or KUBECONFIG, or the options host and api_key"
        )
    _guard(
        f"kubeconfig {path}",
        options,
        lambda: library.kubernetes.config.load_kube_config(
            config_file=path,
            context=context,
            client_configuration=configuration,
            persist_config=bool(options.get("persist_config")),
        ),
    )


def _guard(what: str, options: t.Mapping[str, t.Any], load: t.Callable[[], t.Any]) -> None:
    try:
        load()
    except Exception as error:  # pylint: disable=broad-except  # its parsers and helpers raise exceptions of any type
        mark = getattr(error, "problem_mark", None)
        # PyYAML quotes the text, which may be a token.
        cause = f"line {mark.line + 1} is not YAML" if mark else _cause(options, error)
        raise ClusterError(f"{what} cannot be used: {cause}") from (None if mark else error)


def _cause(options: t.Mapping[str, t.Any], error: Exception) -> str:
    """Return why the library cannot use what the options name."""
    context, names = options.get("context"), cluster_options.contexts(options)
    if context and names and context not in names:
        return f"it has no context {context}, only {', '.join(names)}. Set context or K8S_AUTH_CONTEXT to one of them"
    if isinstance(error, (AttributeError, KeyError, TypeError)):
        return "it has not the form of a kubeconfig. Name another file"
    return short(error)


@contextlib.contextmanager
def files_removed() -> t.Iterator[None]:
    """Remove at the end the files that were made in between. Those of the process that forked this one stay."""
    before = set(_known_files())
    try:
        yield
    finally:
        known = _known_files()
        for content in known.keys() - before:
            with contextlib.suppress(OSError):
                os.remove(known.pop(content))


def _known_files() -> dict[str, str]:
    """Return the package's own record, the path by content; an empty one if it was not imported."""
    loaded = sys.modules.get("kubernetes.config.kube_config")
    return t.cast("dict[str, str]", getattr(loaded, "_temp_files", {}))
