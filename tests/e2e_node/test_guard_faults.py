# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What harms a guard or its kubelet besides a configuration: a program that is torn, gone, replaced or misled; signals;
a dependency that fails.
"""

from __future__ import annotations

import json
import time
import typing as t

import pytest

from tests.support.lab_node.node_bench import STORE, Bench
from tests.support.lab_node.role_bench import Role

PROGRAMS = f"{STORE}/guard"
DAMAGES = [
    pytest.param(f"truncate --size=-1000 $(readlink -f {PROGRAMS}/current)", 1, id="torn program"),
    pytest.param(f": > {PROGRAMS}/__main__.py", 0, id="emptied script"),
]
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
DROPIN = "/etc/systemd/system/kubelet.service.d/95-test.conf"
NEEDED = "needed-by-test.service"
CONTAINERD = "/etc/systemd/system/containerd.service.d/95-test.conf"
# systemd would stop the kubelet itself while it starts a containerd again and again that its unit requires.
FAILS = "[Service]\\nRestart=no\\nExecStart=\\nExecStart=/bin/false\\n"
CALM_SECONDS = 12


def references(role: Role) -> t.Any:
    """Return what is active, assigned, last-known-good and on trial."""
    role.bench.bring()
    return role.bench.python("""
trial = store.trial()
print(json.dumps([store.active_source(), store.assigned(), store.last_known_good(), trial.to, trial.confirmed]))
""")


def did_not_run(role: Role) -> str:
    """Return what the log of the last started kubelet states about a guard that did not run."""
    log = f"journalctl --output=cat --priority=err _SYSTEMD_INVOCATION_ID={role.node.invocation_id()}"
    return role.node.run(f"{log} | grep 'The guard did not run' || true")


def switched_without_installing_the_guard(role: Role, source: dict[str, str], text: str) -> str:
    """Switch as the last step of the module does, without those before it; return why it did not."""
    place = {**source, "resource_version": source["resourceVersion"], "kubelet_config_key": source["kubeletConfigKey"]}
    options = {"state": "assigned", "config_dir": STORE, "source": place, "data": {"kubelet": text}}
    options.update(trial_seconds=60, confirm_seconds=None)
    role.bench.bring()
    found = role.bench.python(f"""
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import checkpoint_module
try:
    checkpoint_module.apply(json.loads({json.dumps(json.dumps(options))}), False)
    print(json.dumps(""))
except Exception as error:
    print(json.dumps(str(error)))
""")
    return str(found)


@pytest.mark.parametrize(("damage", "status"), DAMAGES)
@pytest.mark.fault(case=68)
def test_a_broken_guard_is_noticed_before_the_switch_and_repaired_by_the_role(
    role: Role, damage: str, status: int
) -> None:
    first, second = role.bench.source(), role.bench.source()
    run = role.play(first, {**role.local, "maxPods": 76})
    assert run.code == 0, run.output
    assert not role.node.run(f"find {STORE} -name '*.pyc' -o -name __pycache__")
    role.node.run(damage)
    invocation = role.node.invocation_id()

    text = json.dumps({**role.local, "maxPods": 77})
    refused = switched_without_installing_the_guard(role, second, text)
    assert "no guard would watch this configuration, so nothing was switched" in refused, refused
    assert "run the role checkpoint again" in refused, refused
    assert references(role) == [first, first, None, first, True] and role.node.invocation_id() == invocation

    role.node.run("systemctl restart kubelet")
    role.bench.wait(role.bench.healthy, 60, "healthz")
    assert role.bench.configz()["maxPods"] == 76
    role.bench.wait(lambda: f"(exit status {status})" in did_not_run(role), 10, "error in the log of the kubelet")

    run = role.play(second, text)
    assert run.code == 0, run.output
    assert role.bench.configz()["maxPods"] == 77 and did_not_run(role) == ""
    assert references(role) == [second, second, None, second, True]
    assert not role.node.run(f"find {STORE} -name '*.pyc' -o -name __pycache__")


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
    """Return the file whose modules the running guard has program."""
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


def starts_again_at_once(bench: Bench) -> None:
    """Let systemd start the kubelet again within 0.1 s: the guard looks every second."""
    bench.node.run(f"printf '[Service]\\nRestartSec=100ms\\n' > {DROPIN}; systemctl daemon-reload")


def killed(bench: Bench, times: int) -> None:
    """Kill the kubelet, and wait for the one that systemd starts."""
    bench.node.run("systemctl kill --signal=KILL kubelet")
    bench.wait(lambda: bench.node.restarts() == times and bench.healthy(), 60, f"restart {times} by systemd")


@pytest.mark.fault(case=77)
def test_a_kubelet_that_is_killed_once_passes_its_trial(bench: Bench) -> None:
    starts_again_at_once(bench)
    source = bench.assign({"maxPods": 77}, deadline=8, confirm=300)
    bench.wait(bench.healthy, 30, "healthz")
    killed(bench, 1)
    bench.confirm()
    bench.wait(lambda: source["uid"] in bench.node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation")
    bench.wait(lambda: bench.status().get("reason") == "passed its trial", 30, "annotation")
    assert "error" not in bench.status() and bench.configz()["maxPods"] == 77


@pytest.mark.fault(case=77)
def test_the_reason_of_a_revert_names_the_signal(bench: Bench) -> None:
    starts_again_at_once(bench)
    source = bench.assign({"maxPods": 77}, deadline=300)
    bench.wait(bench.healthy, 30, "healthz")
    killed(bench, 1)
    bench.wait(lambda: '"failures": 1' in bench.node.run(f"cat {STORE}/store/progress"), 20, "count of the first end")
    assert source["uid"] in bench.active() and "error" not in bench.status()
    bench.node.run("systemctl kill --signal=KILL kubelet")
    bench.wait(lambda: bench.active() == LOCAL and bench.healthy(), 60, "revert")
    bench.wait(lambda: bench.status().get("error"), 30, "annotation")
    assert bench.status()["error"] == "the kubelet ended 2 times; a signal ended it, not an error of its own"


def depend(bench: Bench, unit: str) -> None:
    """Let the kubelet's unit require another one."""
    bench.node.run(f"printf '[Unit]\\nRequires={unit}\\nAfter={unit}\\n' > {DROPIN}; systemctl daemon-reload")


