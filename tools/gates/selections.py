# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which tests each gate runs: arguments of pytest, with the reasons for what other gates leave out."""

from __future__ import annotations

from pathlib import Path

from tools.gates import long_only

ROOT = Path(__file__).resolve().parents[2]
# What is not for users runs with one Python and one ansible-core only.
FOR_USERS = ["tests/unit", *(f"--ignore=tests/unit/{room}" for room in ("tools", "lab", "sim"))]
# Each of these plays whole rollouts, with one ansible-core only.
PLAYED = [
    f"--ignore=tests/unit/roles/test_{name}.py"
    for name in (
        "confirm_time",
        "drained_rollout",
        "endings",
        "few_fields",
        "forged_annotations",
        "groups_of_one_run",
        "no_longer_declared",
        "node_calls",
        "null",
        "one_node_of_a_batch",
        "one_place",
        "overlapping_groups",
        "permissions",
        "plan_of_own_files",
        "reimaged_machine",
        "resets_and_migrations",
        "rollback",
        "rollback_to_a_variant",
        "runs_at_once",
        "secrets",
        "skipped_nodes",
        "stage",
        "stale_status",
        "table_of_runs",
        "two_rollouts",
        "unavailable_nodes",
        "upgrade_check",
        "window",
        "wrong_clock",
    )
]
# So do those in its folders.
FOLDERS = [
    f"--ignore={path.relative_to(ROOT).as_posix()}"
    for path in sorted((ROOT / "tests/unit/roles").iterdir())
    if any(path.glob("test_*.py"))
]
# Their code knows neither Ansible nor the package kubernetes.
PURE = [f"--ignore=tests/unit/plugins/module_utils/{room}" for room in ("_config", "_node")]
# With other versions, to see whether the properties run there at all.
FEW_EXAMPLES = ["--hypothesis-profile", "few"]
# The guard, but for random sequences on a model that needs Python 3.8: its decisions are the same on each.
ON_OLDEST = [
    "tests/unit/plugins/module_utils/_node/guard",
    *(
        f"--ignore=tests/unit/plugins/module_utils/_node/guard/test_{name}.py"
        for name in ("any_sequence", "mixed_versions")
    ),
    *FEW_EXAMPLES,
]
# Each waits for runs that a signal ends. The gate `unit` has them.
INTERRUPTED = ["--deselect", "tests/unit/plugins/callback/test_rollout.py::test_an_interrupted_run_leaves_its_report"]
OTHER_VERSIONS = [*FOR_USERS, *PLAYED, *FOLDERS, *INTERRUPTED, *FEW_EXAMPLES]
# By file: what a file's tests share is made once.
ON_ALL_CORES = ["--numprocesses", "auto", "--dist", "loadfile"]
# These files of e2e and of e2e_node run on labs of their own: the lanes take equally long.
ROLLOUT = ["tests/contract/test_rollout.py", "tests/e2e/test_simulated.py"]
GUARD = [
    *(path.relative_to(ROOT).as_posix() for path in sorted((ROOT / "tests/e2e_node").glob("test_guard*.py"))),
    "tests/e2e_node/test_new_binary.py",
    "tests/e2e_node/test_random_changes.py",
]
# The tests of one dynamic lab; those of the contract also run on the simulation, in the gate `contract`.
ON_LAB = ["--cluster", "lab"]
# The kubelets of this lab have no drop-ins.
STAGES = ["tests/e2e", "tests/contract", "--ignore=tests/contract/test_dropins.py", *ON_LAB]
NODE = ["tests/e2e_node", *(f"--ignore={path}" for path in GUARD)]
# What another kubelet could answer differently, in a few minutes.
NODE_MODERN = [
    f"tests/e2e_node/test_{name}.py"
    for name in ("checkpoint_role", "config_check", "last_words", "notify_unit", "preflight")
]
NOT_LONG = ["-m", "not long"]


def tests(long: bool) -> dict[str, list[str]]:
    """Return what pytest gets in each gate that runs it, in the long tier or in the short one."""
    short = [] if long else NOT_LONG

    def part(gate: str) -> list[str]:
        return [] if long else [*NOT_LONG, *long_only.ignored(gate)]

    return {
        "unit": ["tests/unit", "--ignore=tests/unit/roles", *ON_ALL_CORES, *short],
        "unit_long": [
            "tests/unit/plugins/module_utils/_node/guard/test_any_sequence.py",
            "tests/unit/plugins/module_utils/_node/guard/test_mixed_versions.py",
        ],
        "unit_lowest": [*OTHER_VERSIONS, *PURE, *ON_ALL_CORES, *short],
        "unit_other_python": [*OTHER_VERSIONS, *([] if long else PURE), *ON_ALL_CORES, *NOT_LONG],
        "node_python": [*ON_OLDEST, *NOT_LONG],
        "fuzz": ["tests/unit/fuzz", "-m", "long", "--numprocesses", "auto", "--dist", "load"],
        "sim_nodes": ["tests/sim_nodes", *short],
        # One by one in the long tier, which has tests in real time.
        "roles": ["tests/unit/roles", *([] if long else ON_ALL_CORES), *part("roles")],
        "contract": ["tests/contract", *part("contract")],
        "e2e": [*STAGES, *(f"--ignore={path}" for path in ROLLOUT), *part("e2e")],
        "e2e_rollout": [*(ROLLOUT if long else long_only.without("e2e_rollout", ROLLOUT)), *ON_LAB, *short],
        "e2e_lowest": [*STAGES, *NOT_LONG]
        if long
        else ["tests/contract/test_rollout.py", "-k", "two_groups or bad_value"],
        "e2e_other_python": [*STAGES, *NOT_LONG],
        "e2e_node": [*NODE, *part("e2e_node")],
        "e2e_guard": [*(GUARD if long else long_only.without("e2e_guard", GUARD)), *short],
        "e2e_fleet": ["tests/e2e_fleet", *part("e2e_fleet")],
        "e2e_modern": ["tests/e2e_modern", *short],
        "e2e_node_modern": [*(NODE if long else NODE_MODERN), *short],
        "e2e_guard_modern": [*GUARD, *short],
    }


def runs(words: list[str], path: str) -> bool:
    """Return whether pytest with these arguments runs tests of a file."""
    left_out = [word.partition("=")[2] for word in words if word.startswith("--ignore=")]
    return _within(path, words) and not _within(path, left_out)


def _within(path: str, rooms: list[str]) -> bool:
    return any(path == room or path.startswith(f"{room}/") for room in rooms)
