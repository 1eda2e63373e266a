# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real roles, with ansible-playbook and modules that only take time: which time the guards of a batch get.

The model of a batch, with which tests/unit/plugins/plugin_utils/_rollout/test_clock.py computes 200 hosts, is compared
with the run.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import clock, value
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.batch import Found
from tests.support.plays.ansible import bare, playbook_of
from tests.support.plays.linear_play import Span, Step, play, waits
from tests.support.plays.stubs import collection

# A module that takes its time, writes when it ran, and returns what the roles read of the real one.
STUB = """#!/usr/bin/python
# WANT_JSON
import json, os, sys, time
begin = time.time()
given = json.load(open(sys.argv[1]))
name, state, confirm = {name!r}, given.get("state") or "", given.get("confirm_seconds")
source = {{"namespace": "kube-system", "name": "a", "uid": "u", "resourceVersion": "1", "kubeletConfigKey": "kubelet"}}
row = {{"delivery": "checkpoint", "state": "active", "source": source, "message": "differs"}}
row.update(ready=True, control_plane=False, previous=None, cordon=None)
rows = {{node: dict(row, ok=state != "verified" or node not in {failing!r}) for node in {nodes!r}}}
time.sleep({seconds!r}.get(state, 0))
result = {{
    "kubelet_checkpoint": {{
        "restart_needed": state == "assigned", "error": "", "changed": state == "rolled_back", "reasons": [],
        "trial": {{"name": "t1"}},
        "preflight": {{"kubelet": {{"version": "v1.30.2"}}}},
    }},
}}.get(name, {{"stop": False, "nodes": rows, "away": {{}}, "configmaps": {{"kube-system/a": {{"kubelet": "text"}}}}}})
with open({log!r}, "a") as log:
    log.write(json.dumps([name, state, os.environ["TEST_HOST"], begin, time.time(), confirm]) + chr(10))
print(json.dumps({{"changed": state == "assigned", **result}}))
"""
SECONDS = {
    "kubelet_checkpoint": {"assigned": 0.1, "restarted": 0.4, "confirmed": 0.1},
    "node_config_source": {"verified": 0.5},
    "node_soak": {"": 0.3},
}
ARM, RESTART = ("kubelet_checkpoint", "assigned"), ("kubelet_checkpoint", "restarted")
VERIFY, SOAK, CONFIRM = ("node_config_source", "verified"), ("node_soak", ""), ("kubelet_checkpoint", "confirmed")
ORDER = [ARM, RESTART, VERIFY, SOAK, CONFIRM]

Task = tuple[str, str]


class Seen(t.NamedTuple):
    """A run: when each task ran on each host, and the seconds that the guards got."""

    spans: dict[Task, dict[str, Span]]
    deadlines: set[int]
    output: str


def run(
    home: Path,
    hosts: list[str],
    forks: int,
    failing: t.Sequence[str] = (),
    **variables: t.Any,
) -> Seen:
    """Run the roles assign and verify as a batch of a rollout does. The nodes in `failing` are not verified."""
    log, stubs = home / "log", {}
    for name, seconds in SECONDS.items():
        stubs[name] = STUB.format(name=name, seconds=seconds, nodes=hosts, failing=failing, log=str(log))
    # The stubs have no actions of their own.
    collection(home, stubs, actions=["kubelet_rollout_batch"])
    sources = {name: {"namespace": "kube-system", "name": "a", "kubeletConfigKey": "kubelet"} for name in hosts}
    batch = {**value.of_plan(None, sources, {"hosts": dict(zip(hosts, hosts, strict=True))}), "soak": 30}
    rollout = {"batches": [batch], "failed": {}, "max_failed": 0}
    rollout.update(lease={}, group="all", name="", undoes=None)
    given = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        "kubelet_config_plan": {},
        "__kubelet_config_rollout": rollout,
        "__kubelet_config_batch": Found(begun=True, soak=30).passed(),
        **variables,
    }
    tasks = [
        {"ansible.builtin.import_role": {"name": "livenodes.kubelet.assign", "tasks_from": "switch.yml"}},
        {
            "ansible.builtin.import_role": {"name": "livenodes.kubelet.verify", "tasks_from": "check.yml"},
            "vars": {"__kubelet_config_batch": "{{ assign_result.batch }}"},
        },
    ]
    environment = {"TEST_HOST": "{{ inventory_hostname }}"}
    mine = playbook_of(home, {"environment": environment, "vars": given, "tasks": tasks})
    done = bare(home, "-i", f"{','.join(hosts)},", "-f", str(forks), mine)
    spans: dict[Task, dict[str, Span]] = {}
    deadlines = set()
    for line in log.read_text().splitlines() if log.exists() else []:
        name, state, host, begin, end, confirm_seconds = json.loads(line)
        spans.setdefault((name, state), {})[host] = Span(begin, end)
        if (name, state) == ARM:
            # Before ansible-core 2.19 a template's result is a text; the real module converts it.
            deadlines.add(int(confirm_seconds))
    return Seen(spans, deadlines, done.output)


