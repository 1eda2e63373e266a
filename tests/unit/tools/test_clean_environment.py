# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the caller's shell has set does not reach the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tools.collection_tree import clean

ROOT = Path(__file__).resolve().parents[3]
FOREIGN = {
    "ANSIBLE_STDOUT_CALLBACK": "json",
    "ANSIBLE_COLLECTIONS_PATH": "/nowhere",
    "K8S_AUTH_KUBECONFIG": "/nowhere/config",
    "K8S_AUTH_HOST": "https://192.0.2.1",
    "KUBECONFIG": "/nowhere/config",
    "KUBERNETES_SERVICE_HOST": "192.0.2.1",
    "LIVENODES_KUBELET_REPORT_HTML": "/nowhere/report.html",
    "PYTHONPATH": "/nowhere",
}
OURS = {
    "LAB": "skip",
    "CI": "true",
    "LIVENODES_LAB_DIR": "/lab",
    "LAB_KUBERNETES": "1.20.2",
    "TIER": "long",
    "PATH": "/bin",
}


def test_only_what_is_not_ours_is_removed() -> None:
    environment = {**FOREIGN, **OURS}
    clean(environment)
    assert environment == OURS


def test_a_plain_pytest_run_is_clean() -> None:
    """The conftest of all tests removes the variables, and points Ansible to this checkout."""
    program = """
import os, sys
sys.path.insert(0, os.getcwd())
import tests.conftest as own
print(*sorted(name for name in os.environ if name.startswith(("ANSIBLE_", "K8S_AUTH_", "KUBE"))))
print(os.environ["ANSIBLE_COLLECTIONS_PATH"] == own.COLLECTIONS)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**os.environ, **FOREIGN},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["ANSIBLE_COLLECTIONS_PATH ANSIBLE_HOME", "True"]
