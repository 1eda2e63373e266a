# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A package upgrade changes the kubelet's unit, and our drop-in repeats a command of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unit
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit_override import Layer
from tests.support.node.systemd_model import FOLDER, KUBEADM, KUBEADM_TEXT, SERVICE, Systemd

ACTIVE = "/var/lib/kubelet-config/active/kubelet"
OURS = f"{FOLDER}/{unit.DROPIN}"
STEP = ("ExecStartPre=-+/bin/sh -c 'guard'",)
TEXTS = {
    "plain": "[Service]\nExecStart=/usr/bin/kubelet --config=/etc/k.yaml --old\n",
    "by a file": "[Service]\nEnvironmentFile=/etc/kubelet.env\nExecStart=/usr/bin/kubelet $ARGS --old\n",
}


@pytest.fixture
def node(tmp_path: Path) -> Systemd:
    node = Systemd(tmp_path)
    node.write("/etc/kubelet.env", "ARGS=--config=/etc/k.yaml\n")
    return node


def loaded(node: Systemd, text: str) -> unit.Unit:
    """Write the unit's own file and let systemd read all."""
    node.write(SERVICE, text)
    return node.load(SERVICE, *([OURS] if (node.root / OURS[1:]).exists() else []))


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("folder", ["", "/store/conf.d"], ids=["checkpoint", "dropin"])
@pytest.mark.parametrize("mounts", ["", "/store"], ids=["former", "with the mount"])
def test_a_changed_command_is_taken_up(node: Systemd, form: str, folder: str, mounts: str) -> None:
    reads = Layer(folder) if folder else ACTIVE
    loaded(node, TEXTS[form]).install(reads, STEP, mounts)
    assert not loaded(node, TEXTS[form]).renew(ACTIVE, folder)

    changed = loaded(node, TEXTS[form].replace("--old", "--new"))
    assert changed.renew(ACTIVE, folder)
    words = changed.next_command().argv
    assert "--new" in words and "--old" not in words
    assert (f"--config-dir={folder}" if folder else f"--config={ACTIVE}") in words
    text = changed.installed() or ""
    assert text.endswith(f"{STEP[0]}\n") and (f"RequiresMountsFor={mounts}\n" in text) == bool(mounts)
    assert not changed.renew(ACTIVE, folder)


def test_other_flags_of_the_variable_of_kubeadm_are_taken_up(node: Systemd) -> None:
    node.kubeadm().install(ACTIVE, STEP)
    node.write(KUBEADM, KUBEADM_TEXT.replace("config.yaml", "config.yaml --v=4"))
    kubelet = node.load(SERVICE, KUBEADM, OURS)
    assert kubelet.renew(ACTIVE)
    assert kubelet.next_command().argv[-1] == f"--config={ACTIVE}" and "--v=4" in kubelet.next_command().argv
    assert not kubelet.renew(ACTIVE)


@pytest.mark.parametrize("folder", ["", "/store/conf.d"], ids=["checkpoint", "dropin"])
def test_nothing_is_asked_before_a_start_while_the_unit_is_the_same(node: Systemd, folder: str) -> None:
    """The system bus may start after the kubelet."""
    for kubelet in (node.kubeadm(), loaded(node, TEXTS["plain"])):
        kubelet.install(Layer(folder) if folder else ACTIVE, STEP)
        node.bus = False
        assert not kubelet.renew(ACTIVE, folder)
        node.bus = True
        kubelet.remove()


def test_a_command_that_no_longer_has_the_variable_of_kubeadm(node: Systemd) -> None:
    node.kubeadm().install(ACTIVE, STEP)
    node.write(KUBEADM, KUBEADM_TEXT.replace("$KUBELET_CONFIG_ARGS", "--config=/etc/k.yaml"))
    kubelet = node.load(SERVICE, KUBEADM, OURS)
    assert kubelet.renew(ACTIVE)
    assert kubelet.next_command().argv[-1] == f"--config={ACTIVE}"


def test_nothing_is_made_anew_without_a_command_of_the_unit(node: Systemd) -> None:
    kubelet = loaded(node, TEXTS["plain"])
    assert not kubelet.renew(ACTIVE), "no drop-in of ours"
    kubelet.install(Layer(), STEP)
    assert not loaded(node, TEXTS["plain"].replace("--old", "--new")).renew(ACTIVE, "/etc/kubelet.conf.d")


def test_edits_that_wait_for_a_reload_are_not_taken_up(node: Systemd) -> None:
    loaded(node, TEXTS["plain"]).install(ACTIVE, STEP)
    kubelet = loaded(node, TEXTS["plain"].replace("--old", "--new"))
    node.properties["NeedDaemonReload"] = "yes"
    assert not kubelet.renew(ACTIVE)


def test_a_unit_that_is_refused_now_keeps_the_former_command(node: Systemd) -> None:
    loaded(node, TEXTS["plain"]).install(ACTIVE, STEP)
    kubelet = loaded(node, "[Service]\nExecStart=/usr/bin/kubelet --v=2\n")
    before = kubelet.installed()
    with pytest.raises(StoreError, match=r"ours stays as it was.*no --config"):
        kubelet.renew(ACTIVE)
    assert kubelet.installed() == before
