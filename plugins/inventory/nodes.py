# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

DOCUMENTATION = r"""
name: nodes
short_description: Inventory of the Nodes of a cluster
version_added: 1.0.0
author: livenodes.kubelet contributors (@livenodes)
description:
  - Adds a host for every Node of a cluster, or for the Nodes that match labels. Needs one LIST of nodes (one request
    for each 250 nodes).
  - The host has the name of its node. The roles and playbooks of this collection need no other inventory.
  - The name of its configuration file ends with C(livenodes.yml) or C(livenodes.yaml), for example
    C(nodes.livenodes.yml). If C(auto) is enabled, which is the default, it needs no C(enable_plugins). Put
    C(group_vars) and C(host_vars) in the same folder.
  - "Each host has the name of its node in RV(ignore:kubelet_config_node_name)."
  - Nodes whose name Ansible takes for the controller, C(localhost), C(127.0.0.1) and C(::1), are not in the inventory.
    A warning names them.
  - "Variables from the Node: C(node_labels), C(node_roles) (as C(kubectl get nodes) shows them), C(node_taints),
    C(node_addresses) (the first of each type), C(node_os), C(node_arch), C(node_ready), C(node_schedulable),
    C(node_kubelet_version) and C(node_kubelet_minor) (V(v1.20.2) and V(1.20))."
  - C(node_delivery) is V(native), V(checkpoint), V(dropin) or V(none). C(node_variant) is the name of the ConfigMap
    that the kubelet runs, or V(local) for its own file. It is the uid of a ConfigMap of which a kubelet
    before 1.11 reports no more. C(node_settled) is whether it runs what it should, without an error, and
    C(node_drift) is the opposite. C(node_error) is the error that it reports, or what is malformed in its annotations.
  - C(kubelet_capacity) is what the machine has, in whole numbers. It has C(cpu) in cores, C(memory) and C(storage) in
    bytes, C(pods), and C(hugepages) in bytes by the size of a page.
extends_documentation_fragment:
  - livenodes.kubelet.auth
  - constructed
  - inventory_cache
options:
  plugin:
    description: Marks the file as a configuration of this plugin.
    type: str
    required: true
    choices: [livenodes.kubelet.nodes]
  label_selectors:
    description: Label selectors that nodes must match. The default is all nodes of the cluster.
    type: list
    elements: str
    default: []
  host_address:
    description:
      - The value of C(ansible_host), the first of these types of address that the node has.
      - V(name) is the node's name, V(none) sets no address. For a node with none of these types, C(ansible_host) is not
        set, and Ansible connects to the node's name.
    type: list
    elements: str
    choices: [InternalIP, ExternalIP, Hostname, InternalDNS, ExternalDNS, name, none]
    default: [InternalIP]
  group_by:
    description:
      - The groups to create; V([]) for none. Each character of a group name that is not a letter, a digit or C(_) is
        replaced with C(_).
      - V(role), such as C(role_control_plane). Nodes without a role are in none of these groups.
      - V(version), the minor version of the kubelet, such as C(kubelet_1_20).
      - V(delivery), one of C(delivery_native), C(delivery_checkpoint), C(delivery_dropin) and C(delivery_none).
      - V(variant), such as C(variant_livenodes_kubelet_5m7f2b6t4c), or C(variant_local).
      - V(drift), C(drift) if the kubelet does not run what it should or reports an error, else C(settled).
    type: list
    elements: str
    choices: [role, version, delivery, variant, drift]
    default: [role, version, delivery, variant, drift]
  group_by_labels:
    description:
      - Keys of labels. Nodes with the label V(topology.kubernetes.io/zone) are added to groups such as
        C(label_topology_kubernetes_io_zone_a).
      - V(*) means all labels.
    type: list
    elements: str
    default: []
notes:
  - If an inventory cannot be read, Ansible warns and continues without its hosts. To make it fail, set
    E(ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED) to V(true).
  - A cached inventory contains the variant, drift and readiness of the time it was cached. C(--flush-cache) reads them
    again. The modules never use this cache.
  - In AWX, put the file into a project, make it the source of an inventory, and add a credential that sets
    E(K8S_AUTH_HOST) and E(K8S_AUTH_API_KEY).
"""

