# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet's binary was replaced: its first start runs what it accepts, also on a full disk."""

from __future__ import annotations

import contextlib
import os
import types
import typing as t
from pathlib import Path
from unittest import mock

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.base import Host
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.judging import Reverts
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.new_binary import MOST_UNANSWERED
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import local, statefiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Progress, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import binary, files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unit
from tests.support.node import replaced_binary
from tests.support.node.guard_node import LOCAL, NEW, OTHER, SOURCE, Node
from tests.support.node.replaced_binary import NEW_VERSION, OLD_VERSION, WORDS, Kubelet, on_trial

OTHERS = "store/checkpoints/u2/1"


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return replaced_binary.with_good(tmp_path)


@pytest.fixture(autouse=True)
def kubelet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kubelet:
    return replaced_binary.replaceable(tmp_path, monkeypatch)


def config(node: Node) -> str:
    return Path(node.store.active, "kubelet").read_text()


def test_it_is_not_asked_while_it_is_the_same(node: Node, kubelet: Kubelet) -> None:
    for _start in range(3):
        node.start()
    assert (kubelet.asked, node.ran) == ([], [NEW] * 4)
    kubelet.replace(NEW_VERSION)
    for _start in range(3):
        node.start()
    assert kubelet.asked == ["{FIRST: 1}"]


def test_a_binary_that_a_new_guard_finds_verified_is_no_news(node: Node, kubelet: Kubelet) -> None:
    Path(node.store.folder, "binary").unlink()
    Path(node.guard().records.report_path).unlink(missing_ok=True)
    node.properties.update(ActiveState="activating", SubState="start-pre")
    assert not node.guard().prestart() and kubelet.asked == []
    # Another version than the controller has asked.
    kubelet.version = NEW_VERSION
    Path(node.store.folder, "binary").unlink()
    node.guard().prestart()
    assert kubelet.asked


def test_what_it_accepts_is_tied_to_its_version(node: Node, kubelet: Kubelet) -> None:
    node.assign(OTHER, kubelet_version=OLD_VERSION)
    kubelet.replace(NEW_VERSION)
    node.start()
    assert (node.ran[-1], node.store.graduated_with()) == (OTHERS, NEW_VERSION)
    assert node.trial().kubelet_version == NEW_VERSION


def test_a_refused_last_known_good_makes_room_for_the_own_file_as_it_is_now(node: Node, kubelet: Kubelet) -> None:
    node.own.write_text("kind: KubeletConfiguration\nmaxPods: 7\n")
    before = node.own.read_bytes(), node.own.stat().st_mtime_ns
    kubelet.replace(NEW_VERSION, "FIRST")
    node.start()
    assert node.ran[-1] == LOCAL and "maxPods: 7" in config(node)
    assert (node.store.assigned(), node.store.last_known_good(), node.store.graduated_with()) == (SOURCE, None, "")
    assert node.error() == f"kubelet {NEW_VERSION} refuses this configuration: {WORDS}"
    assert node.message().startswith("Kubelet restarting to use local config")
    node.start(1)
    node.start(2)
    assert node.ran[-1] == LOCAL and (node.own.read_bytes(), node.own.stat().st_mtime_ns) == before


def test_a_damaged_own_file_does_not_replace_the_saved_one(node: Node, kubelet: Kubelet) -> None:
    node.own.write_text("FIRST")
    kubelet.replace(NEW_VERSION, "FIRST")
    node.start()
    assert node.ran[-1] == LOCAL and config(node) == "kind: KubeletConfiguration\n"


def test_a_last_known_good_that_has_failed_gets_no_room(node: Node, kubelet: Kubelet) -> None:
    """It was put on trial again while the controller had confirmed OTHER, whose trial was not over."""
    node.switch(OTHER, confirmed=True, kubelet_version=OLD_VERSION)
    node.switch(back=OTHER, kubelet_version=OLD_VERSION)
    node.start(1)
    node.start(2)
    assert node.ran[-1] == OTHERS
    node.own.write_text("kind: KubeletConfiguration\nmaxPods: 7\n")
    kubelet.replace(NEW_VERSION, "SECOND")
    node.start()
    assert node.ran[-1] == LOCAL and WORDS in node.error() and "maxPods: 7" in config(node)


