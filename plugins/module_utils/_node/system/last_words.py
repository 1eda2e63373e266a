# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a kubelet logged last before it ended, and what that is evidence of.

The waiting guard loads this module, so it imports little.

Formats: klog text (1.20 and earlier end with klog.Fatal: an `F` line and a dump of all goroutines), structured text
(1.21 to 1.23 in cmd/kubelet/app/server.go: `"Failed to run kubelet" err="..."`; from 1.24 in
component-base/cli/run.go: `"command failed" err="..."`), JSON of `--logging-format=json`, and Go panics.
"""

from __future__ import annotations

import json
import re
import time
from typing import Any, Iterable, NamedTuple, Sequence

from . import command, last_words_kinds

VALIDATION, FLAG, GATE = last_words_kinds.VALIDATION, last_words_kinds.FLAG, last_words_kinds.GATE
FILE, RUNTIME, JOINING = last_words_kinds.FILE, last_words_kinds.RUNTIME, last_words_kinds.JOINING

MOST = 360
"""Longest text that `parse` returns, in characters: three lines of a message."""
_LONGEST = 20_000
SECONDS = 5
"""Seconds after which a journal that does not answer is not waited for."""
_LINES = 3000
"""Lines read of the end of a kubelet's log: a dump of goroutines, or the usage text, follows its last message."""
PAUSE = 0.2
"""Seconds between two requests to a journal that may not have the last lines yet."""
HIDDEN = "********"

_REMEDIES = {
    VALIDATION: "Correct this value, then run again.",
    GATE: "Correct featureGates, then run again.",
    FLAG: "Correct the kubelet's command line (`systemctl cat {unit}`), then run again.",
    FILE: "Correct the named file, then run again.",
    RUNTIME: "Start the container runtime, then run again.",
    JOINING: "Correct the way to the API server, or what the kubelet joins with, then run again.",
}

_KLOG = re.compile(r"^([IWEF])\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ [^\]\s]+:\d+\] ?(.*)$")
_QUOTED = r'"(?:\\.|[^"\\])*"'
_STRUCTURED = re.compile(rf"^({_QUOTED})((?: .*)?)$")
_ERROR = re.compile(rf"(?:^| )err=({_QUOTED}|<$|\S+)")
_PANIC = re.compile(r"^(?:panic|fatal error): ")
_DUMP = re.compile(r"^(?:goroutine \d+ |Usage:|\[signal |runtime stack:)")
# Lines that kubelets print beside their log.
_IDLE = re.compile(r"^(?:Flag --\S+ has been deprecated|exit status |created by |\s|/)|.*\.go:\d+ \+0x|^\S+\(.*\)$")
# What systemd writes of an end by a signal. Go's runtime turns the SIGABRT of the watchdog into an exit.
_SIGNAL = re.compile(
    r"main process exited, code=(?:killed|dumped)|failed with result '(?:watchdog|oom-kill)'", re.IGNORECASE
)
LENIENT = "lenient decoding as strict decoding failed"

