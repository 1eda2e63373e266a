# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every gate of this repository, declared once: its lane, its tiers and its time limit. tools/gates reads them here.

`make test` runs the short tier, `make test-long` the long one, `.venv/bin/nox -s NAME` one gate; `.venv/bin/nox -l`
lists all of them.

The lane of a gate states what it needs: `quick`, `beside` and `slow` nothing, the others a lab of their own, which
tools/gates brings up. By hand, a gate uses the lab that LIVENODES_LAB_* names (see tests/lab/README.md).

A gate of both tiers runs fewer points of its products in the short tier: it leaves out the tests and parameters that
are marked `long`. TIER=long includes them, also by hand: `TIER=long .venv/bin/nox -s e2e`.

Environments are made once and kept under .nox. Remove .nox to get the newest releases of what is not pinned.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import typing as t
from pathlib import Path

import nox

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from tests.lab import releases  # noqa: E402  # found only after the line above
from tools import artifact  # noqa: E402  # found only after the line above
from tools.clean_environment import clean  # noqa: E402  # found only after the line above
from tools.collection_tree import NAME, link, public_names  # noqa: E402  # found only after the line above
from tools.environments import (  # noqa: E402  # found only after the line above
    CACHE,
    Tools,
    browser_tools,
    lowest_tools,
    newest,
    node_pythons,
    node_tools,
    other_tools,
)
from tools.gates import selections  # noqa: E402  # found only after the line above
from tools.gates.declaration import Gate  # noqa: E402  # found only after the line above
from tools.sessions import (  # noqa: E402, F401  # pylint: disable=unused-import  # nox finds these sessions here
    demo,
    house,
    mutation,
    release,
    scale,
    screenshots,
    side_by_side,
    sim,
    tape,
)
from tools.site import pages  # noqa: E402  # found only after the line above

clean(os.environ)
# One environment serves many gates, which nox itself cannot do: see Tools.
nox.options.default_venv_backend = "none"

NODE_CODE = ("plugins/module_utils/_config", "plugins/module_utils/_node")
LONG = os.environ.get("TIER") == "long"
CHOSEN = selections.tests(LONG)

# Seconds that the whole short tier should take on two cores, the building of the labs included.
BUDGET = 2700
# Seconds after which a tier is ended, and fails.
MOST = {"short": 87 * 60, "long": 6 * 3600}
# Seconds that one gate may take, by the first word of its lane and by tier; the first run fills the environments.
LIMITS = {
    "quick": {"short": 1200, "long": 1800},
    "slow": {"short": 3000, "long": 18000},
    "beside": {"short": 3000, "long": 9000},
    "lab": {"short": 3600, "long": 9000},
}
GATES: list[Gate] = []
Function = t.Callable[[nox.Session], None]


def gate(lane: str, *tiers: str, alone: bool = False) -> t.Callable[[Function], t.Any]:
    """Declare a gate of a lane and its tiers (short if none is named); one that runs `alone` starts after all lanes."""

    def declare(function: Function) -> t.Any:
        limits = {tier: LIMITS[lane.partition("_")[0]][tier] for tier in tiers or ("short",)}
        GATES.append(Gate(function.__name__, lane, limits, alone))
        return nox.session(tags=[lane, *limits])(function)

    return declare


@gate("quick")
def fields(session: nox.Session) -> None:
    """The generated field tables, guides and permissions equal their sources in tools/data."""
    for tool in ("generate_fields", "generate_field_guide", "generate_permissions"):
        newest(session).run("python", f"tools/{tool}.py", "--check")


@gate("quick")
def ruff(session: nox.Session) -> None:
    """Style, format, complexity and likely mistakes; plugins stay within Python 3.7."""
    tools = newest(session)
    tools.run("ruff", "check", "--no-fix", ".")
    tools.run("ruff", "format", "--check", "--quiet", ".")


