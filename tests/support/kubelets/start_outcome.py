# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of a real kubelet with some fields in its own file."""

from __future__ import annotations

import contextlib
import time
import typing as t

from tests.lab.console import LabError
from tests.lab.kubeadm import OWN_CONFIG
from tests.lab.lab import Lab
from tests.support.kubelets.kubelet_starts import Fields
from tests.support.lab_node.dropin_node import DropinNode

# Seconds that a kubelet has to answer, and for which it is watched after that.
PATIENCE, WATCHED = 20.0, 3.0


@contextlib.contextmanager
def opened(lab: Lab, name: str) -> t.Iterator[DropinNode]:
    """Yield a node whose config file may be changed; restore it afterwards."""
    node = DropinNode(lab, name)
    try:
        node.bench.wait(node.bench.healthy, 60, "healthz")
        node.open(f"--config={OWN_CONFIG}")
        yield node
    finally:
        node.close()


def outcome(node: DropinNode, fields: Fields) -> str:
    """Return `ends`, `starts`, or `hides`: it runs, and its /configz or its healthz does not answer."""
    # Another kubelet's state is not part of this.
    node.run("systemctl stop kubelet; rm -f /var/lib/kubelet/*_manager_state")
    node.write(fields, {})
    node.restart()
    deadline = time.monotonic() + PATIENCE
    answers_since = None
    while time.monotonic() < deadline:
        if int(node.run("systemctl show -P NRestarts kubelet")):
            return "ends"
        answered = False
        with contextlib.suppress(LabError, OSError, ValueError):
            answered = bool(node.bench.configz()) and node.bench.healthy()
        if not answered:
            answers_since = None
        elif answers_since is None:
            answers_since = time.monotonic()
        elif time.monotonic() - answers_since > WATCHED:
            return "starts"
        time.sleep(0.5)
    return "hides"
