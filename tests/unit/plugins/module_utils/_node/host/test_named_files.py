# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import socket
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import dropin_look, host_checks

STORE = "/var/lib/kubelet-config"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a node with a CA, a TLS pair, and a runtime's socket."""
    for name in ("pki/ca.crt", "pki/tls.crt", "pki/tls.key", "run/file"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


def ca(path: t.Any) -> dict[str, t.Any]:
    return {"authentication": {"x509": {"clientCAFile": path}}}


CERT, KEY = {"tlsCertFile": "/pki/tls.crt"}, {"tlsPrivateKeyFile": "/pki/tls.key"}
RUNTIME = "containerRuntimeEndpoint"


@pytest.mark.parametrize(
    ("config", "reasons"),
    [
        ({}, []),
        (ca("/pki/ca.crt"), []),
        (ca(""), []),
        (ca("/pki/none.crt"), ["authentication.x509.clientCAFile: /pki/none.crt does not exist"]),
        (ca("/pki"), ["authentication.x509.clientCAFile: /pki is not a file"]),
        # A relative path is beside the config file: another key of the ConfigMap, or relative to the link `active`.
        (ca("ca.crt"), []),
        (ca("./ca.crt"), []),
        (ca("other.crt"), [f"authentication.x509.clientCAFile: {STORE}/active/other.crt does not exist"]),
        (ca("../../../../pki/ca.crt"), []),
        ({**CERT, **KEY}, []),
        (CERT, ["tlsPrivateKeyFile is not set, and tlsCertFile is"]),
        (KEY, ["tlsCertFile is not set, and tlsPrivateKeyFile is"]),
        ({**CERT, "enableServer": False}, []),
        ({**CERT, "tlsPrivateKeyFile": "/pki/no.key"}, ["tlsPrivateKeyFile: /pki/no.key does not exist"]),
        ({"staticPodPath": "/pki/manifests"}, []),
        ({"staticPodPath": "/none/manifests"}, ["staticPodPath: the folder /none of /none/manifests does not exist"]),
        ({"staticPodPath": "manifests"}, []),
        # A path that no file can have.
        ({"staticPodPath": "/a\0/b"}, ["staticPodPath: the folder /a\0 of /a\0/b does not exist"]),
        ({RUNTIME: "unix:///run/cri.sock"}, []),
        ({RUNTIME: "/run/cri.sock"}, []),
        ({RUNTIME: "unix:///run/none.sock"}, [f"{RUNTIME}: /run/none.sock does not exist"]),
        ({RUNTIME: "unix:///run/file"}, [f"{RUNTIME}: /run/file is not a socket"]),
        ({RUNTIME: "tcp://127.0.0.1:1"}, []),
        ({"imageServiceEndpoint": "unix:///run/none.sock"}, ["imageServiceEndpoint: /run/none.sock does not exist"]),
    ],
)
@pytest.mark.fault(case=41)
def test_what_the_config_names_and_the_node_lacks(config: dict[str, t.Any], reasons: list[str], root: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "run/cri.sock"))
        found = host_checks.missing(config, STORE, {"ca.crt"}, frozenset(), str(root))
    assert [reason[: len(start)] for reason, start in zip(found, reasons)] == reasons
    assert len(found) == len(reasons), found


def test_a_field_that_the_config_does_not_decide_is_not_checked(root: Path) -> None:
    config = {**ca("/none"), "staticPodPath": "/none/x", RUNTIME: "/none", "tlsCertFile": "/none"}
    hidden = {"authentication.x509.clientCAFile", "staticPodPath", RUNTIME, "tlsCertFile"}
    assert host_checks.missing(config, STORE, set(), hidden, str(root)) == []


def test_a_config_of_other_types_is_left_to_the_binary(root: Path) -> None:
    config = {"authentication": {"x509": None}, "staticPodPath": 7, RUNTIME: ["x"], "tlsCertFile": None}
    assert host_checks.missing(config, STORE, set(), frozenset(), str(root)) == []


@pytest.mark.parametrize("path", [5, "/a\0", "pki/ca.crt"])
def test_a_ca_that_no_file_can_be_has_no_owner(root: Path, path: t.Any) -> None:
    assert dropin_look.owned([], [], ca("/pki/ca.crt"), [], str(root))["client_ca"]
    assert dropin_look.owned([], [], ca(path), [], str(root))["client_ca"] == []


MOUNT = "sys/fs/cgroup"
HAS = ("system.slice", "kube.slice/kube-own.slice", "pods")
SYSTEM, KUBE = ("systemReservedCgroup", "system-reserved"), ("kubeReservedCgroup", "kube-reserved")


def enforced(place: tuple[str, str], name: str, more: str = "") -> dict[str, t.Any]:
    field, value = place
    return {field: name, "enforceNodeAllocatable": ["pods", value + more]}


@pytest.fixture(params=["v1", "v2"])
def with_cgroups(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a node with some cgroups, of either version."""
    tops = [""] if request.param == "v2" else ["memory", "cpu", "pids"]
    for top in tops:
        for name in HAS:
            (tmp_path / MOUNT / top / name).mkdir(parents=True)
    if request.param == "v2":
        (tmp_path / MOUNT / "cgroup.controllers").write_text("cpu memory\n")
    return tmp_path


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({}, ""),
        (enforced(SYSTEM, "/system.slice"), ""),
        (enforced(SYSTEM, "system"), ""),
        (enforced(KUBE, "/kube-own.slice"), ""),
        (enforced(KUBE, "/kube.slice/kube-own.slice", "-compressible"), ""),
        (enforced(KUBE, "/pods"), ""),
        (enforced(SYSTEM, "/nosuch"), "systemReservedCgroup"),
        (enforced(KUBE, "/nosuch.slice"), "kubeReservedCgroup"),
        (enforced(KUBE, "/own.slice", "-compressible"), "kubeReservedCgroup"),
        # It is not enforced.
        ({"systemReservedCgroup": "/nosuch"}, ""),
        ({"cgroupRoot": "/"}, ""),
        ({"cgroupRoot": "/pods"}, ""),
        ({"cgroupRoot": "/kube/own"}, ""),
        ({"cgroupRoot": "/nosuch"}, "cgroupRoot"),
        ({"cgroupRoot": "/nosuch", "cgroupsPerQOS": False}, ""),
        ({"cgroupRoot": 5, "enforceNodeAllocatable": "x", "systemReservedCgroup": 5}, ""),
    ],
)
def test_the_cgroups_that_a_node_lacks(with_cgroups: Path, config: dict[str, t.Any], field: str) -> None:
    found = host_checks.missing_cgroups(config, frozenset(), str(with_cgroups))
    assert [reason.partition(":")[0] for reason in found] == ([field] if field else [])
    assert all("does not exist on this node" in reason and "Create it" in reason for reason in found)


def test_what_something_else_decides_is_not_judged(with_cgroups: Path) -> None:
    config = enforced(SYSTEM, "/nosuch")
    assert host_checks.missing_cgroups(config, {"systemReservedCgroup"}, str(with_cgroups)) == []
    assert host_checks.missing_cgroups(config, {"enforceNodeAllocatable"}, str(with_cgroups)) == []


def test_without_its_cgroups_nothing_is_known_of_a_node(tmp_path: Path) -> None:
    assert host_checks.missing_cgroups(enforced(SYSTEM, "/nosuch"), frozenset(), str(tmp_path)) == []
