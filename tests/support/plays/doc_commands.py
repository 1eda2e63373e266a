# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands that the documentation shows, and the reasons why a few of them are not run on the lab."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX

ROOT = Path(__file__).resolve().parents[3]

SHELLS = {"shell", "bash", "sh", "console"}
# A comment after a command.
COMMENT = re.compile(r"\s{2,}# .*$")

BY_HAND = "tests/unit/roles/test_by_hand.py on a simulated cluster, tests/e2e_modern/test_by_hand.py on a lab"

NOT_TRIED = {
    **dict.fromkeys(
        (
            "ansible-playbook -i inventory by-hand.yml --check",
            "ansible-playbook -i inventory by-hand.yml --limit n1",
            "ansible-playbook -i inventory by-hand.yml",
            "ansible-playbook modules.yml",
        ),
        BY_HAND,
    ),
    "ansible-rulebook --rulebook livenodes.kubelet.pause_on_revert --inventory inventory --vars vars.yml": (
        "needs ansible-rulebook: tests/awx/test_rulebooks.py"
    ),
    "ansible-playbook -i inventory livenodes.kubelet.prune -e kubelet_config_prune_access_only=true": (
        "needs a kubelet before 1.11: tests/unit/roles/legacy/test_rollouts.py"
    ),
    "ansible-playbook -i inventory livenodes.kubelet.migrate -e kubelet_config_hosts=workers "
    "-e kubelet_config_delivery=dropin": "needs a kubelet from 1.30 on: tests/e2e_modern/test_one_node.py",
    "kubectl apply -f docs/rbac/plan.yaml": "tests/e2e/test_rbac.py applies every manifest of docs/rbac",
    "kubectl apply -f docs/rbac/rollout.yaml": "tests/e2e/test_rbac.py applies every manifest of docs/rbac",
    "make demo": "tests/sim_nodes/test_demo.py",
    "make demo LAB=real": "runs a lab of its own; tests/e2e/test_demo.py",
    "make test": "runs every gate, this one among them",
    "pip install ansible-core -r meta/ee-requirements.txt": "how tools/environments.py makes every environment",
    "ansible-galaxy collection build": "the gate galaxy",
    "ansible-galaxy collection install livenodes-kubelet-1.0.0.tar.gz": "the gate galaxy runs Galaxy's importer on it",
    "ansible-playbook playbooks/awx/configure.yml -e @settings.yml": "the gate awx compares it with awx.awx's options",
    "export CONTROLLER_HOST=https://awx.example.org CONTROLLER_OAUTH_TOKEN=...": "there is no AWX here",
    "ansible-playbook -i inventory livenodes.kubelet.upgrade_check -e kubelet_config_hosts=workers"
    " -e kubelet_config_target_version=1.36": "tests/e2e_modern/test_upgrades.py",
    "ansible-playbook -i inventory livenodes.kubelet.upgrade_check -e kubelet_config_hosts=workers"
    " -e kubelet_config_target_version=1.36 -e kubelet_config_target_binary=/opt/kubelet-next": (
        "tests/e2e_modern/test_upgrades.py"
    ),
    "ansible-playbook -i inventory livenodes.kubelet.comply -e kubelet_config_hosts=workers"
    " -e kubelet_config_compliance_dir=evidence": "tests/e2e_node/test_comply.py",
    'ansible workers -i inventory -m ansible.builtin.copy -a "src=v1.36.2/kubelet dest=/opt/kubelet-next mode=0755"': (
        "tests/e2e_modern/test_upgrades.py copies that file to that place without ssh"
    ),
    "ansible-playbook -i inventory livenodes.kubelet.follow -e kubelet_config_hosts=workers"
    " -e kubelet_config_follow=protected": "tests/e2e_modern/test_policy.py",
    "kubectl apply -f docs/rbac/option-policy.yaml": "tests/e2e_modern/test_policy.py",
    f'kubectl annotate --overwrite node n1 {PREFIX}follow=\'{{"trial": "NAME"}}\'': (
        "needs a follower; tests/sim_nodes/test_demo.py confirms so"
    ),
    "ansible-playbook -i inventory livenodes.kubelet.seed -e kubelet_config_hosts=workers"
    " -e kubelet_config_seed_dest=seeds/workers": "tests/e2e_node/test_seed.py boots a node with what it writes",
    f'kubectl annotate --overwrite node n1 {PREFIX}source="$(cat source.json)"': "tests/contract/test_followers.py",
    "export ANSIBLE_CALLBACKS_ENABLED=livenodes.kubelet.rollout": "tests/unit/plugins/callback plays rollouts with it",
    "export LIVENODES_KUBELET_REPORT_HTML=report.html LIVENODES_KUBELET_REPORT_JSON=report.json": (
        "tests/unit/plugins/callback runs rollouts with them"
    ),
}
"""Command -> the test that covers it instead, or the reason why there is none."""


def documents() -> list[Path]:
    """Return the paths of the README and of the guides."""
    return [ROOT / "README.md", *sorted((ROOT / "docs/docsite/rst").glob("*.rst"))]


def commands() -> dict[str, str]:
    """Return every command of the documentation, in page order, with the name of the first page that shows it.

    Commands for root on a node begin with `# `.
    """
    found: dict[str, str] = {}
    for document in documents():
        for kind, block in blocks(document):
            for command in lines(kind, block):
                found.setdefault(command, document.name)
    return found


def blocks(document: Path) -> t.Iterator[tuple[str, list[str]]]:
    """Yield the shell code blocks of a document: the language and the lines."""
    text = document.read_text(encoding="utf-8")
    if document.suffix == ".md":
        for kind, body in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
            if kind in SHELLS:
                yield kind, body.splitlines()
        return
    for match in re.finditer(r"^( *)\.\. code-block:: (\w+)\n\n((?:\1 +[^\n]*\n|\n)+)", text, re.MULTILINE):
        if match.group(2) in SHELLS:
            yield match.group(2), match.group(3).splitlines()


def lines(kind: str, block: list[str]) -> t.Iterator[str]:
    """Yield the commands of a block, each on one line, without comments. Other lines of a console block are output."""
    text = re.sub(r" *\\\n\s*", " ", "\n".join(line.strip() for line in block))
    for line in text.splitlines():
        if kind == "console" and not line.startswith(("$ ", "# ")):
            continue
        command = COMMENT.sub("", line.removeprefix("$ "))
        if command and (kind == "console" or not command.startswith("#")):
            yield re.sub(r" {2,}", " ", command)


def alike(command: str) -> str:
    """Return a command as the test types it: README and guides use different group names."""
    return command.replace("kubelet_config_hosts=batch", "kubelet_config_hosts=workers")
