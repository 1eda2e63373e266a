# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The rules of the plan, compared with what real kubelets answered: no binary of a kubelet is needed here.

`python -m tests.support.record_facts` has recorded the answers; tests/e2e_modern/test_validation_rules.py asks again.
For versions that no lab ran, `tests.support.record_binary` has; tests/e2e_modern/test_binary_facts.py asks again.
"""

from __future__ import annotations

import pytest

from tests.support import asked_rules, binary_corpus

OF_BINARIES: dict[str, asked_rules.Answers] = {
    version: [(config, verdict) for config, verdict, _messages in binary_corpus.recorded_values(version)]
    for version in binary_corpus.WHOLE
}
RECORDED = {**OF_BINARIES, **asked_rules.recorded()}


@pytest.mark.parametrize("version", sorted({"v1.28.7", "v1.36.2", *RECORDED}))
def test_the_rules_agree_with_what_a_real_kubelet_answered(version: str) -> None:
    answers = RECORDED[version]
    assert {verdict for _config, verdict in answers} >= {"valid", "invalid"}
    assert asked_rules.wrong(answers, int(version.split(".")[1])) == []
