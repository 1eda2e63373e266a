# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure the cost of a switch compared with a bare restart of the same kubelet, the time of a revert, and the load of
the waiting guard, and the controller's CPU time for a switch.

`python -m tests.benchmarks.bench_node`. Everything runs on one node; the results are medians of several turns, because
the machine is never idle. The role also works on a kubelet with --dynamic-config-dir as long as its Node has no
configSource, so this benchmark uses the lab of the other gates unchanged.
"""

from __future__ import annotations

import contextlib
import json
import re
import statistics
import sys
import tempfile
import threading
import time
import typing as t
from pathlib import Path

from tests.lab.console import LabError
from tests.lab.lab import Lab
from tests.support.lab_node.node_bench import STORE, Bench
from tests.support.plays.ansible import Ansible, playbook_of, spent

GUARD = "livenodes-kubelet-guard.service"
BEGIN = "Inspect the node, stage the checkpoint, install the guard and switch"
TICKS = 100
# The value in kubeadm's unit, which replaces the lab's shorter one during the measurement.
SLOW_RESTARTS = "/run/systemd/system/kubelet.service.d/99-bench.conf"
BAD = {"evictionHard": {"memory.available": "lots"}}

LIMIT_SWITCH = 2.0
"""The seconds of a switch without those of a bare restart: as a multiple of those of as many tasks that do nothing on
the node, and of the preflight, in the same run."""
LIMIT_RECOVERY = 30.0
LIMIT_PREFLIGHT = 0.5
LIMIT_MEMORY = 20.0
LIMIT_CONTROLLER = 2.5
"""The controller's CPU time for a switch, with all its workers and ssh: as a multiple of that of as many tasks that do
nothing on the node, in the same run."""
LIMIT_WAITING = 2.5
"""The waiting guard's CPU time: as a multiple of that of a process that wakes as often and reads some small files, at
the same time. A process that wakes once a second finds nothing in the caches, and a virtual machine may be slow then.
"""

NOISE = 1.5
"""The table shows OVER above a limit; the benchmark fails above this multiple, because the machine may be busy."""
LOOP, REFERENCE = 3_000_000, 0.2
"""Turns of an empty computation, and its seconds of CPU on the machine of the limits: Python 3.11 at 2.4 GHz."""
NOTHING = 0.3
"""Seconds of a task that does nothing on the node, on that machine."""
ATTEMPTS = 3
"""Other programs can only slow the machine down, so one measurement within the limits is enough."""

RESTART = """
import subprocess, time
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import health

def restart(ready):
    begun = time.monotonic()
    subprocess.run(["systemctl", "restart", "kubelet"], check=True)
    while health.healthz() or not ready():
        time.sleep(0.02)
    return time.monotonic() - begun
"""
PREFLIGHT = """
import time
begun = time.monotonic()
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import preflight
with open("/var/lib/kubelet/config.yaml") as stream:
    found = preflight.look("kubelet.service", stream.read())
print(json.dumps([time.monotonic() - begun, found["check"]["verdict"]]))
"""
WAKES = """
import os, time

def look():
    for name in os.listdir("/proc/self"):
        try:
            os.lstat(f"/proc/self/{name}")
        except OSError:
            continue
        with open("/proc/self/stat") as stream:
            fields = dict(enumerate(stream.read().split()))
        json.loads(json.dumps(fields, indent=2, sort_keys=True))

before, end = time.process_time(), time.monotonic() + seconds
while time.monotonic() < end:
    look()
    time.sleep(1)
print(json.dumps(time.process_time() - before))
"""


class Row(t.NamedTuple):
    """One row of the table. `most` is the limit."""

    what: str
    value: float
    most: float
    unit: str
    turns: t.Sequence[float]


def bare(bench: Bench, turns: int = 3) -> list[float]:
    """Return the seconds from `systemctl restart kubelet` until healthz answers, without the collection's code."""
    return t.cast(
        "list[float]",
        bench.python(f"{RESTART}\nprint(json.dumps([restart(lambda: True) for _turn in range({turns})]))"),
    )


def preflight(bench: Bench, turns: int = 3) -> list[float]:
    """Return the seconds of the module's code on the node, without the start of Python and Ansible.

    They include its imports and the kubelet's check of a configuration.
    """
    runs = [bench.python(PREFLIGHT) for _turn in range(turns)]
    if any(verdict != "valid" for _seconds, verdict in runs):
        raise AssertionError(f"the kubelet did not check its own configuration: {runs}")
    return [seconds for seconds, _verdict in runs]


