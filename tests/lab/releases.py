# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which Kubernetes a lab runs: 1.20.2 from Debian, or a release of 1.24 or later from a folder of binaries."""

from __future__ import annotations

import dataclasses
import os
import re
import typing as t
from pathlib import Path

from .console import LabError, run

DEFAULT = "v1.20.2"
# Stands for the control plane where others are named by their node.
CLUSTER = "control-plane"
OLDEST = 24
# The versions of the lab for upgrades: what the kubelet of n1 accepts and a newer one refuses was removed in between.
UPGRADED = ("v1.36", "n1=v1.28")
# An earlier version whose kubelet reads drop-ins. Tests that need it are left out by themselves without its binaries.
EARLIER = "v1.33"
# The first minor whose kubelet logs its configuration. Tests that need it are left out by themselves too.
LOGGING = "v1.37"
# The version on which the node side runs again.
NODE_SIDE = ("v1.36",)
COMMANDS = ("kubelet", "kube-apiserver")
_VERSION = re.compile(r"v1\.(\d+)(?:\.(\d+))?")


@dataclasses.dataclass(frozen=True)
class Release:
    """One version of Kubernetes and the folder of its programs.

    `packaged`: built from Debian's source, and mounted on the nodes; other releases are copied to the nodes' disks.
    """

    version: str
    folder: Path
    packaged: bool = False

    @property
    def minor(self) -> int:
        return minor_of(self.version)

    def programs(self) -> list[str]:
        """Return the programs that a node needs: the kubelet, and kubeadm if the folder has it."""
        return [name for name in ("kubelet", "kubeadm") if (self.folder / name).exists()]

    def check(self) -> None:
        """Raise LabError unless kubelet and API server exist and report this version."""
        for name in COMMANDS:
            program = self.folder / name
            if not os.access(program, os.X_OK):
                raise LabError(f"{program} is missing or not executable; see `Other versions` in tests/lab/README.md")
            shown = run(program, "--version").stdout.strip()
            if shown.split()[-1:] != [self.version]:
                raise LabError(f"{program} reports {shown!r}, not {self.version}; name its folder after its version")


def minor_of(version: str) -> int:
    """Return the minor of a version such as v1.36.2. Raises LabError."""
    found = _VERSION.fullmatch(version)
    if not found:
        raise LabError(f"{version!r} is not a version of Kubernetes such as v1.36.2 or v1.36")
    return int(found.group(1))


def place() -> Path:
    """Return the folder that holds one folder of binaries for each version."""
    cache = os.environ.get("LIVENODES_LAB_CACHE", "/var/cache/livenodes-kubelet-lab")
    return Path(os.environ.get("LIVENODES_LAB_BINARIES") or f"{cache}/binaries").absolute()


def asked() -> tuple[str, ...]:
    """Return the versions that LIVENODES_LAB_KUBERNETES asks for, in the form of `parse`; empty without it."""
    return tuple(os.environ.get("LIVENODES_LAB_KUBERNETES", "").split())


def parse(words: t.Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """Return the version of the control plane (None if not named), and those of single nodes, such as `n2=v1.28.7`.

    Raises LabError.
    """
    cluster: str | None = None
    nodes: dict[str, str] = {}
    for word in words:
        name, equals, version = word.rpartition("=")
        minor_of(version)
        if equals and not re.fullmatch(r"n[1-9]\d*", name):
            raise LabError(f"{word!r}: write the name of a node and its version, such as n2=v1.28.7")
        if not equals and cluster:
            raise LabError(f"two versions for one control plane: {cluster} and {version}")
        if equals:
            nodes[name] = version
        else:
            cluster = version
    return cluster, nodes


def find(version: str) -> str:
    """Return the version whose folder of binaries fits: the same, or the newest patch release of a minor (`v1.36`).

    Raises LabError where there is none.
    """
    if version == DEFAULT:
        return version
    if minor_of(version) < OLDEST:
        raise LabError(f"the lab runs {DEFAULT}, and releases from v1.{OLDEST} on, not {version}")
    folder = place()
    names = [path.name for path in folder.glob("v1.*") if (path / "kubelet").exists()]
    fitting = [name for name in names if _VERSION.fullmatch(name) and f"{name}.".startswith(f"{version}.")]
    if not fitting:
        raise LabError(
            f"no binaries of Kubernetes {version} in {folder}; `Other versions` in tests/lab/README.md describes them"
        )
    return max(fitting, key=lambda name: int(name.rpartition(".")[2]))


def choose(words: t.Sequence[str], count: int, known: t.Mapping[str, str]) -> dict[str, str]:
    """Return the version of the control plane (CLUSTER) and of each node n1 to `n<count>`; `known`: those of the lab.

    A lab keeps its versions: words may repeat them or name those of new nodes. Raises LabError.
    """
    cluster, nodes = parse(words)
    absent = sorted(name for name in nodes if int(name[1:]) > count)
    if absent:
        raise LabError(f"the lab has {count} nodes, and no {', '.join(absent)}")
    chosen = {CLUSTER: find(cluster) if cluster else known.get(CLUSTER, DEFAULT)}
    for name in (f"n{index}" for index in range(1, count + 1)):
        chosen[name] = find(nodes[name]) if name in nodes else known.get(name, chosen[CLUSTER])
    changed = sorted(name for name, version in known.items() if chosen.get(name, version) != version)
    if changed:
        raise LabError(
            f"{changed[0]} runs {known[changed[0]]}, not {chosen[changed[0]]}; "
            "remove the lab, or change a node with `python3 -m tests.lab upgrade`"
        )
    for version in sorted({*chosen.values()} - {DEFAULT}):
        release(version, Path()).check()
    return chosen


def missing(words: t.Sequence[str]) -> str:
    """Return why the versions of these words cannot run here, or an empty string."""
    cluster, nodes = parse(words)
    try:
        for version in (cluster or DEFAULT, *nodes.values()):
            find(version)
    except LabError as error:
        return str(error)
    return ""


def release(version: str, packaged: Path) -> Release:
    """Return a release by the version that `find` returned; `packaged`: the folder of the binaries from Debian."""
    if version == DEFAULT:
        return Release(version, packaged, packaged=True)
    return Release(version, place() / version)
