# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a host a configuration disagrees with: the runtime's cgroup driver, files, and what the config names."""

from __future__ import annotations

import socket
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import dropin_look, host_checks

SOCKET = "--container-runtime-endpoint=unix:///run/containerd/containerd.sock"
VERSION_2 = """version = 2
[plugins]
  [plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes]
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.other.options]
        SystemdCgroup = {other}
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        # SystemdCgroup = broken
        SystemdCgroup = {runc}
"""
VERSION_3 = """version = 3
[plugins.'io.containerd.cri.v1.runtime'.containerd]
  default_runtime_name = 'runc'
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
    SystemdCgroup = {runc}
"""


class Node:
    """Commands and files of a host."""

    def __init__(self, root: Path, **outputs: str) -> None:
        self.root, self.outputs = root, outputs
        self.calls: list[list[str]] = []

    def run(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        words = list(argv)
        self.calls.append(words)
        name = words[0].rpartition("/")[2]
        return subprocess.CompletedProcess(words, 0 if name in self.outputs else 1, self.outputs.get(name, ""), "")

    def write(self, path: str, text: str) -> None:
        place = self.root / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


@pytest.mark.parametrize(
    ("dump", "driver"),
    [
        (VERSION_2.format(runc="true", other="false"), "systemd"),
        (VERSION_2.format(runc="false", other="true"), "cgroupfs"),
        (VERSION_3.format(runc="true"), "systemd"),
        (VERSION_2.format(runc="true", other="true").replace('"runc"', '"kata"'), None),
        ("", None),
        ("version = 2\n", None),
        (VERSION_3.format(runc="1"), None),
    ],
)
def test_the_default_runtimes_cgroup_driver(dump: str, driver: str | None) -> None:
    assert host_checks.containerd_driver(dump) == driver


def test_containerd_is_asked_as_it_runs(tmp_path: Path) -> None:
    node = Node(tmp_path, containerd=VERSION_3.format(runc="true"))
    node.write("/proc/71/cmdline", "/opt/bin/containerd\0-c\0/opt/config.toml\0")
    node.write("/proc/72/cmdline", "/usr/bin/other\0")
    found = host_checks.runtime({}, [SOCKET], str(tmp_path), node.run)
    source = "/opt/bin/containerd --config /opt/config.toml config dump"
    assert found == ("containerd", SOCKET.partition("=")[2], "systemd", source)


@pytest.mark.parametrize(("minor", "driver"), [(36, "systemd"), (24, "systemd"), (23, None), (None, None)])
def test_the_default_runtime_of_a_version(tmp_path: Path, minor: int | None, driver: str | None) -> None:
    """From 1.34 on, kubeadm writes no flag, and a configuration without the field means containerd's socket."""
    node = Node(tmp_path, containerd=VERSION_2.format(runc="true", other="false"))
    found = host_checks.facts({}, [], str(tmp_path), node.run, minor)
    assert found["container_runtime"]["cgroup_driver"] == driver
    disagreements = host_checks.disagreements({"cgroupDriver": "cgroupfs"}, [], found)
    assert ("cgroupDriver" in [one.path for one in disagreements]) == bool(driver)


@pytest.mark.parametrize(
    ("config", "argv", "outputs", "found"),
    [
        ({"containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock"}, [], {}, ("containerd", None)),
        ({}, ["--container-runtime-endpoint", "unix:///var/run/crio/crio.sock"], {}, ("cri-o", "cgroupfs")),
        ({}, ["--container-runtime=docker"], {"docker": "systemd\n"}, ("docker", "systemd")),
        ({}, ["--container-runtime-endpoint=unix:///run/cri-dockerd.sock"], {"docker": "other\n"}, ("docker", None)),
        ({}, ["--container-runtime-endpoint=unix:///run/strange.sock"], {}, (None, None)),
        ({}, [], {"containerd": VERSION_3.format(runc="true")}, (None, None)),
    ],
)
def test_what_cannot_be_determined_stays_unknown(
    config: dict[str, t.Any], argv: list[str], outputs: dict[str, str], found: t.Any, tmp_path: Path
) -> None:
    node = Node(tmp_path, **outputs)
    node.write("/etc/crio/crio.conf", '[crio.runtime]\n# cgroup_manager = "systemd"\ncgroup_manager = "systemd"\n')
    node.write("/etc/crio/crio.conf.d/10-x.conf", '[crio.runtime]\ncgroup_manager = "cgroupfs"\n')
    result = host_checks.runtime(config, argv, str(tmp_path), node.run)
    assert (result.name, result.cgroup_driver) == found
    assert (result.source is None) == (result.cgroup_driver is None)


def test_facts_and_where_a_config_disagrees(tmp_path: Path) -> None:
    node = Node(tmp_path, containerd=VERSION_2.format(runc="true", other="false"), systemctl="")
    node.write("/etc/resolv.conf", "nameserver 127.0.0.53\n")
    node.write("/data/kubelet/cpu_manager_state", '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}')
    node.write("/data/kubelet/memory_manager_state", "torn")
    argv = ["/usr/bin/kubelet", SOCKET, "--root-dir=/data/kubelet", "--hostname-override=n2"]
    found = host_checks.facts({}, argv, str(tmp_path), node.run)
    assert found["resolv_conf"] == {"path": "/etc/resolv.conf", "exists": True}
    assert (found["systemd_resolved"], found["hostname_override"]) == (True, "n2")
    assert found["state_files"] == {
        "cpu": {"path": "/data/kubelet/cpu_manager_state", "policy": "none"},
        "memory": {"path": "/data/kubelet/memory_manager_state", "policy": None},
    }
    node.write("/data/kubelet/memory_manager_state", "[" * 200_000)
    assert host_checks.state_files("/data/kubelet", str(tmp_path))["memory"] == found["state_files"]["memory"]
    problems = host_checks.disagreements({"cpuManagerPolicy": "static"}, argv, found)
    assert [one.rule for one in problems] == ["cgroup-driver", "systemd-resolved", "manager-state", "manager-state"]
    # Nothing is wrong with its list of the servers themselves, to which an operator has linked the file.
    node.write("/etc/resolv.conf", "# not nameserver 127.0.0.53\nnameserver 192.0.2.1\n")
    assert host_checks.facts({}, argv, str(tmp_path), node.run)["systemd_resolved"] is False
    argv += ["--cgroup-driver=systemd", "--cpu-manager-policy=none"]
    problems = host_checks.disagreements({}, argv, found)
    assert [one.path for one in problems] == ["resolvConf", "memoryManagerPolicy"]
    # None is the name of a policy.
    assert "memory_manager_state is damaged: it names no policy, and a kubelet with None" in problems[1].message


def test_resolv_conf_of_flag_and_config(tmp_path: Path) -> None:
    node = Node(tmp_path)
    found = host_checks.facts({"resolvConf": "/etc/other"}, ["--resolv-conf=/nowhere"], str(tmp_path), node.run)
    assert found["resolv_conf"] == {"path": "/nowhere", "exists": False}
    assert "/nowhere does not exist" in host_checks.disagreements({}, [], found)[0].message
    for path in ("", "beside-the-config-file"):
        found = host_checks.facts({"resolvConf": path}, [], str(tmp_path), node.run)
        assert found["resolv_conf"] == {"path": path, "exists": None}
        assert found["systemd_resolved"] is False
    # A null is the default.
    found = host_checks.facts({"resolvConf": None}, [], str(tmp_path), node.run)
    assert found["resolv_conf"] == {"path": "/etc/resolv.conf", "exists": False}


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
        # Other types are left to the binary.
        ({"authentication": {"x509": None}, "staticPodPath": 7, RUNTIME: ["x"], "tlsCertFile": None}, []),
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


def test_what_something_else_decides_and_a_node_without_cgroups_are_not_judged(with_cgroups: Path) -> None:
    config = enforced(SYSTEM, "/nosuch")
    assert host_checks.missing_cgroups(config, {"systemReservedCgroup"}, str(with_cgroups)) == []
    assert host_checks.missing_cgroups(config, {"enforceNodeAllocatable"}, str(with_cgroups)) == []
    assert host_checks.missing_cgroups(config, frozenset(), str(with_cgroups / "none")) == []
