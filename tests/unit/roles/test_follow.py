# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook follow installs no follower that every user with access to Nodes could command, unless accepted."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import policy
from tests.sim.api.objects import Objects
from tests.sim.switched import SwitchedCluster, switched_ansible
from tests.support.plays.ansible import Ansible, Run
from tests.support.plays.permissions import USER, Permission, manifest, permissions, used, without

NODES = ("n1", "n2")
READ = "GET"
"""The request for the reports of all followers."""
FOLLOWED, UNFOLLOWED = ["kubelet_checkpoint followed"], ["kubelet_checkpoint unfollowed"]
PROTECTED = ("-e", "kubelet_config_follow=protected")
UNPROTECTED = ("-e", "kubelet_config_follow_unprotected=true")
NOT_ACCEPTED = ("-e", "kubelet_config_follow_unprotected=false")
"""As a text: only -e with JSON has booleans."""
ABSENT = ("-e", "kubelet_config_follow=absent")


class Followed:
    """Two nodes, and the playbook."""

    def __init__(self, fleet: SwitchedCluster, ansible: Ansible) -> None:
        self.fleet, self.ansible = fleet, ansible
        fleet.store.minor = 36
        self.policies = Objects(fleet.store, "validatingadmissionpolicies")
        self.bindings = Objects(fleet.store, "validatingadmissionpolicybindings")

    def play(self, *arguments: str, **environment: str) -> tuple[Run, list[str], list[str]]:
        """Return the run, the calls on each node, and the methods of the requests to the API server."""
        for steps in self.fleet.steps.values():
            del steps[:]
        begun = len(self.fleet.requests)
        run = self.ansible.playbook("follow", *arguments, **environment)
        steps = list(self.fleet.steps.values())
        assert steps[0] == steps[1], run.output
        return run, steps[0], [method for method, path in self.fleet.requests[begun:] if path.startswith("/api")]


@pytest.fixture
def followed(tmp_path: Path) -> t.Iterator[Followed]:
    with SwitchedCluster(*NODES) as fleet:
        yield Followed(fleet, switched_ansible(tmp_path, fleet))


def test_the_policy_is_required_and_applied_on_request(followed: Followed) -> None:
    """With one request for each of its two objects in a run, not for each node."""
    for arguments in ((), NOT_ACCEPTED):
        refused, steps, methods = followed.play(*arguments)
        assert (refused.code != 0, steps, methods) == (True, [], ["GET", "GET"]), refused.output
    for remedy in ("kubelet_config_follow=protected", "kubelet_config_follow_unprotected to true"):
        assert remedy in refused.output.replace("\n", " ")

    forecast, _steps, methods = followed.play("--check", *PROTECTED)
    assert (forecast.code, methods, [*followed.policies]) == (0, ["GET", "GET"], []), forecast.output

    applied, steps, methods = followed.play(*PROTECTED)
    assert (applied.code, steps, methods) == (0, FOLLOWED, ["GET", "GET", "POST", "POST", READ]), applied.output
    assert followed.bindings[policy.NAME]["spec"] == policy.BINDING["spec"]
    again, steps, methods = followed.play(*PROTECTED)
    assert (again.code, steps, methods) == (0, FOLLOWED, ["GET", "GET", READ]), again.output

    satisfied, steps, methods = followed.play()
    assert (satisfied.code, steps, methods) == (0, FOLLOWED, ["GET", "GET", READ]), satisfied.output


@pytest.mark.parametrize(
    ("arguments", "expected", "asked"), [(UNPROTECTED, FOLLOWED, [READ]), (ABSENT, UNFOLLOWED, [])]
)
def test_no_policy_is_asked_for(
    followed: Followed, arguments: tuple[str, ...], expected: list[str], asked: list[str]
) -> None:
    """Where an administrator has accepted the risk, and where nothing is left to protect."""
    run, steps, methods = followed.play(*arguments)
    assert (run.code, steps, methods) == (0, expected, asked), run.output


def test_a_host_fails_alone_if_no_follower_reports_on_its_node(followed: Followed) -> None:
    del followed.fleet.nodes["n2"]
    run, _steps, _methods = followed.play(*UNPROTECTED)
    assert [run.recap(name)["failed"] for name in NODES] == [0, 1], run.output
    assert "Node n2" in run.output and "has no such Node" in run.output, run.output


def test_an_old_api_server(followed: Followed) -> None:
    followed.fleet.store.minor = 29
    run, steps, methods = followed.play(*PROTECTED)
    assert (run.code != 0, steps, methods) == (True, [], ["GET"]), run.output
    assert "kubelet_config_follow_unprotected" in run.output


@pytest.mark.fault(case=30)
def test_exactly_the_manifest(followed: Followed) -> None:
    """It is enough to ask, each permission is used, and an administrator applies the policy."""
    user = {"K8S_AUTH_IMPERSONATE_USER": USER}
    found = manifest("follow")
    followed.fleet.rename_host(NODES[0])
    followed.fleet.grant(found)
    refused, _steps, methods = followed.play(*PROTECTED, **user)
    assert refused.code != 0 and methods == ["GET", "GET", "POST"] and "docs/rbac" in refused.output, refused.output
    assert followed.play(*PROTECTED)[0].code == 0
    run, steps, _methods = followed.play(**user)
    assert (run.code, steps) == (0, FOLLOWED), run.output
    assert used(followed.fleet.api.asked[USER], permissions(found)) == {*permissions(found)}


@pytest.mark.long
@pytest.mark.parametrize("taken", permissions(manifest("follow")), ids=str)
@pytest.mark.fault(case=30)
def test_without_one_permission(followed: Followed, taken: Permission) -> None:
    """The error names it."""
    assert followed.play(*PROTECTED)[0].code == 0
    followed.fleet.rename_host(NODES[0])
    followed.fleet.grant(without(manifest("follow"), taken))
    run, steps, _methods = followed.play(K8S_AUTH_IMPERSONATE_USER=USER)
    assert run.code != 0 and steps == (FOLLOWED if taken.resource == "nodes" else []), run.output
    assert f'cannot {taken.verb} resource "{taken.resource}"' in run.output.replace('\\"', '"'), run.output
