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
import time
from pathlib import Path

from tests.lab.console import LabError
from tests.lab.lab import Lab
from tools.demo.console import FAILURE, HEADLINE, SUCCESS, DemoError, end, show
from tools.demo.real import checkpoint, native
from tools.demo.real.steps import GROUP, Demo
from tools.demo.steps import FOLDER


def farewell(own: bool, lab: Lab) -> None:
    """Print the commands that let the reader continue by hand."""
    show()
    show(
        "To continue by hand, start the lab again with `make lab-up`, and then:"
        if own
        else "The lab was running before the demo and keeps running. To continue by hand:",
        HEADLINE,
    )
    programs = Path(shutil.which("ansible-playbook") or "ansible-playbook").parent
    show(f"""\
  export PATH={programs}:$PATH ANSIBLE_COLLECTIONS_PATH={os.environ.get("ANSIBLE_COLLECTIONS_PATH", "")}
  export K8S_AUTH_KUBECONFIG={lab.kubeconfig}
  ansible-playbook -i {lab.inventory} livenodes.kubelet.plan -e kubelet_config_hosts={GROUP} \\
    -e '{{"kubelet_config": {{"maxPods": 80}}}}'
  {lab.cache.kubectl} --kubeconfig {lab.kubeconfig} get nodes""")


def is_up() -> bool:
    """Return whether a lab is running already, complete or not."""
    try:
        Lab.attach()
    except LabError:
        return False
    return True


def run(demo: Demo) -> None:
    """Run all steps."""
    native.run(demo)
    with checkpoint.without_dynamic_config(demo) as node:
        checkpoint.run(demo, node)


def main() -> int:
    """Start the lab if none is running, run the demo, remove the lab if the demo started it; return the exit status."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    own = not is_up()
    started = time.monotonic()
    try:
        show("A lab of real kubelets: etcd, kube-apiserver 1.20.2 and three systemd nodes on this machine.", HEADLINE)
        show(
            "The demo starts the lab and removes it at the end. The first start builds its parts, in about 8 minutes."
            if own
            else "A lab is running already; the demo uses it."
        )
        lab = Lab.up(nodes=3)
        with tempfile.TemporaryDirectory(prefix=FOLDER) as home:
            demo = Demo(lab, Path(home))
            if not own:
                show("Its nodes may have been changed, so the demo resets them first.")
                demo.playbook("reset", "-e", f"kubelet_config_hosts={GROUP}")
            run(demo)
        farewell(own, lab)
        show(f"Done in {time.monotonic() - started:.0f} s.", SUCCESS)
        return 0
    except (DemoError, LabError) as error:
        show(f"demo: {error}", FAILURE)
        return 1
    except KeyboardInterrupt:
        show("demo: interrupted", FAILURE)
        return 130
    finally:
        if own:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            with contextlib.suppress(LabError):
                Lab.down()
