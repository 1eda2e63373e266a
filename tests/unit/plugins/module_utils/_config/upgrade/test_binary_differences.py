# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade.binary_differences import differences
from tests.support import binary_corpus
from tests.support.table_minors import BEYOND

FACTS = binary_corpus.recorded("v1.36.2")
# 1.36.2 was built from the sources of a distribution.
OF_A_BUILD = {
    "v1.36.2": [
        f"this kubelet has the feature gate {name} that the tables do not give to 1.36"
        for name in ("MinimumKubeletVersion", "RouteExternalCertificate", "StoragePerformantSecurityPolicy")
    ]
}


@pytest.mark.parametrize("version", ["v1.20.2", *binary_corpus.WHOLE])
def test_whole_binaries_beside_the_tables(version: str) -> None:
    """All flags, gates and fields of the tables."""
    assert differences(binary_corpus.recorded(version)) == OF_A_BUILD.get(version, [])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"flags": [name for name in FACTS.flags if name != "max-pods"]},
            "this kubelet has no flag --max-pods that the tables give to 1.36",
        ),
        ({"flags": [*FACTS.flags, "docker"]}, "this kubelet has the flag --docker that the tables end with 1.23"),
        (
            {"gates": {"NodeSwap": "x"}},
            "this kubelet has no feature gate NodeSwap that the tables give to 1.36",
        ),
        (
            {"gates": {"NodeSwap": "b-"}},
            "the feature gate NodeSwap is off by default in this kubelet, unlike in the tables of 1.36",
        ),
        ({"fields": {"maxPods": False}}, "this kubelet has no field maxPods that the tables give to 1.36"),
        ({"fields": {"mine": True}}, "this kubelet has the field mine that the tables do not give to 1.36"),
    ],
)
def test_each_difference(change: dict[str, t.Any], words: str) -> None:
    assert differences(FACTS._replace(**{"gates": {}, "fields": {}, **change})) == [words]


@pytest.mark.parametrize("version", ["v1.19.3", f"v1.{BEYOND}.0", "what?"])
def test_outside_the_tables_nothing_differs(version: str) -> None:
    assert differences(FACTS._replace(version=version)) == []


def test_gates_and_flags_that_were_not_asked_do_not_differ() -> None:
    assert differences(FACTS._replace(flags=[], gates={"AllAlpha": "a+", "AllBeta": "x"}, fields={})) == []
    assert "max-pods" in fields.FLAGS
