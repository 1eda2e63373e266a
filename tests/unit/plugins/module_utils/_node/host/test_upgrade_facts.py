# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a node reports before an upgrade, on trees of files with a modelled systemd and modelled kubelets."""

from __future__ import annotations

import json
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import binary_facts
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import upgrade_facts
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import ask_binary, binary, health
from tests.unit.plugins.modules.test_kubelet_preflight_info import ARGV, Node

SECRET = "hunter2"
CONTAINERD = "containerd github.com/containerd/containerd"


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def look(node: Node, **options: t.Any) -> dict[str, t.Any]:
    return upgrade_facts.look("kubelet.service", root=str(node.root), run=node.run, **options)


def test_the_words_of_the_next_command_line_with_their_places(node: Node) -> None:
    node.write("/proc/72/cmdline", "\0".join([*ARGV[:-1], "--max-pods=99", ""]))
    asked: list[tuple[str, ...]] = []

    def run(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked.append(tuple(argv))
        return node.run(argv)

    found = upgrade_facts.look("kubelet.service", root=str(node.root), run=run)
    assert sorted(asked) == sorted(set(asked)), "systemd is asked once for each fact"
    words = [word["text"] for word in found["words"]]
    assert words == [*ARGV[:3], "--manifest-url-header=********", "--max-pods=61"]
    assert {(word["file"], word["line"]) for word in found["words"]} == {("/lib/kubelet.service", 2)}
    assert SECRET not in json.dumps(found)
    assert found["disk"]["content"]["resolvConf"] == "/etc/nowhere"
    assert (found["own"], found["target"]) == (None, None)


def gates_at(line: int, **lines: int) -> dict[str, int]:
    """Return the lines of the feature gates, and that of their field."""
    return {"featureGates": line, **{f"featureGates.{name}": at for name, at in lines.items()}}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            "# maxPods: 5\nkind: KubeletConfiguration\nclusterDomain: a # maxPods: 6\nmaxPods: 7\n"
            "featureGates:\n  'A': true\n  BA : true\n  B: true\n",
            {"kind": 2, "clusterDomain": 3, "maxPods": 4, **gates_at(5, A=6, BA=7, B=8)},
        ),
        (
            '{"kind": "KubeletConfiguration", "featureGates": {\n"BA": true, "B": false,\n"A": true}}',
            {"kind": 1, **gates_at(1, BA=2, B=2, A=3)},
        ),
    ],
)
def test_the_lines_of_fields_and_gates(node: Node, text: str, lines: dict[str, int]) -> None:
    node.write("/etc/kubelet.yaml", text)
    found = look(node)["lines"]
    assert (found["/etc/kubelet.yaml"], found["/etc/kubelet.d/10-a.conf"]) == (lines, {"kind": 1})


def test_static_pods_are_looked_for_where_the_config_file_says(node: Node) -> None:
    assert look(node)["static_pods"] == []
    node.write("/etc/kubelet.yaml", "kind: KubeletConfiguration\nstaticPodPath: pods\n")
    node.write("/etc/pods/one.yaml", "metadata: {name: one}\nspec: {serviceAccountName: a}\n")
    assert [(pod["file"], pod["name"]) for pod in look(node)["static_pods"]] == [("/etc/pods/one.yaml", "one")]


def test_huge_pages(node: Node) -> None:
    assert look(node)["huge_pages"] is None
    node.write("/proc/meminfo", "MemTotal: 5 kB\n")
    assert look(node)["huge_pages"] is None
    node.write("/proc/meminfo", "HugePages_Total: 5\nHugetlb:      2048 kB\nDirectMap4k: 5 kB\n")
    assert look(node)["huge_pages"] == 2**21


def test_a_unit_that_is_not_understood_has_words(node: Node) -> None:
    node.shown["ExecStart"] += "\nExecStart={ path=/other ; argv[]=/other ; ignore_errors=no }"
    words = look(node)["words"]
    assert words[0] == {"text": ARGV[0], "file": "/lib/kubelet.service", "line": 2} and len(words) == len(ARGV)
    node.shown.update(LoadState="not-found", MainPID="0")
    assert look(node)["words"] == []


@pytest.mark.parametrize(
    ("files", "version"),
    [([], None), (["/sys/fs/cgroup/memory/tasks"], 1), (["/sys/fs/cgroup/cgroup.controllers"], 2)],
)
def test_cgroup_version(node: Node, files: list[str], version: int | None) -> None:
    for path in files:
        node.write(path, "")
    assert look(node)["cgroup_version"] == version


