# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import subprocess
import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import last_words

DUMP = (
    "goroutine 1 [running]:\n"
    "k8s.io/kubernetes/vendor/k8s.io/klog/v2.stacks(0xc000010001, 0xc0000c6000, 0x7f, 0x1e4)\n"
    "\t/go/src/k8s.io/klog/v2/klog.go:1026 +0x89\n"
    "created by k8s.io/kubernetes/vendor/k8s.io/klog/v2.init.0\n"
    "\t/go/src/k8s.io/klog/v2/klog.go:420 +0x40\n"
)
BEGIN = "I1122 13:38:14.000001     419 server.go:416] Version: v1.20.2\n"
NEW = 'I1122 13:38:14.000001     419 server.go:530] "Kubelet version" kubeletVersion="v1.36.2"\n'
USAGE = "Usage:\n  kubelet [flags]\n\nGlobal flags:\n      --v Level  number for the log level\n"
DIAL = 'rpc error: code = Unavailable desc = connection error: desc = "transport: Error while dialing: dial unix '
SOCKET = "/run/containerd/containerd.sock: connect: connection refused"
NEGATIVE = "invalid configuration: maxPods (--max-pods) -3 must not be a negative number"
GATES = "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "


def old(text: str, line: int = 198) -> str:
    """The end of a kubelet 1.20: klog.Fatal."""
    return f"{BEGIN}F1122 13:38:14.192413     419 server.go:{line}] {text}\n{DUMP}"


def new(text: str, place: str = "run.go:72", message: str = "command failed") -> str:
    """The end of a kubelet 1.21 or later."""
    return f'{NEW}E1122 13:38:14.192413     419 {place}] "{message}" err={json.dumps(text)}\n'


