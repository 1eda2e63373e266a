# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the progress of a rollout and writes its report. plugin_utils/_report interprets the results."""

from __future__ import annotations

DOCUMENTATION = r"""
name: rollout
type: aggregate
short_description: Progress and report of a kubelet rollout
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Watches the results of this collection's modules. On a terminal, the last line shows a progress bar and the
    remaining time. On every output, one line is printed for each finished batch and for each failed node.
  - If the stdout callback prints JSON, such as C(ansible.posix.json) and C(ansible.posix.jsonl), these lines are on
    stderr.
  - On request it writes a report, as JSON for programs and as a self-contained HTML file for people. The report shows
    the changes and a timeline of every node, failures first.
  - The reports are written after each batch and at the end. A run that was killed leaves the report of its last batch.
  - Can be combined with any callback that writes to stdout.
requirements:
  - to be enabled, by C(callbacks_enabled = livenodes.kubelet.rollout) in C(ansible.cfg) or by
    E(ANSIBLE_CALLBACKS_ENABLED)
options:
  report_html:
    description: >-
      File for the HTML report. A relative path is relative to the folder in which C(ansible-playbook) was started. No
      report is written by default.
    type: str
    default: ''
    ini:
      - section: callback_kubelet_rollout
        key: report_html
    env:
      - name: LIVENODES_KUBELET_REPORT_HTML
  report_json:
    description: File for the JSON report, as in O(report_html).
    type: str
    default: ''
    ini:
      - section: callback_kubelet_rollout
        key: report_json
    env:
      - name: LIVENODES_KUBELET_REPORT_JSON
  live:
    description:
      - Whether to show progress in the last line of the terminal. V(auto) shows it if stdout or stderr is a terminal.
        V(never) prints lines only. V(always) is for a terminal that is not detected.
    type: str
    choices: [auto, always, never]
    default: auto
    ini:
      - section: callback_kubelet_rollout
        key: live
    env:
      - name: LIVENODES_KUBELET_LIVE
"""

import atexit
import os
import signal
import sys
import time
import typing as t

from ansible import constants as C
from ansible.plugins.callback import CallbackBase
from ansible.template import Templar

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import events
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.recorder import Recorder, ReportSettings

COLLECTION = "livenodes.kubelet."
RESTARTING = "/kubelet/playbooks/batches.yml:"
"""Where the plays begin that end each playbook that restarts kubelets."""


