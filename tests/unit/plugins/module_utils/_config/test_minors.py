# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The door to the room of the first kubelets: which minor has which form."""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import delivery, minors
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.document import API_VERSION
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.forms import LATER, TABLES


@pytest.mark.parametrize("minor", [0, 7, 11, 12, 20, 23, 36])
def test_others_have_the_usual_forms(minor: int) -> None:
    assert minors.source_form(minor) is LATER
    assert minors.fields_of(minor) is TABLES
    assert minors.api_versions(minor) == (API_VERSION,)


def test_the_usual_version_is_the_first_one() -> None:
    """A message names it."""
    assert minors.api_versions(None)[0] == API_VERSION


def test_native_delivery_begins_with_the_first_form() -> None:
    native = delivery.of(delivery.NATIVE).minors
    assert (min(native), max(native)) == (minors.FIRST_NATIVE, 23)
    assert minors.source_form(min(native) - 1) is LATER
