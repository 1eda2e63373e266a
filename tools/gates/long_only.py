# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of tests that only the long tier runs. Single tests and cases have the marker `long` instead.

The short tier has to end in time on a slow machine with two cores. It shows each rule once: decisions in unit tests,
sequences on the simulation, and on real kubelets what only these can judge. A file may move here when another one of
the short tier shows its rules, and the reason stands beside it.
"""

from __future__ import annotations

from collections.abc import Iterable

FILES: dict[str, tuple[str, ...]] = {
    # The gate `contract` runs the same files on the simulation.
    "e2e": (
        *(
            f"tests/contract/test_{name}.py"
            for name in (
                "configmaps",
                "edges",
                "gate",
                "lease",
                "matrix",
                "outage",
                "permissions",
                "refusals",
                "requests",
                "verdicts",
            )
        ),
        # Decisions: tests/unit/.../_config/forecast. The lab itself: every gate brings one up and takes it down.
        "tests/e2e/test_forecast.py",
        "tests/e2e/test_lab_tool.py",
    ),
    # The simulated kubelet is compared with recorded answers of real ones in the unit tests.
    "e2e_rollout": ("tests/e2e/test_simulated.py",),
    # tests/sim_nodes plays faults of disks and interrupted steps, and the unit tests of the store every power cut.
    "e2e_node": tuple(
        f"tests/e2e_node/test_{name}.py"
        for name in (
            "interrupted_reset",
            "interrupted_revert",
            "interrupted_role",
            "revert_full_disk",
            "stage",
            "state_files",
            "store_power_cut",
        )
    ),
    # tests/unit/.../_node/guard: all evidence, as tables, and random sequences.
    "e2e_guard": ("tests/e2e_node/test_guard_evidence.py", "tests/e2e_node/test_random_changes.py"),
    "e2e_fleet": (
        # tests/unit/roles/test_endings.py kills the controller of simulated nodes.
        "tests/e2e_fleet/test_killed.py",
        # tests/unit/plugins/callback has the report, tests/browser its page, tests/sim_nodes/test_demo.py a rollout.
        "tests/e2e_fleet/test_report.py",
    ),
    # Each combines what the other played files show one by one.
    "roles": tuple(
        f"tests/unit/roles/test_{name}.py"
        for name in (
            "confirm_time",
            "kubeadm_of_one_group",
            "no_longer_declared",
            "one_node_of_a_batch",
            "overlapping_groups",
            "resets_and_migrations",
            "rollback_to_a_variant",
            "runs_at_once",
        )
    ),
    # Users with every combination of permissions; tests/unit/roles/test_permissions.py has one of each kind.
    "contract": ("tests/contract/test_matrix.py",),
}


def ignored(gate: str) -> list[str]:
    """Return the arguments with which pytest leaves out the files of a gate that takes folders."""
    return [f"--ignore={path}" for path in FILES[gate]]


def without(gate: str, paths: Iterable[str]) -> list[str]:
    """Return the paths of a gate that names its files, without those."""
    return [path for path in paths if not path.endswith(FILES[gate])]
