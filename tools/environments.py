# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Python environments of the gates, kept under .nox; several gates share one."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import typing as t
from pathlib import Path

from tools.collection_tree import ROOT, link

if t.TYPE_CHECKING:
    import nox

KEPT = ROOT / ".nox"
CACHE = KEPT / ".cache"
REPORTS = KEPT / "reports"

RUNTIME = ["-r", "meta/ee-requirements.txt"]
TESTS = ["-r", "tools/requirements/tests.txt"]
NEWEST = ["ansible-core", *RUNTIME, *TESTS, "-r", "tools/requirements/tools.txt"]
BROWSER = ["ansible-core", *RUNTIME, "-r", "tools/requirements/browser.txt"]
OTHER = ["ansible-core", *RUNTIME, *TESTS]
LOWEST = ["ansible-core==2.16.*", "kubernetes==28.1.0", *RUNTIME, *TESTS]
# Whatever releases the oldest Python gets: those of TESTS are too new for it.
NODE = ["hypothesis", "pytest", "pytest-xdist"]
NODE_MINORS = range(7, 15)
"""Minor versions of Python 3 that nodes may have."""


def same_python() -> str:
    """Return the distribution's interpreter where it is of this one's version, else this one.

    Debian's is built with profile-guided optimization; one that pyenv compiled is not, and takes a quarter longer for
    the same. It is what operators have, too.
    """
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    return shutil.which(f"python{minor}", path="/usr/bin") or sys.executable


