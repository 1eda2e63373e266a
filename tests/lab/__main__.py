# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`python3 -m tests.lab up|down|status|build|upgrade`."""

from __future__ import annotations

import argparse
import signal
import sys

from . import releases
from .console import LabError, progress, warn
from .lab import Lab


def main() -> int:
    """Run one command. Exit 0: done, or all is up; 1: failed; 3: the lab is down or incomplete; 130: interrupted."""
    parser = argparse.ArgumentParser(
        prog="python3 -m tests.lab", description="A real control plane and real kubelets on this machine."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    up = commands.add_parser("up", help="start the lab, or add nodes to it")
    up.add_argument("--nodes", type=int, default=3, help="how many nodes at least (default 3)")
    up.add_argument("--no-dynamic", action="store_true", help="start kubelets without --dynamic-config-dir")
    up.add_argument(
        "--kubernetes",
        nargs="+",
        default=releases.asked(),
        metavar="VERSION",
        help="v1.36.2 for all, n2=v1.28.7 for one node; v1.36 is its newest patch release "
        "(default: LIVENODES_LAB_KUBERNETES, else v1.20.2)",
    )
    upgrade = commands.add_parser("upgrade", help="replace the kubelet of a node by another version, and restart it")
    upgrade.add_argument("node")
    upgrade.add_argument("version")
    commands.add_parser("build", help="install and build the missing parts of a lab, and start nothing")
    commands.add_parser("down", help="remove the lab and everything it created")
    commands.add_parser("status", help="show nodes and paths; exit 3 unless all is up")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if chosen.command == "up":
            print(Lab.up(chosen.nodes, dynamic=not chosen.no_dynamic, kubernetes=chosen.kubernetes).table())
        elif chosen.command == "upgrade":
            Lab.attach().upgrade(chosen.node, chosen.version)
        elif chosen.command == "build":
            Lab.build()
        elif chosen.command == "down":
            Lab.down()
        else:
            return _status()
    except LabError as error:
        warn(str(error))
        return 1
    except KeyboardInterrupt:
        warn("interrupted; run the same command again to complete it, or `down` to remove what exists")
        return 130
    return 0


def _status() -> int:
    try:
        lab = Lab.attach()
    except LabError as error:
        progress(str(error))
        return 3
    print(lab.table())
    return 0 if lab.is_whole() else 3


if __name__ == "__main__":
    sys.exit(main())
