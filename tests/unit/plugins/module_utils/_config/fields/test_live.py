# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet shows: flags that hide fields, what it leaves out, and what a diff masks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import (
    compare,
    fields,
    shadow,
)
from tests.support.kubelets.table_minors import BEYOND, NEWEST

from .. import kubelet_model as model

READ = range(20, 37)


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
        # The word after a flag is its value, whatever it looks like.
        (
            ["--pod-manifest-path", "--max-pods=61", "--sync-frequency", "--max-pods=61"],
            {"staticPodPath": "--pod-manifest-path=--max-pods=61", "syncFrequency": "--sync-frequency=--max-pods=61"},
        ),
        (["--feature-gates=A=b=c"], {"featureGates.A": "--feature-gates=A=b=c"}),
        (["max-pods=61", "-v=2"], {}),
        ([], {}),
        (["--max-pods"], {"maxPods": "--max-pods="}),
    ],
)
def test_flags_hide_fields(argv: list[str], found: dict[str, str]) -> None:
    assert shadow.shadows(argv, 20) == found


def test_a_map_given_by_flag_hides_all_its_keys_and_a_gate_only_itself() -> None:
    found = shadow.shadows(["--eviction-hard=memory.available<5%", "--feature-gates=A=true"], 20)
    assert shadow.shadow_of('evictionHard["nodefs.available"]', found) == "--eviction-hard=memory.available<5%"
    assert shadow.shadow_of("featureGates.A", found) == "--feature-gates=A=true"
    assert shadow.shadow_of("featureGates.B", found) is None
    assert shadow.shadow_of("evictionHardest", found) is None


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, []),
        ("", []),
        (["--max-pods=61", "--v", 2], ["--max-pods=61", "--v", "2"]),
        (["--max-pods 61", " --v=2 "], ["--max-pods", "61", "--v=2"]),
        ("--max-pods=61", ["--max-pods=61"]),
        ("--max-pods=61,--v=2", ["--max-pods=61", "--v=2"]),
        ("--max-pods=61, -v 2 --oom-score-adj -999\n", ["--max-pods=61", "-v", "2", "--oom-score-adj", "-999"]),
        ("--feature-gates=A=true,B=false --v=2", ["--feature-gates=A=true,B=false", "--v=2"]),
        ("--feature-gates A=true, B=false , --v=2,", ["--feature-gates", "A=true, B=false", "--v=2"]),
        # As a shell reads them.
        ('--max-pods="61" --v "2"', ["--max-pods=61", "--v", "2"]),
        ("--node-labels='a=b,c=d','--v=2'", ["--node-labels=a=b,c=d", "--v=2"]),
        ("--node-labels 'a=b --max-pods=5' --v=2", ["--node-labels", "a=b --max-pods=5", "--v=2"]),
        ('--cluster-domain "" --max-pods=61', ["--cluster-domain", "", "--max-pods=61"]),
        (['--max-pods="61"', "--node-labels 'a=b'"], ["--max-pods=61", "--node-labels", "a=b"]),
    ],
)
def test_flags_of_an_inventory(given: Any, words: list[str]) -> None:
    """An INI inventory and -e give a text, of which no flag may be overlooked."""
    assert shadow.of_inventory(given) == words


def test_the_value_of_a_flag_in_quotes() -> None:
    argv = shadow.of_inventory("--max-pods=\"61\" --cluster-domain='a.b'")
    assert shadow.values(argv, 20) == {"maxPods": 61, "clusterDomain": "a.b"}


@pytest.mark.parametrize("given", ['--max-pods="61', ["--v=2", "--node-labels='a=b"], "--v=2 \\"])
def test_a_quote_without_its_end(given: Any) -> None:
    with pytest.raises(ValueError, match=r"^the flags are no words of a command line .* Close each quote"):
        shadow.of_inventory(given)
    with pytest.raises(ValueError, match=r"^flags of node n2 \(kubelet_config_flags\): the flags are no words"):
        shadow.of_nodes({"n1": "--v=2", "n2": given})


