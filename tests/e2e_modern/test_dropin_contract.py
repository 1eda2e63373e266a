# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the real kubelet does with its drop-in folder: the contract that delivery `dropin` builds on.

`tests/contract/dropin_rules.py` has the rules that also hold on the simulation. A new minor that differs fails here.
`_config/fields/merged_dropins.py` models these rows, and must agree with the
kubelet about every field.
"""

from __future__ import annotations

import typing as t

import pytest

from tests.contract.dropin_rules import (  # noqa: F401  # pylint: disable=unused-import  # tests
    test_flags_win_over_all,
    test_json_is_taken,
    test_what_ends_the_kubelet,
    test_what_is_live,
)
from tests.lab import releases
from tests.lab.lab import Lab
from tests.support.lab.borrowed_lab import need
from tests.support.lab_node.dropin_node import FOLDER, DropinNode, dropin


@pytest.fixture(scope="module", params=["newest", pytest.param("earlier", marks=pytest.mark.long)])
def node(request: pytest.FixtureRequest, lab: Lab) -> t.Iterator[DropinNode]:
    """Yield a node with a folder of its own, with the newest release and with the earlier one."""
    newest = lab.node("n3").release.version
    if request.param == "earlier":
        need((releases.EARLIER,))
        lab.upgrade("n3", releases.EARLIER)
    node = DropinNode(lab, "n3")
    try:
        node.bench.wait(node.bench.healthy, 60, "healthz")
        node.open()
        yield node
    finally:
        # These are the files of the same version.
        node.close()
        if request.param == "earlier":
            lab.upgrade("n3", newest)
            node.bench.wait(node.bench.healthy, 60, "healthz of the newest version")


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