# (case, log, last words, kind)
CASES: tuple[tuple[str, str, str, str], ...] = (
    ("1.20 validation", old(NEGATIVE, 215), NEGATIVE, "validation"),
    (
        "1.20 file",
        old('failed to load Kubelet config file /x, error kubelet config file "/x" was empty'),
        'failed to load Kubelet config file /x, error kubelet config file "/x" was empty',
        "file",
    ),
    (
        "1.20 file that does not decode",
        old(
            "failed to load Kubelet config file /x, error failed to decode: v1beta1.KubeletConfiguration.MaxPods: "
            'readUint32: unexpected character\n|..., error found in #10 byte of ...|"maxPods":"x"|..., bigger context '
            '...|"staticPodURLHeader":{"A":["s3cret"]}|...'
        ),
        "failed to load Kubelet config file /x, error failed to decode: v1beta1.KubeletConfiguration.MaxPods: "
        "readUint32: unexpected character |...",
        "file",
    ),
    ("1.20 gate", old("unrecognized feature gate: Foo", 208), "unrecognized feature gate: Foo", "gate"),
    ("1.20 flag, after its usage text", USAGE + old("unknown flag: --nosuch", 156), "unknown flag: --nosuch", "flag"),
    (
        "1.20 runtime",
        old(
            "failed to run Kubelet: failed to create kubelet: get remote runtime typed version failed: "
            f'{DIAL}{SOCKET}"',
            269,
        ),
        f'failed to run Kubelet: failed to create kubelet: get remote runtime typed version failed: {DIAL}{SOCKET}"',
        "runtime",
    ),
    (
        "1.20 swap",
        old("failed to run Kubelet: running with swap on is not supported, please disable swap!", 269),
        "failed to run Kubelet: running with swap on is not supported, please disable swap!",
        "validation",
    ),
    (
        "1.20 a container manager that does not start, in a log with other errors",
        'E1122 13:38:13.1     419 kubelet.go:2163] node "n1" not found\n'
        + old(
            "Failed to start ContainerManager start cpu manager error: could not restore state from checkpoint: "
            'configured policy "static" differs from state checkpoint policy "none", please drain this node',
            1384,
        ),
        "Failed to start ContainerManager start cpu manager error: could not restore state from checkpoint: configured "
        'policy "static" differs from state checkpoint policy "none", please drain this node',
        "file",
    ),
    (
        "1.21 run",
        new(
            'failed to run Kubelet: misconfiguration: kubelet cgroup driver: "systemd" is different from docker cgroup '
            'driver: "cgroupfs"',
            "server.go:302",
            "Failed to run kubelet",
        ),
        'failed to run Kubelet: misconfiguration: kubelet cgroup driver: "systemd" is different from docker cgroup '
        'driver: "cgroupfs"',
        "validation",
    ),
    (
        "1.22 flags",
        new(
            "the DynamicKubeletConfig feature gate must be enabled in order to use the --dynamic-config-dir flag",
            "server.go:194",
            "Failed to validate kubelet flags",
        ),
        "Failed to validate kubelet flags: the DynamicKubeletConfig feature gate must be enabled in order to use the "
        "--dynamic-config-dir flag",
        "gate",
    ),
    (
        "1.23 flag, before its usage text",
        new("unknown flag: --nosuch", "server.go:170", "Failed to parse kubelet flag") + USAGE,
        "Failed to parse kubelet flag: unknown flag: --nosuch",
        "flag",
    ),
    (
        "1.20 client CA, as it was seen",
        old("unable to load client CA file /nope/ca.crt: open /nope/ca.crt: no such file or directory", 269),
        "unable to load client CA file /nope/ca.crt: open /nope/ca.crt: no such file or directory",
        "file",
    ),
    (
        "1.20 several refusals",
        old("[invalid configuration: a, invalid configuration: b]", 215),
        "[invalid configuration: a, invalid configuration: b]",
        "validation",
    ),
    (
        "1.24 flag",
        new("failed to parse kubelet flag: unknown flag: --network-plugin", "run.go:74"),
        "failed to parse kubelet flag: unknown flag: --network-plugin",
        "flag",
    ),
    (
        "1.27 flags",
        new(
            "failed to validate kubelet flags: the container runtime endpoint address was not specified or empty, use "
            "--container-runtime-endpoint to set"
        ),
        "failed to validate kubelet flags: the container runtime endpoint address was not specified or empty, use "
        "--container-runtime-endpoint to set",
        "flag",
    ),
    (
        "1.28 runtime",
        new(
            "failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint "
            f'"unix:///run/containerd/containerd.sock": {DIAL}{SOCKET}"'
        ),
        "failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint "
        f'"unix:///run/containerd/containerd.sock": {DIAL}{SOCKET}"',
        "runtime",
    ),
    (
        "1.30 a runtime without its CRI service",
        new(
            'failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint "unix:///x": '
            "rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService"
        ),
        'failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint "unix:///x": '
        "rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService",
        "runtime",
    ),
    (
        "1.33 validation",
        new(f"failed to validate kubelet configuration, error: {NEGATIVE}, path: &TypeMeta{{Kind:,APIVersion:,}}"),
        f"failed to validate kubelet configuration, error: {NEGATIVE}",
        "validation",
    ),
    (
        "1.33 drop-in of another type",
        new(
            "failed to merge kubelet configs: failed to unmarshal merged JSON into kubelet configuration: json: cannot "
            "unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32"
        ),
        "failed to merge kubelet configs: failed to unmarshal merged JSON into kubelet configuration: json: cannot "
        "unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32",
        "file",
    ),
    (
        "1.36 validation, several lines",
        f'{NEW}E1122 13:38:14.192413     419 run.go:72] "command failed" err=<\n'
        "\tfailed to validate kubelet configuration, error: [invalid configuration: one\n"
        "\tinvalid configuration: two]\n >\n",
        "failed to validate kubelet configuration, error: [invalid configuration: one invalid configuration: two]",
        "validation",
    ),
    (
        "1.36 several lines, of which the journal has cut the indentation and the end",
        f'{NEW}E1122 13:38:14.192413     419 run.go:72] "command failed" err=<\n'
        "failed to load kubelet config file, path: /x, error: yaml: line 3\n",
        "failed to load kubelet config file, path: /x, error: yaml: line 3",
        "file",
    ),
    (
        "1.35 a gate that is locked panics while the file is defaulted",
        f"{NEW}panic: {GATES}cannot set feature gate Foo to false, feature is locked to true\n\n{DUMP}",
        f"panic: {GATES}cannot set feature gate Foo to false, feature is locked to true",
        "gate",
    ),
    (
        "1.36 gates that depend on others",
        f"{NEW}panic: {GATES}PodLevelResourcesFixDefaulting is enabled, but depends on features that are disabled: "
        f"[PodLevelResources]\n\n{DUMP}",
        f"panic: {GATES}PodLevelResourcesFixDefaulting is enabled, but depends on features that are disabled: "
        "[PodLevelResources]",
        "gate",
    ),
    (
        "1.36 a panic that was recovered and thrown again",
        f'{NEW}E1122 13:38:14.1     419 panic.go:115] "Observed a panic" panic="boom"\n'
        f"panic: boom [recovered]\n\tpanic: boom\n{DUMP}",
        "panic: boom [recovered] panic: boom",
        "",
    ),
    (
        "1.36 a container manager that does not start, then others still log",
        new(
            "quantities must match the regular expression '^([+-]?[0-9.]+)$'",
            "kubelet.go:1600",
            "Failed to start ContainerManager",
        )
        + 'E1122 13:38:14.2     419 reflector.go:200] "Failed to watch" err="dial tcp: connection refused"\n',
        "Failed to start ContainerManager: quantities must match the regular expression '^([+-]?[0-9.]+)$'",
        "validation",
    ),
    (
        "1.36 client CA",
        new("failed to run Kubelet: unable to load client CA file /nope/ca.crt: open /nope/ca.crt: no such file"),
        "failed to run Kubelet: unable to load client CA file /nope/ca.crt: open /nope/ca.crt: no such file",
        "file",
    ),
    (
        "1.36 the kubelet's kubeconfig is no part of its configuration",
        new("failed to run Kubelet: unable to load bootstrap kubeconfig: stat /etc/x.conf: no such file or directory"),
        "failed to run Kubelet: unable to load bootstrap kubeconfig: stat /etc/x.conf: no such file or directory",
        "",
    ),
    (
        "a kubelet that was killed: its last error incriminates nothing",
        f'{NEW}E1122 13:38:14.1     419 file.go:104] "Unable to read config path" err="path does not exist, ignoring" '
        f'path="/etc/kubernetes/manifests"\n{NEW}',
        "Unable to read config path: path does not exist, ignoring",
        "",
    ),
    (
        "JSON",
        '{"ts":1.0,"caller":"app/server.go:1","msg":"Kubelet version","v":0}\n'
        '{"ts":1.0,"caller":"cli/run.go:72","msg":"command failed","err":"failed to parse kubelet flag: '
        'unknown flag: --nosuch"}\n',
        "failed to parse kubelet flag: unknown flag: --nosuch",
        "flag",
    ),
    (
        "1.20 JSON",
        f'{{"ts":1.0,"msg":"unrecognized feature gate: Foo\\n","v":0}}\n{DUMP}',
        "unrecognized feature gate: Foo",
        "gate",
    ),
    ("a line without a header", "Error: unknown flag: --nosuch\n", "Error: unknown flag: --nosuch", "flag"),
    (
        "a program that is not there",
        "kubelet.service: Failed to locate executable /usr/bin/kubelet: No such file or directory\n",
        "kubelet.service: Failed to locate executable /usr/bin/kubelet: No such file or directory",
        "",
    ),
    ("nothing", "", "", ""),
    ("no error", f'{NEW}W1122 13:38:14.1     419 x.go:1] "odd"\nFlag --v has been deprecated, x\n{DUMP}', "", ""),
    (
        "lenient decoding quotes the whole file and ends no kubelet",
        'E1122 13:38:14.1     419 codec.go:159] "Using lenient decoding as strict decoding failed" err="unknown field '
        '\\"x\\""\n',
        "",
        "",
    ),
    ("JSON that is cut", '{"ts":1.0,"msg":"comm\n', "", ""),
    ("no Go quoting", f'{NEW}E1122 13:38:14.1     419 x.go:1] "a \\x00 b" err=odd\n', "a \\x00 b: odd", ""),
)


