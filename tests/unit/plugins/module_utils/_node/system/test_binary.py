# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict of a kubelet's binary: its secrets are masked, and unknown fields are completed."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import binary, config_summary

MISSING = "/run/livenodes-check-x/no-kubeconfig"
DUMP = (
    "\ngoroutine 1 [running]:\nk8s.io/kubernetes/vendor/k8s.io/klog/v2.stacks(0x1)\n"
    "\t/go/src/k8s.io/klog/v2/klog.go:1026 +0x89\n"
)
OLD = "1121 08:42:33.325565     736"
GATE = "cannot set feature gate Foo to false, feature is locked to true"
FLAGS = "to set feature gates from initial flags-based config"
PANIC = "failed to merge global and in-flight KubeletConfiguration while setting defaults, error"
LOGGING = "initialize logging: logging.flushFrequency: Must be greater than zero"
EMPTY = 'failed to load Kubelet config file /x, error kubelet config file "/x" was empty'
LIST = (
    "invalid configuration: eventBurst (--event-burst) -1 must not be a negative number",
    "invalid configuration: kubeAPIQPS (--kube-api-qps) -1 must not be a negative number",
)
ABSENT = f"failed to run Kubelet: unable to load kubeconfig: stat {MISSING}: no such file or directory"
# While it reads the TLS options, which is before it opens its kubeconfig (UnsecuredDependencies).
BUILD = "failed to construct kubelet dependencies:"
OF_TLS = (
    *("Cipher suite TLS_X not supported or doesn't exist", "unknown tls version VersionTLS19"),
    *("curve preference 99 is not supported by the current Go version", "duplicate curve preference 29"),
)
INVALID = f"failed to run Kubelet: invalid kubeconfig: stat {MISSING}: no such file or directory"
VALIDATION = "failed to validate kubelet configuration, error:"
DECODING = "failed to load Kubelet config file /x, error failed to decode:"


def older(message: str) -> str:
    """Return a fatal line with its dump, as kubelets up to 1.20 write them."""
    return f"F{OLD} server.go:269] {message}{DUMP}"


def newer(message: str, **more: str) -> str:
    """Return lines of structured logging, as kubelets from 1.21 on write them."""
    rest = "".join(f' {key}="{value}"' for key, value in more.items())
    return f'I{OLD} server.go:530] "Kubelet version" kubeletVersion="v1.36.0"\nE{OLD} run.go:72] "{message}"{rest}\n'


WELL = older(INVALID)


@pytest.mark.parametrize(
    "output",
    [
        f"I{OLD} server.go:416] Version: v1.20.2\n{WELL}",
        older(ABSENT),
        f'{{"ts":1795250555278.6,"msg":"{ABSENT}\\n","v":0}}{DUMP}',
        newer("command failed", err=INVALID),
        f'{{"ts":1.0,"msg":"command failed","err":"{INVALID}"}}\n',
        f"Flag --max-pods has been deprecated, invalid configuration: x\n{WELL}",
    ],
)
def test_valid_in_the_format_of_both_generations(output: str) -> None:
    """A kubelet that ends well has not checked anything."""
    assert binary.verdict(output, MISSING, 255) == binary.Verdict("valid", [], [])
    assert binary.verdict(output, MISSING, 0).verdict == "not checked"


