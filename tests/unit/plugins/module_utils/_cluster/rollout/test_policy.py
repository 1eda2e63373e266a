# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The policy that limits who may assign: whether it is there, and its creation and repair. No expression is evaluated
here; tests/e2e_modern/test_policy.py shows what a real API server does with them.
"""

from __future__ import annotations

import copy
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import policy
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation, following
from tests.sim.api.direct import Direct
from tests.sim.api.objects import Objects

API = "/apis/admissionregistration.k8s.io/v1"
POLICY = f"{API}/validatingadmissionpolicies"
BINDING = f"{API}/validatingadmissionpolicybindings"
READ = [("GET", f"{POLICY}/{policy.NAME}"), ("GET", f"{BINDING}/{policy.NAME}")]


class Guarded:
    """A cluster, and its policies and bindings by name."""

    def __init__(self, minor: int = 30) -> None:
        self.api = Direct()
        self.api.store.minor = minor
        self.policies = Objects(self.api.store, "validatingadmissionpolicies")
        self.bindings = Objects(self.api.store, "validatingadmissionpolicybindings")

    def apply(self) -> None:
        """Apply the manifest."""
        self.policies.add(copy.deepcopy(policy.POLICY))
        self.bindings.add(copy.deepcopy(policy.BINDING))

    def ensure(self, state: str = "present", check_mode: bool = False) -> tuple[bool, list[tuple[str, str]]]:
        """Return whether the module reports a change, and its requests."""
        begun = len(self.api.asked)
        changed = policy.ensure(self.api, {"state": state}, check_mode)["changed"]
        return changed, self.api.requests[begun:]

    def specs(self) -> tuple[list[t.Any], list[t.Any]]:
        """Return what is stored."""
        return tuple([item["spec"] for item in held.values()] for held in (self.policies, self.bindings))


WHOLE = ([policy.POLICY["spec"]], [policy.BINDING["spec"]])


def test_create() -> None:
    cluster = Guarded()
    assert cluster.ensure(check_mode=True) == (True, READ)
    assert cluster.specs() == ([], [])
    assert cluster.ensure() == (True, [*READ, ("POST", POLICY), ("POST", BINDING)])
    assert cluster.specs() == WHOLE
    revision = cluster.api.store.revision
    assert cluster.ensure(check_mode=True) == (False, READ)
    assert cluster.ensure() == cluster.ensure("required") == (False, READ)
    assert cluster.api.store.revision == revision


def test_repair() -> None:
    """Nothing of what was changed is left, and the rest is not written."""
    cluster = Guarded()
    cluster.apply()
    cluster.policies[policy.NAME]["spec"]["matchConstraints"]["excludeResourceRules"] = [{"resources": ["nodes"]}]
    changed = copy.deepcopy(cluster.specs())
    assert cluster.ensure(check_mode=True) == (True, READ)
    assert cluster.specs() == changed
    assert cluster.ensure() == (True, [*READ, ("PUT", f"{POLICY}/{policy.NAME}")])
    assert cluster.specs() == WHOLE
    assert cluster.ensure(check_mode=True) == cluster.ensure() == (False, READ)


@pytest.mark.parametrize(
    ("kind", "change", "lacks"),
    [
        ("bindings", {"validationActions": ["Deny", "Audit"]}, ""),
        ("bindings", {"validationActions": ["Warn"]}, "PolicyBinding livenodes-kubelet-assignments is not that of"),
        ("bindings", {"matchResources": {"objectSelector": {}}}, "PolicyBinding livenodes-kubelet-assignments is not"),
        ("bindings", None, "PolicyBinding livenodes-kubelet-assignments does not exist"),
        ("policies", {"failurePolicy": "Ignore"}, "AdmissionPolicy livenodes-kubelet-assignments is not that of"),
        ("policies", {"validations": [{"expression": "true"}]}, "Policy livenodes-kubelet-assignments is not that of"),
        ("policies", None, "AdmissionPolicy livenodes-kubelet-assignments does not exist"),
    ],
)
def test_what_is_required(kind: str, change: dict[str, t.Any] | None, lacks: str) -> None:
    """A weaker policy is none. The refusal names both remedies."""
    cluster = Guarded()
    cluster.apply()
    held: Objects = getattr(cluster, kind)
    if change is None:
        del held[policy.NAME]
    else:
        held[policy.NAME]["spec"].update(change)
    if not lacks:
        assert cluster.ensure("required") == (False, READ)
        return
    before = copy.deepcopy(cluster.specs())
    with pytest.raises(ClusterError, match=lacks) as refused:
        cluster.ensure("required")
    for remedy in ("kubelet_config_follow=protected", "kubelet_config_follow_unprotected to true"):
        assert remedy in refused.value.message
    assert cluster.specs() == before


@pytest.mark.parametrize("state", ["required", "present"])
def test_an_api_server_without_such_policies(state: str) -> None:
    cluster = Guarded(minor=29)
    with pytest.raises(ClusterError, match=r"from 1\.30 on\. .*kubelet_config_follow_unprotected") as refused:
        cluster.ensure(state)
    assert "protected, as" not in refused.value.message
    assert cluster.api.requests == READ[:1]


def test_each_annotation_of_a_node_has_its_writer() -> None:
    """A new one needs a decision. A cordon is that of every user who may patch Nodes."""
    values = [value for module in (annotation, following) for value in vars(module).values()]
    ours = {value for value in values if isinstance(value, str) and value.startswith(annotation.PREFIX)}
    decided = [*policy.ASSIGNING, *policy.ANSWERS, annotation.CORDONED, annotation.PREFIX]
    assert sorted(decided) == sorted(ours)
    expressions = str(policy.POLICY["spec"]["variables"])
    assert all(f"'{name}'" in expressions for name in (*policy.ASSIGNING, *policy.ANSWERS))