@pytest.mark.parametrize(("log", "words", "kind"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_last_words_and_their_kind_by_version(log: str, words: str, kind: str) -> None:
    assert last_words.parse(log.splitlines()) == words
    assert last_words.kind(words) == kind
    # The journal of an older systemd drops indentation and empty lines.
    bare = [line.strip() for line in log.splitlines() if line.strip()]
    assert last_words.kind(last_words.parse(bare)) == kind


@pytest.mark.parametrize(
    "words",
    [
        'Error syncing pod, skipping: failed to "StartContainer" for "x" with RunContainerError: "invalid '
        'configuration: unknown flag: --y"',
        'MountVolume.SetUp failed for volume "c": open /var/lib/kubelet/pods/1/volumes/tls.crt: no such file',
        "Failed to watch: unable to load server certificate: unrecognized feature gate: X",
        "Unable to attach or mount volumes: could not restore state from checkpoint",
        "Unable to read config path: path does not exist, ignoring",
    ],
)
def test_an_error_of_a_running_kubelet_is_no_evidence(words: str) -> None:
    """A kubelet that was killed has logged such an error last by coincidence."""
    log = f'E1122 13:38:14.192413     419 kubelet.go:1] "{words.partition(": ")[0]}" err={json.dumps(words)}\n'
    assert last_words.parse(log.splitlines())
    assert last_words.kind(last_words.parse(log.splitlines())) == last_words.kind(words) == ""


def test_a_runtime_that_is_away_is_named_by_any_error() -> None:
    words = f'Status from runtime service failed: {DIAL}{SOCKET}"'
    assert last_words.kind(words) == "runtime"


def test_each_kind_has_a_case() -> None:
    assert {case[3] for case in CASES} == {"validation", "flag", "gate", "file", "runtime", ""}


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('cannot parse staticPodURLHeader: {"Authorization": ["planted-value"]}', "planted-value"),
        ("failed: GET http://x: header Authorization: Bearer planted-value, retry", "planted-value"),
        ("bad header authorization=planted-value", "planted-value"),
        ('{"token":"planted-value"} refused', "planted-value"),
        ("password: planted-value, user: x", "planted-value"),
        ("manifest-url-header=A:planted-value", "planted-value"),
        ("get https://user:planted-value@host/pods failed", "planted-value"),
        ("token eyJhbGciOiJSUzI1NiIsImtpZCI6In.eyJpc3MiOiJr.c2lnbmF0dXJl is refused", "eyJhbGciOiJSUzI1NiIsImtpZCI6In"),
        ("bad -----BEGIN PRIVATE KEY----- planted-value -----END PRIVATE KEY----- here", "planted-value"),
        ("unknown value Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZmdoaWprbG1ub3BxcnM= in it", "Zm9vYmFyMTIz"),
    ],
)
def test_secrets_are_masked(text: str, secret: str) -> None:
    for log in (old(text), new(text)):
        shown = last_words.parse(log.splitlines())
        assert shown and secret not in shown


