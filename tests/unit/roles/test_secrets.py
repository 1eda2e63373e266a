# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A secret of a configuration is in the files that a plan writes, and in none of the output of what reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sim.played import PlayedCluster, played_ansible

# Python runs it at each start, also in the process of a module.
WATCH = """
import os

def watched(name):
    real = getattr(os, name)
    def changed(path, *others, **named):
        real(path, *others, **named)
        path = os.fsdecode(others[0] if name == "rename" else path)
        seen = os.path.isfile(path) and os.stat(path)
        if seen and seen.st_size and path.startswith(os.environ["WATCHED"]):
            with open(os.environ["WATCHED"] + "modes", "a") as log:
                log.write(f"{os.path.basename(path)} {seen.st_mode & 0o777:o}\\n")
    setattr(os, name, changed)

for name in ("chmod", "rename"):
    watched(name)
"""
NAMES = ("n1", "n2")
LIVE, DECLARED = "live-secret", "declared-secret"
FILES = ("plan", "dump", "drift")


@pytest.mark.parametrize("playbook", ["plan", "drift"])
@pytest.mark.fault(case=45)
def test_secrets_are_not_shown(tmp_path: Path, playbook: str) -> None:
    variables = {
        "kubelet_config": {"maxPods": 80, "staticPodURLHeader": {"Authorization": [DECLARED]}},
        **{f"kubelet_config_{name}_file": str(tmp_path / f"{name}.json") for name in FILES},
    }
    with PlayedCluster(*NAMES, local=NAMES) as fleet:
        fleet.local["staticPodURLHeader"] = {"Authorization": [LIVE]}
        ansible = played_ansible(tmp_path, fleet, **variables)
        # In check mode the drift is written too.
        mode = ["--check"] if playbook == "drift" else []
        run = ansible.playbook(playbook, "--diff", "-vvv", *mode)
    assert "failed=0" in run.output and "********" in run.output, run.output
    assert [secret for secret in (LIVE, DECLARED) if secret in run.output] == [], run.output
    written = {path.stem: path.read_text() for path in tmp_path.glob("*.json")}
    assert [name for name in written if LIVE in written[name] or DECLARED in written[name]] == [
        name for name in written if name != "drift"
    ]
    assert playbook in written, run.output
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("*.json")} == {0o600}


def test_no_other_user_may_read_a_file_at_any_moment(tmp_path: Path) -> None:
    """Ansible's copy gives a new file the usual mode, and only then the one of the task. Another one exists before."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site/sitecustomize.py").write_text(WATCH)
    written = tmp_path / "written"
    written.mkdir()
    names = ("plan", "dump")
    (written / "dump.json").write_text("a file that all may read")
    variables = {f"kubelet_config_{name}_file": str(written / f"{name}.json") for name in names}
    with PlayedCluster(*NAMES) as fleet:
        run = played_ansible(tmp_path, fleet, kubelet_config={"maxPods": 80}, **variables).playbook(
            "plan", PYTHONPATH=str(tmp_path / "site"), WATCHED=f"{written}/"
        )
    assert run.code == 0, run.output
    modes = (written / "modes").read_text().splitlines()
    assert {line.partition(" ")[0] for line in modes} == {f"{name}.json" for name in names}
    assert {line.partition(" ")[2] for line in modes} == {"600"}, modes
    contents = [(written / f"{name}.json").read_text() for name in names]
    assert all("maxPods" in text for text in contents)


def test_a_folder_in_the_place_of_a_file_keeps_its_mode(tmp_path: Path) -> None:
    place = tmp_path / "plans"
    place.mkdir(mode=0o755)
    with PlayedCluster(*NAMES) as fleet:
        run = played_ansible(tmp_path, fleet, kubelet_config_dump_file=str(place)).playbook("dump")
    assert place.stat().st_mode & 0o777 == 0o755, run.output
