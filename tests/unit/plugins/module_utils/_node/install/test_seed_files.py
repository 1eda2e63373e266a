# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a seed, and that its program runs from where a machine gets it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_install, seed_files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install.seed_files import Seed

SEED = Seed(options={"source": {"name": "a"}, "data": {"kubelet": "{}"}}, follow={"effect": "drain"})


def test_the_program_of_a_seed_knows_its_store_and_is_the_program_that_it_installs(tmp_path: Path) -> None:
    found = {entry.path: entry for entry in seed_files.entries(str(tmp_path), "kubelet.service", SEED)}
    program = tmp_path / "seed/program.zip"
    program.parent.mkdir()
    program.write_bytes(found[str(program)].data or b"")
    usage = subprocess.run([sys.executable, "-I", "-B", program, "-"], capture_output=True, text=True, check=False)
    assert usage.returncode == 2 and f"usage: {tmp_path}/seed prestart" in usage.stderr
    ask = f"""import sys
sys.path.insert(0, {str(program)!r})
from {guard_install.PACKAGE}._node.install import guard_install
print(guard_install.place(guard_install.program()))"""
    done = subprocess.run([sys.executable, "-I", "-B", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == guard_install.place(guard_install.program())


def test_the_service_is_ordered_before_the_kubelet_and_wanted_by_it() -> None:
    found = {entry.path: entry for entry in seed_files.entries("/x", "k3s.service", SEED)}
    service = (found[seed_files.SERVICE_PATH].data or b"").decode()
    assert "\nBefore=k3s.service\n" in service and "\nConditionPathExists=/x/seed/seed.json\n" in service
    link = found[f"/etc/systemd/system/k3s.service.wants/{seed_files.SERVICE}"]
    assert link.link == seed_files.SERVICE_PATH


def test_a_unit_without_an_ending_and_a_folder_with_a_slash_are_what_they_are_elsewhere() -> None:
    """systemd ignores `kubelet.wants` and `Before=kubelet`, and Ignition refuses a path with a slash at its end."""
    assert seed_files.entries("/x/", "kubelet", SEED) == seed_files.entries("/x", "kubelet.service", SEED)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("{", "Expecting"), ("[]", "not a record"), ('{"format": 2}', "known format"), ('{"options": 1}', "options has")],
)
def test_what_is_no_seed(tmp_path: Path, text: str, wrong: str) -> None:
    for entry in seed_files.entries(str(tmp_path), "kubelet.service", SEED, with_program=False):
        if entry.data is None:
            Path(entry.path).mkdir(exist_ok=True)
        else:
            Path(entry.path).write_bytes(entry.data)
    assert seed_files.read(str(tmp_path)) == SEED
    Path(seed_files.content(str(tmp_path))).write_text(text)
    with pytest.raises(ValueError, match=wrong):
        seed_files.read(str(tmp_path))
