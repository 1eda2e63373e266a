# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reservations by the size of a machine. The expected values are those of the publishers, not of this code."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import machine_size

MI, GI = 2**20, 2**30


def machine(cpu: int = 4, mib: int = 16384, storage: int = 100 * GI, pods: int = 110) -> dict[str, Any]:
    return {"cpu": cpu, "memory": mib * MI, "storage": storage, "pods": pods, "hugepages": {}}


# 574Mi and 70m: an m5.large, 2 cores and 29 pods, by hand: 255 + 11 * 29, and 60 + 10.
# 893Mi: an m6g.xlarge (4 cores, 58 pods), aws/karpenter-provider-aws pull 8205.
# 1355Mi: maxPods 100, amazon-eks-ami nodeadm/internal/kubelet/config_test.go.
@pytest.mark.parametrize(
    ("cpu", "pods", "expected"),
    [
        (2, 29, {"cpu": "70m", "memory": "574Mi", "ephemeral-storage": "1024Mi"}),
        (4, 58, {"cpu": "80m", "memory": "893Mi", "ephemeral-storage": "1024Mi"}),
        (8, 100, {"cpu": "90m", "memory": "1355Mi", "ephemeral-storage": "1024Mi"}),
    ],
)
def test_eks_reserves_by_cores_and_pods(cpu: int, pods: int, expected: dict[str, str]) -> None:
    assert machine_size.reserved(machine(cpu, pods=pods), "eks") == expected


# The column of the percentages 6, 1, 0.5 and 0.25 in openshift/machine-config-operator pull 4272, in cores:
# 0.06, 0.07, 0.08, 0.09, 0.11, 0.15, 0.23 and 0.39. The page of GKE has 3920m of 4 cores as allocatable.
@pytest.mark.parametrize(
    ("cpu", "expected"),
    [(1, "60m"), (2, "70m"), (4, "80m"), (8, "90m"), (16, "110m"), (32, "150m"), (64, "230m"), (128, "390m")],
)
@pytest.mark.parametrize("formula", ["eks", "gke"])
def test_the_percentages_of_cores(formula: str, cpu: int, expected: str) -> None:
    assert machine_size.reserved(machine(cpu), formula)["cpu"] == expected


# By hand from the page of GKE, in Mi: 25 % of the first 4096, 20 % of the next 4096, 10 % of the next 8192, 6 % of the
# next 114688, 2 % of the rest; 255 below 1024.
@pytest.mark.parametrize(
    ("mib", "expected"),
    [
        *((614, "255Mi"), (1023, "255Mi"), (1024, "256Mi"), (2048, "512Mi"), (3840, "960Mi"), (4096, "1024Mi")),
        (7680, "1741Mi"),  # 1024 + 716.8
        (8192, "1844Mi"),  # 1024 + 819.2
        (16384, "2663Mi"),  # 1843.2 + 819.2
        (65536, "5612Mi"),  # 2662.4 + 2949.12
        (131072, "9544Mi"),  # 2662.4 + 6881.28
        (262144, "12166Mi"),  # 9543.68 + 2621.44
    ],
)
def test_gke_reserves_memory_of_twelve_sizes(mib: int, expected: str) -> None:
    assert machine_size.reserved(machine(mib=mib), "gke")["memory"] == expected


# By hand from the page of GKE: the least of 50 %, 6 GiB and 35 %, and 100 GiB of the boot disk. Its example of a Node
# has 41 GiB reserved of 100 GiB (see test_pressure.py).
@pytest.mark.parametrize(("gib", "expected"), [(10, "5120Mi"), (40, "20480Mi"), (100, "41984Mi"), (300, "102400Mi")])
def test_gke_reserves_storage(gib: int, expected: str) -> None:
    assert machine_size.reserved(machine(storage=gib * GI), "gke")["ephemeral-storage"] == expected


# The table of the page of AKS; between its columns the straight line.
@pytest.mark.parametrize(
    ("cpu", "expected"),
    [(1, 60), (2, 100), (4, 140), (8, 180), (16, 260), (32, 420), (64, 740), (3, 120), (6, 160), (96, 1060)],
)
def test_aks_reserves_cores(cpu: int, expected: int) -> None:
    assert machine_size.reserved(machine(cpu), "aks")["cpu"] == f"{expected}m"


# The examples of the page: 650 MB of 8 GB with 30 pods, 1000 MB of 4 GB with 70 pods. 2250Mi: the command line of a
# kubelet of AKS with 8 cores and maxPods 110.
@pytest.mark.parametrize(
    ("mib", "pods", "expected"), [(8000, 30, "650Mi"), (4000, 70, "1000Mi"), (32000, 110, "2250Mi")]
)
def test_aks_reserves_the_less_of_pods_and_a_quarter(mib: int, pods: int, expected: str) -> None:
    found = machine_size.reserved(machine(mib=mib, pods=pods), "aks")
    assert found["memory"] == expected
    assert "ephemeral-storage" not in found


