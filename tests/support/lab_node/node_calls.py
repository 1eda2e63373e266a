# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The module kubelet_checkpoint, called on a node without Ansible: one of the lab or a simulated one."""

from __future__ import annotations

import abc
import itertools
import json
import time
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import values

HEADER = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
OPTIONS: dict[str, t.Any] = {
    **values.defaults(),
    "delivery": "dropin",
    "trial_seconds": 5,
    "confirm_seconds": 30,
    "reason": "reverted by a test",
}
"""The options of the module, with its defaults."""
COUNT = itertools.count(int(time.time()) % 100000 * 100)
CODE = """
import json
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import one_call
options, pretend, unchecked = json.loads({words!r})
if unchecked:
    # Stands for a binary that accepts what the kubelet refuses later.
    from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import binary
    binary.check = lambda *words, **more: binary.Verdict(binary.VALID, [], [])
try:
    result = one_call.apply(options, pretend)
except Exception as error:
    if type(error).__name__ not in ("StepError", "StoreError", "UnitError"):
        raise
    result = {{"failed": True, "message": str(error)}}
print(json.dumps(result, default=str))
"""


class NodeCalls(abc.ABC):
    """Calls with the same options."""

    def __init__(self, **options: t.Any) -> None:
        self.options = {**OPTIONS, **options}

    @abc.abstractmethod
    def python(self, code: str) -> t.Any:
        """Run code on the node; return the JSON that it printed."""

    @abc.abstractmethod
    def own_config(self) -> dict[str, t.Any]:
        """Return the fields of the node's own config file."""

    @abc.abstractmethod
    def restart(self) -> None:
        """Restart the kubelet, as the role does."""

    @abc.abstractmethod
    def wait_healthy(self) -> None:
        """Wait until healthz answers with the node's own configuration."""

    def apply(self, state: str, check: bool = False, unchecked: bool = False, **options: t.Any) -> dict[str, t.Any]:
        """Bring the node into a state; return the module's result, or `failed` with the message.

        `unchecked`: the node's own kubelet is not asked whether it accepts the configuration.
        """
        given = {**self.options, "state": state, **options}
        return t.cast("dict[str, t.Any]", self.python(CODE.format(words=json.dumps([given, check, unchecked]))))

    def source(self) -> dict[str, str]:
        """Return a source that was never used before, as an option of the module."""
        number = next(COUNT)
        return {
            "namespace": "kube-system",
            "name": f"config-{number}",
            "uid": f"00000000-0000-0000-0000-{number:012d}",
            "resource_version": "1",
            "kubelet_config_key": "kubelet",
        }

    def switch(self, fields: dict[str, t.Any], check: bool = False, **options: t.Any) -> dict[str, t.Any]:
        """Assign declared fields and restart the kubelet if needed, as the role does; return the module's result.

        A checkpoint has them over the node's own file.
        """
        source = options.pop("source", None) or self.source()
        delivery = options.get("delivery", self.options["delivery"])
        base = self.own_config() if delivery == "checkpoint" else HEADER
        text = json.dumps({**base, **fields})
        result = self.apply("assigned", check, source=source, data={"kubelet": text}, **options)
        if result.get("restart_needed") and not check:
            self.restart()
        return {**result, "source": source}

    def reset(self) -> None:
        """Return the node to its own files, as the role does. Raises AssertionError."""
        begun = self.apply("reset", source=None)
        assert not begun.get("failed") and not begun["reasons"], begun
        if begun["restart_needed"]:
            self.restart()
            self.wait_healthy()
        removed = self.apply("removed", source=None)
        assert not removed.get("failed"), removed
        self.wait_healthy()
