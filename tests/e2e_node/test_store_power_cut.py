# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The store on a real node: a kubelet starts after a power cut at any call of a switch, and store and kubelet can read
each other's files.
"""

from __future__ import annotations

import io
import json
import tarfile
import time
import typing as t

import pytest

from tests.lab.console import LabError
from tests.lab.files import LAST_DYNAMIC
from tests.lab.lab import Lab
from tests.lab.node import LabNode
from tests.support.ansible import ROOT

PLACE = "/root/livenodes-store-test"
STORE = f"{PLACE}/config"
DROPIN = "/etc/systemd/system/kubelet.service.d/80-store-test.conf"
NATIVE = "/var/lib/kubelet/dynamic-config"
PACKAGE = "ansible_collections/livenodes/kubelet/plugins/module_utils"
PRELUDE = f"""
import itertools, json, os, subprocess, sys, time, urllib.request
sys.dont_write_bytecode = True
sys.path.insert(0, {PLACE!r})
from {PACKAGE.replace("/", ".")}._node.store.store import File, Moment, Store, Trial, take

def source(name):
    place = {{"namespace": "kube-system", "name": name, "kubeletConfigKey": "kubelet"}}
    return dict(place, uid="uid-" + name, resourceVersion="7")
"""
# Every cut starts from the same store, with `a` as last-known-good; the power fails while `b` is staged, armed and
# switched to.
CUT = """
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import OS

class Cutting(OS):
    calls = 0

def cutting(name):
    def call(self, *arguments):
        if Cutting.calls == int(sys.argv[1]):
            os._exit(9)
        Cutting.calls += 1
        return getattr(OS, name)(self, *arguments)
    return call

for name in ("mkdir", "create", "write", "sync", "sync_folder", "rename", "symlink", "unlink", "rmdir"):
    setattr(Cutting, name, cutting(name))
store = Store(STORE, Cutting())
store.stage(source("b"), {"kubelet": open(PLACE + "/b").read()})
store.arm(Trial(source("b"), source("a"), Moment.now()))
store.switch(source("b"))
print(Cutting.calls)
"""
START = """
import shutil
shutil.rmtree(STORE, ignore_errors=True)
shutil.copytree(PLACE + "/base", STORE, symlinks=True)
done = subprocess.run([sys.executable, PLACE + "/cut.py", sys.argv[1]], stdout=subprocess.PIPE)
began = time.monotonic()
subprocess.run(["systemctl", "restart", "kubelet"], check=True)
while True:
    try:
        urllib.request.urlopen("http://127.0.0.1:10248/healthz", timeout=1).read()
        break
    except OSError:
        if time.monotonic() - began > 30:
            raise
        time.sleep(0.05)
store = Store(STORE)
found = store.resolve()
text = open(STORE + "/active/kubelet").read()
print(json.dumps({"exit": done.returncode, "calls": done.stdout.decode(),
                  "resolved": found.source and found.source["name"], "active": store.running(),
                  "maxPods": json.loads(text)["maxPods"], "seconds": time.monotonic() - began}))
"""


@pytest.fixture
def node(lab: Lab) -> t.Iterator[LabNode]:
    """Yield node n1 with the collection's code; restore its kubelet afterwards."""
    node = lab.node("n1")
    dynamic = "dynamic-config-dir" in node.run("cat /etc/default/kubelet")
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in ("_node", "_config"):
            tar.add(
                ROOT / "plugins" / "module_utils" / name,
                f"{PACKAGE}/{name}",
                filter=lambda item: None if "__pycache__" in item.name else item,
            )
    node.run(f"rm -rf {PLACE}; mkdir -p {PLACE}")
    (node.folder / "upper" / PLACE.strip("/") / "code.tar").write_bytes(archive.getvalue())
    node.run(f"tar xf {PLACE}/code.tar -C {PLACE}")
    try:
        yield node
    finally:
        node.run(f"rm -rf {DROPIN} {PLACE}; systemctl daemon-reload; systemctl reset-failed kubelet")
        node.set_dynamic(dynamic)
        node.run("systemctl restart kubelet")
        lab.wait_ready()


def python(node: LabNode, code: str) -> t.Any:
    return json.loads(
        node.run("python3 -", stdin=f"{PRELUDE}\nPLACE, STORE = {PLACE!r}, {STORE!r}\n{code}").splitlines()[-1]
    )


def configuration(lab: Lab, node: LabNode, pods: int) -> str:
    """Return the node's own configuration as JSON, with another maxPods."""
    found = lab.get(f"/api/v1/nodes/{node.name}/proxy/configz")["kubeletconfig"]
    # configz omits an empty list, which a kubelet would replace by its default.
    found.update(
        kind="KubeletConfiguration", apiVersion="kubelet.config.k8s.io/v1beta1", enforceNodeAllocatable=[], maxPods=pods
    )
    return json.dumps(found, indent=2, sort_keys=True) + "\n"


