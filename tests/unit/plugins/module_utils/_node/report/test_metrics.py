# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The status as metrics: names, labels and values of kubelets 1.11 to 1.23, in a format that Prometheus reads."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_annotation, textfile
from tests.support import exposition

NEW = {"namespace": "kube-system", "name": "c", "uid": "u2", "resourceVersion": "7", "kubeletConfigKey": "kubelet"}
OLD = {**NEW, "name": "b", "uid": "u1", "resourceVersion": "5"}
LOCAL = {
    "node_config_kubelet_key": "",
    "node_config_resource_version": "",
    "node_config_source": "local",
    "node_config_uid": "",
}


def labels(source: dict[str, str] | None) -> dict[str, str]:
    if source is None:
        return LOCAL
    return {
        "node_config_kubelet_key": source["kubeletConfigKey"],
        "node_config_resource_version": source["resourceVersion"],
        "node_config_source": f"/api/v1/namespaces/{source['namespace']}/configmaps/{source['name']}",
        "node_config_uid": source["uid"],
    }


def text(assigned: t.Any, active: t.Any, good: t.Any, error: str) -> str:
    return textfile.metrics(status_annotation.status(assigned, active, good, error, "a reason", 0))


@pytest.mark.parametrize(
    ("assigned", "active", "good", "error"),
    [
        pytest.param(None, None, None, "", id="local"),
        pytest.param(NEW, NEW, None, "", id="the first one on trial"),
        pytest.param(NEW, NEW, OLD, "", id="on trial"),
        pytest.param(NEW, NEW, NEW, "", id="passed its trial"),
        pytest.param(NEW, OLD, OLD, "it ended", id="reverted to last-known-good"),
        pytest.param(NEW, None, None, "it ended", id="reverted to the local configuration"),
        pytest.param(None, None, OLD, "", id="a reset on trial"),
        pytest.param(None, OLD, OLD, "it ended", id="a reset that was reverted"),
    ],
)
def test_each_status(assigned: t.Any, active: t.Any, good: t.Any, error: str) -> None:
    assert exposition.samples(text(assigned, active, good, error)) == [
        ("kubelet_node_config_assigned", labels(assigned), 1),
        ("kubelet_node_config_active", labels(active), 1),
        ("kubelet_node_config_last_known_good", labels(good), 1),
        ("kubelet_node_config_error", {}, int(bool(error))),
    ]


def test_one_line_as_the_kubelet_served_it() -> None:
    assert (
        'kubelet_node_config_active{node_config_kubelet_key="kubelet",node_config_resource_version="7",'
        'node_config_source="/api/v1/namespaces/kube-system/configmaps/c",node_config_uid="u2"} 1\n'
    ) in text(NEW, NEW, None, "")


def test_the_error_itself_is_not_shown() -> None:
    """Every user of the node may read the file, and an error can quote a value."""
    assert "token" not in text(NEW, None, None, "token=1")


@pytest.mark.parametrize("status", [{}, {"assigned": None}, {"assigned": {}}, {"error": ""}])
def test_what_is_absent_is_local(status: dict[str, t.Any]) -> None:
    assert textfile.metrics(status) == text(None, None, None, "")


@given(st.text())
def test_every_value_of_a_label_can_be_read_back(value: str) -> None:
    found = exposition.samples(text({**NEW, "name": value, "kubeletConfigKey": value}, None, None, ""))
    assert found[0].labels["node_config_source"] == f"/api/v1/namespaces/kube-system/configmaps/{value}"
    assert found[0].labels["node_config_kubelet_key"] == value
    assert found[1:] == exposition.samples(text(None, None, None, ""))[1:]


@pytest.mark.parametrize(
    ("value", "shown"), [('a"b', 'a\\"b'), ("a\\b", "a\\\\b"), ("a\nb", "a\\nb"), ("\\n", "\\\\n"), ("é ", "é ")]
)
def test_escapes(value: str, shown: str) -> None:
    assert textfile.escaped(value) == shown


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "a 1",
        "a 1\n",
        "# TYPE a gauge\na 1\n",
        "# HELP a b\n# TYPE a gauge\na 2\n",
        "# HELP a b\n# TYPE a gauge\nb 1\n",
        '# HELP a b\n# TYPE a gauge\na{b="c"d"} 1\n',
        '# HELP a b\n# TYPE a gauge\na{b="\\c"} 1\n',
        '# HELP a b\n# TYPE a gauge\na{b="c",b="d"} 1\n',
        "# HELP a b\n# TYPE a gauge\na 1\n\n",
        "# HELP a b\n# TYPE a gauge\na 1\n# HELP a b\n",
    ],
)
def test_the_reader_of_these_tests_is_strict(wrong: str) -> None:
    with pytest.raises(ValueError):
        exposition.samples(wrong)
