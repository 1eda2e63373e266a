# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The versions of a lab, and the folder of their binaries."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lab import releases
from tests.lab.console import LabError

CLUSTER = releases.CLUSTER


def program(folder: Path, name: str, version: str) -> None:
    """Write a program that only reports a version."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho Kubernetes {version}\n")
    (folder / name).chmod(0o755)


@pytest.fixture(autouse=True)
def binaries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three releases, and two folders that are none."""
    place = tmp_path / "binaries"
    monkeypatch.setenv("LIVENODES_LAB_BINARIES", str(place))
    for version in ("v1.28.7", "v1.36.2", "v1.36.10"):
        for name in releases.COMMANDS:
            program(place / version, name, version)
    program(place / "v1.36.2", "kubeadm", "v1.36.2")
    program(place / "v1.30", "kubelet", "v1.30.1")
    (place / "v1.36.11").mkdir()
    return place


def test_the_folder_is_in_the_cache_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIVENODES_LAB_BINARIES", "")
    monkeypatch.setenv("LIVENODES_LAB_CACHE", "/cache")
    assert releases.place() == Path("/cache/binaries")


@pytest.mark.parametrize(
    ("words", "parsed"),
    [
        ([], (None, {})),
        (["v1.36.2"], ("v1.36.2", {})),
        (["n2=v1.28.7", "v1.36"], ("v1.36", {"n2": "v1.28.7"})),
    ],
)
def test_words_of_the_command_line(words: list[str], parsed: tuple[str | None, dict[str, str]]) -> None:
    assert releases.parse(words) == parsed


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["1.36.2"], "'1.36.2' is not a version"),
        (["v1.36.2", "v1.28.7"], "two versions for one control plane"),
        (["worker=v1.28.7"], "the name of a node"),
        (["n0=v1.28.7"], "the name of a node"),
        (["n1="], "'' is not a version"),
    ],
)
def test_words_that_are_refused(words: list[str], error: str) -> None:
    with pytest.raises(LabError, match=error):
        releases.parse(words)


@pytest.mark.parametrize(
    ("version", "found"),
    [("v1.36", "v1.36.10"), ("v1.36.2", "v1.36.2"), ("v1.28", "v1.28.7"), ("v1.20.2", "v1.20.2")],
)
def test_a_minor_is_its_newest_patch_release(version: str, found: str) -> None:
    assert releases.find(version) == found


@pytest.mark.parametrize("version", ["v1.3", "v1.36.1", "v1.29", "v1.23.17", "v1.20"])
def test_no_binaries(version: str) -> None:
    with pytest.raises(LabError, match=r"README|from v1\.24 on"):
        releases.find(version)
    assert version in releases.missing([f"n1={version}"]) and not releases.missing(["v1.36", "n1=v1.28"])


def test_a_lab_keeps_its_versions() -> None:
    first = releases.choose(["v1.36.2", "n1=v1.28"], 2, {})
    assert first == {CLUSTER: "v1.36.2", "n1": "v1.28.7", "n2": "v1.36.2"}
    assert releases.choose([], 3, first) == {**first, "n3": "v1.36.2"}
    assert releases.choose(["v1.36.2", "n3=v1.36"], 3, first) == {**first, "n3": "v1.36.10"}
    with pytest.raises(LabError, match=r"n1 runs v1\.28\.7, not v1\.36\.2"):
        releases.choose(["n1=v1.36.2"], 2, first)
    with pytest.raises(LabError, match=r"control-plane runs v1\.36\.2, not v1\.36\.10"):
        releases.choose(["v1.36"], 2, first)
    with pytest.raises(LabError, match="has 2 nodes, and no n3"):
        releases.choose(["n3=v1.36"], 2, first)


def test_the_default_is_the_version_from_debian() -> None:
    assert releases.choose([], 1, {}) == {CLUSTER: "v1.20.2", "n1": "v1.20.2"}
    assert releases.release("v1.20.2", Path("/built")) == releases.Release("v1.20.2", Path("/built"), packaged=True)


def test_kubeadm_is_optional(binaries: Path) -> None:
    found = [releases.release(version, Path("/built")) for version in ("v1.36.2", "v1.28.7")]
    assert [one.programs() for one in found] == [["kubelet", "kubeadm"], ["kubelet"]]
    assert [one.minor for one in found] == [36, 28] and found[0].folder == binaries / "v1.36.2"


def test_the_programs_must_report_the_version_of_their_folder(binaries: Path) -> None:
    program(binaries / "v1.28.7", "kube-apiserver", "v1.28.70")
    with pytest.raises(LabError, match=r"kube-apiserver reports 'Kubernetes v1.28.70', not v1.28.7"):
        releases.choose(["v1.28.7"], 1, {})
    (binaries / "v1.28.7/kube-apiserver").chmod(0o644)
    with pytest.raises(LabError, match="missing or not executable"):
        releases.choose(["v1.36.2", "n1=v1.28.7"], 1, {})
