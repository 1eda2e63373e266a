# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.records.blockyaml import Unreadable, load
from tests.lab import kubeadm

KUBECONFIG = """apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUM=
    server: https://10.0.0.1:6443
  name: default-cluster
contexts:
- context:
    cluster: default-cluster
    user: default-auth
  name: default-context
current-context: default-context
preferences: {}
users:
- name: default-auth
  user:
    client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem
    client-key: "/var/lib/kubelet/pki/kubelet-client-current.pem"   # the same file
"""


@pytest.mark.parametrize(
    "text",
    [
        KUBECONFIG,
        kubeadm.config_yaml(kubeadm.traits("n1")),
        kubeadm.config_yaml(kubeadm.traits("n2")),
        "a:\n  - 1\n  -\n    b: 2\n",
        "a: 'it''s'\nb: \"x: # y\"\nc: 10.0.0.1\nd: 1m30s\ne:\nf: 100Mi\n",
        "- a: 1\n  b: 2\n- - 1\n  - 2\n",
        "",
        "# nothing\n",
        '{"a": [1]}',
    ],
)
def test_reads_as_yaml_does(text: str) -> None:
    assert load(text) == yaml.safe_load(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1\nb: *x\n",
        "a: |\n  text\n",
        "a: [1, 2]\n",
        "a: 1e3\n",
        "a: yes\n",
        "a: 010\n",
        "a: 1\na: 2\n",
        "a: 1\n  b: 2\n",
        "a:\n\tb: 1\n",
        "a: b\n  c\n",
        "a: 1\n---\nb: 2\n",
        "{a: 1}",
        "a: 'b\n",
        "? a\n",
    ],
)
def test_refuses_what_it_does_not_know(text: str) -> None:
    with pytest.raises(Unreadable):
        load(text)


WORDS = st.one_of(st.booleans(), st.none(), st.integers(-(10**9), 10**9), st.text(max_size=12))
TREES = st.recursive(
    WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=8), inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(st.text(min_size=1, max_size=8), TREES, max_size=4), st.booleans())
# A no-break space is no blank of YAML.
@example({"0\xa0": None}, True)
@example({"a": "\xa0b\u3000"}, True)
def test_never_reads_anything_differently_from_yaml(tree: dict[str, object], unicode: bool) -> None:
    text = yaml.safe_dump(tree, default_flow_style=False, allow_unicode=unicode)
    try:
        read = load(text)
    except Unreadable:
        return
    assert read == tree
