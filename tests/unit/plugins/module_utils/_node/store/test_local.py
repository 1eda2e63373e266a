# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The saved local configuration: what is saved, renewed, laid over, and what a damaged copy means."""

from __future__ import annotations

import json
import os
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import local
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.local import File, LocalStore
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import FileError, StoreError
from tests.support.node.stored import CONFIG, LOCAL, Owners, under

LINK = "/etc/kubelet.d/90-livenodes-kubelet.conf"
ENVIRONMENT = "/etc/default/kubelet"


@pytest.fixture
def saved(tmp_path: Path) -> LocalStore:
    """Two files, one of which did not exist, under another key than the usual one."""
    (tmp_path / "store").mkdir(mode=0o700)
    found = LocalStore(str(tmp_path / "store" / "local"), Owners())
    assert found.remember({CONFIG: File(LOCAL, 0o640, 7, 8), ENVIRONMENT: File(None)}, CONFIG, "kubelet.yaml")
    return found


def content(saved: LocalStore) -> dict[str, bytes]:
    folder = Path(saved.folder)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_saved(saved: LocalStore) -> None:
    assert saved.verify() == (CONFIG, "kubelet.yaml", {CONFIG: (LOCAL, 0o640, 7, 8), ENVIRONMENT: (None, 0o644, 0, 0)})
    # Sorted by path: the first one did not exist.
    assert sorted(content(saved)) == ["config/kubelet.yaml", "files/1", "manifest"]
    assert not saved.remember({CONFIG: File(b"other: 1\n")}, CONFIG, "kubelet")
    assert saved.verify().key == "kubelet.yaml"


def test_a_forecast_saves_nothing(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir(mode=0o700)
    new = LocalStore(str(tmp_path / "store" / "local"), Owners())
    assert new.remember({CONFIG: File(LOCAL)}, CONFIG, "kubelet", pretend=True)
    assert not new.exists() and new.read() is None
    for absent in ({}, {CONFIG: File(None)}):
        with pytest.raises(StoreError, match="no kubelet config file"):
            new.remember(absent, CONFIG, "kubelet", pretend=True)
    with pytest.raises(StoreError, match="not saved yet"):
        new.offer()


def test_renewing_replaces_all(saved: LocalStore) -> None:
    now = {CONFIG: File(b"maxPods: 7\n", 0o600, 1, 2)}
    before = content(saved)
    saved.renew(now, CONFIG, "kubelet", pretend=True)
    assert content(saved) == before
    with pytest.raises(StoreError, match="make it absolute first"):
        saved.renew({CONFIG: File(b"resolvConf: here\n")}, CONFIG, "kubelet", pretend=True)
    saved.renew(now, CONFIG, "kubelet")
    assert saved.verify() == (CONFIG, "kubelet", now)
    assert sorted(content(saved)) == ["config/kubelet", "files/0", "manifest"]
    assert [path.name for path in Path(saved.folder).parent.iterdir()] == ["local"]


def test_an_override_of_nothing_is_laid_over(saved: LocalStore) -> None:
    saved.lay_over(LINK)
    known = saved.verify()
    assert (known.config, known.key, list(known.files)) == (LINK, "kubelet.yaml", [ENVIRONMENT, CONFIG, LINK])
    assert known.files[LINK] == (local.OVERRIDE, 0o600, 0, 0) and known.files[CONFIG].data == LOCAL
    assert content(saved)["config/kubelet.yaml"] == local.OVERRIDE


def damage(saved: LocalStore, **changes: t.Any) -> None:
    """Change the manifest."""
    path = Path(saved.folder, "manifest")
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


@pytest.mark.usefixtures("no_garbage")
def test_what_is_damaged_is_named(saved: LocalStore) -> None:
    file = Path(saved.folder, "files", "1")
    file.write_bytes(b"other")
    for follows in (file.unlink, lambda: file.write_bytes(LOCAL)):
        with pytest.raises(StoreError, match=rf"files/1 \({CONFIG}\) does not match its digest"):
            saved.read()
        follows()
    damage(saved, config="/other")
    for read in (saved.read, saved.verify):
        with pytest.raises(StoreError, match="manifest lacks the kubelet's config file /other"):
            read()
    damage(saved, key="../x")
    with pytest.raises(StoreError, match=r"manifest is damaged \(SourceError: key '../x'"):
        saved.read()
    for text in ("{}", "[]", "{", "", "[" * 200_000):
        Path(saved.folder, "manifest").write_text(text)
        with pytest.raises(StoreError, match="manifest is damaged"):
            saved.read()


@pytest.mark.parametrize(
    "wrong", [{"config": ["/etc/config"]}, {"key": 5}, {"files": 5}, {"files": [5]}, {"mode": "0644"}, {"path": {}}]
)
def test_a_manifest_with_values_of_another_type_is_damaged(saved: LocalStore, wrong: dict[str, t.Any]) -> None:
    entries = json.loads(Path(saved.folder, "manifest").read_text())["files"]
    known = {name: value for name, value in wrong.items() if name not in ("mode", "path")}
    damage(saved, **(known or {"files": [{**entries[0], **wrong}, *entries[1:]]}))
    for read in (saved.read, saved.verify, saved.offer):
        with pytest.raises(StoreError, match="manifest is damaged"):
            read()


def test_what_the_kubelet_would_read_is_restored(saved: LocalStore) -> None:
    (Path(saved.config) / "kubelet.yaml").unlink()
    Path(saved.config).rmdir()
    with pytest.raises(StoreError, match=r"config/kubelet.yaml is not the local configuration"):
        saved.verify()
    assert saved.offer().key == "kubelet.yaml"
    assert content(saved)["config/kubelet.yaml"] == LOCAL


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('staticPodPath: "a/b"', "'a/b'"),
        ("{'clientCAFile': ca.crt, other: 1}", "'ca.crt'"),
        ("tlsCertFile :\t\ttls.crt # why", "'tls.crt'"),
        ("tlsPrivateKeyFile: \udce4", None),
        ("volumePluginDir: 'x'", "'x'"),
        ('{"resolvConf": "resolv.conf"}', "'resolv.conf'"),
        ("authentication:\n  x509:\n    clientCAFile: pki/ca.crt\n", "'pki/ca.crt'"),
        ("resolvConf: null\nstaticPodPath: a\n", "'a'"),
        ("clusterDNS: &dns [10.0.0.1]\nresolvConf: null\nstaticPodPath: a\n", "'a'"),
        ("staticPodPath:\n  a\n", "'a'"),
    ],
)
def test_a_relative_path_is_named(text: str, path: str | None) -> None:
    data = text.encode("utf-8", "surrogateescape")
    with pytest.raises(StoreError, match=rf"^{CONFIG}: \w+ is the relative path {path or '.*'}, which names"):
        local._fit({CONFIG: File(data)}, CONFIG, "kubelet")


