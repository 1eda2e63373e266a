# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows a rollout while it runs and reports on it: watches Ansible's results, what they mean is in
plugin_utils/_report.
"""

from __future__ import annotations

DOCUMENTATION = r"""
name: rollout
type: aggregate
short_description: Progress and report of a kubelet rollout
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Watches the results of the modules of this collection. On a terminal it keeps one line with a bar over the nodes and the time left at the bottom; there
    and elsewhere it prints one line for each batch that is over and one for each node that failed.
  - On request it writes a report, as JSON for programs and as one HTML file for people, with what changes, a timeline of every node, and failures first.
    The HTML file needs nothing else and loads nothing.
  - The reports are written after each batch, and again at the end. So a run that was killed leaves one of what was seen until then.
  - Works beside any callback that writes to stdout.
requirements:
  - to be enabled, by C(callbacks_enabled = livenodes.kubelet.rollout) in C(ansible.cfg) or by the environment variable E(ANSIBLE_CALLBACKS_ENABLED)
options:
  report_html:
    description: File for the HTML report. A relative path starts where C(ansible-playbook) was started. Without it there is none.
    type: str
    default: ''
    ini:
      - section: callback_kubelet_rollout
        key: report_html
    env:
      - name: LIVENODES_KUBELET_REPORT_HTML
  report_json:
    description: File for the JSON report, as O(report_html).
    type: str
    default: ''
    ini:
      - section: callback_kubelet_rollout
        key: report_json
    env:
      - name: LIVENODES_KUBELET_REPORT_JSON
  live:
    description:
      - Whether to keep a line at the bottom of the terminal. V(auto) does where stdout or stderr is a terminal, V(never) prints lines only, V(always) is for
        a terminal that does not say that it is one.
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

from ansible.plugins.callback import CallbackBase
from ansible.template import Templar

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import events
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.recorder import Recorder, Settings

COLLECTION = "livenodes.kubelet."


class Watched(t.NamedTuple):
    """What is to be known of a task to read its results."""

    module: str
    """Short name of the module of ours, or empty."""
    told: str
    run_once: bool
    ours: bool


class CallbackModule(CallbackBase):  # type: ignore[misc]  # ansible-core has no types
    """Ansible's entry point: from tasks, hosts and results to plain values."""

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

    def v2_playbook_on_start(self, _playbook: t.Any) -> None:
        """The run begins."""
        here = os.environ.get("PWD") or os.getcwd()
        paths = {kind: self.get_option(f"report_{kind}") for kind in ("html", "json")}
        self._recorder = Recorder(
            Settings(
                live=self.get_option("live"),
                **{kind: os.path.join(here, os.path.expanduser(path)) if path else "" for kind, path in paths.items()},
            ),
            say=self._display.display,
            warn=self._display.warning,
            streams=(sys.stdout, sys.stderr),
            clock=time.time,
        )
        atexit.register(self._interrupted)
        # Ansible ends itself on SIGTERM without a word to callbacks.
        self._former = signal.signal(signal.SIGTERM, self._terminated)

    def v2_playbook_on_play_start(self, play: t.Any) -> None:
        """A play begins; with serial, once a batch."""
        self._play = play
        hosts = play.hosts
        self._recorder.play(", ".join(map(str, hosts)) if isinstance(hosts, list) else str(hosts or ""))

    def v2_playbook_on_task_start(self, task: t.Any, is_conditional: bool) -> None:
        """A task begins."""
        if self._watch(task).module:
            self._recorder.doing(task.get_name().rpartition(" : ")[2])

    def v2_playbook_on_handler_task_start(self, task: t.Any) -> None:
        """A handler begins."""
        self.v2_playbook_on_task_start(task, False)

    def v2_runner_on_ok(self, result: t.Any) -> None:
        """A task ended well."""
        self._take(result, "")

    def v2_runner_on_failed(self, result: t.Any, ignore_errors: bool = False) -> None:
        """A task failed."""
        self._take(result, "" if ignore_errors else "failed")

    def v2_runner_on_unreachable(self, result: t.Any) -> None:
        """A host could not be reached."""
        self._take(result, "unreachable")

    def v2_playbook_on_stats(self, stats: t.Any) -> None:
        """The run is over."""
        self._recorder.end("", bool(stats.failures or stats.dark))
        atexit.unregister(self._interrupted)

    def _take(self, result: t.Any, trouble: str) -> None:
        # The names with an underscore are those that ansible-core 2.17 has too.
        task = result._task
        watched = self._watch(task)
        if not (watched.module in events.MODULES or watched.told or (trouble and watched.ours)):
            return
        if watched.module in events.MODULES and (result._task_fields or {}).get("check_mode"):
            self._recorder.dry_run()
        node = "" if watched.run_once else self._node_name(result._host)
        # Since ansible-core 2.21 results have the arguments only where somebody asks for them.
        arguments = {"invocation": {"module_args": (result._task_fields or {}).get("args")}}
        self._recorder.take(
            events.read(watched.module, {**result._result, **arguments}, node, trouble, watched.told, task.get_name())
        )

    def _watch(self, task: t.Any) -> Watched:
        """Return what is to be known of a task, looked up once."""
        known = self._watched.get(task._uuid)
        if known is None:
            action = str(getattr(task, "resolved_action", None) or task.action)
            module = action[len(COLLECTION) :] if action.startswith(COLLECTION) else ""
            role = getattr(task, "_role", None)
            told = str(task.get_vars().get("kubelet_rollout_event") or "")
            ours = bool(module or told or (role is not None and f"{role._role_collection}." == COLLECTION))
            known = self._watched[task._uuid] = Watched(module, told, bool(task.run_once), ours)
        return known

    def _node_name(self, host: t.Any) -> str:
        """Return the node that a host stands for: looked up once, since all variables of a host cost a millisecond."""
        name = host.get_name()
        if name not in self._node_names:
            variables = self._play.get_variable_manager().get_vars(play=self._play, host=host, include_hostvars=False)
            self._node_names[name] = str(
                Templar(loader=None, variables=variables).template(variables.get("kubelet_config_node_name") or name)
            )
        return self._node_names[name]

    def _interrupted(self) -> None:
        if self._recorder and os.getpid() == self._owner:
            self._recorder.end("interrupted")

    def _terminated(self, number: int, frame: t.Any) -> None:
        self._interrupted()
        signal.signal(number, self._former)
        if callable(self._former):
            self._former(number, frame)
        else:
            os.kill(os.getpid(), number)
