# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab node with the node's own code on it, driven without Ansible: what happens after Ansible is gone is what is
tested here.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import tarfile
import time
import typing as t
from pathlib import Path

import yaml

from tests.lab.lab import Lab
from tests.lab.node import LabNode

ROOT = Path(__file__).resolve().parents[2]
PLACE = "/opt/bench"
STORE = "/var/lib/kubelet-config"
HEAD = """
import json, sys
sys.path.insert(0, "/opt/bench")
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import guard_module, observe
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import local
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Moment, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import Unit
store, unit = Store(), Unit()
"""


class Bench:
    """One node. A fresh store for each test; `close` gives the node back as it was."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.lab = lab
        self.node: LabNode = lab.node(name)
        self.begun = time.time()
        self.count = int(self.begun) % 100000 * 100

    def open(self) -> None:
        """Put the code on the node, remember its local configuration, install the guard."""
        self.bring()
        self.python("""
store.remember_local({"/var/lib/kubelet/config.yaml": local.take("/var/lib/kubelet/config.yaml")}, "/var/lib/kubelet/config.yaml")
store.settle()
guard_module.present("/var/lib/kubelet-config", unit, "kubelet", False)
""")

    def bring(self) -> None:
        """Put the code on the node, nothing else."""
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            for part in ("_node", "_config"):
                for path in sorted((ROOT / "plugins/module_utils" / part).rglob("*.py")):
                    archive.add(path, f"ansible_collections/livenodes/kubelet/{path.relative_to(ROOT)}")
        self.node.run(f"mkdir -p {PLACE}")
        self._put(f"{PLACE}.b64", buffer.getvalue())
        self.node.run(f"base64 -d {PLACE}.b64 | tar -x -C {PLACE}")

    def _put(self, path: str, data: bytes) -> None:
        self.node.run(f"cat > {path}", stdin=base64.b64encode(data).decode())

    def close(self) -> None:
        """Take everything away and start the kubelet as it was."""
        self.node.run("systemctl stop livenodes-kubelet-guard.service", check=False)
        self.python("guard_module.absent('/var/lib/kubelet-config', unit, False)")
        self.node.run(f"rm -rf {STORE}; systemctl reset-failed kubelet; systemctl restart kubelet")
        self.wait(self.healthy, 60, "the kubelet's own healthz")
        self.lab.kubectl("annotate", "node", self.node.name, "kubelet-config.livenodes.io/status-", check=False)
        # Not by kubectl, which takes minutes where a benchmark has left the events of a thousand nodes.
        with contextlib.closing(self.lab.apiserver.api()) as api:
            api.call("DELETE", f"/api/v1/namespaces/default/events?fieldSelector=involvedObject.name={self.node.name}")

    def python(self, code: str) -> t.Any:
        """Run code on the node; return what it printed as JSON, if anything."""
        said = self.node.run("python3 -", stdin=HEAD + code).strip()
        return json.loads(said.splitlines()[-1]) if said else None

    def local(self) -> dict[str, t.Any]:
        """The node's own configuration."""
        return t.cast("dict[str, t.Any]", yaml.safe_load(self.node.run("cat /var/lib/kubelet/config.yaml")))

    def source(self) -> dict[str, str]:
        """A source nobody had before."""
        self.count += 1
        return {
            "namespace": "kube-system",
            "name": "bench",
            "uid": f"00000000-0000-0000-0000-{self.count:012d}",
            "resourceVersion": "1",
            "kubeletConfigKey": "kubelet",
        }

    def assign(
        self,
        changes: dict[str, t.Any] | None = None,
        deadline: float = 30,
        restart: bool = True,
        confirm: float | None = None,
        unhealthy: float = 10,
        text: str = "",
        **trial: t.Any,
    ) -> dict[str, str]:
        """Stage the local configuration with changes, arm, start the guard, switch, restart; return the source."""
        source = self.source()
        text = text or json.dumps({**self.local(), **(changes or {})}, indent=2, sort_keys=True) + "\n"
        extra = {
            "unhealthy_seconds": unhealthy,
            **({} if confirm is None else {"confirm_seconds": confirm}),
            **trial.pop("extra", {}),
        }
        self.python(f"""
source, text = json.loads({json.dumps(json.dumps(source))}), json.loads({json.dumps(json.dumps(text))})
store.stage(source, {{"kubelet": text}})
extra, more = json.loads({json.dumps(json.dumps(extra))}), json.loads({json.dumps(json.dumps(trial))})
store.arm(Trial(source, store.last_known_good(), Moment.now(), deadline_seconds={deadline}, invocation=unit.show()["InvocationID"], kubelet_version="v1.20.2",
                extra=extra, **more))
unit.run(["systemctl", "start", "livenodes-kubelet-guard.service"])
store.switch(source)
""")
        if restart:
            self.node.run("systemctl reset-failed kubelet; systemctl restart kubelet", check=False)
        return source

    def confirm(self) -> None:
        """Say what the controller says once it has its proof."""
        self.python("store.record(store.trial().but(confirmed=True))")

    def healthy(self, port: int = 10248) -> bool:
        """Whether healthz answers on the node."""
        code = f"import urllib.request as r; print(r.urlopen('http://127.0.0.1:{port}/healthz', timeout=2).read().decode())"
        return self.node.run(f'python3 -c "{code}"', check=False).strip() == "ok"

    def active(self) -> str:
        """Where `active` points to, empty when it is not there."""
        return self.node.run(f"readlink {STORE}/active", check=False).strip()

    def status(self) -> dict[str, t.Any]:
        """The annotation on the Node, empty when there is none."""
        node = self.lab.get(f"/api/v1/nodes/{self.node.name}")
        return t.cast(
            "dict[str, t.Any]",
            json.loads(node["metadata"]["annotations"].get("kubelet-config.livenodes.io/status", "{}")),
        )

    def start(self) -> str:
        """When the kubelet that runs was started, as Kubernetes writes times; by systemd's own wall clock."""
        said = self.node.run(
            "systemctl show --timestamp=unix --property=ExecMainStartTimestamp --value kubelet"
        ).strip()
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(said.lstrip("@"))))

    def heartbeat(self) -> tuple[str, str]:
        """Status and last heartbeat of the Node's condition Ready."""
        node = self.lab.get(f"/api/v1/nodes/{self.node.name}")
        return next(
            (item["status"], item["lastHeartbeatTime"])
            for item in node["status"]["conditions"]
            if item["type"] == "Ready"
        )

    def events(self) -> list[dict[str, t.Any]]:
        """The Events of a changed configuration, oldest first."""
        items = self.lab.get("/api/v1/namespaces/default/events")["items"]
        found = [
            item
            for item in items
            if item["reason"] == "KubeletConfigChanged" and item["involvedObject"]["name"] == self.node.name
        ]
        return sorted(found, key=lambda item: item["metadata"]["name"])

    def configz(self) -> dict[str, t.Any]:
        """The configuration the kubelet runs."""
        return t.cast(
            "dict[str, t.Any]", self.lab.get(f"/api/v1/nodes/{self.node.name}/proxy/configz")["kubeletconfig"]
        )

    def wait(self, ready: t.Callable[[], t.Any], seconds: float, what: str, every: float = 0.25) -> float:
        """Wait for something, looking every so many seconds; return how long it took. Says what the guard and the
        kubelet said if it never comes.
        """
        begun = time.monotonic()
        while not ready():
            if time.monotonic() - begun > seconds:
                guard = self.node.journal(25, "livenodes-kubelet-guard.service", self.begun)
                records = self.node.run(
                    f"cat {STORE}/store/trial {STORE}/store/progress {STORE}/store/report", check=False
                )
                raise AssertionError(
                    f"no {what} within {seconds:.0f} s\nactive {self.active()}\nguard:\n{guard}\n{records}\nkubelet:\n{self.node.journal(12)}"
                )
            time.sleep(every)
        return time.monotonic() - begun
