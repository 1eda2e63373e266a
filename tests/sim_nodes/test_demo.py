# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`make demo` on a copy of the tree, as a user without root: what it shows, and that nothing is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.support.plays.ansible import ROOT

UNPRIVILEGED = 65534
# They take nearly all the demo's time. A bound in seconds would judge the machine that runs the test.
PLAYBOOKS = 7
SHOWN = (
    "are SIMULATED",
    "$ ansible-playbook -i inventory livenodes.kubelet.plan -e kubelet_config_hosts=workers",
    "maxPods: 110 -> 80",
    "plan: 3 nodes, 3 to change",
    "n1 v1.20.2 native 80 60 livenodes-kubelet-",
    "n2 v1.28.7 checkpoint 80 60 livenodes-kubelet-",
    "n3 v1.36.2 dropin 80 60 livenodes-kubelet-",
    "kubeAPIQPS (--kube-api-qps) -1 must not be a negative number",
    "1 reverted, 2 untouched",
    "configuration: deadly",
    "configuration: good; the kubelet answers",
    "error: the kubelet refused the configuration: failed to run Kubelet: quantities must match",
    f"kubectl annotate --overwrite node n3 '{PREFIX}source=",
    "n3 v1.36.2 dropin 90 50 by-hand",
    "reason: on trial, confirmed",
    "n3 v1.36.2 dropin 110 50 own file",
)


class Copy:
    """A copy of the tracked files below a folder of its own, for a user without rights if this one is root."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.tree = home / "tree"
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        for name in names.rstrip("\0").split("\0"):
            if (ROOT / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self.tree / name)
        collections = home / "collections/ansible_collections/livenodes"
        collections.mkdir(parents=True)
        (collections / "kubelet").symlink_to(self.tree)
        (home / "tmp").mkdir()
        self.words: list[str] = []
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", f"{UNPRIVILEGED}:{UNPRIVILEGED}", str(home)], check=True)
            self.words = ["setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--clear-groups"]
        kept = {name: os.environ[name] for name in ("LANG", "PIP_INDEX_URL", "SSL_CERT_FILE") if name in os.environ}
        self.environment = {
            **kept,
            "HOME": str(home),
            "TMPDIR": str(home / "tmp"),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        }

    def start(self, *command: str, **environment: str) -> subprocess.Popen[str]:
        """Start a command in the copy, in a process group of its own."""
        return subprocess.Popen(
            [*self.words, *command],
            cwd=self.tree,
            env={**self.environment, **environment},
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def demo(self) -> subprocess.Popen[str]:
        """Start the demo with this environment's Python."""
        path = str(self.home / "collections")
        return self.start(sys.executable, "-m", "tools.demo", PYTHONPATH=path, ANSIBLE_COLLECTIONS_PATH=path)

    def left(self) -> list[str]:
        """Return the processes and the temporary files that are left of the demo."""
        found = [str(path) for path in (self.home / "tmp").iterdir()]
        for place in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                words = place.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if str(self.home) in words:
                found.append(words)
        return found


@pytest.fixture
def copy() -> t.Iterator[Copy]:
    """Yield a copy. Skip where an ordinary user cannot run this Python: pytest's own folders are root's alone."""
    with tempfile.TemporaryDirectory(prefix="livenodes-demo-test-h") as home:
        Path(home).chmod(0o755)
        made = Copy(Path(home))
        with made.start(sys.executable, "-c", "import ansible") as process:
            output = process.communicate(timeout=120)[0]
        if process.returncode:
            pytest.skip(f"an ordinary user cannot run {sys.executable}: {output}")
        yield made


def test_demo_as_a_user_without_root(copy: Copy) -> None:
    with copy.demo() as process:
        output = process.communicate(timeout=900)[0]
    assert process.returncode == 0, output
    flat = " ".join(output.split())
    for text in SHOWN:
        assert text in flat, output
    report = copy.tree / "build/demo-report.html"
    assert str(report) in output and "<html" in report.read_text(encoding="utf-8")
    assert "\033" not in output and "Traceback" not in output
    assert max(map(len, output.splitlines())) < 420
    # Three screens: a newcomer reads it all.
    assert len(output.splitlines()) < 155, output
    assert flat.count("$ ansible-playbook ") == PLAYBOOKS
    assert copy.left() == []


def test_interrupted_demo_leaves_nothing(copy: Copy) -> None:
    output: list[str] = []
    with copy.demo() as process:
        for line in t.cast("t.IO[str]", process.stdout):
            output.append(line)
            if "Inspect the node" in line:
                os.killpg(process.pid, signal.SIGINT)
        assert process.wait(120) == 130, "".join(output)
    end = time.monotonic() + 60
    while copy.left() and time.monotonic() < end:
        time.sleep(0.2)
    assert copy.left() == []


@pytest.mark.long
def test_make_demo_on_a_machine_that_has_nothing(copy: Copy) -> None:
    """With an environment of its own, from PyPI."""
    python = f"/usr/bin/python3.{sys.version_info.minor}"
    with copy.start("make", "demo", f"PYTHON={python if Path(python).exists() else sys.executable}") as process:
        output = process.communicate(timeout=1200)[0]
    assert process.returncode == 0, output
    for text in SHOWN:
        assert text in " ".join(output.split()), output