@pytest.mark.parametrize(
    "text",
    [
        "unable to load client CA file /etc/kubernetes/pki/ca.crt: open /etc/kubernetes/pki/ca.crt: no such file",
        "failed to load Kubelet config file /var/lib/kubelet-config/active/kubelet, error failed to read "
        "/var/lib/kubelet-config/store/checkpoints/7f9b4a2e-1c1d-4b1e-9a53-0d7a3c1b2f4e/1234567/kubelet",
        "failed to read token: no such file or directory",
    ],
)
def test_paths_and_reasons_are_no_secrets(text: str) -> None:
    assert last_words.parse(old(text).splitlines()) == text


def test_each_secret_field_is_known_here() -> None:
    names = {name for name, field in fields.ALL.items() if field.secret}
    flags = {flag for name in names for flag in fields.ALL[name].flags}
    for word in names | flags:
        assert "planted" not in last_words.parse(old(f'"{word}": ["planted"]').splitlines())


def test_a_long_message_keeps_its_beginning_and_its_cause() -> None:
    found = last_words.parse(new(f"failed to run Kubelet: {'wrapped: ' * 100}connection refused").splitlines())
    assert len(found) <= last_words.MOST
    assert found.startswith("failed to run Kubelet: wrapped: ") and found.endswith("wrapped: connection refused")


@given(st.lists(st.one_of(st.text(max_size=80), st.sampled_from([line for c in CASES for line in c[1].splitlines()]))))
def test_any_log_gives_one_short_line(lines: list[str]) -> None:
    found = last_words.parse(lines)
    assert len(found) <= last_words.MOST and "\n" not in found
    assert last_words.kind(found) in {"validation", "flag", "gate", "file", "runtime", ""}


class Journal:
    """A `run` that answers as journalctl."""

    def __init__(self, text: str, code: int = 0) -> None:
        self.text, self.code = text, code
        self.asked: list[list[str]] = []

    def __call__(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.asked.append(list(argv))
        return subprocess.CompletedProcess(list(argv), self.code, self.text, "")


def test_the_journal_is_asked_for_one_start_within_a_time_limit() -> None:
    journal = Journal(old(NEGATIVE))
    assert last_words.read("kubelet.service", "abc", journal) == NEGATIVE
    (asked,) = journal.asked
    assert asked[:3] == ["timeout", "5", "journalctl"]
    assert {"--unit=kubelet.service", "_SYSTEMD_INVOCATION_ID=abc", "--output=cat", "--lines=3000"} <= set(asked)


def test_words_that_cannot_be_read_are_empty() -> None:
    def broken(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        raise RuntimeError(argv)

    assert last_words.read("kubelet.service", "abc", Journal(old(NEGATIVE), 124)) == ""
    assert last_words.read("kubelet.service", "abc", broken) == ""
    unasked = Journal(old(NEGATIVE))
    assert last_words.read("kubelet.service", "", unasked) == "" and not unasked.asked


def test_the_journal_is_asked_again_until_it_has_the_last_lines() -> None:
    answers = iter(["", BEGIN, old(NEGATIVE)])

    def late(argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(list(argv), 0, next(answers), "")

    assert last_words.read("kubelet.service", "abc", late, patience=60) == NEGATIVE
    silent = Journal(BEGIN)
    assert last_words.read("kubelet.service", "abc", silent, patience=0.3) == "" and len(silent.asked) >= 2


@pytest.mark.parametrize(("words", "kind"), [(case[2], case[3]) for case in CASES if case[2]])
def test_a_message_names_the_remedy_of_its_kind(words: str, kind: str) -> None:
    found = last_words.sentence(words, "kubelet.service")
    assert found.startswith(f"The kubelet logged last: {words[:40]}")
    assert ("journalctl" in found) == (kind == "")
    assert found.endswith("." if kind == "" else ", then run again.")


def test_a_kubelet_without_an_error_is_looked_up_in_its_log() -> None:
    assert last_words.sentence("", "k.service") == "It logged no error: see `journalctl -u k.service`."
