# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration that a kubelet logged at its start: what it runs, without any permission.

From 1.37 a kubelet logs its effective configuration, whatever its verbosity (cmd/kubelet/app/server.go,
NewKubeletCommand): what it has read, in the YAML of what /configz shows, with the values of `staticPodURLHeader` masked
(marshalKubeletConfigForLog). It does that before it validates them, completes the paths of its certificate and asks the
container runtime for the cgroup driver. klog's text has a line for each of the YAML, each an entry of the journal: a
tab before it, ` >` after the last (klog/v2, internal/serialize/keyvalues.go). `logging.format: json` has one line with
the whole text. journald splits long lines (LineMax in journald.conf) and drops those above its rate limit, also in the
middle: it writes a line of its own in their place, without a tab.
"""

from __future__ import annotations

import json
from typing import Any, Iterator, Mapping, Sequence

from ..._config.drift import differing
from ..._config.fields import fields
from ..._config.values.document import API_VERSION, KIND
from ..system import command, config_summary, last_words

MOST_BYTES = 1_000_000
"""Bytes read of a start's log, from its begin: the configuration follows the warnings about flags."""
_NAME = "Effective KubeletConfiguration"
_FIRST, _LAST = f'] "{_NAME}" config=<', " >"
_MASKED = "<masked>"
_BEGIN = f'journalctl "$@" | head -c {MOST_BYTES}'


def read(invocation: str, run: command.Run = command.execute) -> dict[str, Any] | None:
    """Return the configuration that the start of the kubelet with this InvocationID logged; None if it is not there, or
    not whole. Never raises.
    """
    if not invocation:
        return None
    shown = ("--quiet", "--no-pager", "--all", "--output=json", "--output-fields=MESSAGE")
    # journald's own lines about a start name it in the second field.
    match = (f"_SYSTEMD_INVOCATION_ID={invocation}", "+", f"OBJECT_SYSTEMD_INVOCATION_ID={invocation}")
    words = ["timeout", str(last_words.SECONDS), "sh", "-c", _BEGIN, "sh", *shown, *match]
    return whole(_messages(run(words).stdout))


def whole(messages: Sequence[str]) -> dict[str, Any] | None:
    """Return the configuration in these lines of a kubelet's log; None unless there is exactly one, whole and unmasked.

    One with a masked value is not known as a whole.
    """
    found = list(_texts(messages))
    if len(found) != 1:
        return None
    text = found[0]
    try:
        config = config_summary.load(text)
    except ValueError:
        return None
    if (config.get("kind"), config.get("apiVersion")) != (KIND, API_VERSION) or _MASKED in text:
        return None
    return config


def unlike(wanted: Mapping[str, Any], logged: Mapping[str, Any], minor: int, dropin: bool) -> list[str]:
    """Return the paths of a source's values that a kubelet of this minor did not log, by the rule of the stage verify.

    `dropin`: whether the source holds what is declared and nothing else.
    """
    compare = differing.of_dropin if dropin else differing.between
    return [path for path, _wanted, _logged in compare(wanted, fields.restore(logged), minor)]


def _messages(output: str) -> list[str]:
    """Return the messages of journal entries in JSON. The last entry may be cut, and is not JSON then."""
    found = []
    for line in output.splitlines():
        try:
            found.append(last_words.text_of(json.loads(line).get("MESSAGE")))
        except (ValueError, AttributeError):
            found.append("")
    return found


def _texts(messages: Sequence[str]) -> Iterator[str]:
    """Yield the YAML of each logged configuration, an empty text for one that is not whole."""
    lines = iter(messages)
    for line in lines:
        if line.endswith(_FIRST):
            yield _continued(lines)
        elif line.startswith("{") and _NAME in line:
            yield from _of_json(line)


def _continued(lines: Iterator[str]) -> str:
    found: list[str] = []
    for line in lines:
        if line == _LAST:
            return "\n".join(found)
        if not line.startswith("\t"):
            break
        found.append(line[1:])
    return ""


def _of_json(line: str) -> Iterator[str]:
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        yield ""
        return
    # Another message may quote the name.
    if entry.get("msg") == _NAME:
        yield str(entry.get("config"))