def installed_python(*minors: int) -> str | None:
    """Return the first interpreter of these minor versions of Python 3 in PATH or among pyenv's that works, or None."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for minor in minors:
        in_path = shutil.which(f"python3.{minor}")
        of_pyenv = sorted(map(str, pyenv.glob(f"3.{minor}.*/bin/python3.{minor}")), reverse=True)
        for python in filter(None, [in_path, *of_pyenv]):
            if subprocess.run([python, "-c", "import ensurepip"], capture_output=True, check=False).returncode == 0:
                return python
    return None


def newer_python() -> str | None:
    """Return the newest interpreter of 3.12 to 3.14 that is installed, or None.

    ansible-core 2.20 and later run on these only, while Debian 12's own Python is 3.11.
    """
    return installed_python(14, 13, 12)


class Tools:
    """A Python environment under .nox and what is installed in it. Raises through `session.run` when pip fails."""

    def __init__(
        self, session: nox.Session, name: str, wanted: list[str], python: str | None = None, old: bool = False
    ) -> None:
        """Make the environment, of this Python if none is named. One too `old` for virtualenv makes its own."""
        self.session = session
        self.place = KEPT / name
        python = python or same_python()
        maker = [sys.executable, "-m", "virtualenv", "--quiet", "--python", python]
        if old:
            maker = [python, "-m", "venv"]
        lists = [(ROOT / word).read_text(encoding="utf-8") for word in wanted if word.endswith(".txt")]
        text = "\n".join([python, *wanted, *lists])
        done = self.place / "installed"
        KEPT.mkdir(exist_ok=True)
        with (KEPT / f"{name}.lock").open("w") as lock:
            # Gates run side by side.
            fcntl.flock(lock, fcntl.LOCK_EX)
            # Asking pip whether all is there costs seconds a gate; the same list needs no asking.
            if done.exists() and done.read_text(encoding="utf-8") == text:
                return
            session.run(*maker, "--clear", str(self.place), external=True)
            # Python compiles what is imported. To compile all would take longer than to install it.
            pip = [str(self.place / "bin/python"), "-m", "pip", "install", "--quiet", "--no-compile"]
            session.run(*pip, "--disable-pip-version-check", *wanted, external=True, silent=True)
            done.write_text(text, encoding="utf-8")

    def run(
        self, command: str, *arguments: str, silent: bool = False, alone: bool = False, watched: bool = False
    ) -> str:
        """Run a program of this environment with Ansible's caches under .nox; return what it printed if `silent`.

        `command` is split at blanks, `arguments` are not. The checkout is importable as the collection, unless the
        program must run `alone` with its arguments. A program that is `watched` by a person may use colours. Each has
        time to clean up after Ctrl-C; nox itself would give it a third of a second.
        """
        program, *words = command.split()
        environment = {
            "ANSIBLE_COLLECTIONS_PATH": str(CACHE / "nothing"),
            "ANSIBLE_HOME": str(CACHE / "ansible"),
            "MOLECULE_EPHEMERAL_DIRECTORY": str(CACHE / "molecule"),
            "PATH": os.pathsep.join([str(self.place / "bin"), os.environ.get("PATH", os.defpath)]),
            "PYTHONPATH": "",
            "VIRTUAL_ENV": str(self.place),
        }
        if not alone:
            environment["ANSIBLE_COLLECTIONS_PATH"] = environment["PYTHONPATH"] = str(link(CACHE / "link"))
        if not watched:
            environment["NO_COLOR"] = "1"
        place = str(self.place / "bin" / program)
        options = {"env": environment, "external": True, "silent": silent, "interrupt_timeout": 60.0}
        return str(self.session.run(place, *words, *arguments, **options))

    def pytest(self, *arguments: str) -> None:
        """Run pytest and leave its counts in .nox/reports for tools/gates."""
        REPORTS.mkdir(parents=True, exist_ok=True)
        self.run("pytest", f"--junitxml={REPORTS / self.session.name}.xml", *arguments, *self.session.posargs)


def newest(session: nox.Session) -> Tools:
    """Return the environment of most gates: all tools, newest kubernetes, newest ansible-core for this Python. In the
    long tier, and with CORE=newest, the newest that can run here, which needs a newer Python.
    """
    if _is_newest_asked() and (newer := newer_python()):
        return Tools(session, "newest_python", NEWEST, newer)
    return Tools(session, "newest", NEWEST)


def lowest_tools(session: nox.Session) -> Tools:
    """Return the environment of the lowest versions that the collection supports. Skips where this Python is too new
    for them.
    """
    if sys.version_info >= (3, 13):
        session.skip("ansible-core 2.16 runs on Python up to 3.12")
    return Tools(session, "lowest", LOWEST, same_python())


def other_tools(session: nox.Session) -> Tools:
    """Return the environment with the newest ansible-core for the Python that most gates do not have: for a newer one
    in the short tier, for this one in the long tier. Skips without a newer one.
    """
    newer = newer_python()
    if newer is None:
        session.skip("no Python 3.12 or later in PATH or among pyenv's versions")
    if _is_newest_asked():
        return Tools(session, "older_python", OTHER)
    return Tools(session, "newer_python", OTHER, newer)


def _is_newest_asked() -> bool:
    return os.environ.get("TIER") == "long" or os.environ.get("CORE") == "newest"


def node_pythons() -> list[str]:
    """Return an interpreter of each version of Python that nodes may have and that is installed, the oldest first."""
    found: list[str] = []
    for minor in NODE_MINORS:
        python: str | None = same_python()
        if minor != sys.version_info.minor:
            python = installed_python(minor)
        if python:
            found.append(python)
    return found


def node_tools(session: nox.Session) -> Tools:
    """Return the environment of the oldest Python that nodes may have. Skips where it would be this one."""
    oldest = node_pythons()[0]
    if oldest == same_python():
        session.skip("no older Python in PATH or among pyenv's versions; the gate unit has the guard's tests")
    return Tools(session, "node_python", NODE, oldest, old=True)


def browser_tools(session: nox.Session) -> Tools:
    """Return the environment that drives Chromium; install that from Debian's archive where it is missing. Skips where
    that cannot be done.
    """
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        if os.geteuid() != 0 or not Path("/etc/debian_version").exists():
            packages = "apt-get install chromium chromium-driver"
            session.skip(f"there is no Chromium, and installing it takes root on Debian: {packages}")
        # A lab may be built at the same time, which also installs packages: tests/lab/build.py.
        session.run("flock", "/var/lib/dpkg", "apt-get", "update", "--quiet", external=True, silent=True)
        install = ["apt-get", "-o", "DPkg::Lock::Timeout=600", "install", "--quiet", "--yes", "--no-install-recommends"]
        install += ["chromium", "chromium-driver"]
        session.run(*install, external=True, silent=True, env={"DEBIAN_FRONTEND": "noninteractive"})
    return Tools(session, "browser", BROWSER)
