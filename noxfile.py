# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every gate of tools/gates/declared.py, and what is no gate: the demonstration, the simulation, measurements and the
release notes.

`make test` runs the short tier, `make test-long` the long one, `.venv/bin/nox -s NAME` one gate; `.venv/bin/nox -l`
lists all of them. TIER=long includes all points of the products, also by hand: `TIER=long .venv/bin/nox -s e2e`.

Environments are made once and kept under .nox. Remove .nox to get the newest releases of what is not pinned.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import nox

sys.path.insert(0, str(Path(__file__).resolve().parent))

from tools.collection_tree import INSIDE, ROOT, clean, copy
from tools.environments import CACHE, RUNTIME, TESTS, Tools, browser_tools, newest
from tools.gates.declared import GATES

MUTMUT = """[mutmut]
source_paths = {inside}/plugins
only_mutate = {inside}/plugins/module_utils/{files}
also_copy = {inside}
pytest_add_cli_args =
  --hypothesis-profile=few
  --hypothesis-seed=1
  -pno:cacheprovider
pytest_add_cli_args_test_selection = {inside}/tests/unit/plugins/module_utils/{folder}
track_dependencies = false
use_git_change_detection = false
use_setproctitle = false
"""

clean(os.environ)
# One environment serves many gates, which nox itself cannot do: see Tools.
nox.options.default_venv_backend = "none"
for gate in GATES.values():
    nox.session(tags=[gate.lane, *gate.limits])(gate.body)


@nox.session(default=False)
def release(session: nox.Session) -> None:
    """turn the changelog fragments into the release notes of the version in galaxy.yml."""
    newest(session).run("antsibull-changelog release", *session.posargs)


@nox.session(default=False)
def screenshots(session: nox.Session) -> None:
    """take the screenshots of the report that the documentation shows."""
    browser_tools(session).run("python -m tools.screenshots", *session.posargs)


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """show the main job on simulated kubelets, or with LAB=real in the environment on the lab."""
    real = os.environ.get("LAB") == "real"
    # Without the tools of the gates: a newcomer waits for its packages.
    tools = newest(session) if real else Tools(session, "demo", ["ansible-core", *RUNTIME])
    tools.run("python -m tools.demo", watched=True)


@nox.session(default=False)
def scale(session: nox.Session) -> None:
    """measure whole playbooks at many simulated nodes, and write the figures of the guide."""
    newest(session).run("python -m tests.benchmarks.scale --write", *session.posargs, watched=True)


@nox.session(default=False)
def side_by_side(session: nox.Session) -> None:
    """compare with other ways to change many kubelets, and write the tables of the guide."""
    rival = Path(".nox/rival").resolve()
    if not (rival / "bin/ansible-playbook").exists():
        session.run("python3", "-m", "venv", str(rival), external=True)
        session.run(str(rival / "bin/pip"), "install", "--quiet", "ansible>=11,<13", "kubernetes", external=True)
    program = "python -m tests.benchmarks.side_by_side --write --rival"
    newest(session).run(program, str(rival), *session.posargs, watched=True)


@nox.session(default=False)
def mutation(session: nox.Session) -> None:
    """list the small changes that no unit test notices, of a folder or file such as `-- _config/values/amounts.py`."""
    if len(session.posargs) != 1 or not (ROOT / "plugins/module_utils" / session.posargs[0]).exists():
        session.error("name one folder or file below plugins/module_utils, such as _config/values/amounts.py")
    part = Path(session.posargs[0])
    folder, files = (part.parent, part) if part.suffix else (part, part / "*.py")
    tools = Tools(session, "mutation", ["ansible-core", *RUNTIME, *TESTS, "-r", "tools/requirements/mutation.txt"])
    # mutmut takes a module for what its path is. A copy at the collection's path fits, a link to the checkout does not.
    work = CACHE / "mutation"
    shutil.rmtree(work, ignore_errors=True)
    copy(work)
    (work / "setup.cfg").write_text(MUTMUT.format(inside=INSIDE, files=files, folder=folder), encoding="utf-8")
    with session.chdir(work):
        tools.run("mutmut run", alone=True)
        results = tools.run("mutmut results", alone=True, silent=True)
        for name in re.findall(r"(\S+): (?:survived|no tests)", results):
            tools.run("mutmut show", name, alone=True)


@nox.session(default=False)
def house(session: nox.Session) -> None:
    """measure how large each part of the repository is, and how dense its code reads."""
    Tools(session, "house", ["radon", "PyYAML"]).run("python -m tools.house", alone=True)


@nox.session(default=False)
def tape(session: nox.Session) -> None:
    """record what simulated tests ask, return and leave on nodes, and the public surface, into build/tape/COMMIT."""
    words = ["git", "describe", "--always", "--exclude=*", "--dirty"]
    folder = Path("build/tape", str(session.run(*words, external=True, silent=True)).strip()).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    tools = newest(session)
    folder.mkdir(parents=True)
    shown = tools.run("python -m tools.surface", silent=True)
    (folder / "surface.json").write_text(shown, encoding="utf-8")
    for gate in ("contract", "roles", "sim_nodes"):
        tools.run("pytest --tape", str(folder), *GATES[gate].tests(False), *session.posargs)


@nox.session(default=False)
def sim(session: nox.Session) -> None:
    """run a simulated cluster until Ctrl-C."""
    newest(session).run("python -m tests.sim", *session.posargs, watched=True)
