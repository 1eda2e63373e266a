# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Misspelt variables of this collection mean one of ours; those of others do not, however alike they are."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import specs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.names import MAIN, Names

KNOWN = specs.known(specs.by_role())
NAMES = Names(KNOWN)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        *((name, MAIN) for name in ("kubelet_confg", "kubelet_configs", "kubeletconfig", "kublet_config")),
        *((name, MAIN) for name in ("kubelet_conifg", "kubelet_comfig", "Kubelet_config", "kubelet_config2")),
        ("kubelet_config_", MAIN),
        ("kubelet_confg_host", "kubelet_config_host"),
        ("kubeletconfig_drain", "kubelet_config_drain"),
        ("kubelet_configdir", "kubelet_config_dir"),
        ("kubelet_config_hosst", "kubelet_config_host"),
        ("kubelet_config_max_unavailble", "kubelet_config_max_unavailable"),
        ("kubelet_config_nam", "kubelet_config_name"),
        # The first word of one of ours.
        ("kubelet_config_soak", "kubelet_config_soak_seconds"),
        ("kubelet_config_max_fail", "kubelet_config_max_failed"),
    ],
)
def test_misspelt(name: str, ours: str) -> None:
    assert NAMES.meant(name, {"maxPods": 5}) == NAMES.meant(name, "text") == ours


@pytest.mark.parametrize(
    "name",
    [
        # Kubespray's.
        *("kube_config_dir", "kubelet_config_extra_args", "kubelet_config_extra_args_cgroupfs"),
        *("kubelet_config_extra_args_systemd", "kubelet_node_config_extra_args", "kubelet_custom_flags"),
        # Those of other roles, and of users who compose kubelet_config.
        *("kubelet_config_path", "kubelet_config_file", "kubelet_config_template", "kubelet_config_owner"),
        *("kubeconfig", "kubelet_kubeconfig", "kubelet_configuration", "kube_config", "kubelet_version", "config"),
        *("my_kubelet_config", "default_kubelet_config", "kubelet_configz", "kubeadm_config"),
    ],
)
def test_those_of_others(name: str) -> None:
    assert NAMES.meant(name, {"maxPods": 5}) == NAMES.meant(name, "text") == ""


@pytest.mark.parametrize(
    ("name", "value", "ours"),
    [
        ("kubelet_conf", "/etc/kubernetes/kubelet.conf", ""),
        ("kubelet_conf", {"vm.overcommit_memory": 1}, ""),
        ("kubelet_conf", {"stat": {"exists": True}}, ""),
        ("kubelet_conf_dir", "/etc/kubernetes", ""),
        ("kubelet_conf", {"maxPods": 5}, MAIN),
        ("kubelet_conf_host", {"evictionHard": {}}, "kubelet_config_host"),
    ],
)
def test_an_abbreviation_is_ours_if_it_holds_a_configuration(name: str, value: t.Any, ours: str) -> None:
    assert NAMES.meant(name, value) == ours


def test_no_variable_of_ours_is_misspelt() -> None:
    assert [name for name in KNOWN if NAMES.near(name)] == []
