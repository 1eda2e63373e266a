# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The callback in ansible-playbook, with the default stdout callback, real roles and an HTTP server as API server."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible
from tests.sim.switched import SwitchedCluster, switched_ansible
from tests.support.api.calls import NODES
from tests.support.plays import boundaries
from tests.support.plays.ansible import Ansible, inventory, playbook_of

ERASE = "\r\x1b[2K"


@pytest.fixture
def fleet() -> t.Iterator[PlayedCluster]:
    """Three nodes with native delivery, whose kubelets follow their source. One of them has none."""
    with PlayedCluster("n1", "node-2", "n3", local=["node-2"]) as made:
        yield made


@pytest.fixture
def ansible(tmp_path: Path, fleet: PlayedCluster) -> Ansible:
    """ansible-playbook with the callback and the fleet as its cluster. The name of one host differs from its node's."""
    hosts = {"n1": {}, "h2": {"kubelet_config_node_name": "{{ 'node-' ~ 2 }}"}, "n3": {}}
    made = played_ansible(tmp_path, fleet, hosts, kubelet_config={"maxPods": 80})
    made.environment.update(
        ANSIBLE_CALLBACKS_ENABLED="livenodes.kubelet.rollout",
        PWD="/nowhere",  # As of a program that starts ansible-playbook in another folder than its own.
        LIVENODES_KUBELET_REPORT_JSON="reports/r.json",
        LIVENODES_KUBELET_REPORT_HTML="reports/r.html",
    )
    return made


def report(ansible: Ansible) -> dict[str, t.Any]:
    """Return the current JSON report."""
    return dict(json.loads((ansible.home / "reports" / "r.json").read_text(encoding="utf-8")))


def lines(output: str) -> list[str]:
    """Return the output of the callback, without times."""
    return [line for line in output.splitlines() if line.startswith("kubelet rollout: ")]


def on_a_terminal(ansible: Ansible, name: str, *arguments: str) -> tuple[int, str]:
    """Run a playbook on a terminal of its own. Return its exit code and its output."""
    ours, theirs = pty.openpty()
    command = [
        str(Path(sys.executable).with_name("ansible-playbook")),
        "-i",
        str(ansible.inventory),
        f"livenodes.kubelet.{name}",
        *arguments,
    ]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
        cwd=ansible.home,
        env={**ansible.environment, "COLUMNS": "100"},
        start_new_session=True,
    ) as process:
        os.close(theirs)
        seen = b""
        with contextlib.suppress(OSError):
            while chunk := os.read(ours, 65536):
                seen += chunk
        os.close(ours)
        return process.wait(60), seen.decode().replace("\r\n", "\n")


