# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Write AWX's survey specs in playbooks/awx/surveys, and the pattern in extensions/patterns, from the argument specs of
the roles.

The argument specs hold each variable's type, choices, default and meaning.

Usage: python tools/generate_surveys.py [--check]

`--check` writes nothing, prints the differences and exits 1 when a file is stale.
"""

from __future__ import annotations

import json
import sys
import typing as t

import yaml
from collection_tree import ROOT, link
from generated import settle

sys.path.insert(0, str(link(ROOT / ".nox/.cache/link")))

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.specs import MINIMUM  # found after that line

SURVEYS = ROOT / "playbooks/awx/surveys"
PATTERN = ROOT / "extensions/patterns/kubelet_rollout/meta/pattern.json"
NUMBER_LIMIT = 86400
TEXT_LIMIT = 1024

# Variable: question, and the role and entry point of its argument spec.
QUESTIONS = {
    "kubelet_config_hosts": ("Node group", "rollout", "prepare"),
    "kubelet_config_allow_effect": ("Strongest effect allowed", "edit", "main"),
    "kubelet_config_allow_invalid": ("Assign what a kubelet refuses", "edit", "main"),
    "kubelet_config_kubeadm": ("kubeadm's ConfigMap", "push", "kubeadm"),
    "kubelet_config_variant": ("ConfigMap to roll back to", "rollout", "rollback"),
    "kubelet_config_rollout_id": ("Rollout to undo", "rollout", "prepare"),
    "kubelet_config_serial": ("Batches", "rollout", "prepare"),
    "kubelet_config_max_unavailable": ("Nodes unavailable at once", "rollout", "prepare"),
    "kubelet_config_max_failed": ("Nodes that may fail", "rollout", "prepare"),
    "kubelet_config_control_plane": ("Control plane", "rollout", "prepare"),
    "kubelet_config_unready_first": ("Include nodes that are not Ready", "rollout", "prepare"),
    "kubelet_config_soak_seconds": ("Soak, seconds", "rollout", "prepare"),
    "kubelet_config_allow_pod_loss": ("Pods a node may lose", "rollout", "batch"),
    "kubelet_config_drain": ("Drain", "rollout", "prepare"),
    "kubelet_config_drain_timeout": ("Drain timeout, seconds", "rollout", "batch"),
    "kubelet_config_drain_emptydir": ("Evict pods with emptyDir volumes", "rollout", "batch"),
    "kubelet_config_drain_force": ("Evict pods without a controller", "rollout", "batch"),
    "kubelet_config_wait_timeout": ("Batch timeout, seconds", "rollout", "batch"),
    "kubelet_config_pause": ("Stop after the first batch", "rollout", "batch"),
    "kubelet_config_window_minutes": ("Window, minutes", "rollout", "batch"),
    "kubelet_config_lease_seconds": ("Lease, seconds", "rollout", "prepare"),
    "kubelet_config_drift": ("On drift", "drift", "main"),
    "kubelet_config_drift_hosts": ("Read files on the nodes", "drift", "main"),
    "kubelet_config_target_version": ("Version of the upgrade", "upgrade_check", "main"),
    "kubelet_config_target_binary": ("Its kubelet on the nodes", "upgrade_check", "main"),
    "kubelet_config_upgrade": ("If a kubelet would stop", "upgrade_check", "main"),
}
HOSTS = "kubelet_config_hosts"
ALLOWED = ["kubelet_config_allow_effect", "kubelet_config_allow_invalid"]
PLAN = [HOSTS, *ALLOWED, "kubelet_config_kubeadm"]
UNDONE = ["kubelet_config_variant", "kubelet_config_rollout_id"]
BATCHES = [name for name in QUESTIONS if QUESTIONS[name][1] == "rollout" and name not in (HOSTS, *UNDONE)]
ON_NODES = "kubelet_config_drift_hosts"
UPGRADE = ["kubelet_config_target_version", "kubelet_config_target_binary", "kubelet_config_upgrade"]
FILES = {
    "plan": [*PLAN, ON_NODES],
    "rollout": [*PLAN, *BATCHES],
    "rollback": [HOSTS, *UNDONE, *ALLOWED, *BATCHES],
    "drift": [HOSTS, "kubelet_config_drift", ON_NODES],
    "verify": [HOSTS, ON_NODES],
    "comply": [HOSTS, ON_NODES],
    "upgrade_check": [HOSTS, *UPGRADE],
}


def question(variable: str) -> dict[str, t.Any]:
    """Return one question of a survey. Surveys have no boolean type, so a bool becomes a choice of two words."""
    name, role, entry = QUESTIONS[variable]
    specs = yaml.safe_load((ROOT / "roles" / role / "meta/argument_specs.yml").read_text(encoding="utf-8"))
    spec = specs["argument_specs"][entry]["options"][variable]
    default = spec.get("default", "")
    asked = {
        "question_name": name,
        "question_description": " ".join(spec["description"]),
        "variable": variable,
        "type": "text",
        "choices": spec.get("choices", []),
        "default": str(default),
        "required": default != "" or bool(spec.get("required")),
        "min": 0,
        "max": TEXT_LIMIT,
    }
    if spec["type"] == "int":
        asked |= {"type": "integer", "default": default, "min": MINIMUM.get(variable, 0), "max": NUMBER_LIMIT}
    if spec["type"] == "bool":
        asked |= {"choices": ["true", "false"], "default": str(default).lower()}
    if asked["choices"]:
        asked["type"] = "multiplechoice"
    return asked


def survey(variables: t.Iterable[str]) -> str:
    """Return the JSON text of a survey with these variables."""
    whole = {"name": "", "description": "", "spec": [question(variable) for variable in variables]}
    return json.dumps(whole, indent=2) + "\n"


# The job templates of the pattern: playbook, name, description.
TEMPLATES = (
    ("rollout", "Kubelet rollout", "Changes nodes in batches, within a budget. Run it again to resume."),
    ("plan", "Kubelet plan", "Shows every change and its effect. Changes nothing."),
    ("rollback", "Kubelet rollback", "Reverts the nodes to their previous configuration. Run it again to resume."),
)


def pattern() -> str:
    """Return the JSON text of the pattern for Automation Platform, whose surveys have texts as defaults."""
    templates = []
    for playbook, name, description in TEMPLATES:
        spec = [{**asked, "default": str(asked["default"])} for asked in map(question, FILES[playbook])]
        templates.append(
            {
                "name": name,
                "description": description,
                "playbook": f"{playbook}.yml",
                "primary": playbook == TEMPLATES[0][0],
                "ask_credential_on_launch": True,
                "ask_inventory_on_launch": True,
                "survey": {"name": name, "description": description, "spec": spec},
            }
        )
    whole = {
        "schema_version": "3.0",
        "name": "kubelet_rollout",
        "title": "Reconfigure the kubelets of live nodes",
        "description": "Plans, rolls out and rolls back the configuration of kubelets, group by group, with a canary, "
        "a budget and an automatic revert. The configuration is declared in the inventory.",
        "short_description": "Change the configuration of kubelets on running nodes",
        "tags": ["kubernetes", "kubelet"],
        "aap_resources": {
            "controller_project": {"name": "Kubelet", "description": "Playbooks of livenodes.kubelet."},
            "controller_job_templates": templates,
        },
    }
    return json.dumps(whole, indent=2) + "\n"


if __name__ == "__main__":
    files = {SURVEYS / f"{name}.json": survey(variables) for name, variables in FILES.items()}
    files[PATTERN] = pattern()
    sys.exit(settle(files, "tools/generate_surveys.py"))
