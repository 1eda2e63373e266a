# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which groups have one seed, and what is written for them: one file for each format, with the same in each."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import subprocess
import tarfile
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster import seed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import push
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import seed_files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import seeds, values
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch.seeds import Entry, Seed
from tests.sim.api.direct import Direct
from tests.support.api.objects import HEADER, node

CONFIG = {**HEADER, "maxPods": 50}
VARIANT = document.variant(CONFIG)
NAME = document.configmap_name("base", document.render(CONFIG))
OPTIONS = {"unit": "kubelet.service", "dropin_dir": "", "trial_seconds": 60}
HOST: dict[str, t.Any] = {"config_dir": "/var/lib/kubelet-config", "options": OPTIONS, "follow": {}}
PUSH = {"name": "base", "namespace": "kube-system", "key": "kubelet", "immutable": True, "keep_days": 9}
USUAL = {**PUSH, "formats": ["cloud-init", "ignition", "tar"], "program": True}


def row(variant: str = VARIANT, delivery: str = "checkpoint") -> dict[str, t.Any]:
    return {"variant": variant, "delivery": delivery}


def plan(*rows: dict[str, t.Any], configs: t.Sequence[dict[str, t.Any]] = (CONFIG,), live: int = 0) -> dict[str, t.Any]:
    """Return a plan with these rows for n1, n2 and so on."""
    nodes = {f"n{number}": found for number, found in enumerate(rows or (row(),), 1)}
    return {"nodes": nodes, "variants": {document.variant(one): one for one in configs}, "summary": {"from_live": live}}


class Group:
    """A cluster, and the folder of the seeds."""

    def __init__(self, folder: Path) -> None:
        self.api = Direct(node("n1"))
        self.folder = folder / "seeds"

    def build(self, check_mode: bool = False, **given: t.Any) -> dict[str, t.Any]:
        """Call the module."""
        options = {"plan": plan(), "hosts": {"h1": HOST}, "dest": str(self.folder), **USUAL, **given}
        return seed.build(self.api, options, check_mode)

    def seed(self) -> dict[str, t.Any]:
        """Return what the tar has as seed.json."""
        with tarfile.open(self.folder / "seed.tar.gz") as archive:
            inner = archive.extractfile(seed_files.content(HOST["config_dir"])[1:])
            assert inner is not None
            return t.cast("dict[str, t.Any]", json.load(io.TextIOWrapper(inner)))


@pytest.fixture
def group(tmp_path: Path) -> Group:
    return Group(tmp_path)


def test_one_file_for_each_format_and_nothing_the_second_time(group: Group) -> None:
    assert group.build(check_mode=True)["changed"] and not group.folder.exists() and not group.api.configmaps
    result = group.build()
    names = ["seed.cloud-init.yaml", "seed.ignition.json", "seed.tar.gz"]
    assert result["changed"] and [Path(path).name for path in result["files"]] == names
    assert result["sizes"] == {path: Path(path).stat().st_size for path in result["files"]}
    (warning,) = result["warnings"]
    assert "seed.cloud-init.yaml has " in warning and "seed.ignition.json has " in warning and "tar.gz" not in warning
    assert "look up the limit of yours. For a small seed set kubelet_config_seed_program: false" in warning
    assert sorted(path.name for path in group.folder.iterdir()) == names
    seed = group.seed()
    options = {**values.defaults(), **seed["options"]}
    assert values.source(options["source"]) == result["source"] and result["source"]["name"] == NAME
    assert document.parse(options["data"]["kubelet"], "data") == CONFIG
    assert (options["trial_seconds"], options["dropin_dir"], options["delivery"]) == (60, None, "checkpoint")
    assert not group.build(check_mode=True)["changed"] and not group.build()["changed"]


def test_spaces_between_the_formats(group: Group) -> None:
    """Ansible makes such a list of the text C(tar, ignition)."""
    files = group.build(formats=["tar", " ignition"])["files"]
    assert [Path(path).name for path in files] == ["seed.tar.gz", "seed.ignition.json"]


