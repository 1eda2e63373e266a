# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The preflight on real nodes: compare its report with what systemd and the kubelet really do."""

from __future__ import annotations

import json
import typing as t

from tests.lab import kubeadm
from tests.support.lab_node.plain_unit import CONFIG_LINE, plain_unit
from tests.support.lab_node.preflight_node import ACTIVE, PLACE, UNIT, Node
from tests.support.plays.ansible import Ansible


def module(ansible: Ansible, host: str, **config: t.Any) -> dict[str, t.Any]:
    """Run the module on a node over ssh, like a user, for a configuration."""
    return ansible.module("kubelet_preflight_info", {"config": json.dumps(config)}, host=host)


def test_what_a_kubeadm_node_runs(nodes: dict[str, Node], ansible: Ansible) -> None:
    found = module(ansible, "n2", **{**nodes["n2"].header(), "maxPodz": 1, "cgroupDriver": "systemd"})
    kubelet = found["kubelet"]
    assert (
        kubelet["command"]
        == nodes["n2"].run("tr '\\0' '\\n' < /proc/$(systemctl show -P MainPID kubelet)/cmdline").split("\n")[:-1]
    )
    assert (kubelet["form"], kubelet["command_source"], kubelet["changes_at_restart"]) == ("kubeadm", "process", False)
    assert kubelet["config"] == "/var/lib/kubelet/config.yaml"
    assert kubelet["config_given_by"] == {
        "file": f"{kubeadm.drop_in_folder(nodes['n2'].minor)}/10-kubeadm.conf",
        "line": 3,
    }
    assert kubelet["version"] == nodes["n2"].lab_node.release.version
    assert kubelet["shadowed"] == {"maxPods": {"flag": "--max-pods=61", "file": "/etc/default/kubelet", "line": 1}}
    assert found["check"] == {"verdict": "valid", "messages": [], "unknown_fields": ["maxPodz"]}
    assert found["host"]["container_runtime"]["cgroup_driver"] == "cgroupfs"
    assert found["host"]["state_files"]["cpu"] == {"path": "/var/lib/kubelet/cpu_manager_state", "policy": "none"}
    assert [problem["rule"] for problem in found["problems"]] == ["cgroup-driver"]
    assert ["maxPodz" in reason for reason in found["reasons"]] == [True] and found["node_proof"]


def test_a_stopped_kubelet_and_a_pending_edit(nodes: dict[str, Node]) -> None:
    node = nodes["n1"]
    look = "result = preflight.look()['kubelet']"
    running = node.python(look)
    former = node.run("cat /etc/default/kubelet")
    try:
        node.write("/etc/default/kubelet", f"# ours\n{former.rstrip()} --event-qps=7\n")
        waiting = node.python(look)
        assert (waiting["changes_at_restart"], waiting["command"]) == (True, running["command"])
        assert waiting["next_command"] == [*running["command"], "--event-qps=7"]
        node.run("systemctl stop kubelet")
        stopped = node.python(look)
        assert (stopped["command_source"], stopped["state"], stopped["command"]) == (
            "systemd",
            "inactive",
            waiting["next_command"],
        )
        assert stopped["shadowed"]["eventRecordQPS"] == {
            "flag": "--event-qps=7",
            "file": "/etc/default/kubelet",
            "line": 2,
        }
    finally:
        node.write("/etc/default/kubelet", former)
        node.run("systemctl restart kubelet")
    assert node.python(look)["command"] == running["command"]


NASTY = r"""# comment \
IGNORED=--no
A="--a=b c" 'd e'  --f=\"g\"
export B=--no
B=--node-labels='x y' \
  --z="1 2"
C='--c=it''s' "q\"r\$s\t"
D=
E=last
E="--e=%n $A ${A}"
"""


