# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""No node is left with a guard that does not run, a kubelet that stays down, or a configuration that nobody wanted."""

from __future__ import annotations

import json
import time
import typing as t

import pytest

from tests.support.node_bench import STORE, Bench
from tests.support.role_bench import Role

LOCAL = "store/local/config"
STATE = "/var/lib/kubelet/cpu_manager_state"
BAD = {"evictionHard": {"memory.available": "lots"}}
FAULTS = "/etc/systemd/system/kubelet.service.d/96-test.conf /etc/systemd/system/containerd.service.d/96-test.conf"
OPTIONS = {
    "config_dir": STORE,
    "local_config": None,
    "local_files": None,
    "trial_seconds": 600,
    "confirm_seconds": 600,
    "was_healthy": True,
    "node_proof": False,
    "state_files": None,
    "reason": "a test",
    "unconfirmed_only": True,
    "collect": False,
    "remove": False,
    "lock_timeout": 5,
    "data": None,
    "source": None,
}


@pytest.fixture
def bench(bench: Bench) -> t.Iterator[Bench]:
    """Yield node n1 with the guard; end what harms it afterwards."""
    try:
        yield bench
    finally:
        bench.node.run(
            f"chattr -i {STATE}; rm -f {FAULTS}; systemctl daemon-reload; systemctl start containerd; "
            "systemctl reset-failed kubelet",
            check=False,
        )


def call(bench: Bench, state: str, source: dict[str, str], fields: t.Any = None, **options: t.Any) -> dict[str, t.Any]:
    """Call the module kubelet_checkpoint alone, without the steps of the role; return its result, or its error."""
    names = {"resourceVersion": "resource_version", "kubeletConfigKey": "kubelet_config_key"}
    given = {
        **OPTIONS,
        "state": state,
        "source": {names.get(name, name): value for name, value in source.items()},
        "data": None if fields is None else {"kubelet": json.dumps({**bench.local(), **fields})},
        "kubelet_version": bench.node.release.version,
        "invocation": bench.node.invocation_id(),
        **options,
    }
    found = bench.python(f"""
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import checkpoint_module
try:
    done = checkpoint_module.apply(json.loads({json.dumps(json.dumps(given))}), False)
    print(json.dumps({{"changed": done["changed"], "error": "", "trial": done["trial"]}}))
except Exception as error:
    print(json.dumps({{"error": str(error)}}))
""")
    return t.cast("dict[str, t.Any]", found)


def repair(bench: Bench) -> None:
    bench.python('guard_module.present("/var/lib/kubelet-config", unit, "kubelet", False)')


def last_known_good(bench: Bench) -> str:
    return bench.node.run(f"cat {STORE}/store/meta/last-known-good", check=False)


@pytest.mark.parametrize(
    "damage",
    [
        f"program=$(readlink -f {STORE}/guard/current); truncate -s -1000 $program",
        f": > {STORE}/guard/__main__.py",
    ],
    ids=["a torn program", "an empty script"],
)
@pytest.mark.fault(case=68)
def test_nothing_is_switched_with_a_guard_that_does_not_run(bench: Bench, damage: str) -> None:
    before, source = bench.node.invocation_id(), bench.source()
    bench.node.run(damage)
    failed = call(bench, "assigned", source, {"maxPods": 77})
    assert "no guard would watch this configuration, so nothing was switched" in failed["error"], failed
    assert "run the role checkpoint again" in failed["error"]
    assert bench.active() == LOCAL and bench.node.invocation_id() == before
    bench.node.run("systemctl restart kubelet")
    bench.wait(bench.healthy, 60, "healthz")
    bench.wait(lambda: "The guard did not run" in bench.node.journal(200), 20, "error in the log of the kubelet")
    repair(bench)
    assert call(bench, "assigned", source, {"maxPods": 77})["error"] == ""
    bench.node.run("systemctl restart kubelet")
    bench.wait(lambda: bench.healthy() and bench.configz()["maxPods"] == 77, 60, "the new configuration")
    assert not bench.node.run(f"find {STORE} -name '*.pyc'")


@pytest.mark.fault(case=69)
def test_a_state_file_that_cannot_be_removed_leaves_no_stopped_kubelet(bench: Bench) -> None:
    code = f"""
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import removal
try:
    removal.removed("/var/lib/kubelet-config", unit, 30, False, ["{STATE}"])
    print(json.dumps(""))
except Exception as error:
    print(json.dumps(str(error)))
"""
    if "Operation not supported" in bench.node.run(f"chattr +i {STATE} 2>&1", check=False):
        pytest.skip("the file system of this node has no attributes")
    failed = bench.python(code)
    assert f"{STATE}: cannot remove: Operation not permitted" in failed and "lsattr" in failed
    bench.wait(bench.healthy, 60, "healthz")
    assert "prestart" in bench.node.run("systemctl cat kubelet")
    bench.node.run(f"chattr -i {STATE}")
    assert bench.python(code) == ""
    bench.wait(bench.healthy, 60, "healthz")
    assert "prestart" not in bench.node.run("systemctl cat kubelet")


def break_runtime(bench: Bench) -> None:
    """Let containerd end and not start again, and let the kubelet's unit require it."""
    kubelet, containerd = FAULTS.split()
    bench.node.run(
        f"mkdir -p {containerd.rpartition('/')[0]}; "
        f"printf '[Unit]\\nRequires=containerd.service\\nAfter=containerd.service\\n' > {kubelet}; "
        f"printf '[Service]\\nRestart=no\\nExecStartPre=/bin/false\\n' > {containerd}; "
        "systemctl daemon-reload; systemctl kill -s KILL containerd"
    )


