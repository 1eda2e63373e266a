# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one call of kubelet_checkpoint does on a node: prepare a switch, switch, restart the kubelet, begin a reset, end
it.

A call that changes what the kubelet reads begins with the inspection that kubelet_preflight_info shows.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Mapping, Sequence

from ..follow import follow_install
from ..host import preflight
from ..host.preflight_decisions import Terms
from ..install import guard_steps, restarts, seed_files
from ..store import installed
from ..store.local import DEFAULT_KEY
from ..store.store import Store
from ..store.store_reader import quietly
from ..system import config_summary, files
from ..system.files import StoreError
from ..unit import dropin_folder
from ..unit.dropin_folder import Folder
from ..unit.unit import Unit, UnitError
from . import checkpoint_module, values
from .checkpoint_module import Options, Result
from .values import Inspected, Standing

_INSPECT = "inspecting the node"
KEEP = "keep"
# How long the kubelet's healthz may take to answer after a restart.
_HEALTHY_SECONDS = 60.0


class StepError(Exception):
    """A step failed, after those before it were done. `step`: its name; the message begins with it."""

    def __init__(self, step: str, reason: str) -> None:
        super().__init__(f"{step} failed: {reason}")
        self.step = step


@contextlib.contextmanager
def step(name: str, text: str = "") -> Iterator[None]:
    """Raise StepError for a step that fails. The secrets of the configuration `text` are masked in its message."""
    try:
        yield
    except (StoreError, UnitError, OSError) as error:
        raise StepError(name, config_summary.without_secrets([str(error)], text)[0]) from error


def apply(options: Options, pretend: bool) -> Result:
    """Bring the node into `options["state"]`, or only predict (`pretend`) what that would change.

    Returns the result. Raises StepError for a state of several steps, else StoreError or UnitError.
    """
    several = {
        "staged": staged,
        "assigned": switched,
        "restarted": restarted,
        "updated": updated,
        "reset": reset,
        "removed": removed,
        "followed": follow_install.present,
        "unfollowed": follow_install.absent,
    }.get(options["state"])
    options = {**options, "config_dir": files.plain(options["config_dir"])}
    if several is None:
        return checkpoint_module.apply(options, pretend)
    return several(options, pretend, Unit(options["unit"], child=bool(options["dropin_dir"])))


def switched(options: Options, pretend: bool, unit: Unit) -> Result:
    """Inspect the node, store the configuration, install the guard, arm it and switch; or only predict that.

    Returns the result of `assigned`, `preflight` and `reasons`. With reasons nothing was changed. Raises StepError.
    """
    standing = _standing(options)
    text, seen = _seen_for_source(options, unit)
    if seen["reasons"]:
        return _refused(seen)
    folder, own = _folder(seen), None
    steps = []
    if not options.get("first_start"):
        steps.append(_without_seed(options, pretend, unit))
    if not seen["reads_store"]:
        # The guard's drop-in makes the kubelet read the store, which must have its local configuration by then. Once
        # the kubelet reads the store, the switch also stores the configuration.
        own = folder.link if folder else seen["kubelet"]["config"]
        with step("storing the configuration", text):
            before = Inspected(local_config=own)
            steps.append(checkpoint_module.apply({**options, "state": "staged"}, pretend, before))
    with step("installing the guard", text):
        config_dir, key = options["config_dir"], options["source"]["kubelet_config_key"]
        steps.append(guard_steps.present(config_dir, unit, key, pretend, folder, options["metrics_dir"] or ""))
        guard = steps[-1]
        steps.append(follow_install.restored(config_dir, unit, pretend))
    with step("switching", text):
        found = _found(seen, guard, own, standing)
        if options.get("first_start"):
            # Nothing is known of a kubelet that never ran, and its Node will be there once it has joined.
            found = found._replace(was_healthy=None, node_proof=True)
        result = checkpoint_module.apply(options, pretend, found)
    return _combined(result, seen, steps)


