# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths of a simulated node lead into its folder, those of this machine do not, and nothing else is touched."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.sim.nodes.node import SimNode

REAL = "import json, sys, livenodes_sim_shim as shim; print(json.dumps([shim.real(path) for path in sys.argv[1:]]))"
INSIDE = (
    "/",
    "/etc/kubernetes/kubelet.conf",
    "/run/livenodes-check-x/kubelet",
    "/proc/7/cmdline",
    "/var/lib",
    "/var/lib/kubelet/config.yaml",
    "/var/lib/kubelet-config/store/trial",
    "/var/lib/tmp_kubelet-config.0123456789ab",
    "/usr/bin/kubelet",
    "/usr/lib/systemd/system/kubelet.service",
    "/etc//default/../default/kubelet",
)
OUTSIDE = ("/tmp/x", "/home/x", "/bin/sh", "/usr/lib/python3/x.py", "/var/lib/x", "/etcetera", "relative", sys.prefix)
WORK = """
import os, subprocess, sys, tempfile
sys.stdout.write(sys.executable + "\\n" + os.path.realpath("/etc/link") + "\\n")
folder = tempfile.mkdtemp(dir="/run")
with open(os.path.join(folder, "file"), "w") as stream:
    stream.write(open("/etc/link").read())
os.rename(folder, "/run/moved")
print(sorted(os.listdir("/run/moved")), os.path.exists(folder))
print(subprocess.run([sys.executable, "-I", "-c", "print(open('/run/moved/file').read())"], capture_output=True).stdout)
print(subprocess.run(["timeout", "30", "/usr/bin/kubelet", "--version"], capture_output=True, text=True).stdout.strip())
"""


def test_which_paths_are_those_of_the_node(nodes: dict[str, SimNode]) -> None:
    node = nodes["n1"]
    found = json.loads(node.run("-c", REAL, *INSIDE, *OUTSIDE, str(node.root / "etc")).stdout)
    assert found[: len(INSIDE)] == [f"{node.root}{path}" for path in INSIDE]
    assert found[len(INSIDE) :] == [*OUTSIDE, str(node.root / "etc")]


def test_files_links_and_programs(nodes: dict[str, SimNode]) -> None:
    node = nodes["n1"]
    node.write("/etc/target", "text")
    before = set(Path("/run").iterdir())
    done = node.run("-c", f"import os; os.symlink('/etc/target', '/etc/link'); print(os.readlink('/etc/link'))\n{WORK}")
    assert done.stdout.splitlines() == [
        "/etc/target",
        "/usr/bin/python3",
        "/etc/target",
        "['file'] False",
        "b'text\\n'",
        "Kubernetes v1.28.7",
    ], done.stderr
    assert node.read("/run/moved/file") == "text"
    assert not {path for path in set(Path("/run").iterdir()) - before if path.name in ("moved", "file")}
