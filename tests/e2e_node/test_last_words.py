# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a journal makes of the logs of kubelets of all versions, and what the real kubelet of the lab logs last."""

from __future__ import annotations

import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support.lab_node.node_bench import Bench
from tests.support.lab_node.preflight_node import PLACE, UNIT, Node
from tests.support.texts.kubelet_logs import CASES, OWN

WORDS = """
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import last_words

def words(unit, identity):
    found = last_words.read(unit, identity, patience=5)
    return [found, last_words.kind(found)]
"""
LOOP = f"""{WORDS}
result = []
for log in {{logs!r}}:
    with open("{PLACE}/log", "w") as stream:
        stream.write(log)
    command.execute(["systemctl", "restart", "{UNIT}"])
    shown = command.execute(["systemctl", "show", "--property=InvocationID", "{UNIT}"])
    result.append(words("{UNIT}", shown.stdout.strip().partition("=")[2]))
"""
FILE = "/var/lib/kubelet/config.yaml"
PATIENT = "/run/systemd/system/kubelet.service.d/99-patient.conf"


@pytest.mark.long
def test_the_journal_keeps_the_last_words_of_each_version(nodes: dict[str, Node]) -> None:
    """Each log is written by a start of its own; the journal joins, cuts or drops no line that matters."""
    node = nodes["n1"]
    cases = [case for case in CASES if case[2]]
    try:
        start = f"ExecStart=/bin/sh -c 'cat {PLACE}/log; sleep 9'"
        node.write(f"/run/systemd/system/{UNIT}", f"[Unit]\nStartLimitIntervalSec=0\n[Service]\n{start}\n")
        node.run("systemctl daemon-reload")
        found = node.python(LOOP.format(logs=[log for _name, log, _words, _kind in cases]))
        assert found == [[words, kind] for _name, _log, words, kind in cases]
    finally:
        node.run(f"systemctl stop {UNIT}; systemctl reset-failed {UNIT} || true")


@pytest.fixture
def refusing(static_lab: Lab, nodes: dict[str, Node]) -> t.Iterator[Node]:
    """Yield a node whose own config file a test spoils; restore the file and the kubelet afterwards."""
    node = nodes["n2"]
    node.run(f"cp {FILE} {PLACE}/config.yaml")
    try:
        yield node
    finally:
        node.run(f"cp {PLACE}/config.yaml {FILE}; rm -f {PATIENT}; systemctl daemon-reload")
        node.run("systemctl reset-failed kubelet; systemctl restart kubelet")
        bench = Bench(static_lab, node.name)
        bench.wait(bench.healthy, 60, "the kubelet's own healthz")


@pytest.mark.parametrize(("change", "words", "kind"), OWN)
def test_the_last_words_of_the_real_kubelet(refusing: Node, change: str, words: str, kind: str) -> None:
    refusing.run(change.format(file=FILE))
    identity = refusing.run("systemctl restart kubelet; systemctl show -P InvocationID kubelet").strip()
    now = "$(systemctl show -P SubState kubelet) $(systemctl show -P InvocationID kubelet)"
    refusing.run(f'for i in $(seq 100); do [ "{now}" = "running {identity}" ] || exit 0; sleep 0.5; done; exit 1')
    found = refusing.python(f"{WORDS}\nresult = words('kubelet.service', {identity!r})")
    assert words in found[0] and found[1] == kind, found


def test_a_journal_that_is_late_as_on_a_busy_node(refusing: Node) -> None:
    """By the time it reads what the kubelet logged, the kubelet has ended, and its start is unknown."""
    change, words, kind = OWN[0]
    refusing.run(change.format(file=FILE))
    # The journal must not be so late that the next start runs.
    refusing.write(PATIENT, "[Service]\nRestartSec=30\n")
    refusing.run("systemctl daemon-reload; systemctl stop kubelet; systemctl reset-failed kubelet")
    identity = refusing.run(
        "journald=$(systemctl show -P MainPID systemd-journald); kill -STOP $journald; systemctl start kubelet; "
        "systemctl show -P InvocationID kubelet; "
        "for i in $(seq 200); do [ $(systemctl show -P SubState kubelet) = running ] || break; sleep 0.1; done; "
        "kill -CONT $journald"
    ).strip()
    found = refusing.python(f"{WORDS}\nresult = words('kubelet.service', {identity!r})")
    assigned = refusing.run(f"journalctl --quiet --unit=kubelet _SYSTEMD_INVOCATION_ID={identity}")
    assert words in found[0] and found[1] == kind and not assigned, (found, assigned)