class Turns(t.NamedTuple):
    """The seconds of each turn, the controller's seconds of CPU for one turn, and the tasks of one turn."""

    seconds: list[float]
    cpu: float
    tasks: int


def switches(bench: Bench, turns: int = 3) -> Turns:
    """Return what role `checkpoint` takes per turn, from its first task to its confirmation.

    Every turn uses another configuration. Ansible's log has the start time of each task; an additional task marks the
    end of each turn. Ansible's pipelining is on and saves a quarter of a second per task. The first turn also creates
    the store and installs the guard.
    """
    local = bench.local()
    tasks: list[dict[str, t.Any]] = []
    for turn in range(turns + 1):
        text = json.dumps({**local, "maxPods": 60 + turn}, indent=2, sort_keys=True) + "\n"
        tasks += [
            {
                "ansible.builtin.include_role": {"name": "livenodes.kubelet.checkpoint"},
                "vars": {"kubelet_config_source": bench.source(), "kubelet_config_data": {"kubelet": text}},
            },
            {"name": "Switched", "ansible.builtin.meta": "noop"},
        ]
    logs, cpu = played(bench, tasks, turns)
    return Turns([second for log in logs for second in timed(log)], cpu, len(marks(logs[0])) - 1)


def nothing(bench: Bench, count: int, turns: int = 3) -> Turns:
    """Return what `count` tasks that do nothing on the node take, measured as a switch is."""
    tasks = [{"name": "Nothing", "ansible.builtin.ping": {}}] * (count - 1) + [{"ansible.builtin.meta": "noop"}]
    logs, cpu = played(bench, tasks * (turns + 1), turns)
    seconds = [now for now, _name in marks(logs[1])]
    return Turns([(seconds[-1] - seconds[0]) / turns], cpu, count)


def played(bench: Bench, tasks: list[dict[str, t.Any]], turns: int) -> tuple[list[str], float]:
    """Play the tasks of the first turn, then those of `turns` turns; return both logs, and the seconds of CPU of the
    controller for one turn.

    What both plays need is the start of Ansible and the packing of the modules, which all nodes of a run share.
    """
    each = len(tasks) // (turns + 1)
    with tempfile.TemporaryDirectory() as home:
        ansible = Ansible(Path(home), bench.lab.kubeconfig, bench.lab.inventory).as_installed()
        used, logs = [], []
        for name, chosen in (("first", tasks[:each]), ("others", tasks[each:])):
            play = playbook_of(Path(home), {"hosts": bench.node.name, "tasks": chosen})
            before = spent()
            run = ansible.playbook(play, ANSIBLE_LOG_PATH=f"{home}/{name}.log", ANSIBLE_PIPELINING="1")
            if run.code:
                raise AssertionError(run.output)
            used.append(spent() - before)
            logs.append((Path(home) / f"{name}.log").read_text())
        return logs, (used[1] - used[0]) / (turns - 1)


def timed(log: str) -> list[float]:
    """Return the seconds from each `BEGIN` to the task after the `Confirm` that follows it."""
    result, began, confirming = [], 0.0, False
    for now, name in marks(log):
        if confirming:
            result.append(now - began)
        began = now if name == BEGIN else began
        confirming = name == "Confirm"
    return result


def marks(log: str) -> list[tuple[float, str]]:
    """Return when each task of a log of Ansible began, in seconds, with its name; the recap has an empty name."""
    found = re.findall(
        r"^(\d+-\d+-\d+ \d+:\d+:\d+),(\d+) .*\| (?:TASK|RUNNING HANDLER|PLAY RECAP) ?(?:\[(?:[\w.]+ : )?(.*?)\])?",
        log,
        re.MULTILINE,
    )
    return [
        (time.mktime(time.strptime(when, "%Y-%m-%d %H:%M:%S")) + int(milliseconds) / 1000, name)
        for when, milliseconds, name in found
    ]


class Waiting(t.NamedTuple):
    """The memory in MB and the CPU seconds of the waiting guard with its children, and the CPU seconds of its rival."""

    memory: float
    cpu: float
    rival: float


def waiting(bench: Bench, seconds: float = 30) -> Waiting:
    """Measure the guard while a trial lasts, after it has reported everything."""
    bench.wait(
        lambda: not bench.node.run(f"cat {STORE}/store/report", check=False).startswith("{"), 60, "complete report"
    )
    pid = bench.node.unit_property("MainPID", GUARD)

    def ticks() -> int:
        return sum(int(field) for field in bench.node.run(f"cat /proc/{pid}/stat").rpartition(")")[2].split()[11:15])

    before = ticks()
    rival = bench.python(f"seconds = {seconds}\n{WAKES}")
    used = (ticks() - before) / TICKS
    return Waiting(int(bench.node.run(f"grep VmRSS /proc/{pid}/status").split()[1]) / 1024, used, rival)


