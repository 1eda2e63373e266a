# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The twelve steps of CONTRIBUTING.md for the modules that write: create, modify and delete, each in check mode, for
real, and both again.
"""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from tests.contract.clusters import CONFIGMAPS, NAMES, NODES, Contracted
from tests.support.plays.ansible import Ansible

HEADER = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n"
Look = t.Callable[[], t.Any]
Options = dict[str, t.Any]


def _four_steps(ansible: Ansible, look: Look, module: str, options: Options, expected: t.Any) -> None:
    """Run in check mode and for real, then both again; `look` reads the result independently."""
    before = look()
    assert before != expected
    forecast = ansible.module(module, options, "--check", "--diff")
    assert (forecast["failed"], forecast["changed"], look()) == (False, True, before), forecast
    done = ansible.module(module, options, "--diff")
    assert (done["failed"], done["changed"], look()) == (False, True, expected), done
    assert done["diff"] == forecast["diff"] != ""
    for arguments in (("--check",), ()):
        again = ansible.module(module, options, *arguments)
        assert (again["failed"], again["changed"], look()) == (False, False, expected), again


# A kubelet has no part in it; test_edges assigns and removes sources on real ones.
@pytest.mark.long_on_lab
def test_kubelet_configmap(cluster: Contracted, ansible: Ansible, tmp_path: Path) -> None:
    """To modify a content-addressed object means to create another one; to delete means to prune unused ones."""

    def texts() -> list[str]:
        found = cluster.get(CONFIGMAPS)["items"]
        return [item["data"]["kubelet"] for item in found if item["metadata"]["name"].startswith("matrix-")]

    (one, first), (two, second) = ((tmp_path / f"{pods}.yaml", f"{HEADER}maxPods: {pods}\n") for pods in (1, 2))
    one.write_text(first)
    two.write_text(second)
    module, given = "kubelet_configmap", {"name": "matrix"}
    _four_steps(ansible, lambda: sorted(texts()), module, {**given, "src": [str(one)]}, [first])
    _four_steps(ansible, lambda: sorted(texts()), module, {**given, "src": [str(two)]}, [first, second])
    _four_steps(ansible, lambda: sorted(texts()), module, {**given, "state": "pruned"}, [])


@pytest.mark.long_on_lab
def test_kubelet_rollout_pause(cluster: Contracted, ansible: Ansible) -> None:
    """A pause is set, gets another reason, and ends; its ConfigMap stays."""

    def data() -> dict[str, str]:
        found = cluster.get(CONFIGMAPS)["items"]
        pauses = [item for item in found if item["metadata"]["name"] == "livenodes-kubelet-rollout"]
        return pauses[0].get("data") or {} if pauses else {}

    module = "kubelet_rollout_pause"
    _four_steps(ansible, data, module, {"reason": "a"}, {"paused": "true", "reason": "a"})
    _four_steps(ansible, data, module, {"reason": "b"}, {"paused": "true", "reason": "b"})
    _four_steps(ansible, data, module, {"state": "resumed"}, {})


# A kubelet has no part in it; test_edges assigns and removes sources on real ones.
@pytest.mark.long_on_lab
def test_node_config_source(cluster: Contracted, ansible: Ansible, tmp_path: Path) -> None:
    """Nodes are assigned a source, another one, and none."""

    def specs() -> dict[str, t.Any]:
        items = cluster.get(NODES)["items"]
        return {item["metadata"]["name"]: (item["spec"].get("configSource") or {}).get("configMap") for item in items}

    places = []
    for pods in (1, 2):
        path = tmp_path / f"{pods}.yaml"
        live = cluster.get(f"{NODES}/n1/proxy/configz")["kubeletconfig"]
        path.write_text(
            json.dumps(
                {
                    "kind": "KubeletConfiguration",
                    "apiVersion": "kubelet.config.k8s.io/v1beta1",
                    **live,
                    "eventBurst": 20 + pods,
                }
            )
        )
        (row,) = ansible.module("kubelet_configmap", {"name": "matrix", "src": [str(path)]})["configmaps"].values()
        places.append({key: row[key] for key in ("namespace", "name", "kubeletConfigKey")})
    for place in places:
        _four_steps(
            ansible,
            specs,
            "node_config_source",
            {"nodes": ["n1", "n3"], "source": {"name": place["name"]}},
            {"n1": place, "n2": None, "n3": place},
        )
    _four_steps(
        ansible,
        specs,
        "node_config_source",
        {"nodes": ["n1", "n3"], "state": "absent", "wait": True},
        dict.fromkeys(NAMES),
    )


# A kubelet has no part in it; test_edges assigns and removes sources on real ones.
@pytest.mark.long_on_lab
@pytest.mark.parametrize("module", ["kubelet_configz_facts", "node_config_info"])
def test_modules_that_only_read(cluster: Contracted, ansible: Ansible, module: str) -> None:
    """Two calls return the same, except for values that change on their own."""

    def still(result: dict[str, t.Any]) -> t.Any:
        return json.loads(
            json.dumps(result),
            object_hook=lambda item: {
                key: value for key, value in item.items() if key not in ("heartbeat", "ready_reason")
            },
        )

    one, other = (ansible.module(module, {"nodes": list(NAMES)}, *arguments) for arguments in ((), ("--check",)))
    assert (one["failed"], one["changed"]) == (False, False)
    assert still(one) == still(other)
