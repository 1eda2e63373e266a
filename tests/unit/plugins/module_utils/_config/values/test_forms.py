# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The usual forms of the fields and of the source."""

from __future__ import annotations

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.forms import LATER, TABLES
from tests.support import objects


def test_the_tables_judge_the_fields() -> None:
    assert TABLES.judge("evictionHard", {}) is None
    assert TABLES.omits_empties


def test_the_source_and_the_status() -> None:
    source, status = objects.place(), objects.status(objects.reference())
    found, place = LATER.records({}, {"configSource": LATER.config_source(source)}, {"config": status})
    assert (found.spec, found.config, place) == (source, status, "")


def test_a_revision_counts_only_in_the_status() -> None:
    assert LATER.as_reported(objects.reference()) == objects.reference()
    assert LATER.same(objects.place(), {**objects.place(), "uid": "u1"})
    assert not LATER.same(objects.place(), None)


def test_a_kubelet_that_reports_can_run_each_key() -> None:
    assert LATER.unfit(True, "other", "v1.20.2") is None
    assert "reports no status.config (a new kubelet" in (LATER.unfit(False, "kubelet", "v1.20.2") or "")


def test_an_error_without_its_cause() -> None:
    error = "failed to sync: failed to download config, see Kubelet log for details"
    assert not LATER.is_sync_error(error) and not LATER.is_explained(error)
    assert LATER.meaning_of_error(error) == ""