@gate("quick")
def shell(session: nox.Session) -> None:
    """Shell scripts, by shellcheck."""
    newest(session).run("shellcheck", ".ci/run", *map(str, sorted(ROOT.glob("tests/**/*.sh"))))


@gate("quick")
def mypy(session: nox.Session) -> None:
    """Types of module_utils and plugin_utils, strictly."""
    newest(session).run("mypy", "plugins/module_utils", "plugins/plugin_utils")


@gate("quick")
def unit(session: nox.Session) -> None:
    """Unit and property tests with the newest kubernetes and ansible-core, as most gates: see CONTRIBUTING.md."""
    newest(session).pytest(*CHOSEN["unit"])


@gate("beside", "short", "long")
def sim_nodes(session: nox.Session) -> None:
    """The node side on simulated nodes, without root: both deliveries from rollout to reset, and the guard's reverts.
    Long: all points of the reverts.
    """
    newest(session).pytest(*CHOSEN["sim_nodes"])


@gate("beside", "short", "long")
def roles(session: nox.Session) -> None:
    """The roles, with real runs of ansible-playbook against an API server in Python. Long: every point at which a host
    or a Node is lost, and a batch of 200 hosts in real time.
    """
    newest(session).pytest(*CHOSEN["roles"])


@gate("beside", "short", "long")
def contract(session: nox.Session) -> None:
    """The contract of clusters on the simulation; the gates e2e run it on real kubelets."""
    newest(session).pytest(*CHOSEN["contract"])


@gate("slow", "long")
def unit_long(session: nox.Session) -> None:
    """The product among the unit tests: 20,000 random sequences on a model of a node."""
    newest(session).pytest(*CHOSEN["unit_long"])


@gate("beside", "long")
def fuzz(session: nox.Session) -> None:
    """100,000 inputs for every parser of what others write."""
    newest(session).pytest(*CHOSEN["fuzz"])


@gate("quick")
def unit_lowest(session: nox.Session) -> None:
    """Unit tests with the lowest versions that the collection supports: ansible-core 2.16, kubernetes 28.1.0. Without
    those of code that uses neither.
    """
    lowest_tools(session).pytest(*CHOSEN["unit_lowest"])


@gate("quick", "short", "long")
def unit_other_python(session: nox.Session) -> None:
    """Unit and property tests with the newest ansible-core for the Python that most gates do not have: 2.21 on 3.12 or
    later; long: 2.19 on 3.11, also those of code that knows neither Ansible nor the package kubernetes.
    """
    other_tools(session).pytest(*CHOSEN["unit_other_python"])


@gate("slow", "short", "long")
def node_python(session: nox.Session) -> None:
    """The code of nodes can be imported, without a warning, with each Python from 3.7 to 3.14 that is installed. Long:
    the guard's unit tests pass with the oldest.
    """
    for python in node_pythons():
        session.run(python, "-B", "-W", "error", "tools/import_all.py", *NODE_CODE, external=True)
    if LONG:
        node_tools(session).pytest(*CHOSEN["node_python"])


@gate("quick")
def changelog(session: nox.Session) -> None:
    """Changelog fragments are well formed."""
    tools = newest(session)
    tools.run("antsibull-changelog", "lint")
    if (ROOT / "changelogs/changelog.yaml").exists():
        tools.run("antsibull-changelog", "lint-changelog-yaml", "changelogs/changelog.yaml")


@gate("quick")
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
    for kind, names in public_names().items():
        shown = tools.run("ansible-doc", "--type", kind, *sorted(f"{NAME}.{name}" for name in names), silent=True)
        missing = sorted(name for name in names if not re.search(rf"\b{NAME}\.{name}\b", shown))
        if missing:
            session.error(f"ansible-doc --type {kind} does not show {', '.join(missing)}")


@gate("quick")
def ansible_lint(session: nox.Session) -> None:
    """ansible-lint, production profile, without network."""
    newest(session).run("ansible-lint", "--offline", "--profile", "production", "--strict")


