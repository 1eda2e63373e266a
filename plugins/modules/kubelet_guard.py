#!/usr/bin/python
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
module: kubelet_guard
short_description: Install the guard of a node's kubelet configuration, or restart the kubelet and verify it
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - The guard is a small program on the node. It reverts a configuration automatically when the kubelet fails with it,
    or when it is not confirmed in time.
  - It works without Ansible, SSH, network and API server, and across reboots. On the node it needs only Python 3.7 or
    later.
  - The installation writes the guard's program below O(config_dir), its service, and one drop-in of the kubelet's unit.
    The unit's own files are not changed.
options:
  state:
    description:
      - V(present) installs the guard, and makes the kubelet's unit read C(active) in O(config_dir).
      - V(updated) brings an installed guard to the version of this module and to O(metrics_dir), and changes nothing
        else. Where no guard is installed, it changes nothing.
      - V(absent) removes the guard, the drop-in and the status annotation of the Node.
      - V(restarted) restarts the kubelet. It fails unless the kubelet has a new InvocationID that remains, and its
        healthz answers several times in a row.
    type: str
    choices: [present, updated, absent, restarted]
    default: present
  config_dir:
    description:
      - Folder of the store.
      - Its path is absolute and holds only letters, digits and C(. _ + - /), without C(..).
      - Root must own it and every folder above it, and no other user may write to them. Otherwise the module refuses
        V(present) of O(state).
    type: path
    default: /var/lib/kubelet-config
  unit:
    description:
      - The kubelet's systemd unit.
    type: str
    default: kubelet.service
  dropin_dir:
    description:
      - The drop-in folder of a kubelet that another program starts, as in M(livenodes.kubelet.kubelet_checkpoint).
        Without it, O(state=present) refuses the unit of such a program.
    type: path
  key:
    description:
      - Name of the configuration file in a checkpoint.
    type: str
    default: kubelet
  metrics_dir:
    description:
      - The folder for the guard's metrics, as in M(livenodes.kubelet.kubelet_checkpoint). With an empty one the guard
        writes none, and the module removes an earlier file of the guard.
      - Without this option, O(state=present) writes no metrics either, and O(state=updated) keeps the folder that the
        guard has.
    type: path
  seconds:
    description:
      - Seconds until the kubelet's healthz must answer after a restart.
    type: int
    default: 60
  state_files:
    description:
      - State files of the CPU and memory managers to remove while the kubelet is stopped for a restart, because they
        belong to another policy.
    type: list
    elements: path
    default: []
  restart:
    description:
      - With O(state=absent), whether to restart the kubelet without the drop-in and to verify it as O(state=restarted)
        does. If the kubelet fails, the module restores the drop-in, keeps the guard, and fails.
      - A kubelet that runs without drop-in and store already is not restarted.
    type: bool
    default: false
  reverted:
    description:
      - With O(state=restarted), whether the restart ends a revert of the store in O(config_dir). If the guard has
        restarted the kubelet since that revert, the module only verifies the kubelet.
    type: bool
    default: false
extends_documentation_fragment:
  - livenodes.kubelet.attributes
attributes:
  check_mode:
    support: full
  diff_mode:
    support: full
  idempotent:
    support: partial
    details: O(state=restarted) restarts every time, unless O(reverted) finds that the guard has done so.
seealso:
  - module: livenodes.kubelet.kubelet_checkpoint
"""

EXAMPLES = r"""
- name: Install the guard
  livenodes.kubelet.kubelet_guard:

- name: Let a guard that is installed already write metrics for node_exporter
  livenodes.kubelet.kubelet_guard:
    state: updated
    metrics_dir: /var/lib/prometheus/node-exporter
"""

RETURN = r"""
invocation_id:
  description: InvocationID of the kubelet's unit. After a restart, the new one.
  returned: with O(state=present) and O(state=updated), and when the kubelet was restarted
  type: str
healthy:
  description: Whether the kubelet runs and its healthz answers.
  returned: with O(state=present) and O(state=updated)
  type: bool
seconds:
  description: Seconds from the restart until healthz had answered often enough.
  returned: when the kubelet was restarted
  type: float
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install.guard_module import (
    absent,
    present,
    removed,
    restarted,
    updated,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.command import execute
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.lock import LockError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import Unit, UnitError


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "updated", "absent", "restarted"], "default": "present"},
            "config_dir": {"type": "path", "default": "/var/lib/kubelet-config"},
            "unit": {"type": "str", "default": "kubelet.service"},
            "dropin_dir": {"type": "path"},
            "key": {"type": "str", "default": "kubelet", "no_log": False},
            "metrics_dir": {"type": "path"},
            "seconds": {"type": "int", "default": 60},
            "state_files": {"type": "list", "elements": "path", "default": []},
            "restart": {"type": "bool", "default": False},
            "reverted": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    options = module.params
    unit = Unit(options["unit"], run=execute, child=bool(options["dropin_dir"]))
    metrics = options["metrics_dir"]
    try:
        if options["state"] == "present":
            result = present(options["config_dir"], unit, options["key"], module.check_mode, metrics=metrics or "")
        elif options["state"] == "updated":
            result = updated(options["config_dir"], unit, module.check_mode, metrics)
        elif options["state"] == "absent" and options["restart"]:
            result = removed(options["config_dir"], unit, options["seconds"], module.check_mode, options["state_files"])
        elif options["state"] == "absent":
            result = absent(options["config_dir"], unit, module.check_mode)
        else:
            store = Store(options["config_dir"]) if options["reverted"] else None
            result = restarted(unit, options["seconds"], module.check_mode, options["state_files"], store)
    except (StoreError, UnitError, LockError, OSError) as error:
        module.fail_json(msg=str(error))
    for warning in result.pop("warnings", []):
        module.warn(warning)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
