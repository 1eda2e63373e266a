# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster that options name, in words. Sends no request, and does not run the plugin of a kubeconfig."""

from __future__ import annotations

import os
import typing as t

from ansible.module_utils.common.yaml import yaml_load

from ..api import auth, library


def in_words(options: t.Mapping[str, t.Any]) -> str:
    """Return the address and where it comes from; empty if it cannot be found out. The first request reports why.

    `options` are completed, see `precedence`.
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
    return [given] if isinstance(given, dict) else [_read(part) for part in kubeconfig(given).split(os.pathsep)]


def _read(path: str) -> dict[str, t.Any]:
    """Return a kubeconfig, an empty one if there is no such file: kubectl skips those."""
    if not os.path.isfile(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return t.cast("dict[str, t.Any]", yaml_load(file.read()))


def _named(files: t.Sequence[t.Mapping[str, t.Any]], kind: str, name: str) -> t.Any:
    """Return the first entry of a name, which wins over those in later files."""
    return next(entry for one in files for entry in one.get(kind) or () if entry["name"] == name)
