# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A user without nodes/proxy, and without a setting, runs the playbooks of a change. The API server keeps a log."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from tests.lab.lab import Lab
from tests.support.ansible import Ansible
from tests.support.node_bench import Bench
from tests.support.permissions import USER, manifest

N3 = ("-e", "kubelet_config_hosts=n3", "-e", "kubelet_config_soak_seconds=1")
PLAYBOOKS = ("plan", "rollout", "drift", "rollback")
REVIEWS = "selfsubjectaccessreviews"
POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}


class Audit:
    """The audit log of the lab's API server."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read = 0

    def requests(self) -> list[tuple[str, str]]:
        """Return verb and resource of the requests of the user since the last call."""
        lines = self.path.read_text(encoding="utf-8").splitlines()
        events = [json.loads(line) for line in lines[self._read :]]
        self._read = len(lines)
        return [
            (event["verb"], "/".join(filter(None, (about["resource"], about.get("subresource")))))
            for event in events
            for about in [event.get("objectRef")]
            if event["user"]["username"] == USER and event["stage"] == "ResponseComplete" and about
        ]


@pytest.fixture
def audit(lab: Lab, tmp_path: Path) -> t.Iterator[Audit]:
    """Restart the API server with an audit log, and without it at the end."""
    policy, log = tmp_path / "policy.json", tmp_path / "audit.log"
    policy.write_text(json.dumps(POLICY), encoding="utf-8")
    try:
        lab.apiserver.stop()
        lab.apiserver.start(f"--audit-policy-file={policy}", f"--audit-log-path={log}")
        yield Audit(log)
    finally:
        lab.apiserver.stop()
        lab.apiserver.start()


@pytest.mark.parametrize(
    ("version", "way"),
    [
        ("newest", "port"),
        ("earlier", "host"),
        pytest.param("newest", "host", marks=pytest.mark.long),
        pytest.param("earlier", "port", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("bench", ["n3"], indirect=True)
def test_a_change_without_nodes_proxy(
    bench: Bench, lab: Lab, tmp_path: Path, audit: Audit, request: pytest.FixtureRequest, version: str, way: str
) -> None:
    """At the port if the certificate can be verified, else on the host. One review a run for each way that is tried."""
    if version == "earlier":
        request.getfixturevalue("earlier")
    folder = tmp_path / "u"
    folder.mkdir()
    ansible = Ansible(folder, lab.user_kubeconfig(USER), lab.inventory)
    auth: dict[str, str] = {}
    names = [*PLAYBOOKS]
    if way == "port":
        authority = tmp_path / "kubelet.crt"
        authority.write_text(bench.node.run("cat /var/lib/kubelet/pki/kubelet.crt"))
        auth["kubelet_ca_cert"] = str(authority)
    else:
        names.append("option-read-node")
    granted = json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [item for name in names for item in manifest(name)]}
    )
    ansible.variables(workers_a={"kubelet_config": {"maxPods": 77}, "kubelet_config_trial_seconds": 1})
    lab.kubectl("apply", "-f", "-", stdin=granted)
    try:
        found = bench.configz()["maxPods"]
        for playbook in PLAYBOOKS:
            audit.requests()
            run = ansible.playbook(playbook, *N3, "-e", json.dumps({"kubelet_config_auth": auth}))
            assert run.code == 0, run.output
            asked = audit.requests()
            assert [one for one in asked if one[1].startswith("nodes/")] == []
            assert asked.count(("create", REVIEWS)) == (1 if way == "port" else 2), asked
            assert ("create", "serviceaccounts/token") in asked or way == "port"
            if playbook == "rollout":
                assert bench.configz()["maxPods"] == 77
        assert bench.configz()["maxPods"] == found
    finally:
        lab.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=granted)
