# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which cgroups a configuration names that this node does not have. The kubelet creates none of them, and ends.

Source: pkg/kubelet/cm/container_manager_linux.go NewContainerManager (cgroupRoot), node_container_manager_linux.go
enforceExistingCgroup, and the names in cgroup_manager_linux.go.
"""

from __future__ import annotations

import os
import posixpath
from typing import Any, Container, Iterator, Mapping, Sequence

from ..system import files

FIELDS = ("enforceNodeAllocatable", "systemReservedCgroup", "kubeReservedCgroup", "cgroupRoot", "cgroupsPerQOS")
_ENFORCED = {"system-reserved": "systemReservedCgroup", "kube-reserved": "kubeReservedCgroup"}
_MOUNT = "/sys/fs/cgroup"
# Of cgroup v1, those that every kubelet uses.
_V1 = ("memory", "cpu")


def missing(config: Mapping[str, Any], hidden: Container[str], root: str = "/") -> list[str]:
    """Return the cgroups that the node lacks, each with its field and a remedy.

    `hidden`: the fields that something else than this configuration decides. The runtime may decide the cgroup driver,
    and a cgroup counts as there if it has its name under either driver.
    """
    if any(field in hidden for field in FIELDS):
        return []
    found = [
        f"{field}: the cgroup {name} does not exist on this node, and the kubelet ends without it. Create it, for "
        "example by a slice unit of systemd, or name another one"
        for field, name, paths in _named(config)
        if not any(_exists(path, root) for path in paths)
    ]
    return list(dict.fromkeys(found))


def _named(config: Mapping[str, Any]) -> Iterator[tuple[str, str, tuple[str, str]]]:
    """Yield each field that names a cgroup, its value, and the path of the cgroup by the two drivers."""
    top = config.get("cgroupRoot")
    if isinstance(top, str) and top.strip("/") and config.get("cgroupsPerQOS") is not False:
        yield "cgroupRoot", top, (top, _slices([part.replace("-", "_") for part in top.strip("/").split("/")]))
    enforced = config.get("enforceNodeAllocatable")
    for value in enforced if isinstance(enforced, list) else ():
        field = _ENFORCED.get(str(value).replace("-compressible", ""), "")
        name = config.get(field)
        if isinstance(name, str) and name:
            last = posixpath.basename(name.rstrip("/"))
            unit = last[: -len(".slice")] if last.endswith(".slice") else last
            yield field, name, (name, _slices(unit.split("-")))


def _slices(parts: Sequence[str]) -> str:
    """Return the path of a slice of systemd: `a-b.slice` is in `a.slice`."""
    return "/".join("-".join(parts[: end + 1]) + ".slice" for end in range(len(parts)))


def _exists(path: str, root: str) -> bool:
    """Return whether a cgroup is there, or whether that is not known."""
    mount = files.below(root, _MOUNT)
    if os.path.exists(f"{mount}/cgroup.controllers"):
        tops = [mount]
    else:
        tops = [one for one in (f"{mount}/{name}" for name in _V1) if os.path.isdir(one)]
    return not tops or all(os.path.isdir(f"{top}/{path.lstrip('/')}") for top in tops)
