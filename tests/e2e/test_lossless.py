# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A configuration that is dumped and pushed unchanged changes no kubelet, whatever is special about its node."""

from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import assign_and_wait, dump, push
from tests.lab.lab import Lab
from tests.support.views import look

PUSH = {
    "state": "present",
    "src": None,
    "name": "lossless",
    "namespace": "kube-system",
    "key": "kubelet",
    "immutable": True,
}


def test_dump_and_push_back(lab: Lab, fleet: tuple[str, ...], session: Session) -> None:
    """The kubelets restart into their own configuration, and /configz is equal."""
    before = {name: look(lab, name) for name in fleet}
    table = dump.dump(session, {"nodes": list(fleet), "label_selectors": None, "facts": True}, False)["ansible_facts"][
        "kubelet_configz"
    ]
    # At least one node has an explicitly empty list, which /configz does not show.
    assert any("enforceNodeAllocatable" in row["restored"] for row in table["nodes"].values())
    pushed = push.push(session, {**PUSH, "variants": table["variants"]}, False)["configmaps"]
    sources = {name: pushed[row["variant"]] for name, row in table["nodes"].items()}
    options = {
        "state": "present",
        "sources": sources,
        "source": None,
        "nodes": None,
        "delivery": "auto",
        "check_source": True,
        "wait": True,
        "wait_timeout": 90,
        "wait_sleep": 1,
    }
    result = assign_and_wait.config_source(session, options, False)
    assert {row["state"] for row in result["nodes"].values()} == {"active"}
    for name in fleet:
        now = look(lab, name)
        assert now.configz == before[name].configz
        assert now.invocation != before[name].invocation
        assert now.error == ""
        assert now.name_of("active") == sources[name]["name"]


def test_second_push_makes_nothing(lab: Lab, fleet: tuple[str, ...], session: Session) -> None:
    """The same content is stored in one object."""
    table = dump.dump(session, {"nodes": [fleet[0]], "label_selectors": None, "facts": True}, False)["ansible_facts"][
        "kubelet_configz"
    ]
    first = push.push(session, {**PUSH, "variants": table["variants"]}, False)
    again = push.push(session, {**PUSH, "variants": table["variants"]}, False)
    assert first["changed"] and not again["changed"]
    assert lab.kubectl("get", "configmap", "-n", "kube-system", "-o", "name").count("configmap/lossless-") == 1
