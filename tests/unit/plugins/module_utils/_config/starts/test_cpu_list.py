# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.starts import cpu_list


@pytest.mark.parametrize(
    ("text", "ranges", "count"),
    [
        ("0", [(0, 0)], 1),
        ("0-3,8", [(0, 3), (8, 8)], 5),
        ("+0-1", [(0, 1)], 2),
        ("4,0-2,1-3", [(4, 4), (0, 2), (1, 3)], 5),
        ("3-1", [(3, 1)], 0),
        # Ten digits cost no time.
        ("0-9999999999", [(0, 9999999999)], 10**10),
    ],
)
def test_lists(text: str, ranges: list[tuple[int, int]], count: int) -> None:
    found = cpu_list.parse(text)
    assert found == ranges
    assert cpu_list.count(found) == count


@pytest.mark.parametrize("text", ["", "0-", "-1", " 0", "0,,1", "0-1-2", "a", "٣", "0;1"])
def test_what_is_no_list(text: str) -> None:
    with pytest.raises(ValueError, match="is not a CPU list"):
        cpu_list.parse(text)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), min_size=1, max_size=6))
def test_the_count_is_that_of_the_members(pairs: list[tuple[int, int]]) -> None:
    found = cpu_list.parse(",".join(f"{first}-{last}" for first, last in pairs))
    assert cpu_list.count(found) == len({cpu for first, last in pairs for cpu in range(first, last + 1)})
