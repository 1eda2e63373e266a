# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What those gates do that are more than one or two commands. Each ends its session with an error."""

from __future__ import annotations

import re
import shutil
import typing as t
from pathlib import Path

from tools.collection_tree import NAME, ROOT, copy, link
from tools.environments import CACHE, Tools, newest
from tools.gates.gate import is_long

if t.TYPE_CHECKING:
    import nox

BUILD = ROOT / "build"
REMOTE = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"?(?:https?:)?//[^>]*>")


def docs(session: nox.Session) -> None:
    """Documentation: docs site configuration, guides, plugins, roles, every reference; ansible-doc shows each public
    name.
    """
    tools = newest(session)
    lint = "antsibull-docs lint-collection-docs --plugin-docs --disallow-unknown-collection-refs"
    tools.run(f"{lint} --validate-collection-refs self .")
    for kind, names in public_names().items():
        words = sorted(f"{NAME}.{name}" for name in names)
        shown = tools.run(f"ansible-doc --type {kind}", *words, silent=True)
        missing = sorted(name for name in names if not re.search(rf"\b{NAME}\.{name}\b", shown))
        if missing:
            session.error(f"ansible-doc --type {kind} does not show {', '.join(missing)}")


def public_names() -> dict[str, set[str]]:
    """Return the public names of the collection by kind, as `ansible-doc --type` has them."""
    found: dict[str, set[str]] = {
        "module": _stems("plugins/modules/*.py"),
        "inventory": _stems("plugins/inventory/*.py"),
        "callback": _stems("plugins/callback/*.py"),
        "filter": _stems("plugins/filter/*.yml"),
        "role": {path.parts[-3] for path in ROOT.glob("roles/*/meta/argument_specs.yml")},
    }
    # Only filters without a documentation file of their own lie in a file of their name.
    for path in ROOT.glob("plugins/filter/*.py"):
        if "DOCUMENTATION" in path.read_text(encoding="utf-8"):
            found["filter"].add(path.stem)
    return found


def _stems(pattern: str) -> set[str]:
    return {path.stem for path in ROOT.glob(pattern)} - {"__init__"}


def galaxy(session: nox.Session) -> None:
    """The artifact builds, Galaxy's own importer accepts it without error or warning, and it can be installed."""
    tools = Tools(session, "galaxy", ["-r", "tools/requirements/galaxy.txt"])
    for old in BUILD.glob("*.tar.gz"):
        old.unlink()
    tree = str(copy(CACHE / "artifact"))
    tools.run("ansible-galaxy collection build --output-path", str(BUILD), tree, alone=True)
    artifact = str(next(BUILD.glob("*.tar.gz")))
    # The importer writes importer_result.json where it runs.
    with session.chdir(BUILD):
        report = tools.run("python -m galaxy_importer.main", artifact, silent=True, alone=True)
    print(report)
    complaints = re.findall(r"^(?:WARNING|ERROR|CRITICAL).*$", report, re.MULTILINE)
    if complaints:
        session.error("galaxy-importer complains:\n" + "\n".join(complaints))
    place = CACHE / "installed"
    shutil.rmtree(place, ignore_errors=True)
    target = str(place / "collections")
    tools.run("ansible-galaxy collection install", artifact, "--collections-path", target, alone=True)
    tools.run("ansible-doc --playbook-dir", str(place), f"{NAME}.node_config_source", silent=True, alone=True)


def site(session: nox.Session) -> None:
    """The documentation site builds into build/site: no warning, nothing fetched while it is made or read."""
    tools = Tools(session, "site", ["-r", "tools/requirements/site.txt"])
    source, target = CACHE / "site", BUILD / "site"
    for old in (source, target):
        shutil.rmtree(old, ignore_errors=True)
    # antsibull-docs refuses a folder that others may write to.
    source.mkdir(mode=0o755, parents=True)
    pages = "antsibull-docs --config-file tools/site/antsibull-docs.cfg collection --cleanup everything"
    tools.run(f"{pages} --fail-on-error --use-current --squash-hierarchy --dest-dir", str(source), NAME)
    # antsibull-docs copies the pages only.
    shutil.copytree(ROOT / "docs/docsite/rst/images", source / "docsite/images")
    newest(session).run("python -m tools.site.evidence", str(source / "docsite"))
    strict = "--fail-on-warning --keep-going"
    tools.run(f"sphinx-build --quiet --builder html --conf-dir tools/site {strict}", str(source), str(target))
    remote: set[str] = set()
    for page in target.rglob("*.html"):
        remote.update(REMOTE.findall(page.read_text(encoding="utf-8")))
    if remote:
        session.error("pages would fetch from elsewhere: " + "; ".join(sorted(remote)))
    print(f"{target}/index.html")


def builder(session: nox.Session) -> None:
    """ansible-builder makes the context of an execution environment from docs/, and finds what the collection needs."""
    tools = Tools(session, "builder", ["-r", "tools/requirements/builder.txt"])
    context = CACHE / "builder"
    shutil.rmtree(context, ignore_errors=True)
    tools.run("ansible-builder create --file docs/execution-environment.yml --context", str(context))
    if NAME not in (context / "_build/requirements.yml").read_text(encoding="utf-8"):
        session.error(f"the context does not install {NAME}")
    listed = context / "found.txt"
    tools.run("ansible-builder introspect", str(link(CACHE / "link")), "--write-pip", str(listed))
    # ansible-builder leaves PyYAML to ansible-core, which needs it too.
    found, wanted = requirements(listed), requirements(ROOT / "meta/ee-requirements.txt") - {"PyYAML"}
    if found != wanted:
        session.error(f"meta/ee-requirements.txt has {sorted(wanted)}, ansible-builder finds {sorted(found)}")


def requirements(path: Path) -> set[str]:
    """Return the requirements of a file, without comments."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {line.partition("#")[0].strip() for line in lines} - {""}


def benchmarks(session: nox.Session) -> None:
    """Speed and memory: an assignment beside a bare loop of the same requests, a switch on a node beside a bare
    restart, the controller's share of a rollout to simulated nodes. Long: 1,000 nodes, a rollout to 5,000, followers
    after an outage of the API server.
    """
    tools = newest(session)
    runs = ["bench_assign --nodes 300", "bench_node", "bench_rollout --nodes 100"]
    long = is_long()
    if long:
        more = ["bench_rollout --nodes 1000", "bench_rollout --nodes 5000", "bench_reconnect"]
        runs = ["bench_assign --nodes 1000", *runs[1:], *more]
    for run in runs:
        name, *options = run.split()
        tools.run("python -m", f"tests.benchmarks.{name}", *(session.posargs or options))
    # Only whether the measurement of `make scale` works: it has no limit for so few nodes.
    if long and not session.posargs:
        tools.run("python -m tests.benchmarks.scale --nodes 10 --variants all --playbooks plan rollout --followers")
