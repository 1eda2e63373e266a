# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A simulated node: a folder as its root file system, a stand-in for systemd, a stand-in for the kubelet.

Everything that the collection runs on a node runs here without root, with the node's own Python: the modules by Ansible
(`variables`), the guard and its step before each start of the kubelet by the stand-in for systemd. See `shim.py` for
how the folder becomes the root file system. The files are those of a node of the lab, as kubeadm makes them.
"""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import typing as t
import urllib.request
import uuid
from pathlib import Path

import yaml

from tests.lab import files, kubeadm, network
from tests.sim.cluster import Cluster
from tests.sim.nodes.systemd import MARK, TCP_HEAD, Systemd

HERE = Path(__file__).resolve().parent
KUBELET = "kubelet.service"
BINARY = "/usr/bin/kubelet"
ADDRESS = "127.0.0.1"
PACE = 0.05
"""By what the pause before an automatic restart (10 s with kubeadm's unit) is multiplied."""


class SimNode:
    """`with SimNode(cluster, folder, "n1", "v1.36.2") as node:` - a Node of the cluster with a kubelet that runs."""

    def __init__(self, cluster: Cluster, folder: Path, name: str, version: str) -> None:
        self.cluster, self.name, self.version = cluster, name, version
        self.root = Path(os.path.realpath(folder)) / name
        # The path of a socket may have 107 bytes only.
        self._sockets = Path(tempfile.mkdtemp(prefix="livenodes-"))
        self._runtime: socket.socket | None = None
        self.port, self.healthz_port = network.free_ports(2)
        self.systemd = Systemd(self.root, PACE)

    def __enter__(self) -> t.Self:
        try:
            self._write_files()
            self.cluster.add(self.name, self.version, f"http://{ADDRESS}:{self.port}")
            self.start_runtime()
            self.boot()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    # Making it

    @property
    def minor(self) -> int:
        """The kubelet's minor: 28 for 1.28."""
        return int(self.version.split(".")[1])

    @property
    def python(self) -> Path:
        """The node's Python, for Ansible."""
        return self.root / "usr/bin/python3"

    def variables(self) -> dict[str, t.Any]:
        return {"ansible_connection": "local", "ansible_python_interpreter": str(self.python)}

    def _write_files(self) -> None:
        given = files.node_files(self.name, ADDRESS, ("api", ADDRESS), kubeadm.Traits(), False, self.minor)
        for path, text in given.items():
            if not path.startswith(("/usr/share/lab", "/etc/systemd/system/lab-", "/etc/systemd/journald", "/etc/ssh")):
                self.write(path, text)
        own = self.read(kubeadm.OWN_CONFIG)
        self.write(kubeadm.OWN_CONFIG, re.sub(r"healthzPort: \d+", f"healthzPort: {self.healthz_port}", own))
        extra = self.read("/etc/default/kubelet").strip()
        self.write("/etc/default/kubelet", f"{extra} --hostname-override={self.name}\n")
        (self.root / "etc/systemd/system/kubelet.service.d/90-lab.conf").unlink()
        for folder in (
            *(kubeadm.MANIFESTS, "/var/lib/kubelet/pki", "/run/systemd", "/run/containerd"),
            *("/proc/net", "/proc/1/ns", "/proc/walls", "/sys/fs/cgroup"),
        ):
            self.at(folder).mkdir(parents=True, exist_ok=True)
        self.write("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n")
        wants = self.at("/etc/systemd/system/multi-user.target.wants")
        wants.mkdir(parents=True)
        (wants / KUBELET).symlink_to(self.at(f"/usr/lib/systemd/system/{KUBELET}"))
        self.at("/proc/1/ns/net").symlink_to("net:[1]")
        self.at("/proc/walls/net").symlink_to("net:[2]")
        self._write_identity()
        self._install_python()
        self.install(self.version)

    def _write_identity(self) -> None:
        path = self.at("/etc/kubernetes/kubelet.conf")
        self.cluster.kubelet_kubeconfig(path, self.name)
        self.write("/etc/kubernetes/pki/ca.crt", "The stand-in for the kubelet asks only whether this file exists.\n")
        known = {
            "name": self.name,
            "port": self.port,
            "api": self.cluster.url,
            "since": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        self.write("/usr/share/sim/kubelet.json", json.dumps(known))

    def _install_python(self) -> None:
        """Make the node's Python a virtual environment of this one that loads the shim, and the node's programs."""
        base = self.at("/usr")
        (base / "bin").mkdir(parents=True, exist_ok=True)
        this = os.path.realpath(sys.executable)
        self.python.symlink_to(this)
        (base / "pyvenv.cfg").write_text(f"home = {Path(this).parent}\ninclude-system-site-packages = false\n")
        packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(base)}))
        packages.mkdir(parents=True)
        shutil.copy(HERE / "shim.py", packages / "livenodes_sim_shim.py")
        (packages / "livenodes_sim.pth").write_text("import livenodes_sim_shim\n")
        for name in ("systemctl", "busctl", "journalctl", "systemd-run"):
            self._program(
                f"/usr/bin/{name}",
                f"{shlex.quote(this)} -I -S {shlex.quote(str(HERE / 'client.py'))} "
                f"{shlex.quote(str(self.root))} {name}",
            )
        roots = os.pathsep.join(path for path in sys.path if path)
        # The version alone needs no Python, and the stand-in describes itself with nothing else.
        version = 'if [ "$2" = --version ]; then exec sed -n \'s/.*simulated kubelet /Kubernetes /p\' "$1"; fi'
        helped = 'if [ "$2" = --help ]; then exit 0; fi'
        self._program(
            "/usr/libexec/run",
            f"env PYTHONPATH={shlex.quote(roots)} {shlex.quote(sys.executable)} -m tests.sim.nodes.kubelet "
            f"{shlex.quote(str(self.root))}",
            f"{helped}\n{version}",
        )

    def _program(self, path: str, command: str, first: str = "") -> None:
        self.write(path, f'#!/bin/sh\n{first}\nexec {command} "$@"\n')
        self.at(path).chmod(0o755)

    def install(self, version: str) -> None:
        """Replace the kubelet's binary, as a package does; the kubelet that runs keeps running."""
        self.version = version
        fresh = self.at(f"{BINARY}.new")
        fresh.write_bytes(MARK + b" kubelet " + version.encode() + b"\n")
        fresh.chmod(0o755)
        fresh.rename(self.at(BINARY))

    # Power

    def boot(self) -> None:
        self.write("/proc/sys/kernel/random/boot_id", f"{uuid.uuid4()}\n")
        self.write("/proc/net/tcp", TCP_HEAD)
        self.systemd.boot()

    def reboot(self, power_cut: bool = False) -> None:
        """Boot the node again: /run is empty then."""
        self.systemd.close(kill=power_cut)
        shutil.rmtree(self.at("/run/livenodes-kubelet-guard"), ignore_errors=True)
        self.systemd = Systemd(self.root, PACE)
        self.boot()

    def start_runtime(self) -> None:
        if self._runtime:
            return
        path = self._sockets / "runtime"
        path.unlink(missing_ok=True)
        self._runtime = socket.socket(socket.AF_UNIX)
        self._runtime.bind(str(path))
        self._runtime.listen(16)
        link = self.at(kubeadm.SOCKET)
        link.unlink(missing_ok=True)
        link.symlink_to(path)
        threading.Thread(target=_accept, args=(self._runtime,), daemon=True).start()

    def stop_runtime(self) -> None:
        if self._runtime:
            with contextlib.suppress(OSError):
                self._runtime.shutdown(socket.SHUT_RDWR)
            self._runtime.close()
            self._runtime = None

    def close(self) -> None:
        """Stop everything. The folder stays."""
        self.systemd.close()
        self.stop_runtime()
        shutil.rmtree(self._sockets, ignore_errors=True)

    # What can be seen and done

    def at(self, path: str) -> Path:
        """Return where a path of the node lies."""
        return self.root / path.lstrip("/")

    def read(self, path: str, default: str | None = None) -> str:
        """Return a file of the node, `default` if there is none. Raises FileNotFoundError without that."""
        place = self.at(path)
        return place.read_text(encoding="utf-8") if default is None or place.exists() else default

    def write(self, path: str, text: str) -> None:
        place = self.at(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")

    def show(self, name: str, unit: str = KUBELET) -> str:
        return self.systemd.properties(unit).get(name, "")

    def systemctl(self, *words: str) -> str:
        _code, output, errors = self.systemd.answer(["systemctl", *words])
        return output + errors

    def journal(self, unit: str = KUBELET) -> str:
        return self.systemd.journal.printed([f"--unit={unit}"])

    def kill_kubelet(self) -> None:
        """End the kubelet's process, as the kernel does when memory is short."""
        os.kill(int(self.show("MainPID")), signal.SIGKILL)

    def run(self, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a program with the node's Python: the words are those after it."""
        return subprocess.run(
            [str(self.python), *words], check=False, text=True, capture_output=True, env={**os.environ, **environment}
        )

    def layout(self) -> dict[str, tuple[t.Any, ...]]:
        """Return what a reset must leave as it was: kind, mode, target and digest of each file by its path."""
        found: dict[str, tuple[t.Any, ...]] = {}
        for folder in ("/etc", "/usr/lib/systemd", "/var/lib"):
            for place in sorted(self.at(folder).rglob("*")):
                name, mode = f"/{place.relative_to(self.root)}", place.lstat().st_mode
                if place.is_symlink():
                    found[name] = (mode, os.readlink(place))
                elif place.is_file():
                    found[name] = (mode, hashlib.sha256(place.read_bytes()).hexdigest())
                else:
                    found[name] = (mode,)
        return found

    def wait(self, ready: t.Callable[[], t.Any], seconds: float, what: str) -> float:
        """Poll until `ready` is true; return how long it took. Raises AssertionError with the journals."""
        begun = time.monotonic()
        while not ready():
            if time.monotonic() - begun > seconds:
                guard = self.journal("livenodes-kubelet-guard.service")[-3000:]
                raise AssertionError(
                    f"no {what} within {seconds:g} s\nguard:\n{guard}\nkubelet:\n{self.journal()[-3000:]}"
                )
            time.sleep(0.05)
        return time.monotonic() - begun

    def configz(self) -> dict[str, t.Any]:
        """Return the kubelet's live configuration, empty when it does not answer."""
        try:
            with urllib.request.urlopen(f"http://{ADDRESS}:{self.port}/configz", timeout=2) as answer:
                return t.cast("dict[str, t.Any]", json.load(answer)["kubeletconfig"])
        except (OSError, http.client.HTTPException):
            # The second: it was ended while it answered.
            return {}

    def own_config(self) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", yaml.safe_load(self.read(kubeadm.OWN_CONFIG)))

    def healthy(self) -> bool:
        """Whether healthz of its own file's port answers."""
        try:
            with socket.create_connection((ADDRESS, self.healthz_port), 1):
                return True
        except OSError:
            return False


def _accept(listener: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while True:
            listener.accept()[0].close()
