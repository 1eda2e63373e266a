# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The variables of the collection: their argument specs, which are installed with it, and whose they are: a host's, the
run's, or those that roles hand to each other; and whether a value matches its spec.

ansible-core is asked for that. Beside it stands what no spec can state: the form of a value, its least number, when it
is unset.
"""

from __future__ import annotations

import os
import re
import typing as t
from pathlib import Path

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.yaml import yaml_load

from ...module_utils._config.values import amounts
from ...module_utils._config.values.short_texts import items_of

ROLES = Path(__file__).resolve().parents[3] / "roles"
Option = t.Mapping[str, t.Any]
"""The spec of one variable in meta/argument_specs.yml."""

AUTH = "kubelet_config_auth"
"""The variable that names the cluster of a run."""

OF_THE_HOST = frozenset(
    {
        "kubelet_config",
        "kubelet_config_allow_effect",
        "kubelet_config_allow_offline_guard",
        "kubelet_config_allow_pending_edits",
        "kubelet_config_allow_unchecked",
        "kubelet_config_delivery",
        "kubelet_config_dir",
        "kubelet_config_drain",
        "kubelet_config_dropin_dir",
        "kubelet_config_exceptions",
        "kubelet_config_flags",
        "kubelet_config_follow_effect",
        "kubelet_config_forecast",
        "kubelet_config_forecast_pods",
        "kubelet_config_host",
        "kubelet_config_metrics_dir",
        "kubelet_config_node_name",
        "kubelet_config_profile",
        "kubelet_config_state_files",
        "kubelet_config_target_binary",
        "kubelet_config_transport",
        "kubelet_config_trial_seconds",
        "kubelet_config_unit",
    }
)
"""Each host has its own value."""

INTERNAL: dict[str, t.Any] = {
    "__kubelet_config_batch": {},
    "__kubelet_config_began": None,
    "__kubelet_config_migrate": "stay",
    "__kubelet_config_own": {},
    "__kubelet_config_rollout": None,
    "__kubelet_config_rollout_goal": "plan",
    "__kubelet_config_row": None,
    "__kubelet_config_trial": None,
}
"""Roles and playbooks hand these to each other, and no user sets them. The values are the defaults, None without."""

HANDED_ON = INTERNAL.keys() | {
    "kubelet_config_confirm",
    "kubelet_config_current",
    "kubelet_config_data",
    "kubelet_config_node_delivery",
    "kubelet_config_plan",
    "kubelet_config_reason",
    "kubelet_config_source",
    "kubelet_config_sources",
}
"""Roles hand these to each other. Users set those without underscores in plays of their own that call the roles."""


def by_role(folder: Path = ROLES, entry_point: str | None = None) -> dict[str, dict[str, Option]]:
    """Return the specs of the variables by role and name: of one entry point, or of all.

    A variable has one type in all entry points.
    """
    found: dict[str, dict[str, Option]] = {}
    for path in sorted(folder.glob("*/meta/argument_specs.yml")):
        entries = yaml_load(path.read_text(encoding="utf-8"))["argument_specs"]
        options: dict[str, Option] = {}
        for title, entry in entries.items():
            if entry_point in (None, title):
                options.update(entry.get("options") or {})
        found[path.parent.parent.name] = options
    return found


def known(roles: t.Mapping[str, t.Mapping[str, Option]]) -> dict[str, Option]:
    """Return the specs of all variables by name."""
    found: dict[str, Option] = {**OF_THE_PLAYBOOKS}
    for options in roles.values():
        found.update(options)
    return found


def is_of_the_run(name: str) -> bool:
    """Return whether all hosts of a run must have the same value of a variable."""
    return name not in OF_THE_HOST and name not in HANDED_ON


_PLAIN = (str, int, float)
_NUMBER = re.compile(r"\s*[+-]?\d{1,15}(\.0+)?\s*", re.ASCII)


class TextForm(t.NamedTuple):
    """A form of text: whether it accepts a value, and what it accepts in words."""

    accepts: t.Callable[[t.Any], bool]
    words: str


_LOSS = re.compile(r"\s*(\d+|true|yes|on|false|no|off|none|)\s*", re.IGNORECASE)


def _is_serial(value: t.Any) -> bool:
    counts = list(map(amounts.parse_node_count, items_of(value)))
    return bool(counts) and all(one and one.number for one in counts)


def _is_count(value: t.Any, least: int) -> bool:
    found = amounts.parse_node_count(value)
    return found is not None and found.number >= least and not (found.percent and found.number > 100)


# Those of _cluster/seed.py, which the check of each playbook need not load. A test compares what both accept.
SEED_FORMATS = ("cloud-init", "ignition", "tar")


def _are_seed_formats(value: t.Any) -> bool:
    names = items_of(value)
    return bool(names) and all(str(name).strip() in SEED_FORMATS for name in names)


FORMS = {
    "kubelet_config_serial": TextForm(
        _is_serial, "a number above 0, a percentage, or several of them as a list or with commas, such as 1,20%"
    ),
    "kubelet_config_max_unavailable": TextForm(
        lambda value: _is_count(value, 1), "a number above 0 or a percentage from 1% to 100%"
    ),
    "kubelet_config_max_skipped": TextForm(lambda value: _is_count(value, 0), "a number or a percentage up to 100%"),
    "kubelet_config_allow_pod_loss": TextForm(
        lambda value: bool(_LOSS.fullmatch(str(value))), "a number of pods, or true for any number"
    ),
    "kubelet_config_seed_formats": TextForm(
        _are_seed_formats, f"one or several of {', '.join(SEED_FORMATS)}, as a list or with commas"
    ),
}
"""By variable, as the order of a rollout, the gate, the soak and the seed read it."""

MINIMUM = {
    "kubelet_config_confirm_seconds": 1,
    "kubelet_config_lease_seconds": 1,
    "kubelet_config_node_seconds": 1,
}
"""The least whole number, if it is not 0."""

WRITTEN = frozenset(f"kubelet_config_{name}_file" for name in ("drift", "dump", "plan", "upgrade"))
"""The files that a run writes on the controller, at its end."""

FILLED = frozenset({"kubelet_config_compliance_dir", "kubelet_config_seed_dest"})
"""The folders in which a run writes files on the controller, at its end. It makes those that do not exist."""

UNSET_IF_EMPTY = frozenset(
    {
        "kubelet_config_canary_soak_seconds",
        "kubelet_config_confirm_seconds",
        "kubelet_config_delivery",
        "kubelet_config_flags",
        "kubelet_config_lease_seconds",
        "kubelet_config_max_skipped",
        "kubelet_config_serial",
        "kubelet_config_target_binary",
    }
)
"""The roles read null and the empty text as if the variable was not set. AWX passes an unanswered question as such."""

OF_THE_PLAYBOOKS: dict[str, dict[str, t.Any]] = {
    "kubelet_config_auth": {"type": "dict"},
    "kubelet_config_migrate_changes": {"type": "bool"},
    "kubelet_config_read": {"type": "str", "choices": ["auto", "kubelet", "node", "proxy"]},
}
"""Specs of the variables that the playbooks read, but no role."""

OF_EVERY_PLAYBOOK = ("kubelet_config_auth", "kubelet_config_hosts", "kubelet_config_read")
"""The variables that the playbooks read themselves, whatever their roles."""

OF_ROLLOUTS = ("kubelet_config_serial",)
"""Further variables of the playbooks with the role C(rollout)."""


def accepted(name: str, option: Option, value: t.Any) -> str:
    """Return in words what the variable accepts, if it does not accept the value; empty if it does.

    A value of a type that neither YAML nor JSON has is accepted.
    """
    is_empty = value is None or value == ""
    if is_empty and (name in UNSET_IF_EMPTY or option["type"] == "raw" or option.get("default") == value):
        return ""
    form = FORMS.get(name)
    if form:
        return "" if form.accepts(value) else form.words
    is_known = isinstance(value, (type(None), *_PLAIN, list, tuple, dict))
    if is_known and not _is_right(name, option, value):
        return _words(name, option)
    if isinstance(value, str):
        return _place(name, value)
    return ""


def _place(name: str, path: str) -> str:
    """Return what the variable accepts, if it names a place for results in which this user cannot write; else empty."""
    if name in WRITTEN and not _can_be_written(path):
        return "a file in a folder that exists on the controller, and in which this user may write"
    if name in FILLED and not _can_be_filled(path):
        return "a folder on the controller in which this user may write"
    return ""


def _can_be_written(path: str) -> bool:
    """Return whether a path is no folder, but in one, and this user may write there."""
    path = os.path.abspath(os.path.expanduser(path))
    if os.path.isdir(path) or not os.path.isdir(os.path.dirname(path)):
        return False
    return os.access(os.path.dirname(path), os.W_OK) or os.access(path, os.W_OK)


def _can_be_filled(path: str) -> bool:
    """Return whether a path is a folder in which this user may write, or can become one."""
    path = os.path.abspath(os.path.expanduser(path))
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.path.isdir(path) and os.access(path, os.W_OK)


def _is_right(name: str, option: Option, value: t.Any) -> bool:
    """Return whether ansible-core accepts a value, as the modules of this collection do later, and a user can mean it.

    By itself, ansible-core makes a text of a list, 1 of true, and a mapping of a=b.
    """
    kind = option["type"]
    if kind == "raw":
        return True
    if kind == "dict":
        return isinstance(value, dict)
    if kind == "list":
        items = value if isinstance(value, (list, tuple)) else [value]
        return all(isinstance(item, _PLAIN) for item in items)
    if not isinstance(value, _PLAIN):
        return False
    if kind == "int" and not _is_number(value, MINIMUM.get(name, 0)):
        return False
    if kind in ("int", "bool") or "choices" in option:
        # As a text: the filter `bool`, which reads a value in the roles, deprecates 1.0.
        return not ArgumentSpecValidator({name: option}).validate({name: str(value)}).error_messages
    return value != "" and not isinstance(value, bool)


def _is_number(value: t.Any, least: int) -> bool:
    """Return whether a value has the form of a whole number, at least `least`.

    ansible-core also accepts true, 1e9 and digits of other scripts, and fails for "inf".
    """
    return not isinstance(value, bool) and bool(_NUMBER.fullmatch(str(value))) and float(value) >= least


def _words(name: str, option: Option) -> str:
    """Return what a variable without a form accepts."""
    if "choices" in option:
        *others, last = map(str, option["choices"])
        return " or ".join(filter(None, [", ".join(others), last]))
    if option["type"] == "int":
        return f"a whole number, {MINIMUM.get(name, 0)} or more"
    return _WORDS[option["type"]]


_WORDS = {"str": "a text", "path": "a text", "bool": "true or false", "list": "a list of texts", "dict": "a mapping"}