@pytest.mark.parametrize(
    ("output", "messages"),
    [
        (older(LIST[1]), [LIST[1]]),
        (older(f"[{LIST[0]}, {LIST[1]}]"), list(LIST)),
        (older("unrecognized feature gate: Foo"), ["unrecognized feature gate: Foo"]),
        (newer(f"Failed {FLAGS}", err=GATE), [f"Failed {FLAGS}: {GATE}"]),
        (newer("command failed", err=f"failed {FLAGS}: {GATE}"), [f"failed {FLAGS}: {GATE}"]),
        (f"panic: {PANIC}: {GATE}\n{DUMP}", [f"{PANIC}: {GATE}"]),
        (older(EMPTY), [EMPTY]),
        *[(older(text), [text]) for text in OF_TLS],
        *[(newer("command failed", err=f"{BUILD} {text}"), [f"{BUILD} {text}"]) for text in OF_TLS],
        (older(f"{DECODING} MaxPods: unexpected\n|..."), [f"{DECODING} MaxPods: unexpected\n|..."]),
        (newer("command failed", err=f"{VALIDATION} [{LIST[0]}, {LIST[1]}], path: &TypeMeta{{K:,}}"), list(LIST)),
        (newer("command failed", err=LOGGING), [LOGGING]),
        (newer("command failed", err=f"{VALIDATION} {LIST[1]}, path: x"), [f"{VALIDATION} {LIST[1]}, path: x"]),
        (
            newer("Failed to load kubelet config file", err=f'{DECODING} no kind \\"Config\\"', path="/x"),
            [f'Failed to load kubelet config file: {DECODING} no kind "Config"'],
        ),
        (f'E{OLD} run.go:72] "command failed" err=<\n\t{VALIDATION} [{LIST[0]}, {LIST[1]}]\n >\n', list(LIST)),
        (
            f'E{OLD} run.go:72] "command failed" err=<\n\t{DECODING} a\n\tb\n >\nI{OLD} x.go:1] "later"\n',
            [f"{DECODING} a\nb"],
        ),
    ],
)
def test_invalid_in_the_format_of_both_generations(output: str, messages: list[str]) -> None:
    assert binary.verdict(output, MISSING, 1) == binary.Verdict("invalid", messages, [])


LENIENT = f"W{OLD} codec.go:118] using lenient decoding as strict decoding failed: strict decoder error for "
UNKNOWN = (
    ": v1beta1.KubeletConfiguration.ReadObject: found unknown field: maxPodz, error found in #10 byte of "
    '...|,"maxPodz":1}|...\n'
)
STRICT = f'E{OLD} codec.go:159] "Using lenient decoding as strict decoding failed" err="strict decoding error: '


@pytest.mark.parametrize(
    ("line", "fields"),
    [
        (f'{LENIENT}{{"maxPodz":1}}\n{UNKNOWN}', ["maxPodz"]),
        (
            f'{LENIENT}{{\n  "a": false,\n  "maxPodz": 1\n}}\n{UNKNOWN}I{OLD} server.go:416] Version: v1.20.2\n',
            ["maxPodz"],
        ),
        (STRICT + r'unknown field \"maxPodz\", unknown field \"logging.fooz\""' + "\n", ["logging.fooz", "maxPodz"]),
    ],
)
def test_unknown_fields_pass_and_are_named(line: str, fields: list[str]) -> None:
    assert binary.verdict(line + WELL, MISSING, 255) == binary.Verdict("valid", [], fields)


@pytest.mark.parametrize(
    "output",
    [
        "",
        "   \n",
        "Usage:\n  kubelet [flags]\n",
        older("unknown flag: --nosuch"),
        "panic: runtime error\n\ngoroutine 1 [running]:\nmain.main()\n",
        WELL.replace(MISSING, "/etc/other"),
        older(
            'failed to load Kubelet config file /x, error failed to read kubelet config file "/x", error: open /x: '
            "permission denied"
        ),
        INVALID,
        newer("command failed", err="something new"),
        "{}\n",
        "{\n",
        newer("command failed", err="failed to run Kubelet: invalid configuration: cgroup [kubepods] has some missing"),
    ],
)
def test_an_answer_that_is_not_known_is_never_valid(output: str) -> None:
    assert binary.verdict(output, MISSING, 255).verdict == "not checked"


