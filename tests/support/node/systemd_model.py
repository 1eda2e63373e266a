# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node's unit files and a systemd in memory that has loaded them."""

from __future__ import annotations

import fnmatch
import subprocess
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.short_texts import flag
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unit, unitfile
from tests.lab.files import KUBEADM_DROP_IN
from tests.sim.nodes import unit_files, unit_words

SERVICE = "/usr/lib/systemd/system/kubelet.service"
FOLDER = "/etc/systemd/system/kubelet.service.d"
FILE = "--property=EnvironmentFile="
PLAIN_TEXT = """[Service]
ExecStart=/usr/bin/kubelet \\
  --kubeconfig=/etc/kubernetes/kubelet.conf \\
  # why not
  --config {config} \\
  "--node-labels=a=b,c=d e" --max-pods=61
Restart=always
"""
KUBEADM = f"{FOLDER}/10-kubeadm.conf"
KUBEADM_TEXT = f"# Note: This dropin only works with kubeadm and kubelet v1.11+\n{KUBEADM_DROP_IN}"


def config_of(words: t.Sequence[str]) -> str | None:
    """Return the config file that a command line names."""
    return flag(words, "config")


class Systemd:
    """A node's files below a folder, and a systemd that has loaded them; tests/e2e_node has a real one."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.properties: dict[str, str] = {
            "Id": "kubelet.service",
            "LoadState": "loaded",
            "Type": "simple",
            "MainPID": "0",
            "InvocationID": "one",
            "ActiveState": "active",
            "SubState": "running",
            "NRestarts": "0",
            "Result": "success",
            "NeedDaemonReload": "no",
        }
        self.calls: list[list[str]] = []
        self.on_restart: t.Callable[[], int] = self.start
        self.bus = True
        self.command: list[str] = []
        self.environment: dict[str, str] = {}
        self.files: list[tuple[str, bool]] = []
        self.journal: dict[str, str] = {}
        self.write("/usr/bin/kubelet", b"\x7fELF....")

    def write(self, path: str, data: str | bytes) -> None:
        place = self.root / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data if isinstance(data, bytes) else data.encode())

    def kubeadm(self, **more: str) -> unit.Unit:
        """Write and load the unit as kubeadm installs it."""
        self.write(SERVICE, "[Unit]\nDescription=x\n[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\n")
        self.write(KUBEADM, KUBEADM_TEXT)
        self.write(
            "/var/lib/kubelet/kubeadm-flags.env",
            'KUBELET_KUBEADM_ARGS="--container-runtime-endpoint=unix:///run/containerd/containerd.sock"\n',
        )
        self.write("/etc/default/kubelet", more.get("default", "# here\nKUBELET_EXTRA_ARGS=--max-pods=61 --v=2\n"))
        return self.load(SERVICE, KUBEADM)

    def load(self, *paths: str) -> unit.Unit:
        """Load the files as the stand-in for systemd does."""
        texts = [(self.root / path[1:]).read_text() for path in paths]
        found = [setting for text in texts for setting in unitfile.settings(text, "")]
        command = unit_words.words(unitfile.effective(found, "ExecStart")[-1].value)
        settings = unitfile.effective(found, "Environment")
        given = dict(word.partition("=")[::2] for setting in settings for word in unit_words.split(setting.value))
        self.environment = {name: value.replace("%%", "%") for name, value in given.items()}
        named = [setting.value for setting in unitfile.effective(found, "EnvironmentFile")]
        self.files = [(value.lstrip("-"), value.startswith("-")) for value in named]
        self.command = command
        self.properties.update(
            FragmentPath=paths[0],
            DropInPaths=" ".join(paths[1:]),
            ExecStart=f"{{ path={command[0]} ; argv[]={' '.join(command)} ; ignore_errors=no ; pid=0 }}",
            EnvironmentFiles="\n".join(
                f"{'EnvironmentFiles=' if at else ''}{path} (ignore_errors={'yes' if optional else 'no'})"
                for at, (path, optional) in enumerate(self.files)
            ),
        )
        return unit.Unit(root=str(self.root), run=self.run)

    def start(self) -> int:
        self.properties["InvocationID"] += "+"
        self.properties["MainPID"] = "72"
        return 0

    def run(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        words = list(argv)
        self.calls.append(words)
        code, out = 0, ""
        if words[:2] == ["systemctl", "show"]:
            out = "".join(f"{key}={value}\n" for key, value in self.properties.items())
        elif words[:2] == ["systemctl", "daemon-reload"]:
            dropin = f"{FOLDER}/{unit.DROPIN}"
            paths = [
                path
                for path in [self.properties["FragmentPath"], *self.properties["DropInPaths"].split()]
                if path != dropin
            ]
            self.load(*paths, *([dropin] if (self.root / dropin[1:]).exists() else []))
        elif words[:2] == ["systemctl", "restart"]:
            code = self.on_restart()
        elif "journalctl" in words:
            out = self.journal.get(words[-1].partition("=")[2], "")
        elif words[0] == "systemd-run":
            code, out = (0, self._started(words)) if self.bus else (1, "")
        elif words[0] == "busctl":
            code, out = (
                (0, unit_words.shown_on_bus(self.command, self.environment, self.files)) if self.bus else (1, "")
            )
        elif words[:2] == ["systemctl", "list-unit-files"]:
            listed = self.properties.get("others", "").split()
            found = [name for name in listed if any(fnmatch.fnmatch(name, pattern) for pattern in words[4:])]
            out = "".join(f"{name} enabled enabled\n" for name in found)
        return subprocess.CompletedProcess(words, code, out, "Failed" if code else "")

    def _started(self, words: list[str]) -> str:
        """Return what printf prints of the words of a systemd-run."""
        given = dict(word.partition("=")[2].partition("=")[::2] for word in words if word.startswith("--setenv="))
        values = [word[len(FILE) :] for word in words if word.startswith(FILE)]
        files = [(value.lstrip("-"), value.startswith("-")) for value in values]
        replaced = unit_words.replaced(words[words.index("%s\\0") + 1 :], unit_files.variables(self.root, given, files))
        return "".join(f"{word}\0" for word in replaced)

    def count(self, *words: str) -> int:
        return sum(call[: len(words)] == list(words) for call in self.calls)
