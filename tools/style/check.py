# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check the prose of the repository with textlint: the glossary's words, long sentences, passive chains.

Usage: python tools/style/check.py NODE_MODULES [FILE ...]      without files: all prose that git tracks

NODE_MODULES is where npm installed tools/style/package.json; `node` must be in PATH. Prints `FILE:LINE: MESSAGE` for
each finding. Exit status: 0 without findings, 1 with findings.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import glossary
import prose

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROSE = [
    "*.md",
    "*.rst",
    "plugins/**.py",
    "plugins/**.yml",
    "roles/**.yml",
    "playbooks/**.yml",
    "changelogs/fragments/*",
    "galaxy.yml",
    "tools/data/faults*.yaml",
]
# The glossary contains the words on purpose.
EXCLUDED = {"docs/docsite/rst/glossary.rst"}


def tracked() -> list[str]:
    """Return the files with prose that git tracks."""
    listed = subprocess.run(["git", "ls-files", "--", *PROSE], cwd=ROOT, check=True, text=True, stdout=subprocess.PIPE)
    return [name for name in listed.stdout.splitlines() if name not in EXCLUDED and (ROOT / name).is_file()]


def settings() -> dict[str, object]:
    """Return textlint's configuration: that of the file, with the words of the glossary."""
    found = json.loads((HERE / "textlint.json").read_text(encoding="utf-8"))
    found["rules"]["@textlint-rule/pattern"] = {
        "patterns": [
            {"pattern": f"/{word.pattern}/i", "message": f"'{word.left}': use {word.right} (see the glossary)"}
            for word in glossary.words()
        ]
    }
    return dict(found)


def findings(modules: Path, names: list[str]) -> list[str]:
    """Return what textlint finds in these files, sorted. Raises CalledProcessError when textlint itself fails."""
    texts = {}
    for name in names:
        found = prose.of_file(ROOT / name, ROOT)
        if found:
            texts[name] = found
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "node_modules").symlink_to(modules)
        (place / "settings.json").write_text(json.dumps(settings()), encoding="utf-8")
        sources = {}
        for number, (name, found) in enumerate(texts.items()):
            source = place / f"{number}.txt"
            source.write_text("\n\n".join(one.text for one in found), encoding="utf-8")
            sources[str(source)] = name
        done = subprocess.run(
            [
                "node",
                "node_modules/textlint/bin/textlint.js",
                "--config",
                "settings.json",
                "--format",
                "json",
                *sources,
            ],
            cwd=place,
            check=False,
            text=True,
            stdout=subprocess.PIPE,
        )
        if done.returncode not in (0, 1):
            raise subprocess.CalledProcessError(done.returncode, done.args, done.stdout)
        reports = json.loads(done.stdout)
    lines = set()
    for report in reports:
        name = sources[report["filePath"]]
        for message in report["messages"]:
            # Paragraphs stand on every other line.
            paragraph = texts[name][message["line"] // 2]
            lines.add((name, paragraph.line(message["column"] - 1), message["message"].strip()))
    return [f"{name}:{line}: {message}" for name, line, message in sorted(lines)]


def main() -> int:
    """Check the files that the command line names, or all."""
    modules, *names = sys.argv[1:]
    found = findings(Path(modules).resolve(), names or tracked())
    print("\n".join([*found, f"{len(found)} findings"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
