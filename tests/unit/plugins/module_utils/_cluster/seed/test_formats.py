# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One file for each format: what cloud-init, Ignition and tar write is the same, and is written twice alike."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import subprocess
import tarfile
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.seed import formats
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import seed_files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install.seed_files import Entry, Seed

ENTRIES = seed_files.entries("/var/lib/kubelet-config", "kubelet.service", Seed(options={"data": {"kubelet": "{}"}}))


def test_a_tar_has_the_files_of_root() -> None:
    with tarfile.open(fileobj=io.BytesIO(formats.tar(ENTRIES))) as archive:
        found = []
        for member in archive:
            inner = archive.extractfile(member) if member.isfile() else None
            mode = 0o700 if member.issym() else member.mode
            assert (member.uid, member.gid) == (0, 0)
            found.append(Entry(f"/{member.name}", mode, inner.read() if inner else None, member.linkname))
    assert found == ENTRIES


def test_ignition_writes_the_same() -> None:
    value = json.loads(formats.ignition(ENTRIES))
    storage, found = value["storage"], {}
    for item in storage["files"]:
        encoded = item["contents"]["source"].partition("data:;base64,")[2]
        found[item["path"]] = Entry(item["path"], item["mode"], gzip.decompress(base64.b64decode(encoded)))
    for item in storage["directories"]:
        found[item["path"]] = Entry(item["path"], item["mode"])
    for item in storage["links"]:
        found[item["path"]] = Entry(item["path"], link=item["target"])
    assert found == {entry.path: entry for entry in ENTRIES} and value["ignition"]["version"] == "3.0.0"


def test_cloud_init_unpacks_the_same_once_and_starts_the_service(tmp_path: Path) -> None:
    """The command runs here as a script, with stand-ins for tar, for systemctl and for the folder of cloud-init."""
    text = formats.cloud_init(ENTRIES).decode()
    assert text.startswith("#cloud-config\n")
    (command,) = yaml.safe_load(text)["bootcmd"]
    (tmp_path / "script").write_text(command.replace("/var/lib/cloud/instance", str(tmp_path)))
    (tmp_path / "bin").mkdir()
    for name, does in {"tar": f"cat > {tmp_path}/tar", "systemctl": f'echo "$*" >> {tmp_path}/asked'}.items():
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    for _boot in range(2):
        subprocess.run(["sh", tmp_path / "script"], check=True, env=environment)
    assert (tmp_path / "tar").read_bytes() == formats.tar(ENTRIES)
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["daemon-reload", "start --no-block livenodes-kubelet-seed.service"]


@pytest.mark.parametrize("name", formats.BY_NAME)
def test_equal_seeds_are_equal_files(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write: t.Callable[[t.Sequence[Entry]], bytes] = formats.BY_NAME[name][1]
    before = write(ENTRIES)
    monkeypatch.setattr("time.time", lambda: 1.0)
    assert write(ENTRIES) == before