# A quotation of the field with secrets may begin or end in the middle of a value, so that all after it is hidden.
_SECRET_FIELD = re.compile(r"(staticPodURL(?:Header)?|manifest-url(?:-header)?).*", re.IGNORECASE)
_SECRETS = (
    (re.compile(r"\b(Bearer|Basic|Digest)\s+[^\s\"',;|]+", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (
        re.compile(
            r"\b([\w-]*(?:authorization|cookie|token|password|passwd|secret|api[-_]?key|credential)s?[\\\"']*\s*[:=]\s*"
            r"[\[\\\"']*)(?!Bearer |Basic |Digest |dial |open |stat |unable |failed |no |cannot |invalid |not )"
            r"[^\s\\\"',;|\]]{4,}",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
    (re.compile(r"\beyJ[\w-]{8,}(?:\.[\w-]+)*"), HIDDEN),
    (re.compile(r"-----BEGIN .*?(?:-----END [A-Z ]+-----|$)"), HIDDEN),
    (re.compile(r"(://[^\s/@:]*:)[^\s/@]+@"), rf"\1{HIDDEN}@"),
    # 40 and more characters of Base64 with letters of both cases and digits.
    (
        re.compile(
            # The first part keeps the others from a look at the rest of the line from each of its characters.
            r"(?<![\w/+.-])(?=[A-Za-z0-9+_-]{40})(?=[^\s]*[a-z])(?=[^\s]*[A-Z])(?=[^\s]*\d)"
            r"[A-Za-z0-9+_-]{40,}={0,2}(?![\w/.])"
        ),
        HIDDEN,
    ),
)


ANY, ERROR, FINAL, CRASH = 0, 1, 2, 3
"""Weights of messages: any text, an error, an error that ends a kubelet, a crash."""


class _Entry(NamedTuple):
    """A message of the log."""

    weight: int
    text: str


_NOTHING = _Entry(ANY, "")


def parse(lines: Iterable[str]) -> str:
    """Return the last message that explains the end of the kubelet that logged these lines.

    The text is one line of at most `MOST` characters, unescaped, with secrets masked; empty when there is none. An
    error of a kubelet that was killed from outside is its last error, not the cause of its end.
    """
    return _shown(_weightiest(lines).text)


def _weightiest(lines: Iterable[str]) -> _Entry:
    best = _NOTHING
    for entry in _entries([line.rstrip("\r\n") for line in lines]):
        if entry.text and entry.weight >= best.weight:
            best = entry
    return best


def read(unit: str, invocation: str, run: command.Run = command.execute, patience: float = 0.0) -> str:
    """Return the last words of one start of the kubelet, by its InvocationID; empty when they are not known.

    The journal writes a line a moment after its process ended: it is asked again for `patience` seconds, until it has
    a message that ends a kubelet. Never raises.
    """
    if not invocation:
        return ""
    end = time.monotonic() + patience
    while True:
        try:
            found = _found(unit, invocation, run)
        except Exception:  # pylint: disable=broad-exception-caught
            # Words for a message: their absence must never prevent a revert.
            return ""
        if found.weight >= FINAL or time.monotonic() >= end:
            return _shown(found.text)
        time.sleep(PAUSE)


def killed(invocation: str, run: command.Run = command.execute) -> bool:
    """Return whether systemd wrote to the journal that a signal ended this start of the kubelet, or its watchdog.

    False if that is unknown. Never raises.
    """
    return any(_SIGNAL.search(line) for line in _by_systemd(invocation, run))


def needs_dependency(invocation: str, run: command.Run = command.execute) -> bool:
    """Return whether systemd wrote to the journal that no start followed this one, because what the unit requires did
    not start: src/core/job.c of systemd, job_emit_done_message. A stop by an operator has the result `done`.

    False if that is unknown. Never raises.
    """
    return bool(_by_systemd(invocation, run, "JOB_RESULT=dependency"))


def _by_systemd(invocation: str, run: command.Run, *only: str) -> list[str]:
    """Return what systemd wrote to the journal about one start; nothing if that is unknown."""
    if not invocation:
        return []
    try:
        return _journal(run, "--output=cat", "_PID=1", f"INVOCATION_ID={invocation}", *only)
    except Exception:  # pylint: disable=broad-exception-caught
        # As for `read`: the journal must never prevent a revert.
        return []


def _found(unit: str, invocation: str, run: command.Run) -> _Entry:
    """Return the last message of one start. Its errors before the end may be assigned to it, and the end not.

    journald names the unit by its own name, `unit` may be an alias: only what has no InvocationID is looked for by it.
    """
    lines = _journal(run, "--output=cat", f"_SYSTEMD_INVOCATION_ID={invocation}")
    found = _weightiest(lines)
    if found.weight >= FINAL:
        return found
    return _weightiest([*lines, *_unassigned(unit, invocation, run)])


def _journal(run: command.Run, *words: str) -> list[str]:
    """Return what journalctl prints, nothing when it fails."""
    done = run(["timeout", str(SECONDS), "journalctl", "--quiet", "--no-pager", f"--lines={_LINES}", *words])
    return [] if done.returncode else done.stdout.splitlines()


def _unassigned(unit: str, invocation: str, run: command.Run) -> list[str]:
    """Return the lines that journald could not assign to any start, after this one's and before the next one's.

    journald looks a line's start up when it reads the line. On a busy node it is late, and finds none for a kubelet
    that has ended by then, as one does at once that refuses its configuration.
    """
    found = []
    ours = False
    for line in _journal(run, "--output=json", "--all", f"--unit={unit}"):
        entry = json.loads(line)
        # The first one stands in systemd's own messages about the unit, the second one in those of its processes.
        start = entry.get("INVOCATION_ID") or entry.get("_SYSTEMD_INVOCATION_ID")
        if start:
            ours = start == invocation
        elif ours and entry.get("_PID") != "1":
            found.extend(text_of(entry.get("MESSAGE")).splitlines())
    return found


def text_of(message: Any) -> str:
    """Return the message of an entry in JSON: a list of bytes if it is not UTF-8, of texts if it has several."""
    if isinstance(message, list) and all(isinstance(value, int) for value in message):
        return bytes(message).decode("utf-8", "replace")
    return message if isinstance(message, str) else ""


def sentence(words: str, unit: str, killed: bool = False) -> str:
    """Return a kubelet's last words and what to do about them, as the end of a message.

    `killed`: a signal ended it, so that its last error is not a cause.
    """
    if killed:
        return (
            f"A signal ended the kubelet, not an error of its own: see `journalctl -u {unit}`. Remove the cause, then "
            "run again."
        )
    if not words:
        return f"It logged no error: see `journalctl -u {unit}`."
    remedy = _REMEDIES.get(kind(words), "Remove the cause, then run again.")
    return f"The kubelet logged last: {words.rstrip('. ')}. {remedy.format(unit=unit)}"


def kind(text: str) -> str:
    """Return what a kubelet's last words are evidence of; empty for words that do not incriminate its configuration.

    Only messages with which a kubelet ends while it starts count, and any error about its container runtime.
    `validation`: it refused a value. `flag`: its command line. `gate`: a feature gate that this version does not know
    or has locked. `file`: a file of its configuration is missing or cannot be read. `runtime`: its container runtime
    did not answer, which is not evidence against a configuration that names the same endpoint as before. `joining`: the
    API server gave it no certificate, which is no evidence.
    """
    starting = ended_at_start(text)
    for name, pattern in last_words_kinds.PATTERNS:
        if (starting or name == RUNTIME) and pattern.search(text):
            return name
    return ""


def ended_at_start(text: str) -> bool:
    """Return whether a kubelet ends with this message while it starts, so that the message is the cause of its end."""
    return bool(last_words_kinds.STARTING.match(text))


def _entries(lines: Sequence[str]) -> Iterable[_Entry]:
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        header = _KLOG.match(line)
        if header:
            yield _klog(header.group(1), header.group(2), lines, at)
        elif _PANIC.match(line):
            yield _Entry(CRASH, " ".join([line, *_following(lines, at)]))
        elif line.startswith("{"):
            yield _json(line, at < len(lines) and bool(_DUMP.match(lines[at])))
        elif _DUMP.match(line):
            at = _after_dump(lines, at)
        elif line.strip() and not _IDLE.match(line):
            yield _Entry(ANY, line)


def _klog(severity: str, text: str, lines: Sequence[str], at: int) -> _Entry:
    """Return the message that begins with this line and continues in `lines` from `at` on."""
    if severity in "IW" or LENIENT in text.lower():
        # Lenient decoding quotes the whole configuration, and the kubelet continues after it.
        return _NOTHING
    structured = _STRUCTURED.match(text)
    if not structured:
        weight = ERROR
        if severity == "F":
            weight = CRASH
        return _Entry(weight, " ".join([text, *_following(lines, at)]))
    message, rest = unquoted(structured.group(1)), structured.group(2)
    error = _ERROR.search(rest)
    reason = ""
    if error and error.group(1) == "<":
        reason = " ".join(_following(lines, at, ">"))
    elif error:
        reason = unquoted(error.group(1))
    return _error(message, reason, severity == "F")


def _following(lines: Sequence[str], at: int, end: str = "") -> list[str]:
    """Return the lines that continue a message: up to its end mark, the next message or a dump; 40 at most."""
    found: list[str] = []
    for line in lines[at : at + 40]:
        if (end and line.strip() == end) or _KLOG.match(line) or _DUMP.match(line) or line.startswith("Flag --"):
            break
        if not end and line.startswith("\t") and not line.startswith("\tpanic: "):
            break
        found.append(line.strip())
    return found


def _after_dump(lines: Sequence[str], at: int) -> int:
    """Return where the log continues after a dump of goroutines or the usage text."""
    while at < len(lines) and not _KLOG.match(lines[at]) and not _PANIC.match(lines[at]) and lines[at][:1] != "{":
        at += 1
    return at


def _json(line: str, fatal: bool) -> _Entry:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return _NOTHING
    message, reason = str(entry.get("msg") or "").strip(), str(entry.get("err") or "").strip()
    if LENIENT in message.lower() or not (reason or fatal):
        return _NOTHING
    return _error(message, reason, fatal)


def _error(message: str, reason: str, fatal: bool) -> _Entry:
    """Return message and reason as one entry; the message is left out when it adds nothing."""
    weight = FINAL if last_words_kinds.ENDS.match(message) else ERROR
    if fatal:
        weight = CRASH
    if not reason:
        return _Entry(weight, message)
    if message == "command failed" or reason.lower().startswith(message.lower()):
        return _Entry(weight, reason)
    return _Entry(weight, f"{message}: {reason}")


def unquoted(text: str) -> str:
    """Return what a Go-quoted string holds; Go's quoting is that of JSON, except for a few escapes."""
    if not text.startswith('"'):
        return text
    try:
        return str(json.loads(text))
    except ValueError:
        return text[1:-1].replace('\\"', '"').replace("\\n", " ").replace("\\t", " ")


def _shown(text: str) -> str:
    # The patterns take seconds for a longer text, and the guard must not wait for them.
    text = text[:_LONGEST]
    # The kubelet prints its own object after the reason, and JSON errors quote the configuration around their place.
    text = re.sub(r", path: &TypeMeta\{[^}]*\}", "", text)
    text = re.sub(r",? ?(?:bigger context|error found in #\d+ byte of) \.\.\.\|.*", "", text, flags=re.DOTALL)
    # Control characters, too: a terminal would obey them.
    text = re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", text).strip()
    text = _SECRET_FIELD.sub(r"\1 (its value is not shown)", text)
    for pattern, masked in _SECRETS:
        text = pattern.sub(masked, text)
    if len(text) <= MOST:
        return text
    # Go wraps errors from the outside in: what failed comes first, the cause last.
    return f"{text[: MOST - 130].rstrip()} ... {text[-125:].lstrip()}"
