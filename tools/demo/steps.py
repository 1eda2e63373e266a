# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every step of the demo uses: an inventory, the collection's playbooks, and the state of the live kubelets."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
import typing as t
from pathlib import Path

from tests.lab.lab import Lab
from tools.demo.console import COMMAND, HEADLINE, LIVE, DemoError, show

GROUP = "workers_a"
NODES = ("n1", "n3")
FIELDS = ("maxPods", "kubeAPIQPS", "evictionPressureTransitionPeriod")
SOAK = ("-e", "kubelet_config_soak_seconds=5")
WANTED = "kubelet_config:\n  maxPods: 80\n  evictionPressureTransitionPeriod: 2m\n"
EXCEPTION = "kubelet_config_host:\n  maxPods: 60\n"
OWN_FILE = "the file on the node"
STATUS = "kubelet-config.livenodes.io/status"
# Hides skipped tasks and prints results as YAML; everything else is Ansible's default.
CONFIG = "[defaults]\ndisplay_skipped_hosts = false\ncallback_result_format = yaml\nlocalhost_warning = false\n"


class Demo:
    """A lab that is up, and a folder with the inventory that the demo edits."""

    def __init__(self, lab: Lab, home: Path) -> None:
        self.lab = lab
        self.home = home
        self.step_number = 0
        self.inventory = home / "inventory"
        for folder in ("group_vars", "host_vars"):
            (self.inventory / folder).mkdir(parents=True)
        shutil.copy(lab.inventory, self.inventory / "lab.yml")
        (home / "ansible.cfg").write_text(CONFIG, encoding="utf-8")
        # The caller's own Ansible settings and cluster must not influence the demo.
        kept = ("ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_HOME")
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name in kept or not name.startswith(("ANSIBLE_", "K8S_AUTH_", "KUBECONFIG"))
        }
        self.environment["K8S_AUTH_KUBECONFIG"] = str(lab.kubeconfig)

    def headline(self, text: str) -> None:
        """Print the number and the title of the next step."""
        self.step_number += 1
        show()
        show(f"{self.step_number}. {text}", HEADLINE)

    def write(self, name: str, text: str) -> None:
        """Write a variables file of the inventory and print it."""
        (self.inventory / name).write_text(text, encoding="utf-8")
        show(f"$ cat inventory/{name}", COMMAND)
        show(text.rstrip())

    def playbook(self, name: str, *arguments: str, fails: bool = False, only: str = "") -> None:
        """Run a playbook of the collection; print all of its output, or only the first line that contains `only`.

        Raises DemoError when it fails and `fails` is false, and when it succeeds and `fails` is true.
        """
        command = ["ansible-playbook", "-i", "inventory", f"livenodes.kubelet.{name}", *arguments]
        show(f"$ {shlex.join(command)}{f' 2>/dev/null | grep -m 1 {shlex.quote(only)}' if only else ''}", COMMAND)
        started = time.monotonic()
        done = subprocess.run(
            command,
            check=False,
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            text=True,
            stdout=subprocess.PIPE if only else None,
            stderr=subprocess.DEVNULL if only else None,
        )
        status = done.returncode
        for line in (done.stdout or "").splitlines():
            if only in line:
                show(line.strip())
                break
        show(f"(exit {status} after {time.monotonic() - started:.0f} s)")
        if (status != 0) != fails:
            raise DemoError(f"the playbook {name} should have {'failed' if fails else 'succeeded'} and exited {status}")

    def configz(self, name: str) -> dict[str, t.Any]:
        """Return the live configuration of a kubelet; an empty mapping when it does not answer."""
        return t.cast(
            "dict[str, t.Any]",
            json.loads(
                self.lab.kubectl("get", "--raw", f"/api/v1/nodes/{name}/proxy/configz", check=False) or "{}"
            ).get("kubeletconfig", {}),
        )

    def status(self, name: str) -> dict[str, t.Any]:
        """Return a Node's config status: the annotation if there is one, otherwise status.config."""
        node = json.loads(self.lab.kubectl("get", "node", name, "-o", "json"))
        annotation = node["metadata"].get("annotations", {}).get(STATUS)
        return t.cast("dict[str, t.Any]", json.loads(annotation) if annotation else node["status"].get("config") or {})

    def live(self, names: t.Sequence[str] = NODES) -> dict[str, dict[str, t.Any]]:
        """Query the kubelets, print a table of what they run with, and return its rows by node."""
        table = {}
        for name in names:
            configz = f"kubectl get --raw /api/v1/nodes/{name}/proxy/configz"
            show(f"$ {configz}; kubectl get node {name} -o json; ssh {name} systemctl show kubelet", COMMAND)
            table[name] = self.row(name)
        head = ["node", *table[names[0]]]
        rows = [head, *([name, *map(str, row.values())] for name, row in table.items())]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        for row in rows:
            show("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip(), LIVE)
        return table

    def row(self, name: str) -> dict[str, t.Any]:
        """Return what the table shows of a node."""
        configz, status = self.configz(name), self.status(name)
        return {
            **{field: configz[field] for field in FIELDS},
            "active config": (status.get("active") or {}).get("configMap", {}).get("name", OWN_FILE),
            "invocation": self.lab.node(name).invocation_id()[:8],
            "error": status.get("error", ""),
        }

    def expect(self, what: str, found: object, wanted: object) -> None:
        """Raise DemoError unless the two values are equal."""
        if found != wanted:
            raise DemoError(f"{what} should be {wanted!r} and is {found!r}")

    def expect_same_config(self, what: str, found: dict[str, t.Any], wanted: dict[str, t.Any]) -> None:
        """Raise DemoError unless two rows show the same configuration, whatever else differs."""
        self.expect(what, *({key: row[key] for key in (*FIELDS, "active config")} for row in (found, wanted)))
