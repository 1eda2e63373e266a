# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a node delivery `dropin` builds on, and what the kubelet would read from the disk: files with real times."""

from __future__ import annotations

import json
import os
import subprocess
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import dropin_look
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import meta
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Moment, Store, Trial, take
from tests.support.api.objects import reference
from tests.support.node.systemd_model import Systemd

FOLDER = "/etc/kubelet.d"


@pytest.fixture
def node(tmp_path: Path) -> Systemd:
    return Systemd(tmp_path)


def see(node: Systemd, given: str = "") -> dropin_look.Seen:
    return dropin_look.see(node.kubeadm(), [], given, "/store", "kubelet", str(node.root))


def test_the_own_file_and_the_other_drop_ins_in_order(node: Systemd) -> None:
    node.write(
        "/var/lib/kubelet/config.yaml",
        "maxPods: 5\nstaticPodPath: ./manifests/\nauthentication:\n  x509:\n    clientCAFile: ca.crt\n"
        "staticPodURLHeader:\n  Authorization:\n  - hunter2\n",
    )
    node.write(f"{FOLDER}/10.conf", "maxPods: 6\neventBurst: 7\n")
    node.write(f"{FOLDER}/95.conf", "maxPods: 8\n")
    node.write(f"{FOLDER}/96.conf", "a: &broken\n")
    node.write(f"{FOLDER}/90-livenodes-kubelet.conf", "maxPods: 9\n")
    seen = see(node, FOLDER)
    others = [f"{FOLDER}/{name}" for name in ("10.conf", "95.conf", "96.conf")]
    assert [row["path"] for row in seen.own()] == ["/var/lib/kubelet/config.yaml", *others]
    assert seen.own()[-1]["content"] is None and "hunter2" not in json.dumps(seen.own())
    assert "the anchor `&broken` can have two meanings" in seen.own()[-1]["unreadable"]
    node.write(f"{FOLDER}/96.conf", "a: 5\n")
    assert "the anchor" in seen.own()[-1]["unreadable"], "read once"
    effective = seen.effective({"maxPods": 7, "eventBurst": 8})
    assert (effective["maxPods"], effective["eventBurst"]) == (8, 8)
    # As the kubelet makes them: beside its own file.
    assert effective["staticPodPath"] == "/var/lib/kubelet/manifests"
    assert effective["authentication"] == {"x509": {"clientCAFile": "/var/lib/kubelet/ca.crt"}}
    assert list(seen.after()) == others[1:]
    assert (seen.linked, seen.shown()["named_by"], seen.shown()["exists"]) == (None, "option", True)


def test_without_a_folder_there_is_only_the_own_file(node: Systemd) -> None:
    seen = see(node)
    assert (seen.folder.path, seen.linked, seen.others) == ("/store/conf.d", False, {})
    assert "No such file" in seen.unreadable
    (row,) = seen.own()
    assert row == {"path": "/var/lib/kubelet/config.yaml", "content": None, "unreadable": seen.unreadable}
    # It may be readable by now, and is not read again for the reason.
    node.write("/var/lib/kubelet/config.yaml", "maxPods: 5\n")
    assert seen.own() == [row]


SOURCE = reference("config-a")
TEXT = "kind: KubeletConfiguration\nmaxPods: 60\nstaticPodURLHeader:\n  X:\n    - hunter2\n"


