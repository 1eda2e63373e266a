# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What both demos use: an inventory, the collection's playbooks, a table of what is live, and the output."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX

COMMAND = "1"
FAILURE = "1;31"
SUCCESS = "1;32"
LIVE = "1;33"
HEADLINE = "1;36"
# How the name of the folder begins. After a hyphen the rest could be a number and a keyword, such as 1if: Ansible
# evaluates paths of its settings like values of Python, which then warns 60 times.
FOLDER = "livenodes-demo-h"
STATUS = f"{PREFIX}status"
# Properties of systemd that show what happens to a kubelet.
UNIT = ("ActiveState", "SubState", "NRestarts")


class DemoError(Exception):
    """A step did not end as expected."""


def show(text: str = "", code: str = "") -> None:
    """Print a line, in a colour (an ANSI code) on a terminal that shows colours."""
    if code and sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb":
        text = f"\033[{code}m{text}\033[0m"
    print(text, flush=True)


def exit_status(demo: t.Callable[[], None]) -> int:
    """Run a demo; return 1 when a step does not end as expected, 130 when it is interrupted, else 0."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    started = time.monotonic()
    try:
        demo()
    except DemoError as error:
        show(f"demo: {error}", FAILURE)
        return 1
    except KeyboardInterrupt:
        show("demo: interrupted", FAILURE)
        return 130
    show(f"Done in {time.monotonic() - started:.0f} s.", SUCCESS)
    return 0


def end(*_signal: object) -> None:
    """Stop as for Ctrl-C. When the terminal is closed, discard the output so that printing cannot stop the cleanup."""
    if _signal and _signal[0] == signal.SIGHUP:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
    raise KeyboardInterrupt


class Steps:
    """A folder with the inventory that the demo edits, and the settings of Ansible (`config`) for its playbooks."""

    NODES: tuple[str, ...] = ()
    """The nodes of the group."""
    HEAD = ""
    """The name of the first column of a table."""

    def __init__(self, home: Path, config: str) -> None:
        self.home = home
        self.step_number = 0
        self.inventory = home / "inventory"
        for folder in ("group_vars", "host_vars"):
            (self.inventory / folder).mkdir(parents=True)
        (home / "ansible.cfg").write_text(config, encoding="utf-8")
        # The caller's own Ansible settings and cluster must not influence the demo.
        kept = ("ANSIBLE_COLLECTIONS_PATH", "ANSIBLE_HOME")
        self.environment = dict(os.environ)
        for name in os.environ:
            if name.startswith(("ANSIBLE_", "K8S_AUTH_", "KUBECONFIG")) and name not in kept:
                del self.environment[name]

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
        more = f" 2>/dev/null | grep -m 1 {shlex.quote(only)}" if only else ""
        output = subprocess.PIPE if only else None
        command = ["ansible-playbook", "-i", "inventory", play, *arguments]
        show(f"$ {shlex.join(command)}{more}", COMMAND)
        started = time.monotonic()
        streams = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
        variables = {**self.environment, **environment}
        done = subprocess.run(command, check=False, cwd=self.home, env=variables, text=True, **streams)
        for line in (done.stdout or "").splitlines():
            if only in line:
                show(line.strip())
                break
        show(f"(exit {done.returncode} after {time.monotonic() - started:.0f} s)")
        wanted = "failed" if fails else "succeeded"
        if (done.returncode != 0) != fails:
            raise DemoError(f"the playbook {name} should have {wanted} and exited {done.returncode}")

    def expect(self, what: str, found: object, wanted: object) -> None:
        """Raise DemoError unless the two values are equal."""
        if found != wanted:
            raise DemoError(f"{what} should be {wanted!r} and is {found!r}")

    def live(self, names: t.Sequence[str] = ()) -> dict[str, dict[str, t.Any]]:
        """Ask kubelets, all of the group if none is named, print a table of what they run, return its rows by node."""
        rows = {name: self.row(name) for name in names or self.NODES}
        texts = [[name, *map(str, row.values())] for name, row in rows.items()]
        texts.insert(0, [self.HEAD, *next(iter(rows.values()))])
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        for row in texts:
            show("  " + "  ".join(map(str.ljust, row, widths)).rstrip(), LIVE)
        return rows

    def row(self, name: str) -> dict[str, t.Any]:
        """Return what the table shows of a node."""
        raise NotImplementedError

    def node(self, name: str) -> dict[str, t.Any]:
        """Return a Node."""
        raise NotImplementedError

    def status(self, name: str) -> dict[str, t.Any]:
        """Return a Node's config status: the annotation if there is one, otherwise status.config."""
        node = self.node(name)
        annotation = node["metadata"].get("annotations", {}).get(STATUS)
        if annotation:
            return t.cast("dict[str, t.Any]", json.loads(annotation))
        return node["status"].get("config") or {}


def active(status: dict[str, t.Any], otherwise: str) -> str:
    """Return the name of the active ConfigMap of a config status."""
    config_map = (status.get("active") or {}).get("configMap") or {}
    return str(config_map.get("name", otherwise))


Look = t.Callable[[], tuple[bool, str]]
"""Whether the deadly configuration is active, and what a line shows."""


def changes(
    name: str, look: Look, answers: t.Callable[[], object], limit: float, over: threading.Event
) -> t.Iterator[str]:
    """Look at a node from its switch to the deadly configuration until its kubelet answers with the good one; yield a
    line for each change. Raises DemoError after `limit` seconds, and when it is `over`.
    """
    begun = time.monotonic()
    started, shown = 0.0, ""
    while time.monotonic() - begun < limit and not over.wait(0.05):
        is_deadly, seen = look()
        if is_deadly and not started:
            started = time.monotonic()
        if not started:
            continue
        has_recovered = not is_deadly and answers()
        if has_recovered:
            seen += "; the kubelet answers"
        if seen != shown:
            yield f"  +{time.monotonic() - started:4.1f} s  {seen}"
            shown = seen
        if has_recovered:
            return
    raise DemoError(f"the kubelet of {name} should answer with the good configuration by now: {shown or 'no switch'}")
