# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The only image that the lab's pods run: busybox, packed as by `docker save`, so that no registry is needed."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile

IMAGE = "registry.invalid/lab/busybox:1"
"""Its name on the nodes. It cannot be resolved: a pod that tries to pull it fails."""
FOREVER = ("/bin/sh", "-c", "trap exit TERM INT; sleep inf & wait")
"""A command that runs until SIGTERM. A plain `sleep` ignores SIGTERM as process 1 of its container, and would delay a
node's shutdown by 90 s.
"""
APPLETS = ("cat", "echo", "false", "ls", "rm", "sh", "sleep", "test", "touch", "true")


def archive(busybox: bytes) -> bytes:
    """Return a docker-archive with one layer that holds a static busybox.

    It runs `FOREVER` unless the pod sets a command, so that pod sandboxes can use it too.
    """
    layer = _tar({"bin/busybox": busybox}, {f"bin/{name}": "busybox" for name in APPLETS})
    config = {
        "architecture": "amd64",
        "os": "linux",
        "config": {"Env": ["PATH=/bin"], "Cmd": FOREVER},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}"]},
    }
    manifest = [{"Config": "config.json", "RepoTags": [IMAGE], "Layers": ["layer.tar"]}]
    return _tar(
        {
            "layer.tar": layer,
            "config.json": json.dumps(config).encode(),
            "manifest.json": json.dumps(manifest).encode(),
        },
        {},
    )


def _tar(files: dict[str, bytes], links: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as pack:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size, entry.mode = len(data), 0o755
            pack.addfile(entry, io.BytesIO(data))
        for path, target in links.items():
            entry = tarfile.TarInfo(path)
            entry.type, entry.linkname = tarfile.SYMTYPE, target
            pack.addfile(entry)
    return buffer.getvalue()