def test_a_rollout_with_a_failed_node_and_its_rollback(ansible: Ansible, fleet: PlayedCluster) -> None:
    """The rollout runs on a terminal, where the progress line must not disturb other output; the rollback does not."""
    fleet.refusing.add("node-2")
    code, raw = on_a_terminal(ansible, "rollout", "-e", "kubelet_config_max_failed=1")
    assert code != 0, raw
    made = report(ansible)
    assert (made["outcome"], made["group"], made["summary"]) == (
        "failed",
        "all",
        {"nodes": 3, "batches": 3, "reverted": 1, "done": 2},
    ), raw
    # There is no soak: the module node_soak looks at the pods only.
    good = (["switched", "verified"], None)
    assert {node["name"]: (node["batch"], list(node["steps"]), node.get("verdict")) for node in made["nodes"]} == {
        "n1": (1, *good),
        "node-2": (2, ["switched", "failed", "reverted"], "fell_back"),
        "n3": (3, *good),
    }
    assert {node["delivery"] for node in made["nodes"]} == {"native"}
    first = made["nodes"][0]
    assert first["name"] == "node-2" and "failed to validate" in first["cause"] and first["remedy"]
    assert ["1 of 3 nodes failed: node-2" in message for message in made["messages"]] == [True]
    assert {tuple(row["path"] for row in change["changes"]) for change in made["changes"]} == {("maxPods",)}
    page = (ansible.home / "reports" / "r.html").read_text(encoding="utf-8")
    assert "node-2" in page and fleet.SECRET not in page and fleet.SECRET not in json.dumps(made)

    drawn = [line for line in raw.split("\n") if ERASE in line]
    assert any("1 of 3 nodes" in line and "left" in line for line in drawn), raw
    # The nodes of the gate are in its arguments, which ansible-core 2.21 omits from results.
    assert any("batch 3 (1 node)" in line for line in drawn) and not any("(0 nodes)" in line for line in drawn), raw
    screen = [line.rpartition(ERASE)[2] for line in raw.split("\n")]
    assert not any("[#" in line or "[-" in line for line in screen)
    heads = [line for line in screen if line.startswith(("TASK", "PLAY"))]
    assert len(heads) > 10 and all(line.strip("*").endswith(("] ", "PLAY RECAP ")) for line in heads), heads
    printed = lines("\n".join(screen))
    assert printed[0].startswith("kubelet rollout: batch 1, 1 node (n1): 1 done in ")
    assert printed.count("kubelet rollout: node node-2 failed (fell_back); its verdict follows") == 1, printed
    # Ansible itself shows the message of a failed task once or twice, by its version. It has the reason alone.
    shown = [line for line in screen if "its kubelet refused" in line]
    assert shown and all(line.startswith(("[ERROR]: ", "fatal: ")) for line in shown), shown

    fleet.refusing.clear()
    back = ansible.playbook("rollback")
    assert back.code == 0, back.output
    made = report(ansible)
    # It refused the rollout and runs its own file, as before.
    stays = {"nodes": 3, "batches": 2, "done": 2, "unchanged": 1}
    assert (made["outcome"], made["summary"]) == ("done", stays), back.output
    assert {node["name"]: (node["batch"], list(node["steps"])) for node in made["nodes"] if node["batch"]} == {
        "n1": (1, good[0]),
        "n3": (2, good[0]),
    }
    fields, kept = made["changes"]
    assert ([row["path"] for row in fields["changes"]], fields["nodes"]) == (["maxPods"], 2)
    assert (kept["nodes"], ["refused the rollout" in row["message"] for row in kept["problems"]]) == (1, [True])
    assert [line.split(" in ")[0] for line in lines(back.output)[:2]] == [
        f"kubelet rollout: batch {number}, 1 node ({name}): 1 done" for number, name in enumerate(("n1", "n3"), 1)
    ]


def test_results_of_hosts_are_those_of_their_nodes(tmp_path: Path) -> None:
    """With delivery checkpoint, hosts report by themselves. The name of a node may be looked up in a file."""
    (tmp_path / "name").write_text("n1")
    variables = {
        "kubelet_config": {"maxPods": 80},
        "kubelet_config_delivery": "checkpoint",
        "kubelet_config_node_name": f"{{{{ lookup('ansible.builtin.file', '{tmp_path}/name') }}}}",
    }
    with SwitchedCluster("n1") as nodes:
        ansible = switched_ansible(tmp_path, nodes, **variables)
        ansible.environment.update(
            ANSIBLE_CALLBACKS_ENABLED="livenodes.kubelet.rollout", LIVENODES_KUBELET_REPORT_JSON="reports/r.json"
        )
        run = ansible.playbook("rollout")
    assert (run.code, "Callback dispatch" in run.output) == (0, False), run.output
    (row,) = report(ansible)["nodes"]
    steps = ["staged", "switched", "restarted", "verified", "confirmed"]
    assert (row["name"], row["state"], list(row["steps"])) == ("n1", "done", steps)


def test_check_mode_is_reported_and_a_pause_is_not_a_failure(ansible: Ansible) -> None:
    run = ansible.playbook("rollout", "--check", "-e", "kubelet_config_pause=true")
    assert run.code != 0
    made = report(ansible)
    assert (made["check_mode"], made["outcome"], made["summary"]) == (
        True,
        "paused",
        {"nodes": 3, "batches": 0, "untouched": 3},
    ), run.output
    assert "Untouched hosts: n3" in made["paused"]["message"] and not made["messages"]


