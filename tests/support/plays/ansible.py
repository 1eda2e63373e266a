# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run playbooks and modules of this checkout as a user does, in separate processes."""

from __future__ import annotations

import dataclasses
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
SETTINGS = Path(__file__).with_name("ansible.cfg")
"""What Ansible reads from a file only. Measurements run without it."""
ONE_OUTPUT: dict[str, t.Any] = {
    "text": True,
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.STDOUT,
}
"""The streams of a process whose output and errors are one text."""
NO_KUBECONFIG = "no-kubeconfig"
"""In the output of a run that connects to a cluster, where there is none."""


def inventory(
    environment: t.Mapping[str, str], source: Path, *arguments: str, program: str = "ansible-inventory"
) -> subprocess.CompletedProcess[str]:
    """Return the output of `ansible-inventory --list` (or another command) for one inventory source."""
    command = [str(Path(sys.executable).with_name(program)), "-i", str(source), *(arguments or ["--list"])]
    return subprocess.run(
        command,
        check=False,
        text=True,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        cwd=source.parent,
        timeout=120,
        env=environment,
    )


@dataclasses.dataclass
class Run:
    """The result of a finished ansible command."""

    code: int
    output: str

    def recap(self, host: str) -> dict[str, int]:
        """Return the counts of one host in the PLAY RECAP, which lacks hosts without tasks."""
        recap = self.output.rpartition("PLAY RECAP")[2]
        line = next(
            (line for line in recap.splitlines() if line.startswith(host + " ") and "ok=" in line),
            "ok=0 changed=0 failed=0",
        )
        return {word.split("=")[0]: int(word.split("=")[1]) for word in line.split() if "=" in word}


def taped(environment: dict[str, str]) -> dict[str, str]:
    """Return the environment of a run: with `--tape` with a callback that keeps results, else as it is."""
    if "LIVENODES_TAPE" not in environment:
        return environment
    plugins = [environment.get("ANSIBLE_CALLBACK_PLUGINS"), str(ROOT / "tests/support/plays/callback")]
    enabled = [environment.get("ANSIBLE_CALLBACKS_ENABLED"), "tape"]
    return {
        **environment,
        "ANSIBLE_CALLBACK_PLUGINS": os.pathsep.join(filter(None, plugins)),
        "ANSIBLE_CALLBACKS_ENABLED": ",".join(filter(None, enabled)),
        # For `ansible`, which runs one module.
        "ANSIBLE_LOAD_CALLBACK_PLUGINS": "1",
    }


def extra(**variables: t.Any) -> tuple[str, str]:
    """Return the arguments that set extra variables."""
    return "-e", json.dumps(variables)


def playbook_of(home: Path, *plays: t.Mapping[str, t.Any]) -> str:
    """Write a playbook of the user's own; return its path. Plays are on all hosts, unless they name others."""
    whole = []
    for play in plays:
        if "import_playbook" not in play:
            play = {"hosts": "all", "gather_facts": False, **play}
        whole.append(play)
    path = home / "mine.yml"
    path.write_text(json.dumps(whole))
    return str(path)


def spent() -> float:
    """Return the seconds of CPU of all children of this process that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def bare(home: Path, *arguments: str, timeout: float = 300, **environment: str) -> Run:
    """Run ansible-playbook in `home` with the collections that stand below it, and with no other settings."""
    done = subprocess.run(
        [str(Path(sys.executable).with_name("ansible-playbook")), *arguments],
        check=False,
        **ONE_OUTPUT,
        cwd=home,
        timeout=timeout,
        env={**_own(home, "ANSIBLE_"), **environment},
    )
    return Run(done.returncode, done.stdout)


def _own(home: Path, *others: str) -> dict[str, str]:
    """Return the environment of a user of this home folder, without the variables whose names begin with `others`."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(others)},
        "HOME": str(home),
        "ANSIBLE_HOME": str(home / ".ansible"),
        "ANSIBLE_COLLECTIONS_PATH": str(home / "collections"),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_LOCALHOST_WARNING": "false",
        # Saves a third of the time of a task on a node.
        "ANSIBLE_PIPELINING": "1",
    }