def test_flags_that_could_disturb_are_left_out() -> None:
    given = (
        "--kubeconfig=/k --bootstrap-kubeconfig /b --config=/c --root-dir /r --cert_dir=/d --v 4 -v=2 -v 3 "
        "--max-pods=61 --lock-file=/l --exit-on-lock-contention --cloud-provider=aws --logtostderr=false --log-dir=/l "
        "--feature-gates A=true --runonce"
    )
    assert binary.harmless(given.split()) == ["--max-pods=61", "--feature-gates", "A=true"]


class Sandbox:
    """systemd-run as far as `check` sees it."""

    def __init__(self, output: str, code: int = 1, errors: str = "") -> None:
        self.output, self.code, self.errors = output, code, errors
        self.words: list[str] = []
        self.seen: dict[str, str] = {}

    def __call__(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.words = list(argv)
        missing = next(word for word in self.words if word.startswith("--kubeconfig=")).partition("=")[2]
        place = Path(missing).parent
        self.seen = {str(path.relative_to(place)): path.read_text() for path in place.rglob("*") if path.is_file()}
        return subprocess.CompletedProcess(self.words, self.code, self.output.replace(MISSING, missing), self.errors)


IN_FORCE = "livenodes.kubelet: the sandbox is in force\n"


def test_the_kubelet_is_asked_in_a_sandbox_that_is_gone_afterwards(tmp_path: Path) -> None:
    run = Sandbox(IN_FORCE + WELL)
    words = ["/bin/sh", "--max-pods=61", "--root-dir=/var/lib/kubelet"]
    assert binary.check("{}", words, run=run, scratch=str(tmp_path)).verdict == "valid"
    assert run.seen["kubelet"] == "{}"
    walls = {"--property=PrivateNetwork=yes", "--property=ProtectSystem=strict", "--property=RuntimeMaxSec=20"}
    assert walls <= set(run.words)
    assert "--max-pods=61" in run.words and "--root-dir=/var/lib/kubelet" not in run.words
    assert not os.listdir(tmp_path)


def test_a_drop_in_is_asked_about_among_copies_of_the_others(tmp_path: Path) -> None:
    """The last folder counts, so the node's own one is not read; a message quotes no secret of any of the files."""
    run = Sandbox(IN_FORCE, errors=newer("command failed", err=f"{VALIDATION} invalid configuration: hunter2"))
    other = "staticPodURLHeader:\n  Authorization:\n  - hunter2\n"
    beneath = binary.BaseFiles("base", {"sub/10.conf": other}, "90.conf")
    found = binary.check("ours", ["/bin/sh", "--config-dir=/etc/k.d"], run=run, scratch=str(tmp_path), beneath=beneath)
    assert found.verdict == "invalid" and "hunter2" not in str(found.messages)
    pki = {"pki/kubelet.crt": "", "pki/kubelet.key": ""}
    assert run.seen == {"kubelet": "base", "conf.d/sub/10.conf": other, "conf.d/90.conf": "ours", **pki}
    folders = [word for word in run.words if word.startswith("--config-dir=")]
    assert folders[0] == "--config-dir=/etc/k.d" and folders[-1].endswith("/conf.d")
    binary.check("ours", ["/bin/sh"], run=run, scratch=str(tmp_path), beneath=beneath._replace(base=None))
    assert not [word for word in run.words if word.startswith("--config=")]


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        (Sandbox(WELL), "provides no sandbox"),
        (Sandbox("", errors="Failed to connect to bus"), "Failed to connect to bus"),
        (Sandbox(IN_FORCE), "printed nothing"),
        (Sandbox(IN_FORCE + "Hello", 0), "unknown (exit status 0): Hello"),
    ],
)
@pytest.mark.fault(case=42)
def test_without_a_sandbox_or_an_answer_nothing_is_checked(run: Sandbox, reason: str, tmp_path: Path) -> None:
    found = binary.check("{}", ["/bin/sh"], run=run, scratch=str(tmp_path))
    assert found.verdict == "not checked"
    assert reason in found.messages[0]


