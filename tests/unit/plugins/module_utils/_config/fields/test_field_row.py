# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.field_row import Field


@pytest.mark.parametrize(
    ("minor", "exists", "unset"), [(17, False, "zero"), (18, True, "zero"), (22, True, "nil"), (24, False, "nil")]
)
def test_a_field_has_the_minors_of_its_row(minor: int, exists: bool, unset: str) -> None:
    field = Field("x", "int32", since=18, until=23, unset="zero", nil_since=22)
    assert (field.exists_at(minor), field.unset_at(minor)) == (exists, unset)


def test_a_field_has_the_default_and_the_cost_of_the_minor() -> None:
    field = Field(
        "x",
        "int32",
        default=5,
        later_defaults=((22, 6),),
        unknown_since=25,
        effect="safe",
        reason="a",
        later=((22, "drain", "b"), (24, "reboot", "c")),
    )
    assert [field.default_at(minor) for minor in (21, 22, 24, 25)] == [5, 6, 6, None]
    assert [field.cost_at(minor) for minor in (21, 22, 24)] == [("safe", "a"), ("drain", "b"), ("reboot", "c")]
