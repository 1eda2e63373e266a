# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of this host a kubelet's configuration must match: its settings, and the files, folders, sockets and cgroups
that the configuration names.

The kubelet's validation does not look at the latter: it passes, and the kubelet ends later (cmd/kubelet/app/server.go
InitializeTLS, NewDelegatingAuthenticator), cannot reach its runtime, or runs no static pods. It creates no cgroup, and
ends: pkg/kubelet/cm/container_manager_linux.go NewContainerManager (cgroupRoot), node_container_manager_linux.go
enforceExistingCgroup, and the names in cgroup_manager_linux.go.
"""

from __future__ import annotations

import glob
import itertools
import os
import posixpath
import re
import stat
from typing import Any, Callable, Container, Iterator, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..._config.rules.problem import WARNING, Problem
from ..._config.values.short_texts import flag
from ..store import kept_files, statefiles
from ..system import command
from ..system.command import Run
from ..system.files import below
from .dropin_look import CLIENT_CA, value_at

SYSTEMD, CGROUPFS = "systemd", "cgroupfs"
_DEFAULT_RESOLV_CONF = "/etc/resolv.conf"
# The default of the endpoint: cmd/kubelet/app/options/options.go, from 1.27 on apis/config/v1beta1/defaults.go.
_CONTAINERD_SINCE = 24
_CRIO_DRIVER = re.compile(r'^\s*cgroup_manager\s*=\s*["\'](systemd|cgroupfs)["\']', re.MULTILINE)
# systemd-resolved.service(8).
_STUB = re.compile(r"^\s*nameserver\s+127\.0\.0\.5[34]\b", re.MULTILINE)
MANAGER_STATE = "manager-state"
"""The rule of a problem with a manager's state file; the problem's path is the field of the policy."""

Config = Mapping[str, Any]
Answer = Tuple[Optional[str], Optional[str]]
"""A cgroup driver, and the command or file that names it; None for an unknown one."""
_UNKNOWN: Answer = (None, None)

TLS_PAIR = ("tlsCertFile", "tlsPrivateKeyFile")
_POD_FOLDER = "staticPodPath"
_SOCKETS = ("containerRuntimeEndpoint", "imageServiceEndpoint")
CGROUPS = ("enforceNodeAllocatable", "systemReservedCgroup", "kubeReservedCgroup", "cgroupRoot", "cgroupsPerQOS")
"""The fields that name cgroups, or decide whether the kubelet needs them."""
_ENFORCED = {"system-reserved": "systemReservedCgroup", "kube-reserved": "kubeReservedCgroup"}
_MOUNT = "/sys/fs/cgroup"
# Of cgroup v1, those that every kubelet uses.
_V1 = ("memory", "cpu")


class _Runtime(NamedTuple):
    """A runtime (containerd, cri-o, docker), None for what is not known; `endpoint`: its socket, None: the default."""

    name: str | None
    endpoint: str | None
    cgroup_driver: str | None
    source: str | None


def facts(config: Config, argv: Sequence[str], root: str, run: Run, minor: int | None = None) -> dict[str, Any]:
    """Return the host's settings for a kubelet of this minor (None: not known); None for what is not known."""
    path, exists = _resolv_conf(config, argv), None
    # With an empty resolvConf the kubelet uses no file. A relative path starts from a folder that is not known here.
    if path.startswith("/"):
        exists = os.path.isfile(below(root, path))
    return {
        "container_runtime": dict(runtime(config, argv, root, run, minor)._asdict()),
        "resolv_conf": {"path": path, "exists": exists},
        "systemd_resolved": _uses_resolved(root, run),
        "hostname": os.uname().nodename,
        "hostname_override": flag(argv, "hostname-override"),
        "state_files": state_files(kept_files.root_folder(argv), root),
    }


def _resolv_conf(config: Config, argv: Sequence[str]) -> str:
    for given in (flag(argv, "resolv-conf"), config.get("resolvConf")):
        if given is not None:
            return str(given)
    return _DEFAULT_RESOLV_CONF


def _uses_resolved(root: str, run: Run) -> bool:
    """Return whether systemd-resolved runs, and /etc/resolv.conf names its stub and not the servers themselves."""
    done = run(["systemctl", "is-active", "--quiet", "systemd-resolved.service"])
    names = _STUB.search(_read(below(root, _DEFAULT_RESOLV_CONF)) or "")
    return done.returncode == 0 and names is not None


def runtime(config: Config, argv: Sequence[str], root: str, run: Run, minor: int | None = None) -> _Runtime:
    """Return the container runtime that config or command line name, else the default of this minor; and its driver."""
    where = flag(argv, "container-runtime-endpoint") or str(config.get("containerRuntimeEndpoint") or "") or None
    if where is None and flag(argv, "container-runtime") == "docker":
        where = "docker"
    if where is None and (minor or 0) >= _CONTAINERD_SINCE:
        return _Runtime("containerd", None, *_containerd(root, run))
    for name, ask in (("containerd", _containerd), ("cri-o", _crio), ("docker", _docker)):
        if where and name.replace("-", "") in where.replace("-", ""):
            return _Runtime(name, where, *ask(root, run))
    return _Runtime(None, where, *_UNKNOWN)


