# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet with Dynamic Kubelet Configuration and the store read each other's files."""

from __future__ import annotations

import json
import typing as t

import pytest

from tests.lab.files import LAST_DYNAMIC
from tests.lab.lab import Lab
from tests.support.lab.views import eventually, look
from tests.support.lab_node.node_bench import STORE, Bench

NATIVE = "/var/lib/kubelet/dynamic-config"
NAME = "store-test"
COPY = f"""
native = Store({NATIVE!r})
data = {{key: value.decode() for key, value in native.data(native.assigned()).items()}}
own = "/var/lib/kubelet/config.yaml"
store.remember_local({{own: local.take(own)}}, own)
store.stage(native.assigned(), data)
store.arm(Trial(native.assigned(), None, Moment.now()))
store.switch(native.assigned())
print(json.dumps([native.assigned(), native.last_known_good(), sorted(data)]))
"""


def follow(lab: Lab, name: str | None) -> None:
    """Let n1 follow a ConfigMap, or none."""
    place = {"namespace": "kube-system", "name": name, "kubeletConfigKey": "kubelet"}
    spec = {"configSource": {"configMap": place} if name else None}
    lab.kubectl("patch", "node", "n1", "-p", json.dumps({"spec": spec}))


@pytest.fixture
def following(lab: Lab) -> t.Iterator[Bench]:
    """Yield n1 with a ConfigMap that its kubelet follows; restore the node afterwards."""
    bench = Bench(lab, "n1")
    bench.bring()
    config = lab.folder / f"{NAME}.json"
    config.write_text(json.dumps({**bench.local(), "maxPods": 63}))
    bench.node.set_dynamic(True)
    bench.node.run(f"systemctl stop kubelet && rm -rf {NATIVE}/store && systemctl start kubelet")
    more = ("--from-literal=more=text", f"--from-file=kubelet={config}")
    lab.kubectl("create", "configmap", NAME, "-n", "kube-system", *more)
    try:
        follow(lab, NAME)
        yield bench
    finally:
        follow(lab, None)
        eventually(lambda: "active" not in look(lab, "n1").status, 60, "the local configuration")
        lab.kubectl("delete", "configmap", "-n", "kube-system", NAME)
        bench.node.set_dynamic(False)
        bench.close()
        lab.wait_ready()


@pytest.mark.long
@pytest.mark.minors(last=LAST_DYNAMIC, reason="later kubelets have no Dynamic Kubelet Configuration")
def test_store_and_kubelet_read_each_other(lab: Lab, following: Bench) -> None:
    node = following.node
    eventually(lambda: look(lab, "n1").name_of("active") == NAME, 60, "the ConfigMap is active")
    known = look(lab, "n1").status["active"]["configMap"]
    assert following.python(COPY) == [known, None, ["kubelet", "more"]]
    different = node.run(f"cd {STORE}/store && diff -r {NATIVE}/store . | grep -v '^Only in [.]'", check=False)
    assert different.strip() == ""
    # The other direction: a kubelet that starts with the files of the store.
    copy = f"rm -rf {NATIVE}/store && cp -a {STORE}/store {NATIVE}/"
    node.run(f"systemctl stop kubelet && {copy} && systemctl start kubelet")
    eventually(lambda: look(lab, "n1").configz["maxPods"] == 63, 60, "the kubelet answers")
    node.run("sleep 13")
    # On a busy machine a request of the kubelet may fail; its status reports that until the next attempt.
    wanted = {"assigned": {"configMap": known}, "active": {"configMap": known}}
    eventually(lambda: look(lab, "n1").status == wanted, 60, "the same status as before")
    assert node.restarts() == 0
