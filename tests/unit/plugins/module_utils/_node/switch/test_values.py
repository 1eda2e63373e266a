# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import values


def test_a_mapping_becomes_the_text_of_a_push() -> None:
    config = {"maxPods": 1, "clusterDomain": "b\u00fccher.example"}
    assert values.texts({"kubelet": config, "more": "a: 1"}) == {"kubelet": document.render(config), "more": "a: 1"}


def test_the_source_has_the_keys_of_the_api() -> None:
    given = {"namespace": "a", "name": "b", "uid": "c", "resource_version": "d", "kubelet_config_key": "e"}
    assert values.source(given) == {
        "namespace": "a",
        "name": "b",
        "uid": "c",
        "resourceVersion": "d",
        "kubeletConfigKey": "e",
    }
    assert values.source(None) is None
