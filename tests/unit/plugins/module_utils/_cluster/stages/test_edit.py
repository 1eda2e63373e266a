# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage edit: the plan as a module's result, and its refusals as failures. The plan itself is tested in _config."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import edit
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import complete_config
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import identity
from tests.support.objects import live

CONFIG = complete_config.restore(live())
VARIANT = identity.variant(CONFIG)
ROW = {"variant": VARIANT, "kubelet_version": "v1.20.2", "source": None, "status": None}
CURRENT = {"variants": {VARIANT: CONFIG}, "nodes": {"n1": ROW}}


def run(config: t.Any, **options: t.Any) -> dict[str, t.Any]:
    return edit.edit({"current": CURRENT, "name": "base", "config": config, **options}, False)


def test_a_plan_with_a_change() -> None:
    """The diff has one entry for the node, and the ConfigMap has the given name."""
    result = run({"maxPods": 50})
    assert not result["changed"] and not result["plan"]["refused"]
    assert result["plan"]["nodes"]["n1"]["action"] == "assign"
    assert result["plan"]["nodes"]["n1"]["configmap"].startswith("base-")
    assert len(result["diff"]) == 1


def test_a_plan_without_a_change() -> None:
    result = run({})
    assert result["plan"]["nodes"]["n1"]["action"] == "none" and result["diff"] == []


def test_a_refusal_is_a_failure_with_the_plan_as_its_result() -> None:
    with pytest.raises(ClusterError, match="maxPods") as caught:
        run({"maxPods": 50}, allow_effect="safe")
    assert caught.value.result["plan"]["refused"]


def test_a_value_that_the_kubelet_would_refuse() -> None:
    """The message names nodes, field, value, rule, remedy and the option that makes it a warning."""
    with pytest.raises(ClusterError) as caught:
        run({"kubeAPIQPS": -1})
    assert caught.value.message.splitlines() == [
        "the plan is refused. Nothing was written.",
        "1 node (n1): kubeAPIQPS is -1, which the kubelet refuses (rule not-negative): invalid configuration: "
        "kubeAPIQPS (--kube-api-qps) -1 must not be a negative number. Give 0 or more.",
        "To see a kubelet refuse such a value, set allow_invalid (in roles: kubelet_config_allow_invalid) to true.",
    ]
    allowed = run({"kubeAPIQPS": -1}, allow_invalid=True)["plan"]
    assert (allowed["refused"], allowed["summary"]["warnings"], allowed["nodes"]["n1"]["action"]) == (
        False,
        1,
        "assign",
    )


def test_the_option_is_not_named_where_it_does_not_help() -> None:
    with pytest.raises(ClusterError) as caught:
        run({"maxPodz": -1}, allow_invalid=True)
    assert "allow_invalid" not in caught.value.message


def test_options_that_cannot_be_read() -> None:
    with pytest.raises(ClusterError) as caught:
        run("maxPods: [")
    assert caught.value.result == {}


@pytest.mark.parametrize(
    "current",
    [
        {},
        {"kubelet_configz": CURRENT},
        {"variants": {}, "nodes": []},
        {"variants": [], "nodes": {}},
        {"variants": {}, "nodes": {"n1": ROW}},
        {"variants": {VARIANT: CONFIG}, "nodes": {"n1": "text"}},
    ],
)
@pytest.mark.parametrize("back", [False, True])
def test_what_is_no_dump_is_refused(current: dict[str, t.Any], back: bool) -> None:
    with pytest.raises(ClusterError, match="current is not a result of kubelet_configz_facts"):
        run({}, current=current, back=back)