def recovery(bench: Bench, turns: int = 3) -> list[float]:
    """Return the seconds from the restart with a deadly configuration to healthz with the previous one.

    Only the guard acts; RestartSec is kubeadm's.
    """
    bench.node.run(
        f"mkdir -p $(dirname {SLOW_RESTARTS}); printf '[Service]\\nRestartSec=10\\n' > {SLOW_RESTARTS}; "
        "systemctl daemon-reload"
    )
    result = []
    try:
        for _turn in range(turns):
            bench.assign(BAD, deadline=300, restart=False)
            result += bench.python(
                f"{RESTART}\nprint(json.dumps([restart(lambda: store.running() == 'store/local/config')]))"
            )
    finally:
        bench.node.run(
            f"rm -f {SLOW_RESTARTS}; rmdir --ignore-fail-on-non-empty $(dirname {SLOW_RESTARTS}); "
            "systemctl daemon-reload"
        )
    return result


@contextlib.contextmanager
def computing() -> t.Iterator[list[float]]:
    """Compute now and then while the block runs; yield the seconds of each time. CPU may be shared, and its speed may
    change within a minute.
    """
    found: list[float] = []
    ended = threading.Event()

    def compute() -> None:
        while not ended.is_set():
            begun, total = time.thread_time(), 0
            for turn in range(LOOP):
                total += turn
            found.append(time.thread_time() - begun)
            ended.wait(1)

    thread = threading.Thread(target=compute)
    thread.start()
    try:
        yield found
    finally:
        ended.set()
        thread.join()


def measure(bench: Bench) -> list[Row]:
    """Measure everything; `Bench.close` then restores the node. The limits of times are those of this machine, as the
    play that does nothing and an empty computation beside all plays show it.
    """
    bench.bring()
    with computing() as computed:
        restarts = bare(bench)
        checks = preflight(bench)
        switched = switches(bench)
        rival = nothing(bench, switched.tasks)
    slow = max(1.0, statistics.median(computed) / REFERENCE, rival.seconds[0] / switched.tasks / NOTHING)
    idle = waiting(bench)
    bench.close()
    bench.open()
    reverts = recovery(bench)
    middle = statistics.median
    return [
        Row("bare restart to healthz", middle(restarts), float("inf"), "s", restarts),
        Row(
            "switch, preflight to confirmed",
            middle(switched.seconds),
            middle(restarts) + LIMIT_SWITCH * (rival.seconds[0] + middle(checks)),
            "s",
            switched.seconds,
        ),
        Row("controller's CPU of a switch", switched.cpu, LIMIT_CONTROLLER * rival.cpu, "s", ()),
        Row("preflight's own time", middle(checks), LIMIT_PREFLIGHT * slow, "s", checks),
        Row("revert, RestartSec=10", middle(reverts), LIMIT_RECOVERY, "s", reverts),
        Row("guard that waits: memory", idle.memory, LIMIT_MEMORY, "MB", ()),
        Row("guard that waits: CPU", idle.cpu, LIMIT_WAITING * idle.rival, "s", ()),
    ]


def main() -> int:
    """Measure, print, and fail when a limit is exceeded by more than noise can explain."""
    try:
        dynamic = bool(Lab.attach().state.data.get("dynamic", True))
    except LabError:
        dynamic = True
    lab = Lab.up(nodes=1, dynamic=dynamic)
    spec = lab.get("/api/v1/nodes/n1")["spec"]
    if "configSource" in spec:
        raise LabError(
            'n1 has a configSource: remove it first (`kubectl patch node n1 -p \'{"spec":{"configSource":null}}\'`)'
        )
    for _attempt in range(ATTEMPTS):
        bench = Bench(lab, "n1")
        try:
            rows = measure(bench)
        finally:
            bench.close()
        show(rows)
        if all(row.value < row.most * NOISE for row in rows):
            return 0
    return 1


def show(rows: t.Iterable[Row]) -> None:
    for row in rows:
        limit = f"{'below' if row.value < row.most else 'OVER'} {row.most:.2f}"
        if row.most == float("inf"):
            limit = ""
        print(f"{row.what:28} {row.value:6.2f} {row.unit:3} {limit:12} {' '.join(f'{turn:.2f}' for turn in row.turns)}")


if __name__ == "__main__":
    sys.exit(main())
