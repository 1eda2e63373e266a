# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.filter import checkpoint
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import push

AWAY = {"failed": True, "state": "unreachable", "msg": "its host cannot be reached: no route."}
NO_HOST = "Node n1 was not {}: its host cannot be reached: no route. If the {} had begun, the guard reverts it"


def test_the_text_is_that_of_a_push() -> None:
    config = {"maxPods": 1, "clusterDomain": "b\u00fccher.example", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
    assert checkpoint.config_text(config) == push.document.render(config)
    assert "b\u00fccher" in checkpoint.config_text(config)


@pytest.mark.parametrize(
    ("reason", "assigned", "reverted", "expected"),
    [
        (AWAY["msg"], AWAY, {}, NO_HOST.format("switched", "switch")),
        (
            "x",
            {"reasons": ["maxPods is refused.", "another"], "restart_needed": False},
            # From an earlier switch of this host.
            {"changed": True, "error": "old"},
            "Node n1: maxPods is refused; another. Nothing was changed.",
        ),
        (
            "Node n1: installing the guard failed: disk full.",
            {"failed": True, "msg": "installing the guard failed: disk full."},
            {"changed": False, "error": "an earlier one"},
            "Node n1 was not switched and keeps its configuration: installing the guard failed: disk full",
        ),
        (
            "it did not stay up",
            {"restart_needed": True, "reasons": []},
            {"changed": True, "error": "it did not stay up: invalid"},
            "Node n1 was reverted to its previous configuration: it did not stay up: invalid",
        ),
        (
            "it did not stay up",
            {"restart_needed": True, "reasons": []},
            {"changed": False, "error": "reverted by the guard"},
            "Node n1 was reverted to its previous configuration: reverted by the guard",
        ),
        (
            "cannot be confirmed",
            {"changed": True, "restart_needed": False, "reasons": []},
            {"changed": False, "error": ""},
            "Node n1 was not switched and keeps its configuration: cannot be confirmed",
        ),
        ("a", None, None, "Node n1 was not switched and keeps its configuration: a"),
    ],
    ids=["unreachable", "refused", "failed before", "reverted", "reverted by the guard", "only the guard", "no result"],
)
def test_why_a_node_was_not_switched(reason: str, assigned: t.Any, reverted: t.Any, expected: str) -> None:
    assert checkpoint.switch_failure(reason, "n1", "host-1", assigned, reverted) == expected


TRIAL = {"to": None, "failed": ""}


@pytest.mark.parametrize(
    ("reason", "reset", "reverted", "expected"),
    [
        (AWAY["msg"], AWAY, {}, NO_HOST.format("reset", "reset")),
        ("x", {"reasons": ["refused"]}, {}, "Node n1: refused. Nothing was changed."),
        (
            "host-1: updating failed: x",
            {"failed": True},
            {"changed": True},
            "Node n1 was not reset: updating failed: x",
        ),
        (
            "it did not stay up",
            {"reasons": [], "trial": TRIAL},
            {"changed": True, "error": "it did not stay up"},
            "Node n1 was not reset, and was reverted to its previous configuration: it did not stay up",
        ),
        (
            "cannot be confirmed",
            {"reasons": [], "trial": TRIAL},
            {"changed": False, "error": "it ended", "trial": {**TRIAL, "failed": "it ended"}},
            "Node n1 was not reset, and was reverted to its previous configuration: it ended",
        ),
        (
            "removing the guard failed: it did not start. The drop-in was restored.",
            {"reasons": [], "trial": TRIAL},
            {"changed": False, "error": "", "trial": None},
            "Node n1 was not reset: removing the guard failed: it did not start. The drop-in was restored",
        ),
        (
            "removing the guard failed: x",
            {"reasons": [], "trial": None},
            {"changed": True},
            "Node n1 was not reset: removing the guard failed: x",
        ),
    ],
    ids=["unreachable", "refused", "failed before", "reverted", "reverted by the guard", "confirmed", "no trial"],
)
def test_why_a_node_was_not_reset(reason: str, reset: t.Any, reverted: t.Any, expected: str) -> None:
    assert checkpoint.reset_failure(reason, "n1", "host-1", reset, reverted) == expected


GOES_ON = "The guard on the node continues the revert. If the Node does not become Ready, see "


@pytest.mark.parametrize(
    ("reason", "why", "reverted", "expected"),
    [
        (
            "kubelet.service: systemctl restart failed (Unit kubelet.service is masked.).",
            "kubelet.service: systemctl restart failed (Unit kubelet.service is masked.).",
            {"changed": True, "error": "it did not stay up"},
            "Node n1 does not run with its previous configuration: kubelet.service: systemctl restart failed (Unit "
            "kubelet.service is masked.). The reason for the revert: it did not stay up. ",
        ),
        (
            "/var/lib/kubelet-config has been in use by process 7 for 30 s: end it, then run again",
            "Node n1: it did not stay up.",
            {"failed": True},
            "Node n1 was not reverted: /var/lib/kubelet-config has been in use by process 7 for 30 s: end it, then run "
            "again. The reason for the revert: it did not stay up. ",
        ),
        ("a", "a", None, "Node n1 was not reverted: a. The guard "),
        ("", "", {}, "Node n1 was not reverted: the task that failed reported no reason. The guard "),
    ],
    ids=["restart", "lock", "evaluated late", "no result"],
)
def test_why_a_node_was_not_reverted(reason: str, why: str, reverted: t.Any, expected: str) -> None:
    message = checkpoint.revert_failure(reason, "n1", "host-1", why, reverted)
    assert message.startswith(expected) and GOES_ON in message
