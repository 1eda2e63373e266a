# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Secrets are sealed where results have configurations, and open again for the modules of the same run only."""

from __future__ import annotations

import json
import multiprocessing
import typing as t

import pytest
import yaml
from cryptography.fernet import Fernet
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from ansible_collections.livenodes.kubelet.plugins.plugin_utils import sealed

SECRET = 'Bearer "4711"\\ü'
CONFIG = {"maxPods": 80, "staticPodURLHeader": {"Authorization": [SECRET], "X-Empty": [None, "********"]}}
FORMER = {"manifestURLHeader": {"Authorization": [SECRET]}}
PLAIN = {"maxPods": 80, "evictionHard": {"memory.available": "1Gi"}}
TEXT = document.render(CONFIG)


@pytest.mark.parametrize(
    "result",
    [
        {"variants": {"a": CONFIG, "b": PLAIN}},
        {"plan": {"variants": {"a": FORMER}, "nodes": {"n1": {"variant": "a"}}}},
        {"kubelet_configz": {"variants": {"a": CONFIG}, "nodes": {}}},
        {"ansible_facts": {"kubelet_configz": {"variants": {"a": CONFIG}, "nodes": {}}}},
        {"before": {"variants": {"a": CONFIG}, "nodes": {}}},
        {"configmap": CONFIG},
        {"configmaps": {"kube-system/a": {"kubelet": TEXT}, "kube-system/b": None}},
    ],
)
def test_results(result: dict[str, t.Any]) -> None:
    """The result is sealed, also after a second time, and the arguments that are made of it are as before."""
    found = sealed.seal(result)
    assert "4711" not in json.dumps(found) and sealed.has_sealed(found)
    assert sealed.seal(found) == found
    assert sealed.unseal(found) == result
    # Ansible sends results from process to process as JSON.
    assert sealed.unseal(json.loads(json.dumps(found))) == json.loads(json.dumps(result))


def test_what_has_no_secret_is_the_same_object() -> None:
    result = {"plan": {"variants": {"a": PLAIN}, "nodes": {"n1": {}}}, "msg": "staticPodURLHeader differs"}
    found = sealed.seal(result)
    assert found == result and found["plan"]["variants"]["a"] is PLAIN
    assert sealed.unseal(result) is result and not sealed.has_sealed(result)


@given(st.text())
def test_a_text_that_a_filter_made(secret: str) -> None:
    """The texts of a rollout in check mode are rendered from sealed variants."""
    config = {"staticPodURLHeader": {"Authorization": [secret]}, "maxPods": 1}
    (found,) = sealed.seal({"variants": {"a": config}})["variants"].values()
    assert sealed.unseal(document.render(found)) == document.render(config)


def test_a_text_of_a_user() -> None:
    (found,) = sealed.seal({"variants": {"a": CONFIG}})["variants"].values()
    assert yaml.safe_load(sealed.unseal(yaml.safe_dump(found, width=1000))) == CONFIG


@pytest.mark.parametrize("value", [CONFIG, TEXT, [PLAIN, CONFIG], "manifestURLHeader: {Authorization: [4711]}"])
def test_what_the_inventory_declares(value: t.Any) -> None:
    found = sealed.layer(value)
    assert "4711" not in json.dumps(found)
    assert sealed.unseal(found) == value
    assert sealed.layer(PLAIN) is PLAIN and sealed.layer("maxPods: 80") == "maxPods: 80"


@pytest.mark.parametrize(
    "value", ["--v=2 --manifest-url-header=A:4711", ["--manifest-url-header", "A:4711"], ["--manifest_url_header=4711"]]
)
def test_flags_of_the_inventory(value: t.Any) -> None:
    found = sealed.flags(value)
    assert "4711" not in json.dumps(found) and sealed.unseal(found) == value
    assert sealed.flags(["--v=2"]) == ["--v=2"]


def test_arguments_as_they_are_shown() -> None:
    shown = sealed.masked(
        {
            "variants": {"a": CONFIG},
            "configs": [FORMER, TEXT],
            "node_configs": {"n1": "maxPods: 80"},
            "flags": "--v=2 --manifest-url-header=A:4711",
            "nodes": ["n1"],
            "wait": True,
        }
    )
    assert "4711" not in json.dumps(shown)
    assert shown["variants"]["a"] == {
        "maxPods": 80,
        "staticPodURLHeader": {"Authorization": ["********"], "X-Empty": [None, "********"]},
    }
    assert (shown["node_configs"], shown["nodes"], shown["wait"]) == ({"n1": "maxPods: 80"}, ["n1"], True)


def test_another_run_cannot_open_it(monkeypatch: pytest.MonkeyPatch) -> None:
    found = sealed.seal({"configmap": CONFIG})
    monkeypatch.setattr(sealed, "_KEY", Fernet(Fernet.generate_key()))
    with pytest.raises(sealed.SealError, match="sealed by another run of Ansible"):
        sealed.unseal(found)


def _opens(found: t.Any, answer: t.Any) -> None:
    answer.put(sealed.unseal(found) == {"configmap": CONFIG})


def test_the_workers_of_a_run_share_the_key() -> None:
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    worker = context.Process(target=_opens, args=(sealed.seal({"configmap": CONFIG}), answer))
    worker.start()
    assert answer.get(timeout=60) is True
    worker.join()