@gate("quick")
def molecule(session: nox.Session) -> None:
    """Roles that need no cluster: converge, again without a change, verify."""
    newest(session).run("molecule", "test", "--all", "--exclude", "lab/*", *session.posargs)


@gate("quick")
def browser(session: nox.Session) -> None:
    """The HTML report in a real Chromium: 3, 100 and 3,000 nodes, light and dark, and nothing asked of the network. The
    style of the documentation site at phone width.
    """
    browser_tools(session).pytest("tests/browser")


@gate("quick")
def galaxy(session: nox.Session) -> None:
    """The artifact builds, Galaxy's own importer accepts it without error or warning, and it can be installed."""
    # A quick gate, not a slow one: the importer gives ansible-lint 180 s.
    artifact.build_and_install(session)


@gate("slow")
def sanity(session: nox.Session) -> None:
    """ansible-test sanity: all tests, no ignore files."""
    tools = newest(session)
    ignored = list(ROOT.glob("tests/sanity/ignore*"))
    if ignored:
        session.error(f"sanity passes without ignore files: remove {', '.join(map(str, ignored))}")
    tools.run("python", "tools/sanity.py", str(CACHE / "sanity"), *session.posargs)


@gate("slow", "long")
def sanity_lowest(session: nox.Session) -> None:
    """ansible-test sanity of the lowest ansible-core: all tests, no ignore files."""
    lowest_tools(session).run("python", "tools/sanity.py", str(CACHE / "sanity_lowest"), *session.posargs)


@gate("slow")
def site(session: nox.Session) -> None:
    """The documentation site builds into build/site: no warning, nothing fetched while it is made or read."""
    pages.build(session)


@gate("slow")
def builder(session: nox.Session) -> None:
    """ansible-builder makes the context of an execution environment from docs/, and finds what the collection needs."""
    tools = Tools(session, "builder", ["-r", "tools/requirements/builder.txt"])
    context = CACHE / "builder"
    shutil.rmtree(context, ignore_errors=True)
    tools.run("ansible-builder", "create", "--file", "docs/execution-environment.yml", "--context", str(context))
    if NAME not in (context / "_build/requirements.yml").read_text(encoding="utf-8"):
        session.error(f"the context does not install {NAME}")
    tools.run("ansible-builder", "introspect", str(link(CACHE / "link")), "--write-pip", str(context / "found.txt"))
    texts = [path.read_text(encoding="utf-8") for path in (context / "found.txt", ROOT / "meta/ee-requirements.txt")]
    found, wanted = ({line.partition("#")[0].strip() for line in text.splitlines()} - {""} for text in texts)
    # ansible-builder leaves PyYAML to ansible-core, which needs it too.
    wanted -= {"PyYAML"}
    if found != wanted:
        session.error(f"meta/ee-requirements.txt has {sorted(wanted)}, ansible-builder finds {sorted(found)}")


@gate("slow")
def awx(session: nox.Session) -> None:
    """The configuration of AWX in playbooks/awx against the modules of the collection awx.awx."""
    Tools(session, "awx", ["-r", "tools/requirements/awx.txt"]).pytest("tests/awx")


@gate("lab", "short", "long")
def e2e(session: nox.Session) -> None:
    """The five stages and the contract on real kubelets of the lab, but for the files of e2e_rollout."""
    newest(session).pytest(*CHOSEN["e2e"])


@gate("lab_second", "short", "long")
def e2e_rollout(session: nox.Session) -> None:
    """Rollouts from plan to prune, and the simulated kubelet beside a real one."""
    newest(session).pytest(*CHOSEN["e2e_rollout"])


@gate("lab_second", "short", "long")
def e2e_lowest(session: nox.Session) -> None:
    """The life of a change, and a bad value, with the lowest versions that the collection supports. On the simulation,
    since e2e_rollout has the real kubelets. Long: all of the short tier of e2e on the lab.
    """
    lowest_tools(session).pytest(*CHOSEN["e2e_lowest"])