EXAMPLES = r"""
# nodes.livenodes.yml: all nodes of the cluster that K8S_AUTH_* or KUBECONFIG names
plugin: livenodes.kubelet.nodes
---
# production.livenodes.yml: the workers of one cluster, by external address if they have one, grouped by zone and pool
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
# own.livenodes.yml: your own variables and groups
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

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import cluster_options
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError, MissingLibrary
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import inventory_hosts

try:
    from ansible.template import trust_as_template
except ImportError:
    # ansible-core below 2.19 trusts all texts that are not marked.
    def trust_as_template(value: str) -> str:
        """Return the value."""
        return value


# Options that identify the cluster. They are part of the cache key, with the address to which they lead, so that a
# change of the environment or of the current context alone does not return cached nodes of another cluster.
IDENTITY = ("host", "kubeconfig", "context", "in_cluster")


def _untrusted(value: t.Any) -> t.Any:
    """Return a value that Ansible never evaluates as a template. A node chooses texts such as its version itself.

    Only texts that could be templates are marked as unsafe. ansible-inventory prints the mark, and AWX would read it as
    part of the value.
    """
    if isinstance(value, dict):
        return {key: _untrusted(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_untrusted(item) for item in value]
    if not isinstance(value, str):
        return value
    # A text that begins with `#jinja2:` sets other delimiters.
    return wrap_var(value) if re.search("[{}#]", value) else trust_as_template(value)


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    """Hosts from the Nodes of a cluster."""

    NAME = "livenodes.kubelet.nodes"

    def verify_file(self, path: str) -> bool:
        """Return whether the name of a file shows that it is for this plugin."""
        return super().verify_file(path) and path.endswith(("livenodes.yml", "livenodes.yaml"))

    def parse(self, inventory: t.Any, loader: t.Any, path: str, cache: bool = True) -> None:
        """Add the hosts to the inventory. Raises AnsibleParserError that names the file, the cause and the remedy."""
        super().parse(inventory, loader, path, cache)
        config = self._read_config_data(path)
        try:
            self._refuse_unknown(config)
            for name, variables in self._hosts(path, config, cache).items():
                if inventory_hosts.is_controller(name):
                    self.display.warning(
                        f"{path}: the Node {name} is not in the inventory. Ansible takes a host of this name for the "
                        "controller, and would send it tasks with the credentials of the cluster. Its kubelet is not "
                        "changed; give the Node another name (--hostname-override)"
                    )
                else:
                    self._add(name, variables)
        except MissingLibrary as error:
            raise AnsibleParserError(f"{path}: {error.message}. {missing_required_lib('kubernetes')}") from None
        except ClusterError as error:
            raise AnsibleParserError(f"{path}: {error.message}") from None

    def _refuse_unknown(self, config: t.Mapping[str, t.Any]) -> None:
        """Raise ClusterError for unknown options. Ansible ignores them, and a misspelled selector selects all nodes."""
        known: set[str] = set()
        for option, spec in self.option_definitions.items():
            known.update((option, *spec.get("aliases", ())))
        unknown = sorted(set(config) - known)
        if unknown:
            plural = "s" if len(unknown) > 1 else ""
            raise ClusterError(
                f"unknown option{plural} {', '.join(unknown)}: `ansible-doc -t inventory {self.NAME}` lists all options"
            )

    @staticmethod
    def _connection(config: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
        """Return the connection options of the file, validated and completed from the environment as in the modules.

        get_option is not used, because it returns false for an invalid validate_certs.
        """
        spec = cluster_options.argument_spec()
        names = {name for option, values in spec.items() for name in (option, *values.get("aliases", ()))}
        given = {name: value for name, value in config.items() if name in names}
        result = ArgumentSpecValidator(spec).validate(given)
        if result.error_messages:
            raise ClusterError(f"{'; '.join(result.error_messages)}: correct the option")
        return cluster_options.completed(result.validated_parameters)

    def _hosts(self, path: str, config: t.Mapping[str, t.Any], cache: bool) -> dict[str, dict[str, t.Any]]:
        """Return the variables of each host, from the cache if it is enabled and contains them."""
        options, selectors = self._connection(config), self.get_option("label_selectors")
        kept = self.get_option("cache")
        cluster = [cluster_options.in_words(options), *(options[name] for name in IDENTITY)]
        key = self.get_cache_key(repr([path, selectors, cluster]))
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
        if address:
            found = {**found, "ansible_host": address}
        for key, value in found.items():
            self.inventory.set_variable(name, key, _untrusted(value))
        for group in inventory_hosts.groups(found, self.get_option("group_by"), self.get_option("group_by_labels")):
            self.inventory.add_child(self.inventory.add_group(to_safe_group_name(group, force=True, silent=True)), name)
        strict = self.get_option("strict")
        everything = self.inventory.get_host(name).get_vars()
        self._set_composite_vars(self.get_option("compose"), everything, name, strict)
        self._add_host_to_composed_groups(self.get_option("groups"), everything, name, strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), everything, name, strict)
