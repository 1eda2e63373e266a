# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of a switch and of its end: install or remove guard and drop-in."""

from __future__ import annotations

import contextlib
import os
import time
from typing import Any, Mapping, Sequence

from ..._config.values import annotation
from ..._config.values.short_texts import flag
from ..guard import base, guard_main, observe
from ..report import textfile
from ..store import installed
from ..store.local import DEFAULT_KEY
from ..store.store import Store
from ..store.store_reader import wrong
from ..system import files
from ..system.files import StoreError
from ..system.lock import locked
from ..unit import dropin_folder, trust, unit_override, unitfile
from ..unit.dropin_folder import Folder
from ..unit.unit import Unit, UnitError
from ..unit.unit_override import Layer
from . import guard_install, restarts


def present(
    config_dir: str, unit: Unit, key: str, check: bool, folder: Folder | None = None, metrics: str = ""
) -> dict[str, Any]:
    """Install the guard and the drop-in; also return which kubelet runs and whether it is healthy.

    With delivery `dropin`, `folder` is the kubelet's drop-in folder, which gets our link; by default that of the store,
    if it has one. `metrics` is the folder for the guard's metrics, empty for none. Raises UnitError for a unit that is
    refused, StoreError.
    """
    folder = folder or _kept(config_dir, unit)
    active = f"{config_dir}/active/{key}"
    path: str | Layer = active
    if folder:
        trust.check_chain(folder.path, instead="use delivery checkpoint")
        path = _layer(folder, unit)
    after = unit.dropin(path, (guard_install.prestart(config_dir),), config_dir)
    before = unit.installed()
    shown: list[dict[str, str]] = []
    if before != after:
        shown.append(diff(unit.dropin_path, before, after))
    if folder and not dropin_folder.leads(folder, active):
        shown.append(diff(folder.link, "", active))
    former = installed.settings(config_dir).get("metrics", "")
    changes = _program(config_dir, unit, key, check, folder, metrics)
    seen = restarts.kubelet(unit, folder.path if folder else "")
    warnings: list[str] = []
    if not check:
        warnings += _pointed(config_dir, unit, path, active, folder, bool(changes or shown))
        warnings += metrics_present(config_dir, former, metrics)
    return {"changed": bool(changes or shown), "diff": shown + _shown(changes), "warnings": warnings, **seen}


def _pointed(
    config_dir: str, unit: Unit, path: str | Layer, active: str, folder: Folder | None, changed: bool
) -> list[str]:
    """Write what makes the kubelet read `path` from its next start on; return warnings about labels."""
    _ensure_active(config_dir)
    if folder:
        # It leads to what the kubelet runs already. An earlier link would lead nowhere, and end the kubelet.
        dropin_folder.make(folder, active, config_dir)
    unit.install(path, (guard_install.prestart(config_dir),), config_dir)
    written = [config_dir, guard_install.SERVICE_PATH, unit.dropin_path]
    if folder:
        written.append(folder.link)
    warnings = guard_install.restore_labels(written, unit.run) if changed else []
    if folder:
        with locked(config_dir):
            # Not earlier: until now the kubelet may have read the local configuration as its config file.
            Store(config_dir).lay_over(folder.link)
    return warnings


