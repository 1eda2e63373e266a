# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""First half of the demo, native delivery: the API server passes the configuration on, without a login to any node."""

from __future__ import annotations

from tools.demo.real.steps import EXCEPTION, GROUP, SOAK, WANTED, Demo
from tools.demo.steps import show

BAD = WANTED + "  kubeAPIQPS: -1\n"
# Otherwise the plan refuses the value, and no kubelet gets it.
ALLOW = ("-e", "kubelet_config_allow_invalid=true")


def run(demo: Demo) -> None:
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
