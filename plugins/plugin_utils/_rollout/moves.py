# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The steps of a reset, and of a migration between Node.spec.configSource and checkpoints. See steps.py."""

from __future__ import annotations

from typing import Any, Mapping

from ...module_utils._config.delivery import CHECKPOINT, NATIVE
from . import goals, rows
from .batch import At, Found, Result
from .steps import NODE_NAME, WAIT, WITHOUT_CHECKPOINT, Options, Step, Verifying, copies, leased, verification


class Reset(Step):
    """Remove the config sources of the batch."""

    module = "node_config_source"

    def options(self, at: At) -> Options | None:
        """See Step."""
        names = at.found.open(at.batch.names)
        if not names:
            return None
        return {"nodes": names, "state": "absent", "undo": at.batch.undoes is not None, **leased(at)}

    def more(self, at: At, result: Result) -> Mapping[str, Any]:
        """See Step."""
        on_hosts: dict[str, Any] = {}
        for host, name in at.batch.hosts.items():
            row = (result.get("nodes") or {}).get(name) or {"ok": False}
            if row["ok"] and row["delivery"] not in WITHOUT_CHECKPOINT:
                on_hosts[host] = {}
        return {"on_hosts": on_hosts}


class VerifyLocal(Verifying):
    """Wait until the kubelets run their local configuration."""

    reads = (NODE_NAME, WAIT)

    def begin(self, at: At) -> At:
        """See Step."""
        return at.collected()

    def options(self, at: At) -> Options | None:
        """See Step."""
        return verification(at, at.found.open(at.batch.names))


class Look(Step):
    """Read what the nodes run, and which of them take part."""

    module = "node_config_info"

    def __init__(self, delivery: str) -> None:
        self._delivery = delivery

    def options(self, at: At) -> Options:
        """See Step."""
        return {"nodes": [name for host, name in at.batch.hosts.items() if host in at.play.present]}

    def goes_on(self, result: Result) -> bool:
        """See Step."""
        return False

    def after(self, at: At, result: Result) -> Found:
        """See Step."""
        nodes = result.get("nodes") or {}
        known = at.found.rows
        if self._delivery == CHECKPOINT:
            known = rows.added(known, rows.unsettled(nodes))
        moving = rows.open_sources(goals.moving(nodes, self._delivery), known)
        return at.found._replace(rows=known, moving=moving)


class Annotate(Step):
    """Assign what the nodes run by annotation as well."""

    module = "node_config_source"

    def options(self, at: At) -> Options:
        """See Step."""
        return {"sources": at.found.moving, "delivery": CHECKPOINT, **leased(at)}

    def after(self, at: At, result: Result) -> Found:
        """See Step."""
        return at.found.adding(result, written=list(result.get("nodes") or {}))

    def more(self, at: At, result: Result) -> Mapping[str, Any]:
        """See Step."""
        return {"on_hosts": copies(at, result)}


class LeaveNative(Step):
    """Remove Node.spec.configSource, and wait for the kubelets to restart with the checkpoint."""

    module = "node_config_source"
    reads = (NODE_NAME, WAIT)

    def begin(self, at: At) -> At:
        """See Step."""
        at = at.collected()
        return at._replace(found=at.found._replace(written=at.found.open(at.found.written)))

    def options(self, at: At) -> Options | None:
        """See Step."""
        if not at.found.written:
            return None
        return {"nodes": at.found.written, "state": "absent", "delivery": NATIVE, **waiting(at), **leased(at)}

    def after(self, at: At, result: Result) -> Found:
        """See Step."""
        return at.found.adding(result, attempted=True)


class VerifyMoved(Verifying):
    """Verify that the nodes still run their configuration."""

    reads = (NODE_NAME, WAIT)

    def options(self, at: At) -> Options | None:
        """See Step."""
        return verification(at, at.found.open(at.found.written))


class Restore(Verifying):
    """Restore Node.spec.configSource of the nodes that failed without it."""

    def options(self, at: At) -> Options | None:
        """See Step."""
        lost = rows.lost_sources(at.found.rows, at.found.written)
        return {"sources": lost, "delivery": NATIVE} if lost else None

    def after(self, at: At, result: Result) -> Found:
        """See Step."""
        return at.found._replace(rows=rows.restored(at.found.rows, result.get("nodes") or {}))


class RestoreAll(Step):
    """Restore Node.spec.configSource of all nodes. Without the lease: a node must not stay half migrated."""

    module = "node_config_source"

    def options(self, at: At) -> Options | None:
        """See Step."""
        return {"sources": at.found.moving, "delivery": NATIVE} if at.found.attempted else None

    def goes_on(self, result: Result) -> bool:
        """See Step."""
        return False


class AssignNative(Step):
    """Assign what the nodes run by Node.spec.configSource, and wait for the kubelets."""

    module = "node_config_source"
    reads = (NODE_NAME, WAIT)

    def options(self, at: At) -> Options:
        """See Step."""
        return {"sources": at.found.moving, "delivery": NATIVE, **waiting(at), **leased(at)}

    def after(self, at: At, result: Result) -> Found:
        """See Step."""
        return at.found.adding(result, written=list(result.get("nodes") or {}))

    def more(self, at: At, result: Result) -> Mapping[str, Any]:
        """See Step."""
        nodes = result.get("nodes") or {}
        return {"on_hosts": {host: {} for host, name in at.batch.hosts.items() if (nodes.get(name) or {}).get("ok")}}


class DropAnnotation(Step):
    """Remove the annotation that replaced Node.spec.configSource."""

    module = "node_config_source"

    def begin(self, at: At) -> At:
        """See Step."""
        at = at.collected(native=True)
        return at._replace(found=at.found._replace(written=at.found.open(at.found.written)))

    def options(self, at: At) -> Options | None:
        """See Step."""
        if not at.found.written:
            return None
        return {"nodes": at.found.written, "state": "absent", "delivery": CHECKPOINT, **leased(at)}


class VerifyNative(Verifying):
    """Verify that the nodes still run their configuration."""

    reads = (NODE_NAME, WAIT)

    def options(self, at: At) -> Options | None:
        """See Step."""
        return verification(at, at.found.open(at.found.written), delivery=NATIVE)


def waiting(at: At) -> dict[str, Any]:
    """Return the options for a write that waits for the kubelets."""
    return {"wait": True, "wait_timeout": at.play.variable(WAIT)}