@pytest.mark.parametrize(
    ("flag", "path", "value"),
    [
        ("--max-pods=61", "maxPods", 61),
        ("--max-pods=many", "maxPods", shadow.UNKNOWN),
        ("--pod-max-pids=-1", "podPidsLimit", -1),
        # No integer, hexadecimal, and octal, as Go reads them.
        ("--pod-max-pids=--1", "podPidsLimit", shadow.UNKNOWN),
        ("--pod-max-pids=1-", "podPidsLimit", shadow.UNKNOWN),
        ("--max-pods=0x10", "maxPods", shadow.UNKNOWN),
        ("--max-pods=010", "maxPods", shadow.UNKNOWN),
        ("--max-pods=²", "maxPods", shadow.UNKNOWN),
        ("--cluster-domain=x", "clusterDomain", "x"),
        ("--feature-gates=A=b=true", "featureGates.A", shadow.UNKNOWN),
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
        ("--system-reserved=cpu=,memory=1=2", "systemReserved", {"cpu": "", "memory": "1=2"}),
        ("--system-reserved=cpu", "systemReserved", shadow.UNKNOWN),
        ("--manifest-url-header=A:b", "staticPodURLHeader", shadow.UNKNOWN),
    ],
)
def test_values_of_flags(flag: str, path: str, value: object) -> None:
    assert shadow.values([flag], 20) == {path: value}


@pytest.mark.parametrize(
    ("word", "path", "since", "until"),
    [
        ("--memory-manager-policy=Static", "memoryManagerPolicy", 21, 36),
        ("--reserved-memory=0:memory=1Gi", "reservedMemory", 21, 36),
        ("--cpu-manager-policy-options=full-pcpus-only=true", "cpuManagerPolicyOptions", 22, 36),
        # Flags of their own before, without a field.
        ("--register-node=false", "registerNode", 23, 36),
        ("--register-with-taints=a=b:NoSchedule", "registerWithTaints", 23, 36),
        ("--container-runtime-endpoint=unix:///x", "containerRuntimeEndpoint", 27, 36),
        ("--image-service-endpoint=unix:///x", "imageServiceEndpoint", 27, 36),
        ("--v=2", "logging.verbosity", 23, 36),
        ("-v=2", "logging.verbosity", 23, 36),
        ("-v2", "logging.verbosity", 23, 36),
        ("--log-text-split-stream", "logging.options.text.splitStream", 30, 36),
        ("--fail-cgroupv1=false", "failCgroupV1", 31, 36),
        ("--max-pods=61", "maxPods", 20, 36),
        ("--iptables-drop-bit=3", "iptablesDropBit", 20, 30),
        ("--experimental-kernel-memcg-notification", "kernelMemcgNotification", 20, 24),
    ],
)
def test_a_flag_hides_its_field_in_the_minors_in_which_it_sets_it(word: str, path: str, since: int, until: int) -> None:
    hiding = {minor for minor in READ if path in shadow.shadows([word], minor)}
    assert hiding == {minor for minor in READ if path in shadow.values([word], minor)}
    assert hiding == set(range(since, until + 1))
    assert path in shadow.shadows([word], None), "the kubelet's version may be unknown"


def test_a_newer_kubelet_keeps_the_flags_that_the_newest_known_one_has() -> None:
    for name, flag in fields.FLAGS.items():
        words = [f"--{name}=a=true"]
        assert shadow.shadows(words, BEYOND) == shadow.shadows(words, NEWEST), name
        assert bool(shadow.shadows(words, BEYOND)) == (flag.until is None), name


@pytest.mark.parametrize("words", [["-v", "4"], ["--v", "4"], ["-v=4"], ["-v4"], ["--v=4"]])
def test_the_verbosity_in_all_its_forms(words: list[str]) -> None:
    assert shadow.values([*words, "--max-pods=7"], 33) == {"logging.verbosity": 4, "maxPods": 7}


def test_values_of_repeated_flags() -> None:
    words = ["--max-pods=1", "--max-pods=2", "--cluster-dns=a", "--cluster-dns=b"]
    words += ["--kube-reserved=cpu=1", "--kube-reserved=memory=1Gi"]
    words += ["--feature-gates=A=true", "--feature-gates=A=false,B=true, C = false"]
    found = {"maxPods": 2, "clusterDNS": ["a", "b"], "kubeReserved": {"cpu": "1", "memory": "1Gi"}}
    found |= {"featureGates.A": False, "featureGates.B": True, "featureGates.C": False}
    assert shadow.values(words, 20) == found


