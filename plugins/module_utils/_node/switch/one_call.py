# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What one call of kubelet_checkpoint does on a node: prepare a switch, switch, begin a reset, end it.

Each step is the one that a module does alone: kubelet_preflight_info, kubelet_guard, or a state of kubelet_checkpoint.
"""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Mapping

from ..host import preflight
from ..host.preflight_decisions import Terms
from ..install import guard_module
from ..store.local import DEFAULT_KEY
from ..store.store import Store
from ..store.store_reader import quietly
from ..system import config_summary
from ..system.files import StoreError
from ..unit import dropin_folder
from ..unit.dropin_folder import Folder
from ..unit.unit import Unit, UnitError
from . import checkpoint_module, values
from .checkpoint_module import Options, Result

INSPECT = "inspecting the node"


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

    With `options["preflight"]`, or for `removed`, in several steps. Returns the result. Raises StepError, StoreError.
    """
    steps = {"staged": staged, "assigned": switched, "reset": reset} if options["preflight"] is not None else {}
    several = {**steps, "removed": removed}.get(options["state"])
    if several is None:
        return checkpoint_module.apply(options, pretend)
    return several(options, pretend, Unit(options["unit"], child=bool(options["dropin_dir"])))


def switched(options: Options, pretend: bool, unit: Unit) -> Result:
    """Inspect the node, store the configuration, install the guard, arm it and switch; or only predict that.

    Returns the result of `assigned`, `preflight` and `reasons`. With reasons nothing was changed. Raises StepError.
    """
    config_dir, key = options["config_dir"], options["source"]["kubelet_config_key"]
    text, found = _inspected_for_source(options, unit)
    if found["reasons"]:
        return _refused(found)
    folder = _folder(found)
    reads = found["kubelet"]["config"] if folder is None else folder.link
    own = {"local_config": None if found["reads_store"] else reads}
    steps = []
    if not found["reads_store"]:
        # The guard's drop-in makes the kubelet read the store, which must have its local configuration by then. Once
        # the kubelet reads the store, the switch also stores the configuration.
        with step("storing the configuration", text):
            steps.append(checkpoint_module.apply({**options, **own, "state": "staged"}, pretend))
    with step("installing the guard", text):
        metrics, patience = options["metrics_dir"] or "", options["lock_timeout"]
        steps.append(guard_module.present(config_dir, unit, key, pretend, folder, metrics, patience))
    with step("switching", text):
        result = checkpoint_module.apply({**options, **own, **_known(found, steps[-1])}, pretend)
    return _together(result, found, steps)


def staged(options: Options, pretend: bool, unit: Unit) -> Result:
    """Inspect the node, store the configuration and install the guard's program; or only predict that.

    The kubelet starts as before: neither its unit nor a drop-in folder changes. The node's own file is not saved, since
    it may change until the switch. Returns the result of `staged`, with `preflight` and `reasons`. With reasons nothing
    was changed. Raises StepError.
    """
    text, found = _inspected_for_source(options, unit)
    if found["reasons"]:
        return _refused(found)
    folder = _folder(found)
    with step("storing the configuration", text):
        result = checkpoint_module.apply({**options, "local_config": None}, pretend)
    with step("installing the guard", text):
        key = options["source"]["kubelet_config_key"]
        place, metrics = options["config_dir"], options["metrics_dir"] or ""
        guard = guard_module.prepared(place, unit, key, pretend, folder, metrics, options["lock_timeout"])
    return _together(result, found, [guard])


def reset(options: Options, pretend: bool, unit: Unit) -> Result:
    """Inspect the node, bring the guard up to date and put the local configuration on trial; or only predict that.

    Returns the result of `reset`, with `preflight`, `reasons` and `state_files`, those that `removed` must
    remove. With reasons nothing was changed. Raises StepError.
    """
    found = _inspected(options, unit, None, ())
    if found["reasons"]:
        return _refused(found)
    with step("updating the guard"):
        guard = guard_module.updated(options["config_dir"], unit, pretend, None, options["lock_timeout"])
    with step("switching to the local configuration"):
        link = dropin_folder.installed(options["config_dir"])
        own = {"local_config": link or found["kubelet"]["local_config"]}
        result = checkpoint_module.apply({**options, **own, **_known(found, guard)}, pretend)
    # The trial has moved them, if there is one.
    left = [] if result["trial"] is not None else found["state_files"]
    return {**_together(result, found, [guard]), "state_files": left}


