# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The manifests of the playbooks, and what `--check` shows of a stale table. The gate `fields` runs it on all."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import policy
from tests.support.plays.ansible import ROOT
from tests.support.plays.permissions import FOLDER, PLAYBOOKS, everything, manifest, permissions

# They send no request with the credentials of the user, or are imported by others.
OTHERS = {"batches", "require_hosts", "upgrade_check"}
# Every user who is authenticated may ask for their own permissions (the ClusterRole system:basic-user).
OF_EVERY_USER = {("authorization.k8s.io", f"selfsubject{kind}reviews") for kind in ("access", "rules")}
# A resource of an API group, in a path of the API that is written in one piece.
REQUESTED = re.compile(r"/apis/([a-z.0-9]+)/v1/(?:namespaces/[^\"\n]*/)?([a-z]+)\b")


def test_every_playbook_has_a_manifest() -> None:
    assert {path.stem for path in (ROOT / "playbooks").glob("*.yml")} == {*PLAYBOOKS} | OTHERS


def test_what_the_code_asks_of_api_groups_is_granted() -> None:
    """Also by the requests for a better message, without which a run goes on."""
    code = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "plugins/module_utils/_cluster").rglob("*.py"))
    names = [path.stem for path in FOLDER.glob("*.yaml")]
    granted = {(one.group, one.resource) for name in names for one in permissions(manifest(name))}
    asked = set(REQUESTED.findall(code)) - OF_EVERY_USER
    assert len(asked) > 2 and asked - granted == set()


def test_one_manifest_has_the_proxy() -> None:
    """It includes exec."""
    found = [path.stem for path in FOLDER.glob("*.yaml") if "nodes/proxy]" in path.read_text(encoding="utf-8")]
    assert found == ["option-read-proxy"]


def test_no_permission_is_a_wildcard() -> None:
    for path in FOLDER.glob("*.yaml"):
        assert permissions(manifest(path.stem)), path
        assert "*" not in path.read_text(encoding="utf-8"), path


def test_all_of_them_are_those_of_the_single_manifests() -> None:
    """docs/rbac.yaml grants the same as docs/rbac, but for events, the first kubelets and nodes/proxy."""
    apart = {"option-events", "option-first-kubelets", "option-read-proxy"}
    names = [path.stem for path in FOLDER.glob("*.yaml") if path.stem not in apart]
    single = {one for name in names for one in permissions(manifest(name))}
    assert {*permissions(everything())} == single


def test_the_manifest_has_the_policy_that_is_applied() -> None:
    found = [item for item in manifest("option-policy") if item["kind"].startswith("Validating")]
    assert found == [policy.POLICY, policy.BINDING]
    rules = [rule for role in manifest("follow") for rule in role.get("rules", ())]
    granted = [rule["resourceNames"] for rule in rules if rule["apiGroups"] == ["admissionregistration.k8s.io"]]
    assert granted == [[policy.NAME], [policy.NAME]]
    (verb,) = permissions(manifest("option-policy"))
    assert (verb.verb, verb.resource, verb.group) == (policy.VERB, policy.RESOURCE, policy.GROUP)


def test_a_stale_table_is_shown_as_a_difference(tmp_path: Path) -> None:
    for name in ("tools/data", "ruff.toml", "plugins/module_utils/_config/fields/field_row.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name)
    for name in ("generate_fields", "generated"):
        (tmp_path / f"tools/{name}.py").write_bytes((ROOT / f"tools/{name}.py").read_bytes())
    name = "plugins/module_utils/_config/fields/fields_table.py"
    text = (ROOT / name).read_text(encoding="utf-8")
    (tmp_path / name).write_text(text.replace("default=110", "default=111"), encoding="utf-8")
    command = [sys.executable, str(tmp_path / "tools" / "generate_fields.py")]
    done = subprocess.run([*command, "--check"], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert [line[0] for line in lines if "default=111" in line] == ["-"]
    assert [line[0] for line in lines if "default=110" in line] == ["+"]
    assert "is stale" in done.stderr
    subprocess.run(command, check=True)
    subprocess.run([*command, "--check"], check=True)
