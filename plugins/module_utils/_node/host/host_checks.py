# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of the host that a kubelet's configuration must match."""

from __future__ import annotations

import glob
import os
import re
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Tuple

from ..._config.rules.problem import WARNING, Problem
from ..._config.values.short_texts import flag
from ..store import kept_files, statefiles
from ..system import command, files
from ..system.command import Run

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


class _Runtime(NamedTuple):
    """A runtime (containerd, cri-o, docker), None for what is not known; `endpoint`: its socket, None: the default."""

    name: str | None
    endpoint: str | None
    cgroup_driver: str | None
    source: str | None


def facts(config: Config, argv: Sequence[str], root: str, run: Run, minor: int | None = None) -> dict[str, Any]:
    """Return the host's settings for a kubelet of this minor (None: not known); None for what is not known."""
    path = flag(argv, "resolv-conf")
    if path is None:
        path = config.get("resolvConf")
    path = _DEFAULT_RESOLV_CONF if path is None else str(path)
    # With an empty resolvConf the kubelet uses no file. A relative path starts from a folder that is not known here.
    exists = os.path.isfile(files.below(root, path)) if path.startswith("/") else None
    return {
        "container_runtime": dict(runtime(config, argv, root, run, minor)._asdict()),
        "resolv_conf": {"path": path, "exists": exists},
        "systemd_resolved": _uses_resolved(root, run),
        "hostname": os.uname().nodename,
        "hostname_override": flag(argv, "hostname-override"),
        "state_files": state_files(kept_files.root_folder(argv), root),
    }


def _uses_resolved(root: str, run: Run) -> bool:
    """Return whether systemd-resolved runs, and /etc/resolv.conf names its stub and not the servers themselves."""
    done = run(["systemctl", "is-active", "--quiet", "systemd-resolved.service"])
    names = _STUB.search(_read(files.below(root, _DEFAULT_RESOLV_CONF)) or "")
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
    for path in glob.glob(files.below(root, "/proc/[0-9]*/cmdline")):
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
    main = files.below(root, "/etc/crio/crio.conf")
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
        text = _read(files.below(root, path))
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
