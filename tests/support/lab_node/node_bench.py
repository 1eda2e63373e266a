# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab node with the collection's node code, driven without Ansible: these tests check what happens after Ansible has
ended.
"""

from __future__ import annotations

import contextlib
import json
import time
import typing as t

import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.lab.console import LabError
from tests.lab.lab import Lab
from tests.lab.node import LabNode
from tests.support.lab_node.preflight_node import archive

PLACE = "/opt/bench"
STORE = "/var/lib/kubelet-config"
HEAD = """
import json, sys
sys.path.insert(0, "/opt/bench")
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import observe
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_steps
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import local
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Moment, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import Unit
store, unit = Store(), Unit()
"""


class Bench:
    """One node with a new store for each test; `close` restores the node."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.lab = lab
        self.node: LabNode = lab.node(name)
        self.begun = time.time()
        self.count = int(self.begun) % 100000 * 100

    def open(self) -> None:
        """Copy the code to the node, record its local configuration, install the guard."""
        self.bring()
        self.python("""
own = "/var/lib/kubelet/config.yaml"
store.remember_local({own: local.take(own)}, own)
store.settle()
guard_steps.present("/var/lib/kubelet-config", unit, "kubelet", False)
""")

    def bring(self) -> None:
        """Only copy the code to the node."""
        self.node.run(f"mkdir -p {PLACE} && base64 -d | tar -xz -C {PLACE}", stdin=archive())

    def close(self) -> None:
        """Remove everything and restart the kubelet with its own configuration."""
        self.node.run("systemctl stop livenodes-kubelet-guard.service", check=False)
        self.python("guard_steps.absent('/var/lib/kubelet-config', unit, False)")
        self.node.run(f"rm -rf {STORE}; systemctl reset-failed kubelet; systemctl restart kubelet")
        self.wait(self.healthy, 60, "the kubelet's own healthz")
        self.lab.kubectl("annotate", "node", self.node.name, f"{PREFIX}status-", check=False)
        self.forget_events()

    def forget_events(self) -> None:
        # Not with kubectl, which takes minutes when a benchmark has left the events of a thousand nodes.
        with contextlib.closing(self.lab.apiserver.api()) as api:
            api.call("DELETE", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={self.node.name}")

    def python(self, code: str) -> t.Any:
        """Run code on the node; return the JSON that it printed, or None."""
        output = self.node.run("python3 -", stdin=HEAD + code).strip()
        return json.loads(output.splitlines()[-1]) if output else None

    def local(self) -> dict[str, t.Any]:
        return t.cast("dict[str, t.Any]", yaml.safe_load(self.node.run("cat /var/lib/kubelet/config.yaml")))

    def source(self, revision: str = "1") -> dict[str, str]:
        """Return a source that was never used before, with this resourceVersion."""
        self.count += 1
        return {
            "namespace": "kube-system",
            "name": "bench",
            "uid": f"00000000-0000-0000-0000-{self.count:012d}",
            "resourceVersion": revision,
            "kubeletConfigKey": "kubelet",
        }

    def assign(
        self,
        changes: dict[str, t.Any] | None = None,
        deadline: float = 30,
        restart: bool = True,
        confirm: float | None = None,
        unhealthy: float = 10,
        revision: str = "1",
    ) -> dict[str, str]:
        """Stage the local configuration with changes, arm and start the guard, switch, restart; return the source."""
        source = self.source(revision)
        text = json.dumps({**self.local(), **(changes or {})}, indent=2, sort_keys=True) + "\n"
        extra = {"unhealthy_seconds": unhealthy}
        if confirm is not None:
            extra["confirm_seconds"] = confirm
        self.python(f"""
source, text = json.loads({json.dumps(json.dumps(source))}), json.loads({json.dumps(json.dumps(text))})
store.stage(source, {{"kubelet": text}})
extra = json.loads({json.dumps(json.dumps(extra))})
store.arm(Trial(source, store.last_known_good(), Moment.now(), deadline_seconds={deadline},
                invocation=unit.show()["InvocationID"], kubelet_version={self.node.release.version!r}, extra=extra))
unit.run(["systemctl", "start", "livenodes-kubelet-guard.service"])
store.switch(source)
""")
        if restart:
            self.node.run("systemctl reset-failed kubelet; systemctl restart kubelet", check=False)
        return source

    def confirm(self) -> None:
        self.python("store.record(store.trial()._replace(confirmed=True))")

    def healthy(self, port: int = 10248) -> bool:
        # Python with urllib takes a quarter of a second of CPU, and `wait` asks four times a second.
        ask = (
            f"exec 3<>/dev/tcp/127.0.0.1/{port} && printf 'GET /healthz HTTP/1.0\\r\\n\\r\\n' >&3 && timeout 2 cat <&3"
        )
        return self.node.run(f'bash -c "{ask}" 2>/dev/null', check=False).endswith("\n\nok")

    def on_trial(self) -> bool:
        return bool(self.node.run(f"test -e {STORE}/store/trial && echo armed", check=False).strip())

    def active(self) -> str:
        """Return the target of the link `active`, empty when it does not exist."""
        return self.node.run(f"readlink {STORE}/active", check=False).strip()

    def status(self) -> dict[str, t.Any]:
        node = self.lab.get(f"/api/v1/nodes/{self.node.name}")
        return t.cast(
            "dict[str, t.Any]",
            json.loads(node["metadata"]["annotations"].get(f"{PREFIX}status", "{}")),
        )

    def start(self) -> str:
        """Return the start time of the running kubelet in Kubernetes' format, according to systemd's wall clock."""
        output = self.node.run(
            "systemctl show --timestamp=unix --property=ExecMainStartTimestamp --value kubelet"
        ).strip()
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(output.lstrip("@"))))

    def heartbeat(self) -> tuple[str, str]:
        """Return status and last heartbeat of the Node's condition Ready."""
        node = self.lab.get(f"/api/v1/nodes/{self.node.name}")
        return next(
            (item["status"], item["lastHeartbeatTime"])
            for item in node["status"]["conditions"]
            if item["type"] == "Ready"
        )

    def ready(self) -> bool:
        """Return whether the Node is Ready with a heartbeat of the running kubelet."""
        status, beat = self.heartbeat()
        return status == "True" and self.healthy() and beat >= self.start()

    def reports(self, version: str) -> None:
        """Wait until the Node shows this version of its kubelet."""
        place = f"/api/v1/nodes/{self.node.name}"

        def shown() -> bool:
            return bool(self.lab.get(place)["status"]["nodeInfo"]["kubeletVersion"] == version)

        self.wait(shown, 60, f"{version} on the Node")

    def events(self) -> list[dict[str, t.Any]]:
        """Return the Events of changed configurations, oldest first."""
        items = self.lab.get("/api/v1/namespaces/default/events")["items"]
        found = [
            item
            for item in items
            if item["reason"] == "KubeletConfigChanged" and item["involvedObject"]["name"] == self.node.name
        ]
        return sorted(found, key=lambda item: item["metadata"]["name"])

    def configz(self) -> dict[str, t.Any]:
        """Return the kubelet's live configuration.

        A kubelet opens its port after that of healthz, so the API server may not reach it yet.
        """
        until = time.monotonic() + 10
        while True:
            try:
                found = self.lab.get(f"/api/v1/nodes/{self.node.name}/proxy/configz")["kubeletconfig"]
                return t.cast("dict[str, t.Any]", found)
            except LabError as error:
                if "error trying to reach service" not in str(error) or time.monotonic() > until:
                    raise
            time.sleep(0.25)

    def wait(self, ready: t.Callable[[], t.Any], seconds: float, what: str, every: float = 0.25) -> float:
        """Poll `ready` every `every` seconds; return how long it took.

        Raises AssertionError with the journals of the guard and of the kubelet after `seconds`.
        """
        begun = time.monotonic()
        while not ready():
            if time.monotonic() - begun > seconds:
                guard = self.node.journal(25, "livenodes-kubelet-guard.service", self.begun)
                records = self.node.run(
                    f"cat {STORE}/store/trial {STORE}/store/progress {STORE}/store/report", check=False
                )
                raise AssertionError(
                    f"no {what} within {seconds:.0f} s\nactive {self.active()}\n"
                    f"guard:\n{guard}\n{records}\nkubelet:\n{self.node.journal(12)}"
                )
            time.sleep(every)
        return time.monotonic() - begun
