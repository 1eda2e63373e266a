# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page of the contract: what the simulation and real kubelets have in common, case by case."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from tools.collection_tree import ROOT
from tools.generated import table
from tools.site.reports import Runs

FACTS = ROOT / "tests" / "facts"
# By file of the contract.
GROUPS = {
    "contract/test_edges": "From each kind of source to each other one",
    "contract/test_verdicts": "Why a node may not run its source",
    "contract/test_rollout": "Playbooks, native delivery",
    "contract/test_node": "Playbooks, deliveries checkpoint and dropin",
    "contract/test_followers": "Playbooks, through followers",
    "contract/test_guard": "The guard",
    "contract/test_runs": "Two runs of playbooks, one after the other",
    "contract/test_matrix": "Modules, step by step",
    "contract/test_values": "Values in every notation",
    "contract/test_configmaps": "ConfigMaps of live configurations",
    "contract/test_outage": "An API server that stops",
    "contract/test_gate": "The gate before a batch",
    "contract/test_lease": "One rollout at a time",
    "contract/test_permissions": "Permissions",
    "contract/test_hidden": "Values that hide a kubelet",
    "contract/test_dropins": "Drop-ins",
}
HEADER = """.. _ansible_collections.livenodes.kubelet.docsite.evidence_contract:

The simulation and real kubelets
================================

After this page you know which results of this project come from real kubelets, and which the simulation shares with
them.

``make sim`` runs a simulated cluster for demonstrations, faults and large fleets. The same tests run on it and on real
kubelets behind a real API server. Gates whose name begins with ``e2e`` have the real ones. The tables show the seconds
that each case took in the last run of a gate. An empty cell means that the case did not run there. *recorded*: the
answer of a real kubelet is in ``tests/facts``, and the simulation was compared with it.
"""
Table = dict[str, dict[str, str]]
"""By case and column."""


def page(runs: Runs) -> str:
    tables: dict[str, Table] = {}
    for group, names in cases().items():
        tables[group] = {case: {} for case in names}
    for gate, run in runs.items():
        for point in run.points:
            row = tables.get(group_of(point.file.removesuffix(".py")), {}).get(title(point.name))
            # Cases of several versions share a row, and one failure counts.
            if row is None or row.get(gate) == "failed":
                continue
            row[gate] = f"{point.seconds:.1f} s" if point.passed else "failed"
    for path in sorted(FACTS.glob("dropins-v*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        for name in facts["rows"]:
            row = tables["contract/test_dropins"][f"what is live: {shown(name)}"]
            row[f"kubelet {facts['kubelet'].lstrip('v')}"] = "recorded"
    text = HEADER
    for group, cells in tables.items():
        text += section(GROUPS[group], cells)
    return text


def cases() -> dict[str, list[str]]:
    """Return the cases of each group, in pytest's order. Raises ValueError for a file that has no heading here."""
    words = ["--collect-only", "--quiet", "-p", "no:cacheprovider", "tests/contract"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words], cwd=ROOT, check=True, capture_output=True, text=True
    )
    found: dict[str, list[str]] = {group: [] for group in GROUPS}
    for line in done.stdout.splitlines():
        path, colons, name = line.partition("::")
        group = group_of(path.removesuffix(".py"))
        if colons and group not in found:
            raise ValueError(f"{path} has no heading in the page: add it to GROUPS of {__file__}")
        if colons and title(name) not in found[group]:
            found[group].append(title(name))
    return found


def group_of(path: str) -> str:
    """Return the group of a test file, given without its suffix."""
    return "/".join(path.split("/")[-2:])


def title(name: str) -> str:
    """Return the words of a test's name; a version among its parameters is that of a column."""
    plain, _bracket, given = name.removeprefix("test_").partition("[")
    given = re.sub(r"^v\d+\.\d+\.\d+-?|-?v\d+\.\d+\.\d+$", "", given.rstrip("]"))
    words = plain.replace("_", " ")
    return shown(f"{words}: {given}" if given else words)


def shown(text: str) -> str:
    """Return a text as it stands in a page: an asterisk would begin an emphasis."""
    return text.replace("*", "\\*")


def section(heading: str, named: Table) -> str:
    """Return one section of the page, with the columns that have a cell."""
    columns: dict[str, None] = {}
    for row in named.values():
        columns.update(dict.fromkeys(row))
    rows = [["case", *columns]]
    for case, row in named.items():
        rows.append([case, *(row.get(column, "") for column in columns)])
    return "\n".join(["", heading, "-" * len(heading), table(rows)])
