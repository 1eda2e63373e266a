# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Logs of kubelets that ended, by version: what they logged last, and what that is evidence of."""

from __future__ import annotations

import json

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
DYNAMIC = "the DynamicKubeletConfig feature gate must be enabled in order to use the --dynamic-config-dir flag"
POLICY = (
    "Failed to start ContainerManager start cpu manager error: could not restore state from checkpoint: configured "
    'policy "static" differs from state checkpoint policy "none", please drain this node'
)


def old(text: str, line: int = 198) -> str:
    """The end of a kubelet 1.20: klog.Fatal."""
    return f"{BEGIN}F1122 13:38:14.192413     419 server.go:{line}] {text}\n{DUMP}"


def new(text: str, place: str = "run.go:72", message: str = "command failed") -> str:
    """The end of a kubelet 1.21 or later."""
    return f'{NEW}E1122 13:38:14.192413     419 {place}] "{message}" err={json.dumps(text)}\n'


Case = tuple[str, str, str, str]
"""Its name, a log, the last words of that, and their kind."""


def of_old(name: str, kind: str, text: str, line: int = 198) -> Case:
    """Return the case of a kubelet 1.20 whose last words are the whole text."""
    return name, old(text, line), text, kind


def of_new(name: str, kind: str, text: str, *line: str) -> Case:
    """Return the case of a later kubelet whose last words are the whole text; `line` has place and message of it."""
    return name, new(text, *line), text, kind


CASES: tuple[Case, ...] = (
    of_old("1.20 validation", "validation", NEGATIVE, 215),
    of_old("1.20 file", "file", 'failed to load Kubelet config file /x, error kubelet config file "/x" was empty'),
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
    of_old("1.20 gate", "gate", "unrecognized feature gate: Foo", 208),
    ("1.20 flag, after its usage text", USAGE + old("unknown flag: --nosuch", 156), "unknown flag: --nosuch", "flag"),
    of_old(
        "1.20 runtime",
        "runtime",
        f'failed to run Kubelet: failed to create kubelet: get remote runtime typed version failed: {DIAL}{SOCKET}"',
        269,
    ),
    of_old(
        "1.20 swap",
        "validation",
        "failed to run Kubelet: running with swap on is not supported, please disable swap!",
        269,
    ),
    (
        "1.20 a container manager that does not start, in a log with other errors",
        f'E1122 13:38:13.1     419 kubelet.go:2163] node "n1" not found\n{old(POLICY, 1384)}',
        POLICY,
        "file",
    ),
    of_new(
        "1.21 run",
        "validation",
        'failed to run Kubelet: misconfiguration: kubelet cgroup driver: "systemd" is different from docker cgroup '
        'driver: "cgroupfs"',
        "server.go:302",
        "Failed to run kubelet",
    ),
    (
        "1.22 flags",
        new(DYNAMIC, "server.go:194", "Failed to validate kubelet flags"),
        f"Failed to validate kubelet flags: {DYNAMIC}",
        "gate",
    ),
    (
        "1.23 flag, before its usage text",
        new("unknown flag: --nosuch", "server.go:170", "Failed to parse kubelet flag") + USAGE,
        "Failed to parse kubelet flag: unknown flag: --nosuch",
        "flag",
    ),
    of_old(
        "1.20 client CA, as it was seen",
        "file",
        "unable to load client CA file /nope/ca.crt: open /nope/ca.crt: no such file or directory",
        269,
    ),
    of_old("1.20 several refusals", "validation", "[invalid configuration: a, invalid configuration: b]", 215),
    of_new("1.24 flag", "flag", "failed to parse kubelet flag: unknown flag: --network-plugin", "run.go:74"),
    of_new(
        "1.27 flags",
        "flag",
        "failed to validate kubelet flags: the container runtime endpoint address was not specified or empty, use "
        "--container-runtime-endpoint to set",
    ),
    of_new(
        "1.28 runtime",
        "runtime",
        "failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint "
        f'"unix:///run/containerd/containerd.sock": {DIAL}{SOCKET}"',
    ),
    of_new(
        "1.30 a runtime without its CRI service",
        "runtime",
        'failed to run Kubelet: validate service connection: validate CRI v1 runtime API for endpoint "unix:///x": '
        "rpc error: code = Unimplemented desc = unknown service runtime.v1.RuntimeService",
    ),
    (
        "1.33 validation",
        new(f"failed to validate kubelet configuration, error: {NEGATIVE}, path: &TypeMeta{{Kind:,APIVersion:,}}"),
        f"failed to validate kubelet configuration, error: {NEGATIVE}",
        "validation",
    ),
    of_new(
        "1.33 drop-in of another type",
        "file",
        "failed to merge kubelet configs: failed to unmarshal merged JSON into kubelet configuration: json: cannot "
        "unmarshal string into Go struct field KubeletConfiguration.maxPods of type int32",
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
    of_new(
        "1.36 client CA",
        "file",
        "failed to run Kubelet: unable to load client CA file /nope/ca.crt: open /nope/ca.crt: no such file",
    ),
    of_new(
        "1.36 the kubelet's kubeconfig is not part of its configuration",
        "",
        "failed to run Kubelet: unable to load bootstrap kubeconfig: stat /etc/x.conf: no such file or directory",
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

OWN: tuple[tuple[str, str, str], ...] = (
    ("printf 'featureGates:\\n  NoSuch: true\\n' >> {file}", "unrecognized feature gate: NoSuch", "gate"),
    ("echo 'kubeAPIQPS: -1' >> {file}", "kubeAPIQPS (--kube-api-qps) -1 must not be a negative number", "validation"),
    ("echo 'evictionHard: {{memory.available: lots}}' >> {file}", "quantities must match the regular", "validation"),
    (": > {file}", 'kubelet config file "/var/lib/kubelet/config.yaml" was empty', "file"),
    (
        "sed -i 's#clientCAFile:.*#clientCAFile: /nope/ca.crt#' {file}",
        "open /nope/ca.crt: no such file or directory",
        "file",
    ),
    ("echo 'readOnlyPort: 22' >> {file}", "listen tcp 0.0.0.0:22: bind: address already in use", ""),
)
"""Changes of the config file {file}, and what the kubelet of the lab logs last because of them."""
