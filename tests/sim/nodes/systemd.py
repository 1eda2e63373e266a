# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A stand-in for systemd on a simulated node: units from the node's folder, services as processes of this user, the
commands systemctl, busctl, journalctl and systemd-run.
"""

from __future__ import annotations

import json
import os
import shutil
import socketserver
import subprocess
import threading
import time
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unitfile import object_name
from tests.sim.nodes import unit_files, unit_words
from tests.sim.nodes.journal import Journal
from tests.sim.nodes.service import Service
from tests.sim.nodes.unit_files import UnitFiles

Answer = tuple[int, str, str]
LIFE = "LIVENODES_SIM_LIFE"
MARK = b"\x7fELF, simulated"
"""How the binary of a simulated kubelet begins, as in shim.py, which runs without this package."""


class Systemd:
    """The stand-in of one node. `pace`: by what the pauses before automatic restarts are multiplied.

    Its services end with this process, however it ends.
    """

    def __init__(self, root: Path, pace: float = 1.0) -> None:
        self.root, self.pace = root, pace
        self.journal = Journal()
        self.services: dict[str, Service] = {}
        self._lock = threading.Lock()
        self._alive, self._held = os.pipe()
        owner = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                words = json.loads(self.rfile.readline())
                self.wfile.write(json.dumps(owner.answer(words)).encode())

        class Server(socketserver.ThreadingTCPServer):
            """The system bus."""

            daemon_threads = True
            request_queue_size = 64

        self._server = Server(("127.0.0.1", 0), Handler)

    # Power

    def boot(self) -> None:
        """Load the units, listen for commands, and start what multi-user.target wants."""
        place = self.root / "run/systemd"
        place.mkdir(parents=True, exist_ok=True)
        (place / "port").write_text(str(self._server.server_address[1]), encoding="ascii")
        self.reload()
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        wants = self.root / "etc/systemd/system/multi-user.target.wants"
        for name in sorted(path.name for path in wants.iterdir()) if wants.is_dir() else ():
            self.services[name].start()

    def close(self, kill: bool = False) -> None:
        """Stop all services, or (`kill`) end them as a power cut does."""
        for service in list(self.services.values()):
            service.closed = True
            pid = service.state.pid
            if kill and pid:
                os.killpg(pid, 9)
        for service in list(self.services.values()):
            service.close()
        self._server.shutdown()
        self._server.server_close()
        for handle in (self._alive, self._held):
            os.close(handle)

    def reload(self) -> None:
        folders = [self.root / folder[1:] for folder in unit_files.FOLDERS]
        names = {path.name for folder in folders if folder.is_dir() for path in folder.glob("*.service")}
        with self._lock:
            for name in names:
                loaded = unit_files.load(self.root, name)
                if loaded and name in self.services:
                    self.services[name].loaded = loaded
                elif loaded:
                    self.services[name] = Service(self, loaded)
            for name in set(self.services) - names:
                if self.services[name].state.active in ("inactive", "failed"):
                    del self.services[name]

    # What services need

    def spawn(self, words: t.Sequence[str], environment: t.Mapping[str, str]) -> subprocess.Popen[bytes]:
        """Start a program of the node in a process group of its own. Raises OSError."""
        return subprocess.Popen(
            self.words(words),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**self.environment(), **environment},
            pass_fds=[self._alive],
            start_new_session=True,
            cwd=self.root,
        )

    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
        return {**kept, "PATH": f"{self.root}/usr/bin:{os.environ.get('PATH', os.defpath)}", LIFE: str(self._alive)}

    def words(self, words: t.Sequence[str]) -> list[str]:
        """Return a command line of the node as one of this machine."""
        program, *rest = words
        place = self.root / program.lstrip("/")
        if program == "/usr/bin/python3":
            script = next((at for at, word in enumerate(rest) if not word.startswith("-")), None)
            if script is not None:
                rest[script] = str(self.root / rest[script].lstrip("/"))
            return [str(place), *rest]
        if program == "/bin/sh" and rest[:1] == ["-c"]:
            # The words of a shell are a script: its programs and files of the node are those below its folder.
            return [
                program,
                "-c",
                rest[1].replace("/usr/bin/python3 -I -B /", f"{place_of(self.root)} -I -B {self.root}/"),
                *rest[2:],
            ]
        if place.is_file():
            with place.open("rb") as stream:
                simulated = stream.read(len(MARK)) == MARK
            return [*([f"{self.root}/usr/libexec/run"] if simulated else []), str(place), *rest]
        return list(words)

    def register(self, pid: int, words: t.Sequence[str]) -> None:
        place = self.root / "proc" / str(pid)
        (place / "fd").mkdir(parents=True, exist_ok=True)
        (place / "task").mkdir(exist_ok=True)
        (place / "cmdline").write_bytes(b"".join(os.fsencode(word) + b"\0" for word in words))
        born = int(time.monotonic() * 100)
        fields = ["S", "1", *["0"] * 17, str(born), *["0"] * 30]
        (place / "stat").write_text(f"{pid} ({Path(words[0]).name[:15]}) {' '.join(fields)}\n", encoding="ascii")

    def forget(self, pid: int) -> None:
        shutil.rmtree(self.root / "proc" / str(pid), ignore_errors=True)
        table = self.root / "proc/net/tcp"
        rows = table.read_text(encoding="ascii").splitlines(keepends=True)
        # The kubelet's inode is its pid. Without a row of this process the table is not touched: a kubelet may just
        # add its own.
        if any(row.split()[9] == str(pid) for row in rows[1:]):
            table.write_text("".join(row for row in rows if row.split()[9] != str(pid)), encoding="ascii")

    # Commands

    def answer(self, words: t.Sequence[str]) -> Answer:
        """Return exit status, output and errors of a command."""
        name, *rest = words
        if name == "journalctl":
            return 0, self.journal.printed(rest), ""
        if name == "systemd-run":
            return sandboxed(self, rest)
        if name == "busctl":
            return self._on_bus(rest)
        return self._systemctl(rest)

    def _systemctl(self, words: t.Sequence[str]) -> Answer:
        options = [word for word in words if word.startswith("-")]
        plain = [word for word in words if not word.startswith("-")]
        if "-P" in options and len(plain) > 1:
            options = [*options, f"--property={plain.pop(1)}", "--value"]
        verb, *names = plain or ["list-units"]
        if verb == "daemon-reload":
            self.reload()
            return 0, "", ""
        if verb == "list-unit-files":
            return 0, "".join(f"{unit} enabled enabled\n" for unit in sorted(self.services)), ""
        name = "".join(names[:1])
        if name and "." not in name:
            name = f"{name}.service"
        if verb == "show":
            return 0, self._shown(name, options), ""
        service = self.services.get(name)
        if verb in ("is-active", "is-failed"):
            state = service.state.active if service else "inactive"
            wanted = "active" if verb == "is-active" else "failed"
            return 0 if state == wanted else 3, "" if "--quiet" in options else f"{state}\n", ""
        if service is None:
            if verb == "try-restart":
                return 0, "", ""
            return 5, "", f"Failed to {verb} {name}: Unit {name} not found.\n"
        if verb == "cat":
            paths = (service.loaded.fragment, *service.loaded.dropins)
            return 0, "\n".join(f"# {path}\n{(self.root / path[1:]).read_text()}" for path in paths), ""
        return self._job(verb, service, "--no-block" in options)

    def _on_bus(self, words: t.Sequence[str]) -> Answer:
        """Return what `busctl get-property` prints of the three properties that the product asks for."""
        for name, service in self.services.items():
            if words[2].endswith(f"/{object_name(name)}"):
                loaded = service.loaded
                command = unit_words.words(loaded.last("ExecStart"))
                return 0, unit_words.shown_on_bus(command, loaded.environment(), loaded.environment_files()), ""
        return 1, "", "Failed to get property ExecStart: Unknown object.\n"

    def _job(self, verb: str, service: Service, at_once: bool) -> Answer:
        jobs: dict[str, t.Callable[[], str | None]] = {
            "start": service.start,
            "stop": service.stop,
            "restart": service.restart,
            "try-restart": lambda: service.restart(only_active=True),
            "reset-failed": service.reset_failed,
        }
        if verb not in jobs:
            return 1, "", f"Unknown command verb {verb}.\n"
        if at_once:
            threading.Thread(target=jobs[verb], daemon=True).start()
            return 0, "", ""
        reason = jobs[verb]()
        return (1, "", f"{reason}\n") if reason else (0, "", "")

    def _shown(self, name: str, options: t.Sequence[str]) -> str:
        wanted = next((word.partition("=")[2].split(",") for word in options if word.startswith("--property=")), None)
        found = self.properties(name)
        lines = []
        for key in wanted or found:
            for line in found[key].split("\n") if key in found else ():
                lines.append(line if "--value" in options else f"{key}={line}")
        return "".join(f"{line}\n" for line in lines)

    def properties(self, name: str) -> dict[str, str]:
        """Return what `systemctl show` prints of a unit."""
        service = self.services.get(name)
        if service is None:
            return {"Id": name, "LoadState": "not-found", "ActiveState": "inactive", "SubState": "dead", "MainPID": "0"}
        loaded, state = service.loaded, service.state
        words = unit_words.words(loaded.last("ExecStart"))
        return {
            "Id": name,
            "LoadState": "loaded",
            "Type": loaded.last("Type", "simple"),
            "User": loaded.last("User"),
            "RootDirectory": loaded.last("RootDirectory"),
            "RootImage": loaded.last("RootImage"),
            "ExecStart": f"{{ path={words[0]} ; argv[]={' '.join(words)} ; ignore_errors=no ; start_time=[n/a] ; "
            f"stop_time=[n/a] ; pid={state.pid} ; code=(null) ; status=0/0 }}",
            "Environment": " ".join(_quoted(f"{key}={value}") for key, value in loaded.environment().items()),
            "EnvironmentFiles": "\n".join(
                f"{path} (ignore_errors={'yes' if optional else 'no'})" for path, optional in loaded.environment_files()
            ),
            "PassEnvironment": "",
            "UnsetEnvironment": "",
            "FragmentPath": loaded.fragment,
            "DropInPaths": " ".join(loaded.dropins),
            "NeedDaemonReload": "yes" if self._changed(loaded) else "no",
            "MainPID": str(state.pid),
            "InvocationID": state.invocation,
            "ActiveState": state.active,
            "SubState": state.sub,
            "NRestarts": str(state.restarts),
            "Result": state.result,
            "ExecMainStartTimestampMonotonic": str(state.started),
            "ExecMainCode": str(state.code),
            "ExecMainStatus": str(state.status),
        }

    def _changed(self, loaded: UnitFiles) -> bool:
        """Whether the unit's files changed after they were read."""
        fragment, dropins = unit_files.find(self.root, loaded.name)
        paths = (fragment, *dropins)
        return paths != (loaded.fragment, *loaded.dropins) or unit_files.stamps(self.root, paths) != loaded.stamps


