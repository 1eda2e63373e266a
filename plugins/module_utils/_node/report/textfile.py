# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One file in the folder of node_exporter's textfile collector, which reads every name that ends in `.prom`: the status
as the metrics that kubelets 1.11 to 1.23 served about it, with their names and labels.

The folder may belong to another user than root. Every step therefore works in the folder that was opened, which is no
link, and on names in it that are never followed. Such a user can replace the file, and make us write no other one.
"""

from __future__ import annotations

import contextlib
import errno
import os
from typing import Any, Iterator, Mapping

from ..system.files import FileError

NAME = "livenodes-kubelet.prom"
TEMPORARY = f".{NAME}.tmp"
# Every user may read it: node_exporter does not run as root.
MODE = 0o644

PREFIX = "kubelet_node_config"
LOCAL = "local"
"""`node_config_source` of the local configuration. Its other labels are empty."""
_PARTS = (
    ("assigned", "assigned", "What the kubelet should run, in the labels. Always 1."),
    ("active", "active", "What the kubelet runs, in the labels. Always 1."),
    ("lastKnownGood", "last_known_good", "What a revert of the kubelet leads to, in the labels. Always 1."),
)
_ERROR = "1 if the kubelet does not run what is assigned, or fails with it, or the store has damage, else 0."


def write(folder: str, text: str) -> None:
    """Replace or create the file: its reader sees all old or all new lines. Only one process may write at a time.

    Raises FileError; then the former file is in place, unless the new one was not made durable.
    """
    with _opened(folder, "write") as handle:
        _unlink(TEMPORARY, handle)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(TEMPORARY, flags, 0o600, dir_fd=handle), "wb") as file:
                file.write(text.encode("utf-8", "replace"))
                # Whatever the umask is.
                os.fchmod(file.fileno(), MODE)
                file.flush()
                os.fsync(file.fileno())
            os.rename(TEMPORARY, NAME, src_dir_fd=handle, dst_dir_fd=handle)
            os.fsync(handle)
        except OSError:
            with contextlib.suppress(OSError):
                _unlink(TEMPORARY, handle)
            raise


def remove(folder: str) -> None:
    """Remove the file, and what an interrupted `write` left. Raises FileError; a folder that is gone has neither."""
    if not os.path.lexists(folder):
        return
    with _opened(folder, "remove") as handle:
        for name in (TEMPORARY, NAME):
            _unlink(name, handle)
        os.fsync(handle)


def exists(folder: str) -> bool:
    """Return whether there is something under the file's name. Never raises."""
    return os.path.lexists(os.path.join(folder, NAME))


@contextlib.contextmanager
def _opened(folder: str, doing: str) -> Iterator[int]:
    """Yield a handle of the folder. An OSError becomes a FileError of the folder, or of the file in it."""
    if not os.path.isabs(folder):
        raise FileError(folder, "is not an absolute path", "name the whole path of the folder")
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            raise FileError(folder, "is a link or no folder", "name the folder itself") from error
        if error.errno == errno.ENOENT:
            raise FileError(folder, "does not exist", "create this folder, or name another one") from error
        raise FileError.of(folder, "open", error) from error
    try:
        yield handle
    except OSError as error:
        raise FileError.of(os.path.join(folder, NAME), doing, error) from error
    finally:
        os.close(handle)


def _unlink(name: str, handle: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=handle)


def metrics(status: Mapping[str, Any]) -> str:
    """Return the metrics of a status in the shape of `Node.status.config`, such as the annotation's object."""
    lines: list[str] = []
    for part, name, meaning in _PARTS:
        labels = _labels((status.get(part) or {}).get("configMap"))
        shown = ",".join(f'{label}="{escaped(labels[label])}"' for label in sorted(labels))
        lines += _gauge(f"{PREFIX}_{name}", meaning, f"{{{shown}}}", 1)
    lines += _gauge(f"{PREFIX}_error", _ERROR, "", 1 if status.get("error") else 0)
    return "".join(f"{line}\n" for line in lines)


def escaped(value: str) -> str:
    """Return a label's value as it stands between the quotation marks."""
    return value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


def _labels(source: Mapping[str, str] | None) -> dict[str, str]:
    known = source or {}
    path = f"/api/v1/namespaces/{known.get('namespace', '')}/configmaps/{known.get('name', '')}"
    return {
        "node_config_source": path if source else LOCAL,
        "node_config_uid": known.get("uid", ""),
        "node_config_resource_version": known.get("resourceVersion", ""),
        "node_config_kubelet_key": known.get("kubeletConfigKey", ""),
    }


def _gauge(name: str, meaning: str, labels: str, value: int) -> list[str]:
    return [f"# HELP {name} {meaning}", f"# TYPE {name} gauge", f"{name}{labels} {value}"]