def state(bench: Bench) -> str:
    return bench.node.unit_property("ActiveState", "kubelet")


@pytest.fixture
def role(role: Role) -> t.Iterator[Role]:
    """Yield the role on node n1; end its dependencies and start the container runtime afterwards."""
    try:
        yield role
    finally:
        role.node.run(
            f"systemctl stop {NEEDED}; rm -f {DROPIN} {CONTAINERD} /run/systemd/system/{NEEDED}; "
            "systemctl daemon-reload; "
            "systemctl reset-failed containerd kubelet; systemctl start containerd; systemctl start kubelet",
            check=False,
        )


def stays(bench: Bench, wanted: str) -> None:
    """Assert that the kubelet's unit keeps this state for a while."""
    seen = set()
    until = time.monotonic() + CALM_SECONDS
    while time.monotonic() < until:
        seen.add(state(bench))
        time.sleep(1)
    assert seen == {wanted}


@pytest.mark.fault(case=70)
def test_the_guard_starts_the_kubelet_once_the_runtime_is_back(role: Role) -> None:
    bench = role.bench
    run = role.play(
        bench.source(),
        {**role.local, "maxPods": 77},
        kubelet_config_confirm=False,
        kubelet_config_confirm_seconds=20,
    )
    assert run.code == 0, run.output
    depend(bench, "containerd.service")
    bench.node.run(
        f"mkdir -p $(dirname {CONTAINERD}); printf '{FAILS}' > {CONTAINERD}; systemctl daemon-reload; "
        "systemctl kill --signal=KILL containerd"
    )
    bench.wait(lambda: state(bench) == "inactive", 90, "restart that fails", every=1)
    assert bench.active() == LOCAL
    bench.node.run(f"rm {CONTAINERD}; systemctl daemon-reload")
    took = bench.wait(bench.healthy, 120, "start by the guard", every=1)
    print(f"\nthe kubelet runs {took:.1f} s after the runtime can start")
    assert bench.configz()["maxPods"] == role.local.get("maxPods", 110)
    bench.wait(lambda: "was not confirmed" in bench.status().get("error", ""), 60, "annotation")


@pytest.mark.fault(case=70)
def test_the_guard_starts_a_kubelet_that_the_role_could_not_restart(role: Role) -> None:
    bench = role.bench
    first = role.play(bench.source(), {**role.local, "maxPods": 76})
    assert first.code == 0, first.output
    active = bench.active()
    bench.node.run(f"printf '[Service]\\nType=oneshot\\nExecStart=/bin/false\\n' > /run/systemd/system/{NEEDED}")
    depend(bench, NEEDED)
    failed = role.play(
        bench.source(),
        {**role.local, "maxPods": 77},
        kubelet_config_allow_pending_edits=True,
    )
    assert failed.code and "systemctl restart failed (A dependency job " in failed.output, failed.output
    assert (state(bench), bench.active()) == ("inactive", active)
    bench.node.run(f"sed -i s,/bin/false,/bin/true, /run/systemd/system/{NEEDED}; systemctl daemon-reload")
    took = bench.wait(bench.healthy, 120, "start by the guard", every=1)
    print(f"\nthe kubelet runs {took:.1f} s after its dependency can start")
    assert bench.configz()["maxPods"] == 76 and bench.active() == active


@pytest.mark.fault(case=70)
def test_a_kubelet_that_an_operator_stops_stays_stopped(role: Role) -> None:
    bench = role.bench
    run = role.play(
        bench.source(),
        {**role.local, "maxPods": 77},
        kubelet_config_confirm=False,
        # Longer than the role needs on a busy machine: a revert that has begun restarts the kubelet.
        kubelet_config_confirm_seconds=40,
    )
    assert run.code == 0, run.output
    bench.node.run("systemctl stop kubelet")
    bench.wait(lambda: bench.active() == LOCAL, 90, "revert", every=1)
    stays(bench, "inactive")
    bench.node.run("systemctl start kubelet")
    bench.wait(bench.healthy, 60, "healthz")
    assert bench.configz()["maxPods"] == role.local.get("maxPods", 110)
    assert not bench.node.run(f"cat {STORE}/store/meta/last-known-good")
