# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: nodes
short_description: Hosts from the Nodes of a cluster
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Makes a host of every Node of a cluster, or of those that match labels, from one LIST of nodes (one request for each 250 nodes).
  - The host has the name of its node. The roles and playbooks of this collection need no other inventory.
  - The name of its configuration file ends in C(livenodes.yml) or C(livenodes.yaml), for example C(nodes.livenodes.yml) or C(production.livenodes.yml).
    It needs no C(enable_plugins) where C(auto) is enabled, as it is by default. Put C(group_vars) and C(host_vars) beside it.
  - "Each host has these variables: RV(ignore:kubelet_config_node_name) (the node's name); C(node_labels), C(node_roles) (as C(kubectl get nodes) shows
    them), C(node_taints), C(node_addresses) (the first of each type), C(node_os), C(node_arch); C(node_kubelet_version) and C(node_kubelet_minor)
    (V(v1.20.2) and V(1.20)); C(node_ready), C(node_schedulable); C(node_delivery) (V(native), V(checkpoint) or V(none)), C(node_variant) (name of the
    ConfigMap that the kubelet runs, V(local) for its own file), C(node_settled) (it runs what it should, without an error), C(node_drift) (the contrary)
    and C(node_error) (what it reports)."
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - constructed
  - inventory_cache
options:
  plugin:
    description: Says that the file is meant for this plugin.
    type: str
    required: true
    choices: [livenodes.kubelet.nodes]
  label_selectors:
    description: Label selectors that nodes have to match; all nodes of the cluster without.
    type: list
    elements: str
    default: []
  host_address:
    description:
      - What C(ansible_host) is set to. The first of these types of address that the node has.
      - V(name) is the node's name, V(none) sets nothing. A node that has none of them gets no C(ansible_host), and Ansible connects to its name.
    type: list
    elements: str
    choices: [InternalIP, ExternalIP, Hostname, InternalDNS, ExternalDNS, name, none]
    default: [InternalIP]
  group_by:
    description:
      - The groups that every host is put into, V([]) for none of them. Whatever is not a letter, a digit or C(_) in a group's name becomes C(_).
      - V(role), such as C(role_control_plane). Nodes without a role are in none.
      - V(version), the minor version of the kubelet, such as C(kubelet_1_20).
      - V(delivery), one of C(delivery_native), C(delivery_checkpoint) and C(delivery_none).
      - V(variant), such as C(variant_livenodes_kubelet_5m7f2b6t4c), or C(variant_local).
      - V(drift), C(drift) where the kubelet does not run what it should or reports an error, else C(settled).
    type: list
    elements: str
    choices: [role, version, delivery, variant, drift]
    default: [role, version, delivery, variant, drift]
  group_by_labels:
    description:
      - Keys of labels. Nodes with the label V(topology.kubernetes.io/zone) are put into groups such as C(label_topology_kubernetes_io_zone_a).
      - V(*) stands for all labels.
    type: list
    elements: str
    default: []
notes:
  - Ansible warns and goes on without hosts when an inventory cannot be read. Set E(ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED) to V(true) to make it fail.
  - A cached inventory tells which variant, drift and readiness nodes had then. C(--flush-cache) reads them anew. The modules never use this cache.
  - In AWX, put the file into a project, make it the source of an inventory, and add a credential that sets E(K8S_AUTH_HOST) and E(K8S_AUTH_API_KEY).
"""

EXAMPLES = r"""
# nodes.livenodes.yml: all nodes of the cluster that K8S_AUTH_* or KUBECONFIG names
plugin: livenodes.kubelet.nodes
---
# production.livenodes.yml: the workers of one cluster, over their external addresses where they have one, and a group for each zone and pool
plugin: livenodes.kubelet.nodes
kubeconfig: ~/.kube/production
context: admin@production
label_selectors:
  - "!node-role.kubernetes.io/control-plane"
host_address: [ExternalIP, InternalIP]
group_by: [version, variant, drift]
group_by_labels: [topology.kubernetes.io/zone, pool]
cache: true
cache_plugin: ansible.builtin.jsonfile
cache_connection: /var/cache/ansible/nodes
cache_timeout: 300
---
# own.livenodes.yml: own variables and groups
plugin: livenodes.kubelet.nodes
group_by: []
compose:
  ansible_user: "'core' if node_labels['kubernetes.io/os'] == 'linux' else 'admin'"
groups:
  broken: not node_ready or node_error != ''
keyed_groups:
  - key: node_labels['pool']
    prefix: pool
