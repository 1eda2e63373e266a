# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet runs, and what its unit's files have."""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.short_texts import flag
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unit
from tests.support.node.systemd_model import FOLDER, KUBEADM, SERVICE, Systemd

ACTIVE = "/var/lib/kubelet-config/active/kubelet"


def test_the_running_kubelet_wins_over_all_files(node: Systemd) -> None:
    kubelet = node.kubeadm()
    node.properties["MainPID"] = "72"
    node.write("/proc/72/cmdline", b"/usr/bin/kubelet\0--config=/x\0--node-labels=a b\0\0")
    assert kubelet.command() == unit.Command(["/usr/bin/kubelet", "--config=/x", "--node-labels=a b", ""], "process")


def test_for_a_kubelet_that_is_down_systemd_shows_what_it_would_run(node: Systemd) -> None:
    kubelet = node.kubeadm()
    assert kubelet.command() == unit.Command(
        [
            "/usr/bin/kubelet",
            "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf",
            "--kubeconfig=/etc/kubernetes/kubelet.conf",
            "--config=/var/lib/kubelet/config.yaml",
            "--container-runtime-endpoint=unix:///run/containerd/containerd.sock",
            "--max-pods=61",
            "--v=2",
        ],
        "systemd",
    )
    assert node.count("systemd-run") == 1
    kubelet.own_words()
    assert node.count("systemd-run") == 1, "asked once"


def test_what_a_start_lacks(node: Systemd) -> None:
    node.write(SERVICE, "[Service]\nEnvironmentFile=-/e/a\nEnvironmentFile=/e/*.env\nExecStart=/usr/bin/kubelet $A\n")
    kubelet = node.load(SERVICE)
    assert kubelet.lacking() == "/e/*.env"
    node.write("/e/b.env", "A=--v=2\n")
    assert not kubelet.lacking()
    node.properties["LoadState"] = "not-found"
    kubelet.show(fresh=True)
    assert kubelet.lacking() == "kubelet.service"


def test_without_a_bus_the_unit_is_refused(node: Systemd) -> None:
    node.bus = False
    kubelet = node.kubeadm()
    node.properties["NeedDaemonReload"] = "yes"
    node.properties["MainPID"] = "72"
    node.write("/proc/72/cmdline", b"/usr/bin/kubelet\0--config=/x\0")
    with pytest.raises(unit.UnitError, match=r"does not show what systemd would start\. Start the system bus"):
        kubelet.next_command()
    assert kubelet.form().kind == "refused" and "Start the system bus" in kubelet.form().reason
    assert kubelet.command() == unit.Command(["/usr/bin/kubelet", "--config=/x"], "process")
    node.write(f"{FOLDER}/{unit.DROPIN}", "[Service]\n")
    node.properties["DropInPaths"] += f" {FOLDER}/{unit.DROPIN}"
    assert kubelet.show(fresh=True) and not kubelet.unread()


@pytest.mark.parametrize(
    ("folder", "path"),
    [("", "/k.yaml"), ("/etc", "/etc/k.yaml"), ("!/etc/k", "/etc/k/k.yaml"), ("~", "/root/k.yaml")],
)
def test_a_relative_config_file_is_that_of_the_working_directory(node: Systemd, folder: str, path: str) -> None:
    node.write(SERVICE, "[Service]\nExecStart=/usr/bin/kubelet --config k.yaml --v=2\n")
    node.properties["WorkingDirectory"] = folder
    kubelet = node.load(SERVICE)
    assert kubelet.next_command().argv == ["/usr/bin/kubelet", f"--config={path}", "--v=2"]
    assert kubelet.form().config == path
    kubelet.install(ACTIVE)
    assert (kubelet.form().config, flag(kubelet.next_command().argv, "config")) == (path, ACTIVE)


def test_a_running_kubelet_opens_a_relative_path_in_its_own_folder(node: Systemd) -> None:
    kubelet = node.kubeadm()
    node.properties["MainPID"] = "72"
    node.write("/proc/72/cmdline", b"/usr/bin/kubelet\0--config=a/k.yaml\0--config-dir\0k.d/\0--kubeconfig=k\0")
    (node.root / "proc/72/cwd").symlink_to("/srv")
    found = ["--config=/srv/a/k.yaml", "--config-dir=/srv/k.d/", "--kubeconfig=/srv/k"]
    assert kubelet.argv() == ["/usr/bin/kubelet", *found]


def test_the_own_config_file_is_not_that_of_an_unused_variable(node: Systemd) -> None:
    """A reset would put the other file on trial."""
    node.kubeadm()
    other = f"{FOLDER}/20-former.conf"
    node.write(other, '[Service]\nEnvironment="KUBELET_FORMER_ARGS=--config=/etc/former.yaml"\n')
    kubelet = node.load(SERVICE, KUBEADM, other)
    before = kubelet.form()
    kubelet.install(ACTIVE)
    assert kubelet.form() == before and before.config == "/var/lib/kubelet/config.yaml"


def test_a_program_without_a_path_is_where_systemd_finds_it(node: Systemd) -> None:
    node.write(SERVICE, "[Service]\nExecStart=kubelet --config=/k.yaml\n")
    kubelet = node.load(SERVICE)
    assert (kubelet.program(), kubelet.form().kind) == ("/usr/bin/kubelet", "plain")


def test_a_shadowing_flag_is_found_in_its_file(node: Systemd) -> None:
    kubelet = node.kubeadm(default="# here\nKUBELET_EXTRA_ARGS=--max-pods 61 --feature-gates=A=true\n")
    place = {"file": "/etc/default/kubelet", "line": 2}
    assert kubelet.shadowed(20, kubelet.argv()) == {
        "maxPods": {"flag": "--max-pods=61", **place},
        "featureGates.A": {"flag": "--feature-gates=A=true", **place},
    }
    found = kubelet.shadowed(20, ["/usr/bin/kubelet", "--max-pods=99"])
    assert found == {"maxPods": {"flag": "--max-pods=99", "file": None, "line": None}}


@pytest.mark.parametrize("installed", [False, True], ids=["", "with our drop-in"])
def test_files_that_systemd_has_not_read_yet(node: Systemd, installed: bool) -> None:
    kubelet = node.kubeadm()
    assert not kubelet.unread()
    if installed:
        kubelet.install(ACTIVE)
    node.properties["NeedDaemonReload"] = "yes"
    assert kubelet.show(fresh=True) and kubelet.unread()


def test_our_own_drop_in_that_systemd_has_not_read_is_no_edit(node: Systemd) -> None:
    kubelet = node.kubeadm()
    node.write(f"{FOLDER}/{unit.DROPIN}", kubelet.dropin(ACTIVE))
    node.properties["NeedDaemonReload"] = "yes"
    assert kubelet.show(fresh=True) and not kubelet.unread(), "written"
    kubelet.install(ACTIVE)
    node.write(f"{FOLDER}/{unit.DROPIN}", kubelet.dropin(f"{ACTIVE}2"))
    assert kubelet.show(fresh=True) and not kubelet.unread(), "written again"
    (node.root / FOLDER[1:] / unit.DROPIN).unlink()
    assert kubelet.show(fresh=True) and not kubelet.unread(), "removed"


def test_without_systemd_an_error_names_the_cause(tmp_path: Path) -> None:
    def none(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(list(argv), 127, "", "No such file: 'systemctl'.\n")

    with pytest.raises(unit.UnitError, match=r"'systemctl'\. The kubelet must be run by systemd"):
        unit.Unit(root=str(tmp_path), run=none).show()