TCP_HEAD = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"


def place_of(root: Path) -> str:
    return f"{root}/usr/bin/python3"


def _quoted(word: str) -> str:
    plain = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{plain}"' if any(letter in word for letter in " \t\"'\\") else word


# The product asks systemd-run for a sandbox without network and with read-only folders, and lets a shell check that.
# The stand-in needs no rights, so it has no walls. It answers the shell's questions as a sandbox would. The only
# program that it runs is the stand-in for the kubelet, which writes nothing when it is asked about a configuration.
LIMIT = 60.0
"""Seconds that a command may take. The shorter limit of a real sandbox means nothing on a machine that runs tests."""


def sandboxed(systemd: Systemd, given: t.Sequence[str]) -> Answer:
    """Run the command of a `systemd-run --wait --pipe`; return its exit status, output and errors."""
    options = [word for word in given[: _first(given)] if word.startswith("--")]
    words = list(given[_first(given) :])
    properties = [word.partition("=")[2] for word in options if word.startswith("--property=")]
    files = [(value.lstrip("-"), value.startswith("-")) for value in _values(properties, "EnvironmentFile")]
    own = dict(word.partition("=")[2].partition("=")[::2] for word in options if word.startswith("--setenv="))
    try:
        words = unit_words.replaced(words, unit_files.variables(systemd.root, own, files))
        done = subprocess.run(
            _mapped(systemd, words, walls="PrivateNetwork=yes" in properties),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="surrogateescape",
            timeout=LIMIT,
            env={**systemd.environment(), **own},
            cwd=systemd.root,
        )
    except subprocess.TimeoutExpired:
        return 1, "", ""
    except OSError as error:
        return 1, "", f"Failed to start transient service unit: {error}\n"
    return done.returncode, done.stdout, done.stderr


def _mapped(systemd: Systemd, words: list[str], walls: bool) -> list[str]:
    """Return the command line as one of this machine: the program behind the shell of a sandbox, too."""
    if walls and words[:2] == ["/bin/sh", "-c"]:
        script = words[2].replace("/proc/self/ns/net", f"{systemd.root}/proc/walls/net")
        for folder in ("/usr", "/var/lib"):
            # No user can write to a folder that does not exist.
            script = script.replace(f"-w {folder} ", f"-w {systemd.root}/proc/walls{folder} ")
        return [*words[:2], script, *words[3:5], *systemd.words(words[5:])]
    return words if words[0] == "/usr/bin/printf" else systemd.words(words)


def _first(words: t.Sequence[str]) -> int:
    return next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))


def _values(properties: t.Sequence[str], name: str) -> list[str]:
    return [text.partition("=")[2] for text in properties if text.startswith(f"{name}=")]