def test_a_configmap_that_was_there_is_marked_as_needed(group: Group) -> None:
    group.build()
    assert list(group.api.configmaps) == [NAME]
    before = group.api.configmaps[NAME]
    until = group.build(keep_days=20)["kept_until"]
    assert until == push.last_day(20) and sorted(group.api.configmaps) == [NAME, f"{NAME}-seed-{until}"]
    assert group.api.configmaps[NAME] == before


def test_without_the_program_only_the_seed_itself(group: Group) -> None:
    follow = {"namespace": "kube-system", "effect": "drain"}
    own = {**CONFIG, "tlsCertFile": "/var/lib/kubelet/pki/kubelet.crt"}
    rows = plan(row(document.variant(own), "dropin"), configs=[own])
    made = group.build(program=False, hosts={"h1": {**HOST, "follow": follow}}, plan=rows)
    assert made["warnings"] == []
    seed = group.seed()
    assert seed["follow"] == follow and seed["options"]["delivery"] == "dropin"
    # The certificate that a kubelet has made is its own.
    assert "tlsCertFile" not in seed["options"]["data"]["kubelet"] and list(group.api.configmaps) == [NAME]
    assert sum(path.stat().st_size for path in group.folder.iterdir()) < 8192


OTHER = {**HEADER, "maxPods": 60, "kubeAPIQPS": 9}
SECRET = {**HEADER, "staticPodURLHeader": {"Authorization": ["planted-secret"]}}
OF_MACHINE = {**HEADER, "podCIDR": "10.0.0.0/24"}


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ({"plan": plan(row(), row(document.variant(OTHER)), configs=[CONFIG, OTHER])}, "differ in kubeAPIQPS, maxPods"),
        ({"plan": plan(row(), row(delivery="dropin"))}, "n1 and n2 differ in delivery checkpoint and dropin"),
        ({"plan": plan(row(delivery="native"))}, "node n1 has delivery native"),
        ({"plan": plan(row(document.variant(SECRET)), configs=[SECRET])}, "^staticPodURLHeader holds secrets"),
        ({"plan": plan(row(document.variant(OF_MACHINE)), configs=[OF_MACHINE])}, "^podCIDR belongs to one machine"),
        ({"plan": plan(live=1)}, "own config file of a node was not read"),
        ({"hosts": {}}, "the group has no hosts"),
        ({"hosts": {"h1": HOST, "h2": None}}, "the value of host h2 is None.* Set a mapping with config_dir"),
        ({"hosts": {"h1": {"config_dir": "/x", "options": {}}}}, "the value of host h1 is .* options that have unit"),
        ({"hosts": {"h1": HOST, "h2": {**HOST, "config_dir": "/x"}}}, "differ in config_dir, .* on h1 and '/x' on h2"),
        (
            {"hosts": {"h1": HOST, "h2": {**HOST, "options": {**OPTIONS, "unit": "k3s"}}}},
            "differ in unit, which is 'kubelet.service' on h1 and 'k3s' on h2",
        ),
        # systemd would ignore the service, and the machine would join without a word.
        ({"hosts": {"h1": {**HOST, "config_dir": "/var/lib/a b"}}}, "^/var/lib/a b: a systemd unit cannot .* kubelet"),
        ({"formats": ["iso"]}, "no format iso"),
    ],
)
def test_what_has_no_seed(group: Group, given: dict[str, t.Any], wrong: str) -> None:
    with pytest.raises(ClusterError, match=wrong) as caught:
        group.build(**given)
    assert not group.folder.exists() and not group.api.configmaps and "planted" not in str(caught.value)


def test_a_folder_that_cannot_be_written(group: Group) -> None:
    group.folder.write_text("")
    with pytest.raises(ClusterError, match=r"seed.cloud-init.yaml cannot be written: .*kubelet_config_seed_dest"):
        group.build()


