# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which groups have one seed, and what is written for them."""

from __future__ import annotations

import io
import json
import tarfile
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.seed import build
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import push
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import seed_files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import values
from tests.sim.api.direct import Direct
from tests.support.api.objects import HEADER, node

CONFIG = {**HEADER, "maxPods": 50}
VARIANT = document.variant(CONFIG)
NAME = document.configmap_name("base", document.render(CONFIG))
HOST: dict[str, t.Any] = {
    "config_dir": "/var/lib/kubelet-config",
    "options": {"unit": "kubelet.service", "dropin_dir": "", "trial_seconds": 60},
    "follow": {},
}


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
        options = {
            "plan": plan(),
            "hosts": {"h1": HOST},
            "dest": str(self.folder),
            "formats": ["cloud-init", "ignition", "tar"],
            "program": True,
            "name": "base",
            "namespace": "kube-system",
            "key": "kubelet",
            "immutable": True,
            "keep_days": 9,
            **given,
        }
        return build.build(self.api, options, check_mode)

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
    assert sorted(path.name for path in group.folder.iterdir()) == names
    seed = group.seed()
    options = {**values.defaults(), **seed["options"]}
    assert values.source(options["source"]) == result["source"] and result["source"]["name"] == NAME
    assert document.parse(options["data"]["kubelet"], "data") == CONFIG
    assert (options["trial_seconds"], options["dropin_dir"], options["delivery"]) == (60, None, "checkpoint")
    assert not group.build(check_mode=True)["changed"] and not group.build()["changed"]


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
    group.build(program=False, hosts={"h1": {**HOST, "follow": follow}}, plan=rows)
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
        (
            {"plan": plan(row(), row(document.variant(OTHER)), configs=[CONFIG, OTHER])},
            "n1 and n2 differ in kubeAPIQPS, maxPods",
        ),
        ({"plan": plan(row(), row(delivery="dropin"))}, "n1 and n2 differ in delivery checkpoint and dropin"),
        ({"plan": plan(row(delivery="native"))}, "node n1 has delivery native"),
        ({"plan": plan(row(document.variant(SECRET)), configs=[SECRET])}, "^staticPodURLHeader holds secrets"),
        ({"plan": plan(row(document.variant(OF_MACHINE)), configs=[OF_MACHINE])}, "^podCIDR belongs to one machine"),
        ({"plan": plan(live=1)}, "own config file of a node was not read"),
        ({"hosts": {}}, "the group has no hosts"),
        ({"hosts": {"h1": HOST, "h2": {**HOST, "config_dir": "/x"}}}, "differ in config_dir, .* on h1 and '/x' on h2"),
        (
            {"hosts": {"h1": HOST, "h2": {**HOST, "options": {**HOST["options"], "unit": "k3s"}}}},
            "differ in unit, which is 'kubelet.service' on h1 and 'k3s' on h2",
        ),
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
