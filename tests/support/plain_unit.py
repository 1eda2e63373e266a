# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet's unit as written by hand, without kubeadm: one ExecStart with --config, and no drop-ins."""

from __future__ import annotations

import contextlib
import typing as t

from tests.lab.node import LabNode

KEPT = "/root/kept-unit"
SERVICE = "/usr/lib/systemd/system/kubelet.service"
DROPINS = "/etc/systemd/system/kubelet.service.d"
CONFIG_LINE = 7


@contextlib.contextmanager
def plain_unit(node: LabNode) -> t.Iterator[None]:
    """Give a node such a unit with the same flags and restart its kubelet; restore its own unit afterwards."""
    argv = node.run("tr '\\0' '\\n' < /proc/$(systemctl show -P MainPID kubelet)/cmdline").split("\n")[:-1]
    rest = " \\\n  ".join(word for word in argv[1:] if not word.startswith("--config="))
    node.run(f"mkdir {KEPT} && cp -a {SERVICE} {KEPT}/service && cp -a {DROPINS} {KEPT}/dropins")
    try:
        # The settings of the lab's own drop-in move into the unit, so that no folder for drop-ins is left.
        node.run(
            f"rm -r {DROPINS} && cat > {SERVICE}",
            stdin=(
                "[Unit]\nWants=containerd.service lab-tunables.service lab-no-docker.socket\n"
                "After=containerd.service lab-tunables.service lab-no-docker.socket\n"
                "[Service]\nExecStart=/usr/bin/kubelet \\\n  # its file\n"
                f"  --config /var/lib/kubelet/config.yaml \\\n  {rest} \\\n"
                '  "--node-labels=a=b"\nRestart=always\nRestartSec=1\nStartLimitInterval=0\n'
                "[Install]\nWantedBy=multi-user.target\n"
            ),
        )
        node.run("systemctl daemon-reload && systemctl restart kubelet")
        yield
    finally:
        node.run(
            f"cp -a {KEPT}/service {SERVICE} && rm -rf {DROPINS} && cp -a {KEPT}/dropins {DROPINS} && rm -r {KEPT} && "
            "systemctl daemon-reload && systemctl restart kubelet"
        )
