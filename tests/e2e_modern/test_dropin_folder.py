# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which drop-in folder the real kubelet reads, and how a link switches a drop-in: delivery `dropin` builds on both."""

from __future__ import annotations

import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support.lab_node.dropin_node import FOLDER, DropinNode, dropin, with_folder


@pytest.fixture(scope="module", params=["newest", pytest.param("earlier", marks=pytest.mark.long)])
def node(request: pytest.FixtureRequest, lab: Lab) -> t.Iterator[DropinNode]:
    with with_folder(lab, "n3", request.param) as found:
        yield found


def test_a_link_to_a_file_is_followed_and_renamed(node: DropinNode) -> None:
    """One rename of the link switches."""
    node.write({}, {})
    for name, pods in (("one", 74), ("two", 75)):
        node.run(f"mkdir -p /root/{name}; cat > /root/{name}/kubelet", stdin=dropin({"maxPods": pods}))
    node.run(f"ln -s /root/one/kubelet {FOLDER}/90-x.conf")
    assert node.live()["maxPods"] == 74
    node.run(f"ln -s /root/two/kubelet {FOLDER}/.next && mv -T {FOLDER}/.next {FOLDER}/90-x.conf")
    assert node.live()["maxPods"] == 75
    # As in the store: the link of the folder leads through another link.
    node.run(f"ln -sfn /root/one /root/active; ln -sfn /root/active/kubelet {FOLDER}/90-x.conf")
    assert node.live()["maxPods"] == 74
    node.run("rm -rf /root/one /root/two /root/active")


def test_a_folder_that_is_a_link_needs_a_slash(node: DropinNode) -> None:
    """Without it the kubelet ignores the folder and logs nothing about it."""
    node.write({}, {"1.conf": dropin({"maxPods": 76})})
    node.run(f"ln -sfn {FOLDER} /root/folder")
    try:
        node.name("--config-dir=/root/folder")
        assert node.live()["maxPods"] == 110
        node.name("--config-dir=/root/folder/")
        assert node.live()["maxPods"] == 76
    finally:
        node.name(f"--config-dir={FOLDER}")
        node.run("rm -f /root/folder")


def test_the_last_config_dir_alone_counts(node: DropinNode) -> None:
    node.write({}, {"1.conf": dropin({"maxPods": 77, "kubeAPIQPS": 7})})
    node.run("mkdir -p /root/last; cat > /root/last/1.conf", stdin=dropin({"maxPods": 78}))
    try:
        node.name(f"--config-dir={FOLDER}", "--config-dir=/root/last")
        live = node.live()
        assert live["maxPods"] == 78 and live["kubeAPIQPS"] == 50
    finally:
        node.name(f"--config-dir={FOLDER}")
        node.run("rm -rf /root/last")
