# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A lab node whose unit names a drop-in folder of the kubelet, as an operator would set it up."""

from __future__ import annotations

import contextlib
import json
import typing as t

import yaml

from tests.lab.kubeadm import OWN_CONFIG
from tests.lab.lab import Lab
from tests.support.node_bench import Bench

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

    def open(self, *words: str) -> None:
        """Keep a copy of the config file; give the kubelet these words more, which name the folder."""
        self.run(f"cp -p {OWN_CONFIG} {COPY}; mkdir -p {FOLDER}")
        self.name(*words or (f"--config-dir={FOLDER}",))

    def name(self, *words: str) -> None:
        """Give the kubelet these words after its --config from its next start on."""
        text = f'[Service]\nEnvironment="KUBELET_CONFIG_ARGS=--config={OWN_CONFIG} {" ".join(words)}"\n'
        self.run(f"mkdir -p $(dirname {UNIT}); cat > {UNIT}; systemctl daemon-reload", stdin=text)

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