def staged(options: Options, pretend: bool, unit: Unit) -> Result:
    """Inspect the node, store the configuration and install the guard's program; or only predict that.

    The kubelet starts as before: neither its unit nor a drop-in folder changes. The node's own file is not saved, since
    it may change until the switch. Returns the result of `staged`, with `preflight` and `reasons`. With reasons nothing
    was changed. Raises StepError.
    """
    text, seen = _seen_for_source(options, unit)
    if seen["reasons"]:
        return _refused(seen)
    with step("storing the configuration", text):
        result = checkpoint_module.apply(options, pretend)
    with step("installing the guard", text):
        config_dir, key = options["config_dir"], options["source"]["kubelet_config_key"]
        metrics = options["metrics_dir"] or ""
        guard = guard_steps.prepared(config_dir, unit, key, pretend, _folder(seen), metrics)
    return _combined(result, seen, [guard])


def restarted(options: Options, pretend: bool, unit: Unit) -> Result:
    """Restart the kubelet and verify it; only verify it if it was started since the trial of the options was reverted.

    Returns the InvocationID and the seconds until the kubelet was healthy. Raises UnitError; StoreError if another run
    has switched the node since the trial of the options.
    """
    store = Store(options["config_dir"])
    armed = quietly(store.trial)
    if not pretend:
        values.check_trial(options, armed)
    is_reverted = armed is not None and armed.name == options["trial"] and store.revert_ended()
    folder = installed.settings(store.config_dir).get("folder", "")
    done = restarts.restarted(unit, _HEALTHY_SECONDS, pretend, folder, only_verify=is_reverted)
    if not pretend:
        # What was verified may be what another run has switched to meanwhile.
        values.check_trial(options, quietly(store.trial))
    return done


def updated(options: Options, pretend: bool, unit: Unit) -> Result:
    """Bring an installed guard to this version and to `metrics_dir`; or only predict that.

    Returns whether that is a change, and warnings. Raises UnitError, StoreError.
    """
    done = guard_steps.updated(options["config_dir"], unit, pretend, options["metrics_dir"])
    return {"changed": done["changed"], "warnings": done["warnings"]}


def reset(options: Options, pretend: bool, unit: Unit) -> Result:
    """Inspect the node, bring the guard up to date and put the local configuration on trial; or only predict that.

    Returns the result of `reset`, with `preflight` and `reasons`. With reasons nothing was changed. Raises StepError.
    """
    standing = _standing(options)
    seen = _seen(options, unit, None, ())
    if seen["reasons"]:
        return _refused(seen)
    seed = _without_seed(options, pretend, unit)
    with step("updating the guard"):
        guard = guard_steps.updated(options["config_dir"], unit, pretend)
    with step("switching to the local configuration"):
        own = dropin_folder.installed(options["config_dir"]) or seen["kubelet"]["local_config"]
        result = checkpoint_module.apply(options, pretend, _found(seen, guard, own, standing))
    return _combined(result, seen, [seed, guard])


def _without_seed(options: Options, pretend: bool, unit: Unit) -> Result:
    """Remove a seed that waits for a start of the kubelet: the restart of this change would be that start."""
    config_dir = options["config_dir"]
    waits = seed_files.waits(config_dir)
    if waits and not pretend:
        with step("removing the seed"):
            seed_files.remove(config_dir, unit.name, unit.run)
    return {"changed": waits}


def removed(options: Options, pretend: bool, unit: Unit) -> Result:
    """End a reset: confirm the local configuration if it is on trial, remove the guard with a restart of the kubelet,
    then the store. Or only predict that.

    Returns the result of `removed`. Raises StepError; nothing is removed unless the kubelet runs without the drop-in.
    """
    # A source belongs to a switch.
    options = {**options, "source": None}
    config_dir = options["config_dir"]
    store = Store(config_dir)
    armed = quietly(store.trial)
    # The trial of a reset has moved the state files of another policy; without one they are left to the last restart.
    state_files = _left(options, unit) if armed is None else ()
    with step("confirming the local configuration"):
        if armed is not None and armed.to is None and not pretend:
            checkpoint_module.apply({**options, "state": "confirmed"}, pretend)
        is_reset = quietly(store.running) in (None, store.target(None))
        if not is_reset and not pretend:
            raise StoreError(f"{store.active} leads to another configuration: reset the node first")
    seed = _without_seed(options, pretend, unit)
    with step("removing the guard"):
        keep_follower = bool(options.get("keep_follower"))
        gone = guard_steps.removed(config_dir, unit, _HEALTHY_SECONDS, pretend, state_files, keep_follower)
    with step("removing the store"):
        state = "removed"
        if not is_reset:
            # The reset was a prediction too: the local configuration is not active, and the store cannot be removed.
            state = "reset"
        result = checkpoint_module.apply({**options, "state": state}, pretend)
    return {
        **result,
        "changed": seed["changed"] or gone["changed"] or result["changed"],
        "diff": [*gone["diff"], result["diff"]],
        "warnings": [*gone["warnings"], *result["warnings"]],
    }