def test_what_is_no_rollout_leaves_no_line_and_no_report(ansible: Ansible, tmp_path: Path) -> None:
    """A module that fails on the controller, and drift. A rollout with a wrong variable is refused."""
    fails = {"name": "Fails", "livenodes.kubelet.node_config_info": {"host": "http://127.0.0.1:1"}}
    play = {"hosts": "localhost", "tasks": [{"block": [fails], "rescue": [{"debug": {}}]}]}
    run = ansible.playbook(playbook_of(tmp_path, play, {"import_playbook": "livenodes.kubelet.drift"}))
    assert run.code != 0 and "maxPods" in run.output and run.recap("localhost")["rescued"] == 1, run.output
    assert lines(run.output) == [] and not (tmp_path / "reports").exists(), run.output

    run = ansible.playbook("rollout", "-e", "kubelet_config_drain=Never")
    assert lines(run.output)[0].endswith(" s: nothing was changed") and report(ansible)["outcome"] == "refused"


ROLLOUT = ("rollout",)


@pytest.mark.parametrize(
    ("number", "stuck", "playbooks"),
    [
        pytest.param(signal.SIGTERM, False, ROLLOUT, marks=pytest.mark.long),
        (signal.SIGTERM, False, ("dump", "livenodes.kubelet.rollout")),
        (signal.SIGINT, False, ROLLOUT),
        (signal.SIGINT, True, ROLLOUT),
    ],
)
def test_an_interrupted_run_leaves_its_report(
    ansible: Ansible, fleet: PlayedCluster, number: signal.Signals, stuck: bool, playbooks: tuple[str, ...]
) -> None:
    """Also if the controller does not end by itself, and a second signal kills it; and in the second playbook."""
    fleet.deaf.add("n3")
    if stuck:
        ansible.environment["ANSIBLE_CALLBACKS_ENABLED"] += ",stuck"
        ansible.environment["ANSIBLE_CALLBACK_PLUGINS"] = str(boundaries.PLUGINS)
    with (
        ansible.start(*playbooks, "-e", "kubelet_config_serial=3", "-e", "kubelet_config_wait_timeout=300") as process,
        contextlib.ExitStack() as cleanup,
    ):
        cleanup.callback(lambda: process.poll() is None and os.killpg(process.pid, signal.SIGKILL))
        until = time.monotonic() + 200
        while "n3" not in fleet.assigned and time.monotonic() < until:
            time.sleep(0.1)
        # Interrupt the wait.
        polls = fleet.count("GET", NODES) + 5
        while fleet.count("GET", NODES) < polls and time.monotonic() < until:
            time.sleep(0.1)
        if number == signal.SIGINT:
            # ansible-core 2.17 waits for a worker that did not get the signal.
            boundaries.strike(process, number, patience=5 if stuck else 60)
        else:
            process.send_signal(number)
        # Do not wait for the end of the output. With ansible-core 2.17 a module outlives the run and keeps it open.
        # 250 is an exception that Ansible did not expect.
        assert process.wait(timeout=300) not in (0, 250)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    made = report(ansible)
    assert (made["outcome"], {node["state"] for node in made["nodes"]}) == ("interrupted", {"unfinished"})


def test_an_interrupt_within_a_fork_ends_the_run(ansible: Ansible) -> None:
    """Python ignores it there, and without the callback Ansible goes on with the next batch."""
    ansible.environment["ANSIBLE_CALLBACKS_ENABLED"] += ",forking"
    ansible.environment["ANSIBLE_CALLBACK_PLUGINS"] = str(boundaries.PLUGINS)
    run = ansible.playbook("rollout", "-e", "kubelet_config_serial=1", "-e", "kubelet_config_wait_timeout=5")
    assert run.code == 99 and "Exception ignored" in run.output, run.output
    made = report(ansible)
    assert (made["outcome"], made["summary"]["untouched"]) == ("interrupted", 2), run.output
    assert "batch 2" not in run.output


def test_lines_are_not_between_the_json_of_stdout(ansible: Ansible) -> None:
    """Programs that read it failed."""
    ansible.environment.update(ANSIBLE_CALLBACK_PLUGINS=str(boundaries.PLUGINS), ANSIBLE_STDOUT_CALLBACK="json")
    done = inventory(ansible.environment, ansible.inventory, "livenodes.kubelet.rollout", program="ansible-playbook")
    assert (done.returncode, json.loads(done.stdout)["stats"]) == (0, ["h2", "localhost", "n1", "n3"]), done
    assert [line.partition(",")[0] for line in lines(done.stderr)][:1] == ["kubelet rollout: batch 1"], done
