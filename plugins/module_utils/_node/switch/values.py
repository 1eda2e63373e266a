# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The values of the module kubelet_checkpoint: its options as the store has them, what an inspection of the node found
for the store, and what the module returns of the store.
"""

from __future__ import annotations

import os
import typing as t

from ..._config import delivery
from ..._config.fields import compare
from ..._config.values import document
from ..store.checkpoints import describe
from ..store.local import DEFAULT_KEY
from ..store.meta import Source
from ..store.store import Store
from ..store.store_reader import quietly
from ..store.trial import Trial
from ..system.files import StoreError

_STATES = [
    *("staged", "assigned", "restarted", "confirmed", "rolled_back", "reset", "removed"),
    *("updated", "followed", "unfollowed"),
]
SPEC: dict[str, t.Any] = {
    "state": {"type": "str", "choices": _STATES, "default": "assigned"},
    "node": {"type": "str", "default": ""},
    "state_files": {"type": "str", "choices": ["keep", "switch"], "default": "keep"},
    "allow_pending_edits": {"type": "bool", "default": False},
    "allow_unchecked": {"type": "bool", "default": False},
    "allow_offline_guard": {"type": "bool", "default": False},
    "unit": {"type": "str", "default": "kubelet.service"},
    "delivery": {"type": "str", "choices": list(delivery.ON_NODE), "default": delivery.CHECKPOINT},
    "dropin_dir": {"type": "path"},
    "metrics_dir": {"type": "path"},
    "source": {
        "type": "dict",
        "options": {
            "namespace": {"type": "str", "default": "kube-system"},
            "name": {"type": "str", "required": True},
            "uid": {"type": "str", "required": True},
            "resource_version": {"type": "str", "required": True, "aliases": ["resourceVersion"]},
            "kubelet_config_key": {
                "type": "str",
                "default": "kubelet",
                "aliases": ["kubeletConfigKey"],
                "no_log": False,
            },
        },
    },
    "data": {"type": "dict", "no_log": True},
    "trial_seconds": {"type": "int", "default": 600},
    "confirm_seconds": {"type": "int"},
    "reason": {"type": "str", "default": "reverted by a run of Ansible"},
    "unconfirmed_only": {"type": "bool", "default": False},
    "trial": {"type": "str"},
    "config_dir": {"type": "path", "default": "/var/lib/kubelet-config"},
    "namespace": {"type": "str", "default": "kube-system"},
    "effect": {"type": "str", "choices": ["safe", "disrupt", "drain", "reboot"], "default": "disrupt"},
    "key": {"type": "str", "default": "kubelet", "no_log": False},
}
"""The argument spec of the module. A follower takes its defaults too."""


def defaults() -> dict[str, t.Any]:
    """Return the options of a call that sets none."""
    return {name: given.get("default") for name, given in SPEC.items()}


class Standing(t.NamedTuple):
    """What the store has when a run begins. A run that later finds another one has come second."""

    assigned: Source | None
    trial: str
    """The name of the last trial, empty without one."""


def standing(store: Store) -> Standing:
    """Return what a store has now; nothing as far as it cannot be read."""
    armed = quietly(store.trial)
    return Standing(quietly(store.assigned), armed.name if armed else "")


def check_standing(store: Store, before: Standing | None) -> None:
    """Raise StoreError if another run has switched the node since."""
    now = standing(store)
    if before is None or (now.assigned == before.assigned and now.trial in ("", before.trial)):
        return
    raise StoreError(
        f"{store.config_dir}: {_actor(quietly(store.trial))} has assigned {named(now.assigned)} since this run has "
        "inspected the node: wait until that is confirmed or reverted, then run again"
    )


def check_trial(options: t.Mapping[str, t.Any], armed: Trial | None) -> None:
    """Raise StoreError if another trial was armed since that of the options."""
    if armed is None or options.get("trial") in (None, armed.name):
        return
    raise StoreError(
        f"{options['config_dir']}: {_actor(armed)} has put {named(armed.to)} on trial since the trial "
        f"{options['trial']} was armed: wait until that is confirmed or reverted, then run again"
    )


def _actor(armed: Trial | None) -> str:
    return "the follower of this node" if armed and "attempt" in armed.extra else "another run"


def named(found: Source | None) -> str:
    """Return a source for messages."""
    return describe(found) if found else "the local config"


class Inspected(t.NamedTuple):
    """What is known of the node before a switch. A call that switches nothing needs none of it.

    `local_config`: path of the config file that the kubelet reads without us, None if the store has it already or does
    not save it yet. `invocation`: the InvocationID of the kubelet's unit, empty if it never ran. `kubelet_version`:
    such as v1.30.2, empty if it is not known. `was_healthy`: None if it is not known; if it is False, poor health
    reverts no configuration. `node_proof`: whether the guard must see the Node as Ready itself. `state_files`: paths of
    the state files of the CPU and memory managers to move away, because they belong to another policy. `standing`: what
    the store had before the inspection, None if that does not matter.
    """

    local_config: str | None = None
    invocation: str = ""
    kubelet_version: str = ""
    was_healthy: bool | None = None
    node_proof: bool = True
    state_files: t.Sequence[str] = ()
    standing: Standing | None = None


NOTHING = Inspected()


def source(given: t.Mapping[str, str] | None) -> Source | None:
    """Return the source that the option of this name describes."""
    if not given:
        return None
    return {
        "namespace": given["namespace"],
        "name": given["name"],
        "uid": given["uid"],
        "resourceVersion": given["resource_version"],
        "kubeletConfigKey": given["kubelet_config_key"],
    }


def option(found: Source | None) -> dict[str, str] | None:
    """Return the option for a source: the inverse of `source`."""
    if found is None:
        return None
    parts = {"resourceVersion": "resource_version", "kubeletConfigKey": "kubelet_config_key"}
    return {parts.get(part, part): text for part, text in found.items()}


def texts(data: t.Mapping[str, t.Any]) -> dict[str, str]:
    """Return the texts of a ConfigMap's data by key.

    ansible-core before 2.19 turns a template's result that looks like JSON into a mapping. Its text is that of `push`.
    """
    found = {}
    for key, text in data.items():
        found[key] = text if isinstance(text, str) else document.render(text)
    return found


def trial(armed: Trial) -> dict[str, t.Any]:
    """Return a trial as the module returns it."""
    return {
        "name": armed.name,
        "to": armed.to,
        "revert_to": armed.revert_to,
        "seconds": armed.deadline_seconds,
        "confirmed": armed.confirmed,
        "failed": armed.failed,
        "kubelet_version": armed.kubelet_version,
    }


def waits_for_restart(armed: Trial | None, assigned: Source | None, invocation: str) -> bool:
    """Return whether an earlier run switched to what is assigned and was stopped before the restart.

    The kubelet then has the same InvocationID as before the switch. `invocation`: empty if it is not known.
    """
    if armed is None or armed.to != assigned or armed.failed or armed.confirmed:
        return False
    return bool(invocation) and armed.invocation == invocation


def active_text(store: Store) -> bytes | None:
    """Return the text of the configuration that `active` leads to, None when there is none."""
    target, known = quietly(store.running), quietly(store.local)
    if target is None or known is None:
        return None
    try:
        return store.fs.load(os.path.join(store.config_dir, target, known.key))
    except OSError:
        return None


def text_of(store: Store, source: Source | None) -> bytes | None:
    """Return the text of a source (None: the local config) as the store has it, None when it has none."""
    if source is not None:
        found = quietly(lambda: store.data(source)) or {}
        return found.get(source["kubeletConfigKey"])
    known = quietly(store.local)
    if known is None:
        return None
    return known.files[known.config].data


def config_name(store: Store, source: Source | None) -> str:
    """Return the name of the config file in `active`. `source`: the requested one, which a new store gets it from."""
    known = quietly(store.local)
    if known:
        return known.key
    if source:
        return source["kubeletConfigKey"]
    return DEFAULT_KEY


def diff(before: bytes | None, after: bytes | None, path: str) -> dict[str, str]:
    """Return Ansible's diff, secrets masked. A text that cannot be read is not shown: it may hold secrets."""
    sides = []
    for data in (before, after):
        try:
            sides.append(document.parse(data, path) if data else None)
        except document.DocumentError as error:
            sides.append({"": f"not shown: {error}"})
    if before == after:
        sides = [None, None]
    return compare.diff(sides[0], sides[1], f"{path} (before)", f"{path} (after)")
