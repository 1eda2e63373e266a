# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stage push: what becomes a ConfigMap, and what cannot."""

from __future__ import annotations

import datetime
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import push
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.annotation import PREFIX
from tests.support.api.calls import CONFIGMAPS, DRY, Call, Calls
from tests.support.api.objects import HEADER, configmap, reference, text

CONFIG = {**HEADER, "maxPods": 50}
VARIANT = document.variant(CONFIG)
TEXT = document.render(CONFIG)
NAME = document.configmap_name("base", TEXT)
GONE = ApiError(404, "not found", "NotFound")
STAGED = f"{PREFIX}staged-until"


def options(**given: t.Any) -> dict[str, t.Any]:
    return {
        "state": "present",
        "variants": None,
        "src": None,
        "name": "base",
        "namespace": "kube-system",
        "key": "kubelet",
        "immutable": True,
        "keep_days": 0,
        **given,
    }


def body(name: str = NAME, content: str = TEXT, **fields: t.Any) -> dict[str, t.Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "data": {"kubelet": content},
        "immutable": True,
        "metadata": {
            "namespace": "kube-system",
            "name": name,
            "labels": {"app.kubernetes.io/managed-by": "livenodes.kubelet"},
            "annotations": {f"{PREFIX}variant": VARIANT},
        },
        **fields,
    }


def get(answer: t.Any, name: str = NAME) -> Call:
    return Call("GET", f"{CONFIGMAPS}/{name}", answer)


@pytest.mark.parametrize(("check_mode", "query"), [(False, ()), (True, DRY)])
def test_creates_what_is_not_there(check_mode: bool, query: t.Any) -> None:
    """Check mode is a dry run."""
    post = Call("POST", CONFIGMAPS, configmap(NAME, TEXT), query, body())
    with Calls(get(GONE), post) as session:
        result = push.push(session, options(variants={VARIANT: CONFIG}), check_mode)
    assert result["changed"]
    assert result["configmaps"] == {VARIANT: {"changed": True, "variant": VARIANT, **reference(NAME)}}
    assert result["summary"] == {"configmaps": 1, "created": 1}
    (diff,) = result["diff"]
    assert (diff["before"], diff["after"], NAME in diff["after_header"]) == ("", TEXT, True)


@pytest.mark.parametrize("given", [CONFIG, {"maxPods": 50}])
def test_one_configuration_and_its_source(given: dict[str, t.Any]) -> None:
    """Its kind and apiVersion may be omitted. The source is what node_config_source takes."""
    with Calls(get(configmap(NAME, TEXT))) as session:
        result = push.push(session, options(config=given), False)
    assert result["source"] == reference(NAME) and result["diff"] == []
    assert result["configmaps"] == {VARIANT: {"changed": False, "variant": VARIANT, **reference(NAME)}}


def test_mutable() -> None:
    expected = body()
    del expected["immutable"]
    with Calls(get(GONE), Call("POST", CONFIGMAPS, configmap(NAME, TEXT), (), expected)) as session:
        push.push(session, options(variants={VARIANT: CONFIG}, immutable=False), False)


def test_nothing_to_push() -> None:
    """What a plan without changes asks for."""
    with Calls() as session:
        assert push.push(session, options(variants={}), False)["changed"] is False


THEIRS = configmap(NAME, text(maxPods=51))


@pytest.mark.parametrize(
    "calls",
    [
        [get(THEIRS)],
        [get(configmap(NAME, TEXT, data={}))],
        [get(configmap(NAME, TEXT, data=None))],
        [get(configmap(NAME, TEXT, data={"kubelet": TEXT, "other": ""}))],
        [get(configmap(NAME, TEXT, binaryData={"other": "AAAA"}))],
        # Another writer has created it since.
        [get(GONE), Call("POST", CONFIGMAPS, ApiError(409, "exists", "AlreadyExists"), (), body()), get(THEIRS)],
    ],
)
def test_content_of_another_writer(calls: list[Call]) -> None:
    """It is neither used nor overwritten."""
    words = f"kube-system/{NAME}: its content does not match the hash in its name"
    with Calls(*calls) as session, pytest.raises(ClusterError, match=words):
        push.push(session, options(variants={VARIANT: CONFIG}), False)