# The new column of openshift/machine-config-operator pull 4272, and the least of 0.5 since pull 5046.
@pytest.mark.parametrize(("cpu", "expected"), [(1, "500m"), (32, "500m"), (64, "820m"), (128, "1580m")])
def test_ocp_reserves_cores(cpu: int, expected: str) -> None:
    assert machine_size.reserved(machine(cpu), "ocp")["cpu"] == expected


# By hand from the script, in GiB: 1; 1 + 0.48; 1 + 3.36; 1 + 7.2; 1 + 6.72 + 0.78; 1 + 6.72 + 2.72, each to the nearest
# one. A machine of 16 GiB has a little less, and the script counts whole GiB.
@pytest.mark.parametrize(
    ("mib", "gib"), [(4096, 1), (8192, 1), (16384, 1), (15900, 1), (65536, 4), (131072, 8), (162816, 9), (262144, 10)]
)
def test_ocp_reserves_memory(mib: int, gib: int) -> None:
    found = machine_size.reserved(machine(mib=mib), "ocp")
    assert found["memory"] == f"{gib * 1024}Mi"
    assert found["ephemeral-storage"] == "1024Mi"


def test_a_part_of_a_step_is_rounded_up() -> None:
    """Machines of one type differ by some MiB: a larger step gives them one value."""
    odd = {**machine(5), "memory": 16384 * MI - 5000 * 1024}
    assert machine_size.reserved(odd, "gke")["cpu"] == "83m"  # 82.5
    assert machine_size.reserved(odd, "gke")["memory"] == "2662Mi"  # 2661.9
    assert [machine_size.reserved(one, "gke", "64Mi")["memory"] for one in (odd, machine())] == ["2688Mi", "2688Mi"]


CLASSES = [
    {"up_to": {"memory": "8Gi"}, "reserved": {"memory": "1Gi"}},
    {"up_to": {"memory": "64Gi", "cpu": 16}, "reserved": {"memory": "3Gi", "cpu": "200m"}},
    {"reserved": {"memory": "8Gi", "cpu": "0.5"}},
]


@pytest.mark.parametrize(
    ("cpu", "mib", "expected"),
    [(2, 8192, CLASSES[0]), (2, 8193, CLASSES[1]), (16, 65536, CLASSES[1]), (17, 65536, CLASSES[2])],
)
def test_the_first_size_class_that_fits_counts(cpu: int, mib: int, expected: dict[str, Any]) -> None:
    assert machine_size.reserved(machine(cpu, mib), CLASSES) == expected["reserved"]


OF_ONE, KEYS = "size class 1", "Use cpu, memory, storage, pods"
NO_QUANTITY = "size class 1, reserved.memory is '1 GB', which is no quantity such as 512Mi or 100m"
TOO_LARGE = "no size class is large enough for 64 cores and 16Gi of memory: add one, or a last one without up_to"


@pytest.mark.parametrize(
    ("given", "by", "message"),
    [
        (machine(), "acs", "there is no formula 'acs': use one of eks, gke, aks, ocp, or a list of size classes"),
        ({"cpu": 2}, "gke", "the formula gke needs memory and storage of the machine, which the capacity lacks"),
        ("8Gi", "gke", "the capacity is not a mapping: pass kubelet_capacity"),
        (machine(), {"reserved": {}}, "size classes are a list, and a formula is one of eks, gke, aks, ocp"),
        (machine(), [{"upto": {}}], "size class 1 is not a mapping of reserved, and of up_to if it has a limit"),
        (machine(), [{"reserved": "1Gi"}], "size class 1: up_to and reserved are mappings of quantities"),
        (machine(), [{"reserved": {"memory": "1 GB"}}], NO_QUANTITY),
        (machine(), [{"up_to": {"ram": "1Gi"}, "reserved": {}}], f"{OF_ONE}: up_to has no key ram. {KEYS}"),
        ({}, CLASSES, "size class 1 needs memory of the machine, which the capacity lacks"),
        (machine(64), CLASSES[:2], TOO_LARGE),
    ],
)
def test_what_is_wrong_is_named(given: Any, by: Any, message: str) -> None:
    with pytest.raises(ValueError) as found:
        machine_size.reserved(given, by)
    assert str(found.value) == message


@pytest.mark.parametrize("step", ["0", "1Ki", "fast"])
def test_a_step_is_a_number_of_mebibytes(step: str) -> None:
    with pytest.raises(ValueError, match=r"^(the )?step "):
        machine_size.reserved(machine(), "gke", step)


def test_a_capacity_is_in_whole_numbers() -> None:
    given = {"cpu": "4", "memory": "16374636Ki", "ephemeral-storage": "98831908Ki", "pods": "110"}
    others = {"hugepages-1Gi": "0", "hugepages-2Mi": "1Gi", "nvidia.com/gpu": "2"}
    known = {"cpu": 4, "memory": 16374636 * 1024, "storage": 98831908 * 1024, "pods": 110}
    assert machine_size.capacity({**given, **others}) == {**known, "hugepages": {"1Gi": 0, "2Mi": GI}}
    # What is not known of a node is absent.
    assert machine_size.capacity({"cpu": "4", "memory": "much"}) == {"cpu": 4, "hugepages": {}}
