# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every gate of this repository, declared once. `make test` runs them all, `.venv/bin/nox -s NAME` one, `.venv/bin/nox
-l` lists them.

The tags say when a gate runs: `quick` and `slow` anywhere, `lab`, `lab_static` and `lab_fleet` only where their lab is
up (see tools/gates.py, which brings them up). By hand, a gate uses the lab that LIVENODES_LAB_* names (see
tests/lab/README.md). Environments are made once and kept under .nox; several gates share one. Remove .nox to get the
newest releases of what is not pinned.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tools"))

from collection_tree import copy, link  # noqa: E402  # found only after the line above

# One environment serves many gates, which nox itself cannot do: see Tools.
nox.options.default_venv_backend = "none"

KEPT = ROOT / ".nox"
CACHE = KEPT / ".cache"
REPORTS = KEPT / "reports"
NAME = "livenodes.kubelet"

# What is not for users runs with one Python and one ansible-core only.
FOR_USERS = ["tests/unit", "--ignore", "tests/unit/tools", "--ignore", "tests/unit/lab"]
# By file: what a file's tests share is made once.
ON_ALL_CORES = ["--numprocesses", "auto", "--dist", "loadfile"]

RUNTIME = ["-r", "meta/ee-requirements.txt"]
TESTS = ["-r", "tools/requirements/tests.txt"]
NEWEST = ["ansible-core", *RUNTIME, *TESTS, "-r", "tools/requirements/tools.txt"]
BROWSER = ["ansible-core", *RUNTIME, "-r", "tools/requirements/browser.txt"]
LOWEST = ["ansible-core==2.17.*", "kubernetes==28.1.0", *RUNTIME, *TESTS]


def same_python() -> str:
    """Return the distribution's interpreter where it is of this one's version, else this one.

    Debian's is built with profile-guided optimization; one that pyenv compiled is not, and takes a quarter longer for
    the same. It is what operators have, too.
    """
    minor = f"{sys.version_info.major}.{sys.version_info.minor}"
    return shutil.which(f"python{minor}", path="/usr/bin") or sys.executable


def newer_python() -> str | None:
    """Return the newest interpreter of 3.12 to 3.14 in PATH or among pyenv's versions that works, or None.

    ansible-core 2.20 and later run on these only, while Debian 12's own Python is 3.11.
    """
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for minor in (14, 13, 12):
        known = [
            shutil.which(f"python3.{minor}"),
            *sorted(map(str, pyenv.glob(f"3.{minor}.*/bin/python3.{minor}")), reverse=True),
        ]
        for python in filter(None, known):
            if subprocess.run([python, "-c", "import ensurepip"], capture_output=True, check=False).returncode == 0:
                return python
    return None


class Tools:
    """A Python environment under .nox and what is installed in it. Raises through `session.run` when pip fails."""

    def __init__(self, session: nox.Session, name: str, wanted: list[str], python: str | None = None) -> None:
        self.session = session
        self.place = KEPT / name
        python = python or same_python()
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
            session.run(
                sys.executable,
                "-m",
                "virtualenv",
                "--quiet",
                "--clear",
                "--python",
                python,
                str(self.place),
                external=True,
            )
            session.run(
                str(self.place / "bin/python"),
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                *wanted,
                external=True,
                silent=True,
            )
            done.write_text(text, encoding="utf-8")

    def run(
        self, program: str, *arguments: str, silent: bool = False, alone: bool = False, watched: bool = False
    ) -> str:
        """Run a program of this environment with Ansible's caches under .nox; return what it printed if `silent`.

        The checkout is importable as the collection, unless the program is to be `alone` with what it is given. A
        program that is `watched` by a person may use colours. Each has time to clean up after Ctrl-C; nox itself would
        give it a third of a second.
        """
        collections = "" if alone else str(link(CACHE / "link"))
        environment = {
            "ANSIBLE_COLLECTIONS_PATH": collections or str(CACHE / "nothing"),
            "ANSIBLE_HOME": str(CACHE / "ansible"),
            "MOLECULE_EPHEMERAL_DIRECTORY": str(CACHE / "molecule"),
            **({} if watched else {"NO_COLOR": "1"}),
            "PATH": os.pathsep.join([str(self.place / "bin"), os.environ.get("PATH", os.defpath)]),
            "PYTHONPATH": collections,
            "VIRTUAL_ENV": str(self.place),
        }
        return str(
            self.session.run(
                str(self.place / "bin" / program),
                *arguments,
                env=environment,
                external=True,
                silent=silent,
                interrupt_timeout=60.0,
            )
        )

    def pytest(self, *arguments: str) -> None:
        """Run pytest and leave its counts in .nox/reports for tools/gates.py."""
        REPORTS.mkdir(parents=True, exist_ok=True)
        self.run("pytest", f"--junitxml={REPORTS / self.session.name}.xml", *arguments, *self.session.posargs)


def newest(session: nox.Session) -> Tools:
    """Return the environment that most gates share: newest ansible-core for this Python, newest kubernetes, all tools."""
    return Tools(session, "newest", NEWEST)


@nox.session(tags=["quick"])
def fields(session: nox.Session) -> None:
    """The generated field tables equal what their sources in tools/data say, and the guide of fields equals the tables."""
    for tool in ("generate_fields", "generate_field_guide"):
        newest(session).run("python", f"tools/{tool}.py", "--check")


@nox.session(tags=["quick"])
def ruff(session: nox.Session) -> None:
    """Style and likely mistakes; plugins stay within Python 3.7."""
    newest(session).run("ruff", "check", "--no-fix", ".")


@nox.session(tags=["quick"])
def shell(session: nox.Session) -> None:
    """Shell scripts, by shellcheck."""
    newest(session).run("shellcheck", ".ci/run", *map(str, sorted(ROOT.glob("tests/**/*.sh"))))


@nox.session(tags=["quick"])
def mypy(session: nox.Session) -> None:
    """Types of module_utils and plugin_utils, strictly."""
    newest(session).run("mypy", "plugins/module_utils", "plugins/plugin_utils")


@nox.session(tags=["quick"])
def style(session: nox.Session) -> None:
    """Prose, by textlint: the words that the glossary replaces, sentences over 35 words, passive chains."""
    tools = Tools(session, "style", ["-r", "tools/requirements/style.txt"])
    place, rules = tools.place / "textlint", ROOT / "tools/style"
    if (
        not (place / "installed").exists()
        or (place / "installed").read_bytes() != (rules / "package.json").read_bytes()
    ):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(rules, place)
        quiet = ["--silent", "--no-package-lock", "--no-audit", "--no-fund", "--no-update-notifier"]
        # A copy of our own rule: a link to it would not find the packages that it needs.
        tools.run("npm", "install", "--prefix", str(place), "--cache", str(CACHE / "npm"), "--install-links", *quiet)
        shutil.copy(rules / "package.json", place / "installed")
    shutil.copy(rules / "textlint-rule-passive-chain/index.js", place / "node_modules/textlint-rule-passive-chain")
    tools.run("python", "tools/style/check.py", str(place / "node_modules"), *session.posargs)


@nox.session(tags=["quick"])
def unit(session: nox.Session) -> None:
    """Unit and property tests with the newest kubernetes and the newest ansible-core for this Python."""
    newest(session).pytest("tests/unit", *ON_ALL_CORES)


@nox.session(tags=["quick"])
def unit_lowest(session: nox.Session) -> None:
    """Unit and property tests with the lowest versions that the collection supports: ansible-core 2.17, kubernetes
    28.1.0.
    """
    if sys.version_info >= (3, 13):
        session.skip(
            f"ansible-core 2.17 runs on Python up to 3.12, this is {sys.version_info.major}.{sys.version_info.minor}"
        )
    Tools(session, "lowest", LOWEST).pytest(*FOR_USERS, *ON_ALL_CORES)


@nox.session(tags=["quick"])
def unit_newer_python(session: nox.Session) -> None:
    """Unit and property tests on Python 3.12 or later, which the newest ansible-core needs."""
    python = newer_python()
    if python is None:
        session.skip("no Python 3.12 or later in PATH or among pyenv's versions")
    Tools(session, "newer_python", ["ansible-core", *RUNTIME, *TESTS], python).pytest(*FOR_USERS, *ON_ALL_CORES)


@nox.session(tags=["quick"])
def changelog(session: nox.Session) -> None:
    """Changelog fragments are well formed."""
    tools = newest(session)
    tools.run("antsibull-changelog", "lint")
    if (ROOT / "changelogs/changelog.yaml").exists():
        tools.run("antsibull-changelog", "lint-changelog-yaml", "changelogs/changelog.yaml")


@nox.session(tags=["quick"])
def docs(session: nox.Session) -> None:
    """Documentation: docs site configuration, guides, plugins, roles, every reference; ansible-doc shows each public
    name.
    """
    tools = newest(session)
    tools.run(
        "antsibull-docs",
        "lint-collection-docs",
        "--plugin-docs",
        "--disallow-unknown-collection-refs",
        "--validate-collection-refs",
        "self",
        ".",
    )
    for kind, folder, pattern in (
        ("module", "plugins/modules", "*.py"),
        ("inventory", "plugins/inventory", "*.py"),
        ("callback", "plugins/callback", "*.py"),
        ("filter", "plugins/filter", "*.yml"),
        ("filter", "plugins/filter", "*.py"),
        ("role", "roles", "*/meta/argument_specs.yml"),
    ):
        names = {(path.parts[-3] if kind == "role" else path.stem) for path in (ROOT / folder).glob(pattern)} - {
            "__init__"
        }
        if kind == "filter" and pattern == "*.py":
            # A file of filters need not be named like one; those that have no documentation file of their own are.
            names = {
                name for name in names if "DOCUMENTATION" in (ROOT / folder / f"{name}.py").read_text(encoding="utf-8")
            }
        if names:
            shown = tools.run("ansible-doc", "--type", kind, *sorted(f"{NAME}.{name}" for name in names), silent=True)
            missing = sorted(name for name in names if not re.search(rf"\b{NAME}\.{name}\b", shown))
            if missing:
                session.error(f"ansible-doc --type {kind} does not show {', '.join(missing)}")


@nox.session(tags=["quick"])
def ansible_lint(session: nox.Session) -> None:
    """ansible-lint, production profile, without network."""
    newest(session).run("ansible-lint", "--offline", "--profile", "production", "--strict")


@nox.session(tags=["quick"])
def molecule(session: nox.Session) -> None:
    """Roles that need no cluster: converge, again without a change, verify."""
    newest(session).run("molecule", "test", "--all", "--exclude", "lab/*", *session.posargs)


def browser_tools(session: nox.Session) -> Tools:
    """Return the environment that drives Chromium; install that from Debian's archive where it is missing. Skips where
    that cannot be done.
    """
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        if os.geteuid() != 0 or not Path("/etc/debian_version").exists():
            session.skip(
                "there is no Chromium, and installing it takes root on Debian: apt-get install chromium chromium-driver"
            )
        session.run("apt-get", "update", "--quiet", external=True, silent=True)
        session.run(
            "apt-get",
            "install",
            "--quiet",
            "--yes",
            "--no-install-recommends",
            "chromium",
            "chromium-driver",
            external=True,
            silent=True,
            env={"DEBIAN_FRONTEND": "noninteractive"},
        )
    return Tools(session, "browser", BROWSER)


@nox.session(tags=["quick"])
def browser(session: nox.Session) -> None:
    """The HTML report in a real Chromium: 3, 100 and 3,000 nodes, light and dark, and nothing asked of the network."""
    browser_tools(session).pytest("tests/browser")


@nox.session(tags=["quick"])
def galaxy(session: nox.Session) -> None:
    """The artifact builds, Galaxy's own importer takes it without error or warning, and it can be installed. Quick:
    ansible-lint has 180 s in the importer.
    """
    tools = Tools(session, "galaxy", ["-r", "tools/requirements/galaxy.txt"])
    for old in (ROOT / "build").glob("*.tar.gz"):
        old.unlink()
    tools.run(
        "ansible-galaxy",
        "collection",
        "build",
        "--output-path",
        str(ROOT / "build"),
        str(copy(CACHE / "artifact")),
        alone=True,
    )
    artifact = next((ROOT / "build").glob("*.tar.gz"))
    report = tools.run("python", "-m", "galaxy_importer.main", str(artifact), silent=True, alone=True)
    print(report)
    complaints = re.findall(r"^(?:WARNING|ERROR|CRITICAL).*$", report, re.MULTILINE)
    if complaints:
        session.error("galaxy-importer complains:\n" + "\n".join(complaints))
    place = CACHE / "installed"
    shutil.rmtree(place, ignore_errors=True)
    tools.run(
        "ansible-galaxy",
        "collection",
        "install",
        str(artifact),
        "--collections-path",
        str(place / "collections"),
        alone=True,
    )
    tools.run("ansible-doc", "--playbook-dir", str(place), f"{NAME}.node_config_source", silent=True, alone=True)


@nox.session(tags=["slow"])
def sanity(session: nox.Session) -> None:
    """ansible-test sanity: all tests, no ignore files."""
    tools = newest(session)
    ignored = list(ROOT.glob("tests/sanity/ignore*"))
    if ignored:
        session.error(f"sanity is to pass without ignore files, remove {', '.join(map(str, ignored))}")
    tools.run("python", "tools/sanity.py", str(CACHE / "sanity"), *session.posargs)


@nox.session(tags=["slow"])
def site(session: nox.Session) -> None:
    """The documentation site builds into build/site: no warning, nothing fetched while it is made or read."""
    tools = Tools(session, "site", ["-r", "tools/requirements/site.txt"])
    source, target = CACHE / "site", ROOT / "build/site"
    for old in (source, target):
        shutil.rmtree(old, ignore_errors=True)
    # antsibull-docs refuses a folder that others may write to.
    source.mkdir(mode=0o755, parents=True)
    tools.run(
        "antsibull-docs",
        "--config-file",
        "tools/site/antsibull-docs.cfg",
        "collection",
        "--cleanup",
        "everything",
        "--fail-on-error",
        "--use-current",
        "--squash-hierarchy",
        "--dest-dir",
        str(source),
        NAME,
    )
    # It takes the pages alone.
    shutil.copytree(ROOT / "docs/docsite/rst/images", source / "docsite/images")
    tools.run(
        "sphinx-build",
        "--quiet",
        "--builder",
        "html",
        "--conf-dir",
        "tools/site",
        "--fail-on-warning",
        "--keep-going",
        str(source),
        str(target),
    )
    remote = {
        found
        for page in target.rglob("*.html")
        for found in re.findall(
            r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"?(?:https?:)?//[^>]*>", page.read_text(encoding="utf-8")
        )
    }
    if remote:
        session.error("pages would fetch from elsewhere: " + "; ".join(sorted(remote)))
    print(f"{target}/index.html")


@nox.session(tags=["slow"])
def builder(session: nox.Session) -> None:
    """ansible-builder makes the context of an execution environment from docs/, and finds what the collection needs."""
    tools = Tools(session, "builder", ["-r", "tools/requirements/builder.txt"])
    context = CACHE / "builder"
    shutil.rmtree(context, ignore_errors=True)
    tools.run("ansible-builder", "create", "--file", "docs/execution-environment.yml", "--context", str(context))
    if NAME not in (context / "_build/requirements.yml").read_text(encoding="utf-8"):
        session.error(f"the context does not install {NAME}")
    tools.run("ansible-builder", "introspect", str(link(CACHE / "link")), "--write-pip", str(context / "found.txt"))
    found = {
        line.partition("#")[0].strip() for line in (context / "found.txt").read_text(encoding="utf-8").splitlines()
    } - {""}
    # ansible-builder leaves PyYAML to ansible-core, which needs it too.
    wanted = {
        line
        for line in (ROOT / "meta/ee-requirements.txt").read_text(encoding="utf-8").splitlines()
        if not line.startswith("#")
    } - {"PyYAML"}
    if found != wanted:
        session.error(f"meta/ee-requirements.txt has {sorted(wanted)}, ansible-builder finds {sorted(found)}")


@nox.session(tags=["slow"])
def awx(session: nox.Session) -> None:
    """The configuration of AWX in playbooks/awx against the modules of the collection awx.awx."""
    Tools(session, "awx", ["-r", "tools/requirements/awx.txt"]).pytest("tests/awx")


@nox.session(tags=["lab"])
def e2e(session: nox.Session) -> None:
    """The five stages on real kubelets of the lab."""
    newest(session).pytest("tests/e2e")


@nox.session(tags=["lab"])
def e2e_lowest(session: nox.Session) -> None:
    """The life of a change, and a bad value, with the lowest versions that the collection supports."""
    if sys.version_info >= (3, 13):
        session.skip(
            f"ansible-core 2.17 runs on Python up to 3.12, this is {sys.version_info.major}.{sys.version_info.minor}"
        )
    Tools(session, "lowest", LOWEST).pytest("tests/e2e/test_rollout.py", "-k", "two_groups or bad_value")


@nox.session(tags=["lab_static"])
def e2e_node(session: nox.Session) -> None:
    """The node side (store, preflight, guard, role checkpoint) on kubelets that know nothing of dynamic configuration."""
    newest(session).pytest("tests/e2e_node")


@nox.session(tags=["lab_static"])
def molecule_lab(session: nox.Session) -> None:
    """Roles on real nodes: check mode, converge, again without a change or a restart, verify, reset."""
    tools = newest(session)
    # Says how to get one when there is none.
    tools.run("python", "-m", "tests.lab", "status")
    tools.run("molecule", "test", *(session.posargs or ["--scenario-name", "lab/*"]))


@nox.session(tags=["lab_fleet"])
def e2e_fleet(session: nox.Session) -> None:
    """Rollouts over two groups and a control plane, soaks and pods, ansible-runner as AWX runs it, and every command of
    the documentation, on seven nodes.
    """
    newest(session).pytest("tests/e2e_fleet")


@nox.session(tags=["lab", "alone"])
def benchmarks(session: nox.Session) -> None:
    """Speed and memory: 1,000 nodes in the lab's API server beside a bare loop of the same requests; a switch on a node
    beside a bare restart; what the controller itself takes of a rollout to 100 simulated nodes.
    """
    tools = newest(session)
    for name in ("bench_assign", "bench_node", "bench_rollout"):
        tools.run("python", "-m", f"tests.benchmarks.{name}", *session.posargs)


@nox.session(default=False)
def release(session: nox.Session) -> None:
    """Not a gate: turn the changelog fragments into the release notes of the version in galaxy.yml."""
    newest(session).run("antsibull-changelog", "release", *session.posargs)


@nox.session(default=False)
def screenshots(session: nox.Session) -> None:
    """Not a gate: take the screenshots of the report that the documentation shows."""
    browser_tools(session).run("python", "-m", "tools.screenshots", *session.posargs)


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """Not a gate: show the main job on the lab, with the Ansible of the gates."""
    newest(session).run("python", "-m", "tools.demo", watched=True)
