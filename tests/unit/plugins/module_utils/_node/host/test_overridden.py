# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import overridden

Config = dict[str, t.Any]
EVICTION = {"memory.available": "100Mi", "nodefs.available": "10%"}


@pytest.mark.parametrize(
    ("config", "flags", "paths"),
    [
        ({"maxPods": 61}, ["--max-pods=61"], []),
        ({"maxPods": 50}, ["--max-pods=61"], ["maxPods"]),
        ({"maxPods": 50}, ["--max-pods", "50", "--max-pods=61"], ["maxPods"]),
        ({}, ["--max-pods=61"], []),
        ({"maxPods": None}, ["--max-pods=61"], []),
        ({"maxPods": 61}, ["--event-qps=3"], []),
        ({"failSwapOn": False}, ["--fail-swap-on=false"], []),
        ({"failSwapOn": False}, ["--fail-swap-on"], ["failSwapOn"]),
        ({"syncFrequency": "60s"}, ["--sync-frequency=1m"], []),
        ({"syncFrequency": "61s"}, ["--sync-frequency=1m"], ["syncFrequency"]),
        ({"clusterDNS": ["10.0.0.1", "10.0.0.2"]}, ["--cluster-dns=10.0.0.1,10.0.0.2"], []),
        ({"clusterDNS": ["10.0.0.1", "10.0.0.2"]}, ["--cluster-dns=10.0.0.1", "--cluster-dns=10.0.0.2"], []),
        ({"clusterDNS": ["10.0.0.1"]}, ["--cluster-dns=10.0.0.2"], ["clusterDNS"]),
        ({"enforceNodeAllocatable": []}, ["--enforce-node-allocatable="], []),
        ({"featureGates": {"A": True, "B": True}}, ["--feature-gates=A=true,B=false"], ["featureGates.B"]),
        ({"featureGates": {"C": True}}, ["--feature-gates=A=true"], []),
        ({"evictionHard": EVICTION}, ["--eviction-hard=nodefs.available<10%,memory.available<100Mi"], []),
        ({"evictionHard": EVICTION}, ["--eviction-hard=memory.available<100Mi"], ["evictionHard"]),
        ({"kubeReserved": {"memory": "1Gi"}}, ["--kube-reserved=memory=1024Mi"], []),
        ({"kubeReserved": {"memory": "1Gi"}}, ["--kube-reserved=memory=2Gi"], ["kubeReserved"]),
        ({"address": "0.0.0.0"}, ["--address=0.0.0.0"], []),
        ({"podPidsLimit": -1}, ["--pod-max-pids=-5"], []),
    ],
)
def test_fields_that_a_flag_overrides(config: Config, flags: list[str], paths: list[str]) -> None:
    found = overridden.by_flags(config, {}, ["/usr/bin/kubelet", *flags], 20, {})
    assert [reason.partition(":")[0] for reason in found.reasons] == paths
    assert found.warnings == []


def test_the_message_names_flag_place_and_value_but_no_secret() -> None:
    argv = ["--max-pods=61", "--manifest-url-header=A:hunter2"]
    uses = {"maxPods": {"flag": "--max-pods=61", "file": "/etc/default/kubelet", "line": 1}}
    config = {"maxPods": 50, "staticPodURLHeader": {"A": ["hunter3"]}}
    found = overridden.by_flags(config, {}, argv, 20, uses)
    assert found.reasons == [
        "maxPods: the flag --max-pods=61 (/etc/default/kubelet, line 1) overrides 50. "
        "Remove the flag and restart the kubelet, or omit the field from kubelet_config"
    ]
    # How the kubelet reads this flag is not known here, so it may be the same value.
    assert [warning.partition(":")[0] for warning in found.warnings] == ["staticPodURLHeader"]
    assert "hunter" not in str(found)


def test_what_the_current_file_has_too_is_a_warning() -> None:
    """The node ran that way before, and the switch changes nothing about it."""
    found = overridden.by_flags({"maxPods": 110}, {"maxPods": 110}, ["--max-pods=61"], 20, {})
    assert (found.reasons, len(found.warnings)) == ([], 1)


def test_an_empty_text_of_the_current_file_is_no_value() -> None:
    """kubeadm writes `containerRuntimeEndpoint: ""` from 1.27 to 1.33, and names the socket by a flag."""
    flags = ["--container-runtime-endpoint=unix:///run/containerd/containerd.sock"]
    own = {"containerRuntimeEndpoint": ""}
    assert overridden.by_flags(own, own, flags, 28, {}) == overridden.Findings([], [])
    # Declared, an empty value never becomes live.
    declared = overridden.by_flags({"staticPodPath": ""}, {}, ["--pod-manifest-path=/pods"], 28, {})
    assert [reason.partition(":")[0] for reason in declared.reasons] == ["staticPodPath"]


PLACE = "/etc/kubelet.d"


