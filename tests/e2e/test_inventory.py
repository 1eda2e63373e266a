# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory plugin on real Nodes."""

from __future__ import annotations

import json
import typing as t

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import dump, push, verify
from tests.lab.lab import Lab
from tests.support.api.assigning import patiently
from tests.support.api.proxy import Proxy
from tests.support.plays.ansible import Ansible, inventory

PUSH = {
    "state": "present",
    "src": None,
    "name": "inventory",
    "namespace": "kube-system",
    "key": "kubelet",
    "immutable": True,
    "keep_days": 0,
}


def test_hosts_groups_cache_and_a_playbook(
    lab: Lab, fleet: tuple[str, ...], session: Session, ansible: Ansible, proxy: Proxy
) -> None:
    """Groups before and after an assignment; a second call uses the cache; a playbook needs no other inventory."""
    path = ansible.home / "nodes.livenodes.yml"
    environment = {**ansible.environment, "K8S_AUTH_HOST": proxy.url}
    del environment["K8S_AUTH_KUBECONFIG"]

    def groups(**options: t.Any) -> dict[str, list[str]]:
        path.write_text(
            json.dumps({"plugin": "livenodes.kubelet.nodes", "group_by_labels": ["kubernetes.io/hostname"], **options})
        )
        done = inventory(environment, path)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        variables = found.pop("_meta")["hostvars"]
        assert {name: variables[name]["ansible_host"] for name in fleet} == {
            name: lab.node(name).address for name in fleet
        }
        return {name: sorted(set(group.get("hosts", ())) & set(fleet)) for name, group in found.items()}

    cached = {
        "cache": True,
        "cache_plugin": "ansible.builtin.jsonfile",
        "cache_connection": str(ansible.home / "cache"),
    }
    before = groups(**cached)
    assert (proxy.count("GET", "/api/v1/nodes"), proxy.count()) == (1, 1)
    assert {
        name: before[name] for name in ("kubelet_1_20", "delivery_native", "variant_local", "settled")
    } == dict.fromkeys(("kubelet_1_20", "delivery_native", "variant_local", "settled"), sorted(fleet))
    assert before["label_kubernetes_io_hostname_n1"] == ["n1"]

    table = dump.dump(session, {"nodes": ["n1"], "label_selectors": None, "facts": True}, False)["ansible_facts"][
        "kubelet_configz"
    ]
    (pushed,) = push.push(session, {**PUSH, "variants": table["variants"]}, False)["configmaps"].values()
    verify.config_source(session, patiently(sources={"n1": pushed}), False)
    proxy.forget()
    assert groups(**cached) == before
    assert proxy.count() == 0
    now = groups()
    rest = sorted(set(fleet) - {"n1"})
    assert (now["variant_" + pushed["name"].replace("-", "_")], now["variant_local"], now["settled"]) == (
        ["n1"],
        rest,
        sorted(fleet),
    )

    ansible.inventory = path
    dumped = ansible.home / "dump.json"
    run = ansible.playbook(
        "dump", "-e", "kubelet_config_hosts=" + ":".join(now["settled"]), "-e", f"kubelet_config_dump_file={dumped}"
    )
    assert run.code == 0, run.output
    assert set(json.loads(dumped.read_text())["nodes"]) == set(fleet)