class Printed:
    """A `run` whose commands print this."""

    def __init__(self, output: str, code: int = 0) -> None:
        self.output, self.code = output, code
        self.asked: list[list[str]] = []

    def __call__(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.asked.append(list(argv))
        return subprocess.CompletedProcess(list(argv), self.code, self.output, "")


@pytest.mark.parametrize(
    ("name", "output", "code", "version"),
    [
        ("containerd", f"{CONTAINERD} 1.6.20~ds1 1.6.20~ds1-1+deb12u1\n", 0, "1.6.20~ds1"),
        ("containerd", f"{CONTAINERD}/v2 v2.0.5 fb4c30d4ede3531652d86197bf3fc9515e5276d9", 0, "2.0.5"),
        ("cri-o", "crio version 1.24.0\nVersion: 1.24.0\n", 0, "1.24.0"),
        ("containerd", "1.6.20", 1, None),
        ("containerd", "what?", 0, None),
        ("docker", "1.2.3", 0, None),
        (None, "1.2.3", 0, None),
    ],
)
def test_runtime_version(tmp_path: Path, name: str | None, output: str, code: int, version: str | None) -> None:
    printed = Printed(output, code)
    assert upgrade_facts.runtime_version(name, str(tmp_path), printed) == version
    assert [words[1:] for words in printed.asked] == ([["--version"]] if name in ("containerd", "cri-o") else [])


def test_the_program_of_the_running_runtime_is_asked(node: Node) -> None:
    node.write("/proc/7/cmdline", "/opt/bin/containerd\0--config\0/x\0")
    printed = Printed("containerd 2.1.0\n")
    assert upgrade_facts.runtime_version("containerd", str(node.root), printed) == "2.1.0"
    assert [words[0] for words in printed.asked] == ["/opt/bin/containerd"]


@pytest.mark.parametrize(
    ("words", "name", "left"),
    [
        (["k", "--a=1", "--b"], "a", ["k", "--b"]),
        (["k", "--a", "1", "--b"], "a", ["k", "--b"]),
        (["k", "--a", "--b"], "a", ["k", "--b"]),
        (["k", "--a-b=1", "--a_b=2"], "a-b", ["k"]),
        (["k", "--b"], "a", ["k", "--b"]),
        (["k", "--a"], "a", ["k"]),
    ],
)
def test_without_flag(words: list[str], name: str, left: list[str]) -> None:
    assert upgrade_facts.without_flag(words, name) == left


def asked(root: Path, *argv: str) -> dict[str, t.Any]:
    """Return the answer of a target for a node with this command line."""
    return upgrade_facts.asked("/opt/none", argv, (), str(root), Node(root).run)


class Kubelet:
    """A target binary with some flags, which judges a configuration if it knows all flags."""

    def __init__(self, *flags: str, verdict: str = binary.VALID) -> None:
        self.flags, self.verdict = flags, verdict
        self.asked: list[list[str]] = []
        self.names: set[str] = set()

    def answers(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(ask_binary, "ask", self.ask)
        monkeypatch.setattr(binary, "check", self.check)

    def ask(self, _program: str, names: set[str], *_rest: t.Any) -> binary_facts.BinaryFacts:
        self.names = names
        return binary_facts.BinaryFacts("v1.36.2", self.flags, {}, {})

    def check(self, text: str, argv: t.Sequence[str], *_rest: t.Any) -> binary.Verdict:
        self.asked.append(list(argv))
        return binary.Verdict(self.verdict, [f"it read {text.split()[0]}"], ["noSuchField"])


@pytest.mark.parametrize(
    ("kubelet", "flags", "refused", "left"),
    [
        (Kubelet("config", "x"), ["--x=1"], [], ["--x=1"]),
        (Kubelet("config", "z"), ["--x=1", "--y_y", "2", "--z"], ["x", "y-y"], ["--z"]),
        (Kubelet("config", verdict=binary.INVALID), ["--x", "-v=2"], ["x"], ["-v=2"]),
        # A binary that could not be started has not shown its flags.
        (Kubelet(verdict=binary.NOT_CHECKED), ["--x"], [], ["--x"]),
    ],
)
def test_flags_that_the_target_does_not_know_are_left_out(
    monkeypatch: pytest.MonkeyPatch, node: Node, kubelet: Kubelet, flags: list[str], refused: list[str], left: list[str]
) -> None:
    kubelet.answers(monkeypatch)
    found = asked(node.root, "kubelet", "--config=/etc/kubelet.yaml", *flags)
    assert (found["refused_flags"], found["verdict"], found["version"]) == (refused, kubelet.verdict, "v1.36.2")
    assert found["unknown_fields"] == ["noSuchField"] and found["messages"] == ["it read kind:"]
    assert kubelet.asked == [["kubelet", "--config=/etc/kubelet.yaml", *left]]


def test_the_target_is_asked_about_the_names_of_the_node(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    kubelet = Kubelet()
    kubelet.answers(monkeypatch)
    node.write("/etc/kubelet.yaml", "kind: KubeletConfiguration\nmaxPodz: 7\nfeatureGates: {A: true}\n")
    facts = look(node, target="/opt/none")["target"]["facts"]
    assert (facts["version"], facts["flags"]) == ("v1.36.2", ())
    assert {"maxPodz", "featureGates.A"} <= kubelet.names


def test_the_answer_names_the_file_of_the_node(monkeypatch: pytest.MonkeyPatch, node: Node) -> None:
    """Nodes with the same problem have the same message, whatever the name of the folder in which each was asked."""
    text = "failed to load kubelet config file, path: /run/livenodes-check-a1_b/kubelet, error: why"
    monkeypatch.setattr(binary, "check", lambda *_given: binary.Verdict(binary.INVALID, [text], []))
    found = asked(node.root, "kubelet", "--config=/etc/kubelet.yaml")
    assert found["messages"] == ["failed to load kubelet config file, path: /etc/kubelet.yaml, error: why"]
    assert (found["version"], found["facts"]) == (None, None), "no binary, no facts"


def test_without_a_config_file_there_is_nothing_to_ask(tmp_path: Path) -> None:
    named, none = asked(tmp_path, "kubelet", "--config=/none.yaml"), asked(tmp_path, "kubelet")
    assert named["messages"] == ["/none.yaml: No such file or directory"]
    assert none["messages"] == ["the command line names no config file"]
    assert named["verdict"] == none["verdict"] == "not checked"


def test_a_target_that_is_not_there_was_not_checked(node: Node) -> None:
    found = look(node, target="/opt/none")["target"]
    assert (found["binary"], found["version"], found["verdict"]) == ("/opt/none", None, "not checked")
    assert "there is no kubelet binary /opt/none" in found["messages"][0]


def test_the_own_file_beside_a_checkpoint(node: Node) -> None:
    ours = "/etc/systemd/system/kubelet.service.d/zzz-livenodes-kubelet.conf"
    active = "/var/lib/kubelet-config/active/kubelet"
    node.write(active, "kind: KubeletConfiguration\nmaxPods: 7\n")
    node.write("/etc/kubelet.yaml", f"kind: KubeletConfiguration\nstaticPodURLHeader: {{X: [{SECRET}]}}\n")
    words = [word if not word.startswith("--config=") else f"--config={active}" for word in ARGV]
    node.write(ours, f"[Service]\nExecStart=\nExecStart={' '.join(words)}\n")
    node.write("/proc/72/cmdline", "\0".join([*words, ""]))
    node.shown.update(DropInPaths=ours, ExecStart=f"{{ path={ARGV[0]} ; argv[]={' '.join(words)} ; ignore_errors=no }}")
    found = look(node)
    assert found["disk"]["content"]["maxPods"] == 7
    assert found["own"]["path"] == "/etc/kubelet.yaml" and SECRET not in json.dumps(found)
    node.write("/etc/kubelet.yaml", "x: &broken\n")
    assert look(node)["own"]["content"] is None


@pytest.mark.parametrize(
    ("folder", "program", "judged"),
    [("/etc/kubelet.d", ARGV[0], ("child", "/etc/kubelet.yaml")), ("", "/usr/bin/agent", ("refused", None))],
)
def test_the_kubelet_that_another_program_starts(
    node: Node, monkeypatch: pytest.MonkeyPatch, folder: str, program: str, judged: tuple[str, str | None]
) -> None:
    """Only where the caller names the folder, as for a switch."""
    monkeypatch.setattr(health, "kubelet_of", lambda pid: pid + 1)
    node.write("/lib/kubelet.service", "[Service]\nType=notify\nExecStart=/usr/bin/agent run\n")
    node.shown.update(Type="notify", ExecStart="{ path=/usr/bin/agent ; argv[]=/usr/bin/agent run ; ignore_errors=no }")
    node.write("/usr/bin/agent", "#!/bin/sh\n")
    node.write("/proc/72/cmdline", "/usr/bin/agent\0run\0")
    node.write("/proc/73/cmdline", "\0".join([*ARGV, ""]))
    found = look(node, dropin_dir=folder)
    assert found["words"][0]["text"] == program
    assert (found["kubelet"]["form"], found["disk"]["path"]) == judged


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
            "volumes: [{projected: {sources: [{secret: {name: s}}, {configMap: {name: c}}]}}]",
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
