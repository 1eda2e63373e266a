# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The annotations of controller and follower: what is written is read again, and nothing else ends a run."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import following
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.following import Answer, Orders

FOLLOW, FOLLOWER = following.FOLLOW, following.FOLLOWER
TEXTS = st.text(max_size=9)
SECONDS = st.integers(0, following.LONGEST_SECONDS)
SOURCE = {"namespace": "kube-system", "name": "config-a", "kubeletConfigKey": "kubelet"}
TRANSPORT = st.sampled_from([following.SSH, following.API])
ORDERS = st.builds(Orders, TRANSPORT, st.integers(0, 9), SECONDS, SECONDS, TEXTS, TEXTS)
NOTED = st.sampled_from([{}, SOURCE])
ANSWERS = st.builds(Answer, st.integers(1, 3), NOTED, st.integers(0, 9), TEXTS, TEXTS, facts=st.just({"own": []}))


@given(ORDERS, ANSWERS)
def test_what_is_written_is_read_again(orders: Orders, answer: Answer) -> None:
    notes = {FOLLOW: following.text(orders), FOLLOWER: following.text(answer)}
    assert following.orders(notes) == (orders, "")
    assert following.answer(notes) == (answer, "")


def test_without_annotations() -> None:
    assert following.orders({}) == (Orders(), "")
    assert following.answer({}) == (None, "")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it is not JSON"),
        ("[]", "it is a list, not a mapping"),
        ('{"attempt": "2"}', "attempt is '2'"),
        ('{"attempt": true}', "attempt is True"),
        ('{"transport": "mail"}', "transport is 'mail', not api or ssh"),
        # No store keeps a trial that never ends, and no trial is over before it begins.
        ('{"confirm_seconds": 1000000001}', "confirm_seconds is 1000000001, not a number from 0 to 1000000000"),
        ('{"trial_seconds": -1}', "trial_seconds is -1, not a number from 0 to 1000000000"),
        # An API server stores it as another text: its answer would never fit.
        ('{"trial": "\\ud800"}', "trial is '\\ud800'"),
    ],
)
def test_malformed_orders(text: str, fault: str) -> None:
    assert following.orders({FOLLOW: text}) == (Orders(), fault)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ('{"refused": 1}', "refused is 1"),
        ('{"refused": "\\udcff"}', "refused is '\\udcff'"),
        ('{"configMap": {"name": "config-a"}}', "configMap has no namespace"),
        ('{"facts": []}', "facts is a list"),
    ],
)
def test_a_malformed_answer(text: str, fault: str) -> None:
    assert following.answer({FOLLOWER: text}) == (None, fault)


def test_fields_of_a_later_version_are_ignored() -> None:
    assert following.answer({FOLLOWER: '{"attempt": 2, "later": 1}'}) == (Answer(attempt=2), "")


@pytest.mark.parametrize(
    ("source", "fits"),
    [
        (SOURCE, True),
        ({**SOURCE, "uid": "u1"}, True),
        ({**SOURCE, "uid": "u2"}, False),
        ({**SOURCE, "name": "config-b"}, False),
    ],
)
def test_a_source_without_a_uid_fits_any(source: dict[str, t.Any], fits: bool) -> None:
    assert following.fits(source, {**SOURCE, "uid": "u1", "resourceVersion": "7"}) is fits
    assert not following.fits(source, None)
