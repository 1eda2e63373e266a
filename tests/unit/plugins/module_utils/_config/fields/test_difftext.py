# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import difftext

SECRET = {"maxPods": 1, "staticPodURLHeader": {"Authorization": ["hunter2"]}}


def test_secrets_are_masked_but_their_shape_is_seen() -> None:
    assert difftext.masked(SECRET) == {"maxPods": 1, "staticPodURLHeader": {"Authorization": ["********"]}}
    assert difftext.mask("staticPodURLHeader.Authorization", ["hunter2"]) == ["********"]
    assert difftext.mask("staticPodURLHeader.Authorization", None) is None
    assert difftext.mask("maxPods", 5) == 5
    assert difftext.mask("staticPodURL", "https://u:hunter2@h/pods?token=hunter3") == "********"
    assert difftext.mask("manifestURLHeader.Authorization", ["hunter2"]) == ["********"], "its former name"
    assert difftext.mask('manifestURLHeader["X.Token"]', ["hunter2"]) == ["********"]
    assert difftext.masked({"manifestURLHeader": {"X": ["hunter2"]}}) == {"manifestURLHeader": {"X": ["********"]}}


@pytest.mark.parametrize("name", ["{{ x }}", "", "a.b", "[0]", 'a"b', "(top level)", ".."])
def test_a_name_that_is_no_path_is_shown(name: str) -> None:
    """A kubelet may serve fields of any name."""
    assert difftext.masked({name: {"a": 1}, **SECRET})[name] == {"a": 1}


def test_diff_is_ansibles() -> None:
    entry = difftext.diff(None, SECRET, "nothing", "node n1")
    text = entry["after"]
    assert '"maxPods": 1' in text and "hunter2" not in text
    assert entry == {"before": "", "after": text, "before_header": "nothing", "after_header": "node n1"}
    assert difftext.diff(SECRET, None, "a", "b") == {
        "before": text,
        "after": "",
        "before_header": "a",
        "after_header": "b",
    }


def test_keys_that_are_no_names() -> None:
    """A file may have any key, and a kubelet may ignore it."""
    config = {"\\staticPodURLHeader": 1, "two words": {"a": 2}, "a.b[0]": 3, "": 4}
    assert difftext.masked(config) == config