@gate("lab_second", "long")
def e2e_other_python(session: nox.Session) -> None:
    """The short tier of e2e with the newest ansible-core for Python 3.11, 2.19, and the newest kubernetes."""
    other_tools(session).pytest(*CHOSEN["e2e_other_python"])


@gate("lab_static", "short", "long")
def e2e_node(session: nox.Session) -> None:
    """The node side (store, preflight, role checkpoint) on kubelets without dynamic configuration, but for the files
    of e2e_guard.
    """
    newest(session).pytest(*CHOSEN["e2e_node"])


@gate("lab_guard", "short", "long")
def e2e_guard(session: nox.Session) -> None:
    """The guard on real kubelets: what it reverts, what it leaves, a new binary. Long: random changes and kills."""
    newest(session).pytest(*CHOSEN["e2e_guard"])


@gate("lab_static")
def molecule_lab(session: nox.Session) -> None:
    """Roles on real nodes: check mode, converge, again without a change or a restart, verify, reset."""
    tools = newest(session)
    # Reports how to bring one up when there is none.
    tools.run("python", "-m", "tests.lab", "status")
    tools.run("molecule", "test", *(session.posargs or ["--scenario-name", "lab/*"]))


@gate("lab_fleet", "short", "long")
def e2e_fleet(session: nox.Session) -> None:
    """Rollouts over two groups and a control plane, soaks and pods, ansible-runner as AWX runs it, and every command of
    the documentation, on seven nodes.
    """
    newest(session).pytest(*CHOSEN["e2e_fleet"])


@gate("lab_modern", "short", "long")
def e2e_modern(session: nox.Session) -> None:
    """Kubelets of 1.28 and 1.36 where their binaries are (tests/lab/README.md): rollout, drift, reset, an upgrade."""
    newest(session).pytest(*CHOSEN["e2e_modern"])


@gate("lab_node_modern", "short", "long")
def e2e_node_modern(session: nox.Session) -> None:
    """The node side with delivery checkpoint on a kubelet of 1.36, where its binaries are: what that kubelet answers.
    Long: all of e2e_node.
    """
    os.environ.setdefault("LIVENODES_LAB_KUBERNETES", " ".join(releases.NODE_SIDE))
    newest(session).pytest(*CHOSEN["e2e_node_modern"])


@gate("lab_node_modern", "long")
def e2e_guard_modern(session: nox.Session) -> None:
    """All of e2e_guard on a kubelet of 1.36, where its binaries are."""
    os.environ.setdefault("LIVENODES_LAB_KUBERNETES", " ".join(releases.NODE_SIDE))
    newest(session).pytest(*CHOSEN["e2e_guard_modern"])


@gate("lab", "short", "long", alone=True)
def benchmarks(session: nox.Session) -> None:
    """Speed and memory: an assignment beside a bare loop of the same requests, a switch on a node beside a bare
    restart, the controller's share of a rollout to simulated nodes. Long: 1,000 nodes, and a rollout to 5,000.
    """
    tools = newest(session)
    runs = [("bench_assign", "300"), ("bench_node", ""), ("bench_rollout", "100")]
    more = [("bench_assign", "1000"), *runs[1:], ("bench_rollout", "1000"), ("bench_rollout", "5000")]
    for name, nodes in more if LONG else runs:
        options = session.posargs or (["--nodes", nodes] if nodes else [])
        tools.run("python", "-m", f"tests.benchmarks.{name}", *options)
    # Only whether the measurement of `make scale` works: it has no limit for so few nodes.
    if LONG and not session.posargs:
        few = ("--nodes", "10", "--variants", "all", "--playbooks", "plan", "rollout")
        tools.run("python", "-m", "tests.benchmarks.scale", *few)
