# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node: a container with its own systemd and network, and a kubelet installed as by kubeadm."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

from . import cgroups, files, images, kubeadm, network, processes
from .build import Cache
from .console import LabError, run
from .controlplane import HOST, ControlPlane
from .processes import wait_for
from .releases import Release
from .settings import Settings

RUNNER = Path(__file__).with_name("node.sh")
PATIENCE = 60.0
"""Seconds for a step of a start: several labs may start at once on few processors."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class LabNode:
    """One node of the lab. Its disk survives `stop` and `start`, but not the removal of the lab."""

    def __init__(
        self,
        settings: Settings,
        control: ControlPlane,
        cache: Cache,
        index: int,
        release: Release,
        group: str | None = None,
    ) -> None:
        self.settings = settings
        self.control = control
        self.cache = cache
        self.release = release
        self.index = index
        self.name = f"n{index}"
        self.address = settings.address(index)
        self.group = group or ("workers_a" if index % 2 else "workers_b")
        self.traits = kubeadm.traits(self.name)
        self.folder = settings.folder / "nodes" / self.name
        self.role = f"node-{self.name}"

    # Making it

    def prepare(self, public_key: str, dynamic: bool) -> None:
        """Write the node's own files over the common tree, once; later changes by tests are kept."""
        done = self.folder / "prepared"
        if done.exists():
            return
        if self.folder.exists():
            shutil.rmtree(self.folder)
        for part in ("upper", "work", "root", "containerd"):
            (self.folder / part).mkdir(parents=True)
        upper = self.folder / "upper"
        api, cgroup_v1 = (HOST, self.settings.gateway), kubeadm.has_cgroup_v1()
        for path, text in files.node_files(
            self.name, self.address, api, self.traits, dynamic, self.release.minor, cgroup_v1
        ).items():
            self._write(path, text)
        if not self.release.packaged:
            (upper / "usr/bin").mkdir()
            for name in self.release.programs():
                shutil.copy2(self.release.folder / name, upper / "usr/bin" / name)
        for path, target in files.NODE_LINKS.items():
            link = upper / path[1:]
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(target)
        for folder in (kubeadm.MANIFESTS[1:], "var/log/journal"):
            (upper / folder).mkdir(parents=True)
        self._write("/root/.ssh/authorized_keys", public_key, 0o600)
        (upper / "root").chmod(0o700)
        (upper / "root/.ssh").chmod(0o700)
        run(
            "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", self.name, "-f", upper / "etc/ssh/ssh_host_ed25519_key"
        )
        self._write_credentials()
        done.touch()

    def _write(self, path: str, text: str, mode: int = 0o644) -> None:
        target = self.folder / "upper" / path[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch(mode)
        target.chmod(mode)
        target.write_text(text)

    def _write_credentials(self) -> None:
        """Write the node's client certificate to where the kubelet keeps it after `kubeadm join`."""
        certificate, key = self.control.ca.issue(self.role, f"system:node:{self.name}", ["system:nodes"])
        current = "/var/lib/kubelet/pki/kubelet-client-current.pem"
        self._write(current, certificate.read_text() + key.read_text(), 0o600)
        self._write("/etc/kubernetes/pki/ca.crt", self.control.ca.certificate.read_text())
        self._write(
            "/etc/kubernetes/kubelet.conf",
            f"""apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority: /etc/kubernetes/pki/ca.crt
    server: {self.control.url}
  name: default-cluster
contexts:
- context:
    cluster: default-cluster
    namespace: default
    user: default-auth
  name: default-context
current-context: default-context
users:
- name: default-auth
  user:
    client-certificate: {current}
    client-key: {current}
""",
            0o600,
        )

    def set_dynamic(self, dynamic: bool) -> bool:
        """Set or remove `--dynamic-config-dir` on a running node; return whether that restarted the kubelet."""
        wanted = files.default_kubelet(self.traits, dynamic, self.release.minor, self.address)
        if self.run("cat /etc/default/kubelet") == wanted:
            return False
        self.run(f"printf %s {shlex.quote(wanted)} > /etc/default/kubelet && systemctl restart kubelet")
        return True

    def replace_binaries(self, release: Release) -> None:
        """Replace kubelet and kubeadm on the running node as a package does, and renew the files of kubeadm.

        The kubelet that runs keeps running. Raises LabError when the node is down.
        """
        leader = self.leader()
        if leader is None:
            raise LabError(f"node {self.name} is down; start it with `python3 -m tests.lab up`")
        for name in release.programs():
            # Through the node's own mounts: a change below a mounted overlay would have no defined effect.
            shutil.copy2(release.folder / name, f"/proc/{leader}/root/usr/bin/.{name}.new")
            self.run(f"umount --lazy --quiet /usr/bin/{name}; mv /usr/bin/.{name}.new /usr/bin/{name}")
        self.release = release
        written = kubeadm.kubelet_files(self.traits, release.minor, kubeadm.has_cgroup_v1())
        written["/etc/default/kubelet"] = files.default_kubelet(self.traits, False, release.minor, self.address)
        for path, text in written.items():
            self.run(f"cat > {path}", stdin=text)

    @property
    def host_key(self) -> str:
        """Return the node's public ssh host key."""
        return " ".join((self.folder / "upper/etc/ssh/ssh_host_ed25519_key.pub").read_text().split()[:2])

    # Power

    def start(self) -> None:
        """Boot the node unless it runs, and wait until systemd has started everything."""
        veth = f"{self.settings.bridge}-{self.name}"
        if not self.is_supervised():
            self.kill()
            wait_for(f"the end of {self.name}'s former interface {veth}", lambda: not network.has_link(veth), PATIENCE)
            address = f"{self.address}/{self.settings.subnet.prefixlen}"
            words: list[object] = ["sh", RUNNER, "outside", self.name, veth, address, os.getpid()]
            words += [self.folder, self.cache.tree, self.release.folder]
            if cgroups.managed():
                unit = f"--unit={self.settings.bridge}-{self.name}"
                scope = ["systemd-run", "--scope", "--quiet", "--collect", unit, "--property=Delegate=yes"]
                words = [*scope, *words]
            else:
                words += cgroups.make(self.settings, self.name)
            processes.spawn(self.settings, self.role, words, self._log)
        # Also for a running node: the command that started it may have been interrupted just before this.
        self._wait(f"{self.name}'s network", lambda: network.has_link(veth), PATIENCE)
        network.plug(self.settings, veth)
        self._wait(f"the boot of {self.name}", self._booted, 2 * PATIENCE)

    def is_supervised(self) -> bool:
        """Return whether node.sh runs. A node without it cannot reboot and must be started again."""
        found = processes.find(self.settings, self.role)
        return bool(found) and found[0].pid != self.leader()

    def stop(self) -> None:
        """Shut the node down in an orderly way, like a power button, and wait until it has ended."""
        payload = self.leader()
        if payload:
            os.kill(payload, signal.SIGRTMIN + 4)
        try:
            wait_for(f"the shutdown of {self.name}", self._ended, 40)
        finally:
            self.kill()

    def kill(self) -> None:
        """Cut the node's power."""
        processes.stop(self.settings, self.role, patience=0)
        cgroups.remove(self.settings, self.name)

    def reboot(self) -> None:
        """Reboot the node from inside and wait until it is up. Its kubelet may need some seconds to become Ready."""
        former = self.leader()
        self.run("systemctl reboot")
        wait_for(
            f"the reboot of {self.name}",
            lambda: self.leader() not in (former, None) and self._booted(),
            90,
            self._log,
        )

    @property
    def running(self) -> bool:
        return self.leader() is not None

    def leader(self) -> int | None:
        """Return the pid, on this machine, of the node's process 1; None when the node is down."""
        for process in processes.find(self.settings, self.role):
            with contextlib.suppress(OSError, StopIteration):
                status = Path(f"/proc/{process.pid}/status").read_text()
                inside = next(line for line in status.splitlines() if line.startswith("NSpid:")).split()
                if len(inside) > 2 and inside[-1] == "1":
                    return process.pid
        return None

    def _booted(self) -> bool:
        return (
            self.running
            and self._execute(
                "systemctl is-active --quiet multi-user.target && test -S /run/containerd/containerd.sock"
            ).returncode
            == 0
        )

    def _ended(self) -> bool:
        processes.reap()
        return not processes.find(self.settings, self.role)

    def _wait(self, what: str, ready: Callable[[], bool], seconds: float) -> None:
        def check() -> bool:
            if self._ended():
                raise LabError(f"{self.name} ended while it started:\n{processes.tail(self._log)}")
            return ready()

        wait_for(what, check, seconds, self._log)

    @property
    def _log(self) -> Path:
        return self.settings.folder / "logs" / f"{self.name}.log"

    # Inside

    def run(self, command: str, check: bool = True, timeout: float = 60, stdin: str | None = None) -> str:
        """Run a shell command as root inside the node, without ssh; return its output, both streams together.

        Raises LabError when the command fails, unless `check` is false, and when the node is down.
        """
        try:
            done = self._execute(command, timeout, stdin)
        except subprocess.TimeoutExpired as error:
            raise LabError(f"{self.name}: `{command}` ran for more than {timeout:.0f} s") from error
        if check and done.returncode:
            raise LabError(f"{self.name}: `{command}` exited {done.returncode}:\n{done.stdout.strip()}")
        return done.stdout

    def _execute(self, command: str, timeout: float = 60, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        leader = self.leader()
        if leader is None:
            raise LabError(f"node {self.name} is down; start it with `python3 -m tests.lab up`")
        inside = f"nsenter --target {leader} --mount --uts --ipc --net --pid --cgroup --root --wd"
        return subprocess.run(
            [*inside.split(), "env", "-i", f"PATH={PATH}", "HOME=/root", "LANG=C.UTF-8", "sh", "-c", command],
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            input=stdin or "",
            timeout=timeout,
            check=False,
            errors="replace",
        )

    def enable_pods(self) -> None:
        """Load the image of the lab's pods on the node, once; nodes start without it.

        Raises LabError when the lab is older than that image.
        """
        if images.IMAGE in self.run("ctr --namespace=k8s.io images list --quiet").split():
            return
        if not self.cache.image.exists():
            raise LabError(
                f"{self.cache.image} is missing because this lab was created without pods; "
                "remove the lab and start it again"
            )
        # This folder is the node's /var/lib/containerd.
        copy = self.folder / "containerd" / self.cache.image.name
        shutil.copy(self.cache.image, copy)
        self.run(f"ctr --namespace=k8s.io images import /var/lib/containerd/{copy.name}")
        copy.unlink()

    def unit_property(self, name: str, unit: str = "kubelet.service") -> str:
        return self.run(f"systemctl show --property={name} --value {unit}").strip()

    def invocation_id(self) -> str:
        """Return the InvocationID of the kubelet's unit, which changes at every start."""
        return self.unit_property("InvocationID")

    def restarts(self) -> int:
        """Return how often systemd has restarted the kubelet automatically since its last explicit start."""
        return int(self.unit_property("NRestarts"))

    def kubelet_pid(self) -> int:
        """Return the kubelet's pid inside the node; 0 when it does not run."""
        return int(self.unit_property("MainPID"))

    def journal(self, lines: int = 40, unit: str = "kubelet.service", since: float = 0) -> str:
        """Return the last lines of a unit's journal, only those after `since` (seconds since 1970)."""
        # With --since, systemd before 254 counts --lines from that time, not from the end.
        return self.run(f"journalctl --no-pager --output=cat --unit={unit} --since=@{since:.0f} | tail --lines={lines}")
