# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import upgrade_facts

PLACE = "/etc/kubernetes/manifests"


def pods(root: Path, **manifests: str) -> list[dict[str, t.Any]]:
    """Return what is found in a folder with these files, whose names have `_` for the dot."""
    folder = root / PLACE[1:]
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in manifests.items():
        (folder / name.replace("_", ".")).write_text(text)
    return upgrade_facts.referring_pods(PLACE, str(root))


@pytest.mark.parametrize(
    ("spec", "refers_to"),
    [
        ("hostNetwork: true", []),
        ("volumes: [{name: a, hostPath: {path: /secret}}, {name: b, emptyDir: {}}]", []),
        ("volumes: [{name: a, downwardAPI: {items: []}}]", []),
        ("nodeSelector: {secret: yes-please}", []),
        ("containers: [{name: secret, args: [--configMap], env: [{name: secretRef, value: configMap}]}]", []),
        ("imagePullSecrets: []", []),
        ("imagePullSecrets: [{name: a}, {name: b}]", ["Secret a", "Secret b"]),
        ("volumes: [{name: a, secret: {secretName: certs}}]", ["Secret certs"]),
        ("volumes: [{name: a, configMap: {name: etc}}]", ["ConfigMap etc"]),
        (
            "volumes: [{name: a, projected: {sources: [{secret: {name: s}}, {configMap: {name: c}}]}}]",
            ["ConfigMap c", "Secret s"],
        ),
        ("volumes: [{name: a, projected: {sources: [{serviceAccountToken: {path: t}}]}}]", ["ServiceAccount"]),
        ("volumes: [{name: a, persistentVolumeClaim: {claimName: p}}]", ["PersistentVolumeClaim p"]),
        ("volumes: [{name: a, csi: {driver: d.example}}]", ["CSIDriver d.example"]),
        ("volumes: [{name: a, cephfs: {monitors: [m], secretRef: {name: k}}}]", ["Secret k"]),
        ("initContainers: [{name: a, envFrom: [{configMapRef: {name: c}}]}]", ["ConfigMap c"]),
        ("containers: [{name: a, env: [{name: X, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]", ["Secret s"]),
        ("serviceAccountName: admin", ["ServiceAccount admin"]),
        ("resourceClaims: [{name: gpu}]", ["ResourceClaim gpu"]),
    ],
)
def test_what_a_pod_refers_to(tmp_path: Path, spec: str, refers_to: list[str]) -> None:
    text = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: one}}\nspec:\n  {spec}\n"
    found = pods(tmp_path, one_yaml=text)
    row = {"file": f"{PLACE}/one.yaml", "name": "one", "refers_to": refers_to, "unreadable": None}
    assert found == ([row] if refers_to else [])


def test_the_files_that_a_kubelet_reads(tmp_path: Path) -> None:
    """Every file of the folder but hidden ones, whatever its name is, and of a file its first document."""
    refers = "metadata: {name: %s}\nspec: {serviceAccountName: a}\n"
    (tmp_path / PLACE[1:] / "sub").mkdir(parents=True)
    found = pods(
        tmp_path,
        _hidden_yaml=refers % "hidden",
        old_bak=refers % "bak",
        two_yaml=f"{refers % 'first'}---\n{refers % 'second'}",
        list_json='{"items": [{"metadata": {"name": "of-a-list"}, "spec": {"serviceAccountName": "a"}}, 5]}',
    )
    assert [row["name"] for row in found] == ["of-a-list", "bak", "first"]
    assert upgrade_facts.referring_pods(f"{PLACE}/old.bak", str(tmp_path)) == [found[1]]
    assert upgrade_facts.referring_pods("/none", str(tmp_path)) == upgrade_facts.referring_pods("", str(tmp_path)) == []


@pytest.mark.parametrize(("text", "why"), [("a: &b c\n", "line 1: the anchor"), ("a: [\n", "line 2: ")])
def test_a_file_that_cannot_be_read_says_why(tmp_path: Path, text: str, why: str) -> None:
    (row,) = pods(tmp_path, one_yaml=text)
    assert (row["file"], row["name"], row["refers_to"]) == (f"{PLACE}/one.yaml", "", [])
    assert row["unreadable"].startswith(why)


@pytest.mark.parametrize(
    "text", ["", "5", "- a", "metadata: 5\nspec: [5]", "metadata: {}\nspec: {serviceAccountName: }"]
)
def test_what_is_no_pod_refers_to_nothing(tmp_path: Path, text: str) -> None:
    assert pods(tmp_path, one_yaml=text) == []


@pytest.mark.parametrize(
    ("argv", "layers", "place"),
    [
        ([], [], ""),
        ([], [("/etc/kubelet.yaml", {})], ""),
        ([], [("/etc/kubelet.yaml", {"staticPodPath": "/m"})], "/m"),
        ([], [("/etc/kubelet.yaml", {"staticPodPath": "m"})], "/etc/m"),
        ([], [("/etc/kubelet.yaml", {"staticPodPath": "/m"}), ("/d/1.conf", {"staticPodPath": "/n"})], "/n"),
        ([], [("/etc/kubelet.yaml", {"staticPodPath": "/m"}), ("/d/1.conf", None), ("/d/2.conf", {})], "/m"),
        ([], [("/etc/kubelet.yaml", {"staticPodPath": ""})], ""),
        (["--pod-manifest-path=/f"], [("/etc/kubelet.yaml", {"staticPodPath": "/m"})], "/f"),
        (["--pod-manifest-path="], [("/etc/kubelet.yaml", {"staticPodPath": "/m"})], ""),
    ],
)
def test_where_static_pods_are(argv: list[str], layers: list[tuple[str, t.Any]], place: str) -> None:
    assert upgrade_facts.static_pod_folder(argv, layers) == place
