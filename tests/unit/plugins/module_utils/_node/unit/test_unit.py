# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet runs, our drop-in in its unit, and restarts that are verified."""

from __future__ import annotations

import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.short_texts import flag
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unit
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit_reader import Command
from tests.support.node.systemd_model import FOLDER, KUBEADM, PLAIN_TEXT, SERVICE, Systemd, config_of

ACTIVE = "/var/lib/kubelet-config/active/kubelet"


def test_install_and_remove_reload_only_when_something_changed(node: Systemd) -> None:
    kubelet = node.kubeadm()
    node.properties["NeedDaemonReload"] = "yes"
    assert (kubelet.remove(), node.count("systemctl", "daemon-reload")) == (False, 0), "files of others"
    node.properties["NeedDaemonReload"] = "no"
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


def test_a_folder_that_was_made_is_removed(node: Systemd) -> None:
    node.write(SERVICE, PLAIN_TEXT.format(config="/etc/kubelet.yaml"))
    kubelet = node.load(SERVICE)
    assert kubelet.install(ACTIVE) and not kubelet.install(ACTIVE)
    assert kubelet.install(f"{ACTIVE}2"), "another path is another drop-in"
    assert kubelet.remove()
    assert not (node.root / FOLDER[1:]).exists()


def test_a_dropin_without_effect_is_removed_again(node: Systemd) -> None:
    kubelet = node.kubeadm()

    def deaf(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        return node.run([argv[0], "show"] if argv[1] == "daemon-reload" else argv)

    kubelet.run = deaf
    with pytest.raises(unit.UnitError, match="no effect and was removed: the kubelet would read /var/lib/kubelet/conf"):
        kubelet.install(ACTIVE)
    assert kubelet.installed() is None


@pytest.mark.parametrize("extra", [(), ("ExecStartPre=-/bin/true",)], ids=["the same", "another"])
def test_a_dropin_that_was_there_before_stays_when_systemd_cannot_be_asked(
    node: Systemd, extra: tuple[str, ...]
) -> None:
    """A kubelet that was switched to the store would leave it at its next start."""
    kubelet = node.kubeadm()
    kubelet.install(ACTIVE)
    before, asked, answered = kubelet.installed(), node.run, node.count("busctl")

    def run(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        # The bus ends once the unit was examined.
        node.bus = argv[0] != "busctl" or node.count("busctl") == answered
        return asked(argv)

    kubelet.run = run
    with pytest.raises(unit.UnitError, match=r"Start the system bus .* See `systemctl cat"):
        kubelet.install(ACTIVE, extra)
    assert kubelet.installed() == before and f"{FOLDER}/{unit.DROPIN}" in node.properties["DropInPaths"]


def test_a_restart_is_a_new_invocation_that_runs(node: Systemd) -> None:
    assert node.kubeadm().restart() == "one+"
    order = [call[1] for call in node.calls if call[0] == "systemctl" and call[1] != "show"]
    assert order == ["reset-failed", "restart"]


@pytest.mark.parametrize(
    ("code", "starts", "words"),
    [
        (0, False, r"gave no new invocation \(exit 0; active/running"),
        (1, False, r"failed \(Failed; active/running"),
        (1, True, r"failed \(Failed; active/running"),
    ],
)
def test_a_restart_that_did_nothing_is_an_error(node: Systemd, code: int, starts: bool, words: str) -> None:
    kubelet = node.kubeadm()

    def restart() -> int:
        if starts:
            node.start()
        return code

    node.on_restart = restart
    with pytest.raises(unit.UnitError, match=rf"kubelet\.service: systemctl restart {words}.*: see `journalctl -u kub"):
        kubelet.restart(lambda dummy: None)


DIED = {"ActiveState": "activating", "SubState": "auto-restart", "NRestarts": "1"}
ROUTINE = (
    'container_manager_linux.go:881] "Failed to ensure process in container with oom score" err="write /proc/419/x"'
)
KILLED = f"""E1122 13:38:14.192413     419 {ROUTINE}
kubelet.service: Main process exited, code=killed, status=9/KILL
"""


@pytest.mark.parametrize(
    ("result", "journal", "words"),
    [
        ("exit-code", "", "It logged no error: "),
        ("signal", KILLED, "A signal ended the kubelet, not an error of its own: "),
    ],
)
def test_a_kubelet_that_dies_after_its_start_is_an_error(node: Systemd, result: str, journal: str, words: str) -> None:
    """Its last error is not the cause if it was killed."""
    kubelet = node.kubeadm()
    node.journal["one+"] = journal
    identity = kubelet.restart()
    node.properties.update(DIED, Result=result)
    with pytest.raises(unit.UnitError) as raised:
        kubelet.holds(identity)
    what = f"kubelet.service did not stay up (activating/auto-restart, result {result}, 1 restarts by systemd)"
    assert str(raised.value).startswith(f"{what}. {words}see `journalctl -u kubelet.service`.")


@pytest.mark.parametrize("code", [0, 1])
def test_a_kubelet_that_dies_of_its_configuration_is_quoted(node: Systemd, code: int) -> None:
    kubelet = node.kubeadm()
    reason = "invalid configuration: maxPods (--max-pods) -3 must not be a negative number"
    node.journal["one+"] = f"F1122 13:38:14.192413     419 server.go:215] {reason}\ngoroutine 1 [running]:\n"

    def restart() -> int:
        node.start()
        node.properties.update(DIED, Result="exit-code")
        return code

    node.on_restart = restart
    with pytest.raises(unit.UnitError) as raised:
        kubelet.restart(lambda dummy: None)
    what = "kubelet.service: systemctl restart failed" if code else "kubelet.service did not stay up"
    # The words of the kubelet are what the operator needs; the unit's state adds nothing to them.
    assert str(raised.value) == f"{what}. The kubelet logged last: {reason}. Correct this value, then run again."


def test_the_check_of_a_kubelet_waits_for_its_start(node: Systemd) -> None:
    kubelet = node.kubeadm()
    node.start()
    identity = kubelet.show(fresh=True)["InvocationID"]
    node.properties.update(ActiveState="activating", SubState="start")
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        node.properties.update(ActiveState="active", SubState="running")

    kubelet.holds(identity, sleep)
    assert len(slept) == 1
    # What ended, or what is another invocation, is not waited for.
    for found in ({"ActiveState": "activating", "SubState": "auto-restart"}, {"InvocationID": "other"}):
        node.properties.update(found)
        with pytest.raises(unit.UnitError, match="did not stay up"):
            kubelet.holds(identity, sleep)
    assert len(slept) == 1


@pytest.mark.parametrize("code", [0, 124])
@pytest.mark.parametrize("ends", [True, False])
def test_a_start_that_goes_on_is_waited_for(node: Systemd, ends: bool, code: int) -> None:
    """systemd merged the restart with one of its own, and `Type=notify` is ready seconds later; or it takes longer than
    a command may, as the server of RKE2 does.
    """
    kubelet = node.kubeadm()
    slept: list[float] = []

    def restart() -> int:
        node.start()
        node.properties.update(ActiveState="activating", SubState="start", NRestarts="1")
        return code

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if ends and sum(slept) >= 3:
            node.properties.update(ActiveState="active", SubState="running")

    node.on_restart = restart
    if ends:
        assert kubelet.restart(sleep) == "one+"
        assert 3 <= sum(slept) < 5
    else:
        with pytest.raises(unit.UnitError, match=r"still starts after 120 s: .* \(activating/start, "):
            kubelet.restart(sleep)
        assert sum(slept) == pytest.approx(unit.START_SECONDS)


def test_a_stop_wakes_the_guard_with_the_note_that_it_waits_for(node: Systemd) -> None:
    """systemd does not start the guard's service without it."""
    noted = []
    one = node.kubeadm()
    answer = one.run
    note = node.root / "run/livenodes-kubelet-guard/stopped"

    def run(argv: t.Sequence[str]) -> t.Any:
        noted.append((argv[1], note.exists()))
        return answer(argv)

    one.run = run
    one.stop("guard.service")
    assert noted == [("show", False), ("start", True), ("stop", True)]


def test_the_running_kubelet_wins_over_all_files(node: Systemd) -> None:
    kubelet = node.kubeadm()
    node.properties["MainPID"] = "72"
    node.write("/proc/72/cmdline", b"/usr/bin/kubelet\0--config=/x\0--node-labels=a b\0\0")
    assert kubelet.command() == Command(["/usr/bin/kubelet", "--config=/x", "--node-labels=a b", ""], "process")


def test_for_a_kubelet_that_is_down_systemd_shows_what_it_would_run(node: Systemd) -> None:
    kubelet = node.kubeadm()
    words = (
        "/usr/bin/kubelet --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf "
        "--kubeconfig=/etc/kubernetes/kubelet.conf --config=/var/lib/kubelet/config.yaml "
        "--container-runtime-endpoint=unix:///run/containerd/containerd.sock --max-pods=61 --v=2"
    )
    assert kubelet.command() == Command(words.split(), "systemd")
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
    assert kubelet.command() == Command(["/usr/bin/kubelet", "--config=/x"], "process")
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


def test_files_that_systemd_has_not_read_yet(node: Systemd) -> None:
    kubelet = node.kubeadm()
    assert not kubelet.unread()
    node.properties["NeedDaemonReload"] = "yes"
    assert kubelet.show(fresh=True) and kubelet.unread()
    kubelet.install(ACTIVE)
    node.properties["NeedDaemonReload"] = "yes"
    assert kubelet.show(fresh=True) and kubelet.unread(), "with our drop-in"


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
