# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster of a run is named where it is known. The first request reports everything else."""

from __future__ import annotations

import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.differing import in_words


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"host": "https://mine"}, "https://mine"),
        ({}, "https://environment"),
        ({"context": "c", "host": "h"}, ""),
        ("{{ later }}", "https://environment"),
    ],
)
def test_in_words(given: t.Any, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("K8S_AUTH_HOST", "https://environment")
    assert in_words(given) == words
