# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of forms agrees with the code that reads the values, and names only variables of the roles."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout.gate import node_limit
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages.soak import allowed
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import check, specs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.order import order
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.rows import allowed_of

READERS: dict[str, t.Callable[[t.Any], t.Any]] = {
    "kubelet_config_serial": lambda value: order({"nodes": {}}, "plan", {"hosts": {}}, {}, 1, value),
    "kubelet_config_max_unavailable": lambda value: node_limit(value, 10),
    "kubelet_config_max_skipped": lambda value: allowed_of(value, 10),
    "kubelet_config_allow_pod_loss": allowed,
}
VALUES = st.one_of(
    st.integers(-2, 200),
    st.booleans(),
    st.floats(0, 3),
    st.text("0129%,. -x", max_size=5),
    st.sampled_from(
        ["true", "Yes", "no", "off", "none", "", "1,20%", "1, 10%", "2 %", "101%", [1, "10%"], ["0"], ["1", "50%"]]
    ),
)


def read(reader: t.Callable[[t.Any], t.Any], value: t.Any) -> bool:
    """Return whether a reader accepts a value."""
    try:
        reader(value)
    except Exception:
        return False
    return True


@pytest.mark.parametrize("name", check.FORMS)
@given(value=VALUES)
def test_a_form_accepts_what_its_reader_accepts(name: str, value: t.Any) -> None:
    if name in check.UNSET_IF_EMPTY and value == "":
        return
    assert check.FORMS[name].accepts(value) == read(READERS[name], value), value


def test_the_tables_name_variables_of_the_roles() -> None:
    known = specs.known(specs.by_role())
    assert {*check.FORMS, *check.MINIMUM, *check.UNSET_IF_EMPTY, *check.OF_EVERY_PLAYBOOK} <= set(known)
    assert all(known[name]["type"] == "int" for name in check.MINIMUM)
    assert not set(check.OF_THE_PLAYBOOKS) & {name for options in specs.by_role().values() for name in options}