@pytest.mark.fault(case=70)
def test_a_kubelet_that_a_failed_restart_stopped_is_started_when_its_runtime_is_back(bench: Bench) -> None:
    bench.assign({"maxPods": 77}, confirm=15)
    bench.wait(lambda: bench.healthy() and bench.configz()["maxPods"] == 77, 60, "the new configuration")
    break_runtime(bench)
    state = "systemctl show --property=ActiveState --value kubelet"
    bench.wait(lambda: bench.node.run(state).strip() == "inactive", 90, "failed restart of the guard")
    assert bench.active() == LOCAL
    time.sleep(5)
    assert bench.node.run(state).strip() == "inactive"
    bench.node.run(f"rm {FAULTS}; systemctl daemon-reload")
    took = bench.wait(bench.healthy, 150, "start by the guard")
    print(f"\nstarted {took:.1f} s after the runtime was repaired")
    assert bench.configz()["maxPods"] != 77
    bench.wait(lambda: "was not confirmed" in bench.status().get("error", ""), 60, "annotation")


@pytest.mark.fault(case=70)
def test_a_kubelet_that_an_operator_stopped_stays_stopped(bench: Bench) -> None:
    bench.assign({"maxPods": 77}, confirm=10)
    bench.wait(bench.healthy, 60, "healthz")
    bench.node.run("systemctl stop kubelet")
    bench.wait(lambda: bench.active() == LOCAL, 60, "revert")
    time.sleep(15)
    assert bench.node.run("systemctl show --property=ActiveState --value kubelet").strip() == "inactive"


@pytest.mark.fault(case=73)
def test_a_configuration_that_no_kubelet_has_read_does_not_become_last_known_good(bench: Bench) -> None:
    source = bench.source()
    assert call(bench, "assigned", source, BAD, trial_seconds=5)["error"] == ""
    assert call(bench, "confirmed", source)["error"] == ""
    time.sleep(20)
    assert last_known_good(bench) == "" and bench.on_trial()
    bench.node.run("systemctl restart kubelet", check=False)
    bench.wait(lambda: bench.active() == LOCAL and bench.healthy(), 90, "revert")
    assert last_known_good(bench) == ""


HOLD = "import fcntl, time; lock = open('/var/lib/kubelet-config/lock'); fcntl.flock(lock, 2); time.sleep(90)"


@pytest.mark.fault(case=71)
def test_a_run_that_fails_before_its_switch_reverts_no_other_runs_trial(role: Role) -> None:
    bench, first, second = role.bench, role.bench.source(), role.bench.source()
    assert role.play(first, {**role.local, "maxPods": 81}, kubelet_config_confirm=False).code == 0
    active = bench.active()
    assert first["uid"] in active
    bench.node.run(f'systemd-run --quiet --collect --unit=holder python3 -c "{HOLD}"')
    try:
        failed = role.play(second, {**role.local, "maxPods": 82})
    finally:
        bench.node.run("systemctl stop holder", check=False)
    assert failed.code and "has been in use by process" in failed.output, failed.output
    assert "was not switched" in failed.output
    trial = json.loads(bench.node.run(f"cat {STORE}/store/trial"))
    assert (bench.active(), trial["failed"]) == (active, "")
    assert role.play(first, {**role.local, "maxPods": 81}).code == 0
    assert json.loads(bench.node.run(f"cat {STORE}/store/trial"))["confirmed"]


@pytest.mark.fault(case=76)
def test_a_rollout_that_fails_within_the_trial_of_the_one_before_reverts_to_that_one(role: Role) -> None:
    bench, first = role.bench, role.bench.source()
    assert role.play(first, {**role.local, "maxPods": 81}).code == 0
    active = bench.active()
    failed = role.play(role.bench.source(), {**role.local, **BAD}, kubelet_config_allow_unchecked=True)
    assert failed.code
    bench.wait(lambda: bench.healthy() and bench.active() == active, 60, "revert")
    assert bench.configz()["maxPods"] == 81
    assert "was reverted to its previous configuration" in failed.output, failed.output
    bench.wait(lambda: bench.status().get("error"), 60, "annotation")
    assert bench.status()["active"]["configMap"]["uid"] == first["uid"]
    assert last_known_good(bench) == ""


@pytest.mark.fault(case=77)
def test_a_kubelet_that_a_signal_ends_is_not_reverted_at_once(bench: Bench) -> None:
    bench.assign({"maxPods": 77}, deadline=600, confirm=600)
    bench.wait(lambda: bench.healthy() and bench.configz()["maxPods"] == 77, 60, "the new configuration")
    active = bench.active()
    bench.node.run("systemctl kill -s KILL kubelet")
    bench.wait(lambda: bench.node.run("systemctl show -p NRestarts --value kubelet").strip() == "1", 30, "its restart")
    bench.wait(bench.healthy, 60, "healthz")
    assert bench.active() == active
    bench.node.run("systemctl kill -s KILL kubelet")
    bench.wait(lambda: bench.active() == LOCAL, 60, "revert")
    bench.wait(lambda: "a signal ended it" in bench.status().get("error", ""), 60, "annotation")
