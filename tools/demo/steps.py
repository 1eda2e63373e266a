# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every step of both demos uses: an inventory, the collection's playbooks, and the output."""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from pathlib import Path

from tools.demo.console import COMMAND, HEADLINE, DemoError, show

# How the name of the folder begins. After a hyphen the rest could be a number and a keyword, such as 1if: Ansible
# evaluates paths of its settings like values of Python, which then warns 60 times.
FOLDER = "livenodes-demo-h"


class Steps:
    """A folder with the inventory that the demo edits, and the settings of Ansible (`config`) for its playbooks."""

    def __init__(self, home: Path, config: str) -> None:
        self.home = home
        self.step_number = 0
        self.inventory = home / "inventory"
        for folder in ("group_vars", "host_vars"):
            (self.inventory / folder).mkdir(parents=True)
        (home / "ansible.cfg").write_text(config, encoding="utf-8")
        # The caller's own Ansible settings and cluster must not influence the demo.
        kept = ("ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_HOME")
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if name in kept or not name.startswith(("ANSIBLE_", "K8S_AUTH_", "KUBECONFIG"))
        }

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

    def playbook(self, name: str, *arguments: str, fails: bool = False, only: str = "", **environment: str) -> None:
        """Run a playbook of the collection, or a file; print its output, or only the first line that contains `only`.

        Raises DemoError when it fails and `fails` is false, and when it succeeds and `fails` is true.
        """
        play = name if name.endswith(".yml") else f"livenodes.kubelet.{name}"
        command = ["ansible-playbook", "-i", "inventory", play, *arguments]
        show(f"$ {shlex.join(command)}{f' 2>/dev/null | grep -m 1 {shlex.quote(only)}' if only else ''}", COMMAND)
        started = time.monotonic()
        done = subprocess.run(
            command,
            check=False,
            cwd=self.home,
            env={**self.environment, **environment},
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

    def expect(self, what: str, found: object, wanted: object) -> None:
        """Raise DemoError unless the two values are equal."""
        if found != wanted:
            raise DemoError(f"{what} should be {wanted!r} and is {found!r}")
