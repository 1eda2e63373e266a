# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The page."""

from __future__ import annotations

import json

import pytest

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import output
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.page import page
from tests.support.report.played_rollout import Played


@pytest.mark.parametrize(
    "evil", ["</script><script>x()</script>", "<!--<script>", "<b>", "&lt;", '" onclick="x()', "{{data}}", "\\u003c"]
)
def test_text_from_outside_never_is_markup(evil: str) -> None:
    made = Played(3, {evil: (evil, evil)}, [evil, "n2", "n3"]).rollout
    made.group = evil
    made.end(made.ended)
    plain, odd = (
        page.make(output.document(one)) for one in (Played(3, {"n1": ("n1", "n1")}, ["n1", "n2", "n3"]).rollout, made)
    )
    assert odd.count("<script") == plain.count("<script") and odd.count("</script") == plain.count("</script")
    assert odd.count("<!--") == plain.count("<!--")
    assert "<b>&" not in odd and "onclick=" not in odd.replace("&quot; onclick=", "").replace('\\" onclick=', "")
    data = json.loads(odd.partition('id="data">')[2].partition("</script>")[0])
    assert evil in [row[0] for row in data["nodes"]]


def test_failures_that_differ_in_the_name_only_are_one_card() -> None:
    names = [f"n{number}" for number in range(1, 31)]
    made = Played(30, {name: ("differs", f"Node {name}: a flag wins") for name in names}, names).rollout
    made.end(made.ended)
    words = page.make(output.document(made))
    assert words.count('<article class="card bad">') == 1
    assert "18 more" in words
