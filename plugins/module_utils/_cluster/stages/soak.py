# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage soak: watches verified nodes, verifies them again at the end, and checks that the change disrupted no pod.

Each poll is one watch, or one LIST of at most 8 nodes. Processes and pods are checked every LOOK seconds and at the
end; live configurations, healthz and heartbeats only at the end.
"""

from __future__ import annotations

import time
import typing as t

from ..._config.forecast import pod_loss
from ..._config.rules import start_rules
from ..._config.values import node_row
from ..api import parallel, timestamps
from ..api.errors import ApiError, ClusterError, NodesFailed, without_failure
from ..api.session import Session
from ..objects import config_sources, kubelets, node_requests, nodes, pods
from ..objects.lease import Keeper
from ..objects.lease_objects import LeaseLost
from . import diagnose, verdict
from .verdict import Verdict
from .watch import Watch

_POLL, LOOK = 5.0, 30.0
# Seconds between two polls at the end, when nodes are healthy or soon will be.
_END_POLL = 1.0
# Seconds after which a Node that is not Ready, or a kubelet that does not answer, counts as failed
# (node-monitor-grace-period is 40 s).
UNWELL = 60.0
# How often in a row healthz must answer ok, and the seconds in between.
_ROUNDS, _BETWEEN = 3, 0.5
# Seconds that the final checks may take: heartbeats arrive every 10 s, and the API server may be unavailable.
_GRACE = 60.0
_AGAIN = "run again when the node is stable"
# How many of the pods that count as no loss the message of a node names.
_SHOWN = 2
LIMIT = "allow_pod_loss sets how many are accepted"
_RUNS = f"Its kubelet runs the assigned configuration; {LIMIT}"
_RESTARTED = "its kubelet restarted during the soak. See `journalctl -u kubelet` on the node"
_UNKNOWN = (
    "whether its kubelet restarted during the soak is unknown: its start time changed, as it also does when the clock "
    "is set, and no /metrics shows which of both happened. See `journalctl -u kubelet` on the node"
)


class _Soak:
    """The watched nodes; `open` are those without a final verdict."""

    def __init__(self, session: Session, options: dict[str, t.Any], watch: Watch, started: float) -> None:
        self.session = session
        self.watch = watch
        self.open = [name for name in watch.nodes if name not in watch.verdicts or verdict.ok(watch.verdicts[name])]
        self.before = {name: _snapshot(options["pods"] or {}, name) for name in self.open}
        self.allowed = allowed(options["allow_pod_loss"])
        self.end = started + options["seconds"]
        self.pods_end = started + max(options["seconds"], options["pods_timeout"])
        self.losses: dict[str, pod_loss.Losses] = {}
        # The last state of the pods that are deleted, by node and uid: None if it is unknown.
        self._last: dict[str, dict[str, pods.Row | None]] = {}
        # Since when each node has had a symptom, by node and check; the symptom and the verdict of the last poll.
        self._unwell: dict[tuple[str, str], float] = {}
        self._missing: dict[str, str] = {}
        self._seen: dict[str, str] = {}
        self._starts = {name: _reported_start(node) for name, node in watch.nodes.items()}
        self._first = dict(watch.nodes)
        # The process of each kubelet at the last look, and the nodes where it is unknown whether it is the same one.
        self._seen_processes: dict[str, kubelets.Process] = {}
        self._unknown: set[str] = set()
        # With a soak of 0 s the verification was just done: heartbeats, restarts and the configuration are not checked
        # again, and healthz only once.
        self._stays = options["seconds"] > 0
        self._verified = not self._stays
        self._leases: dict[str, float] = {}
        if self._stays:
            self._leases = diagnose.heartbeats(session, self.open)
            self._processes_now()

    def _processes_now(self) -> None:
        """Record the process of each kubelet, and close the nodes whose kubelet does not answer."""
        for outcome in self.session.each(self._serving(self.open), lambda name: kubelets.process(self.session, name)):
            if node_requests.absence(self.session, outcome.error):
                self._unanswered(outcome)
            elif outcome.value is None:
                why = f"its kubelet did not answer at the start of the soak: {outcome.why}"
                self._fail(outcome.item, "not_ready", why)
            else:
                self._seen_processes[outcome.item] = outcome.value

    def _serving(self, names: list[str]) -> list[str]:
        """Return the nodes whose kubelets have a server. The status of the others has to show how they are."""
        return [name for name in names if self.watch.unread_by(name) != start_rules.NO_SERVER]

    def check(self, deep: bool, final: bool) -> None:
        """Run the checks that are due, and close every node with a final verdict. Raises ClusterError."""
        self.watch.forget(self.open)
        verified, self._verified = self._verified, False
        if not verified:
            self.watch.poll()
        self._missing = {}
        self.watch.judge(live=final and not verified, beaten=True)
        for name in list(self.open):
            self._status(name)
        unserved = {*self.open} - {*self._serving(self.open)}
        self._unknown.update(filter(self._start_moved, unserved))
        look = deep or final
        self._processes([name for name in self.open if look or self._start_moved(name)])
        if look:
            self._pods()
        if final:
            self._health()
            self._note_heartbeats()
            self.open = [name for name in self.open if name in self._missing]

    def give_up(self, lost: ClusterError | None) -> None:
        """Close the open nodes as failed, since the time is over or (`lost`) the API server did not answer."""
        for name in list(self.open):
            missing = self._missing.get(name) or self._seen.get(name) or "as verified"
            if lost:
                self._fail(
                    name, "pending", f"{lost.message}; last seen: {missing}. Whether it stayed so is unknown: {_AGAIN}"
                )
            else:
                self._fail(name, "not_ready", f"its soak is over, and {missing}: {_AGAIN}")

    def forget_symptoms(self) -> None:
        """Forget all symptoms: while the API server is unavailable, it is unknown whether they last."""
        self._unwell = {}

    def rows(self, started: float) -> dict[str, t.Any]:
        """Return the module's result."""
        result = self.watch.result(started)
        for name, row in result["nodes"].items():
            losses = self.losses.get(name, pod_loss.Losses([], [], [], []))
            row["pods"], reported = losses._asdict(), losses.reported
            if row["ok"] and reported:
                row["message"] += f". Pods that changed without a loss: {_named(reported, _SHOWN)}"
            if name in self._unknown:
                result["warnings"].append(f"Node {name}: {_UNKNOWN}")
        return result

    def _fail(self, name: str, state: str, message: str) -> None:
        self.watch.verdicts[name] = Verdict(state, message, True)
        self.open.remove(name)

    def _status(self, name: str) -> None:
        """Close a node if its Node object, or at the end its live configuration, shows a failure."""
        found = self.watch.verdicts[name]
        self._seen[name] = found.message
        if found.final and not verdict.ok(found):
            self._fail(name, found.state, found.message)
        elif verdict.ok(found):
            self._unwell.pop((name, "status"), None)
        else:
            self._note_symptom(name, "status", found.state, found.message)

    def _note_symptom(self, name: str, check: str, state: str, message: str) -> None:
        """Record a symptom that may pass, and close the node if the symptom has lasted for UNWELL seconds."""
        self._missing[name] = message
        since = self._unwell.setdefault((name, check), time.monotonic())
        lasted = time.monotonic() - since
        if lasted >= UNWELL:
            self._fail(name, state, f"{message}, for {lasted:.0f} s; see `journalctl -u kubelet` on the node")

    def _start_moved(self, name: str) -> bool:
        """Return whether the guard reports another start than at the last look: of another process or by another clock.

        Only the process itself shows which of both.
        """
        return abs(_reported_start(self.watch.nodes[name]) - self._starts[name]) > kubelets.TOLERANCE

    def _processes(self, names: list[str]) -> None:
        known = [name for name in names if name not in self._missing and name in self._seen_processes]
        for outcome in self.session.each(known, lambda name: kubelets.process(self.session, name, 0.0)):
            if outcome.value is None:
                self._unanswered(outcome)
            else:
                self._compare_process(outcome.item, outcome.value)

    def _compare_process(self, name: str, now: kubelets.Process) -> None:
        """Close a node whose kubelet is another process than at the last look."""
        before, self._seen_processes[name] = self._seen_processes[name], now
        restarted = kubelets.restarted(before, now)
        if restarted:
            self._fail(name, "restarted", _RESTARTED)
            return
        if restarted is None:
            self._unknown.add(name)
        self._starts[name] = _reported_start(self.watch.nodes[name])
        self._unwell.pop((name, "kubelet"), None)

    def _unanswered(self, outcome: parallel.Outcome[str, t.Any]) -> None:
        if outcome.error and outcome.error.status == 0:
            raise outcome.error
        absent = node_requests.absence(self.session, outcome.error)
        if absent:
            self._fail(outcome.item, absent.state, absent.message)
            return
        message = f"its kubelet does not answer the API server ({outcome.why})"
        if outcome.error and outcome.error.transient:
            self._note_symptom(outcome.item, "kubelet", "not_ready", message)
        else:
            self._fail(outcome.item, "not_ready", message)

    def _pods(self) -> None:
        names = [name for name in self.open if self.before[name]]
        for outcome in self.session.each(names, self._compared, parallel.SHORT):
            self._weigh(outcome.item, outcome.result())

    def _compared(self, name: str) -> pod_loss.Losses:
        """Return the losses of a node: one LIST, and one watch if pods are deleted that were not at the last look."""
        before, last, now = self.before[name], self._last.setdefault(name, {}), pods.of_node(self.session, name)
        listed = next(iter(before.values()))
        deleted = [uid for uid, pod in before.items() if uid not in now and uid not in last and not pod["static"]]
        found: pods.Rows = {}
        if deleted and listed["revision"]:
            found = pods.deleted_since(self.session, name, listed["revision"])
        for uid in deleted:
            last[uid] = found.get(uid)
        known = {uid: pod for uid, pod in last.items() if pod}
        return pod_loss.compare(before, now, known, self._unready(name, listed["at"]))

    def _unready(self, name: str, since: float) -> float:
        """Return for how many seconds a Node was not Ready since a time by the API server's clock, at most."""
        node = self.watch.nodes[name]
        end = timestamps.parse(node.ready_since) if node.ready == "True" else self.session.server_time()
        return max(0.0, (end or 0.0) - since)

    def _weigh(self, name: str, found: pod_loss.Losses) -> None:
        self.losses[name] = found
        late = f"pods that were Ready before the change are not Ready again: {_named(found.unready)}"
        if self.allowed is not None and len(found.final) > self.allowed:
            self._fail(
                name, "pods_lost", f"pods were lost or restarted during the batch: {_named(found.final)}. {_RUNS}"
            )
        elif found.unready and time.monotonic() < self.pods_end:
            self._missing.setdefault(name, late)
        elif self.allowed is not None and len(found.final) + len(found.unready) > self.allowed:
            self._fail(name, "pods_unready", f"{late}. {_RUNS}, pods_timeout how long to wait")

    def _health(self) -> None:
        for turn in range(_ROUNDS if self._stays else 1):
            names = self._settled()
            if turn and names:
                time.sleep(_BETWEEN)
            for outcome in self.session.each(self._serving(names), lambda name: kubelets.healthy(self.session, name)):
                if outcome.error:
                    self._unanswered(outcome)
                elif not outcome.value:
                    self._note_symptom(outcome.item, "kubelet", "not_ready", "its kubelet's healthz does not return ok")

    def _settled(self) -> list[str]:
        """Return the open nodes without a symptom."""
        return [name for name in self.open if name not in self._missing]

    def _note_heartbeats(self) -> None:
        names = self._settled()
        if not self._stays or not names:
            return
        now = diagnose.heartbeats(self.session, names)
        for name in names:
            # Any other time is a heartbeat, an earlier one too: the clock of the node may be set back.
            renewed = name in now and now[name] != self._leases.get(name)
            if not renewed and self.watch.nodes[name].heartbeat == self._first[name].heartbeat:
                self._missing[name] = "its kubelet has sent no heartbeat since the soak began"


