# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a configuration a node overrides, and what prevents delivery `dropin`; tests/e2e_modern asks a kubelet."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import merged_dropins
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import overridden
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host.dropin_look import Seen
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.dropin_folder import Folder

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
    # kubeadm writes `containerRuntimeEndpoint: ""` from 1.27 to 1.33, and names the socket by a flag.
    flags = ["--container-runtime-endpoint=unix:///run/containerd/containerd.sock"]
    own = {"containerRuntimeEndpoint": ""}
    assert overridden.by_flags(own, own, flags, 28, {}) == overridden.Findings([], [])
    # Declared, an empty value never becomes live.
    declared = overridden.by_flags({"staticPodPath": ""}, {}, ["--pod-manifest-path=/pods"], 28, {})
    assert [reason.partition(":")[0] for reason in declared.reasons] == ["staticPodPath"]


PLACE = "/etc/kubelet.d"
EMPTY: Config = {"enforceNodeAllocatable": []}


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
    flag = overridden.by_dropins({"maxPods": 61}, {}, {"/a.conf": {"maxPods": 70}}, {"maxPods": "--max-pods=61"})
    assert (flag.reasons, flag.warnings) == ([], []), "a flag wins over a drop-in"


@pytest.mark.parametrize(
    ("config", "current", "minor", "reasons", "warnings"),
    [
        (EMPTY, {}, 33, ["enforceNodeAllocatable"], []),
        # The own file has it too, and the kubelet has forgotten it already.
        (EMPTY, EMPTY, 33, [], ["enforceNodeAllocatable"]),
        ({"enforceNodeAllocatable": ["none"], "clusterDNS": [], "evictionHard": {}}, {}, 33, [], []),
        (EMPTY, {}, None, [], []),
    ],
)
def test_empty_values_that_a_folder_for_drop_ins_hides(
    config: Config, current: Config, minor: int | None, reasons: list[str], warnings: list[str]
) -> None:
    """An empty folder does that, too."""
    found = overridden.by_folder(config, current, minor, set())
    assert [reason.partition(":")[0] for reason in found.reasons] == reasons
    assert [warning.partition(":")[0] for warning in found.warnings] == warnings
    # What a flag or a drop-in sets is not lost.
    assert overridden.by_folder(config, current, minor, {"enforceNodeAllocatable"}) == overridden.Findings([], [])


def test_the_fields_that_something_else_decides() -> None:
    dropins: Config = {"/a.conf": {"tlsCertFile": "/x", "authentication": {"x509": {"clientCAFile": "/y"}}}}
    argv = ["--max-pods=61", "--container-runtime-endpoint=unix:///x"]
    found = overridden.hidden(argv, 27, {**dropins, "/b.conf": None})
    assert found == {"maxPods", "containerRuntimeEndpoint", "tlsCertFile", "authentication.x509.clientCAFile"}


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
    """An empty one can be read."""
    found = overridden.by_later({"maxPods": 5}, {"/95.conf": None, "/96.conf": {}})
    assert found.reasons == [] and len(found.warnings) == 1 and "/95.conf cannot be read" in found.warnings[0]


OURS = Folder("/store/conf.d", "us", False, False)
UNIT = Folder("/etc/k.d", "unit", True, False)


def seen(folder: Folder = OURS, base: Config | None = None, **more: t.Any) -> Seen:
    values: Config = {"unreadable": "", "others": {}, "linked": False, **more}
    return Seen(folder, ["kubelet"], "/own.yaml", base or {}, **values)


