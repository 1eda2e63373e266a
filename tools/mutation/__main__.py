# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change the code in small ways and see whether the unit tests notice.

    python -m tools.mutation [--every K] [--jobs N] [--minutes M] [--fresh] [--write] [PART...]

A part is a folder below plugins/module_utils, such as `_node/store` or `_config/values`; `_config` stands for all of
its folders, and a file for the mutants of that file. The tests of a part are those of the folder of the same name below
tests/unit/plugins/module_utils. `--every` tries only every K-th mutant of a file, `--minutes` stops in each part after
that time, with the mutants of the slowest tests left. Results are kept: a mutant that a test noticed is not tried again
before its function changes, unless with `--fresh`. `--write` also writes the figures of the documentation.

The code runs in a copy below .nox, whose path equals the name of the collection's modules.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import typing as t
from pathlib import Path

from tools.collection_tree import INSIDE, ROOT, copy
from tools.mutation import figures, parts

WORK = ROOT / ".nox" / ".cache" / "mutation"
REPORTS = ROOT / ".nox" / "reports"
SETTINGS = """[mutmut]
source_paths = {inside}/plugins
only_mutate = {inside}/plugins/module_utils/{part}/*.py
do_not_mutate = *_table.py
also_copy = {inside}
pytest_add_cli_args =
  --hypothesis-profile=few
  --hypothesis-seed=1
  -pno:cacheprovider
pytest_add_cli_args_test_selection = {inside}/tests/unit/plugins/module_utils/{part}
timeout_multiplier = 3
timeout_constant = 4
track_dependencies = 0
use_git_change_detection = 0
use_setproctitle = 0
"""


def prepare(part: str, fresh: bool) -> Path:
    """Return the folder in which mutmut runs for one part: its settings, and a link to the copy of the checkout."""
    folder = WORK / part.replace("/", ".")
    if fresh:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "setup.cfg").write_text(SETTINGS.format(inside=INSIDE.as_posix(), part=part), encoding="utf-8")
    link = folder / INSIDE.parts[0]
    if not link.is_symlink():
        link.symlink_to(WORK / "tree" / INSIDE.parts[0], target_is_directory=True)
    # Which test runs which function: the tests may have changed since.
    (folder / "mutants" / "mutmut-stats.json").unlink(missing_ok=True)
    return folder


def run(part: str, file: str, options: argparse.Namespace) -> dict[str, t.Any]:
    """Try the mutants of one part, or of one file of it; return the figures of the part.

    Raises CalledProcessError where mutmut cannot run.
    """
    folder, temporary = prepare(part, options.fresh), WORK / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    result = folder / "result.json"
    numbers = map(str, (options.every, options.jobs, options.minutes))
    worker = [sys.executable, str(Path(__file__).parent / "worker.py"), *numbers]
    start = time.monotonic()
    # mutmut keeps names of tests in sets. hypothesis prepares its tables once.
    ours = {"PYTHONHASHSEED": "0", "TMPDIR": str(temporary), "HYPOTHESIS_STORAGE_DIRECTORY": str(WORK / "hypothesis")}
    environment = {**os.environ, **ours}
    subprocess.run([*worker, str(result), file], cwd=folder, env=environment, check=True)
    seconds = time.monotonic() - start
    shutil.rmtree(temporary, ignore_errors=True)
    return figures.summary(json.loads(result.read_text(encoding="utf-8")), options.every, seconds)


def main() -> int:
    """Run the parts that are asked for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.mutation", description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="try every K-th mutant of a file")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="mutants at a time")
    parser.add_argument("--minutes", type=int, default=0, help="for each part, after its tests ran once")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--write", action="store_true", help="write the figures of the documentation")
    parser.add_argument("parts", nargs="*", help="such as _node/store; all where none is named")
    options = parser.parse_args()
    wanted = parts.chosen(options.parts)
    copy(WORK / "tree")
    report = REPORTS / "mutation.json"
    for part, file in wanted:
        print(f"{file or part}: one in {options.every} mutants of each file", flush=True)
        row = run(part, file, options)
        REPORTS.mkdir(parents=True, exist_ok=True)
        for path in (report, figures.FIGURES) if options.write else (report,):
            figures.keep(path, part, row)
        print(figures.line(part, row), flush=True)
    unexplained = figures.unexplained(figures.read(report), figures.argued())
    (REPORTS / "mutation.txt").write_text("".join(f"{one}\n" for one in unexplained), encoding="utf-8")
    print(f"{report.relative_to(ROOT)}, {len(unexplained)} survivors without a reason in {REPORTS.name}/mutation.txt")
    return 0


if __name__ == "__main__":
    sys.exit(main())
