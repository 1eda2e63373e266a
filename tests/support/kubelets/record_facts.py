# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Record in tests/facts what the kubelet of a node answers: to the tables of the rules, and with a drop-in folder.

make lab-up NODES=3 KUBERNETES="v1.36.2 n1=v1.28.7"
.nox/newest/bin/python -m tests.support.kubelets.record_facts n1
.nox/newest/bin/python -m tests.support.kubelets.record_facts n3
"""

from __future__ import annotations

import importlib
import sys

from tests.lab.lab import Lab

# The first minor with a drop-in folder that needs no variable of the environment.
FOLDER_SINCE = 30


def main(name: str) -> None:
    """Ask the kubelet of a node, and restore the node."""
    # Makes the collection importable.
    importlib.import_module("tests.conftest")
    from tests.support.kubelets import asked_rules
    from tests.support.lab_node import dropin_contract
    from tests.support.lab_node.dropin_node import DropinNode
    from tests.support.lab_node.preflight_node import Node

    lab = Lab.attach()
    found = lab.node(name)
    asked_rules.write(found.release.version, asked_rules.ask(Node(lab, found), asked_rules.CONFIGS))
    if found.release.minor < FOLDER_SINCE:
        return
    node = DropinNode(lab, name)
    node.open()
    try:
        dropin_contract.write(dropin_contract.record(node))
    finally:
        node.close()


if __name__ == "__main__":
    main(sys.argv[1])
