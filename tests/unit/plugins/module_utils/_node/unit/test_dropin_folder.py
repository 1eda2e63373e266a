# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which drop-in folder a kubelet reads, and our link in it."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store, take
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import dropin_folder

OURS = "/store/conf.d"


@pytest.mark.parametrize(
    ("words", "given", "path", "source", "other"),
    [
        ([], "", OURS, "us", ""),
        (["--config-dir=/a", "--config-dir", "/b"], "", "/b", "unit", ""),
        (["--config-dir=/b/"], "", "/b/", "unit", ""),
        ([], "/c", "/c", "option", ""),
        (["--config-dir=/c/"], "/c", "/c/", "unit", ""),
        (["--config-dir=/b"], "/c", "/c", "option", "/b"),
    ],
)
def test_which_folder(words: list[str], given: str, path: str, source: str, other: str) -> None:
    found = dropin_folder.find(["/usr/bin/kubelet", *words], given, "/store", "/nowhere")
    assert (found.path, found.source, found.other) == (path, source, other)
    assert found.added == ("" if source == "unit" else path) and not found.exists


AGENT = "/data/agent/etc/kubelet.conf.d"
ADDED = ["--kubeconfig=/data/agent/kubelet.kubeconfig"]


@pytest.mark.parametrize(
    ("words", "settings", "added"),
    [
        # k3s is the kubelet; RKE2 starts it later.
        (["k3s", "agent"], {"folder": AGENT}, ADDED),
        (["rke2", "agent"], {"folder": f"{AGENT}/"}, ADDED),
        # Nothing was assigned to the node of a follower yet.
        (["k3s", "agent"], {"follow": {"options": {"dropin_dir": AGENT}}}, ADDED),
        (["kubelet", "--kubeconfig=/k"], {"folder": AGENT}, []),
        # A kubelet without a cluster.
        (["kubelet"], {"folder": "/etc/kubernetes/kubelet.conf.d"}, []),
        (["kubelet"], {}, []),
    ],
)
def test_the_credentials_of_an_agent(words: list[str], settings: dict[str, t.Any], added: list[str]) -> None:
    assert dropin_folder.with_kubeconfig(words, settings) == [*words, *added]


def test_a_folder_that_is_a_link_is_ignored_without_a_slash(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/1.conf").touch()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for name, ignored in (("real", False), ("link", True), ("link/", False)):
        found = dropin_folder.find([f"--config-dir={tmp_path}/{name}"], "", "/store")
        assert (found.exists, found.ignored) == (True, ignored)
        assert len(dropin_folder.listed(f"{tmp_path}/{name}")) == (0 if ignored else 1)


def test_the_others_and_those_after_ours(tmp_path: Path) -> None:
    names = ["10.conf", "90-livenodes-kubelet/1.conf", "95.conf", "sub/1.conf"]
    for name in (*names, dropin_folder.LINK, "notes"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(name)
    found = dropin_folder.others(f"{tmp_path}/")
    assert [os.path.relpath(path, tmp_path) for path in found] == names
    assert dropin_folder.after_ours(str(tmp_path), found) == found[2:]
    beneath = dropin_folder.beneath([f"--config={tmp_path}/notes"], str(tmp_path))
    assert (beneath.base, beneath.name) == ("notes", dropin_folder.LINK)
    assert beneath.others["90-livenodes-kubelet/1.conf"] == "90-livenodes-kubelet/1.conf"
    assert dropin_folder.beneath([], str(tmp_path)).base is None
    with pytest.raises(OSError, match="No such file"):
        dropin_folder.beneath(["--config=/no/such/file"], str(tmp_path))


def test_the_link_is_made_without_a_temporary_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kubelet reads every `*.conf`, whatever its name begins with."""
    monkeypatch.setattr(files.OS, "rename", lambda *_paths: pytest.fail("no rename"))
    config_dir = str(tmp_path)
    folder = dropin_folder.find([], "", config_dir)
    assert dropin_folder.leads(folder, "/x") is False
    assert dropin_folder.make(folder, "/x", config_dir) and not dropin_folder.make(folder, "/x", config_dir)
    assert os.listdir(folder.path) == [dropin_folder.LINK] and dropin_folder.leads(folder, "/x") is True
    assert dropin_folder.make(folder, "/y", config_dir) and os.readlink(folder.link) == "/y"
    assert dropin_folder.remove(folder.link) and not dropin_folder.remove(folder.link)


def test_a_file_of_that_name_is_not_ours(tmp_path: Path) -> None:
    folder = dropin_folder.find([f"--config-dir={tmp_path}"], "", "/store")
    Path(folder.link).write_text("theirs")
    assert dropin_folder.leads(folder, "/x") is None and not dropin_folder.remove(folder.link)
    with pytest.raises(files.FileError, match="cannot create the link: File exists; something else has this name"):
        dropin_folder.make(folder, "/x", "/store")
    assert Path(folder.link).read_text() == "theirs"


@pytest.mark.parametrize("planted", ["/etc/shadow", "elsewhere", "/no/such/file", "90-livenodes-kubelet.conf"])
def test_a_link_of_that_name_that_leads_elsewhere_is_replaced(tmp_path: Path, planted: str) -> None:
    """What it leads to is neither read nor written."""
    folder = dropin_folder.find([f"--config-dir={tmp_path}"], "", "/store")
    Path(folder.link).symlink_to(planted)
    assert dropin_folder.leads(folder, "/store/active/kubelet") is False
    assert dropin_folder.make(folder, "/store/active/kubelet", "/store")
    assert os.readlink(folder.link) == "/store/active/kubelet" and os.listdir(tmp_path) == [dropin_folder.LINK]


def test_a_link_that_appears_during_the_change_is_not_followed(tmp_path: Path) -> None:
    """Between the removal of one link and the creation of ours, another one takes the name."""
    folder = dropin_folder.find([f"--config-dir={tmp_path}"], "", "/store")
    Path(folder.link).symlink_to("/one")

    class Raced(files.OS):
        def unlink(self, path: str) -> None:
            super().unlink(path)
            os.symlink("/etc/shadow", path)

    with pytest.raises(files.FileError, match="something else has this name: find out what made it"):
        dropin_folder.make(folder, "/store/active/kubelet", "/store", Raced())
    assert os.readlink(folder.link) == "/etc/shadow"


def test_the_local_configuration_of_a_store_tells_its_delivery(tmp_path: Path) -> None:
    """Where a checkpoint replaced the node's own file, its copy gives way to an empty override."""
    own, link = tmp_path / "own.yaml", f"{tmp_path}/conf.d/{dropin_folder.LINK}"
    own.write_text("kind: KubeletConfiguration\nmaxPods: 5\n")
    store = Store(str(tmp_path / "store"))
    assert dropin_folder.installed(store.config_dir) == ""
    store.remember_local({str(own): take(str(own))}, str(own))
    store.settle()
    assert dropin_folder.installed(store.config_dir) == ""
    assert store.lay_over(link) and not store.lay_over(link)
    assert dropin_folder.installed(store.config_dir) == link and store.usable()
    assert "maxPods" not in Path(store.active, "kubelet").read_text()
    # A store that was lost is made anew with the same.
    files.remove_folder(store.folder)
    store.renew_local(link, "kubelet")
    assert dropin_folder.installed(store.config_dir) == link and "kind" in Path(store.active, "kubelet").read_text()
