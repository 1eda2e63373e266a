# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Asks the node's own kubelet binary whether it accepts a configuration, without starting a node agent.

A kubelet decodes and validates its configuration before it opens its kubeconfig (cmd/kubelet/app/server.go). With a
kubeconfig that does not exist it therefore ends within a tenth of a second, and its last message shows how far it came.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import tempfile
from typing import Callable, Mapping, NamedTuple, Sequence

from . import command, config_summary
from .last_words import LENIENT, unquoted

VALID, INVALID, NOT_CHECKED = "valid", "invalid", "not checked"

LIMIT = 20
"""Seconds after which a kubelet that does not end is killed. It ends within half a second on an idle node, and within
10 s on one whose processors are overloaded."""

# Flags with a value that must not reach the kubelet under test: its folders, its servers, its locks, its logging.
_REPLACED = {
    *("config", "kubeconfig", "bootstrap-kubeconfig", "root-dir", "cert-dir", "dynamic-config-dir"),
    *("cloud-provider", "cloud-config", "lock-file"),
    *("log-dir", "log-file", "log-file-max-size", "log-backtrace-at", "logging-format"),
    *("stderrthreshold", "v", "vmodule"),
}
_SWITCHES = {"exit-on-lock-contention", "logtostderr", "alsologtostderr", "one-output", "runonce"}

# The kubelet has no effect outside this sandbox: no network, everything read-only but the scratch folder, no sockets in
# /run, no capability but reading, a time limit. The shell in front of it checks that the sandbox is in force, because
# systemd continues without a protection that the kernel does not support.
_SANDBOX = (
    "PrivateNetwork=yes",
    "ProtectSystem=strict",
    "ProtectHome=read-only",
    "ProtectControlGroups=yes",
    "ProtectKernelTunables=yes",
    "ProtectKernelModules=yes",
    "TemporaryFileSystem=/run",
    "NoNewPrivileges=yes",
    "CapabilityBoundingSet=CAP_DAC_READ_SEARCH",
    "Nice=10",
    "OOMScoreAdjust=1000",
    f"RuntimeMaxSec={LIMIT}",
    "KillSignal=SIGKILL",
    "CollectMode=inactive-or-failed",
)
_IN_FORCE = "livenodes.kubelet: the sandbox is in force"
_PROBE = (
    '[ "$(readlink /proc/self/ns/net)" != "$1" ] && ! [ -w /usr ] && ! [ -w /var/lib ] '
    f'&& echo "{_IN_FORCE}" && shift && exec "$@"'
)

_FATAL = re.compile(r"^(?:F\d{4} [\d:.]+ +\d+ [^\]]+\]|panic:) (.*)$")
_STRUCTURED = re.compile(r'^E\d{4} [\d:.]+ +\d+ [^\]]+\] ("(?:\\.|[^"\\])*") err=("(?:\\.|[^"\\])*")')
# The error of a structured message has several lines: indented, up to a line with this mark.
_SEVERAL = re.compile(r'^E\d{4} [\d:.]+ +\d+ [^\]]+\] ("(?:\\.|[^"\\])*") err=<$')
_END = ">"
# The messages for a config that was read and is refused. 1.20 prints the reason alone, later versions also the failed
# step.
_REFUSALS = re.compile(
    "|".join(
        (
            r"^\[?invalid configuration: ",
            r"failed to validate kubelet configuration",
            r"failed to load kubelet config file",
            # The kubelets of 1.21 to 1.31: also for a gate of the flag --feature-gates.
            r"failed to set feature gates from initial flags-based config",
            # From 1.32 on: a panic while the file is defaulted.
            r"^failed to merge global and in-flight KubeletConfiguration while setting defaults",
            r"^unrecognized feature gate: ",
            r"^cannot set feature gate ",
            r"^can't use reservedSystemCPUs ",
            r"^unable to parse reservedSystemCPUs ",
            r"^--show-hidden-metrics-for-version must be ",
            r"^unsupported log format: ",
            # From 1.25 on.
            r"^command failed: initialize logging: ",
            r"^non-default logging format ",
            # From 1.21 on the step is named first (server.go UnsecuredDependencies).
            r"^(?:.*construct kubelet dependencies: )?(?:Cipher suite |unknown tls version |(?:duplicate )?curve )",
        )
    ),
    re.IGNORECASE,
)
_UNREADABLE = re.compile(r"failed to read kubelet config file|open [^ ]+: ", re.IGNORECASE)
_HEADER = re.compile(r"[IWEF]\d{4} [\d:.]+ ")
_UNNAMED = "the kubelet ignores unknown fields and does not name them"
_UNKNOWN = re.compile(r'unknown field:? \\*"?([^\s",\\]+)')


class Verdict(NamedTuple):
    """The kubelet binary's answer to a configuration."""

    verdict: str
    """`valid`, `invalid`, or `not checked`: it could not be asked, or its answer is unknown."""
    messages: list[str]
    """Its reasons, or why it was not checked."""
    unknown_fields: list[str]
    """Fields it does not know and ignores, as it names them."""


