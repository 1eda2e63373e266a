# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unitfile


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("kubelet --v=2 --max-pods=61", "kubelet --v=2 --max-pods=61"),
        ("a --manifest-url-header=A:b --v=2\nnext", "a --manifest-url-header=******** --v=2\nnext"),
        ("a --manifest-url-header A:b", "a --manifest-url-header ********"),
        ("a --manifest_url_header=A:b", "a --manifest_url_header=********"),
        ('a "--manifest-url-header=A:b c" --v=2', 'a "--manifest-url-header=******** --v=2'),
        ("a --manifest-url-header='A:b \"c\" d' --v=2", "a --manifest-url-header=******** --v=2"),
        ("a --manifest-url-header \\\n  'A:b c' \\\n  --v=2", "a --manifest-url-header ******** --v=2"),
        (
            "a --manifest-url-header=A:b --manifest-url-header=C:d --manifest-url=http://x --v=2",
            "a --manifest-url-header=******** --manifest-url-header=******** --manifest-url=******** --v=2",
        ),
    ],
)
def test_values_of_secret_flags_are_masked(text: str, shown: str) -> None:
    assert unitfile.masked(text) == shown
