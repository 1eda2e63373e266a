# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes versions."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.version import minor_of


@pytest.mark.parametrize(
    ("version", "minor"),
    [
        ("v1.20.2", 20),
        ("1.9.11-gke.5", 9),
        ("v1.23.0-alpha.1+abc", 23),
        ("v1.33", 33),
        ("", None),
        (None, None),
        ("nonsense", None),
        ("v2.1.0", None),
    ],
)
def test_minor(version: t.Any, minor: int | None) -> None:
    assert minor_of(version) == minor
