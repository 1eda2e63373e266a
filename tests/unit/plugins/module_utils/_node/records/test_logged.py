# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration in a kubelet's log: read when it is whole, and compared as the stage verify compares."""

from __future__ import annotations

import json
import subprocess
import typing as t

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.records import logged
from tests.support.plays.ansible import ROOT

PRINTED = json.loads((ROOT / "tests/facts/logged-configuration.json").read_text())
HEAD = 'I1126 06:42:25.123456    1234 server.go:262] "Effective KubeletConfiguration" config=<'
YAML = """address: 0.0.0.0
apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
clusterDNS:
- 10.96.0.10
evictionHard:
  memory.available: 100Mi
kind: KubeletConfiguration
logging:
  flushFrequency: 5s
  options:
    json:
      infoBufferSize: "0"
maxPods: 61
memorySwap: {}
volumeStatsAggPeriod: 1m0s""".splitlines()
CONFIG: dict[str, t.Any] = yaml.safe_load("\n".join(YAML))
BEFORE = "Flag --max-pods has been deprecated, This parameter should be set via the config file"
AFTER = 'I1126 06:42:25.223456    1234 server.go:487] "Kubelet version" kubeletVersion="v1.37.0"'
SUPPRESSED = "Suppressed 12 messages from kubelet.service"


def text(*lines: str) -> list[str]:
    return [BEFORE, HEAD, *(f"\t{line}" for line in lines), " >", AFTER]


def in_json(**changes: t.Any) -> str:
    entry = {"ts": 1795675345123.4, "caller": "app/server.go:262", "msg": "Effective KubeletConfiguration", "v": 0}
    return json.dumps({**entry, "config": "".join(f"{line}\n" for line in YAML), **changes})


WHOLE = {
    "text": text(*YAML),
    "JSON": ["{}", in_json(), in_json(msg="Another", config=HEAD)],
    "a value that looks like the end": text(*YAML[:-1], 'volumePluginDir: " >"', YAML[-1]),
}


@pytest.mark.parametrize("name", WHOLE)
def test_a_whole_configuration_is_read(name: str) -> None:
    found = dict(logged.whole(WHOLE[name]) or {})
    found.pop("volumePluginDir", None)
    assert found == CONFIG


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_a_kubelet_printed_is_read(form: str) -> None:
    """Its flag --max-pods won. Its validation refused the taint after that."""
    found = logged.whole(PRINTED[form])
    keys = [line for line in PRINTED["text"] if line[:1] == "\t" and line[1:2].isalpha()]
    assert found and len(found) == len(keys)
    wanted = {
        "evictionHard": {"memory.available": "321Mi", "nodefs.available": "7%"},
        "featureGates": {"NodeSwap": True},
        "kubeReserved": {"cpu": "250m", "memory": "1Gi"},
        "logging": {"format": form},
        "maxPods": 110,
        "registerWithTaints": [{"key": "a", "value": ": b", "effect": "NoSchedule"}],
        "volumePluginDir": "/opt/ >/x y",
    }
    assert logged.unlike(wanted, found, 37, True) == ["maxPods"]
    assert logged.whole(PRINTED[f"{form}-masked"]) is None


ABSENT = {
    "a kubelet before 1.37": [BEFORE, AFTER],
    "nothing": [],
    "no end": text(*YAML)[:-2],
    "lines that journald dropped": [*text(*YAML)[:9], SUPPRESSED, *text(*YAML)[12:]],
    "a long line that journald split": [*text(*YAML)[:9], "the rest of a line", *text(*YAML)[9:]],
    "a line without a tab that would be YAML": [*text(*YAML)[:-2], " podPidsLimit: 5", *text(*YAML)[-2:]],
    "two in one start": [*text(*YAML), *text(*YAML)],
    "a whole one and a cut one": [*text(*YAML), HEAD],
    "a masked value": text(*YAML[:-1], "staticPodURLHeader:", "  Authorization:", "  - <masked>"),
    "another kind": text(*(line.replace("KubeletC", "KubeProxyC") for line in YAML)),
    "no kind": text(*(line for line in YAML if "kind" not in line)),
    "no YAML": text(*YAML, "maxPods: [1"),
    "no map": text("- 1"),
    "a cut line of JSON": [in_json()[:-1]],
    "JSON without the configuration": [in_json(config=None)],
    "another message of JSON": [in_json(msg="Another")],
}


@pytest.mark.parametrize("name", ABSENT)
def test_what_is_not_whole_counts_as_absent(name: str) -> None:
    assert logged.whole(ABSENT[name]) is None


def entries(lines: t.Sequence[t.Any]) -> str:
    """Return these messages as journalctl prints them in JSON."""
    return "".join(json.dumps({"__CURSOR": "s=1", "MESSAGE": line}) + "\n" for line in lines)


@pytest.mark.parametrize(
    ("output", "found"),
    [
        pytest.param(entries(text(*YAML)), CONFIG, id="whole"),
        # journalctl prints a message that is no UTF-8 as bytes.
        pytest.param(entries([[200, 10], *text(*YAML)]), CONFIG, id="bytes"),
        pytest.param(entries(text(*YAML)) + '{"MESSAGE": "cut', CONFIG, id="the log after it is cut"),
        pytest.param(entries(text(*YAML))[:700], None, id="it is cut"),
        pytest.param("[]\n1\n", None, id="no entries"),
        pytest.param("", None, id="journalctl fails"),
    ],
)
def test_read_asks_for_one_start_and_a_bounded_part(output: str, found: t.Any) -> None:
    asked: list[t.Sequence[str]] = []

    def run(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked.append(words)
        return subprocess.CompletedProcess(list(words), 0, output, "")

    assert logged.read("abc", run) == found
    assert asked[0][:5] == ["timeout", "5", "sh", "-c", 'journalctl "$@" | head -c 1000000']
    assert asked[0][-3:] == ["_SYSTEMD_INVOCATION_ID=abc", "+", "OBJECT_SYSTEMD_INVOCATION_ID=abc"]
    assert logged.read("", run) is None and len(asked) == 1


@pytest.mark.parametrize("dropin", [False, True])
@pytest.mark.parametrize(
    ("wanted", "paths"),
    [
        ({"maxPods": 61}, []),
        ({"maxPods": 62}, ["maxPods"]),
        ({"volumeStatsAggPeriod": "60s", "clusterDNS": ["10.96.0.10"]}, []),
        ({"clusterDNS": ["10.96.0.11"], "maxPods": 60}, ["clusterDNS", "maxPods"]),
        ({"authentication": {"anonymous": {"enabled": True}}}, ["authentication.anonymous.enabled"]),
        ({"podPidsLimit": 5}, ["podPidsLimit"]),
    ],
)
def test_the_values_that_were_not_logged_are_named(wanted: dict[str, t.Any], paths: list[str], dropin: bool) -> None:
    """Of a checkpoint, too: what the kubelet's defaults complete is not a difference."""
    own = {key: CONFIG[key] for key in ("kind", "apiVersion", "address", "evictionHard", "clusterDNS")}
    assert logged.unlike({**own, **wanted}, CONFIG, 37, dropin) == paths


def test_a_threshold_beside_the_declared_ones_differs_in_a_checkpoint_only() -> None:
    wanted = {"clusterDNS": CONFIG["clusterDNS"], "evictionHard": {"nodefs.available": "5%"}}
    ran = {**CONFIG, "evictionHard": {"memory.available": "100Mi", "nodefs.available": "5%"}}
    assert logged.unlike(wanted, ran, 37, True) == []
    assert logged.unlike(wanted, ran, 37, False) == ['evictionHard["memory.available"]']
