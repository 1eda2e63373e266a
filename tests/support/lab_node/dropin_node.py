# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab node whose unit names a drop-in folder of the kubelet, as an operator would set it up."""

from __future__ import annotations

import contextlib
import json
import typing as t

import yaml

from tests.lab import releases
from tests.lab.kubeadm import OWN_CONFIG
from tests.lab.lab import Lab
from tests.support.lab.borrowed_lab import need
from tests.support.lab_node.node_bench import STORE, Bench
from tests.support.lab_node.node_calls import HEADER, NodeCalls

FOLDER = "/etc/kubernetes/kubelet.conf.d"
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
        return t.cast("dict[str, t.Any]", yaml.safe_load(self.run(f"cat {OWN_CONFIG}")))

    def restart(self) -> None:
        """Restart the kubelet, also after its start limit."""
        self.run("systemctl reset-failed kubelet; systemctl restart kubelet", check=False)

    def live(self) -> dict[str, t.Any]:
        """Restart the kubelet; return what it runs then."""
        self.restart()
        self.bench.wait(self.bench.healthy, 120, "healthz", every=0.1)
        found: dict[str, t.Any] = {}

        def answers() -> bool:
            with contextlib.suppress(Exception):
                found.update(self.bench.configz())
            return bool(found)

        self.bench.wait(answers, 120, "configz", every=0.1)
        return found

    def last_words(self) -> str:
        """Return the last message of the kubelet's binary for these files, with a kubeconfig that does not exist."""
        words = f"--config={OWN_CONFIG} --config-dir={FOLDER} --kubeconfig=/nowhere --root-dir=/tmp/check"
        output = self.run(f"timeout 10 kubelet {words} --cert-dir=/tmp/check/pki 2>&1", check=False)
        self.run("rm -rf /tmp/check")
        return output[output.rfind('"command failed"') :]


@contextlib.contextmanager
def with_folder(lab: Lab, name: str, release: str) -> t.Iterator[DropinNode]:
    """Yield a node with a folder of its own, with the newest release or with the `earlier` one; restore both."""
    newest = lab.node(name).release.version
    if release == "earlier":
        need((releases.EARLIER,))
        lab.upgrade(name, releases.EARLIER)
    node = DropinNode(lab, name)
    try:
        node.bench.wait(node.bench.healthy, 60, "healthz")
        node.open()
        yield node
    finally:
        # These are the files of the same version.
        node.close()
        if release == "earlier":
            lab.upgrade(name, newest)
            node.bench.wait(node.bench.healthy, 60, "healthz of the newest version")


def dropin(fields: dict[str, t.Any]) -> str:
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


class Calls(NodeCalls):
    """The module on a node of the lab, with delivery `dropin` unless the options name another."""

    def __init__(self, bench: Bench, **options: t.Any) -> None:
        super().__init__(**options)
        self.bench = bench
        bench.bring()

    def python(self, code: str) -> t.Any:
        return self.bench.python(code)

    def own_config(self) -> dict[str, t.Any]:
        return self.bench.local()

    def restart(self) -> None:
        """Restart the unit, as the role does; a kubelet that ends is the guard's."""
        unit = self.options["unit"]
        self.bench.node.run(f"systemctl reset-failed {unit}; systemctl restart {unit}", check=False)

    def wait_healthy(self) -> None:
        self.bench.wait(self.bench.healthy, 60, "healthz with the local configuration")

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