class BaseFiles(NamedTuple):
    """What a kubelet reads besides a text that is one of its drop-ins.

    `base`: the text of its config file, None for none. `others`: the texts of the other drop-ins by their path below
    the folder. `name`: that of the text itself.
    """

    base: str | None
    others: Mapping[str, str]
    name: str


def check(
    text: str,
    argv: Sequence[str],
    binary: str = "",
    minor: Callable[[], int | None] = lambda: None,
    run: command.Run = command.execute,
    scratch: str = "/run",
    beneath: BaseFiles | None = None,
    sandboxed: bool = True,
) -> Verdict:
    """Ask the binary (by default that of `argv`) whether a config text is valid, with the flags of the unit's command
    line `argv`; never raises. With `beneath` the text is a drop-in: the binary reads copies of all its files.

    `minor` returns the kubelet's version (20 for 1.20) and is called after the check: some versions name only the first
    unknown field, and our table adds the others. The binary runs in a systemd sandbox and can write only to a folder
    below `scratch`; without a sandbox it does not run at all. `sandboxed`: see start().
    """
    program = binary or next(iter(argv), "")
    started = start(program, harmless(argv[1:]), text, run, scratch, beneath, sandboxed)
    if isinstance(started, str):
        return _not_checked(started)
    answer = verdict(started.output, started.missing, started.code)
    messages = answer.messages
    texts = [text]
    if beneath:
        texts += [beneath.base or "", *beneath.others.values()]
    for quoted in texts:
        messages = config_summary.without_secrets(messages, quoted)
    unknown = config_summary.complete(answer.unknown_fields, text, minor())
    return answer._replace(messages=messages, unknown_fields=unknown)


class Started(NamedTuple):
    """What a binary printed, its exit status, and the path of the kubeconfig that does not exist."""

    output: str
    code: int
    missing: str


def start(
    program: str,
    flags: Sequence[str],
    text: str,
    run: command.Run = command.execute,
    scratch: str = "/run",
    beneath: BaseFiles | None = None,
    sandboxed: bool = True,
) -> Started | str:
    """Start a kubelet binary with a config text, or return why it could not be started; never raises.

    Its folders and its kubeconfig are in a new folder below `scratch`. Without `sandboxed` no sandbox is used, which
    needs root: for a user who owns nothing that a kubelet could change.
    """
    if not os.path.isfile(program):
        return f"there is no kubelet binary {program or '(none named)'}"
    try:
        place = tempfile.mkdtemp(prefix="livenodes-check-", dir=scratch)
    except OSError as error:
        return f"no scratch folder can be created: {error}"
    try:
        missing = _write_files(place, text, beneath)
        folders = [f"--kubeconfig={missing}", f"--root-dir={place}/root", f"--cert-dir={place}/pki"]
        words = [program, *flags, *_files(place, beneath), *folders]
        if not sandboxed:
            done = run(["timeout", "--signal=KILL", str(LIMIT), *words])
            return Started(f"{done.stdout}\n{done.stderr}", done.returncode, missing)
        walls = [f"--property={wall}" for wall in (*_SANDBOX, f"BindPaths={place}", f"ReadWritePaths={place}")]
        gated = [*walls, "/bin/sh", "-c", _PROBE, "sh", _host_network(), *words]
        done = command.transient(run, "check of a configuration", gated)
        if _IN_FORCE not in done.stdout:
            reason = (done.stderr.strip() or "no reason given")[:300]
            return f"systemd provides no sandbox without network and with read-only folders here: {reason}"
        return Started(f"{done.stdout.replace(_IN_FORCE, '')}\n{done.stderr}", done.returncode, missing)
    except OSError as error:
        return str(error)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _host_network() -> str:
    """Return the name of the network namespace that the sandbox must not have."""
    try:
        return os.readlink("/proc/1/ns/net")
    except OSError:
        return os.readlink("/proc/self/ns/net")


def _files(place: str, beneath: BaseFiles | None) -> list[str]:
    """Return the flags that name the files in the scratch folder. The last --config-dir counts."""
    flags = []
    if beneath is None or beneath.base is not None:
        flags.append(f"--config={place}/kubelet")
    if beneath:
        flags.append(f"--config-dir={place}/conf.d")
    return flags


