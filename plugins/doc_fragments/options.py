# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options that several modules share, by what they are about."""

from __future__ import annotations


class ModuleDocFragment:
    """The options of a subject each."""

    CONFIGMAP = r"""
options:
  name:
    description:
      - Prefix of the ConfigMap names.
    type: str
    default: livenodes-kubelet
  namespace:
    description:
      - Namespace of the ConfigMaps.
    type: str
    default: kube-system
  key:
    description:
      - Key of the configuration in a ConfigMap.
    type: str
    default: kubelet
"""
    """The options that name the ConfigMaps which hold configurations."""

    DELIVERY = r"""
options:
  delivery:
    description:
      - How the configuration reaches the kubelets. A source in O(sources) may have its own C(delivery).
      - V(native) is Node.spec.configSource, which kubelets up to 1.23 with C(--dynamic-config-dir) follow.
      - V(checkpoint) is the annotation C(source). The role P(livenodes.kubelet.checkpoint#role) copies the content of
        the ConfigMap to the node; until then the kubelet does not change.
      - V(dropin) is the same for a source that holds only what is declared. The kubelet lays it over the node's own
        configuration. Kubelets from 1.30 on can do so.
      - V(auto) is the delivery that this annotation names for nodes that have it, V(native) for other nodes whose
        kubelet reports its source, V(dropin) for the rest from 1.32 on, and V(checkpoint) for the others.
    type: str
    choices: [auto, native, checkpoint, dropin]
    default: auto
"""
    """The option of modules of the cluster that choose among all deliveries."""

    LAYER = r"""
options:
  delivery:
    description:
      - How the kubelet reads the configuration. V(checkpoint), as its config file in place of its own. V(dropin), as a
        drop-in that it lays over its own config file (kubelets of 1.30 and later). The configuration then contains
        only what is declared.
    type: str
    choices: [checkpoint, dropin]
    default: checkpoint
  dropin_dir:
    description:
      - With V(dropin) of O(delivery), the kubelet's drop-in folder, which must exist. Needed where the unit runs
        another program that starts the kubelet, such as RKE2.
      - By default the folder that the unit names in its last C(--config-dir), else one below O(config_dir), which the
        unit then names too.
    type: path
"""
    """The options of modules on the node that differ by the delivery: in place of the config file, or over it."""

    LEASE = r"""
options:
  lease:
    description:
      - The Lease of the rollout, from RV(livenodes.kubelet.kubelet_rollout_lease#module:lease).
      - The module renews it before it writes and while it waits. If the rollout has lost it, the module writes nothing
        more and fails. No Lease is renewed by default.
    type: dict
"""
    """The option with which a module renews the Lease of its rollout."""

    SELECTION = r"""
options:
  nodes:
    description:
      - Names of the nodes. All of them must exist.
      - The default is all nodes that match O(label_selectors), or all nodes of the cluster without that option.
    type: list
    elements: str
  label_selectors:
    description:
      - Label selectors that the nodes must match.
    type: list
    elements: str
"""
    """The options that select nodes."""

    SOURCE = r"""
options:
  nodes:
    description:
      - Names of the nodes. All of them must exist.
    type: list
    elements: str
  source:
    description:
      - The config source of all O(nodes), such as RV(livenodes.kubelet.kubelet_configmap#module:source).
    type: dict
    suboptions:
      namespace:
        description: Namespace of the ConfigMap.
        type: str
        default: kube-system
      name:
        description: Name of the ConfigMap.
        type: str
        required: true
      kubelet_config_key:
        description: Key of the ConfigMap that holds the configuration.
        type: str
        default: kubelet
        aliases: [kubeletConfigKey]
      uid:
        description: Part of a result of M(livenodes.kubelet.kubelet_configmap). Ignored, as the three that follow.
        type: str
      resource_version:
        description: See O(source.uid).
        type: str
        aliases: [resourceVersion]
      variant:
        description: See O(source.uid).
        type: str
      changed:
        description: See O(source.uid).
        type: bool
"""
    """The options of modules that assign or verify one source for several nodes (config_sources.SELECTION)."""
