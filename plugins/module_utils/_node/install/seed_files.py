# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a seed: what a new machine needs before the first start of its kubelet. They remove themselves.

::

    <config_dir>/seed/program.zip    the guard's program, which is installed from here
    <config_dir>/seed/seed.json      the configuration, and how it is assigned
    /etc/systemd/system/livenodes-kubelet-seed.service, wanted by the kubelet's unit
"""

from __future__ import annotations

import contextlib
import os
from typing import Any, Mapping, NamedTuple

from ..records import json_file
from ..system import files
from ..system.command import Run
from ..unit.unit import Unit
from . import guard_install

SERVICE = "livenodes-kubelet-seed.service"
SERVICE_PATH = f"/etc/systemd/system/{SERVICE}"
FORMAT = 1
"""The version of seed.json: the program may be older, in the image of the machine."""
_SECONDS = 180
"""After so many seconds, the kubelet starts without an answer of the seed."""
_MAIN = f"""import os
import sys

from {guard_install.PACKAGE}._node.guard.guard_main import main

sys.exit(main(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), sys.argv[1:]))
""".encode()


class Entry(NamedTuple):
    """A file with `data`, a link to `link`, or a folder."""

    path: str
    mode: int = 0o700
    data: bytes | None = None
    link: str = ""


class Seed(NamedTuple):
    """What seed.json holds.

    `options`: those of kubelet_checkpoint that differ from values.defaults, with the source and the data. `follow`: the
    namespace and the effect of a follower to install, empty for none.
    """

    format: int = FORMAT
    options: Mapping[str, Any] = {}
    follow: Mapping[str, Any] = {}


def folder(config_dir: str) -> str:
    """Return the folder of the seed beside a store."""
    return os.path.join(config_dir, "seed")


def content(config_dir: str) -> str:
    """Return the path of what differs between the seeds of two groups."""
    return os.path.join(folder(config_dir), "seed.json")


def entries(config_dir: str, unit: str, seed: Seed, with_program: bool = True) -> list[Entry]:
    """Return the files of a seed; without the program, only what is not the same for each group."""
    config_dir, unit = files.plain(config_dir), Unit(unit).name
    place = folder(config_dir)
    found = [Entry(config_dir), Entry(place), Entry(content(config_dir), 0o600, json_file.encode(seed._asdict()))]
    if with_program:
        program = guard_install.packed({**guard_install.program(), "__main__.py": _MAIN})
        found += [
            Entry(_program(config_dir), 0o600, program),
            Entry(SERVICE_PATH, 0o644, _service_text(config_dir, unit).encode()),
            Entry(_wanted_by(unit), link=SERVICE_PATH),
        ]
    return found


def _program(config_dir: str) -> str:
    return os.path.join(folder(config_dir), "program.zip")


def _wanted_by(unit: str) -> str:
    return f"/etc/systemd/system/{unit}.wants/{SERVICE}"


def _service_text(config_dir: str, unit: str) -> str:
    """Return the text of the service. The kubelet waits for its end, and starts whatever that is.

    A configuration may name the socket of the container runtime, which must be there by then.
    """
    python = " || ".join(f"command -v {name}" for name in guard_install.STABLE_NAMES)
    return f"""# Written by livenodes.kubelet. Assigns the first configuration of this machine, then removes itself.
[Unit]
Description=First configuration of the kubelet
Before={unit}
After=containerd.service crio.service cri-docker.service docker.service
ConditionPathExists={content(config_dir)}
RequiresMountsFor={config_dir}

[Service]
Type=oneshot
ExecStart=/bin/sh -c 'exec "$$({python})" -I -B {_program(config_dir)} seed'
TimeoutStartSec={_SECONDS}
"""


def read(config_dir: str) -> Seed:
    """Return the seed of a machine. Raises ValueError for one that is damaged or of another version, FileError."""
    try:
        return json_file.fields(json_file.load(content(config_dir)), Seed())
    except TypeError as error:
        raise ValueError(str(error)) from None


def remove(config_dir: str, unit: str, run: Run) -> None:
    """Remove the files of a seed, first what lets it begin again. Raises FileError."""
    files.remove(content(config_dir))
    for path in (_wanted_by(unit), SERVICE_PATH):
        with contextlib.suppress(FileNotFoundError):
            files.remove(path)
    with contextlib.suppress(OSError):
        os.rmdir(os.path.dirname(_wanted_by(unit)))
    files.remove_folder(folder(config_dir))
    run(["systemctl", "daemon-reload"])