@pytest.mark.parametrize(
    "step", [pytest.param(6, id="every 6th call"), pytest.param(1, id="each call", marks=pytest.mark.long)]
)
@pytest.mark.fault(case=19)
def test_a_kubelet_starts_after_a_cut(lab: Lab, node: LabNode, step: int) -> None:
    node.set_dynamic(False)
    eventually(lambda: configuration(lab, node, 1))
    for name, pods in (("a", 61), ("b", 62)):
        node.run(f"cat > {PLACE}/{name}", stdin=configuration(lab, node, pods))
    header = f"{PRELUDE}\nPLACE, STORE = {PLACE!r}, {STORE!r}\n"
    node.run(f"cat > {PLACE}/cut.py", stdin=header + CUT)
    node.run(f"cat > {PLACE}/start.py", stdin=header + START)
    node.run(
        f"cat > {DROPIN} && systemctl daemon-reload",
        stdin=f'[Service]\nEnvironment="KUBELET_CONFIG_ARGS=--config={STORE}/active/kubelet"\n',
    )
    python(
        node,
        """
store = Store(PLACE + "/base")
own = "/var/lib/kubelet/config.yaml"
store.remember_local({own: take(own)}, own)
store.stage(source("a"), {"kubelet": open(PLACE + "/a").read()})
store.arm(Trial(source("a"), None, Moment.now()))
store.switch(source("a"))
store.graduate(source("a"), "v1.20.2")
print(json.dumps(store.running()))
""",
    )
    rows = []
    while not rows or rows[-1]["exit"]:
        assert len(rows) < 100
        rows.append(json.loads(node.run(f"python3 {PLACE}/start.py {step * len(rows)}").splitlines()[-1]))
        row = rows[-1]
        assert row["exit"] in (0, 9)
        assert (row["active"], row["maxPods"]) in (("store/checkpoints/uid-a/7", 61), ("store/checkpoints/uid-b/7", 62))
        assert row["resolved"] in ("a", "b")
        eventually(lambda row=row: live(lab, node) == row["maxPods"])
    assert step * (len(rows) - 2) < int(rows[-1]["calls"]) <= step * (len(rows) - 1)
    assert [row["maxPods"] for row in rows] == sorted(row["maxPods"] for row in rows), (
        "once switched, it stays switched"
    )
    assert (rows[0]["maxPods"], rows[-1]["maxPods"]) == (61, 62)
    print(f"\n{len(rows)} cuts, restart to healthz at most {max(row['seconds'] for row in rows):.1f} s")


@pytest.mark.minors(last=LAST_DYNAMIC, reason="later kubelets have no Dynamic Kubelet Configuration")
def test_store_and_kubelet_read_each_other(lab: Lab, node: LabNode) -> None:
    node.set_dynamic(True)
    node.run(f"systemctl stop kubelet && rm -rf {NATIVE}/store && systemctl start kubelet")
    lab.kubectl("delete", "configmap", "-n", "kube-system", "store-test", "--ignore-not-found")
    eventually(lambda: configuration(lab, node, 1))
    (lab.folder / "store-test.json").write_text(configuration(lab, node, 63))
    lab.kubectl(
        "create",
        "configmap",
        "store-test",
        "-n",
        "kube-system",
        f"--from-file=kubelet={lab.folder}/store-test.json",
        "--from-literal=more=text",
    )
    place = {"namespace": "kube-system", "name": "store-test", "kubeletConfigKey": "kubelet"}
    try:
        patch_source(lab, place)
        eventually(lambda: status(lab).get("active", {}).get("configMap", {}).get("name") == "store-test" or None, 60)
        known = status(lab)["active"]["configMap"]
        read = python(
            node,
            f"""
from {PACKAGE.replace("/", ".")}._node.store import meta
native, ours = Store({NATIVE!r}), Store(STORE)
data = {{key: value.decode() for key, value in native.data(native.assigned()).items()}}
own = "/var/lib/kubelet/config.yaml"
ours.remember_local({{own: take(own)}}, own)
ours.stage(native.assigned(), data)
ours.arm(Trial(native.assigned(), None, Moment.now()))
ours.switch(native.assigned())
print(json.dumps({{"assigned": native.assigned(), "good": native.last_known_good(), "keys": sorted(data)}}))
""",
        )
        assert read == {"assigned": known, "good": None, "keys": ["kubelet", "more"]}
        assert (
            node.run(f"cd {STORE}/store && diff -r {NATIVE}/store . | grep -v '^Only in [.]'", check=False).strip()
            == ""
        )
        # The other direction: a kubelet that starts with the files of the store.
        node.run(
            f"systemctl stop kubelet && rm -rf {NATIVE}/store && cp -a {STORE}/store {NATIVE}/ && "
            "systemctl start kubelet"
        )
        eventually(lambda: live(lab, node) == 63 or None)
        node.run("sleep 13")
        # On a busy machine a request of the kubelet may fail; its status reports that until the next attempt.
        eventually(
            lambda: status(lab) == {"assigned": {"configMap": known}, "active": {"configMap": known}} or None, 60
        )
        assert node.restarts() == 0
    finally:
        patch_source(lab, None)
        eventually(lambda: "active" not in status(lab) or None, 60)
        lab.kubectl("delete", "configmap", "-n", "kube-system", "store-test", "--ignore-not-found")


def patch_source(lab: Lab, place: dict[str, str] | None) -> None:
    lab.kubectl(
        "patch", "node", "n1", "-p", json.dumps({"spec": {"configSource": {"configMap": place} if place else None}})
    )


def status(lab: Lab) -> dict[str, t.Any]:
    found: dict[str, t.Any] = lab.get("/api/v1/nodes/n1")["status"].get("config", {})
    return found


def live(lab: Lab, node: LabNode) -> int:
    return int(lab.get(f"/api/v1/nodes/{node.name}/proxy/configz")["kubeletconfig"]["maxPods"])


def eventually(ask: t.Callable[[], object], seconds: float = 30) -> None:
    """Wait until `ask` returns true; a kubelet that has just started refuses connections for a while."""
    end = time.monotonic() + seconds
    while True:
        last: object = None
        try:
            last = ask()
        except LabError as error:
            last = None if time.monotonic() < end else error
        if last is not None and last is not False and not isinstance(last, LabError):
            return
        assert time.monotonic() < end, f"not so within {seconds} s: {last}"
        time.sleep(0.3)
