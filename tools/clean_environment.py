# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep what the caller's shell has set for Ansible, Kubernetes, Python and pytest away from the gates and the tests."""

from __future__ import annotations

import typing as t

# LIVENODES_LAB*, LAB, LAB_KUBERNETES, CI, CORE and TIER are ours.
PREFIXES = ("ANSIBLE_", "AWX_", "CONTROLLER_", "GALAXY_", "K8S_AUTH_", "KUBE", "MOLECULE_", "RUNNER_", "TOWER_")
NAMES = (
    "JOB_ID",
    "MYPYPATH",
    "PYTEST_ADDOPTS",
    "PYTEST_PLUGINS",
    "PYTHONHASHSEED",
    "PYTHONHOME",
    "PYTHONOPTIMIZE",
    "PYTHONPATH",
    "PYTHONSAFEPATH",
    "PYTHONSTARTUP",
    "PYTHONWARNINGS",
    "RUFF_CONFIG",
    "YAMLLINT_CONFIG_FILE",
)


def clean(environment: t.MutableMapping[str, str]) -> list[str]:
    """Remove the variables that would change what a gate does; return their names."""
    removed = [name for name in environment if name.startswith(PREFIXES) or name in NAMES]
    for name in removed:
        del environment[name]
    return removed
