# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The four views of a node by which every step is checked: spec, status, live configuration, kubelet process."""

from __future__ import annotations

import dataclasses
import json
import time
import typing as t

from tests.lab.lab import Lab

MANAGED = "app.kubernetes.io/managed-by=livenodes.kubelet"


@dataclasses.dataclass(frozen=True)
class View:
    """What the API and the node's systemd show at one moment; read without the code under test."""

    spec: dict[str, str] | None
    status: dict[str, t.Any]
    configz: dict[str, t.Any]
    invocation: str
    restarts: int

    def name_of(self, part: str) -> str | None:
        """Return the ConfigMap's name in a part of the status, None for local."""
        return ((self.status.get(part) or {}).get("configMap") or {}).get("name")

    @property
    def error(self) -> str:
        return str(self.status.get("error") or "")


def look(lab: Lab, name: str) -> View:
    node = lab.get(f"/api/v1/nodes/{name}")
    configz = lab.get(f"/api/v1/nodes/{name}/proxy/configz")
    machine = lab.node(name)
    return View(
        spec=(node["spec"].get("configSource") or {}).get("configMap"),
        status=node["status"].get("config") or {},
        configz=configz["kubeletconfig"],
        invocation=machine.invocation_id(),
        restarts=machine.restarts(),
    )


def look_at_all(lab: Lab, names: t.Iterable[str]) -> dict[str, View]:
    return {name: look(lab, name) for name in names}


def managed_configmaps(lab: Lab) -> list[str]:
    """Return the names of the ConfigMaps that this collection created, read by kubectl."""
    found = lab.kubectl("get", "configmap", "-n", "kube-system", "-l", MANAGED, "-o", "json")
    return sorted(item["metadata"]["name"] for item in json.loads(found)["items"])


def eventually(
    check: t.Callable[[], bool], seconds: float, what: str, now: t.Callable[[], t.Any] = str, every: float = 1.0
) -> None:
    """Wait until `check` holds. Raises AssertionError with `what`, and the state `now`, when the time is over."""
    end = time.monotonic() + seconds
    while True:
        try:
            if check():
                return
        except Exception:  # pylint: disable=broad-except  # a restarting kubelet does not answer for a moment
            if time.monotonic() > end:
                raise
        assert time.monotonic() < end, f"not within {seconds} s: {what}; now {now()}"
        time.sleep(every)