def silent(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
    """No systemd."""
    return subprocess.CompletedProcess(list(argv), 1, "", "")


def look(root: Path, *argv: str, dropins: t.Sequence[str] = ()) -> dict[str, t.Any]:
    return dropin_look.on_disk(["/usr/bin/kubelet", *argv], dropins, "kubelet.service", str(root), silent)


def write(root: Path, path: str, text: str = TEXT) -> Path:
    place = root / path[1:]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    return place


def staged(root: Path) -> Store:
    """A store of ours, switched to a checkpoint."""
    store = Store(str(root / "var/lib/kubelet-config"))
    local = str(write(root, "/etc/kubelet.yaml"))
    store.remember_local({local: take(local)}, local, "kubelet")
    store.stage(SOURCE, {"kubelet": TEXT})
    store.arm(Trial(SOURCE, None, Moment.now()))
    store.switch(SOURCE)
    return store


def test_a_plain_file(tmp_path: Path) -> None:
    """A modification time that a copy has set does not count."""
    place = write(tmp_path, "/etc/kubelet.yaml")
    os.utime(place, (1, 1))
    found = look(tmp_path, "--config=/etc/kubelet.yaml")
    content = {"kind": "KubeletConfiguration", "maxPods": 60, "staticPodURLHeader": {"X": ["********"]}}
    assert (found.pop("path"), found.pop("content")) == ("/etc/kubelet.yaml", content)
    assert (found.pop("changed"), found.pop("dropins")) == (place.stat().st_ctime, {})
    assert found == {"unreadable": None, "checkpoint": None, "started": None}


def test_no_file(tmp_path: Path) -> None:
    assert look(tmp_path)["unreadable"] == "the command line names no config file"
    found = look(tmp_path, "--config=/gone")
    assert (found["path"], found["content"], found["changed"]) == ("/gone", None, None)
    assert "No such file" in found["unreadable"]
    write(tmp_path, "/odd", "a: &b 1\n")
    assert "line 1" in look(tmp_path, "--config=/odd")["unreadable"]


def test_a_checkpoint_and_one_that_was_edited(tmp_path: Path) -> None:
    store = staged(tmp_path)
    argv = f"--config=/{os.path.relpath(store.active, tmp_path)}/kubelet"
    found = look(tmp_path, argv)
    assert found["checkpoint"] == {"uid": SOURCE["uid"], "resourceVersion": "7", "damage": None}
    assert found["path"].endswith("/store/checkpoints/uid-config-a/7/kubelet") and found["content"]["maxPods"] == 60
    (tmp_path / found["path"][1:]).write_text(TEXT.replace("60", "66"))
    found = look(tmp_path, argv)
    assert "does not match its digest" in found["checkpoint"]["damage"] and found["content"]["maxPods"] == 66


def test_a_switch_is_a_change_although_the_file_is_older(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = staged(tmp_path)
    real, link = os.lstat, os.lstat(store.active)

    def aged(path: str) -> t.Any:
        found = real(path)
        return found if path == store.active else os.stat_result((*found[:9], 0), {"st_ctime": link.st_ctime - 1000})

    monkeypatch.setattr(os, "lstat", aged)
    assert look(tmp_path, f"--config=/{os.path.relpath(store.active, tmp_path)}/kubelet")["changed"] == link.st_ctime


def test_the_folder_of_a_dynamic_kubelet(tmp_path: Path) -> None:
    """Its assigned checkpoint, which has no digest; without one the config file, however young the empty note of that
    is.
    """
    local = write(tmp_path, "/etc/kubelet.yaml", "maxPods: 1\n")
    argv = ("--config=/etc/kubelet.yaml", "--dynamic-config-dir=/dyn")
    write(tmp_path, "/dyn/store/meta/assigned", "")
    found = look(tmp_path, *argv)
    assert (found["path"], found["changed"]) == ("/etc/kubelet.yaml", local.stat().st_ctime)
    note = write(tmp_path, "/dyn/store/meta/assigned", meta.encode(SOURCE).decode())
    write(tmp_path, "/dyn/store/checkpoints/uid-config-a/7/kubelet")
    found = look(tmp_path, *argv)
    assert found["content"]["maxPods"] == 60
    assert found["checkpoint"] == {"uid": "uid-config-a", "resourceVersion": "7", "damage": None}
    assert found["changed"] >= note.stat().st_ctime
    write(tmp_path, "/dyn/store/meta/assigned", "what is this\n")
    assert look(tmp_path, *argv)["path"] == "/etc/kubelet.yaml"


def test_dropins(tmp_path: Path) -> None:
    write(tmp_path, "/d/10.conf")
    write(tmp_path, "/d/20.conf", "[]\n")
    found = look(tmp_path, dropins=["/d/10.conf", "/d/20.conf"])["dropins"]
    assert found["/d/10.conf"]["maxPods"] == 60 and found["/d/20.conf"] is None
    assert "hunter2" not in str(found)


def test_the_start_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = f"ActiveState=active\nSubState=running\nMainPID={os.getpid()}\nExecMainStartTimestampMonotonic=5000000\n"
    now = {"time": 1000.0, "clock": 25.0}
    monkeypatch.setattr("time.time", lambda: now["time"])
    monkeypatch.setattr("time.clock_gettime", lambda _clock: now["clock"])

    def run(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(list(argv), 0, shown, "")

    assert dropin_look.on_disk([], [], "kubelet.service", str(tmp_path), run)["started"] == 980.0


def test_a_switch_by_drop_in_is_a_change_after_the_start(tmp_path: Path) -> None:
    """The link in the folder stays; what it leads to was renamed. Other drop-ins are those of their owners."""
    write(tmp_path, "/etc/kubelet.yaml")
    write(tmp_path, "/etc/kubelet.d/10.conf")
    staged(tmp_path)
    link = tmp_path / "etc/kubelet.d/90-livenodes-kubelet.conf"
    link.symlink_to("/var/lib/kubelet-config/active/kubelet")
    time.sleep(0.02)
    active = tmp_path / "var/lib/kubelet-config/active"
    target = os.readlink(active)
    active.unlink()
    active.symlink_to(target)
    time.sleep(0.02)
    write(tmp_path, "/etc/kubelet.d/10.conf")
    names = ["/etc/kubelet.d/10.conf", "/etc/kubelet.d/90-livenodes-kubelet.conf"]
    assert look(tmp_path, "--config=/etc/kubelet.yaml", dropins=names)["changed"] == active.lstat().st_ctime
