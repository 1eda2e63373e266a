# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Variables of a host become plain values, or an error that names the field."""

from __future__ import annotations

import collections
import typing as t

import pytest
from ansible.errors import AnsibleFilterError

from ansible_collections.livenodes.kubelet.plugins.filter import node
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import host_table


class Vaulted(collections.UserString):
    """As AnsibleVaultEncryptedUnicode up to ansible-core 2.18: a sequence that is not a str, and equal to its text."""

    __ENCRYPTED__ = True


class Marked(str):
    """As AnsibleUnsafeText up to ansible-core 2.18."""

    __UNSAFE__ = True


SECRET = Vaulted("Bearer 4711")
NAMED = "{{ nowhere }}"


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (SECRET, "Bearer 4711"),
        ({"staticPodURLHeader": {"A": [SECRET]}}, {"staticPodURLHeader": {"A": ["Bearer 4711"]}}),
        ([{"a": SECRET}, (SECRET,)], [{"a": "Bearer 4711"}, ["Bearer 4711"]]),
        ({"maxPods": 1, "a": None, "b": True, "c": [1.5]}, {"maxPods": 1, "a": None, "b": True, "c": [1.5]}),
        (Marked(NAMED), NAMED),
        ({"a": "only {braces} and {{"}, {"a": "only {braces} and {{"}),
    ],
)
def test_plain_values(monkeypatch: pytest.MonkeyPatch, value: t.Any, found: t.Any) -> None:
    monkeypatch.setattr(host_table, "LENIENT", True)
    given = host_table.of_host("h1", {"kubelet_config": value}, "kubelet_config")
    assert given == found
    assert "Vaulted" not in str(_types(given))


@pytest.mark.parametrize(
    ("value", "place", "quoted"),
    [
        ({"staticPodPath": f"/etc/{NAMED}/"}, "staticPodPath", NAMED),
        ({"staticPodURL": f"http://{NAMED}/"}, "staticPodURL", "a template"),
        ({"clusterDNS": ["10.0.0.1", NAMED]}, "clusterDNS[1]", NAMED),
        ({"staticPodURLHeader": {"A": ["{{ 'secret' ~ nowhere }}"]}}, "staticPodURLHeader.A[0]", "a template"),
        (f"maxPods: 1\nstaticPodPath: {NAMED}\n", "line 2", NAMED),
        ("{% if nowhere %}a: 1{% endif %}", "line 1", "{% if nowhere %}"),
    ],
)
def test_a_template_that_is_left_over(monkeypatch: pytest.MonkeyPatch, value: t.Any, place: str, quoted: str) -> None:
    monkeypatch.setattr(host_table, "LENIENT", True)
    with pytest.raises(AnsibleFilterError) as error:
        host_table.of_host("h1", {"kubelet_config": value}, "kubelet_config")
    start = f"kubelet_config of host h1, {place}: {quoted} names an undefined variable."
    assert str(error.value).startswith(start) and "secret" not in str(error.value)


def test_a_text_of_a_core_that_raises_errors_itself_is_literal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_table, "LENIENT", False)
    assert host_table.of_host("h1", {"kubelet_config": {"a": NAMED}}, "kubelet_config") == {"a": NAMED}


def test_all_variables_of_the_tables_are_read_so() -> None:
    hostvars = {
        "h1": {
            "kubelet_config": {"a": SECRET},
            "kubelet_config_host": Vaulted("maxPods: 1"),
            "kubelet_config_flags": [Vaulted("--v=2")],
            "kubelet_config_delivery": Vaulted("native"),
            "kubelet_config_node_name": Vaulted("n1"),
        }
    }
    table = {**host_table.node_table(["h1"], hostvars), "others": node.other_configs(["h1"], hostvars)}
    assert "Vaulted" not in str(_types(table)) and list(table["hosts"]) == ["n1"]


def _types(value: t.Any) -> t.Any:
    if isinstance(value, dict):
        return [_types(inner) for pair in value.items() for inner in pair]
    return [_types(inner) for inner in value] if isinstance(value, list) else type(value)