class Watched(t.NamedTuple):
    """The properties of a task that are needed to read its results."""

    module: str
    """Short name of the module if it belongs to this collection, else empty."""
    run_once: bool
    ours: bool
    """Whether the task belongs to this collection."""


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types
    """Ansible's entry point. It reduces tasks, hosts and results to plain values."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "livenodes.kubelet.rollout"
    CALLBACK_NEEDS_ENABLED = True

    def __init__(self) -> None:
        super().__init__()
        self._recorder: Recorder | None = None
        self._watched: dict[str, Watched] = {}
        self._node_names: dict[str, str] = {}
        self._play: t.Any = None
        self._owner = os.getpid()
        self._is_interrupted = False

    def v2_playbook_on_start(self, playbook: t.Any) -> None:
        """Begin a run."""
        self._recorder = Recorder(
            ReportSettings(live=self.get_option("live"), html=self._report("html"), json=self._report("json")),
            display=self._print,
            warn=self._display.warning,
            streams=(sys.stdout, sys.stderr),
            clock=time.time,
            restarts=any(RESTARTING in str(play.get_path()) for play in playbook.get_plays()),
        )
        atexit.register(self._interrupted)
        # On SIGTERM Ansible exits without calling callbacks. On SIGINT it may wait for ever: for the lock of its
        # results, which a worker held when it was killed. A second SIGINT then kills it.
        self._former = {number: signal.signal(number, self._on_signal) for number in (signal.SIGTERM, signal.SIGINT)}

    def _print(self, line: str) -> None:
        """Print a line where it is not between the lines of JSON that a program reads."""
        stdout_callback = C.DEFAULT_STDOUT_CALLBACK.rpartition(".")[2]
        self._display.display(line, stderr=stdout_callback in ("json", "jsonl"))

    def _report(self, kind: str) -> str:
        """Return where to write the report of a kind, empty if it is not wanted."""
        path = self.get_option(f"report_{kind}")
        return os.path.abspath(os.path.expanduser(path)) if path else ""

    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        """Begin a play, or with serial a batch of it."""
        self._play = play
        hosts = play.hosts
        self._recorder.play(", ".join(map(str, hosts)) if isinstance(hosts, list) else str(hosts or ""))

    def v2_playbook_on_task_start(self, task: t.Any, is_conditional: bool) -> None:
        """Begin a task. Raises KeyboardInterrupt if an interrupt has not ended the run.

        Python ignores what a signal handler raises while Ansible forks a worker, so that the run would go on.
        """
        if self._is_interrupted:
            raise KeyboardInterrupt
        if self._watch(task).module:
            self._recorder.doing(task.get_name().rpartition(" : ")[2])

    def v2_playbook_on_handler_task_start(self, task: t.Any) -> None:
        """Begin a handler."""
        self.v2_playbook_on_task_start(task, False)

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """Record a successful task."""
        self._take(result, "")

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """Record a failed task."""
        self._take(result, "" if ignore_errors else "failed")

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        """Record an unreachable host."""
        self._take(result, "unreachable")

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """End the run."""
        self._recorder.end("", bool(stats.failures or stats.dark))
        atexit.unregister(self._interrupted)
        # The next playbook of the same command begins anew.
        for number, former in self._former.items():
            signal.signal(number, former)

    def _take(self, result: t.Any, trouble: str) -> None:
        # The underscore names also exist in ansible-core 2.16.
        task = result._task
        watched = self._watch(task)
        of_module = watched.module in events.MODULES
        if not of_module and not (watched.ours and (trouble or events.begins(result._result))):
            return
        fields = result._task_fields or {}
        node = "" if watched.run_once else self._node_name(result._host)
        if node in C.LOCALHOST and watched.module not in events.ON_NODES:
            # The controller, not a node.
            node = ""
        # Since ansible-core 2.21 results contain the arguments only on request.
        answer = {**result._result, "invocation": {"module_args": fields.get("args")}}
        found = events.read(watched.module, answer, node, trouble, task.get_name())
        self._recorder.take(found, bool(of_module and fields.get("check_mode")))

    def _watch(self, task: t.Any) -> Watched:
        """Return the properties of a task, from a cache."""
        known = self._watched.get(task._uuid)
        if known is None:
            action = str(getattr(task, "resolved_action", None) or task.action)
            module = action[len(COLLECTION) :] if action.startswith(COLLECTION) else ""
            role = getattr(task, "_role", None)
            ours = bool(module or (role is not None and f"{role._role_collection}." == COLLECTION))
            known = self._watched[task._uuid] = Watched(module, bool(task.run_once), ours)
        return known

    def _node_name(self, host: t.Any) -> str:
        """Return the node name of a host, from a cache. Reading all variables of a host takes a millisecond."""
        name = host.get_name()
        if name not in self._node_names:
            variables = self._play.get_variable_manager().get_vars(play=self._play, host=host, include_hostvars=False)
            templar = Templar(loader=self._play.get_loader(), variables=variables)
            self._node_names[name] = str(templar.template(variables.get("kubelet_config_node_name") or name))
        return self._node_names[name]

    def _interrupted(self) -> None:
        if self._recorder and os.getpid() == self._owner:
            self._recorder.end("interrupted")

    def _on_signal(self, number: int, frame: t.Any) -> None:
        former = self._former[signal.Signals(number)]
        signal.signal(number, former)
        self._is_interrupted = number == signal.SIGINT
        try:
            self._interrupted()
        finally:
            if callable(former):
                former(number, frame)
            else:
                os.kill(os.getpid(), number)