@pytest.mark.parametrize(
    ("declared", "found", "minor", "words"),
    [
        ({"maxPods": 5}, seen(), 36, ""),
        ({"maxPods": 5}, seen(), None, ""),
        ({"maxPods": 5}, seen(), 30, ""),
        ({"maxPods": 5}, seen(), 29, "a kubelet of 1.29 reads no drop-in folder"),
        ({"resolvConf": "/a"}, seen(), 31, "resolvConf: a kubelet of 1.31 ignores it"),
        ({"resolvConf": "/a"}, seen(), 32, ""),
        ({"evictionHard": None}, seen(), 36, "evictionHard: null in a drop-in leaves the kubelet without any"),
        ({"evictionHard": {"memory.available": None}}, seen(), 36, ""),
        ({"staticPodPath": "manifests"}, seen(), 36, "staticPodPath: manifests is a relative path"),
        ({"staticPodPath": ""}, seen(), 36, ""),
        ({"authentication": {"x509": {"clientCAFile": "ca"}}}, seen(), 36, "authentication.x509.clientCAFile: ca is"),
        ({}, seen(UNIT), 36, ""),
        ({}, seen(UNIT._replace(is_link=True)), 36, "is a symbolic link, which the kubelet ignores"),
        ({}, seen(UNIT._replace(is_link=True, path="/etc/k.d/")), 36, ""),
        ({}, seen(UNIT._replace(exists=False)), 36, "/etc/k.d: there is no such drop-in folder"),
        ({}, seen(UNIT._replace(other="/b")), 36, "but the kubelet reads /b"),
        # The unit's own words stay as they are; ours would need quotes.
        ({}, seen(UNIT._replace(path="/etc/k d")), 36, ""),
        ({}, seen(UNIT._replace(path="/etc/k d", source="option")), 36, "/etc/k d: a systemd unit cannot name this"),
        ({}, seen(linked=None), 36, "this file is not ours"),
        ({}, seen(unreadable="No such file"), 36, "the node's own file: No such file"),
        ({}, seen(base={"enforceNodeAllocatable": []}), 36, "enforceNodeAllocatable: /own.yaml sets it to an empty"),
        # A kubelet that reads a folder already has forgotten it already.
        ({}, seen(UNIT, base={"enforceNodeAllocatable": []}), 36, ""),
    ],
)
def test_what_is_refused(declared: Config, found: Seen, minor: int | None, words: str) -> None:
    reasons = overridden.of_dropin(declared, found, minor)
    assert (len(reasons) == 1 and words in reasons[0]) if words else reasons == [], reasons


@pytest.mark.parametrize(("mode", "trusted"), [(0o755, True), (0o700, True), (0o775, False), (0o1777, False)])
@pytest.mark.fault(case=46)
def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path, mode: int, trusted: bool) -> None:
    """Another user could add a drop-in after ours, which root's kubelet would read."""
    place = tmp_path / "etc/k.d"
    place.mkdir(parents=True)
    (tmp_path / "etc/link").symlink_to(place)
    place.chmod(mode)
    for path in ("/etc/k.d", "/etc/link/"):
        folder = Folder(path, "unit", True, path.endswith("/"))
        reasons = overridden.of_dropin({}, seen(folder, root=str(tmp_path)), 36)
        words = f"{place}: others may write to it (mode {mode:04o}): they could replace {tmp_path}{path}; check its"
        assert not reasons if trusted else reasons[0].startswith(words), reasons
        assert trusted or reasons[0].endswith("chmod go-w it, or use delivery checkpoint")


@pytest.mark.parametrize(
    ("base", "former", "names"),
    [
        ({"maxPods": 5}, {"maxPods": 6, "kubeAPIQPS": 7}, []),
        ({}, {"evictionHard": {"memory.available": "1Gi"}}, ["evictionHard"]),
        ({"clusterDNS": ["10.0.0.1"]}, {}, ["clusterDNS"]),
        ({"featureGates": {"A": True}}, {"featureGates": {"B": True}}, ["featureGates.A"]),
    ],
)
def test_the_way_back_to_a_checkpoint(base: Config, former: Config, names: list[str]) -> None:
    now = merged_dropins.effective(former, None, 36)
    found = overridden.way_back(former, seen(base=base), now, 36)
    assert len(found) == bool(names) and all(name in found[0] for name in names), found
