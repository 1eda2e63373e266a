# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The real cloud-init and Ignition of Debian, which bring a seed to the disk of a machine that is switched off, or to
an empty folder. Nothing of them is installed on this machine.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.lab import build
from tests.lab.build import Cache
from tests.lab.console import run

IGNITION = "lib/dracut/modules.d/30ignition/ignition"
USER_DATA = "var/lib/cloud/seed/nocloud/user-data"
# Only the module that runs what a seed asks for. The others change users, keys, disks and the network of a machine.
SETTINGS = """datasource_list: [NoCloud]
network: {config: disabled}
cloud_init_modules: [bootcmd]
"""
# Ignition always labels what it has written, with the policy that this file names and a program of SELinux.
SELINUX = "SELINUX=disabled\nSELINUXTYPE=targeted\n"
LABELER = "setfiles"
# What cloud-init and Ignition write for themselves.
OF_PROVISIONERS = ("etc/cloud", "etc/selinux", "etc/.ignition-result.json", "run", "tmp", "var/lib/cloud", "var/log")


def ignite(cache: Cache, disk: Path, config: Path) -> None:
    """Let Ignition write its configuration on a disk, as it does before the disk boots for the first time.

    Raises LabError with what is wrong with the configuration.
    """
    programs = build.provisioners(cache) / "usr"
    run(programs / "bin/ignition-validate", config)
    (disk / "etc/selinux").mkdir(parents=True, exist_ok=True)
    (disk / "etc/selinux/config").write_text(SELINUX)
    place = config.with_suffix(".run")
    place.mkdir()
    # The disk has no labels, so the program does nothing.
    (place / LABELER).symlink_to("/bin/true")
    words = [f"--root={disk}", "--platform=file", f"--config-cache={place}/config", "--log-to-stdout"]
    environment = {"IGNITION_CONFIG_FILE": str(config), "PATH": f"{place}:{os.environ['PATH']}"}
    for stage in ("fetch", "files"):
        run(programs / IGNITION, *words, f"--stage={stage}", env=environment)


def install_cloud_init(cache: Cache, disk: Path, user_data: Path) -> None:
    """Write cloud-init and user data to a disk; its generator and its services are then part of each boot."""
    run("cp", "--archive", f"{build.provisioners(cache)}/.", disk)
    _give(disk, user_data)


def _give(disk: Path, user_data: Path) -> None:
    """Write user data to where cloud-init finds it without a provider."""
    place = disk / USER_DATA
    place.parent.mkdir(parents=True)
    place.with_name("meta-data").write_text("instance-id: first\n")
    place.write_bytes(user_data.read_bytes())
    settings = disk / "etc/cloud/cloud.cfg.d/99-lab.cfg"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text(SETTINGS)


def run_cloud_init(cache: Cache, work: Path, user_data: Path) -> Path:
    """Run both stages of a first boot in a root folder without systemd; return the folder with what they wrote.

    Raises LabError with what is wrong with the user data.
    """
    lower = f"{build.provisioners(cache)}:{cache.tree}"
    disk, scratch, root = work / "disk", work / "scratch", work / "root"
    for folder in (disk, scratch, root):
        folder.mkdir(parents=True)
    _give(disk, user_data)
    steps = [
        f"mount -t overlay seed -o lowerdir={lower},upperdir={disk},workdir={scratch} {root}",
        f"mount -t proc proc {root}/proc",
        f"chroot {root} cloud-init schema --config-file /{USER_DATA}",
        f"chroot {root} cloud-init init --local",
        f"chroot {root} cloud-init init",
    ]
    # All mounts end with the command.
    apart = ["unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "sh", "-ec"]
    run(*apart, "\n".join(steps), env={"PYTHONDONTWRITEBYTECODE": "1"})
    return disk


def written(disk: Path) -> dict[str, tuple[str, int, int, bytes]]:
    """Return mode, owner, group and content of all that is on a disk, without what only the provisioners need."""
    found = {}
    for path in sorted(disk.rglob("*")):
        name, about = str(path.relative_to(disk)), path.lstat()
        if name.startswith(OF_PROVISIONERS):
            continue
        content = b""
        if path.is_symlink():
            content = os.readlink(path).encode()
        elif path.is_file():
            content = path.read_bytes()
        found[name] = (f"{about.st_mode:o}", about.st_uid, about.st_gid, content)
    return found
