# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values that only the host can judge, as warnings when they change. Source: the "not validated" fields of Kubernetes
1.20.
"""

from __future__ import annotations

import re
from typing import Any, Iterable, Iterator

from ..fields import fields
from ..fields.compare import Change
from .problem import WARNING, Problem

_FILE = "A kubelet that cannot load it does not start"
# path -> (value it warns of or None for any, message, remedy)
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
    "failSwapOn": (True, "the kubelet does not start on a node with swap on", "Switch swap off on the node first."),
    "protectKernelDefaults": (
        True,
        "the kubelet does not start when kernel settings differ from its defaults",
        "Set vm.overcommit_memory=1, vm.panic_on_oom=0, kernel.panic=10, kernel.panic_on_oops=1 first.",
    ),
}
# A relative path of an earlier dynamic configuration, made absolute by the kubelet:
# .../checkpoints/<uid>/<resourceVersion>/...
_CHECKPOINT = re.compile(r"/checkpoints/[^/]+/[^/]+/")


def warnings(changes: Iterable[Change]) -> Iterator[Problem]:
    """Yield a warning for every changed value whose success depends on the host."""
    for change in changes:
        value, message, remedy = _RULES.get(change.path, ("", "", ""))
        if message and change.after not in (None, "") and (value is None or value == change.after):
            yield Problem(WARNING, change.path, message, remedy, "host")


def checkpoint_paths(values: Iterable[tuple[str, Any]]) -> Iterator[Problem]:
    """Yield a warning for every file path, of (path, value) pairs, that lies in the folder of one checkpoint."""
    for path, value in values:
        field = fields.owner(path)
        if field is not None and field.path_ref and isinstance(value, str) and _CHECKPOINT.search(value):
            yield Problem(
                WARNING,
                path,
                f"{value} lies in the folder of an older checkpoint, which only this node has",
                "Set a path outside the checkpoints, or a relative one and ship the file as another key of the ConfigMap.",
                "checkpoint-path",
            )
