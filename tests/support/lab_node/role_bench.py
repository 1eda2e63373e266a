# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Run the role `checkpoint` on nodes of the lab."""

from __future__ import annotations

import json
import typing as t
from pathlib import Path

from tests.lab.lab import Lab
from tests.support.lab_node.node_bench import Bench
from tests.support.plays.ansible import Ansible, Run

FILES = (
    "find /etc/systemd /etc/kubernetes /etc/default /var/lib/kubelet/config.yaml /var/lib/kubelet/kubeadm-flags.env"
    " /var/lib/kubelet-config"
)
PRINT = "-printf '%p %y %m %s %l\\n' 2>/dev/null | sort"

Source = dict[str, str] | None


class Role:
    """The role on some nodes, n1 by default. `bench`, `node` and `local` are those of the first one."""

    def __init__(self, lab: Lab, home: Path, *names: str) -> None:
        self.lab = lab
        self.benches = {name: Bench(lab, name) for name in names or ("n1",)}
        self.bench = next(iter(self.benches.values()))
        self.node = self.bench.node
        self.ansible = Ansible(home, lab.kubeconfig, lab.inventory)
        self.home = home
        self.local = self.bench.local()

    def play(self, source: Source, config: t.Any, *arguments: str, tasks_from: str = "main", **variables: t.Any) -> Run:
        """Run tasks of the role with the same source and configuration (a mapping or text) for all nodes."""
        return self.ansible.playbook(
            str(self.write(dict.fromkeys(self.benches, (source, config)), tasks_from, **variables)), *arguments
        )

    def write(self, wanted: t.Mapping[str, tuple[Source, t.Any]], tasks_from: str = "main", **variables: t.Any) -> Path:
        """Write a play with a source and a configuration per node; return its path."""
        texts = {
            name: config if isinstance(config, str) else json.dumps(config, indent=2, sort_keys=True) + "\n"
            for name, (_source, config) in wanted.items()
        }
        given = {
            "sources": {name: source for name, (source, _config) in wanted.items()},
            "data": {name: {"kubelet": text} for name, text in texts.items()},
        }
        role = {
            "name": "include_role",
            "ansible.builtin.include_role": {"name": "livenodes.kubelet.checkpoint", "tasks_from": tasks_from},
            "vars": {
                "kubelet_config_source": "{{ sources[inventory_hostname] }}",
                "kubelet_config_data": "{{ data[inventory_hostname] }}",
                **variables,
            },
        }
        path = self.home / "play.yml"
        play = {"hosts": ",".join(wanted), "gather_facts": False, "vars": given, "tasks": [role]}
        path.write_text(json.dumps([play]))
        return path

    def layout(self) -> str:
        """Return all files that the role could change: type, mode, size, link, bytes of small files."""
        own = self.node.run("systemctl cat kubelet; cat /var/lib/kubelet/config.yaml")
        return self.node.run(f"{FILES} {PRINT}") + own