def test_our_drop_in_repeats_a_command_as_it_is_written(nodes: dict[str, Node]) -> None:
    """test_units_table.py has many units; this one has all in one."""
    node = nodes["n1"]
    node.write(f"{PLACE}/env", NASTY)
    found = node.unit(f"""[Unit]
ExecStart=/no
[Service]
Environment="A=--lost" "G=--g=\\"1 2\\" 100%%" F=--f 'H=h \\x41' "I=a b"
EnvironmentFile={PLACE}/env
EnvironmentFile=-{PLACE}/missing
ExecStart=-/usr/bin/kubelet $A $B $C $D $E $F $G ${{I}} $NONE ${{NONE}} --x=${{H}}-$${{H}} \\
 ; comment
  "--q=a b" '--s=c "d"' --t=\\x20\\101 --u=%% \\
  --config=/var/lib/kubelet/config.yaml $H
""")
    assert found["next"]["source"] == "systemd"
    assert found["form"]["kind"] == "plain" and found["form"]["line"] == 10
    rewritten = node.unit(node.run(f"cat /run/systemd/system/{UNIT}") + found["dropin"])
    assert rewritten["next"]["argv"] == [*found["next"]["argv"], f"--config={ACTIVE}"]


SWITCH = f"""
import collections
calls = collections.Counter()
def run(argv):
    calls[argv[1]] += 1
    return command.execute(argv)
def wrong_after_a_minute():
    end, row = time.monotonic() + 60, 0
    while row < 3 and time.monotonic() < end:
        place = health.endpoint({{}}, kubelet.argv())
        answer = health.healthz(place.port, place.address)
        row = 0 if answer else row + 1
        time.sleep(0.25)
    return "" if row == 3 else answer or "not healthy three times in a row"
kubelet = unit.Unit(run=run)
changed = [kubelet.install({ACTIVE!r}), kubelet.install({ACTIVE!r})]
started = time.monotonic()
invocation = kubelet.restart()
wrong = wrong_after_a_minute()
ours = [kubelet.argv(), kubelet.form()._asdict()]
changed += [kubelet.remove(), kubelet.remove()]
kubelet.restart()
wrong = wrong or wrong_after_a_minute()
result = {{"changed": changed, "invocation": invocation, "wrong": wrong, "ours": ours, "back": kubelet.argv()}}
result["reloads"] = calls["daemon-reload"]
"""


def test_a_plain_unit_is_pointed_elsewhere_and_back(nodes: dict[str, Node]) -> None:
    node = nodes["n1"]
    argv = node.python("result = unit.Unit().argv()")
    node.run(f"mkdir -p {PLACE}/active && cp /var/lib/kubelet/config.yaml {ACTIVE}")
    with plain_unit(node.lab_node):
        before = node.etc()
        plain = node.python("result = [unit.Unit().argv(), unit.Unit().form()._asdict()]")
        assert (plain[1]["kind"], plain[1]["line"]) == ("plain", CONFIG_LINE)
        found = node.python(SWITCH)
        assert (found["changed"], found["reloads"], found["wrong"]) == ([True, False, True, False], 2, "")
        assert found["ours"] == [[*plain[0], f"--config={ACTIVE}"], plain[1]]
        assert (found["back"], node.etc()) == (plain[0], before)
    assert node.python("result = unit.Unit().argv()") == argv


def test_a_restart_that_does_not_hold_is_an_error_and_a_start_limit_is_none(nodes: dict[str, Node]) -> None:
    node = nodes["n1"]
    text = (
        "[Unit]\nStartLimitBurst=2\nStartLimitIntervalSec=60\n[Service]\nExecStart={}\nRestart=always\nRestartSec=0.1\n"
    )
    restart = f"""
kubelet = unit.Unit({UNIT!r})
try:
    result = kubelet.restart()
    time.sleep(1)
    kubelet.holds(result)
except unit.UnitError as error:
    result = {{"error": str(error)}}
"""
    try:
        node.write(f"/run/systemd/system/{UNIT}", text.format("/bin/sh -c 'sleep 0.2; exit 3'"))
        node.run("systemctl daemon-reload")
        silent = node.python(restart)["error"]
        assert "did not stay up" in silent and f"It logged no error: see `journalctl -u {UNIT}`" in silent
        node.run(
            "for i in 1 2 3 4 5 6 7 8 9 10; do "
            f"[ $(systemctl show -P ActiveState {UNIT}) = failed ] && break; sleep 0.3; done"
        )
        assert "repeated too quickly" in node.run(f"systemctl start {UNIT} || journalctl -o cat -n 3 -u {UNIT}")
        node.write(f"/run/systemd/system/{UNIT}", text.format("/bin/sleep 60"))
        node.run("systemctl daemon-reload")
        assert node.python(restart) == node.run(f"systemctl show -P InvocationID {UNIT}").strip()
    finally:
        node.run(f"systemctl stop {UNIT}; systemctl reset-failed {UNIT} || true")