LARGE = {**HEADER, "staticPodPath": "x" * (1 << 20)}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"config": {"kind": "Node"}}, "config"),
        ({"config": {7: "maxPods"}}, "config: the key 7 is not text"),
        ({"variants": {document.variant(HEADER): HEADER, "0123456789": CONFIG}}, f"0123456789 has the hash {VARIANT}"),
        ({"variants": {document.variant(LARGE): LARGE}}, "1 MiB"),
        ({"variants": {VARIANT: CONFIG}, "keep_days": 99_999_999}, "keep_days is 99999999: use at most 3650"),
    ],
)
def test_what_cannot_be_pushed(given: dict[str, t.Any], words: str) -> None:
    """Nothing is written, not even what is right."""
    with Calls() as session, pytest.raises(ClusterError, match=words):
        push.push(session, options(**given), False)


def test_one_refusal_does_not_hide_what_was_made() -> None:
    other = document.configmap_name("base", document.render(HEADER))
    calls = get(ApiError(403, "forbidden"), other), get(configmap(NAME, TEXT))
    with Calls(*calls) as session, pytest.raises(ClusterError) as caught:
        push.push(session, options(variants={document.variant(HEADER): HEADER, VARIANT: CONFIG}), False)
    assert (
        caught.value.message
        == f"pushing variants: 1 of 2 ConfigMaps could not be created.\nkube-system/{other}: forbidden"
    )
    assert list(caught.value.result["configmaps"]) == [VARIANT]


def test_file_is_pushed_byte_by_byte(tmp_path: Path) -> None:
    """So that the name is the one that kubectl gives to the same file."""
    content = "# ours\nkind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: 50\n"
    path = tmp_path / "kubelet.yaml"
    path.write_text(content)
    name = document.configmap_name("base", content)
    with Calls(get(GONE, name), Call("POST", CONFIGMAPS, configmap(name, content), (), body(name, content))) as session:
        result = push.push(session, options(src=[str(path)]), False)
        assert [row["variant"] for row in result["configmaps"].values()] == [VARIANT]
        assert list(result["configmaps"]) == [str(path)]


@pytest.mark.parametrize(
    ("content", "text_"),
    [(None, "cannot read"), (b"", "empty"), (b"\xff", "not UTF-8"), (b"maxPods: 1\n", "apiVersion is missing")],
)
def test_files_that_cannot_be_used(content: bytes | None, text_: str, tmp_path: Path) -> None:
    path = tmp_path / "kubelet.yaml"
    if content is not None:
        path.write_bytes(content)
    with Calls() as session, pytest.raises(ClusterError, match=rf"^src: .*{text_}") as caught:
        push.push(session, options(src=[str(path)], variants={VARIANT: CONFIG}), False)
    assert str(path) in caught.value.message


def test_secrets_are_masked_in_the_diff() -> None:
    """The ConfigMap itself has them, of course."""
    config = {**HEADER, "staticPodURLHeader": {"Authorization": ["hunter2"]}}
    content = document.render(config)
    name, variant = document.configmap_name("base", content), document.variant(config)
    expected = body(name, content)
    expected["metadata"]["annotations"][f"{PREFIX}variant"] = variant
    with Calls(get(GONE, name), Call("POST", CONFIGMAPS, configmap(name, content), (), expected)) as session:
        result = push.push(session, options(variants={variant: config}), False)
    (diff,) = result["diff"]
    assert "Authorization" in diff["after"]
    assert "hunter2" not in str(result)


def test_a_staged_configmap_is_marked_when_it_is_created_only() -> None:
    """A later write would change its resourceVersion, and kubelets with native delivery that run it would restart."""
    until = datetime.datetime.now(datetime.UTC).date() + datetime.timedelta(days=7)
    labels = {"app.kubernetes.io/managed-by": "livenodes.kubelet", STAGED: until.isoformat()}
    marked = body()
    marked["metadata"] = {**marked["metadata"], "labels": labels}
    wanted = options(variants={VARIANT: CONFIG}, keep_days=7)
    with Calls(get(GONE), Call("POST", CONFIGMAPS, configmap(NAME, TEXT), body=marked)) as session:
        assert push.push(session, wanted, False)["changed"]
    with Calls(get(configmap(NAME, TEXT))) as session:
        assert not push.push(session, wanted, False)["changed"]