def test_what_cannot_be_run_is_not_checked() -> None:
    for argv, scratch in ((["/no/kubelet"], "."), ([], "."), (["/bin/sh"], "/no/such")):
        assert binary.check("{}", argv, scratch=scratch).verdict == "not checked"


@pytest.mark.parametrize(
    ("output", "code", "version"),
    [
        ("Kubernetes v1.20.2\n", 0, "v1.20.2"),
        ("Kubernetes v1.33.1-eks-1a2b\n", 0, "v1.33.1-eks-1a2b"),
        ("k3s version v1.30\n", 0, None),
        ("Kubernetes v1.20.2\n", 1, None),
        ("", 127, None),
    ],
)
def test_version(output: str, code: int, version: str | None) -> None:
    found = binary.version("/k", lambda argv: subprocess.CompletedProcess(list(argv), code, output, ""))
    assert found == version


def test_secrets_in_the_config_are_not_in_the_messages() -> None:
    text = '{"staticPodURLHeader": {"Authorization": ["Bearer hunter2"]}, "maxPods": "5"}'
    message = f"failed to load, error failed to decode: in {text} bigger context ...|hunt"
    [shown] = config_summary.without_secrets([message], text)
    assert "hunt" not in shown and "maxPods" in shown
    unread = "staticPodURLHeader: &a {Authorization: [hunter2]}"
    [shown] = config_summary.without_secrets([f"failed to load config /x, error {unread}"], unread)
    assert shown.startswith("failed to load config /x, (more is not shown")
    assert config_summary.without_secrets(["as it is"], "{}") == ["as it is"]
    [kept] = config_summary.without_secrets(["cannot read `[hunter2`"], unread)
    assert "hunter2" not in kept and config_summary.without_secrets([kept], unread) == [kept]


def test_a_line_that_cannot_be_read_is_not_quoted_beside_a_secret() -> None:
    with pytest.raises(ValueError, match="line 2: the alias can have two meanings: write the value out") as raised:
        config_summary.load("staticPodURLHeader:\n  A: *hunter2\n")
    assert "hunter2" not in str(raised.value)
    with pytest.raises(ValueError, match="hunter2"):
        config_summary.load("clusterDNS: *hunter2\n")


@pytest.mark.parametrize(
    "written",
    ["[hunter2]", "\n  - hunter2", "\n  - |\n    hunter2\n", "\n  - >-\n    hunter2\n    hunter3\n", '[two"hunters]'],
)
def test_a_secret_is_masked_however_it_is_written(written: str) -> None:
    text = f"staticPodURLHeader:\n  A: {written}\n"
    quoted = json.dumps(yaml.safe_load(text))
    [shown] = config_summary.without_secrets([f"failed to decode: {quoted}"], text)
    assert "hunter" not in shown
    assert "failed to decode" in shown


def test_only_messages_of_a_result_are_masked() -> None:
    text = '{"staticPodURLHeader": {"A": ["hunter2", "1"]}}'
    found = {"path": "/hunter2", "problems": [{"message": "has hunter2 and 1"}], "check": {"messages": ["hunter2"]}}
    assert config_summary.shown(found, text) == {
        "path": "/hunter2",
        "problems": [{"message": "has ******** and 1"}],
        "check": {"messages": ["********"]},
    }


def test_fields_that_an_old_kubelet_leaves_unnamed_are_added() -> None:
    nested = '"logging": {"formatt": "x"}, "evictionHard": {"a": "b"}, "memorySwap": {}'
    text = f'{{"kind": "K", "maxPodz": 1, "foo": 2, {nested}}}'
    assert config_summary.complete(["formatt"], text, 20) == ["foo", "logging.formatt", "maxPodz", "memorySwap"]
    assert config_summary.complete(["formatt"], text, 34) == ["foo", "logging.formatt", "maxPodz"]
    assert config_summary.complete(["a.b", "maxPodz"], "&not json", 20) == ["a.b", "maxPodz"]
    assert config_summary.complete([], text, 20) == []
