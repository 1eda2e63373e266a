# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Our drop-in is installed and removed."""

from __future__ import annotations

import subprocess
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unit
from tests.support.systemd_model import FOLDER, PLAIN_TEXT, SERVICE, Systemd, config_of

ACTIVE = "/var/lib/kubelet-config/active/kubelet"


def test_install_and_remove_reload_only_when_something_changed(node: Systemd) -> None:
    kubelet = node.kubeadm()
    assert kubelet.install(ACTIVE) is True
    place = node.root / FOLDER[1:] / unit.DROPIN
    assert place.stat().st_mode & 0o777 == 0o644
    assert kubelet.installed() == kubelet.dropin(ACTIVE)
    assert config_of(kubelet.next_command().argv) == ACTIVE
    assert kubelet.install(ACTIVE) is False
    assert node.count("systemctl", "daemon-reload") == 1
    assert kubelet.remove() is True
    assert kubelet.remove() is False
    assert node.count("systemctl", "daemon-reload") == 2
    assert sorted(path.name for path in place.parent.iterdir()) == ["10-kubeadm.conf"]
    assert kubelet.installed() is None


def test_a_run_that_was_cut_off_before_the_reload_is_completed(node: Systemd) -> None:
    kubelet = node.kubeadm()
    text = kubelet.dropin(ACTIVE)
    place = node.root / FOLDER[1:] / unit.DROPIN
    node.write(f"{FOLDER}/{unit.DROPIN}", text)
    assert kubelet.install(ACTIVE) is False, "written, not loaded"
    assert config_of(kubelet.next_command().argv) == ACTIVE
    place.write_text(text.replace("active", "other"))
    node.properties["NeedDaemonReload"] = "yes"
    assert kubelet.install(ACTIVE) is True, "rewritten, not loaded"
    node.properties["NeedDaemonReload"] = "no"
    place.unlink()
    before = node.count("systemctl", "daemon-reload")
    assert kubelet.remove() is False, "removed, still loaded"
    assert node.count("systemctl", "daemon-reload") == before + 1
    assert config_of(kubelet.next_command().argv) == "/var/lib/kubelet/config.yaml"


def test_unit_files_of_others_are_not_reloaded(node: Systemd) -> None:
    kubelet = node.kubeadm()
    node.properties["NeedDaemonReload"] = "yes"
    assert kubelet.remove() is False
    assert node.count("systemctl", "daemon-reload") == 0


def test_a_folder_that_was_made_is_removed(node: Systemd) -> None:
    node.write(SERVICE, PLAIN_TEXT.format(config="/etc/kubelet.yaml"))
    kubelet = node.load(SERVICE)
    assert kubelet.install(ACTIVE) and not kubelet.install(ACTIVE)
    assert kubelet.install(f"{ACTIVE}2"), "another path is another drop-in"
    assert kubelet.remove()
    assert not (node.root / FOLDER[1:]).exists()


def test_a_dropin_without_effect_is_removed_again(node: Systemd) -> None:
    kubelet = node.kubeadm()
    node.properties["NeedDaemonReload"] = "no"
    original = node.run

    def deaf(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        return (
            subprocess.CompletedProcess(list(argv), 0, "", "") if list(argv)[1] == "daemon-reload" else original(argv)
        )

    kubelet.run = deaf
    with pytest.raises(
        unit.UnitError, match="has no effect and was removed: the kubelet would read /var/lib/kubelet/config"
    ):
        kubelet.install(ACTIVE)
    assert kubelet.installed() is None
