# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A guard that cannot run: nothing is switched, the kubelet's log shows it, and the role installs it anew."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.support.node_bench import STORE
from tests.support.role_bench import Role

GUARD = f"{STORE}/guard"
DAMAGES = [
    pytest.param(f"truncate --size=-1000 $(readlink -f {GUARD}/current)", 1, id="torn program"),
    pytest.param(f": > {GUARD}/__main__.py", 0, id="emptied script"),
]


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
