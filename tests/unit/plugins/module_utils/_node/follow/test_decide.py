# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a follower does next, what root on its node allows, and what is left of a follower that is removed."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.following import SSH, Answer, Orders
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow import decide, follow_install
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow.decide import (
    ANSWER,
    ASSIGN,
    CONFIRM,
    NOTHING,
    REFUSE,
    RESET,
    RETURN,
    REVERT,
    Action,
    Seen,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow.follow_install import Limits
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_install
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_reporter, textfile
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Moment, Trial
from tests.support.node.stored import source

RETURNED = "its previous source was assigned again"
A, B = source("a"), source("b")
PLACE = {name: A[name] for name in ("namespace", "name", "kubeletConfigKey")}
ON_TRIAL = Trial(B, A, Moment("boot", 1.0, 0.0))
TRIED = ON_TRIAL._replace(failed="no", extra={"attempt": 2})
NAME = ON_TRIAL.name
DONE = Answer(configMap=A, attempt=1)
FIRST = Orders(attempt=1)


@pytest.mark.parametrize(
    ("seen", "expected"),
    [
        # Nothing was ever assigned.
        (Seen(None, Orders(), Answer(), None, None), Action(NOTHING)),
        (Seen(A, FIRST, Answer(), None, None), Action(ASSIGN)),
        (Seen(A, FIRST, DONE, A, None), Action(NOTHING)),
        # By hand, without uid and without orders.
        (Seen(PLACE, Orders(), Answer(configMap=PLACE), A, None), Action(NOTHING)),
        # It was switched before it could answer: its kubelet may still have to be restarted.
        (Seen(B, FIRST, Answer(), B, ON_TRIAL), Action(ASSIGN)),
        # It runs that for long, as a node whose follower was installed after a rollout over ssh.
        (Seen(A, FIRST, Answer(), A, None), Action(ANSWER)),
        # It came with the machine, from a seed: whatever became of it is not tried again.
        (Seen(B, Orders(), Answer(), B, ON_TRIAL._replace(confirmed=True)), Action(ANSWER)),
        (Seen(B, Orders(), Answer(), B, ON_TRIAL._replace(failed="no")), Action(ANSWER)),
        (Seen(B, Orders(attempt=1), Answer(), B, ON_TRIAL._replace(failed="no")), Action(ASSIGN)),
        # Once more after a failure.
        (Seen(B, Orders(attempt=2), Answer(configMap=B, attempt=1), B, ON_TRIAL._replace(failed="no")), Action(ASSIGN)),
        (Seen(A, FIRST, DONE._replace(refused="no"), None, None), Action(NOTHING)),
        # It has failed before it could be answered, and is not tried again for that.
        (Seen(B, Orders(attempt=2), DONE, B, TRIED), Action(REFUSE, "no")),
        (Seen(B, Orders(attempt=3), DONE, B, TRIED), Action(ASSIGN)),
        (Seen(A, Orders(attempt=2), Answer(), B, TRIED), Action(ASSIGN)),
        # Another run has changed the node over ssh.
        (Seen(A, FIRST, DONE, B, None), Action(ASSIGN)),
        (Seen(A, Orders(SSH, 2), DONE, B, None), Action(NOTHING)),
        # It has returned it to its local configuration, as in a migration, and the source goes last.
        (Seen(A, FIRST, DONE, None, None, has_store=True), Action(ASSIGN)),
        (Seen(A, Orders(SSH, 1), DONE, None, None, has_store=True), Action(NOTHING)),
        # The source was removed.
        (Seen(None, Orders(attempt=2), DONE, A, None), Action(RESET)),
        (Seen(None, Orders(attempt=2), Answer(attempt=2), None, None), Action(NOTHING)),
        (Seen(None, Orders(attempt=2), DONE, None, None), Action(ANSWER)),
        # A reset was killed before it had removed the store.
        (Seen(None, Orders(attempt=2), DONE, None, None, has_store=True), Action(RESET)),
        # The Node was created again, or a run over ssh has assigned something since.
        (Seen(None, Orders(), Answer(), A, None), Action(NOTHING)),
        (Seen(None, Orders(attempt=2), Answer(attempt=2), A, None), Action(NOTHING)),
        (Seen(None, Orders(attempt=2), Answer(attempt=2, refused="no"), A, None), Action(NOTHING)),
        # What cannot be read is refused once.
        (Seen(None, FIRST, Answer(), A, None, fault="it is not JSON"), Action(REFUSE, "it is not JSON")),
        (Seen(None, Orders(), Answer(), None, None, fault="it is not JSON"), Action(REFUSE, "it is not JSON")),
        (Seen(None, Orders(), Answer(refused="it is not JSON"), None, None, fault="it is not JSON"), Action(NOTHING)),
        (Seen(A, FIRST, DONE, None, None, is_other_machine=True), Action(REFUSE, decide.REPLACED)),
        # A trial is judged once, and a return to what ran before it is a revert.
        (Seen(B, Orders(trial=NAME), Answer(configMap=B), B, ON_TRIAL), Action(CONFIRM)),
        (Seen(B, Orders(trial=NAME, reason="slow"), Answer(configMap=B), B, ON_TRIAL), Action(REVERT, "slow")),
        (Seen(B, Orders(trial=NAME), Answer(configMap=B, judged=NAME), B, ON_TRIAL), Action(NOTHING)),
        (Seen(A, FIRST, Answer(configMap=B), B, ON_TRIAL), Action(RETURN, RETURNED)),
        # By hand, and after a verdict on an earlier trial.
        (Seen(PLACE, Orders(trial="t"), Answer(configMap=B, judged="t"), B, ON_TRIAL), Action(RETURN, RETURNED)),
        (Seen(A, FIRST, DONE, B, ON_TRIAL._replace(failed=RETURNED)), Action(NOTHING)),
        (Seen(A, FIRST, Answer(configMap=B), B, ON_TRIAL._replace(confirmed=True)), Action(ASSIGN)),
        (Seen(A, FIRST, Answer(configMap=B), B, ON_TRIAL._replace(failed="no")), Action(ASSIGN)),
    ],
)
def test_what_a_follower_does_next(seen: Seen, expected: Action) -> None:
    assert decide.action(seen) == expected


@pytest.mark.parametrize(
    ("namespace", "labels", "refused"),
    [
        ("kube-system", {"app.kubernetes.io/managed-by": "livenodes.kubelet"}, ""),
        ("kube-system", {}, "no label"),
        ("default", {"app.kubernetes.io/managed-by": "livenodes.kubelet"}, "namespace kube-system only"),
    ],
)
def test_which_configmaps_a_node_takes(namespace: str, labels: dict[str, str], refused: str) -> None:
    found = Limits().of_source({**A, "namespace": namespace}, labels)
    assert refused in found and bool(found) is bool(refused)


@pytest.mark.parametrize(
    ("after", "allowed", "refused"),
    [
        ({"maxPods": 50}, "disrupt", []),
        ({"maxPods": 50}, "safe", ["maxPods"]),
        ({"cpuManagerPolicy": "static"}, "disrupt", ["cpuManagerPolicy"]),
        ({"cpuManagerPolicy": "static"}, "reboot", []),
        # No limit allows what must not change on a live node.
        ({"podCIDR": "10.0.0.0/24"}, "reboot", ["podCIDR"]),
    ],
)
def test_which_changes_a_node_takes(after: dict[str, t.Any], allowed: str, refused: list[str]) -> None:
    reasons = Limits(effect=allowed).of_changes({}, after, 30)
    assert [reason.partition(":")[0] for reason in reasons] == refused


FACTS = {
    "kubelet": {"local_config": "/own"},
    "own": [{"path": "/own", "content": {"maxPods": 100}}, {"path": "/more", "content": {"kubeAPIQPS": 9}}],
}


@pytest.mark.parametrize(
    ("active", "whole", "expected"),
    [
        (None, True, {"maxPods": 100, "kubeAPIQPS": 9}),
        ({"maxPods": 60}, True, {"maxPods": 60, "kubeAPIQPS": None}),
        ({"maxPods": 60}, False, {"maxPods": 60, "kubeAPIQPS": 9}),
    ],
)
def test_what_a_kubelet_runs(active: dict[str, t.Any] | None, whole: bool, expected: dict[str, t.Any]) -> None:
    found = follow_install.running(FACTS, active, whole, 32)
    assert {name: found.get(name) for name in expected} == expected


def test_limits_are_read_as_they_were_set(tmp_path: Path) -> None:
    node = {"unit": "kubelet.service", "state_files": "keep", "dropin_dir": None, "metrics_dir": None}
    allowed = {"allow_pending_edits": False, "allow_unchecked": True, "allow_offline_guard": False}
    options = {"namespace": "kubelets", "effect": "drain", **node, **allowed}
    (tmp_path / "guard").mkdir(mode=0o700)
    path = tmp_path / "guard/settings.json"
    path.write_text(json.dumps({"argv": [], "follow": follow_install.limits_setting(options)}))
    found = follow_install.read_limits(str(tmp_path))
    assert found is not None and (found.namespace, found.effect) == ("kubelets", "drain")
    assert found.options["allow_unchecked"] is True and "dropin_dir" not in found.options
    for damaged in ({}, {"follow": []}, {"follow": {"effect": "all"}}, {"follow": {"effect": "safe"}}):
        path.write_text(json.dumps(damaged))
        assert follow_install.read_limits(str(tmp_path)) is None


class Installed:
    """A follower on a node without a store, and what its removal has done."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.done: list[t.Any] = []
        (folder / "guard").mkdir(mode=0o700)
        settings = {"argv": ["/kubelet"], "metrics": str(folder), "follow": {}}
        (folder / "guard/settings.json").write_text(json.dumps(settings))
        textfile.write(str(folder), "up 1\n")
        monkeypatch.setattr(follow_install, "SERVICE_PATH", str(folder / "none"))
        monkeypatch.setattr(guard_install, "FOLLOWER_PATH", str(folder / "none"))
        monkeypatch.setattr(status_reporter, "withdraw", lambda *_given: [])
        monkeypatch.setattr(guard_install, "present", lambda *given: self.done.append(given[2]))
        monkeypatch.setattr(guard_install, "absent", lambda *_given: self.done.append("guard"))

    def installed(self) -> None:
        """Return the drop-in of the kubelet's unit: there is none."""

    def run(self, _argv: t.Sequence[str]) -> None:
        """Do nothing."""

    def pid(self) -> int:
        return 0

    def remove(self) -> dict[str, t.Any]:
        return follow_install.absent({"config_dir": str(self.folder)}, False, t.cast("t.Any", self))

    def restore(self, check: bool = False) -> dict[str, t.Any]:
        return follow_install.restored(str(self.folder), t.cast("t.Any", self), check)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    return Installed(tmp_path, monkeypatch)


def test_a_change_over_ssh_restores_the_service_of_the_follower(
    node: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A person has edited or removed it. What is as it should be stays, and so does a node without a follower."""
    service, wanted_by = node.folder / "follow.service", node.folder / "wanted-by"
    monkeypatch.setattr(follow_install, "SERVICE_PATH", str(service))
    monkeypatch.setattr(follow_install, "WANTED_BY", str(wanted_by))
    calls: list[t.Any] = []
    monkeypatch.setattr(node, "run", calls.append)
    for damage in (lambda: None, lambda: service.write_text("edited"), wanted_by.unlink, service.unlink):
        damage()
        calls.clear()
        assert node.restore(check=True)["changed"] and calls == []
        assert node.restore() == {"changed": True, "warnings": []}
        assert service.read_text() == follow_install.service_text(str(node.folder)) and wanted_by.is_symlink()
        assert calls[-1] == ["systemctl", "restart", "--no-block", follow_install.SERVICE]
        calls.clear()
        assert node.restore() == {"changed": False, "warnings": []} and calls == []
    service.chmod(0o666)
    assert "others may write to it" in node.restore()["warnings"][0]
    (node.folder / "guard/settings.json").write_text("{}")
    found = node.restore()
    assert not found["changed"] and "guard/settings.json" in found["warnings"][0]
    assert "run the playbook follow" in found["warnings"][0]
    service.unlink()
    assert node.restore() == {"changed": False, "warnings": []}


def test_the_metrics_go_with_the_guard(node: Installed) -> None:
    """Else node_exporter would show them for ever."""
    assert node.remove() == {"changed": True, "warnings": []}
    assert node.done[-1] == "guard" and not textfile.exists(str(node.folder))


def test_annotations_that_stay_are_removed_by_the_next_run(node: Installed, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller would wait for the answers of a follower that is gone. Of an agent, the credentials are in its
    folder.
    """
    path = node.folder / "guard/settings.json"
    known = path.read_text()
    path.write_text(json.dumps({**json.loads(known), "folder": "/r/agent/etc/kubelet.conf.d"}))
    with monkeypatch.context() as away:
        away.setattr(status_reporter, "withdraw", lambda argv, *_given: [f"it stays: {argv[-1]}"])
        assert node.remove()["warnings"] == ["it stays: --kubeconfig=/r/agent/kubelet.kubeconfig"] and node.done == []
    path.write_text(known)
    assert node.remove() == {"changed": True, "warnings": []}
    assert node.done == [{"argv": ["/kubelet"], "metrics": str(node.folder)}, "guard"]