@pytest.mark.parametrize("name", sorted(path.rpartition(".")[2] for path, one in fields.ALL.items() if one.path_ref))
def test_every_field_that_a_kubelet_resolves_beside_its_file(name: str) -> None:
    """podLogsDir is one of them since 1.30."""
    with pytest.raises(StoreError, match=rf"{name} is the relative path 'x/y', .*: make it absolute first"):
        local._fit({CONFIG: File(f"{name}: x/y\n".encode())}, CONFIG, "kubelet")


ABSOLUTE = ["staticPodPath: /etc/manifests\n", 'resolvConf: ""\n', "tlsCertFile: null\n", "clientCAFile: '/a'\n"]
UNREAD = ["# staticPodPath: a\nmaxPods: 1\n", "maxPods: 1 # not clientCAFile: a\n", "maxPods: 1\n---\nresolvConf: a\n"]


@pytest.mark.parametrize(
    "text",
    [
        *("resolvConf: |", "resolvConf: >", "resolvConf: ~", "resolvConf: Null", "resolvConf:", "other: resolvConf"),
        *(*ABSOLUTE, *UNREAD),
    ],
)
def test_what_is_no_relative_path(text: str) -> None:
    assert local._fit({CONFIG: File(text.encode())}, CONFIG, "kubelet") == text.encode()


def test_files_are_taken_as_they_are(tmp_path: Path) -> None:
    """Byte for byte, and through links. In the place of our link there was nothing."""
    own, link = tmp_path / "own", tmp_path / "link"
    own.write_bytes(b"kind: X\n\xff\r\n")
    own.chmod(0o640)
    link.symlink_to(own)
    taken = local.take(str(link))
    assert taken == (b"kind: X\n\xff\r\n", 0o640, os.geteuid(), os.getegid())
    saved = LocalStore(str(tmp_path / "local"), Owners())
    assert saved.remember({CONFIG: taken}, CONFIG, "kubelet") and saved.verify().files == {CONFIG: taken}
    assert local.take(str(tmp_path / local.LINK)) == (local.OVERRIDE, 0o644, 0, 0)
    assert local.take(str(tmp_path / "none")) == (None, 0o644, 0, 0)
    with pytest.raises(FileError, match=rf"^{tmp_path}: cannot read: Is a directory"):
        local.take(str(tmp_path))


def test_a_forecast_of_a_fresh_copy_changes_nothing(store: Store, tmp_path: Path) -> None:
    own = tmp_path / "k.yaml"
    own.write_text("maxPods: 7\n")
    known = store.local()
    assert store.refresh_local(str(own), pretend=True) and store.local() == known
    assert store.refresh_local(str(own)) and store.local() != known
    assert not store.refresh_local(str(own), pretend=True)
    assert not Store(str(tmp_path / "new")).refresh_local(str(own))


def test_a_lost_local_configuration_is_the_file_of_the_node(store: Store, tmp_path: Path) -> None:
    """Only if none is saved any more, and under the name that the kubelet reads."""
    own = tmp_path / "k.yaml"
    own.write_text("maxPods: 7\n")
    store.renew_local(str(own), "kubelet.yaml")
    known = store.local()
    assert known is not None and known.key == "kubelet" and known.config == CONFIG
    under(store, "store", "local", "manifest").write_bytes(b"{")
    store.renew_local(str(own), "kubelet.yaml")
    known = store.local()
    assert known is not None and known.key == "kubelet.yaml"
    assert {path: file.data for path, file in known.files.items()} == {str(own): b"maxPods: 7\n"}
