# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of a connection to the API server, from the options of a module and from a kubeconfig.

Also the temporary files into which the package `kubernetes` writes certificates and private keys of a kubeconfig. It
removes them when Python ends in the usual way. A worker of Ansible ends without that, so they would stay.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
import typing as t

from . import cluster_options, library
from .errors import ClusterError, short

# Seconds in which refused credentials are not renewed again: a plugin may ask a person, or a service that limits its
# callers.
RENEWAL = 5.0
# So many characters of what a plugin has printed are quoted.
_QUOTED = 300


def of(options: dict[str, t.Any]) -> t.Any:
    """Return the `kubernetes.client.Configuration` of the options of a module, see `cluster_options.argument_spec`.

    Raises ClusterError.
    """
    configuration = library.kubernetes.client.Configuration()
    _load(options, configuration)
    if any(map(options.get, cluster_options.CREDENTIALS)):
        # An API server asks for a client certificate first: that of the kubeconfig would win over a token.
        configuration.username = configuration.password = configuration.cert_file = configuration.key_file = None
        configuration.api_key = {}
    _set_given(options, configuration)
    _credentials(options, configuration)
    for option in ("ca_cert", "client_cert", "client_key"):
        if options.get(option) and not os.path.isfile(options[option]):
            raise ClusterError(f"{option}: there is no file {options[option]}")
    configuration.connection_pool_maxsize = options.get("concurrency") or 8
    # `errors.persist` repeats requests: it knows which failures are transient.
    configuration.retries = False
    return configuration


def _load(options: dict[str, t.Any], configuration: t.Any) -> None:
    """Take what the service account or the kubeconfig holds, unless a host is given instead. Raises ClusterError."""
    if options.get("in_cluster"):
        load = library.kubernetes.config.load_incluster_config
        _guard("in-cluster credentials", {}, lambda: load(client_configuration=configuration))
    elif not options.get("host") or options.get("kubeconfig"):
        _load_kubeconfig(options, configuration)


def _set_given(options: dict[str, t.Any], configuration: t.Any) -> None:
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
    if options.get("proxy_headers"):
        given = {name: value for name, value in options["proxy_headers"].items() if value}
        configuration.proxy_headers = library.urllib3.util.make_headers(**given)


class Renewal:
    """Loads the credentials of `options` anew. Not safe for threads."""

    def __init__(self, options: dict[str, t.Any]) -> None:
        self._options = options
        self._next = 0.0
        self._fault = ""

    def other_than(self, refused: t.Any) -> t.Any:
        """Return a configuration whose credentials may differ from those of `refused`, None without one.

        Raises ClusterError if they cannot be loaded, for the next RENEWAL seconds without trying that again.
        """
        now = time.monotonic()
        if now >= self._next:
            self._next, self._fault = now + RENEWAL, ""
            try:
                fresh = of(self._options)
            except ClusterError as error:
                self._fault = error.message
            else:
                # The same file may have another certificate.
                return fresh if fresh.cert_file or fresh.api_key != refused.api_key else None
        if self._fault:
            raise ClusterError(self._fault)
        return None


def headers(options: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the headers of each request that let its user act as another one. Raises ClusterError."""
    found: dict[str, t.Any] = {}
    if options.get("impersonate_user"):
        found["Impersonate-User"] = options["impersonate_user"]
    groups = options.get("impersonate_groups") or []
    if len(groups) > 1:
        # Kubernetes expects one header for each group; the library keeps one value for each header.
        raise ClusterError(
            f"impersonate_groups has {len(groups)} groups, and the Python package kubernetes can send only one: "
            "set one group"
        )
    if groups:
        found["Impersonate-Group"] = groups[0]
    return found


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
    # The library would call it before each request, in every thread. A session renews what the API server refuses.
    configuration.refresh_api_key_hook = None


def use(configuration: t.Any, authorization: str) -> None:
    """Make an Authorization header that of all requests, in place of other credentials that the library would send."""
    # Releases of the library look up one name or the other.
    configuration.api_key = {"authorization": authorization, "BearerToken": authorization}


def _load_kubeconfig(options: dict[str, t.Any], configuration: t.Any) -> None:
    given, config = options.get("kubeconfig"), library.kubernetes.config
    chosen = {"context": options.get("context"), "client_configuration": configuration}
    if isinstance(given, dict):
        what = "kubeconfig (given as a mapping)"
        _load_user(what, options, configuration, lambda: config.load_kube_config_from_dict(given, **chosen))
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
            "K8S_AUTH_KUBECONFIG or KUBECONFIG, or the options host and api_key, or in a pod the option in_cluster"
        )
    chosen.update(config_file=path, persist_config=bool(options.get("persist_config")))
    _load_user(f"kubeconfig {path}", options, configuration, lambda: config.load_kube_config(**chosen))


def _load_user(what: str, options: t.Mapping[str, t.Any], configuration: t.Any, load: t.Callable[[], t.Any]) -> None:
    """Load a kubeconfig. Raises ClusterError, also if its plugin fails, which the library only logs."""
    with _Errors() as logged:
        _guard(what, options, load)
    if configuration.api_key or configuration.cert_file or any(map(options.get, cluster_options.CREDENTIALS)):
        return
    user = cluster_options.kubeconfig_user(options)
    if user and user.plugin:
        cause = "it returned neither a token nor a client certificate that can be used"
        if logged.texts:
            cause = logged.texts[-1]
        raise ClusterError(
            f"{what} cannot be used: the plugin {user.plugin} of its user {user.name} gave no credentials: "
            f"{' '.join(cause.split())[:_QUOTED]}. Let it work where Ansible runs (in AWX in the execution "
            "environment), or set api_key"
        )


class _Errors(logging.Handler):
    """`with _Errors() as logged:` keeps what the library logs as errors, which is not printed then."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.texts: list[str] = []

    def __enter__(self) -> _Errors:
        logging.getLogger().addHandler(self)
        return self

    def __exit__(self, *_error: object) -> None:
        logging.getLogger().removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the text of a record."""
        self.texts.append(record.getMessage())


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