def prepared(
    config_dir: str,
    unit: Unit,
    key: str,
    check: bool,
    folder: Folder | None = None,
    metrics: str = "",
    follow: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Install only what a running or restarting kubelet does not notice: the guard's program and its service.

    Drop-in and link, which make the kubelet read the store from its next start on, are left to `present`. The arguments
    are the same; `follow` are the limits of a follower to install, None for those that it has. Raises UnitError,
    StoreError.
    """
    former = installed.settings(config_dir).get("metrics", "")
    changes = _program(config_dir, unit, key, check, folder or _kept(config_dir, unit), metrics, follow)
    warnings: list[str] = []
    if changes and not check:
        warnings += guard_install.restore_labels([config_dir, guard_install.SERVICE_PATH], unit.run)
    if not check:
        warnings += metrics_present(config_dir, former, metrics)
    return {"changed": bool(changes), "diff": _shown(changes), "warnings": warnings}


def _program(
    config_dir: str,
    unit: Unit,
    key: str,
    check: bool,
    folder: Folder | None,
    metrics: str,
    follow: Mapping[str, Any] | None = None,
) -> list[guard_install.FileChange]:
    """Install the guard's program and service with the settings for this unit; return what changes."""
    known = installed.settings(config_dir)
    config = folder.link if folder else unit.form().config
    settings: dict[str, Any] = {"unit": unit.name, "argv": unit.argv(), "config": config, "key": key}
    if metrics:
        settings["metrics"] = metrics
    if folder:
        settings["folder"] = folder.path
    if follow or "follow" in known:
        settings["follow"] = dict(follow or known["follow"])
    # The guard uses this command line when no kubelet runs. Only a change of the flags that it needs is a change.
    same_flags = _guard_flags(known.get("argv", [])) == _guard_flags(settings["argv"])
    if same_flags and {**known, "argv": ()} == {**settings, "argv": ()}:
        settings = known
    return guard_install.present(config_dir, unit, settings, check)


def _shown(changes: Sequence[guard_install.FileChange]) -> list[dict[str, str]]:
    """Return Ansible's diff of the guard's service, if it changes."""
    for change in changes:
        if change.path == guard_install.SERVICE_PATH:
            before, after = (change.before or b""), (change.after or b"")
            return [diff(change.path, before.decode("utf-8", "replace"), after.decode())]
    return []


def _layer(folder: Folder, unit: Unit) -> Layer:
    if unit.form(layered=True).kind == unit_override.CHILD:
        # No systemd drop-in reaches a kubelet that another program starts.
        return Layer()
    return Layer(folder.added)


def _kept(config_dir: str, unit: Unit) -> Folder | None:
    """Return the drop-in folder of a node that has delivery `dropin`, None for another one."""
    link = dropin_folder.installed(config_dir)
    if not link:
        return None
    words = unit.own_words()
    path = installed.settings(config_dir).get("folder") or os.path.dirname(link)
    if path == dropin_folder.ours(config_dir):
        path = ""
    return dropin_folder.find(words, path, config_dir)


def _links(config_dir: str) -> list[str]:
    """Return our links in drop-in folders, which guard and store know; after an interrupted switch only one does."""
    known = {str(installed.settings(config_dir).get("config")), dropin_folder.installed(config_dir)}
    return sorted(path for path in known if dropin_folder.is_link(path) and os.path.islink(path))


def _ensure_active(config_dir: str) -> None:
    """Make `active` lead to a whole configuration: with the drop-in the kubelet reads that, also after a reboot."""
    store = Store(config_dir)
    with locked(config_dir):
        if store.local() is None:
            raise StoreError(
                f"{config_dir}: the local configuration is not saved, so the kubelet would have none: "
                "reset the node, then switch it again"
            )
        if not store.usable():
            store.settle()


def absent(config_dir: str, unit: Unit, check: bool, keep_follower: bool = False) -> dict[str, Any]:
    """Remove the drop-in and the guard, and with it the follower unless that is kept.

    Returns whether there were any, and warnings. Raises UnitError, FileError.
    """
    dropin, ours = unit.installed(), _links(config_dir)
    known = installed.settings(config_dir)
    warnings: list[str] = []
    if not check:
        for link in ours:
            dropin_folder.remove(link)
        if dropin is not None:
            unit.remove()
        # The settings name its folder, so it goes before them.
        warnings += metrics_absent(unit, known.get("metrics", ""))
    gone = guard_install.absent(config_dir, unit, check, keep_follower)
    if keep_follower and not check:
        # Without the drop-in folder, as before the first switch.
        _program(config_dir, unit, known.get("key", DEFAULT_KEY), check, None, "")
    if gone and not check:
        from ..report import status_reporter

        names = [annotation.STATUS]
        if "follow" in known and not keep_follower:
            names += status_reporter.OF_FOLLOWER
        words = dropin_folder.with_kubeconfig(known.get("argv", []), known)
        warnings += status_reporter.withdraw(words, unit.pid(), names)
    return {"changed": gone or dropin is not None or bool(ours), "warnings": warnings}


def updated(config_dir: str, unit: Unit, check: bool, metrics: str | None = None) -> dict[str, Any]:
    """Bring an installed guard to this version; also return which kubelet runs and whether it is healthy.

    `metrics` is the folder for its metrics from now on: empty for none, None for the one that it has. Where no guard is
    installed nothing is changed, and the kubelet's unit never is. Raises UnitError, files.FileError.
    """
    changed = False
    warnings: list[str] = []
    settings = installed.settings(config_dir)
    if settings and unit.installed() is not None:
        former = settings.pop("metrics", "")
        if metrics is None:
            metrics = former
        if metrics:
            settings["metrics"] = metrics
        try:
            changed = bool(guard_install.present(config_dir, unit, settings, check))
            if not check:
                warnings += metrics_present(config_dir, former, metrics)
        except StoreError as error:
            # A reset must be possible on such a node, too.
            warnings.append(f"the guard is not brought up to date: {error}")
    return {"changed": changed, "warnings": warnings, **restarts.kubelet(unit, settings.get("folder", ""))}


def removed(
    config_dir: str,
    unit: Unit,
    seconds: float,
    check: bool,
    state_files: Sequence[str],
    keep_follower: bool = False,
) -> dict[str, Any]:
    """Remove the drop-in, restart the kubelet and verify it as `restarts.restarted` does, then remove the guard.

    The kubelet is restarted if the drop-in was there, or if it still runs a configuration of the store. When it fails,
    the drop-in is restored. Raises UnitError, StoreError.
    """
    dropin = unit.installed()
    links = {link: os.readlink(link) for link in _links(config_dir)}
    shown = []
    if dropin is not None:
        shown.append(diff(unit.dropin_path, dropin, ""))
    shown += [diff(link, target, "") for link, target in links.items()]
    runs = flag(observe.argv(unit.pid()), "config") or ""
    # The guard goes last: while it knows the folder, the kubelet may not have been restarted without the link.
    folder = installed.settings(config_dir).get("folder", "")
    restart = dropin is not None or bool(links or folder) or runs.startswith(os.path.join(config_dir, ""))
    found: dict[str, Any] = {}
    if restart and not check:
        found = _restarted_without(unit, dropin, links, seconds, folder, state_files)
    gone = absent(config_dir, unit, check, keep_follower)
    if not check:
        # It holds nothing but the link, unless an operator has put a file there.
        with contextlib.suppress(OSError):
            os.rmdir(dropin_folder.ours(config_dir))
    return {**found, **gone, "changed": restart or gone["changed"], "diff": shown}


def _restarted_without(
    unit: Unit, dropin: str | None, links: Mapping[str, str], seconds: float, folder: str, state_files: Sequence[str]
) -> dict[str, Any]:
    """Remove drop-in and links and restart the kubelet. When that fails, restore what was there and raise UnitError."""
    try:
        for link in links:
            dropin_folder.remove(link)
        unit.remove()
        return restarts.restarted(unit, seconds, False, folder, state_files)
    except (UnitError, StoreError) as error:
        if dropin is None and not links:
            raise
        for link, target in links.items():
            files.swap_link(link, target)
        if dropin is not None:
            unit.restore(dropin)
        raise UnitError(f"{error} {_again(unit, seconds, folder)}") from error


def _again(unit: Unit, seconds: float, folder: str) -> str:
    """Start the kubelet with the drop-in again; return what came of it."""
    try:
        restarts.restarted(unit, seconds, False, folder)
    except UnitError as error:
        return f"The drop-in was restored, and the kubelet does not run with it either: {error}"
    return "The drop-in was restored, and the kubelet runs with it again. Correct the cause, then reset the node again."


def _guard_flags(argv: Sequence[str]) -> list[str | None]:
    names = ("kubeconfig", "hostname-override", "healthz-port", "healthz-bind-address")
    return [*argv[:1], *(flag(argv, name) for name in names)]


def diff(path: str, before: str | None, after: str) -> dict[str, str]:
    # The drop-in may repeat the unit's ExecStart.
    texts = {"before": unitfile.masked(before or ""), "after": unitfile.masked(after)}
    return {"before_header": path, "after_header": path, **texts}


def metrics_present(config_dir: str, former: str, folder: str) -> list[str]:
    """Write the metrics if they are not there, and remove those in the `former` folder; return warnings.

    Both may be empty. The installed guard must know `folder` already, and writes them later. What goes wrong is only a
    warning: nothing that a kubelet needs depends on the metrics.
    """
    warnings: list[str] = []
    if former != folder:
        warnings += _metrics_removed(former)
    # A guard that knows the folder has written them, with what only it knows about an error.
    if folder and (former != folder or not textfile.exists(folder)):
        store = Store(config_dir)
        try:
            with locked(config_dir):
                textfile.write(folder, textfile.metrics(base.status_of(store, base.error_of(store), "", time.time())))
        except StoreError as error:
            warnings.append(f"the guard cannot write its metrics, and works without them: {error}")
    return warnings


def metrics_absent(unit: Unit, folder: str) -> list[str]:
    """Stop the guard and remove its metrics, where it has any; return warnings."""
    if folder:
        unit.run(["systemctl", "stop", guard_main.SERVICE])
    return _metrics_removed(folder)


def _metrics_removed(folder: str) -> list[str]:
    reason = wrong(lambda: textfile.remove(folder)) if folder else ""
    if not reason:
        return []
    return [f"the guard's metrics are not removed, so node_exporter keeps showing them: {reason}"]