class Ansible:
    """Runs Ansible commands with this checkout as the collection and the cluster of a kubeconfig."""

    def __init__(self, home: Path, kubeconfig: Path, inventory: Path | t.Mapping[str, t.Any]) -> None:
        place = home / "collections/ansible_collections/livenodes"
        place.mkdir(parents=True)
        (place / "kubelet").symlink_to(ROOT)
        self.home = home
        self.inventory = home / "inventory"
        self.inventory.mkdir()
        if isinstance(inventory, Path):
            shutil.copy(inventory, self.inventory / "lab.yml")
        else:
            (self.inventory / "lab.yml").write_text(json.dumps(inventory))
        # Tests of soaks and budgets set these variables; in all other tests they would only take time.
        quick = {"kubelet_config_soak_seconds": 0, "kubelet_config_max_unavailable": "100%", "kubelet_config_serial": 1}
        (self.inventory / "quick.yml").write_text(json.dumps({"all": {"vars": quick}}))
        self.environment = {
            **_own(home, "ANSIBLE_", "K8S_AUTH_"),
            "ANSIBLE_CONFIG": str(SETTINGS),
            "ANSIBLE_INVENTORY_UNPARSED_WARNING": "false",
            "K8S_AUTH_KUBECONFIG": str(kubeconfig),
            "PYTHONWARNINGS": "ignore",
        }

    @classmethod
    def of_api(cls, home: Path, url: str, inventory: t.Mapping[str, t.Any]) -> Ansible:
        """Return it for the API server at a URL, as a simulated one, without a kubeconfig."""
        made = cls(home, home / "none", inventory)
        del made.environment["K8S_AUTH_KUBECONFIG"]
        made.environment["K8S_AUTH_HOST"] = url
        return made

    @classmethod
    def without_cluster(cls, home: Path, inventory: t.Mapping[str, t.Any]) -> Ansible:
        """Return it with a kubeconfig that does not exist, NO_KUBECONFIG."""
        return cls(home / "home", home / NO_KUBECONFIG, inventory)

    def as_installed(self) -> Ansible:
        """Return it without SETTINGS: a measurement takes Ansible as users have it."""
        del self.environment["ANSIBLE_CONFIG"]
        return self

    def groups(self, **groups: t.Mapping[str, t.Any]) -> None:
        """Add groups to the inventory, as in its files."""
        (self.inventory / "groups.yml").write_text(json.dumps({"all": {"children": groups}}))

    def variables(self, **groups: dict[str, t.Any]) -> None:
        """Write group_vars and replace those written before."""
        self._write("group_vars", groups)

    def host_variables(self, **hosts: dict[str, t.Any]) -> None:
        """Write host_vars and replace those written before."""
        self._write("host_vars", hosts)

    def _write(self, kind: str, variables: dict[str, dict[str, t.Any]]) -> None:
        folder = self.inventory / kind
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, values in variables.items():
            (folder / f"{name}.yml").write_text(json.dumps(values))

    def start(self, name: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
        """Start a playbook of the collection (by short name) or a file in its own process group; do not wait for it.

        A reset without hosts takes all of them.
        """
        if name == "reset" and "--limit" not in arguments and "kubelet_config_hosts" not in str(arguments):
            arguments = (*arguments, "-e", "kubelet_config_hosts=all")
        playbook = name if name.endswith(".yml") else f"livenodes.kubelet.{name}"
        program = str(Path(sys.executable).with_name("ansible-playbook"))
        command = [program, "-i", str(self.inventory), playbook, *arguments]
        variables = taped({**self.environment, **environment})
        return subprocess.Popen(command, **ONE_OUTPUT, cwd=self.home, env=variables, start_new_session=True)

    def playbook(self, name: str, *arguments: str, **environment: str) -> Run:
        """Run a playbook to its end, for 10 minutes at most."""
        with self.start(name, *arguments, **environment) as process:
            try:
                output, _nothing = process.communicate(timeout=600)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        return Run(process.returncode, output)

    def module(
        self, name: str, options: dict[str, t.Any], *arguments: str, host: str = "localhost", **environment: str
    ) -> dict[str, t.Any]:
        """Run one module on the controller, or on another host, and return its result, failed or not."""
        where = [host] if host == "localhost" else ["-i", str(self.inventory), host]
        what = ["-m", f"livenodes.kubelet.{name}", "-a", json.dumps(options)]
        command = [str(Path(sys.executable).with_name("ansible")), *where, *what, *arguments]
        done = subprocess.run(
            command,
            check=False,
            text=True,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            cwd=self.home,
            timeout=600,
            env=taped({**self.environment, **environment}),
        )
        text = done.stdout
        try:
            start = text.index(" => {") + 4
            result = json.loads(text[start : text.rindex("}") + 1])
        except ValueError as error:
            raise AssertionError(f"no result in:\n{text}\n{done.stderr}") from error
        # The callback prints these before the result.
        return {**result, "failed": done.returncode != 0, "diff": text[:start].rpartition("\n")[0]}
