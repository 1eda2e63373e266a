# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage verify: waits until every node runs what it should, and reports the exact obstacle for each that does not.

Also the call of the module node_config_source, which assigns, waits on request, or only verifies.

Each poll is one watch, or one LIST of at most 8 nodes. The live configuration of a node is read once its status shows
the source as active.
"""

from __future__ import annotations

import dataclasses
import time

from ..._config.values import paths
from ..api.errors import ApiError, ClusterError, NodesFailed, without_failure
from ..api.session import Json, Session
from ..objects import config_sources
from ..objects.lease import Keeper
from ..objects.lease_objects import LeaseLost
from . import assign, diagnose, verdict
from .watch import Watch

# Many kubelets are ready after a second, and each batch waits for the next poll. So the first pause is short, and each
# later one is the wait so far divided by _SHARE.
_FIRST_PAUSE, _SHARE = 0.1, 10


def config_source(session: Session, options: Json, check_mode: bool) -> Json:
    """Run the requested state. The result of a failed wait contains the changes of the assignment.

    Renews the Lease in the option `lease` before it writes and while it waits. Raises LeaseLost if it is lost.
    """
    keeper = Keeper(session, options.get("lease"), check_mode)
    if options["state"] == "verified":
        return verify(session, options, config_sources.given(options), keeper)
    try:
        result = assign.assign(session, options, check_mode, keeper)
    except NodesFailed as error:
        if not error.result.get("stop") and options["wait"] and not check_mode:
            # The others have their source: what they do with it must be known, too.
            return _waited(session, options, error.result, keeper)
        error.result.pop("recreated", None)
        raise
    if options["wait"] and not check_mode:
        return _waited(session, options, result, keeper)
    del result["recreated"]
    return result


def _waited(session: Session, options: Json, assigned: Json, keeper: Keeper) -> Json:
    """Wait for the nodes whose assignment succeeded, and return all rows. Raises NodesFailed if any node has failed."""
    rows, watched = assigned["nodes"], {**options, "recreated": assigned.pop("recreated")}
    wanted = {name: one for name, one in config_sources.wanted(options).items() if rows[name]["ok"]}
    try:
        waited = verify(session, watched, wanted, keeper)
    except NodesFailed as error:
        waited = error.result
    except ClusterError as error:
        error.result = {**_joined(assigned, error.result), "stop": True}
        raise
    what = "verifying" if wanted else "assigning"
    return without_failure(what, _joined(assigned, waited))


def _joined(assigned: Json, waited: Json) -> Json:
    """Return the result of an assignment with what the nodes have done since."""
    seen = waited.get("nodes", {})
    kept = ("changed", "delivery", "source", "previous", "uid")
    rows = {}
    for name, row in assigned["nodes"].items():
        rows[name] = {**row, **seen.get(name, {}), **paths.only(row, kept)}
    return {**assigned, "nodes": rows, "summary": {**assigned["summary"], **waited.get("summary", {})}}


def verify(
    session: Session,
    options: Json,
    wanted: dict[str, config_sources.Wanted] | None = None,
    keeper: Keeper | None = None,
) -> Json:
    """Wait for nodes to run their source and return a row for each.

    `wanted` None means the sources that are assigned now. Waits at most `wait_timeout` seconds and polls every
    `wait_sleep` seconds: more often at first (each pause is a tenth of the wait so far), less often if a LIST of the
    cluster's nodes is slow. `keeper` renews the rollout's Lease meanwhile.

    Raises NodesFailed, which names every node that does not run its source, and why, and if the API server does not
    answer. Raises LeaseLost if the Lease is lost: what the nodes run is another rollout's concern then.
    """
    keeper = keeper or Keeper(session, None)
    started = time.monotonic()
    deadline = started + options["wait_timeout"]
    names = list(wanted) if wanted is not None else options["nodes"]
    if wanted is None and not names:
        raise ClusterError("nodes is an empty list: name at least one node")
    try:
        watch = Watch(session, wanted, names, options)
        if names:
            keeper.keep()
    except ApiError as error:
        raise diagnose.unseen("verifying", "not verified", names, error) from error
    watch.judge()
    lost: ClusterError | None = None
    took = time.monotonic() - started
    while watch.waiting and time.monotonic() < deadline:
        # The pause is first, since the nodes have just been read. A change during the last pause is still seen.
        began = time.monotonic()
        pause = max(min(options["wait_sleep"], max(_FIRST_PAUSE, (began - started) / _SHARE)), 2 * took)
        pause = keeper.bounded_pause(min(pause, deadline - began))
        lost = _look_again(watch, keeper, started, pause)
        took = time.monotonic() - began - pause
    _give_up(watch, options["wait_timeout"], lost)
    return without_failure("verifying", watch.result(started))


def _look_again(watch: Watch, keeper: Keeper, started: float, pause: float) -> ClusterError | None:
    """Judge the waiting nodes anew after a pause, or return the error for which they could not be read."""
    try:
        watch.poll(pause)
        keeper.keep()
        watch.judge()
    except LeaseLost:
        raise
    except ClusterError as error:
        # An outage of the API server may outlast the repeats of a request; nodes keep running without it.
        if error.transient:
            return error
        seen = {name: f"{error.message}; last seen: {watch.verdicts[name].message}" for name in watch.waiting}
        raise NodesFailed("verifying", seen, watch.result(started)) from error
    return None


def _give_up(watch: Watch, seconds: float, lost: ClusterError | None) -> None:
    """Replace the verdicts of waiting nodes at the timeout by final ones with the most precise cause."""
    names = watch.waiting
    if not names:
        return
    if lost:
        for name in names:
            last = watch.verdicts[name]
            watch.verdicts[name] = verdict.Verdict(last.state, f"{lost.message}; last seen: {last.message}", True)
        return
    silence = diagnose.silence(watch.session, names, watch.nodes)
    asking = [name for name in names if watch.asks_for_certificate(name)]
    certificates = diagnose.certificates(watch.session, asking)
    for name in names:
        last, node, expected = watch.verdicts[name], watch.nodes[name], watch.expected[name]
        if last.state == "sync_error" and expected and not node.form.is_explained(node.error):
            watch.verdicts[name] = diagnose.sync_error(watch.session, name, expected.source, last)
        else:
            last = verdict.at_timeout(last, node.delivery, silence.get(name), seconds, node.form)
            if name in certificates:
                last = dataclasses.replace(last, message=f"{last.message}. {certificates[name]}")
            watch.verdicts[name] = last
