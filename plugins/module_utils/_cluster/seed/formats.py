# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a seed as one file for a builder of images, for cloud-init, or for Ignition: pure functions.

Equal seeds give equal bytes, so that a second run changes nothing.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import tarfile
import typing as t

from ..._node.install import seed_files
from ..._node.install.seed_files import Entry

_DONE = "/var/lib/cloud/instance/livenodes-kubelet-seed"
"""A file of cloud-init's folder of this instance: a machine that is made from its image is another instance."""
_IGNITION = "3.0.0"
"""The first stable version of the specification; every later 3.x reads it."""
_WIDTH = 76


def tar(entries: t.Sequence[Entry]) -> bytes:
    """Return a compressed tar to unpack in the root folder of an image."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for entry in entries:
            member = tarfile.TarInfo(entry.path.lstrip("/"))
            member.mode = entry.mode
            if entry.link:
                member.type, member.linkname = tarfile.SYMTYPE, entry.link
            elif entry.data is None:
                member.type = tarfile.DIRTYPE
            else:
                member.size = len(entry.data)
            archive.addfile(member, io.BytesIO(entry.data or b""))
    return gzip.compress(out.getvalue(), mtime=0)


def cloud_init(entries: t.Sequence[Entry]) -> bytes:
    """Return user data for cloud-init: a module that runs early in each boot unpacks the files in the first one.

    The kubelet may be about to start. So the service of the seed, which it must wait for, is started too.
    """
    text = base64.b64encode(tar(entries)).decode()
    lines = [text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH)]
    started = f"systemctl daemon-reload && systemctl start --no-block {seed_files.SERVICE}"
    script = [
        f"if ! test -e {_DONE}; then",
        f"base64 -d <<'END' | tar -xz -C / && {started} && touch {_DONE}",
        *lines,
        "END",
        "fi",
    ]
    body = "\n".join(f"    {line}" for line in script)
    return f"#cloud-config\n# Written by livenodes.kubelet.\nbootcmd:\n  - |\n{body}\n".encode()


def ignition(entries: t.Sequence[Entry]) -> bytes:
    """Return a configuration for Ignition, which writes the files before systemd starts."""
    storage: dict[str, list[dict[str, t.Any]]] = {"directories": [], "files": [], "links": []}
    for entry in entries:
        if entry.link:
            storage["links"].append({"path": entry.path, "target": entry.link})
        elif entry.data is None:
            storage["directories"].append({"path": entry.path, "mode": entry.mode})
        else:
            packed = base64.b64encode(gzip.compress(entry.data, mtime=0)).decode()
            contents = {"compression": "gzip", "source": f"data:;base64,{packed}"}
            storage["files"].append({"path": entry.path, "mode": entry.mode, "overwrite": True, "contents": contents})
    value = {"ignition": {"version": _IGNITION}, "storage": storage}
    return (json.dumps(value, indent=2, sort_keys=True) + "\n").encode()


BY_NAME: t.Mapping[str, tuple[str, t.Callable[[t.Sequence[Entry]], bytes]]] = {
    "cloud-init": ("cloud-init.yaml", cloud_init),
    "ignition": ("ignition.json", ignition),
    "tar": ("tar.gz", tar),
}
"""The formats, each with the end of its file's name."""
