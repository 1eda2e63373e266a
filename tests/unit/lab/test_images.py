# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The image of the lab's pods: the parts of the archive match."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile

from tests.lab import images


def test_manifest_config_and_layer_match() -> None:
    with tarfile.open(fileobj=io.BytesIO(images.archive(b"program"))) as pack:
        parts = {name: pack.extractfile(name) for name in pack.getnames()}
        content = {name: stream.read() for name, stream in parts.items() if stream}
    (manifest,) = json.loads(content["manifest.json"])
    assert manifest["RepoTags"] == [images.IMAGE]
    config, layer = json.loads(content[manifest["Config"]]), content[manifest["Layers"][0]]
    assert config["rootfs"]["diff_ids"] == [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    with tarfile.open(fileobj=io.BytesIO(layer)) as files:
        program = files.getmember("bin/busybox")
        assert (program.size, program.mode & 0o111) == (7, 0o111)
        assert config["config"]["Cmd"][0] == "/bin/sh" and files.getmember("bin/sh").linkname == "busybox"


def test_archive_is_reproducible() -> None:
    assert images.archive(b"program") == images.archive(b"program")
