# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import shadow


@pytest.mark.parametrize(
    ("argv", "found"),
    [
        (["/usr/bin/kubelet", "--max-pods=61"], {"maxPods": "--max-pods=61"}),
        (["--max_pods", "61", "--v", "2"], {"maxPods": "--max-pods=61"}),
        (
            ["--anonymous-auth", "--max-pods=5"],
            {"authentication.anonymous.enabled": "--anonymous-auth=true", "maxPods": "--max-pods=5"},
        ),
        (
            ["--feature-gates=A=true,B=false"],
            {"featureGates.A": "--feature-gates=A=true", "featureGates.B": "--feature-gates=B=false"},
        ),
        (
            ["--cluster-dns=10.0.0.1", "--cluster-dns=10.0.0.2"],
            {"clusterDNS": "--cluster-dns=10.0.0.1 --cluster-dns=10.0.0.2"},
        ),
        (["--eviction-hard=memory.available<5%"], {"evictionHard": "--eviction-hard=memory.available<5%"}),
        (["--manifest-url-header=Authorization:hunter2"], {"staticPodURLHeader": "--manifest-url-header=********"}),
        (
            ["--pod-manifest-path", "/etc/x", "--node-ip=10.0.0.1", "--hostname-override", "max-pods"],
            {"staticPodPath": "--pod-manifest-path=/etc/x"},
        ),
        (["--", "--max-pods=61"], {}),
        (["max-pods=61", "-v=2"], {}),
        ([], {}),
        (["--max-pods"], {"maxPods": "--max-pods="}),
    ],
)
def test_flags_hide_fields(argv: list[str], found: dict[str, str]) -> None:
    assert shadow.shadows(argv) == found


def test_a_map_given_by_flag_hides_all_its_keys_and_a_gate_only_itself() -> None:
    found = shadow.shadows(["--eviction-hard=memory.available<5%", "--feature-gates=A=true"])
    assert shadow.shadow_of('evictionHard["nodefs.available"]', found) == "--eviction-hard=memory.available<5%"
    assert shadow.shadow_of("featureGates.A", found) == "--feature-gates=A=true"
    assert shadow.shadow_of("featureGates.B", found) is None
    assert shadow.shadow_of("evictionHardest", found) is None


@pytest.mark.parametrize(
    ("flag", "path", "value"),
    [
        ("--max-pods=61", "maxPods", 61),
        ("--max-pods=many", "maxPods", shadow.UNKNOWN),
        ("--fail-swap-on", "failSwapOn", True),
        ("--fail-swap-on=F", "failSwapOn", False),
        ("--fail-swap-on=no", "failSwapOn", shadow.UNKNOWN),
        ("--sync-frequency=1m", "syncFrequency", "1m"),
        ("--cluster-dns=a,b", "clusterDNS", ["a", "b"]),
        ("--cluster-dns=", "clusterDNS", []),
        ("--feature-gates=A=true", "featureGates.A", True),
        ("--eviction-hard=memory.available<5%, x<1", "evictionHard", {"memory.available": "5%", "x": "1"}),
        ("--system-reserved=cpu=1,memory=1Gi", "systemReserved", {"cpu": "1", "memory": "1Gi"}),
        ("--system-reserved=", "systemReserved", {}),
        ("--system-reserved=cpu", "systemReserved", shadow.UNKNOWN),
        ("--manifest-url-header=A:b", "staticPodURLHeader", shadow.UNKNOWN),
    ],
)
def test_values_of_flags(flag: str, path: str, value: object) -> None:
    assert shadow.values([flag]) == {path: value}


def test_values_of_repeated_flags() -> None:
    found = shadow.values(
        [
            "--max-pods=1",
            "--max-pods=2",
            "--cluster-dns=a",
            "--cluster-dns=b",
            "--kube-reserved=cpu=1",
            "--kube-reserved=memory=1Gi",
            "--feature-gates=A=true",
            "--feature-gates=A=false",
        ]
    )
    assert found == {
        "maxPods": 2,
        "clusterDNS": ["a", "b"],
        "kubeReserved": {"cpu": "1", "memory": "1Gi"},
        "featureGates.A": False,
    }