def _write_files(place: str, text: str, beneath: BaseFiles | None) -> str:
    """Fill the scratch folder; return the path of a kubeconfig that does not exist."""
    texts = {"kubelet": text}
    if beneath:
        texts = {f"conf.d/{name}": other for name, other in beneath.others.items()}
        texts[f"conf.d/{beneath.name}"] = text
        texts["kubelet"] = beneath.base or ""
    # With these files the kubelet does not spend a quarter of a second on creating a key. It ends before it would read
    # them.
    texts.update({"pki/kubelet.crt": "", "pki/kubelet.key": ""})
    for name, content in texts.items():
        path = os.path.join(place, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as stream:
            stream.write(content)
    return os.path.join(place, "no-kubeconfig")


def harmless(flags: Sequence[str]) -> list[str]:
    """Return the flags that may affect whether a config is valid."""
    kept = []
    at = 0
    while at < len(flags):
        word = flags[at]
        at += 1
        name, given, _value = word.lstrip("-").partition("=")
        name = name.replace("_", "-")
        if not word.startswith("-") or name not in _REPLACED | _SWITCHES:
            kept.append(word)
        elif name in _REPLACED and not given:
            at += 1
    return kept


def version(binary: str, run: command.Run = command.execute) -> str | None:
    """Return the version that the binary's `--version` prints, such as `v1.20.2`; None when it prints none."""
    done = run([binary, "--version"])
    match = re.match(r"Kubernetes (v\d+\.\d+\.\S+)", done.stdout)
    return match.group(1) if match and not done.returncode else None


def verdict(output: str, missing: str, code: int) -> Verdict:
    """Return what a kubelet's output means. `missing` is the kubeconfig that does not exist, `code` its exit status."""
    messages = _messages(output)
    others = [text for text in messages if LENIENT not in text]
    unknown = unknown_fields(output)
    if code and _reached_kubeconfig(others, missing):
        if len(others) < len(messages) and not unknown:
            return Verdict(VALID, [_UNNAMED], [])
        return Verdict(VALID, [], unknown)
    refusals = list(filter(_is_refusal, others))
    if code and refusals:
        return Verdict(INVALID, _reasons(refusals[-1]), unknown)
    if not output.strip():
        return _not_checked(f"the kubelet printed nothing; it is killed if it has not ended after {LIMIT} s")
    return _not_checked(f"the kubelet's answer is unknown (exit status {code}): {_last_words(others, output)}")


def unknown_fields(output: str) -> list[str]:
    """Return the fields that a kubelet names as unknown, and ignores."""
    found: set[str] = set()
    for text in _messages(output):
        if LENIENT in text:
            found.update(_UNKNOWN.findall(text))
    return sorted(found)


def _reached_kubeconfig(messages: Sequence[str], missing: str) -> bool:
    """Whether the kubelet accepted its config: it opens its kubeconfig only after that."""
    return any(f"kubeconfig: stat {missing}: no such file or directory" in text for text in messages)


def _is_refusal(message: str) -> bool:
    return bool(_REFUSALS.search(message)) and not _UNREADABLE.search(message)


def _last_words(messages: Sequence[str], output: str) -> str:
    """Return the last message, shortened, or the last line of the output if no message was recognised."""
    for text in reversed(messages or output.strip().splitlines()[-1:]):
        if text:
            return text[:300]
    return "nothing"


def _not_checked(reason: str) -> Verdict:
    return Verdict(NOT_CHECKED, [reason], [])


def _messages(output: str) -> list[str]:
    """Return the errors and warnings in a kubelet's output, in the format of any version: klog text, structured text,
    JSON.
    """
    lines = output.splitlines()
    found = []
    for at, line in enumerate(lines):
        message = _message(line, lines[at + 1 :])
        if message is not None:
            found.append(message)
    return found


def _message(line: str, rest: Sequence[str]) -> str | None:
    """Return the message that begins with a line, None for another line; `rest`: the lines after it."""
    fatal, structured, several = _FATAL.match(line), _STRUCTURED.match(line), _SEVERAL.match(line)
    if fatal:
        # Go messages may have several lines; the goroutine dump follows them.
        end = next((index for index, text in enumerate(rest) if text.startswith("goroutine ")), 0)
        return "\n".join([fatal.group(1), *rest[:end]]).strip()
    if structured:
        return f"{unquoted(structured.group(1))}: {unquoted(structured.group(2))}"
    if several:
        inside = itertools.takewhile(lambda text: text.strip() != _END, rest)
        return f"{unquoted(several.group(1))}: " + "\n".join(text.strip() for text in inside)
    if line.startswith("{"):
        return _json(line)
    if LENIENT in line:
        # Kubelets below 1.23 quote the whole configuration in the middle of the message.
        return "\n".join([line, *itertools.takewhile(lambda text: not _HEADER.match(text), rest)])
    return None


def _json(line: str) -> str:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return ""
    return ": ".join(str(entry[key]).strip() for key in ("msg", "err") if entry.get(key))


def _reasons(text: str) -> list[str]:
    """Return the reasons of a refusal one by one: Go prints several as `[a, b]`."""
    text = re.sub(r"^command failed: ", "", text)
    listed = re.search(r"(?:^|error: )\[(invalid configuration: .*)\](?:, path: .*)?$", text, re.DOTALL)
    if listed is None:
        return [text]
    return re.split(r", (?=invalid configuration: )", listed.group(1))