@pytest.mark.parametrize(
    ("config", "dropins", "reasons"),
    [
        ({"maxPods": 70}, [{"maxPods": 70}], {}),
        ({"maxPods": 60}, [{"maxPods": 70}], {"maxPods": "0.conf"}),
        ({"maxPods": 60}, [{"maxPods": 60}, {"maxPods": 70}, {"maxPods": 70}], {"maxPods": "2.conf"}),
        ({"maxPods": 60}, [{"maxPods": 70}, {"maxPods": 60}], {}),
        ({"kubeAPIQPS": 60}, [{"maxPods": 70}], {}),
        ({"syncFrequency": "1m"}, [{"syncFrequency": "60s"}], {}),
        ({"evictionHard": EVICTION}, [{"evictionHard": {"memory.available": "100Mi", "x": "1"}}], {}),
        (
            {"evictionHard": EVICTION},
            [{"evictionHard": {"memory.available": "300Mi"}}],
            {'evictionHard["memory.available"]': "0.conf"},
        ),
        ({"clusterDNS": ["10.0.0.1"]}, [{"clusterDNS": ["10.0.0.1"]}], {}),
        ({"clusterDNS": ["10.0.0.1", "10.0.0.2"]}, [{"clusterDNS": ["10.0.0.1"]}], {"clusterDNS": "0.conf"}),
        ({"kind": "KubeletConfiguration", "apiVersion": "v1"}, [{"kind": "x", "apiVersion": "y"}], {}),
    ],
)
def test_fields_that_a_drop_in_overrides(config: Config, dropins: list[Config], reasons: dict[str, str]) -> None:
    found = overridden.by_dropins(config, {}, {f"{PLACE}/{at}.conf": item for at, item in enumerate(dropins)}, {})
    shown = {reason.partition(": the drop-in ")[0]: reason.partition(f"{PLACE}/")[2][:6] for reason in found.reasons}
    assert (shown, found.warnings) == (reasons, [])


def test_drop_ins_that_leave_doubt_are_warnings() -> None:
    found = overridden.by_dropins({"failSwapOn": True}, {}, {"/a.conf": {"failSwapOn": None}, "/b.conf": None}, {})
    assert found.reasons == []
    assert [text.partition(" ")[0] for text in found.warnings] == ["/b.conf", "failSwapOn:"]
    same = overridden.by_dropins({"maxPods": 60}, {"maxPods": 60}, {"/a.conf": {"maxPods": 70}}, {})
    assert (same.reasons, len(same.warnings)) == ([], 1)


def test_a_flag_wins_over_a_drop_in() -> None:
    found = overridden.by_dropins({"maxPods": 61}, {}, {"/a.conf": {"maxPods": 70}}, {"maxPods": "--max-pods=61"})
    assert (found.reasons, found.warnings) == ([], [])


def test_the_fields_that_something_else_decides() -> None:
    dropins: dict[str, t.Any] = {"/a.conf": {"tlsCertFile": "/x", "authentication": {"x509": {"clientCAFile": "/y"}}}}
    argv = ["--max-pods=61", "--container-runtime-endpoint=unix:///x"]
    assert overridden.hidden(argv, 27, {**dropins, "/b.conf": None}) == {
        "maxPods",
        "containerRuntimeEndpoint",
        "tlsCertFile",
        "authentication.x509.clientCAFile",
    }


@pytest.mark.parametrize(
    ("declared", "later", "paths"),
    [
        ({"maxPods": 5}, {"/95.conf": {"maxPods": 6}}, ["maxPods"]),
        ({"maxPods": 5}, {"/95.conf": {"maxPods": 5}}, []),
        ({"maxPods": 5}, {"/95.conf": {"maxPods": 6}, "/96.conf": {"maxPods": 5}}, []),
        ({"maxPods": 5}, {"/95.conf": {"maxPods": None}}, ["maxPods"]),
        ({"maxPods": None}, {"/95.conf": {"maxPods": 6}}, ["maxPods"]),
        ({"maxPods": None}, {"/95.conf": {"eventBurst": 6}}, []),
        ({"evictionHard": {"a": "1"}}, {"/95.conf": {"evictionHard": None}}, ["evictionHard.a"]),
        ({"evictionHard": {"a": "1"}}, {"/95.conf": {"evictionHard": {"b": "1"}}}, []),
        ({"evictionHard": None}, {"/95.conf": {}}, []),
        ({"clusterDNS": ["10.0.0.1"]}, {"/95.conf": {"clusterDNS": ["10.0.0.2"]}}, ["clusterDNS"]),
        ({"kind": "A", "maxPods": 5}, {"/95.conf": {"kind": "B"}}, []),
    ],
)
def test_declared_fields_that_a_later_drop_in_sets(
    declared: Config, later: dict[str, Config | None], paths: list[str]
) -> None:
    found = overridden.by_later(declared, later)
    assert [reason.partition(":")[0] for reason in found.reasons] == paths
    assert all("/95.conf comes after ours" in reason for reason in found.reasons)


def test_a_later_drop_in_that_cannot_be_read_is_a_warning() -> None:
    found = overridden.by_later({"maxPods": 5}, {"/95.conf": None})
    assert found.reasons == [] and "/95.conf cannot be read" in found.warnings[0]