def _containerd(root: str, run: Run) -> Answer:
    words = running("containerd", root) or ["containerd"]
    asked = [words[0]]
    given = flag(words, "config") or _short(words, "-c")
    if given:
        asked += ["--config", given]
    asked += ["config", "dump"]
    done = run(asked)
    driver = containerd_driver(done.stdout)
    if done.returncode or driver is None:
        return _UNKNOWN
    return driver, " ".join(asked)


def running(name: str, root: str) -> list[str]:
    """Return the command line of a process by the name of its program, empty when none runs."""
    for path in glob.glob(below(root, "/proc/[0-9]*/cmdline")):
        words = command.of_process(int(os.path.basename(os.path.dirname(path))), root)
        if words and os.path.basename(words[0]) == name:
            return words
    return []


def _short(words: Sequence[str], name: str) -> str | None:
    if name not in words[:-1]:
        return None
    return words[words.index(name) + 1]


def containerd_driver(dump: str) -> str | None:
    """Return the default runtime's cgroup driver in a whole configuration of containerd (version 2 or 3), or None."""
    sections: dict[str, dict[str, str]] = {}
    current: dict[str, str] = {}
    for line in dump.splitlines():
        line = line.strip()
        header = re.fullmatch(r"\[([^\[\]]+)\]", line)
        if header:
            current = sections.setdefault(header.group(1).replace("'", '"'), {})
        elif "=" in line and not line.startswith("#"):
            key, _equals, value = line.partition("=")
            current[key.strip()] = value.strip().strip("\"'")
    for section, values in sections.items():
        if section.endswith(".containerd") and "default_runtime_name" in values:
            options = sections.get(f"{section}.runtimes.{values['default_runtime_name']}.options", {})
            return {"true": SYSTEMD, "false": CGROUPFS}.get(options.get("SystemdCgroup", ""))
    return None


def _crio(root: str, dummy: Run) -> Answer:
    found = _UNKNOWN
    main = below(root, "/etc/crio/crio.conf")
    for path in [main, *sorted(glob.glob(f"{main}.d/*"))]:
        for value in _CRIO_DRIVER.findall(_read(path) or ""):
            found = (value, "/" + os.path.relpath(path, root))
    return found


def _docker(dummy: str, run: Run) -> Answer:
    done = run(["docker", "info", "--format", "{{.CgroupDriver}}"])
    driver = done.stdout.strip()
    if done.returncode or driver not in (SYSTEMD, CGROUPFS):
        return _UNKNOWN
    return driver, "docker info"


def state_files(folder: str, root: str = "/") -> dict[str, dict[str, Any] | None]:
    """Return path and policy of the CPU and memory managers' state files (None: absent; policy None: unreadable)."""
    result: dict[str, dict[str, Any] | None] = {}
    for manager in statefiles.MANAGERS:
        path = os.path.join(folder, manager.file)
        text = _read(below(root, path))
        result[manager.name] = None
        if text is not None:
            result[manager.name] = {"path": path, "policy": statefiles.policy(text.encode())}
    return result


def state_file_of(field: str, found: Mapping[str, Mapping[str, Any] | None]) -> str:
    """Return the path of the state file, of those that `state_files` returned, that the policy in this field needs."""
    manager = next(manager for manager in statefiles.MANAGERS if manager.field == field)
    return str((found[manager.name] or {})["path"])


def disagreements(config: Config, argv: Sequence[str], found: Mapping[str, Any]) -> list[Problem]:
    """Return where a config, with this command line, does not fit the host's `facts`."""
    result = []
    driver = flag(argv, "cgroup-driver") or config.get("cgroupDriver") or CGROUPFS
    theirs = found["container_runtime"]["cgroup_driver"]
    if theirs and theirs != driver:
        source = found["container_runtime"]["source"]
        wrong = f"the kubelet would use {driver}, but the container runtime uses {theirs} ({source})"
        result.append(Problem(WARNING, "cgroupDriver", wrong, f"Set cgroupDriver: {theirs}.", "cgroup-driver"))
    resolv = found["resolv_conf"]
    if resolv["exists"] is False:
        wrong = f"{resolv['path']} does not exist on this node; new pods would fail"
        result.append(Problem(WARNING, "resolvConf", wrong, "Name a file that exists.", "resolv-conf"))
    elif resolv["path"] == _DEFAULT_RESOLV_CONF and found["systemd_resolved"]:
        wrong = "systemd-resolved runs here, and pods cannot reach its stub address in /etc/resolv.conf"
        remedy = "Set resolvConf: /run/systemd/resolve/resolv.conf."
        result.append(Problem(WARNING, "resolvConf", wrong, remedy, "systemd-resolved"))
    for manager in statefiles.MANAGERS:
        state = found["state_files"][manager.name]
        wanted = manager.policy(config, argv)
        if state and state["policy"] != wanted:
            written = f"is for the policy {state['policy']}"
            if state["policy"] is None:
                written = "is damaged: it names no policy"
            wrong = f"{state['path']} {written}, and a kubelet with {wanted} refuses it"
            remedy = "Drain the node and remove the state file when you change the policy."
            result.append(Problem(WARNING, manager.field, wrong, remedy, MANAGER_STATE))
    return result


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return None


def missing(
    config: Config, config_dir: str, files: Container[str], hidden: Container[str], root: str = "/"
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


def _given(config: Config, hidden: Container[str]) -> dict[str, str]:
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


def missing_cgroups(config: Config, hidden: Container[str], root: str = "/") -> list[str]:
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


def _named(config: Config) -> Iterator[tuple[str, str, tuple[str, str]]]:
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
