# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which files, folders, sockets and cgroups a configuration names that this node does not have.

The kubelet's validation does not look at them: it passes, and the kubelet ends later (cmd/kubelet/app/server.go
InitializeTLS, NewDelegatingAuthenticator), cannot reach its runtime, or runs no static pods. It creates no cgroup, and
ends: pkg/kubelet/cm/container_manager_linux.go NewContainerManager (cgroupRoot), node_container_manager_linux.go
enforceExistingCgroup, and the names in cgroup_manager_linux.go.
"""

from __future__ import annotations

import grp
import itertools
import os
import posixpath
import pwd
import stat
from typing import Any, Callable, Container, Iterator, Mapping, Sequence

from ..._config.values.short_texts import flag
from ..system.files import below
from .dropin_look import value_at

CLIENT_CA = "authentication.x509.clientCAFile"
TLS_PAIR = ("tlsCertFile", "tlsPrivateKeyFile")
_POD_FOLDER = "staticPodPath"
_SOCKETS = ("containerRuntimeEndpoint", "imageServiceEndpoint")
CGROUPS = ("enforceNodeAllocatable", "systemReservedCgroup", "kubeReservedCgroup", "cgroupRoot", "cgroupsPerQOS")
"""The fields that name cgroups, or decide whether the kubelet needs them."""
_ENFORCED = {"system-reserved": "systemReservedCgroup", "kube-reserved": "kubeReservedCgroup"}
_MOUNT = "/sys/fs/cgroup"
# Of cgroup v1, those that every kubelet uses.
_V1 = ("memory", "cpu")


def owned(
    unit_files: Sequence[str], argv: Sequence[str], config: Mapping[str, Any], layers: Sequence[str], root: str = "/"
) -> dict[str, list[dict[str, str]]]:
    """Return owner and mode of the kubelet's files that are there, links resolved: those of its unit, its kubeconfig,
    the CA of its clients, its config file and drop-ins (`layers`). `config`: what these set.
    """
    places = {
        "unit": unit_files,
        "kubeconfig": [flag(argv, "kubeconfig") or ""],
        "client_ca": [flag(argv, "client-ca-file") or value_at(config, CLIENT_CA) or ""],
        "config": layers,
    }
    return {kind: list(_owned(paths, root)) for kind, paths in places.items()}


def _owned(paths: Sequence[Any], root: str) -> Iterator[dict[str, str]]:
    for path in paths:
        try:
            # A relative path starts from a folder that is not known here.
            found = os.stat(below(root, path)) if str(path).startswith("/") else None
        except (OSError, ValueError):
            continue
        if found:
            owner = f"{_name(pwd.getpwuid, found.st_uid)}:{_name(grp.getgrgid, found.st_gid)}"
            yield {"path": path, "mode": f"{stat.S_IMODE(found.st_mode):04o}", "owner": owner}


def _name(look_up: Callable[[int], Any], number: int) -> str:
    """Return the name of a user or group, its number if it has none."""
    try:
        return str(look_up(number)[0])
    except KeyError:
        return str(number)


def missing(
    config: Mapping[str, Any], config_dir: str, files: Container[str], hidden: Container[str], root: str = "/"
) -> list[str]:
    """Return what the node lacks, each with the field and a remedy.

    `files`: names of the files that will be beside the config file in `config_dir`/active, where relative paths lead.
    `hidden`: the fields that something else than this configuration decides.
    """
    place = _Place(f"{config_dir.rstrip('/')}/active", files, root)
    given = _given(config, hidden)
    found = [place.no_file(name, given[name]) for name in (CLIENT_CA, *TLS_PAIR) if name in given]
    found.append(_half_pair(given, hidden))
    if _POD_FOLDER in given:
        found.append(place.no_parent(_POD_FOLDER, given[_POD_FOLDER]))
    found += [place.no_socket(name, given[name]) for name in _SOCKETS if name in given]
    return list(filter(None, found))


def _given(config: Mapping[str, Any], hidden: Container[str]) -> dict[str, str]:
    """Return the fields that this configuration decides and that name something."""
    names = [CLIENT_CA, _POD_FOLDER, *_SOCKETS]
    if config.get("enableServer") is not False:
        names += TLS_PAIR
    given = {}
    for name in names:
        value = value_at(config, name)
        if isinstance(value, str) and value and name not in hidden:
            given[name] = value
    return given


def _half_pair(given: Mapping[str, str], hidden: Container[str]) -> str:
    for name, other in (TLS_PAIR, TLS_PAIR[::-1]):
        if name in given and other not in hidden and other not in given:
            return f"{other} is not set, and {name} is: the kubelet needs both. Set both or none"
    return ""


class _Place:
    """The folder of the future config file, which relative paths start from."""

    def __init__(self, folder: str, files: Container[str], root: str) -> None:
        self.folder, self.files, self.root = folder, files, root

    def full(self, path: str) -> str:
        return os.path.normpath(os.path.join(self.folder, path))

    def mode(self, path: str) -> int | None:
        """Return the mode of what is at the path, links followed; None if nothing is."""
        try:
            return os.stat(below(self.root, path)).st_mode
        except (OSError, ValueError):
            # ValueError: a path with a null byte.
            return None

    def no_file(self, field: str, path: str) -> str:
        path = self.full(path)
        folder, name = os.path.split(path)
        if folder == self.folder and name in self.files:
            # The switch creates it.
            return ""
        remedy = "Copy the file to the node or name another one"
        return self._unfit(field, path, stat.S_ISREG, "is not a file", remedy)

    def no_parent(self, field: str, path: str) -> str:
        path = self.full(path)
        folder = os.path.dirname(path)
        # The switch creates the folder of the config file.
        if folder == self.folder or self.mode(folder) is not None:
            return ""
        return f"{field}: the folder {folder} of {path} does not exist on this node. Create it or name another one"

    def no_socket(self, field: str, endpoint: str) -> str:
        scheme, separator, path = endpoint.partition("://")
        if not separator:
            scheme, path = "unix", endpoint
        if scheme != "unix" or not path.startswith("/"):
            return ""
        remedy = "Start the container runtime or correct the endpoint"
        return self._unfit(field, path, stat.S_ISSOCK, "is not a socket", remedy)

    def _unfit(self, field: str, path: str, fits: Callable[[int], bool], wrong: str, remedy: str) -> str:
        mode = self.mode(path)
        if mode is None:
            return f"{field}: {path} does not exist on this node. {remedy}"
        return "" if fits(mode) else f"{field}: {path} {wrong}. {remedy}"


def missing_cgroups(config: Mapping[str, Any], hidden: Container[str], root: str = "/") -> list[str]:
    """Return the cgroups that the node lacks, each with its field and a remedy.

    `hidden`: the fields that something else than this configuration decides. The runtime may decide the cgroup driver,
    and a cgroup counts as there if it has its name under either driver.
    """
    if any(field in hidden for field in CGROUPS):
        return []
    found: dict[str, None] = {}
    for field, name, paths in _named(config):
        if any(_exists(path, root) for path in paths):
            continue
        reason = (
            f"{field}: the cgroup {name} does not exist on this node, and the kubelet ends without it. Create it, for "
            "example by a slice unit of systemd, or name another one"
        )
        found[reason] = None
    return list(found)


def _named(config: Mapping[str, Any]) -> Iterator[tuple[str, str, tuple[str, str]]]:
    """Yield each field that names a cgroup, its value, and the path of the cgroup by the two drivers."""
    top = config.get("cgroupRoot")
    if isinstance(top, str) and top.strip("/") and config.get("cgroupsPerQOS") is not False:
        yield "cgroupRoot", top, (top, _slices(top.strip("/").replace("-", "_").split("/")))
    enforced = config.get("enforceNodeAllocatable")
    if not isinstance(enforced, list):
        return
    for value in enforced:
        field = _ENFORCED.get(str(value).replace("-compressible", ""), "")
        name = config.get(field)
        if isinstance(name, str) and name:
            unit = posixpath.basename(name.rstrip("/"))
            if unit.endswith(".slice"):
                unit = unit[: -len(".slice")]
            yield field, name, (name, _slices(unit.split("-")))


def _slices(parts: Sequence[str]) -> str:
    """Return the path of a slice of systemd: `a-b.slice` is in `a.slice`."""
    names = itertools.accumulate(parts, "{}-{}".format)
    return "/".join(f"{name}.slice" for name in names)


def _exists(path: str, root: str) -> bool:
    """Return whether a cgroup is there, or whether that is not known."""
    mount = below(root, _MOUNT)
    if os.path.exists(f"{mount}/cgroup.controllers"):
        tops = [mount]
    else:
        tops = list(filter(os.path.isdir, (f"{mount}/{name}" for name in _V1)))
    return not tops or all(os.path.isdir(f"{top}/{path.lstrip('/')}") for top in tops)
