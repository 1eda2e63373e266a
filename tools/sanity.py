# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run `ansible-test sanity` on a copy of the checkout: all of its tests, nothing ignored.

Usage: python tools/sanity.py CACHE_FOLDER [ARGUMENT OF ansible-test sanity ...]

Needs a Python environment with ansible-core. Everything ansible-test keeps stays under CACHE_FOLDER; the user's
home is not changed.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from collection_tree import copy

# ansible-test creates environments without pip and installs pip with a script that it downloads. According to its
# documentation, the script may also be placed in its cache. This script needs no download of its own: the pip of this
# program's environment installs the version that ansible-test asks for.
BOOTSTRAP = f"""\
import subprocess
import sys

wanted = [word for word in sys.argv[1:] if word not in ("--no-setuptools", "--no-wheel")]
pip = [{sys.executable!r}, "-m", "pip", "--python", sys.executable]
subprocess.run([*pip, "install", *wanted], check=True)
"""


def write_bootstrap(home: Path) -> None:
    """Put the bootstrap script where the installed ansible-test looks for the pip version it wants.

    Raises SystemExit when that version cannot be read from ansible-test's own source.
    """
    import ansible_test  # only there in the environment of this gate

    source = Path(next(iter(ansible_test.__path__))) / "_internal" / "python_requirements.py"
    versions = re.findall(r"pip='([0-9.]+)'", source.read_text(encoding="utf-8"))
    if not versions:
        raise SystemExit(
            f"{source} no longer names a pip version: find out how ansible-test installs pip now, and adapt {__file__}"
        )
    cache = home / ".ansible" / "test" / "cache"
    cache.mkdir(parents=True, exist_ok=True)
    for version in versions:
        (cache / f"get_pip_{version.replace('.', '_')}.py").write_text(BOOTSTRAP, encoding="utf-8")


def write_pip_settings(home: Path) -> None:
    """Copy the user's pip settings and the path of the download cache; ansible-test hides PIP_* and the real home."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    listed = subprocess.run([*pip, "config", "list"], check=True, capture_output=True, text=True).stdout
    settings: dict[str, str] = {}
    for line in listed.splitlines():
        name, dummy, value = line.partition("=")
        section, dummy, key = name.rpartition(".")
        if section in ("global", ":env:"):
            settings.setdefault(key, value.strip("'"))
    settings.pop("cache-dir", None)
    cache = subprocess.run([*pip, "cache", "dir"], check=False, capture_output=True, text=True).stdout.strip()
    if cache:
        settings["cache-dir"] = cache
    lines = [f"{key} = {value}\n" for key, value in settings.items()]
    folder = home / ".config" / "pip"
    folder.mkdir(parents=True, exist_ok=True)
    # There are ten environments. Python compiles what is imported; pip would compile all. `no` switches it off.
    (folder / "pip.conf").write_text("[global]\n" + "".join(lines) + "[install]\nno-compile = no\n", encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Return the exit status of ansible-test."""
    if not arguments:
        raise SystemExit(__doc__)
    cache = Path(arguments[0]).resolve()
    home = cache / "home"
    write_bootstrap(home)
    write_pip_settings(home)
    tree = copy(cache / "tree")
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    # ansible-test looks up its interpreter by name in PATH, so this environment must come first.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
    command = ["ansible-test", "sanity", "--python", python, "--color", "no", *arguments[1:]]
    return subprocess.run(
        command, cwd=tree, check=False, env={**os.environ, "HOME": str(home), "PATH": path}
    ).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
