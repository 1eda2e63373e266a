# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab node whose unit names a drop-in folder of the kubelet, as an operator would set it up."""

from __future__ import annotations

import contextlib
import json
import typing as t

import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import values
from tests.lab.kubeadm import OWN_CONFIG
from tests.lab.lab import Lab
from tests.support.lab_node.node_bench import STORE, Bench

FOLDER = "/etc/kubernetes/kubelet.conf.d"
HEADER = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
UNIT = "/etc/systemd/system/kubelet.service.d/50-folder.conf"
COPY = "/root/own-config.yaml"


class DropinNode:
    """The node. Its own config file and its folder can be changed; `close` restores both."""

    def __init__(self, lab: Lab, name: str) -> None:
        self.bench = Bench(lab, name)
        self.node = self.bench.node
        self.run = self.node.run
        self.version = self.node.release.version

    def open(self, *words: str) -> None:
        """Keep a copy of the config file; give the kubelet these words more, which name the folder."""
        self.run(f"cp -p {OWN_CONFIG} {COPY}; mkdir -p {FOLDER}")
        self.name(*words or (f"--config-dir={FOLDER}",))

    def name(self, *words: str) -> None:
        """Give the kubelet these words after its --config from its next start on."""
        text = f'[Service]\nEnvironment="KUBELET_CONFIG_ARGS=--config={OWN_CONFIG} {" ".join(words)}"\n'
        self.run(f"mkdir -p $(dirname {UNIT}); cat > {UNIT}; systemctl daemon-reload", stdin=text)

    def flags(self, *words: str) -> None:
        """Give the kubelet these words more, after its folder, from its next start on."""
        self.name(f"--config-dir={FOLDER}", *words)

    def close(self) -> None:
        """Restore the node's own files and unit, and restart the kubelet."""
        self.run(f"test ! -e {COPY} || mv {COPY} {OWN_CONFIG}; rm -rf {FOLDER} {UNIT}; systemctl daemon-reload")
        self.run("rmdir --ignore-fail-on-non-empty $(dirname " + UNIT + ")")
        self.restart()
        self.bench.wait(self.bench.healthy, 60, "healthz with the node's own files")

    def write(self, base: dict[str, t.Any], files: dict[str, str]) -> None:
        """Replace the fields of the config file, and all files of the folder."""
        own = {**yaml.safe_load(self.run(f"cat {COPY}")), **base}
        self.run(f"cat > {OWN_CONFIG}", stdin=json.dumps(own))
        self.run(f"rm -rf {FOLDER}; mkdir -p {FOLDER}")
        for name, text in files.items():
            self.run(f"mkdir -p $(dirname {FOLDER}/{name}); cat > {FOLDER}/{name}", stdin=text)

    def base(self) -> dict[str, t.Any]:
        """Return the config file as it is."""
        return t.cast("dict[str, t.Any]", yaml.safe_load(self.run(f"cat {OWN_CONFIG}")))

    def restart(self) -> None:
        """Restart the kubelet, also after its start limit."""
        self.run("systemctl reset-failed kubelet; systemctl restart kubelet", check=False)

    def live(self) -> dict[str, t.Any]:
        """Restart the kubelet; return what it runs then."""
        self.restart()
        self.bench.wait(self.bench.healthy, 30, "healthz", every=0.1)
        found: dict[str, t.Any] = {}

        def answers() -> bool:
            with contextlib.suppress(Exception):
                found.update(self.bench.configz())
            return bool(found)

        self.bench.wait(answers, 30, "configz", every=0.1)
        return found

    def last_words(self) -> str:
        """Return the last message of the kubelet's binary for these files, with a kubeconfig that does not exist."""
        words = f"--config={OWN_CONFIG} --config-dir={FOLDER} --kubeconfig=/nowhere --root-dir=/tmp/check"
        output = self.run(f"timeout 10 kubelet {words} --cert-dir=/tmp/check/pki 2>&1", check=False)
        self.run("rm -rf /tmp/check")
        return output[output.rfind('"command failed"') :]


def dropin(fields: dict[str, t.Any]) -> str:
    """Return the text of a drop-in."""
    return yaml.safe_dump({**HEADER, **fields})


AGENT = "agent.service"
PROGRAM = """#!/bin/sh
# Starts the kubelet as its child, as the agents of k3s and RKE2 do, and ends with it.
trap 'kill $child; wait $child; exit 0' TERM
/usr/bin/kubelet {words} &
child=$!
wait $child
exit 1
"""


