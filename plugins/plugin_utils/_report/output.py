# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is shown of a rollout: the document behind both reports, of plain values with stable keys, and the lines and the
progress bar for terminals and logs.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import shutil
import tempfile
import time
import typing as t

from . import events, model

VERSION = 1
"""Incremented when a key of the JSON report is removed or changes its meaning."""


def document(rollout: model.Rollout) -> dict[str, t.Any]:
    """Return the report. Times are UTC in RFC 3339, `steps` are seconds since `started`.

    Nodes are sorted by state (worst first), batch and name.
    """
    ended = rollout.outcome != "running"
    states = {name: node.state(ended) for name, node in rollout.nodes.items()}
    order = sorted(
        rollout.nodes.values(), key=lambda node: (model.STATES.index(states[node.name]), node.batch, node.name)
    )
    return {
        "version": VERSION,
        "group": rollout.group,
        "outcome": rollout.outcome,
        "check_mode": rollout.check_mode,
        "started": _time(rollout.began),
        "ended": _time(rollout.ended),
        "seconds": round(rollout.ended - rollout.began, 1),
        "summary": {"nodes": len(rollout.nodes), "batches": len(rollout.batches), **rollout.count()},
        "messages": list(rollout.messages),
        "paused": rollout.paused,
        "forecast": rollout.forecast,
        "changes": rollout.changes,
        "batches": [_batch(rollout, batch) for batch in rollout.batches],
        "nodes": [_node(rollout, node, states[node.name]) for node in order],
    }


def _batch(rollout: model.Rollout, batch: model.Batch) -> dict[str, t.Any]:
    return {
        "number": batch.number,
        "nodes": len(batch.nodes),
        "at": round(batch.began - rollout.began, 1),
        "seconds": round(batch.ended - batch.began, 1),
        **rollout.count(batch),
    }


def _node(rollout: model.Rollout, node: model.ReportedNode, state: str) -> dict[str, t.Any]:
    row: dict[str, t.Any] = {
        "name": node.name,
        "state": state,
        "batch": node.batch or None,
        "delivery": node.delivery or None,
        "change": node.change,
        "steps": {step: round(at - rollout.began, 1) for step, at in node.steps.items()},
    }
    if node.cause is not None:
        row.update(verdict=node.verdict or None, cause=node.cause, remedy=events.REMEDIES.get(node.verdict))
    return row


def _time(seconds: float) -> str:
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def write_json(path: str, document: t.Mapping[str, t.Any]) -> None:
    """Write the JSON report. Raises OSError when the folder cannot be written to."""
    # Without indentation Python uses its fast encoder, which takes a tenth of the time.
    write(path, json.dumps(document) + "\n")


def write(path: str, words: str) -> None:
    """Replace a file atomically, so that no reader sees a partial one. Raises OSError."""
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as sink:
            sink.write(words)
        # The mode of an ordinary new file: with the 0600 of mkstemp, a web server could not serve it.
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


PLANNED = "to change"
_SHOWN = 3


