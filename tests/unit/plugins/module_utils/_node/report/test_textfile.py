# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The file for node_exporter: whole, readable, and never written through a link that another user planted; in it the
status with names, labels and values of kubelets 1.11 to 1.23, in a format that Prometheus reads.
"""

from __future__ import annotations

import errno
import os
import stat
import typing as t
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_annotation, textfile
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import FileError
from tests.support.report import exposition


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "textfile"
    place.mkdir()
    return place


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o000])
def test_the_file_is_readable_for_all_whatever_the_umask(folder: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        textfile.write(str(folder), "a 1\n")
    finally:
        os.umask(before)
    path = folder / textfile.NAME
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("a 1\n", 0o644)
    assert names(folder) == [textfile.NAME]


def test_node_exporter_reads_only_the_finished_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    textfile.write(str(folder), "old\n")
    seen = []
    rename = os.rename

    def watched(source: str, target: str, **folders: int) -> None:
        seen.append((names(folder), (folder / source).read_text(), (folder / target).read_text()))
        assert stat.S_IMODE((folder / source).stat().st_mode) == 0o644
        rename(source, target, **folders)

    monkeypatch.setattr(os, "rename", watched)
    textfile.write(str(folder), "new\n")
    assert seen == [([textfile.TEMPORARY, textfile.NAME], "new\n", "old\n")]
    assert not textfile.TEMPORARY.endswith(".prom")
    assert (folder / textfile.NAME).read_text() == "new\n"


@pytest.mark.parametrize("name", [textfile.NAME, textfile.TEMPORARY])
@pytest.mark.parametrize("kind", ["link", "dangling link", "pipe"])
def test_what_is_planted_under_its_names_is_replaced_and_not_followed(folder: Path, name: str, kind: str) -> None:
    victim = folder.parent / "victim"
    if kind == "link":
        victim.write_text("root's\n")
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to(victim)
    textfile.write(str(folder), "a 1\n")
    assert names(folder) == [textfile.NAME] and not (folder / textfile.NAME).is_symlink()
    assert (folder / textfile.NAME).read_text() == "a 1\n"
    assert (victim.read_text() == "root's\n") if kind == "link" else not victim.exists()


@pytest.mark.parametrize("name", [textfile.NAME, textfile.TEMPORARY])
def test_a_folder_under_its_names_is_an_error_and_stays(folder: Path, name: str) -> None:
    (folder / name).mkdir()
    with pytest.raises(FileError, match=f"^{folder}/{textfile.NAME}: cannot write: "):
        textfile.write(str(folder), "a 1\n")
    assert names(folder) == [name]


def test_a_folder_that_is_a_link_is_refused(folder: Path) -> None:
    link = folder.parent / "link"
    link.symlink_to(folder)
    for act in (lambda: textfile.write(str(link), "a 1\n"), lambda: textfile.remove(str(link))):
        with pytest.raises(FileError, match=f"^{link}: is a link or no folder; name the folder itself$"):
            act()
    assert names(folder) == []


def test_a_folder_that_is_swapped_for_a_link_while_we_write(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = folder.parent / "other"
    other.mkdir()
    unlink = os.unlink

    def swapped(*given: t.Any, **more: t.Any) -> None:
        if not folder.is_symlink():
            folder.rename(folder.parent / "moved")
            folder.symlink_to(other)
        unlink(*given, **more)

    monkeypatch.setattr(os, "unlink", swapped)
    textfile.write(str(folder), "a 1\n")
    assert names(other) == [] and names(folder.parent / "moved") == [textfile.NAME]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/nowhere", "does not exist; create this folder, or name another one"),
        ("/nowhere/deeper", "does not exist"),
        ("/proc/version", "is a link or no folder"),
        ("textfile", "is not an absolute path"),
    ],
)
def test_a_folder_that_is_none(path: str, words: str) -> None:
    with pytest.raises(FileError, match=words):
        textfile.write(path, "a 1\n")
    assert not textfile.exists(path)


@pytest.mark.parametrize("call", ["fchmod", "fsync", "rename"])
def test_a_full_disk_leaves_the_former_file(folder: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    textfile.write(str(folder), "old\n")

    def full(*_given: object, **_more: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(FileError, match="cannot write: No space left on device; free some space"):
            textfile.write(str(folder), "new\n")
    assert names(folder) == [textfile.NAME] and (folder / textfile.NAME).read_text() == "old\n"


def test_what_is_no_text_is_written_as_question_marks_and_removed(folder: Path) -> None:
    textfile.write(str(folder), "a\udc80\n")
    assert (folder / textfile.NAME).read_bytes() == b"a?\n"
    (folder / textfile.TEMPORARY).touch()
    (folder / "other.prom").touch()
    for _time in range(2):
        textfile.remove(str(folder))
        assert names(folder) == ["other.prom"]
    textfile.remove(str(folder.parent / "nowhere"))


NEW = {"namespace": "kube-system", "name": "c", "uid": "u2", "resourceVersion": "7", "kubeletConfigKey": "kubelet"}
OLD = {**NEW, "name": "b", "uid": "u1", "resourceVersion": "5"}


def labels(source: dict[str, str] | None) -> dict[str, str]:
    """Return the labels of a source; each is empty for the local configuration, but its source."""
    found = source or dict.fromkeys(NEW, "")
    path = f"/api/v1/namespaces/{found['namespace']}/configmaps/{found['name']}"
    return {
        "node_config_kubelet_key": found["kubeletConfigKey"],
        "node_config_resource_version": found["resourceVersion"],
        "node_config_uid": found["uid"],
        "node_config_source": path if source else "local",
    }


def text(assigned: t.Any, active: t.Any, good: t.Any, error: str) -> str:
    return textfile.metrics(status_annotation.status(assigned, active, good, error, "a reason", 0))


@pytest.mark.parametrize(
    ("assigned", "active", "good", "error"),
    [
        pytest.param(None, None, None, "", id="local"),
        pytest.param(NEW, NEW, OLD, "", id="on trial"),
        pytest.param(NEW, OLD, OLD, "it ended", id="reverted to last-known-good"),
    ],
)
def test_each_status(assigned: t.Any, active: t.Any, good: t.Any, error: str) -> None:
    assert exposition.samples(text(assigned, active, good, error)) == [
        ("kubelet_node_config_assigned", labels(assigned), 1),
        ("kubelet_node_config_active", labels(active), 1),
        ("kubelet_node_config_last_known_good", labels(good), 1),
        ("kubelet_node_config_error", {}, int(bool(error))),
    ]


def test_one_line_as_the_kubelet_served_it() -> None:
    assert (
        'kubelet_node_config_active{node_config_kubelet_key="kubelet",node_config_resource_version="7",'
        'node_config_source="/api/v1/namespaces/kube-system/configmaps/c",node_config_uid="u2"} 1\n'
    ) in text(NEW, NEW, None, "")


def test_the_error_itself_is_not_shown() -> None:
    """Every user of the node may read the file, and an error can quote a value."""
    assert "token" not in text(NEW, None, None, "token=1")


@pytest.mark.parametrize("status", [{}, {"assigned": None}, {"assigned": {}}, {"error": ""}])
def test_what_is_absent_is_local(status: dict[str, t.Any]) -> None:
    assert textfile.metrics(status) == text(None, None, None, "")


@given(st.text())
@example('a"b\\c\nd\\n')
def test_every_value_of_a_label_can_be_read_back(value: str) -> None:
    found = exposition.samples(text({**NEW, "name": value, "kubeletConfigKey": value}, None, None, ""))
    assert found[0].labels["node_config_source"] == f"/api/v1/namespaces/kube-system/configmaps/{value}"
    assert found[0].labels["node_config_kubelet_key"] == value
    assert found[1:] == exposition.samples(text(None, None, None, ""))[1:]


HEAD = "# HELP a b\n# TYPE a gauge\n"


@pytest.mark.parametrize(
    "wrong",
    [
        *("", "a 1", "a 1\n", "# TYPE a gauge\na 1\n"),
        *(f"{HEAD}a 2\n", f"{HEAD}b 1\n", f"{HEAD}a 1\n\n", f"{HEAD}a 1\n# HELP a b\n"),
        *(f'{HEAD}a{{b="c"d"}} 1\n', f'{HEAD}a{{b="\\c"}} 1\n', f'{HEAD}a{{b="c",b="d"}} 1\n'),
    ],
)
def test_the_reader_of_these_tests_is_strict(wrong: str) -> None:
    with pytest.raises(ValueError):
        exposition.samples(wrong)
