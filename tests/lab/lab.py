# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole lab: start it, remove it, and change it in tests."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
import typing as t
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import build, cgroups, kubeadm, machine, network, objects, processes, releases
from .api import Api
from .console import LabError, progress, run
from .controlplane import ControlPlane
from .files import LAST_DYNAMIC
from .node import LabNode
from .pki import kubeconfig, write_private
from .settings import Settings, State, claim, is_lab, locked

MOST_NODES = 100


class Lab:
    """A lab that is up. Get one from `Lab.up()` or `Lab.attach()`."""

    def __init__(self, settings: Settings, state: State, cache: build.Cache) -> None:
        self.settings = settings
        self.state = state
        self.folder = settings.folder
        self.cache = cache
        self.apiserver = ControlPlane(settings, state, self._release())
        self.kubeconfig = self.apiserver.kubeconfig
        self.inventory = self.folder / "inventory.yml"
        self.ssh_key = self.folder / "ssh_key"
        self.known_hosts = self.folder / "known_hosts"

    @staticmethod
    def build() -> build.Cache:
        """Install and build the missing parts of a lab; a second such run waits for the first. Raises LabError."""
        _check_machine()
        with locked(build.CACHE, wait=True):
            return build.ensure()

    @classmethod
    def up(cls, nodes: int = 3, dynamic: bool = True, kubernetes: t.Sequence[str] = ()) -> Lab:
        """Start a lab of at least `nodes` nodes and wait until all are Ready; parts that run already are not changed.

        `dynamic`: whether kubelets run with `--dynamic-config-dir`. If a running lab has the other choice, its kubelets
        are restarted. `kubernetes`: versions, such as `v1.36.2` for all and `n2=v1.28.7` for one node; a lab that
        exists keeps its own. Raises LabError when this machine cannot run such a lab.
        """
        _check_machine(nodes)
        started = time.monotonic()
        cache = cls.build()
        with locked(Settings.load().folder):
            settings = Settings.load()
            state = State(settings.folder)
            count = max(nodes, state.data.get("nodes", 0))
            versions = releases.choose(kubernetes, count, state.data.get("kubernetes", {}))
            claim(settings.folder)
            state.record(nodes=count, dynamic=dynamic, cache=str(cache.root), kubernetes=versions)
            machine.enter(settings.folder, count)
            lab = cls(settings, state, cache)
            lab._make_ssh_key()
            network.raise_bridge(settings, state)
            lab.apiserver.certify()
            if not lab.apiserver.is_running():
                progress(f"starting etcd and the API server at {lab.apiserver.url}")
            lab.apiserver.start()
            lab.apiserver.populate()
            lab._start_nodes(dynamic)
            lab._write_inventory()
            lab.wait_ready()
            if dynamic:
                lab.wait_listening()
        progress(f"up: {count} nodes Ready in {time.monotonic() - started:.1f} s")
        return lab

    @classmethod
    def attach(cls) -> Lab:
        """Return the running lab. Raises LabError when there is none."""
        settings = Settings.load()
        state = State(settings.folder)
        if not is_lab(settings.folder) or "cache" not in state.data or not processes.find(settings):
            raise LabError(f"no lab is up in {settings.folder}; start one with `make lab-up`")
        return cls(settings, state, build.Cache(Path(state.data["cache"])))

    @classmethod
    def down(cls) -> None:
        """Stop the lab and remove everything it created except the cache. Finds remains also without `lab.json`."""
        _check_root()
        with locked(Settings.load().folder):
            settings = Settings.load()
            state = State(settings.folder)
            # No data is kept, so no process needs an orderly shutdown.
            processes.stop(settings, patience=0)
            network.remove(settings, state)
            cgroups.remove(settings)
            machine.leave(settings.folder)
            if settings.folder.exists():
                if not is_lab(settings.folder) and any(settings.folder.iterdir()):
                    raise LabError(f"{settings.folder} is not the folder of a lab, so it was not removed")
                _remove_folder(settings.folder)
        progress("down: the lab is removed")

    @property
    def nodes(self) -> list[LabNode]:
        """Return all nodes, n1 first."""
        groups = self.state.data.get("groups", {})
        return [
            LabNode(self.settings, self.apiserver, self.cache, index, self._release(name), groups.get(name))
            for index, name in enumerate((f"n{number + 1}" for number in range(self.state.data.get("nodes", 0))), 1)
        ]

    def _release(self, name: str = releases.CLUSTER) -> releases.Release:
        versions = self.state.data.get("kubernetes", {})
        return releases.release(versions.get(name, releases.DEFAULT), self.cache.binaries)

    def node(self, name: str) -> LabNode:
        """Return the node of this name. Raises LabError when there is none."""
        for item in self.nodes:
            if item.name == name:
                return item
        raise LabError(f"the lab has no node {name}; it has {', '.join(item.name for item in self.nodes)}")

    def _start_nodes(self, dynamic: bool) -> None:
        public_key = self.ssh_key.with_suffix(".pub").read_text()

        def start(node: LabNode) -> None:
            node.prepare(public_key, dynamic)
            fresh = not node.is_supervised()
            if fresh:
                progress(f"{node.name}: booting at {node.address}")
            node.start()
            if node.set_dynamic(dynamic):
                progress(f"{node.name}: kubelet restarted {'with' if dynamic else 'without'} --dynamic-config-dir")
            elif fresh:
                progress(f"{node.name}: booted")

        with ThreadPoolExecutor(max_workers=4) as pool:
            list(pool.map(start, self.nodes))

    def wait_ready(self, seconds: float = 60) -> None:
        """Wait until every node is Ready; raises LabError naming those that are not."""
        api = self.apiserver.api()
        expected = {node.name for node in self.nodes}
        incomplete = {
            node.name: (f"10.244.{node.index}.0/24", kubeadm.annotations(node.release.minor)) for node in self.nodes
        }
        deadline = time.monotonic() + seconds
        while True:
            incomplete = {name: parts for name, parts in incomplete.items() if not objects.complete(api, name, *parts)}
            late = sorted(expected - self._ready(api))
            if not late:
                return
            if time.monotonic() > deadline:
                raise LabError(
                    f"not Ready after {seconds:.0f} s: {', '.join(late)}; journal of the kubelet of {late[0]}:\n"
                    f"{self.node(late[0]).journal(12)}"
                )
            time.sleep(0.2)

    def wait_listening(self, seconds: float = 60) -> None:
        """Wait until every kubelet has reported that it follows Node.spec.configSource, about 10 s after its start."""
        api = self.apiserver.api()
        for node in self.nodes:
            if node.release.minor > LAST_DYNAMIC:
                continue
            processes.wait_for(
                f"status.config of {node.name}",
                lambda node=node: "config" in api.call("GET", f"/api/v1/nodes/{node.name}")["status"],
                seconds,
            )

    def _make_ssh_key(self) -> None:
        if not self.ssh_key.with_suffix(".pub").exists():
            self.ssh_key.unlink(missing_ok=True)
            run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "livenodes-kubelet-lab", "-f", self.ssh_key)

    def _write_inventory(self) -> None:
        self.known_hosts.write_text("".join(f"{node.address} {node.host_key}\n" for node in self.nodes))
        lines = [
            "all:",
            "  vars:",
            "    ansible_user: root",
            f"    ansible_ssh_private_key_file: {self.ssh_key}",
            "    ansible_python_interpreter: /usr/bin/python3",
            f"    ansible_ssh_common_args: -o UserKnownHostsFile={self.known_hosts} -o GlobalKnownHostsFile=/dev/null"
            " -o IdentitiesOnly=yes -F none",
            "  children:",
        ]
        nodes = self.nodes
        for group in dict.fromkeys(["workers_a", "workers_b", *(node.group for node in nodes)]):
            lines += [f"    {group}:", "      hosts:"]
            lines += [f"        {node.name}: {{ansible_host: {node.address}}}" for node in nodes if node.group == group]
        write_private(self.inventory, "\n".join(lines) + "\n")

    # For tests

    def kubectl(self, *arguments: object, check: bool = True, stdin: str | None = None) -> str:
        """Run Debian's kubectl as administrator and return its standard output."""
        # The caller's KUBECONFIG and HOME must have no influence, and kubectl caches under HOME.
        return run(
            self.cache.kubectl,
            f"--kubeconfig={self.kubeconfig}",
            f"--cache-dir={self.folder}/kubectl-cache",
            *arguments,
            check=check,
            stdin=stdin,
            env={"KUBECONFIG": str(self.kubeconfig), "HOME": str(self.folder)},
        ).stdout

    def get(self, path: str) -> dict[str, Any]:
        """Read an object or a list as administrator. Raises LabError and OSError.

        For frequent reads: a kubectl costs a tenth of a second of a core.
        """
        with contextlib.closing(self.apiserver.api()) as api:
            return api.call("GET", path)

    def user_kubeconfig(self, name: str, groups: tuple[str, ...] = (), expired: bool = False) -> Path:
        """Return a kubeconfig with a new client certificate for a user of these groups; `expired`: expired in 2020."""
        users = self.folder / "users"
        users.mkdir(exist_ok=True, mode=0o700)
        label = (
            "user-"
            + "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
            + ("-expired" if expired else "")
        )
        certificate, key = self.apiserver.ca.issue(label, name, groups, expired=expired, again=True)
        text = kubeconfig(self.apiserver.url, self.apiserver.ca.certificate, name, certificate, key)
        return write_private(users / f"{label}.kubeconfig", text)

    def set_group(self, name: str, group: str | None) -> None:
        """Move a node to another group of the inventory, or with None to its original one. The choice survives `up`.

        Raises LabError when there is no such node.
        """
        self.node(name)
        groups = {key: value for key, value in self.state.data.get("groups", {}).items() if key != name}
        self.state.record(groups={**groups, name: group} if group else groups)
        self._write_inventory()

    def upgrade(self, name: str, version: str, restart: bool = True) -> None:
        """Replace the kubelet of a running node by another version, as a package and `kubeadm upgrade node` do.

        `restart`: also restart it. Raises LabError.
        """
        release = releases.release(releases.find(version), self.cache.binaries)
        release.check()
        node = self.node(name)
        node.replace_binaries(release)
        self.state.record(kubernetes={**self.state.data.get("kubernetes", {}), name: release.version})
        if restart:
            node.run("systemctl restart kubelet")

    def add_node_objects(self, count: int, prefix: str = "scale-") -> list[str]:
        """Create Node objects without kubelets, each as large as a real one; return their names."""
        return objects.add_nodes(self.apiserver.api(), count, prefix)

    def remove_node_objects(self, prefix: str = "scale-") -> None:
        """Remove the Node objects that `add_node_objects` created with this prefix."""
        objects.remove_nodes(self.apiserver.api(), prefix)

    def ready_nodes(self) -> set[str]:
        """Return the names of the running nodes whose kubelet answers and is Ready; none while the API is stopped."""
        api = self.apiserver.api()
        return self._ready(api) if api.is_ready() else set()

    def _ready(self, api: Api) -> set[str]:
        ready = objects.ready_nodes(api)
        return {
            node.name
            for node in self.nodes
            if node.name in ready and node.running and objects.is_kubelet_alive(api, node.name)
        }

    def is_whole(self) -> bool:
        return bool(self.nodes) and {node.name for node in self.nodes} == self.ready_nodes()

    def table(self) -> str:
        """Return the lab's state as a table to print."""
        ready = self.ready_nodes()
        rows = [("NODE", "READY", "KUBELET PID", "ADDRESS", "GROUP", "KUBERNETES")]
        for node in self.nodes:
            kubelet = str(node.kubelet_pid() or "-") if node.running else "down"
            shown = "yes" if node.name in ready else "no"
            rows.append((node.name, shown, kubelet, node.address, node.group, node.release.version))
        widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
        table = "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)
        running = "running" if self.apiserver.is_running() else "stopped"
        return (
            f"{table}\nAPI server  {self.apiserver.url} ({self.apiserver.release.version}, {running})\n"
            f"kubeconfig  {self.kubeconfig}\n"
            f"inventory   {self.inventory}"
        )


def _check_root() -> None:
    if os.geteuid():
        raise LabError("the lab creates network interfaces, mounts and containers: run it as root")


def _check_machine(nodes: int = 1) -> None:
    _check_root()
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    if release.get("ID") != "debian" or release.get("VERSION_ID", "").strip('"') != "12" or not shutil.which("apt-get"):
        raise LabError(
            "the lab is built from packages of Debian 12 and needs its apt; "
            f"this is {release.get('PRETTY_NAME', 'another system')}"
        )
    if not 1 <= nodes <= MOST_NODES:
        raise LabError(f"a lab has 1 to {MOST_NODES} nodes, not {nodes}")


def _remove_folder(folder: Path) -> None:
    mounts = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    inside = [mount for mount in mounts if mount == str(folder) or mount.startswith(f"{folder}/")]
    if inside:
        raise LabError(f"{folder} was not removed: another program mounted something at {inside[0]}; unmount it first")
    # The file that marks a lab is removed last, so that an interrupted removal can be repeated.
    for path in sorted(folder.iterdir(), key=lambda item: item.name.startswith(".")):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    folder.rmdir()
