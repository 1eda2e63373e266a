# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Warnings about changed values that can only be checked on the host.

Source: the fields that Kubernetes 1.20 does not validate.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Iterator

from ..fields import fields
from ..fields.compare import Change
from .problem import WARNING, Problem

_FILE = "A kubelet that cannot load it does not start"
# path -> (the value that causes the warning or None for any, message, remedy)
_RULES: dict[str, tuple[Any, str, str]] = {
    "authentication.x509.clientCAFile": (
        None,
        f"{_FILE}: unable to load client CA file",
        "Make sure that the file is on every node concerned.",
    ),
    "tlsCertFile": (
        None,
        f"{_FILE}: certificate and key must exist and match",
        "Make sure that both files are on every node concerned.",
    ),
    "tlsPrivateKeyFile": (
        None,
        f"{_FILE}: certificate and key must exist and match",
        "Make sure that both files are on every node concerned.",
    ),
    "resolvConf": (
        None,
        "new pods fail when the file does not exist on the node",
        "Make sure that the file is on every node concerned.",
    ),
    "cgroupDriver": (
        None,
        "the kubelet does not start, or loses its pods, when the container runtime uses another cgroup driver",
        "Compare with the runtime's own configuration on the node.",
    ),
    "serverTLSBootstrap": (
        True,
        "the kubelet asks the cluster for its certificate, and refuses connections until an operator approves that: "
        "neither /configz nor logs and exec work on a node before",
        "Have an approver for kubernetes.io/kubelet-serving, or run `kubectl certificate approve` while verify waits.",
    ),
    "memorySwap.swapBehavior": (
        "LimitedSwap",
        "a kubelet of 1.30 or later does not start with it on a node with cgroup v1",
        "Move the node to cgroup v2 first, or use NoSwap.",
    ),
    "failSwapOn": (True, "the kubelet does not start on a node with swap on", "Switch swap off on the node first."),
    "protectKernelDefaults": (
        True,
        "the kubelet does not start when kernel settings differ from its defaults",
        "Set vm.overcommit_memory=1, vm.panic_on_oom=0, kernel.panic=10, kernel.panic_on_oops=1 first.",
    ),
}
# A relative path of an earlier dynamic configuration that the kubelet made absolute:
# .../checkpoints/<uid>/<resourceVersion>/...
_CHECKPOINT = re.compile(r"/checkpoints/[^/]+/[^/]+/")


def warnings(changes: Iterable[Change]) -> Iterator[Problem]:
    """Yield a warning for every changed value that can fail on some hosts."""
    for change in changes:
        if change.path in _RULES and change.after not in (None, ""):
            value, message, remedy = _RULES[change.path]
            if value is None or value == change.after:
                yield Problem(WARNING, change.path, message, remedy, "host")


def checkpoint_paths(values: Iterable[tuple[str, Any]]) -> Iterator[Problem]:
    """Yield a warning for every file path in (path, value) pairs that lies in the folder of one checkpoint."""
    for path, value in values:
        field = fields.owner(path)
        if field is not None and field.path_ref and isinstance(value, str) and _CHECKPOINT.search(value):
            yield Problem(
                WARNING,
                path,
                f"{value} lies in the folder of an older checkpoint, which only this node has",
                "Set a path outside the checkpoints, "
                "or a relative path and ship the file as another key of the ConfigMap.",
                "checkpoint-path",
            )