def count(number: int, noun: str) -> str:
    """Return a number with its noun: 1 node, 3,000 nodes."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return seconds in readable form: 8 s, 2 min 5 s, 3 h 10 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _one_line(words: str) -> str:
    """Return a text from outside as one line without control characters, which could manipulate a terminal."""
    printable = (letter if letter.isprintable() else " " for letter in words)
    return " ".join("".join(printable).split())


def batch_line(rollout: model.Rollout, batch: model.Batch, at: float) -> str:
    """Return the line of a finished batch."""
    names = ", ".join(node.name for node in batch.nodes[:_SHOWN])
    if len(batch.nodes) > _SHOWN:
        names += f" and {len(batch.nodes) - _SHOWN:,} more"
    return _one_line(
        f"kubelet rollout: batch {batch.number}, {count(len(batch.nodes), 'node')} ({names}): "
        f"{_counts(rollout.count(batch))} in {duration(batch.ended - batch.began)}; {_progress(rollout, at)}"
    )


def failure_line(node: model.ReportedNode) -> str:
    """Return the line of a failed node. The task with its verdict shows why, after the revert."""
    state = f" ({node.verdict})" if node.verdict else ""
    return _one_line(f"kubelet rollout: node {node.name} failed{state}; its verdict follows")


def last_line(rollout: model.Rollout) -> str:
    """Return the line of a finished rollout."""
    counts, seconds = rollout.count(), duration(rollout.ended - rollout.began)
    if rollout.outcome == "done" and not rollout.batches and model.UNTOUCHED in counts:
        # Check mode, or the playbook plan.
        planned = {}
        for state, number in counts.items():
            planned[PLANNED if state == model.UNTOUCHED else state] = number
        return _one_line(f"kubelet rollout: planned in {seconds}, nothing was changed: {_counts(planned)}")
    return _one_line(f"kubelet rollout: {rollout.outcome} after {seconds}: {_counts(counts) or 'nothing was changed'}")


def progress_bar(rollout: model.Rollout, doing: str, since: float, at: float, width: int) -> str:
    """Return the status line, at most `width` characters: the progress, the current task and the remaining time.

    The bar counts the nodes that must change.
    """
    counts = rollout.count()
    over, all_of_them = _over(counts)
    failed = model.failed(counts)
    cells = max(8, min(28, width // 4))
    filled = cells * over // max(1, all_of_them)
    parts = [f"[{'#' * filled}{'-' * (cells - filled)}] {_progress(rollout, at)}"]
    if failed:
        parts.insert(1, f"{failed:,} failed")
    if rollout.current:
        parts.append(f"batch {rollout.current.number} ({count(len(rollout.current.nodes), 'node')})")
    if doing:
        parts.append(f"{doing}, since {time.strftime('%H:%M:%S', time.localtime(since))}")
    line = _one_line(" | ".join(parts))
    return line if len(line) <= width else line[: max(0, width - 3)] + "..."


def _over(counts: t.Mapping[str, int]) -> tuple[int, int]:
    over = counts.get(model.DONE, 0) + model.failed(counts)
    return over, sum(counts.values()) - counts.get(model.UNCHANGED, 0)


def _progress(rollout: model.Rollout, at: float) -> str:
    over, all_of_them = _over(rollout.count())
    left = rollout.seconds_left(at)
    text = f"{over:,} of {count(all_of_them, 'node')}"
    if left is not None:
        text += f", about {duration(left)} left"
    return text


def _counts(counts: t.Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {state}" for state, number in counts.items())


ERASE = "\r\x1b[2K"


class StatusLine:
    """A line that is erased before any other output to the terminal and drawn again by the next show().

    The state of the terminal is not changed: a killed process leaves a line behind and nothing else.
    """

    def __init__(self, stream: t.TextIO, others: t.Iterable[t.TextIO] = ()) -> None:
        self._stream = stream
        self._shown = ""
        # A prompt occupies the last line: the status line must not be drawn then.
        self._free = True
        self._owner = os.getpid()
        self._guarded: list[tuple[t.Any, t.Any]] = []
        self._write = stream.write
        for one in {id(one): one for one in (stream, *others)}.values():
            self._guarded.append((one, one.write))
            # Ansible wraps these methods the same way.
            one.write = self._guard(one.write)  # type: ignore[method-assign]  # close() restores it

    def show(self, line: str) -> None:
        """Draw the line; it replaces the previous one."""
        if self._free and line != self._shown:
            self._write(f"{ERASE}{line}")
            self._stream.flush()
            self._shown = line

    def clear(self) -> None:
        """Erase the line."""
        # A forked process shares the terminal but does not own the line.
        if self._shown and os.getpid() == self._owner:
            self._write(ERASE)
            self._stream.flush()
            self._shown = ""

    def close(self) -> None:
        """Erase the line and release the streams."""
        self.clear()
        for stream, write in self._guarded:
            stream.write = write
        self._guarded = []

    def width(self) -> int:
        """Return the number of characters that fit. The last column is not used: it would start a new line."""
        columns = 0
        # The module shutil asks stdout, which may be a pipe to `tee`.
        with contextlib.suppress(OSError, ValueError):
            columns = os.get_terminal_size(self._stream.fileno()).columns
        return max(20, shutil.get_terminal_size((columns or 80, 24)).columns - 1)

    def _guard(self, write: t.Callable[[str], int]) -> t.Callable[[str], int]:
        def guarded(words: str) -> int:
            self.clear()
            if words:
                self._free = words.endswith(("\n", "\r"))
            return write(words)

        return guarded
