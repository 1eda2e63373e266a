# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which values of a variable are accepted."""

from __future__ import annotations

import typing as t

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import check, specs

KNOWN = specs.known(specs.by_role())
WAIT, DRAIN, STATE = "kubelet_config_wait_timeout", "kubelet_config_drain", "kubelet_config_state_files"
LOOK, FLAGS, PAUSE = "kubelet_config_drift_hosts", "kubelet_config_flags", "kubelet_config_pause"
NAME, FILE, LEASE = "kubelet_config_namespace", "kubelet_config_plan_file", "kubelet_config_lease_seconds"
READ = "kubelet_config_read"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (DRAIN, "when_needed"),
        (STATE, "switch"),
        (LOOK, "auto"),
        # A boolean of the inventory, and the text of a survey or of -e.
        *((LOOK, value) for value in (True, False, "true", "True", "false")),
        *((PAUSE, value) for value in (True, False, "true", "False", "yes", "no", "on", "off", 1, 0, "1", "0")),
        *((WAIT, value) for value in (0, 180, "180", " 60 ", 10**9)),
        (LEASE, 1),
        (NAME, "kube-system"),
        (NAME, 5),
        (FILE, "plan.json"),
        (FLAGS, ["--max-pods=5", "--v=2"]),
        (FLAGS, "--max-pods=5,--v=2"),
        ("kubelet_config_plan", {}),
        ("kubelet_config_auth", {"kubeconfig": "a"}),
        *((READ, value) for value in ("proxy", "kubelet", "node", None)),
        ("kubelet_config", "maxPods: 5"),
        ("kubelet_config", None),
        ("kubelet_config_hosts", ["n1", "n2"]),
        # The roles read these as if they were not set.
        ("kubelet_config_serial", ""),
        ("kubelet_config_serial", None),
        ("kubelet_config_confirm_seconds", None),
        ("kubelet_config_delivery", ""),
        (FLAGS, None),
        ("kubelet_config_variant", ""),
    ],
)
def test_accepted(name: str, value: t.Any) -> None:
    assert check.accepted(name, KNOWN[name], value) == ""


@pytest.mark.parametrize(
    ("name", "value", "use"),
    [
        # YAML's bare no, a capital, a typo. Each drained nodes as when_needed does.
        *((DRAIN, value, "never, when_needed or always") for value in (False, True, "Never", "no", "nevr", "", None)),
        (STATE, "Keep", "keep or switch"),
        (STATE, ["keep"], "keep or switch"),
        *((LOOK, value, "auto, true or false") for value in ("yes", "TRUE")),
        *((PAUSE, value, "true or false") for value in ("maybe", "", None, 2, 1.0, [], {})),
        *((WAIT, value, "a whole number, 0 or more") for value in (-1, "-1", "60s", 1.5, True, "", None, "inf", [60])),
        # No number of seconds, and more than a float can hold.
        *((WAIT, value, "a whole number, 0 or more") for value in (10**400, "9" * 400)),
        # Spaces that Python does not strip from a number, and digits of another script.
        *((WAIT, value, "a whole number, 0 or more") for value in ("0\x1f", "\u0663", "\u00a05")),
        (LEASE, 0, "a whole number, 1 or more"),
        *((NAME, value, "a text") for value in ("", None, True, ["a"], {"a": 1})),
        (FILE, "", "a text"),
        (FLAGS, {"max-pods": 5}, "a list of texts"),
        (FLAGS, [["--v=2"]], "a list of texts"),
        ("kubelet_config_plan", "plan.json", "a mapping"),
        ("kubelet_config_auth", "token", "a mapping"),
        *((READ, value, "proxy, kubelet or node") for value in ("Kubelet", "nodes", "", True)),
        ("kubelet_config_serial", True, "a number above 0, a percentage"),
        ("kubelet_config_serial", [], "a number above 0, a percentage"),
        ("kubelet_config_max_unavailable", "0", "a number above 0 or a percentage"),
        ("kubelet_config_allow_pod_loss", "some", "a number of pods, or true"),
    ],
)
def test_wrong(name: str, value: t.Any, use: str) -> None:
    assert check.accepted(name, KNOWN[name], value).startswith(use)


@pytest.mark.parametrize("value", [60.0, "60.0"])
def test_a_number_with_a_fraction_of_zero_is_accepted_where_modules_accept_it(value: t.Any) -> None:
    """With ansible-core 2.16 and 2.17, a module would end a rollout in the middle."""
    refused = ArgumentSpecValidator({WAIT: {"type": "int"}}).validate({WAIT: value}).error_messages
    assert bool(check.accepted(WAIT, KNOWN[WAIT], value)) is bool(refused)


@pytest.mark.parametrize("name", [name for name, option in KNOWN.items() if "default" in option])
def test_each_default_is_accepted(name: str) -> None:
    assert check.accepted(name, KNOWN[name], KNOWN[name]["default"]) == ""


@pytest.mark.parametrize("name", [name for name in KNOWN if KNOWN[name]["type"] != "raw"])
def test_what_is_accepted_is_accepted_by_the_validation_of_the_role(name: str) -> None:
    """The other way round, Ansible is less strict: it accepts true as a number, for example."""
    option = {key: given for key, given in KNOWN[name].items() if key in ("type", "choices", "elements")}
    for value in ("keep", "5", 5, 0, True, False, "yes", "n", "TRUE", ["a"], "a,b", {"a": 1}, 2.5, 60.0, "60.0"):
        if check.accepted(name, KNOWN[name], value) == "":
            assert ArgumentSpecValidator({name: option}).validate({name: value}).error_messages == [], value