@pytest.mark.fault(case=33)
def test_a_refused_trial_makes_room_for_last_known_good(node: Node, kubelet: Kubelet, tmp_path: Path) -> None:
    state = tmp_path / "cpu_manager_state"
    state.write_text("none")
    node.switch(OTHER, state_files=statefiles.take([str(state)]))
    state.write_text("static")
    kubelet.replace(NEW_VERSION, "SECOND")
    node.start()
    assert node.ran[-1] == NEW and WORDS in node.error() and state.read_text() == "none"
    assert node.store.last_known_good() == SOURCE and WORDS in node.store.error()
    assert node.later() is None and not node.restarts
    node.texts["u2"] = "{THIRD: 1}"
    node.switch({**OTHER, "resourceVersion": "2"}, kubelet_version=NEW_VERSION)
    assert "THIRD" in config(node) and node.error() == "", "the next one, which this version accepts"


@pytest.mark.fault(case=33)
def test_both_refused(node: Node, kubelet: Kubelet) -> None:
    node.switch(OTHER)
    kubelet.replace(NEW_VERSION, "FIRST", "SECOND")
    node.start()
    assert (node.ran[-1], node.store.last_known_good()) == (LOCAL, None)


def test_a_refused_last_known_good_after_a_trial_that_failed(node: Node, kubelet: Kubelet) -> None:
    node.switch(OTHER)
    node.start(2)
    assert node.ran[-1] == NEW
    kubelet.replace(NEW_VERSION, "FIRST")
    node.start()
    assert node.ran[-1] == LOCAL and "ended 2 times" in node.error() and WORDS in node.error()


def test_a_revert_never_leads_to_what_the_new_binary_refuses(node: Node, kubelet: Kubelet) -> None:
    node.assign(OTHER)
    assert os.readlink(node.store.links.prepared) == NEW
    kubelet.replace(NEW_VERSION, "FIRST")
    node.start()
    assert (node.ran[-1], os.readlink(node.store.links.prepared)) == (OTHERS, LOCAL)
    node.disk.full = True
    node.start(2)
    assert node.ran[-1] == LOCAL


@pytest.mark.parametrize(("verdict", "reason"), [("not checked", "no sandbox"), ("valid", "")])
def test_no_clear_answer_is_no_refusal(node: Node, kubelet: Kubelet, verdict: str, reason: str) -> None:
    kubelet.replace(NEW_VERSION, "FIRST")
    kubelet.answer = binary.Verdict(verdict, [reason], [])
    for _start in range(MOST_UNANSWERED + 2):
        node.start()
    assert node.ran[-1] == NEW and node.store.last_known_good() == SOURCE
    assert len(kubelet.asked) == (MOST_UNANSWERED if verdict == "not checked" else 1)


def test_the_flags_that_it_does_not_know_are_reported(node: Node, kubelet: Kubelet) -> None:
    """All of them at once, as the binary's own list of flags has them; its message names the first one only."""
    kubelet.replace(NEW_VERSION, "FIRST")
    kubelet.flags = ("config", "max-pods")
    kubelet.answer = binary.Verdict("not checked", ["failed to parse kubelet flag: unknown flag: --network-plugin"], [])
    program, node.argv = node.argv, (*node.argv, "--network-plugin=cni", "--max-pods=5", "--cni_bin_dir", "/opt")
    node.start()
    assert node.ran[-1] == NEW
    assert f"{NEW_VERSION} does not know flags of its unit, --network-plugin, --cni-bin-dir: remove" in node.error()
    # The flags were removed from the unit's files, and now the binary reads the configuration.
    node.argv, kubelet.answer = program, None
    node.start()
    assert node.ran[-1] == LOCAL


def test_it_refuses_everything_until_the_own_file_is_corrected(node: Node, kubelet: Kubelet) -> None:
    kubelet.replace(NEW_VERSION, "FIRST", "Configuration")
    node.start()
    report = node.guard().records.report()
    node.start()
    assert node.ran[-1] == NEW and "and the node's own file" in node.error()
    assert node.guard().records.report() == report and node.store.last_known_good() == SOURCE
    node.own.write_text("kind: Corrected\n")
    node.start()
    assert node.ran[-1] == LOCAL and config(node) == "kind: Corrected\n"


