# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter opens what results have sealed."""

from __future__ import annotations

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.livenodes.kubelet.plugins.filter import sealed as filters
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import sealed

TABLE = {"variants": {"a": {"staticPodURLHeader": {"Authorization": ["Bearer 4711"]}}}}


def test_unsealed() -> None:
    (unsealed,) = filters.FilterModule().filters().values()
    assert unsealed(sealed.seal(TABLE)) == TABLE
    with pytest.raises(AnsibleFilterError, match="sealed by another run of Ansible"):
        unsealed(f"{sealed.MARK}Z0FBQUFB")
