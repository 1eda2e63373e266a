# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet's unit as written by hand, without kubeadm, and without drop-ins: its --config is in ExecStart, or all its
arguments are in an environment file.
"""

from __future__ import annotations

import contextlib
import typing as t

from tests.lab import kubeadm
from tests.lab.node import LabNode

KEPT = "/root/kept-unit"
SERVICE = "/usr/lib/systemd/system/kubelet.service"
DROPINS = "/etc/systemd/system/kubelet.service.d"
ENVIRONMENT = "/etc/kubernetes/kubelet.env"
HEAD = """[Unit]
Wants=containerd.service lab-tunables.service lab-no-docker.socket
After=containerd.service lab-tunables.service lab-no-docker.socket
[Service]
"""
TAIL = "Restart=always\nRestartSec=1\nStartLimitInterval=0\n[Install]\nWantedBy=multi-user.target\n"


@contextlib.contextmanager
def plain_unit(node: LabNode, by_environment: bool = False) -> t.Iterator[None]:
    """Give a node such a unit with the same flags and restart its kubelet; restore its own unit afterwards."""
    argv = node.run("tr '\\0' '\\n' < /proc/$(systemctl show -P MainPID kubelet)/cmdline").split("\n")[:-1]
    words = [word for word in argv[1:] if not word.startswith("--config=")]
    rest = " \\\n  ".join(words)
    command = (
        "ExecStart=/usr/bin/kubelet \\\n  # its file\n"
        f"  --config /var/lib/kubelet/config.yaml \\\n  {rest} \\\n"
        '  "--node-labels=a=b"\n'
    )
    if by_environment:
        command = f"EnvironmentFile=-{ENVIRONMENT}\nExecStart=/usr/bin/kubelet $KUBELET_ARGS\n"
    packaged = kubeadm.drop_in_folder(node.release.minor)
    node.run(f"mkdir {KEPT} && cp -a {SERVICE} {KEPT}/service && cp -a {DROPINS} {KEPT}/dropins")
    node.run(f"test {packaged} = {DROPINS} || mv {packaged} {KEPT}/packaged")
    try:
        if by_environment:
            arguments = " ".join(["--config=/var/lib/kubelet/config.yaml", *words])
            node.run(f"cat > {ENVIRONMENT}", stdin=f'KUBELET_ARGS="{arguments}"\n')
        # The settings of the lab's own drop-in move into the unit, so that no folder for drop-ins is left.
        node.run(f"rm -r {DROPINS} && cat > {SERVICE}", stdin=f"{HEAD}{command}{TAIL}")
        node.run("systemctl daemon-reload && systemctl restart kubelet")
        yield
    finally:
        node.run(
            f"cp -a {KEPT}/service {SERVICE} && rm -rf {DROPINS} {ENVIRONMENT} && cp -a {KEPT}/dropins {DROPINS} && "
            f"{{ test ! -e {KEPT}/packaged || mv {KEPT}/packaged {packaged}; }} && "
            f"rm -r {KEPT} && systemctl daemon-reload && systemctl restart kubelet"
        )