def removed(options: Options, pretend: bool, unit: Unit) -> Result:
    """End a reset: confirm the local configuration if it is on trial, remove the guard with a restart of the kubelet,
    then the store. Or only predict that.

    Returns the result of `reset`. Raises StepError; nothing is removed unless the kubelet runs without the drop-in.
    """
    config_dir = options["config_dir"]
    store = Store(config_dir)
    # They belong to a switch.
    of_store = {**options, "source": None, "local_config": None}
    with step("confirming the local configuration"):
        armed = quietly(store.trial)
        if armed is not None and armed.to is None and not pretend:
            checkpoint_module.apply({**of_store, "state": "confirmed"}, pretend)
        if quietly(store.running) not in (None, store.target(None)) and not pretend:
            raise StoreError(f"{store.active} leads to another configuration: reset the node first")
    with step("removing the guard"):
        gone = guard_module.removed(config_dir, unit, options["seconds"], pretend, options["state_files"] or ())
    with step("removing the store"):
        # A prediction cannot remove the store, because the local configuration is not active.
        result = checkpoint_module.apply({**of_store, "state": "reset", "remove": not pretend}, pretend)
    return {
        **result,
        "changed": gone["changed"] or result["changed"],
        "diff": [*gone["diff"], result["diff"]],
        "warnings": [*gone["warnings"], *result["warnings"]],
    }


def _inspected_for_source(options: Options, unit: Unit) -> tuple[str, dict[str, Any]]:
    """Return the text of the source, and what the inspection finds about it."""
    with step(INSPECT):
        data = _data(options)
        key = options["source"]["kubelet_config_key"]
        if key not in data:
            raise StoreError(
                f"the ConfigMap has no key {key!r}, which source.kubeletConfigKey names: correct one of them"
            )
        text = data[key]
    return text, _inspected(options, unit, text, sorted(data))


def _data(options: Options) -> Mapping[str, str]:
    """Return the data of the source: those of the options, else those of its checkpoint. Raises StoreError."""
    if options["data"]:
        return values.texts(options["data"])
    source = values.source(options["source"])
    staged = Store(options["config_dir"]).data(source) if source else {}
    return {name: content.decode("utf-8", "surrogateescape") for name, content in staged.items()}


def _inspected(options: Options, unit: Unit, text: str | None, files: Any) -> dict[str, Any]:
    """Return what kubelet_preflight_info returns of a configuration; with None, of the node's own one."""
    given = {name: value for name, value in options["preflight"].items() if name in Terms._fields}
    given["delivery"], given["dropin_dir"] = options["delivery"], options["dropin_dir"] or ""
    given["key"] = (options["source"] or {}).get("kubelet_config_key", DEFAULT_KEY)
    terms = Terms(**{**given, "config_dir": options["config_dir"], "files": files})
    with step(INSPECT, text or ""):
        found = preflight.look(unit.name, text, unit.root, unit.run, local=text is None, terms=terms)
    shown: dict[str, Any] = config_summary.shown(found, text or "")
    return shown


def _folder(found: Mapping[str, Any]) -> Folder | None:
    """Return the drop-in folder that the inspection found, None without delivery `dropin`."""
    seen = found.get("dropin")
    return Folder(seen["folder"], seen["named_by"], seen["exists"], seen["is_link"]) if seen else None


def _known(found: Mapping[str, Any], guard: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a trial that the steps before it have found."""
    return {
        "invocation": guard["invocation_id"],
        "was_healthy": guard["healthy"],
        "kubelet_version": found["kubelet"]["version"] or "",
        "state_files": found["state_files"],
        "node_proof": found["node_proof"],
    }


def _refused(found: dict[str, Any]) -> Result:
    return {
        "changed": False,
        "restart_needed": False,
        "trial": None,
        "reasons": found["reasons"],
        "warnings": found.pop("warnings"),
        "diff": [],
        "preflight": found,
    }


def _together(result: Result, found: dict[str, Any], steps: list[dict[str, Any]]) -> Result:
    """Return the result of the switch with what the steps before it found and changed."""
    parts = [*steps, result]
    diffs = [part.get("diff") or [] for part in parts]
    entries = [entry for diff in diffs for entry in (diff if isinstance(diff, list) else [diff])]
    return {
        **result,
        "changed": any(part["changed"] for part in parts),
        "diff": [entry for entry in entries if entry["before"] != entry["after"]],
        "warnings": [*found.pop("warnings"), *(text for part in parts for text in part.get("warnings") or ())],
        "reasons": [],
        "preflight": found,
    }
