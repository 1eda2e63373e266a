# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which kubelet runs and whether it is healthy; and its restart, with the proof that it stays up and answers."""

from __future__ import annotations

import time
from typing import Any, Sequence

from ..guard import guard_main, observe
from ..store import statefiles
from ..system import files, health
from ..unit.unit import Unit, UnitError

_HEALTHY_TIMES = 3
PAUSE = 0.1


def kubelet(unit: Unit, folder: str) -> dict[str, Any]:
    """Return which kubelet runs and whether it is healthy, as the module returns it.

    `folder`: the drop-in folder of a kubelet whose command line names none.
    """
    pid = unit.pid()
    healthy = pid != 0 and not _health_problem(pid, folder)
    return {"invocation_id": unit.show()["InvocationID"], "healthy": healthy}


def _health_problem(pid: int, folder: str) -> str:
    """Return why the healthz of a running kubelet does not answer; empty if it does, or if it has none."""
    place = observe.target(observe.argv(pid), folder)
    return health.healthz(place.port, place.address, pid) if place.port else ""


def restarted(
    unit: Unit, seconds: float, check: bool, folder: str, state_files: Sequence[str] = (), only_verify: bool = False
) -> dict[str, Any]:
    """Restart the kubelet and wait until it stays up and its healthz answers, within `seconds` after its start.

    The healthz endpoint is that of the configuration it was started with. `folder`: its drop-in folder if its command
    line names none. `state_files` are removed while it is stopped: a running kubelet would write them again. One that
    cannot be removed is an error before that. `only_verify`: the guard has restarted the kubelet already. Raises
    UnitError, FileError.
    """
    if check:
        return {"changed": True}
    begun = time.monotonic()
    if only_verify:
        invocation = unit.show(fresh=True).get("InvocationID", "")
        return {**_verified(unit, invocation, seconds, folder, begun), "changed": False}
    if not state_files:
        return _verified(unit, unit.restart(), seconds, folder, begun)
    for path in state_files:
        statefiles.check_removable(path)
    try:
        unit.stop(guard_main.SERVICE)
        for path in state_files:
            files.remove(path)
    finally:
        # A kubelet that we stopped starts in every ending; if this process is killed, the guard starts it.
        invocation = unit.restart()
    return _verified(unit, invocation, seconds, folder, begun)


def _verified(unit: Unit, invocation: str, seconds: float, folder: str, begun: float) -> dict[str, Any]:
    """Wait until this invocation of the kubelet is healthy. `begun`: seconds of the monotonic clock."""
    unit.holds(invocation)
    started, well = time.monotonic(), 0
    while True:
        problem = _health_problem(unit.pid(), folder)
        well = 0 if problem else well + 1
        if well >= _HEALTHY_TIMES:
            return {"changed": True, "invocation_id": invocation, "seconds": round(time.monotonic() - begun, 3)}
        if time.monotonic() - started > seconds:
            raise UnitError(
                f"{unit.name}: the kubelet runs, but was not healthy {_HEALTHY_TIMES} times in a row within "
                f"{seconds:g} s: {problem or 'its healthz changes'}. The guard reverts the configuration unless the "
                f"kubelet becomes healthy. {unit.last_words(invocation)}"
            )
        time.sleep(PAUSE)
        unit.holds(invocation)
