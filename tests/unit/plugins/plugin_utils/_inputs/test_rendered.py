# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A template is rendered once for all hosts that have the same variables of the names in it."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.rendered import UNKNOWN, Rendered, is_template


@pytest.mark.parametrize(
    ("value", "variables", "renderings"),
    [
        ("plain", [{}, {}], 0),
        ("{{ lookup('store', 'key') }}", [{}, {"other": 1}, {"other": 2}], 1),
        ({"api_key": "{{ lookup('store', place) }}"}, [{"place": "a"}, {"place": "a"}, {"place": "b"}], 2),
        ("{{ a }}", [{"a": "{{ b }}", "b": 1}, {"a": "{{ b }}", "b": 2}], 2),
        ("{{ a }}", [{"a": "{{ a }}"}, {"a": "{{ a }}"}], 1),
        ("{{ inventory_hostname }}", [{"inventory_hostname": "n1"}, {"inventory_hostname": "n2"}], 2),
        ("{{ vars['x'] }}", [{"inventory_hostname": "n1"}, {"inventory_hostname": "n2"}], 2),
        (["{% if a %}x{% endif %}"], [{"a": True}, {"a": 1}], 2),
    ],
)
def test_how_often_a_template_is_rendered(value: t.Any, variables: list[dict[str, t.Any]], renderings: int) -> None:
    done: list[int] = []
    templates = Rendered()
    for number, given in enumerate(variables):
        templates.of_host(given, value, lambda number=number: done.append(number) or "x")  # type: ignore[misc]
    assert len(done) == renderings


def test_what_cannot_be_rendered_yet() -> None:
    def fail() -> t.NoReturn:
        raise KeyError

    assert Rendered().of_host({}, "{{ later }}", fail) is UNKNOWN
    assert Rendered().of_host({}, "{{ later }}", lambda: "{{ still }}") is UNKNOWN
    assert Rendered().of_host({}, "{{ now }}", lambda: 5) == 5
    assert not is_template({"a": ["b", 5, None]})