def _left(options: Options, unit: Unit) -> Sequence[str]:
    """Return the state files of another policy than that of the node's own file."""
    if options["state_files"] == KEEP:
        # A reset with such files was refused.
        return ()
    found: Sequence[str] = _seen(options, unit, None, ())["state_files"]
    return found


def _seen_for_source(options: Options, unit: Unit) -> tuple[str, dict[str, Any]]:
    """Return the text of the source, and what the inspection finds about it."""
    with step(_INSPECT):
        data = _data(options)
        key = options["source"]["kubelet_config_key"]
        if key not in data:
            raise StoreError(
                f"the ConfigMap has no key {key!r}, which source.kubeletConfigKey names: correct one of them"
            )
        text = data[key]
    return text, _seen(options, unit, text, sorted(data))


def _data(options: Options) -> Mapping[str, str]:
    """Return the data of the source: those of the options, else those of its checkpoint. Raises StoreError."""
    if options["data"]:
        return values.texts(options["data"])
    source, store = values.source(options["source"]), Store(options["config_dir"])
    if source is None:
        return {}
    store.verify(source)
    staged = store.data(source)
    return {name: content.decode("utf-8", "surrogateescape") for name, content in staged.items()}


def _seen(options: Options, unit: Unit, text: str | None, files: Sequence[str]) -> dict[str, Any]:
    """Return what kubelet_preflight_info returns of a configuration; with None, of the node's own one."""
    terms = Terms(
        config_dir=options["config_dir"],
        state_files=options["state_files"],
        files=files,
        allow_pending_edits=options["allow_pending_edits"],
        allow_unchecked=options["allow_unchecked"],
        allow_offline_guard=options["allow_offline_guard"],
        delivery=options["delivery"],
        dropin_dir=options["dropin_dir"] or "",
        key=(options["source"] or {}).get("kubelet_config_key", DEFAULT_KEY),
        node=options["node"],
    )
    with step(_INSPECT, text or ""):
        found = preflight.look(unit.name, text, unit.root, unit.run, local=text is None, terms=terms)
    shown: dict[str, Any] = config_summary.shown(found, text or "")
    return shown


def _folder(seen: Mapping[str, Any]) -> Folder | None:
    """Return the drop-in folder that the inspection found, None without delivery `dropin`."""
    found = seen.get("dropin")
    if not found:
        return None
    return Folder(found["folder"], found["named_by"], found["exists"], found["is_link"])


def _standing(options: Options) -> Standing:
    """Return what the store had when this run began: before the inspection, or as the caller has read it."""
    return options.get("standing") or values.standing(Store(options["config_dir"]))


def _found(seen: Mapping[str, Any], guard: Mapping[str, Any], own: str | None, standing: Standing) -> Inspected:
    """Return what the steps before a switch have found for the store. `own`: the config file from before us."""
    return Inspected(
        local_config=own,
        invocation=guard["invocation_id"],
        kubelet_version=seen["kubelet"]["version"] or "",
        was_healthy=guard["healthy"],
        node_proof=seen["node_proof"],
        state_files=seen["state_files"],
        standing=standing,
    )


def _refused(seen: dict[str, Any]) -> Result:
    return {
        "changed": False,
        "restart_needed": False,
        "trial": None,
        "reasons": seen["reasons"],
        "warnings": seen.pop("warnings"),
        "diff": [],
        "preflight": seen,
    }


def _combined(result: Result, seen: dict[str, Any], steps: list[dict[str, Any]]) -> Result:
    """Return the result of the switch with what the steps before it found and changed."""
    parts = [*steps, result]
    diffs: list[Any] = []
    warnings = list(seen.pop("warnings"))
    for part in parts:
        diff = part.get("diff") or []
        diffs += diff if isinstance(diff, list) else [diff]
        warnings += part.get("warnings") or []
    return {
        **result,
        "changed": any(part["changed"] for part in parts),
        "diff": [diff for diff in diffs if diff["before"] != diff["after"]],
        "warnings": warnings,
        "reasons": [],
        "preflight": seen,
    }
