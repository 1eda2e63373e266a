# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The guard's program on a real node: replaced while it watches, kept from running, and misled by another process."""

from __future__ import annotations

import typing as t

import pytest

from tests.support.node_bench import STORE, Bench

GUARD = "livenodes-kubelet-guard.service"
LOCAL = "store/local/config"
PRESENT = "guard_steps.present('/var/lib/kubelet-config', unit, 'kubelet', False)"
# Another version: the collection on the controller was upgraded.
UPGRADE = f"""
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_install
program = guard_install.program()
guard_install.program = lambda: {{**program, "livenodes_kubelet/upgraded.py": b""}}
print(json.dumps({PRESENT}["changed"]))
"""
LISTENER = """
import http.server
class Kubelet(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"ok")
http.server.HTTPServer(("127.0.0.1", 10348), Kubelet).serve_forever()
"""


@pytest.fixture
def bench(bench: Bench) -> t.Iterator[Bench]:
    """Yield node n1 with the guard; end the other listener afterwards."""
    try:
        yield bench
    finally:
        bench.node.run("systemctl stop listener.service", check=False)


@pytest.fixture
def without_python(bench: Bench) -> t.Iterator[Bench]:
    """Yield the node with the interpreter of its guard moved away."""
    bench.node.run("mv /usr/bin/python3 /usr/bin/python3.gone")
    try:
        yield bench
    finally:
        bench.node.run("mv /usr/bin/python3.gone /usr/bin/python3")


def pid(bench: Bench) -> str:
    return bench.node.unit_property("MainPID", GUARD)


def program(bench: Bench) -> str:
    """Return the file whose modules the running guard has loaded."""
    return bench.node.run(f"readlink -f {STORE}/guard/current").strip()


@pytest.mark.fault(case=49)
def test_an_upgrade_replaces_a_guard_that_watches_a_trial(bench: Bench) -> None:
    bench.assign({"maxPods": 77}, deadline=8, confirm=20)
    bench.wait(bench.healthy, 30, "healthz")
    before, former = pid(bench), program(bench)
    assert before != "0"
    assert bench.python(UPGRADE) is True
    bench.wait(lambda: pid(bench) not in ("0", before), 10, "another process of the guard")
    assert program(bench) != former
    bench.wait(lambda: bench.active() == LOCAL and bench.healthy(), 60, "revert by the new guard")
    bench.wait(lambda: "was not confirmed" in bench.status().get("error", ""), 30, "annotation")
    bench.wait(lambda: pid(bench) == "0", 30, "end of the guard")
    # Without a trial nothing is started, and the former program is removed.
    assert bench.python(f"print(json.dumps({PRESENT}['changed']))") is True
    assert bench.python(f"print(json.dumps({PRESENT}['changed']))") is False
    assert pid(bench) == "0"
    found = bench.node.run(f"ls {STORE}/guard {STORE}/guard/programs").split()
    assert len([name for name in found if name.endswith(".zip")]) == 1


@pytest.mark.fault(case=48)
def test_a_python_that_is_gone_is_an_error_in_the_log_and_the_kubelet_starts(without_python: Bench) -> None:
    bench = without_python
    before = bench.node.invocation_id()
    bench.node.run("systemctl restart kubelet")
    bench.wait(lambda: bench.node.unit_property("SubState", "kubelet") == "running", 30, "a kubelet that runs")
    now = bench.node.invocation_id()
    assert now != before
    log = bench.node.run(f"journalctl --priority=err --output=cat _SYSTEMD_INVOCATION_ID={now}")
    assert "The guard did not run (exit status 127), so nothing reverts a kubelet configuration that fails." in log
    # The service has a report to send: its start fails, so a switch is refused.
    bench.node.run(f"echo '{{}}' > {STORE}/store/report")
    failed = bench.node.run(f"systemctl start {GUARD} && echo started", check=False)
    bench.node.run(f"rm {STORE}/store/report; systemctl stop {GUARD}; systemctl reset-failed {GUARD}", check=False)
    assert "started" not in failed


@pytest.mark.fault(case=47)
def test_another_process_on_the_port_of_healthz_is_not_the_kubelet(bench: Bench) -> None:
    """The kubelet runs on without healthz when its port is taken."""
    bench.node.run("cat > /run/listener.py", stdin=LISTENER)
    bench.node.run("systemd-run --unit=listener --collect python3 /run/listener.py")
    bench.wait(lambda: bench.healthy(10348), 10, "the other process")
    bench.assign({"maxPods": 77, "healthzPort": 10348}, deadline=60, unhealthy=8)
    bench.wait(lambda: bench.active() == LOCAL and bench.healthy(), 60, "revert")
    bench.wait(lambda: "healthz has failed" in bench.status().get("error", ""), 30, "annotation")
    bench.wait(lambda: bench.configz()["maxPods"] != 77, 20, "configz with the old value")
    # An address that is free completes.
    source = bench.assign({"maxPods": 78, "healthzPort": 10349}, deadline=3, confirm=60, unhealthy=8)
    bench.wait(lambda: bench.healthy(10349), 30, "healthz on the free port")
    bench.confirm()
    bench.wait(lambda: source["uid"] in bench.node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation")
    assert bench.configz()["maxPods"] == 78