def test_a_copy_of_the_own_file_is_renewed_after_a_downgrade(node: Node, kubelet: Kubelet) -> None:
    node.store.reset()
    node.start()
    node.own.write_text("kind: Corrected\n")
    kubelet.replace(OLD_VERSION, "Configuration")
    node.start()
    assert config(node) == "kind: Corrected\n" and str(node.own) in node.reason()


def test_a_drop_in_is_asked_about_with_its_folder_and_gives_way_to_nothing(
    node: Node, kubelet: Kubelet, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The binary reads the node's own file for each answer. The last resort overrides nothing."""
    asked: list[t.Any] = []

    def check(text: str, argv: t.Sequence[str], **more: t.Any) -> binary.Verdict:
        asked.append((text, more["beneath"]))
        return kubelet.check(text, argv)

    monkeypatch.setattr(binary, "check", check)
    base, own = node.own.read_text(), f"--config={node.own}"
    node.argv = (*node.argv, own)
    monkeypatch.setattr(Host, "next_words", lambda _host, _run: ["kubelet", own])
    folder = tmp_path / "conf.d"
    folder.mkdir()
    (folder / "10.conf").write_text("theirs")
    node.store.lay_over(str(folder / "90-livenodes-kubelet.conf"))
    node.folder, node.own = str(folder), folder / "90-livenodes-kubelet.conf"
    kubelet.replace(NEW_VERSION, "FIRST")
    node.start()
    assert node.ran[-1] == LOCAL and asked[-1][0] == local.OVERRIDE.decode()
    assert {(one.base, one.name) for _text, one in asked} == {(base, "90-livenodes-kubelet.conf")}
    assert asked[-1][1].others == {"10.conf": "theirs"} and config(node) == local.OVERRIDE.decode()
    assert node.error() == f"kubelet {NEW_VERSION} refuses this configuration: {WORDS}"


def test_a_reset_on_trial_that_it_refuses_is_reverted(node: Node, kubelet: Kubelet) -> None:
    node.store.arm(Trial(None, SOURCE, node.now()))
    node.store.switch(None)
    node.start()
    kubelet.replace(NEW_VERSION, "Configuration")
    node.start()
    assert node.ran[-2:] == [LOCAL, NEW] and WORDS in node.error()
    assert node.reason() == "reverted to last-known-good"
    node.start()
    assert node.ran[-1] == NEW and node.later() is None


@pytest.mark.parametrize(
    ("folder", "starts", "words"),
    [
        ("", "/usr/bin/kubelet --v=3", "/usr/bin/kubelet --v=3"),
        ("/conf.d", "/usr/bin/kubelet --v=3", "/usr/bin/kubelet --v=3"),
        ("/conf.d", "/usr/bin/k3s agent", "/old/kubelet --v=2"),
    ],
)
def test_it_is_asked_with_the_next_command_of_the_unit(
    node: Node, folder: str, starts: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of another program than the kubelet, with what is known of the kubelet that it starts."""
    node.folder, node.argv = folder, ("/old/kubelet", "--v=2")
    monkeypatch.setattr(unit.Unit, "next_command", lambda _unit: types.SimpleNamespace(argv=starts.split()))
    assert node.guard().host.next_words(node.run) == words.split()


@pytest.mark.parametrize(
    ("folder", "starts", "known", "program"),
    [
        ("", "/usr/bin/kubelet", "/old/kubelet", "/usr/bin/kubelet"),
        ("", "", "/old/kubelet", "/old/kubelet"),
        ("/conf.d", "/usr/bin/kubelet-1.36", "/old/kubelet", "/usr/bin/kubelet-1.36"),
        ("/conf.d", "/usr/bin/k3s", "/data/bin/kubelet", "/data/bin/kubelet"),
        ("/conf.d", "/usr/bin/k3s", "", "/usr/bin/k3s"),
    ],
)
def test_the_binary_is_what_the_unit_starts_unless_another_program_does_that(
    node: Node, folder: str, starts: str, known: str, program: str
) -> None:
    node.folder, node.argv = folder, (known,) if known else ()
    assert node.guard().new_binary._program(starts) == program


def _after_a_revert(node: Node) -> None:
    """The revert has used the link that was prepared for it."""
    node.switch(OTHER)
    node.disk.full = True
    node.start(2)
    assert node.ran[-1] == NEW


def _without_a_trial(node: Node) -> None:
    """No link leads to last-known-good: the kubelet runs the local configuration until there is room."""
    node.assign(OTHER)
    node.store.disarm()
    node.start()


@pytest.mark.parametrize(
    ("before", "refuses"),
    # There is no room for a link: the one to the local configuration exists all the time.
    [(lambda _node: None, "FIRST"), (_after_a_revert, "FIRST"), (_without_a_trial, "SECOND")],
)
def test_a_full_disk_does_not_prevent_the_start(
    node: Node, kubelet: Kubelet, before: t.Callable[[Node], None], refuses: str
) -> None:
    before(node)
    kubelet.replace(NEW_VERSION, refuses)
    node.disk.full = True
    node.start()
    assert node.ran[-1] == LOCAL


def test_a_full_disk_within_the_trial_does_not_prevent_the_start(tmp_path: Path, kubelet: Kubelet) -> None:
    node = on_trial(tmp_path)
    kubelet.replace(NEW_VERSION, "FIRST")
    node.disk.full = True
    node.start()
    node.start()
    assert node.ran[-2:] == [LOCAL, LOCAL]
    node.disk.full = False
    node.start()
    asked = len(kubelet.asked)
    node.start()
    assert node.ran[-1] == LOCAL and len(kubelet.asked) == asked


def test_what_was_left_on_a_full_disk_does_not_graduate(tmp_path: Path, kubelet: Kubelet) -> None:
    """The revert could not be recorded, so the confirmed trial is still there."""
    node = on_trial(tmp_path, confirmed=True)
    kubelet.replace(NEW_VERSION, "FIRST")
    node.disk.full = True
    node.start()
    node.disk.full = False
    node.later(60, times=3)
    assert (node.ran[-1], node.store.last_known_good()) == (LOCAL, None) and node.store.error()
    assert not node.restarts


def _reset_is_over(node: Node) -> None:
    node.store.reset()
    node.start()
    node.own.write_text("kind: Corrected\n")


@pytest.mark.parametrize(
    ("before", "refuses", "runs", "reason"),
    [
        (lambda _node: None, "FIRST", LOCAL, "reverted to the local configuration"),
        (lambda node: node.assign(OTHER), "SECOND", NEW, "reverted to last-known-good"),
        (lambda node: node.switch(OTHER), "SECOND", NEW, "reverted to last-known-good"),
        (_reset_is_over, "Configuration", LOCAL, "reverted to "),
    ],
)
@pytest.mark.parametrize(("part", "method"), [(Host, "queue_report"), (Reverts, "finish")])
def test_a_revert_is_reported_also_if_the_guard_was_killed_before(
    node: Node,
    kubelet: Kubelet,
    before: t.Callable[[Node], None],
    refuses: str,
    runs: str,
    reason: str,
    part: type,
    method: str,
) -> None:
    """The kubelet was started all the same, and what it runs is accepted: nothing is left to do but the report."""
    before(node)
    if node.guard().records.report():
        files.remove(node.guard().records.report_path)
    kubelet.replace(NEW_VERSION, refuses)

    # No handler runs. `finish` ends the step that reported.
    with mock.patch.object(part, method, side_effect=KeyboardInterrupt), contextlib.suppress(KeyboardInterrupt):
        node.start()
    node.start()
    assert node.reason().startswith(reason) and WORDS in node.error()
    assert node.ran[-1] == runs and node.guard().records.progress() == Progress()
    # Once: a kubelet that starts again later has nothing to report.
    files.remove(node.guard().records.report_path)
    node.start()
    assert node.guard().records.report() is None and node.ran[-1] == runs
