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
from tools.demo.real import checkpoint
from tools.demo.real.steps import EXCEPTION, GROUP, SOAK, WANTED, Demo
from tools.demo.steps import FOLDER, HEADLINE, DemoError, exit_status, show

BAD = WANTED + "  kubeAPIQPS: -1\n"
# Otherwise the plan refuses the value, and no kubelet gets it.
ALLOW = ("-e", "kubelet_config_allow_invalid=true")


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
            run_native(demo)
            with checkpoint.without_dynamic_config(demo) as node:
                checkpoint.run(demo, node)
    except LabError as error:
        raise DemoError(str(error)) from error
    farewell(own, lab)


def run_native(demo: Demo) -> None:
    """Plan, roll out, repeat, roll out a bad configuration, reset."""
    hosts = ("-e", f"kubelet_config_hosts={GROUP}")
    demo.headline(f"Before: the kubelets of the group {GROUP} run with the configuration file of their node")
    before = demo.live()

    demo.headline("Declare values for the group, and an exception for one node. The plan shows what would change")
    demo.write(f"group_vars/{GROUP}.yml", WANTED)
    demo.write("host_vars/n3.yml", EXCEPTION)
    demo.playbook("plan", *hosts)

    demo.headline("Roll it out: one node after the other, with a soak of 5 s after each (30 s by default)")
    demo.playbook("rollout", *hosts, *SOAK)
    good = demo.live()
    demo.expect("maxPods by node", {name: row["maxPods"] for name, row in good.items()}, {"n1": 80, "n3": 60})

    demo.headline("Roll it out again: nothing changes, and no kubelet restarts")
    demo.playbook("rollout", *hosts, *SOAK)
    demo.expect("the live state", demo.live(), good)

    demo.headline("Plan a bad value: the plan names the kubelet's rule and refuses it")
    demo.write(f"group_vars/{GROUP}.yml", BAD)
    demo.playbook("plan", *hosts, fails=True)
    demo.expect("the live state", demo.live(), good)

    demo.headline(
        "Roll it out anyway. The first kubelet refuses it; the rollout reverts that node, reports the reason\n"
        "   and stops before the second node"
    )
    demo.playbook("rollout", *hosts, *SOAK, *ALLOW, fails=True)
    bad = demo.live()
    demo.expect_same_config("what n1 runs with", bad["n1"], good["n1"])
    demo.expect("n3, which is after n1,", bad["n3"], good["n3"])
    show(
        "The kubelet of n1 first fell back to the file on its node: a configuration becomes last-known-good after\n"
        "10 minutes, and the one of step 3 is younger. The rollout then assigned the one of step 3 again."
    )

    demo.headline("Reset: every kubelet runs with the configuration file of its node again")
    demo.playbook("reset", *hosts)
    after = demo.live()
    for name in demo.NODES:
        demo.expect_same_config(f"what {name} runs with", after[name], before[name])


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
