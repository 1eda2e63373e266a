# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every gate of this repository, declared once: its lane, its tiers, its tests; and the lanes, the labs, the limits.

The lane of a gate states what it needs: `quick`, `single`, `beside` and `slow` nothing, the others a lab of their own.
By hand, a gate uses the lab that LIVENODES_LAB_* names (see tests/lab/README.md).

A gate of both tiers runs fewer points of its products in the short tier: it leaves out the tests and parameters that
are marked `long`, and some whole files. A file may become one of these when another one of the short tier shows its
rules: decisions in unit tests, sequences on the simulation, and on real kubelets what only these can judge.

Nothing here needs nox when it is imported: noxfile.py gives nox the gates.
"""

from __future__ import annotations

import os
import typing as t

from tests.lab import releases
from tools.collection_tree import ROOT
from tools.environments import CACHE, Tools, browser_tools, lowest_tools, newest, node_pythons, node_tools, other_tools
from tools.gates import bodies
from tools.gates.gate import GATES, Gate, gate, is_long, tests
from tools.gates.labs import Lab

if t.TYPE_CHECKING:
    import nox

# The lanes of the labs run side by side; those of one row one after the other.
ROWS = (("lab",), ("lab_static", "lab_modern"), ("lab_guard", "lab_second"), ("lab_fleet", "lab_node_modern"))


def labs() -> dict[str, Lab]:
    """Return the labs by lane."""
    return {
        "lab": Lab("lab", 1, ["--nodes", "3"]),
        "lab_static": Lab("static lab", 2, ["--nodes", "2", "--no-dynamic"]),
        "lab_second": Lab("second lab", 4, ["--nodes", "3"]),
        "lab_guard": Lab("guard lab", 5, ["--nodes", "2", "--no-dynamic"]),
        "lab_fleet": Lab("fleet lab", 3, ["--nodes", "7", "--no-dynamic"]),
        "lab_modern": Lab("modern lab", 6, ["--nodes", "4", "--no-dynamic"], releases.UPGRADED),
        "lab_node_modern": Lab("modern node lab", 7, ["--nodes", "2", "--no-dynamic"], releases.NODE_SIDE),
    }


def files(folder: str, names: str) -> list[str]:
    """Return the paths of files of tests, which are given without `test_` and their ending."""
    return [f"tests/{folder}/test_{name}.py" for name in names.split()]


def without(paths: list[str]) -> list[str]:
    """Return the arguments with which pytest leaves out files or folders."""
    return [f"--ignore={path}" for path in paths]


def unless(long: bool, *left_out: str) -> list[str]:
    """Return the arguments with which the short tier leaves out what is marked `long`, and some files."""
    return [] if long else [*NOT_LONG, *without([*left_out])]


NOT_LONG = ["-m", "not long"]
# By file: what a file's tests share is made once.
ON_ALL_CORES = ["--numprocesses", "auto", "--dist", "loadfile"]
# With other versions, to see whether the properties run there at all.
FEW_EXAMPLES = ["--hypothesis-profile", "few"]


@gate("quick")
def fields(session: nox.Session) -> None:
    """The generated field tables, guides and permissions equal their sources in tools/data; the defaults and tables of
    roles equal their argument specs.
    """
    for tool in ("generate_fields", "generate_field_guide", "generate_permissions", "generate_roles"):
        newest(session).run(f"python tools/{tool}.py --check")


@gate("quick")
def ruff(session: nox.Session) -> None:
    """Style, format, complexity and likely mistakes; plugins stay within Python 3.7."""
    newest(session).run("ruff check --no-fix .")
    newest(session).run("ruff format --check --quiet .")


@gate("quick")
def shell(session: nox.Session) -> None:
    """Shell scripts, by shellcheck."""
    newest(session).run("shellcheck .ci/run", *map(str, sorted(ROOT.glob("tests/**/*.sh"))))


@gate("quick")
def mypy(session: nox.Session) -> None:
    """Types of module_utils and plugin_utils, strictly."""
    newest(session).run("mypy plugins/module_utils plugins/plugin_utils")


@tests("quick", newest)
def unit(long: bool) -> list[str]:
    """Unit and property tests with the newest kubernetes and ansible-core, as most gates: see CONTRIBUTING.md."""
    return ["tests/unit", "--ignore=tests/unit/roles", *ON_ALL_CORES, *unless(long)]


@tests("beside", newest, "short", "long")
def sim_nodes(long: bool) -> list[str]:
    """The node side on simulated nodes, without root: demo, secrets, reports, kubelets of many minors. Long: all
    points.
    """
    return ["tests/sim_nodes", *unless(long)]


@tests("beside", newest, "short", "long")
def roles(long: bool) -> list[str]:
    """The roles, with real runs of ansible-playbook against an API server in Python. Long: every point at which a host
    or a Node is lost, and a batch of 200 hosts in real time.
    """
    # Each combines what the other played files show one by one.
    combined = "confirm_time kubeadm_of_one_group one_node_of_a_batch resets_and_migrations runs_at_once"
    # One by one in the long tier, which has tests in real time.
    cores = [] if long else ON_ALL_CORES
    return ["tests/unit/roles", *cores, *unless(long, *files("unit/roles", combined))]


@tests("beside", newest, "short", "long")
def contract(long: bool) -> list[str]:
    """The contract on the simulation; the gates `e2e*` run it on real kubelets."""
    # Users with every combination of permissions; tests/unit/roles/test_permissions.py has one of each kind.
    return ["tests/contract", *([] if long else ON_ALL_CORES), *unless(long, "tests/contract/test_matrix.py")]


GUARD_SEQUENCES = files("unit/plugins/module_utils/_node/guard", "any_sequence mixed_versions")


@tests("slow", newest, "long")
def unit_long(_long: bool) -> list[str]:
    """The product among the unit tests: random sequences on a model of a node, 10,000 of 30,000 with a follower."""
    return [*GUARD_SEQUENCES, *files("unit/plugins/module_utils/_node/follow", "any_followed_sequence")]


@tests("beside", newest, "long")
def fuzz(_long: bool) -> list[str]:
    """100,000 inputs for every parser of what others write, and what else the gate `unit` leaves to the long tier."""
    # Two files have a test for each parser.
    return ["tests/unit", "--ignore=tests/unit/roles", "-m", "long", *ON_ALL_CORES, "--dist", "load"]


# What knows no Ansible runs with one Python and one ansible-core only, and so does what plays whole rollouts.
CALLBACK = "tests/unit/plugins/callback/test_rollout.py::test"
PLAYED = [
    "by_hand.py::test_the_commands_of_the_page",
    "by_hand.py::test_the_rollout_of_the_page",
    "declared_values.py::test_a_rollout_reserves_by_size",
    "window.py::test_a_batch_that_would_end_too_late_does_not_begin",
]
OTHER_VERSIONS = [
    *["tests/unit/extensions", "tests/unit/playbooks", "tests/unit/plugins"],
    *files("unit/roles", "argument_specs declared_values window"),
    # A rollout on a terminal and an interrupt show the callback. The gate `unit` has its other runs.
    *("--deselect", f"{CALLBACK}_an_interrupted_run_leaves_its_report"),
    *("--deselect", f"{CALLBACK}_check_mode_is_reported_and_a_pause_is_not_a_failure"),
    *("--deselect", f"{CALLBACK}_what_is_no_rollout_leaves_no_line_and_no_report"),
    *(word for name in PLAYED for word in ("--deselect", f"tests/unit/roles/test_{name}")),
    *FEW_EXAMPLES,
    *ON_ALL_CORES,
]
# Whole roles in plays of a user.
BY_HAND = files("unit/roles", "by_hand kubeadm_of_one_group")
# Their code knows neither Ansible nor the package kubernetes.
PURE = [f"tests/unit/plugins/module_utils/{room}" for room in ("_config", "_node")]
PURE += [f"tests/unit/plugins/module_utils/_cluster/{room}" for room in ("objects", "rollout", "stages")]
MORE_PURE = ["tests/unit/fuzz", "tests/unit/legacy"]


@tests("quick", lowest_tools)
def unit_lowest(long: bool) -> list[str]:
    """Unit tests with the lowest versions that the collection supports: ansible-core 2.16, kubernetes 28.1.0. Without
    those of code that uses neither.
    """
    return [*OTHER_VERSIONS, *BY_HAND, *without(PURE), *unless(long)]


@tests("quick", other_tools, "short", "long")
def unit_other_python(long: bool) -> list[str]:
    """Unit and property tests with the newest ansible-core for the Python that most gates do not have: 2.21 on 3.12 or
    later; long: 2.19 on 3.11, also those of code that knows neither Ansible nor the package kubernetes.
    """
    # The long tier plays all roles with 2.21.
    return [*OTHER_VERSIONS, *([*BY_HAND, *MORE_PURE] if long else without(PURE)), *NOT_LONG]


@gate("slow", "short", "long")
def node_python(session: nox.Session) -> None:
    """The code of nodes can be imported, without a warning, with each Python from 3.7 to 3.14 that is installed. Long:
    the guard's unit tests pass with the oldest.
    """
    rooms = ("plugins/module_utils/_config", "plugins/module_utils/_node")
    for python in node_pythons():
        session.run(python, "-B", "-W", "error", "tools/import_all.py", *rooms, external=True)
    if is_long():
        # Without random sequences on a model that needs Python 3.8: its decisions are the same on each.
        guard = ["tests/unit/plugins/module_utils/_node/guard", *without(GUARD_SEQUENCES)]
        node_tools(session).pytest(*guard, *FEW_EXAMPLES, *NOT_LONG)


@gate("quick")
def changelog(session: nox.Session) -> None:
    """Changelog fragments are well formed."""
    newest(session).run("antsibull-changelog lint")
    if (ROOT / "changelogs/changelog.yaml").exists():
        newest(session).run("antsibull-changelog lint-changelog-yaml changelogs/changelog.yaml")


gate("single")(bodies.docs)


@gate("single")
def ansible_lint(session: nox.Session) -> None:
    """ansible-lint, production profile, without network."""
    newest(session).run("ansible-lint --offline --profile production --strict")


@gate("single")
def molecule(session: nox.Session) -> None:
    """Roles that need no cluster: converge, again without a change, verify."""
    newest(session).run("molecule test --all --exclude lab/*", *session.posargs)


# Not `single`: on a new machine the parts of the labs are built then, and both install packages of Debian.
@tests("quick", browser_tools)
def browser(_long: bool) -> list[str]:
    """The HTML report in a real Chromium: 3, 100 and 3,000 nodes, light and dark, and nothing asked of the network. The
    style of the documentation site at phone width.
    """
    return ["tests/browser"]


# Not a slow one: the importer gives ansible-lint 180 s.
gate("single")(bodies.galaxy)


@gate("slow")
def sanity(session: nox.Session) -> None:
    """ansible-test sanity of what Galaxy gets: all tests, no ignore files. The long tier has the rest."""
    ignored = list(ROOT.glob("tests/sanity/ignore*"))
    if ignored:
        session.error(f"sanity passes without ignore files: remove {', '.join(map(str, ignored))}")
    # galaxy.yml leaves the folder out, which is two thirds of the lines. ruff lints it in the short tier.
    given = session.posargs or ["--exclude", "tests/"]
    newest(session).run("python tools/sanity.py", str(CACHE / "sanity"), *given)


@gate("slow", "long")
def sanity_lowest(session: nox.Session) -> None:
    """ansible-test sanity of the whole repository with the lowest ansible-core: all tests, no ignore files."""
    lowest_tools(session).run("python tools/sanity.py", str(CACHE / "sanity_lowest"), *session.posargs)


gate("slow")(bodies.site)


gate("slow")(bodies.builder)


def awx_tools(session: nox.Session) -> Tools:
    """Return the environment with the collection awx.awx and what it needs."""
    return Tools(session, "awx", ["-r", "tools/requirements/awx.txt"])


# Not `slow`, which has the lowest priority: a rulebook has to begin within some time.
@tests("quick", awx_tools)
def awx(_long: bool) -> list[str]:
    """The configuration of AWX in playbooks/awx against the modules of the collection awx.awx, and the rulebooks."""
    return ["tests/awx"]


# These need kubelets without dynamic configuration, ALONE only one or two of them.
STATIC = files("contract", "dropins followers node")
ALONE = files("contract", "guard")
STAGES = ["tests/e2e", "tests/contract", *without([*STATIC, *ALONE]), "--on", "lab"]
# On a lab of its own, so that the lanes take equally long.
ROLLOUT = "tests/contract/test_rollout.py"


@tests("lab", newest, "short", "long")
def e2e(long: bool) -> list[str]:
    """The five stages and the contract on real kubelets of the lab, but for the files of e2e_rollout."""
    # The gate `contract` runs the same files on the simulation.
    simulated = "configmaps edges gate lease matrix outage permissions verdicts"
    # Decisions: tests/unit/.../_config/forecast. The lab itself: every gate brings one up and takes it down.
    left_out = [*files("contract", simulated), *files("e2e", "forecast lab_tool")]
    return [*STAGES, *without([ROLLOUT]), *unless(long, *left_out)]


@tests("lab_second", newest, "short", "long")
def e2e_rollout(long: bool) -> list[str]:
    """Rollouts from plan to prune."""
    return [ROLLOUT, *([] if long else NOT_LONG), "--on", "lab"]


@tests("lab_second", lowest_tools, "short", "long")
def e2e_lowest(long: bool) -> list[str]:
    """The life of a change with the lowest versions that the collection supports. On the simulation, since e2e_rollout
    has the real kubelets, and unit_lowest rollouts that fail. Long: all of the short tier of e2e on the lab.
    """
    return [*STAGES, *NOT_LONG] if long else [ROLLOUT, "-k", "two_groups"]


@tests("lab_second", other_tools, "long")
def e2e_other_python(_long: bool) -> list[str]:
    """The short tier of e2e with the newest ansible-core for Python 3.11, 2.19, and the newest kubernetes."""
    return [*STAGES, *NOT_LONG]


# These run on a lab of their own, so that the lanes take equally long.
GUARD = files("e2e_node", "guard")
# tests/unit/.../_node/guard: all evidence, as tables, and random sequences.
GUARD_LONG = files("e2e_node", "random_changes")
NODE = ["tests/e2e_node", *without([*GUARD, *GUARD_LONG])]


@tests("lab_static", newest, "short", "long")
def e2e_node(long: bool) -> list[str]:
    """The node side (store, preflight, role checkpoint) on kubelets without dynamic configuration, but for the files
    of e2e_guard.
    """
    return [*NODE, *unless(long)]


@tests("lab_guard", newest, "short", "long")
def e2e_guard(long: bool) -> list[str]:
    """The guard on real kubelets: what it reverts, what it leaves, a new binary. Long: random changes and kills."""
    return [*ALONE, *GUARD, "--on", "lab", *(GUARD_LONG if long else NOT_LONG)]


# tests/e2e_node/test_checkpoint_role.py has the same steps in the short tier.
@gate("lab_static", "long")
def molecule_lab(session: nox.Session) -> None:
    """Roles on real nodes: check mode, converge, again without a change or a restart, verify, reset."""
    # Reports how to bring one up when there is none.
    newest(session).run("python -m tests.lab status")
    newest(session).run("molecule test", *(session.posargs or ["--scenario-name", "lab/*"]))


@tests("lab_fleet", newest, "short", "long")
def e2e_fleet(long: bool) -> list[str]:
    """Rollouts over two groups and a control plane, soaks and pods, followers, ansible-runner as AWX runs it, and every
    command of the documentation, on seven nodes.
    """
    # The gate e2e_node has the delivery in its short tier.
    shared = files("contract", "followers node" if long else "followers")
    return [*shared, "tests/e2e_fleet", "--on", "lab", *unless(long)]


@tests("lab_modern", newest, "short", "long")
def e2e_modern(long: bool) -> list[str]:
    """Kubelets of 1.28 and 1.36 where their binaries are (tests/lab/README.md): rollout, drift, reset, an upgrade."""
    return [*STATIC, "tests/e2e_modern", "--on", "modern", *unless(long)]


def modern_node(session: nox.Session) -> Tools:
    """Return the environment `newest`, for a lab with a kubelet of 1.36."""
    os.environ.setdefault("LIVENODES_LAB_KUBERNETES", " ".join(releases.NODE_SIDE))
    return newest(session)


@tests("lab_node_modern", modern_node, "short", "long")
def e2e_node_modern(long: bool) -> list[str]:
    """The node side with delivery checkpoint on a kubelet of 1.36, where its binaries are: what that kubelet answers.
    Long: all of e2e_node.
    """
    # What another kubelet could answer differently, in a few minutes.
    few = files("e2e_node", "checkpoint_role config_check last_words notify_unit seed")
    return NODE if long else [*few, *NOT_LONG]


@tests("lab_node_modern", modern_node, "long")
def e2e_guard_modern(long: bool) -> list[str]:
    """All of e2e_guard on a kubelet of 1.36, where its binaries are."""
    return [*ALONE, *GUARD, *GUARD_LONG, "--on", "modern", *unless(long)]


gate("lab", "short", "long", alone=True)(bodies.benchmarks)


def chosen(tier: str, names: t.Sequence[str]) -> dict[str, Gate]:
    """Return the named gates of a tier, all for an empty list. Raises SystemExit for unknown names."""
    gates = {name: one for name, one in GATES.items() if tier in one.limits}
    unknown = [name for name in names if name not in gates]
    if unknown:
        raise SystemExit(f"no such gate in the {tier} tier: {', '.join(unknown)}; its gates are {', '.join(gates)}")
    return {name: gates[name] for name in names or gates}
