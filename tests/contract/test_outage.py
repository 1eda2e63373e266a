# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API server stops during assign and during verify: the run finishes, a rerun changes nothing."""

from __future__ import annotations

import threading
import time
import typing as t

import pytest

from tests.contract.clusters import NAMES, Contracted
from tests.support.plays.ansible import Ansible

OUTAGE = 20.0


class Outage:
    """Stops the API server when a line appears in Ansible's output; starts it again after `seconds`.

    None: after the run.
    """

    def __init__(self, cluster: Contracted, when: str, seconds: float | None = OUTAGE) -> None:
        self.cluster = cluster
        self.when = when
        self.seconds = seconds
        self.happened = threading.Event()
        self._thread = threading.Thread(target=self._happen)

    def watch(self, output: t.TextIO) -> str:
        """Read a run's output to its end and cause the outage at its line."""
        lines = []
        for line in output:
            lines.append(line)
            if self.when in line and not self.happened.is_set():
                self.happened.set()
                self._thread.start()
        return "".join(lines)

    def _happen(self) -> None:
        self.cluster.stop()
        if self.seconds is not None:
            time.sleep(self.seconds)
            self.cluster.start()

    def __enter__(self) -> Outage:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.happened.is_set():
            self._thread.join()
        self.cluster.start()


# Every client meets such an outage in the same way.
@pytest.mark.long_on_lab
@pytest.mark.parametrize(
    "stage", [pytest.param("Assign the config sources", marks=pytest.mark.long), "Wait until the kubelets"]
)
@pytest.mark.fault(case=16)
def test_api_server_away(cluster: Contracted, ansible: Ansible, stage: str) -> None:
    """The outage begins with the stage; afterwards all nodes run what they should."""
    ansible.variables(all={"kubelet_config": {"eventBurst": 33}})
    arguments = ("-e", "kubelet_config_hosts=workers_a:workers_b", "-e", "kubelet_config_serial=3")
    with Outage(
        cluster, when=f"TASK [livenodes.kubelet.{'assign' if stage.startswith('Assign') else 'verify'} : {stage}"
    ) as outage:
        with ansible.start("rollout", *arguments) as run:
            assert run.stdout is not None
            output = outage.watch(run.stdout)
            code = run.wait(timeout=420)
        assert outage.happened.is_set(), output
    assert code == 0, output
    for name in NAMES:
        now = cluster.look(name)
        assert (now.configz["eventBurst"], now.error) == (33, "")
        assert now.name_of("active") == (now.spec or {})["name"]
    before = {name: cluster.look(name).invocation for name in NAMES}
    again = ansible.playbook("rollout", *arguments)
    assert again.code == 0, again.output
    assert [again.recap(name)["changed"] for name in NAMES] == [0, 0, 0]
    assert {name: cluster.look(name).invocation for name in NAMES} == before