strict: false
"""

import re
import typing as t

from ansible.errors import AnsibleParserError
from ansible.inventory.group import to_safe_group_name
from ansible.module_utils.basic import missing_required_lib
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.utils.unsafe_proxy import wrap_var

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import auth
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError, MissingLibrary
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import inventory_hosts

try:
    from ansible.template import trust_as_template
except ImportError:
    # ansible-core below 2.19 trusts what is not marked.
    def trust_as_template(value: str) -> str:
        """Return the value."""
        return value


# What decides which nodes are found. Another cluster's nodes are not to come out of the cache when only the environment
# has changed.
IDENTITY = ("host", "kubeconfig", "context", "in_cluster")


def _told(value: t.Any) -> t.Any:
    """Return a value that is never taken for a template: a node says of itself what it likes, its version for example.

    Only what could be one is marked as unsafe. The mark shows in what ansible-inventory prints, so AWX would take it
    for part of the value.
    """
    if isinstance(value, dict):
        return {key: _told(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_told(item) for item in value]
    if not isinstance(value, str):
        return value
    # The last one begins `#jinja2:`, with which a text names other delimiters.
    return wrap_var(value) if re.search("[{}#]", value) else trust_as_template(value)


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    """Hosts from the Nodes of a cluster."""

    NAME = "livenodes.kubelet.nodes"

    def verify_file(self, path: str) -> bool:
        """Tell by its name whether a file is for this plugin."""
        return super().verify_file(path) and path.endswith(("livenodes.yml", "livenodes.yaml"))

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        """Add the hosts to the inventory. Raises AnsibleParserError that names the file, the cause and the remedy."""
        super().parse(inventory, loader, path, cache)
        config = self._read_config_data(path)
        try:
            self._refuse_unknown(config)
            for name, variables in self._hosts(path, config, cache).items():
                self._add(name, variables)
        except MissingLibrary as error:
            raise AnsibleParserError(f"{path}: {error.message}. {missing_required_lib('kubernetes')}") from None
        except ClusterError as error:
            raise AnsibleParserError(f"{path}: {error.message}") from None

    def _refuse_unknown(self, config: t.Mapping[str, t.Any]) -> None:
        """Ansible itself passes over what it does not know, so that a mistyped selector would mean all nodes."""
        known = {
            name for option, spec in self.option_definitions.items() for name in (option, *spec.get("aliases", ()))
        }
        unknown = sorted(set(config) - known)
        if unknown:
            plural = "s" if len(unknown) > 1 else ""
            raise ClusterError(
                f"unknown option{plural} {', '.join(unknown)}: `ansible-doc -t inventory {self.NAME}` has those there are"
            )

    @staticmethod
    def _connection(config: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """The options of the modules as they stand in the file, checked as theirs are, with the same variables of the
        environment to stand in for them.

        Not by get_option, for which a validate_certs that it cannot read is false.
        """
        spec = auth.argument_spec()
        names = {name for option, values in spec.items() for name in (option, *values.get("aliases", ()))}
        result = ArgumentSpecValidator(spec).validate({name: value for name, value in config.items() if name in names})
        if result.error_messages:
            raise ClusterError(f"{'; '.join(result.error_messages)}: correct the option or its K8S_AUTH_ variable")
        return t.cast("dict[str, t.Any]", result.validated_parameters)

    def _hosts(self, path: str, config: t.Mapping[str, t.Any], cache: bool) -> dict[str, dict[str, t.Any]]:
        """Return the variables of each host, from the cache where that is wanted and holds them."""
        options, selectors = self._connection(config), self.get_option("label_selectors")
        kept = self.get_option("cache")
        key = self.get_cache_key(repr([path, selectors, [options[name] for name in IDENTITY]]))
        if cache and kept and key in self._cache:
            return t.cast("dict[str, dict[str, t.Any]]", self._cache[key])
        session = Session(options)
        found = inventory_hosts.read(session, selectors)
        for text in session.warnings:
            self.display.warning(f"{path}: API server: {text}")
        if kept:
            self._cache[key] = found
        return found

    def _add(self, name: str, found: dict[str, t.Any]) -> None:
        address = inventory_hosts.address(found, self.get_option("host_address"))
        self.inventory.add_host(name)
        for key, value in {**found, **({"ansible_host": address} if address else {})}.items():
            self.inventory.set_variable(name, key, _told(value))
        for group in inventory_hosts.groups(found, self.get_option("group_by"), self.get_option("group_by_labels")):
            self.inventory.add_child(self.inventory.add_group(to_safe_group_name(group, force=True, silent=True)), name)
        strict = self.get_option("strict")
        everything = self.inventory.get_host(name).get_vars()
        self._set_composite_vars(self.get_option("compose"), everything, name, strict)
        self._add_host_to_composed_groups(self.get_option("groups"), everything, name, strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), everything, name, strict)
