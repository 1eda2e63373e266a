# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet of another version: a shell script that is bound over the node's binary.

It reports the next minor, refuses each configuration with one certain field like a kubelet (or does not), and otherwise
runs the real kubelet.
"""

from __future__ import annotations

from tests.lab.node import LabNode

KUBELET = "/usr/bin/kubelet"
REAL, OTHER = "/opt/kubelet-real", "/opt/kubelet-other"
REFUSAL = "invalid configuration: maxPods is unknown in this version"
SCRIPT = f"""#!/bin/bash
[ "$1" = --version ] && echo "Kubernetes VERSION" && exit
# As in a kubelet, the last flag of a name counts.
for word in "$@"; do
  case $word in
    --config=*) file=${{word#--config=}} ;;
    --config-dir=*) dropins=${{word#--config-dir=}}/*.conf ;;
  esac
done
if cat $file $dropins 2>/dev/null | grep -q 'WHAT'; then
  echo 'F0101 00:00:00.000000       1 server.go:205] {REFUSAL}' >&2
  exit 255
fi
exec -a {KUBELET} {REAL} "$@"
"""


def version(node: LabNode) -> str:
    """Return the version that the other kubelet reports."""
    return f"v1.{node.release.minor + 1}.0"


def place(node: LabNode, refuses: str, path: str = OTHER) -> None:
    """Write the other kubelet, which refuses files with a match of this pattern, and a copy of the node's own."""
    text = SCRIPT.replace("WHAT", refuses).replace("VERSION", version(node))
    node.run(f"cat > {path} && chmod 755 {path} && {{ test -e {REAL} || cp {KUBELET} {REAL}; }}", stdin=text)


def install(node: LabNode, refuses: str) -> None:
    """Replace the kubelet by the other version, from its next start on."""
    place(node, refuses)
    node.run(f"mount --bind {OTHER} {KUBELET}")
    assert node.run(f"{KUBELET} --version") == f"Kubernetes {version(node)}\n"


def remove(node: LabNode) -> None:
    """Stop the kubelet, and put its own binary back unless that is there."""
    node.run(
        f"systemctl stop kubelet; test ! -e {OTHER} || umount {KUBELET}; rm -f {REAL} {OTHER}",
        check=False,
    )
    assert node.run(f"{KUBELET} --version") == f"Kubernetes {node.release.version}\n"
