# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What harms a guard or its kubelet besides a configuration: a program that is torn, and a dependency that fails."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.support.lab_node.node_bench import STORE, Bench
from tests.support.lab_node.role_bench import Role

PROGRAMS = f"{STORE}/guard"
DAMAGES = [
    pytest.param(f"truncate --size=-1000 $(readlink -f {PROGRAMS}/current)", 1, id="torn program"),
    pytest.param(f": > {PROGRAMS}/__main__.py", 0, id="emptied script"),
]
LOCAL = "store/local/config"
DROPIN = "/etc/systemd/system/kubelet.service.d/95-test.conf"
NEEDED = "needed-by-test.service"
CONTAINERD = "/etc/systemd/system/containerd.service.d/95-test.conf"
# systemd would stop the kubelet itself while it starts a containerd again and again that its unit requires.
FAILS = "[Service]\\nRestart=no\\nExecStart=\\nExecStart=/bin/false\\n"


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