def soak(session: Session, options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
    """Watch nodes and return a row for each.

    Takes `seconds`: longer until every pod that was Ready is Ready again (at most `pods_timeout`), shorter if all nodes
    have failed. Requests: one watch or LIST for each poll; for each node at the start, every LOOK seconds and at the
    end one GET and, if it had pods, one LIST, and one watch of a second if more of them were deleted; at the end one
    GET of configz, _ROUNDS of healthz, and one LIST of Leases.

    Raises NodesFailed, which names every node that is no longer as verified, and why, and LeaseLost.
    """
    started = time.monotonic()
    keeper = Keeper(session, options["lease"], check_mode)
    wanted = config_sources.given({**options, "state": "verified"})
    names = options["nodes"]
    if wanted is not None:
        names = list(wanted)
    if not names:
        raise ClusterError("nodes is an empty list: name at least one node")
    try:
        watch = Watch(session, wanted, names, options)
        keeper.keep()
        run = _Soak(session, options, watch, started)
    except ApiError as error:
        raise diagnose.unseen("soaking", "not soaked", names, error) from error
    run.give_up(_stay(run, keeper, started))
    return without_failure("soaking", run.rows(started))


def _stay(run: _Soak, keeper: Keeper, started: float) -> ClusterError | None:
    """Check until no node is open or the time is over; return the last error if the API server did not answer then."""
    lost: ClusterError | None = None
    looked = started
    while run.open:
        began = time.monotonic()
        final, deep = began >= run.end, began - looked >= LOOK
        lost = _check(run, keeper, started, deep, final)
        if lost is None and (deep or final):
            looked = began
        now = time.monotonic()
        if not run.open or now >= max(run.pods_end, run.end + _GRACE):
            break
        pause = max(_END_POLL if final else min(_POLL, run.end - now), 2 * (now - began))
        time.sleep(keeper.bounded_pause(max(0.0, pause)))
    return lost


def _check(run: _Soak, keeper: Keeper, started: float, deep: bool, final: bool) -> ClusterError | None:
    """Run the checks that are due; return the error if the API server did not answer."""
    try:
        keeper.keep()
        run.check(deep, final)
    except LeaseLost:
        raise
    except ClusterError as error:
        # An outage of the API server may outlast the repeats of a request; nodes keep running without it.
        if error.transient:
            run.forget_symptoms()
            return error
        run.give_up(error)
        result = run.rows(started)
        raise NodesFailed("soaking", node_row.failures(result["nodes"]), result) from error
    return None


def allowed(value: t.Any) -> int | None:
    """Return how many pods a node may lose, None for any number. Raises ClusterError for other values."""
    text = str(value).strip().lower()
    if text in ("true", "yes", "on"):
        return None
    if text in ("false", "no", "off", "none", ""):
        return 0
    if not text.isdecimal():
        raise ClusterError(
            f"allow_pod_loss is {value!r}: set the number of pods a node may lose, or true for any number"
        )
    return int(text)


def _reported_start(node: nodes.Node) -> float:
    """Return when the kubelet of a node started according to its guard, 0 if unknown."""
    if not node.on_node:
        return 0.0
    return timestamps.parse((node.status or {}).get("started")) or 0.0


def _snapshot(given: dict[str, t.Any], name: str) -> pods.Rows:
    rows = given.get(name) or {}
    if isinstance(rows, dict) and all(isinstance(row, dict) and row.keys() >= pod_loss.FIELDS for row in rows.values()):
        return rows
    raise ClusterError(
        f"pods: the value of node {name} is not a snapshot; pass the result `pods` of kubelet_rollout_gate unchanged"
    )


def _named(found: t.Sequence[dict[str, str]], most: int | None = None) -> str:
    pods_with_reason = [f"{pod['namespace']}/{pod['name']}: {pod['reason']}" for pod in found]
    return node_row.first_of(pods_with_reason, most or len(found), "; ", "; and ")
