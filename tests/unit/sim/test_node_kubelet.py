# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kubelet of simulated nodes reads, refuses and runs what real kubelets were seen to read, refuse and run."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import last_words
from tests.sim.nodes import kubelet_config
from tests.support.lab_node import dropin_contract
from tests.support.lab_node.dropin_node import HEADER

OWN, FOLDER = "/var/lib/kubelet/config.yaml", "/etc/kubernetes/kubelet.conf.d"
FLAGS = [f"--config={OWN}", f"--config-dir={FOLDER}"]


def write(root: Path, path: str, text: str) -> None:
    place = root / path[1:]
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)


def errors_of(words: list[str], minor: int, root: Path) -> str:
    """Return with which message a kubelet ends that reads its files, empty if it reads on."""
    try:
        kubelet_config.read(words, minor, root)
    except kubelet_config.Ended as end:
        return str(end)
    return ""


def answers() -> t.Iterator[tuple[str, dict[str, t.Any], str]]:
    """Yield version, configuration and verdict of each answer of a real kubelet."""
    for path in sorted(dropin_contract.FACTS.glob("rules-*.json")):
        for config, verdict in json.loads(path.read_text()):
            yield path.stem.partition("-")[2], config, verdict


def test_configurations_are_refused_as_by_real_kubelets(tmp_path: Path) -> None:
    wrong = []
    for version, config, verdict in answers():
        write(tmp_path, OWN, json.dumps(config))
        found = errors_of(FLAGS[:1], int(version.split(".")[1]), tmp_path)
        if bool(found) != (verdict == "invalid"):
            wrong.append((version, config, verdict, found))
    assert wrong == []


@pytest.mark.parametrize(
    ("minor", "text", "words", "kind"),
    [
        (28, "maxPods: -3", "maxPods (--max-pods) -3 must not be a negative number", last_words.VALIDATION),
        (28, "featureGates: {NoSuch: true}", "unrecognized feature gate: NoSuch", last_words.GATE),
        (36, "featureGates: {NoSuch: true}", "while setting defaults, error: unrecognized", last_words.GATE),
        (36, "maxPods: many", "cannot unmarshal string into Go struct field", last_words.FILE),
    ],
)
def test_a_kubelet_that_refuses_says_so_in_words_that_the_guard_knows(
    tmp_path: Path, minor: int, text: str, words: str, kind: str
) -> None:
    write(tmp_path, OWN, f"kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\n{text}\n")
    found = errors_of(FLAGS[:1], minor, tmp_path)
    assert words in found and last_words.kind(found) == kind


def test_a_flag_that_a_version_no_longer_has_ends_its_kubelet(tmp_path: Path) -> None:
    write(tmp_path, OWN, json.dumps(HEADER))
    words = [*FLAGS[:1], "--pod-infra-container-image=pause"]
    assert errors_of(words, 34, tmp_path) == ""
    assert errors_of(words, 35, tmp_path) == "failed to parse kubelet flag: unknown flag: --pod-infra-container-image"


def test_flags_win_over_files_and_the_last_config_counts(tmp_path: Path) -> None:
    write(tmp_path, OWN, json.dumps({**HEADER, "maxPods": 7}))
    found = kubelet_config.read(["--config=/nowhere", *FLAGS[:1], "--max-pods=8"], 28, tmp_path)
    assert found.config["maxPods"] == 8
