# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The demo on real kubelets, `make demo LAB=real`.

It runs the playbooks exactly as a user does, prints each command before it runs, and then reads the live state with
kubectl. Exits 1 when a step does not end as expected, 130 when interrupted. A lab that the demo started is removed
afterwards, however the demo ends.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from pathlib import Path

from tests.lab.console import LabError
from tests.lab.lab import Lab
from tools.demo.real import checkpoint, native
from tools.demo.real.steps import GROUP, Demo
from tools.demo.steps import FOLDER, HEADLINE, DemoError, exit_status, show


def is_up() -> bool:
    """Return whether a lab is running already, complete or not."""
    try:
        Lab.attach()
    except LabError:
        return False
    return True


def main() -> int:
    """Run the demo; remove the lab if the demo started it; return the exit status."""
    own = not is_up()
    try:
        return exit_status(lambda: whole(own))
    finally:
        if own:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            with contextlib.suppress(LabError):
                Lab.down()


def whole(own: bool) -> None:
    """Start the lab if none is running, and run all steps. Raises DemoError."""
    text = "A lab is running already; the demo uses it."
    if own:
        text = (
            "The demo starts the lab and removes it at the end. The first start builds its parts, in about 8 minutes."
        )
    show("A lab of real kubelets: etcd, kube-apiserver 1.20.2 and three systemd nodes on this machine.", HEADLINE)
    show(text)
    try:
        lab = Lab.up(nodes=3)
        with tempfile.TemporaryDirectory(prefix=FOLDER) as home:
            demo = Demo(lab, Path(home))
            if not own:
                show("Its nodes may have been changed, so the demo resets them first.")
                demo.playbook("reset", "-e", f"kubelet_config_hosts={GROUP}")
            native.run(demo)
            with checkpoint.without_dynamic_config(demo) as node:
                checkpoint.run(demo, node)
    except LabError as error:
        raise DemoError(str(error)) from error
    farewell(own, lab)


def farewell(own: bool, lab: Lab) -> None:
    """Print the commands that let the reader continue by hand."""
    text = "The lab was running before the demo and keeps running. To continue by hand:"
    if own:
        text = "To continue by hand, start the lab again with `make lab-up`, and then:"
    show()
    show(text, HEADLINE)
    programs = Path(shutil.which("ansible-playbook") or "ansible-playbook").parent
    show(f"""\
  export PATH={programs}:$PATH ANSIBLE_COLLECTIONS_PATH={os.environ.get("ANSIBLE_COLLECTIONS_PATH", "")}
  export K8S_AUTH_KUBECONFIG={lab.kubeconfig}
  ansible-playbook -i {lab.inventory} livenodes.kubelet.plan -e kubelet_config_hosts={GROUP} \\
    -e '{{"kubelet_config": {{"maxPods": 80}}}}'
  {lab.cache.kubectl} --kubeconfig {lab.kubeconfig} get nodes""")
