# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python package `kubernetes`; the only module that imports it.

Its dynamic client sends the requests. The typed models are not used: they reject unknown objects and change with every
release of the package.
"""

from __future__ import annotations

import os
import re
import traceback
import typing as t

from .errors import ClusterError, MissingLibrary

__all__ = ("FixedPaths", "check", "client", "kubernetes", "urllib3")

try:
    import kubernetes
    import kubernetes.client
    import kubernetes.config
    import kubernetes.dynamic
    import urllib3.exceptions
    import urllib3.util

    IMPORT_ERROR: str | None = None
except ImportError:
    IMPORT_ERROR = traceback.format_exc()

_LOWEST = (28, 1, 0)
# These releases send no Authorization header for a token (kubernetes-client/python issue 2591).
_BROKEN = ((36, 0, 0), (36, 0, 1))
_PROXY = "the proxy (the option proxy, proxy-url in the kubeconfig or the variable HTTPS_PROXY)"


def check() -> None:
    """Raise MissingLibrary unless a usable `kubernetes` package was imported."""
    if IMPORT_ERROR is not None:
        raise MissingLibrary("the Python package kubernetes could not be imported", {"exception": IMPORT_ERROR})
    found = tuple(map(int, re.findall(r"\d+", kubernetes.__version__)[:3]))
    if found < _LOWEST or found in _BROKEN:
        raise MissingLibrary(
            f"the Python package kubernetes {kubernetes.__version__} at {os.path.dirname(kubernetes.__file__)} "
            "cannot be used: install kubernetes>=28.1.0,!=36.0.0,!=36.0.1 for the interpreter that runs this module"
        )


def client(configuration: t.Any) -> t.Any:
    """Return the dynamic client with these settings (`kubernetes.client.Configuration`).

    Raises ClusterError for a proxy whose address is not a URL, or is one of SOCKS.
    """
    try:
        return FixedPaths(kubernetes.client.ApiClient(configuration))
    except ImportError:
        # urllib3 has no SOCKS of its own.
        raise ClusterError(
            f"{_PROXY} is one of SOCKS, which needs the Python package PySocks. Install it where Ansible runs (in AWX "
            "in the execution environment), or use a proxy that begins with http:// or https://"
        ) from None
    except urllib3.exceptions.LocationValueError:
        # Its text quotes a part of the address.
        raise ClusterError(
            f"{_PROXY} is not a URL that can be used. Begin it with http:// or https://, and write special characters "
            "of its user and password as %XX"
        ) from None


if IMPORT_ERROR is None:

    class FixedPaths(kubernetes.dynamic.DynamicClient):  # type: ignore[misc]  # it has no types everywhere
        """The dynamic client without discovery, which would cost many requests and a cache file."""

        def __init__(self, client: t.Any) -> None:  # pylint: disable=super-init-not-called
            self.client = client
            self.configuration = client.configuration