ENTRIES = seeds.entries("/var/lib/kubelet-config", "kubelet.service", Seed(options={"data": {"kubelet": "{}"}}))


def test_a_tar_has_the_files_of_root() -> None:
    with tarfile.open(fileobj=io.BytesIO(seed.tar(ENTRIES))) as archive:
        found = []
        for member in archive:
            inner = archive.extractfile(member) if member.isfile() else None
            mode = 0o700 if member.issym() else member.mode
            assert (member.uid, member.gid) == (0, 0)
            found.append(Entry(f"/{member.name}", mode, inner.read() if inner else None, member.linkname))
    assert found == ENTRIES


def test_a_tar_has_room_for_a_long_name() -> None:
    """A tar of POSIX.1-1988 has none for a name of more than 100 bytes, and for a path of more than 255."""
    place = f"/var/{'a' * 120}/{'b' * 150}"
    long = seeds.entries(place, "kubelet.service", Seed(), with_program=False)
    with tarfile.open(fileobj=io.BytesIO(seed.tar(long))) as archive:
        assert [f"/{name}" for name in archive.getnames()] == [entry.path for entry in long]


def test_ignition_writes_the_same() -> None:
    value = json.loads(seed.ignition(ENTRIES))
    storage, found = value["storage"], {}
    for item in storage["files"]:
        encoded = item["contents"]["source"].partition("data:;base64,")[2]
        found[item["path"]] = Entry(item["path"], item["mode"], gzip.decompress(base64.b64decode(encoded)))
    for item in storage["directories"]:
        found[item["path"]] = Entry(item["path"], item["mode"])
    for item in storage["links"]:
        found[item["path"]] = Entry(item["path"], link=item["target"])
    assert found == {entry.path: entry for entry in ENTRIES} and value["ignition"]["version"] == "3.0.0"


def test_cloud_init_unpacks_the_same_once_and_starts_the_service(tmp_path: Path) -> None:
    """The command runs here as a script, in a root folder below this one, with stand-ins for systemctl and for the
    folder of cloud-init. A folder of the image that is a link stays one, and the machine names it as what is wrong.
    """
    text = seed.cloud_init(ENTRIES).decode()
    assert text.startswith("#cloud-config\n")
    # Commands of an earlier part of the user data stay.
    assert {"name": "list", "settings": ["append"]} in yaml.safe_load(text)["merge_how"]
    (command,) = yaml.safe_load(text)["bootcmd"]
    root, behind = tmp_path / "root", tmp_path / "root/data"
    behind.mkdir(parents=True)
    (root / "var/lib").mkdir(parents=True)
    (root / "var/lib/kubelet-config").symlink_to("../../data")
    here = command.replace("/var/lib/cloud/instance", str(tmp_path)).replace(" -C / ", f" -C {root} ")
    (tmp_path / "script").write_text(here)
    (tmp_path / "bin").mkdir()
    log = f'echo "$(basename $0) $*" >> {tmp_path}/asked'
    for name in ("systemctl", "sync"):
        (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{log}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
    for _boot in range(2):
        subprocess.run(["sh", tmp_path / "script"], check=True, env=environment)
    for entry in ENTRIES:
        place = root / entry.path[1:]
        assert (os.readlink(place) if entry.link else "") == entry.link
        assert entry.data is None or place.read_bytes() == entry.data
    assert (root / "var/lib/kubelet-config").is_symlink() and (behind / "seed/seed.json").is_file()
    asked = (tmp_path / "asked").read_text().splitlines()
    # A power cut must not leave the note that all is done beside empty files.
    assert asked == ["sync ", "systemctl daemon-reload", "systemctl start --no-block livenodes-kubelet-seed.service"]


@pytest.mark.parametrize("name", seed.BY_NAME)
def test_equal_seeds_are_equal_files(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write: t.Callable[[t.Sequence[Entry]], bytes] = seed.BY_NAME[name][1]
    before = write(ENTRIES)
    monkeypatch.setattr("time.time", lambda: 1.0)
    assert write(ENTRIES) == before