def test_the_model_of_a_batch_is_what_ansible_does(tmp_path: Path) -> None:
    hosts, forks = [f"n{number:02}" for number in range(7)], 3
    seen = run(tmp_path, hosts, forks)
    assert "failed=0" in seen.output, seen.output
    assert seen.deadlines == {clock.confirm_seconds(hosts, forks, soak_seconds=30)}

    spans = seen.spans
    assert [sorted(spans[task]) for task in ORDER] == [hosts, hosts, hosts[:1], hosts[:1], hosts]
    for before, after in itertools.pairwise(ORDER):
        ended = max(span.end for span in spans[before].values())
        assert ended <= min(span.begin for span in spans[after].values()), "all hosts end a task before the next begins"
    for task in (ARM, RESTART, CONFIRM):
        moments = sorted(span.begin for span in spans[task].values())
        running = [sum(span.begin <= moment < span.end for span in spans[task].values()) for moment in moments]
        assert max(running) <= forks

    steps = [
        Step(str(task), [span.end - span.begin for _host, span in sorted(spans[task].items())], task in (VERIFY, SOAK))
        for task in ORDER
    ]
    modelled = waits(play(steps, len(hosts), forks), str(ARM), str(CONFIRM))
    for host, seconds in zip(hosts, modelled, strict=True):
        real = spans[CONFIRM][host].end - spans[ARM][host].begin
        assert seconds <= real + 0.5
        # The rest is what Ansible itself needs, for which the sum has a second a host and a margin.
        assert real - seconds <= len(hosts) * clock.HOST_SECONDS + clock.MARGIN_SECONDS
    waves = math.ceil(len(hosts) / forks)
    assert min(modelled) >= waves * SECONDS["kubelet_checkpoint"]["restarted"], (
        "a node waits for the restarts of all waves"
    )


@pytest.mark.fault(case=39)
def test_good_nodes_are_confirmed_before_failed_ones_restart(tmp_path: Path) -> None:
    """All hosts of a batch wait for the restarts of those that fail, and so do the guards of the good ones.

    Ansible runs one include of a role, with the `tasks_from` of the first host, for all hosts of the batch.
    """
    spans = run(tmp_path, ["n1", "n2", "n3"], 5, failing=["n1"]).spans
    assert sorted(spans[CONFIRM]) == ["n2", "n3"] and list(spans["kubelet_checkpoint", "rolled_back"]) == ["n1"]
    assert max(span.end for span in spans[CONFIRM].values()) <= spans[RESTART]["n1"].begin


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({"kubelet_config_confirm_seconds": 45}, 75),
        (
            {"kubelet_config_node_seconds": 20, "kubelet_config_wait_timeout": 60, "kubelet_config_pods_timeout": 0},
            2 * 20 + 1 + 60 + 30 + 30,
        ),
    ],
)
def test_the_variables_of_the_operator(tmp_path: Path, variables: dict[str, int], seconds: int) -> None:
    assert run(tmp_path, ["n1"], 5, **variables).deadlines == {seconds}