@pytest.mark.parametrize(
    ("path", "config", "minor", "computed"),
    [
        ("cgroupDriver", {}, 27, False),
        ("cgroupDriver", {}, 28, True),
        ("cgroupDriver", {}, 36, True),
        ("maxPods", {}, 36, False),
        ("kubeReserved.cpu", {"reservedSystemCPUs": "0"}, 20, True),
        ("systemReserved.cpu", {"reservedSystemCPUs": "0"}, 36, True),
        ("kubeReserved.cpu", {"reservedSystemCPUs": ""}, 36, False),
        ("kubeReserved.cpu", {}, 36, False),
        ("kubeReserved.memory", {"reservedSystemCPUs": "0"}, 36, False),
    ],
)
def test_what_the_kubelet_finds_itself(path: str, config: dict[str, object], minor: int, computed: bool) -> None:
    assert shadow.computed(path, config, minor) is computed


@pytest.mark.parametrize("row", model.LEAVES, ids=lambda row: row["name"])
def test_every_field_survives_dump_and_push_with_zero_and_without_a_value(row: dict[str, Any]) -> None:
    for config in ({}, _only(row["name"], model.ZERO[row["type"]])):
        live = model.configz(config)
        assert model.configz(fields.restore(live)) == live


@given(model.configs(most=40))
def test_any_configuration_survives_dump_and_push(config: dict[str, Any]) -> None:
    live = model.configz(config)
    assert model.configz(fields.restore(live)) == live


@given(model.configs(most=40))
def test_what_the_kubelet_shows_means_what_was_written(config: dict[str, Any]) -> None:
    assert compare.changes(fields.restore(model.configz(config)), config, 20) == []


def test_explicit_empties_are_restored_and_named() -> None:
    live = model.configz({"evictionHard": {}, "enforceNodeAllocatable": []})
    assert "evictionHard" not in live
    assert fields.restore(live) == {**model.HEADER, **live, "evictionHard": {}, "enforceNodeAllocatable": []}
    assert fields.restored(live) == ["enforceNodeAllocatable", "evictionHard"]
    assert fields.restored(model.configz({})) == []


def test_the_live_object_is_not_shared() -> None:
    live = model.configz({})
    fields.restore(live)["authentication"]["webhook"]["enabled"] = False
    assert live["authentication"]["webhook"]["enabled"] is True


def test_machine_specific_fields_are_named_but_not_addresses_of_no_machine() -> None:
    others = {"providerID": "", "address": "0.0.0.0", "maxPods": 5}
    named = {"healthzBindAddress": "10.0.0.7", "resolvConf": "/x"}
    assert fields.machine_specific({**others, **named}) == [*named]
    assert fields.machine_specific({"address": "n1.example", "healthzBindAddress": "127.0.0.1"}) == ["address"]


def _only(path: str, value: Any) -> dict[str, Any]:
    config: dict[str, Any] = {}
    model.put(config, path, value)
    return config


SECRET = {"maxPods": 1, "staticPodURLHeader": {"Authorization": ["hunter2"]}}


def test_secrets_are_masked_but_their_shape_is_seen() -> None:
    assert compare.masked(SECRET) == {"maxPods": 1, "staticPodURLHeader": {"Authorization": ["********"]}}
    assert compare.mask("staticPodURLHeader.Authorization", None) is None
    assert compare.mask("maxPods", 5) == 5
    assert compare.mask("staticPodURL", "https://u:hunter2@h/pods?token=hunter3") == "********"
    assert compare.mask("staticPodURL.key", "hunter2") == "********", "a mapping where a text belongs"
    for path in ("staticPodURLHeader.A", "manifestURLHeader.A", 'manifestURLHeader["X.Token"]'):
        assert compare.mask(path, ["hunter2"]) == ["********"], "also by its former name"
    assert compare.masked({"manifestURLHeader": {"X": ["hunter2"]}}) == {"manifestURLHeader": {"X": ["********"]}}


@pytest.mark.parametrize(
    "name", ["{{ x }}", "", "a.b", "a.b[0]", "[0]", 'a"b', "(top level)", "..", "two words", "\\staticPodURLHeader"]
)
def test_a_name_that_is_no_path_is_shown(name: str) -> None:
    """A kubelet may serve fields of any name, and a file may have any key."""
    assert compare.masked({name: {"a": 1}, **SECRET})[name] == {"a": 1}


def test_diff_is_ansibles() -> None:
    headers = {"before_header": "nothing", "after_header": "node n1"}
    text = compare.diff(None, SECRET, "nothing", "node n1")["after"]
    assert '"maxPods": 1' in text and "hunter2" not in text
    assert compare.diff(None, SECRET, "nothing", "node n1") == {"before": "", "after": text, **headers}
    assert compare.diff(SECRET, None, "nothing", "node n1") == {"before": text, "after": "", **headers}