@contextlib.contextmanager
def agent(node: DropinNode) -> t.Iterator[None]:
    """Let another unit run another program, which starts the kubelet with a drop-in folder; restore the unit after."""
    argv = node.run("tr '\\0' '\\n' < /proc/$(systemctl show -P MainPID kubelet)/cmdline").split()[1:]
    node.run(
        "systemctl stop kubelet; cat > /usr/local/bin/agent; chmod 755 /usr/local/bin/agent; " + f"mkdir -p {FOLDER}",
        stdin=PROGRAM.format(words=" ".join([*argv, f"--config-dir={FOLDER}"])),
    )
    unit = "[Service]\nExecStart=/usr/local/bin/agent run\nRestart=always\nRestartSec=1\nStartLimitInterval=0\n"
    node.run(f"cat > /etc/systemd/system/{AGENT}; systemctl daemon-reload; systemctl start {AGENT}", stdin=unit)
    try:
        node.bench.wait(node.bench.healthy, 60, "healthz of the agent's kubelet")
        yield
    finally:
        node.run(f"systemctl stop {AGENT}; rm -rf /etc/systemd/system/{AGENT}* /usr/local/bin/agent {FOLDER}")
        node.run("systemctl daemon-reload; systemctl start kubelet")
        node.bench.wait(node.bench.healthy, 60, "healthz of the kubelet's own unit")


class Calls:
    """The module kubelet_checkpoint with delivery `dropin`, called on a node without Ansible."""

    def __init__(self, bench: Bench, **options: t.Any) -> None:
        self.bench = bench
        self.options = {**OPTIONS, **options}
        bench.bring()

    def restart(self) -> None:
        """Restart the unit, as the role does; a kubelet that ends is the guard's."""
        unit = self.options["unit"]
        self.bench.node.run(f"systemctl reset-failed {unit}; systemctl restart {unit}", check=False)

    def apply(self, state: str, check: bool = False, **options: t.Any) -> dict[str, t.Any]:
        """Bring the node into a state; return the module's result, or `failed` with the message."""
        given = {**self.options, "state": state, **options}
        result = self.bench.python(f"""
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import one_call
try:
    result = one_call.apply(json.loads({json.dumps(json.dumps(given))}), {check})
except Exception as error:
    if type(error).__name__ not in ("StepError", "StoreError", "UnitError"):
        raise
    result = {{"failed": True, "message": str(error)}}
print(json.dumps(result, default=str))
""")
        return t.cast("dict[str, t.Any]", result)

    def guard(self) -> dict[str, t.Any]:
        """Install the guard of the node as a switch does; return the result of this step, or why not."""
        unit, child = self.options["unit"], bool(self.options["dropin_dir"])
        result = self.bench.python(f"""
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_steps
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import Unit, UnitError
try:
    result = guard_steps.present({STORE!r}, Unit({unit!r}, child={child}), "kubelet", False)
except UnitError as error:
    result = {{"message": str(error)}}
print(json.dumps(result, default=str))
""")
        return t.cast("dict[str, t.Any]", result)

    def upgrade_info(self) -> dict[str, t.Any]:
        """Return the words of the next command line, and where the module kubelet_upgrade_info finds the drop-ins."""
        result = self.bench.python(f"""
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import upgrade_facts
found = upgrade_facts.look({self.options["unit"]!r}, dropin_dir={self.options["dropin_dir"] or ""!r})
print(json.dumps({{"words": [word["text"] for word in found["words"]], "dropins": sorted(found["disk"]["dropins"])}}))
""")
        return t.cast("dict[str, t.Any]", result)

    def source(self) -> dict[str, str]:
        """Return a source that was never used before, as an option of the module."""
        found = self.bench.source()
        names = {"resourceVersion": "resource_version", "kubeletConfigKey": "kubelet_config_key"}
        return {names.get(key, key): value for key, value in found.items()}

    def switch(self, fields: dict[str, t.Any], check: bool = False, **options: t.Any) -> dict[str, t.Any]:
        """Assign declared fields and restart the kubelet if needed, as the role does; return the module's result."""
        source = options.pop("source", None) or self.source()
        text = options.pop("text", None) or json.dumps({**HEADER, **fields})
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
            self.bench.wait(self.bench.healthy, 60, "healthz with the local configuration")
        removed = self.apply("removed", source=None)
        assert not removed.get("failed"), removed


OPTIONS: dict[str, t.Any] = {
    **values.defaults(),
    "delivery": "dropin",
    "trial_seconds": 5,
    "confirm_seconds": 30,
    "reason": "reverted by a test",
}
"""The options of the module, with its defaults."""
