# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What prevents delivery `dropin`, by name; tests/e2e_modern asks a real kubelet about the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import merged_dropins
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import overridden
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host.dropin_look import Seen
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.dropin_folder import Folder

OURS = Folder("/store/conf.d", "us", False, False)
UNIT = Folder("/etc/k.d", "unit", True, False)


def seen(folder: Folder = OURS, base: dict[str, Any] | None = None, **more: Any) -> Seen:
    values: dict[str, Any] = {"unreadable": "", "others": {}, "linked": False, **more}
    return Seen(folder, ["kubelet"], "/own.yaml", base or {}, **values)


@pytest.mark.parametrize(
    ("declared", "found", "minor", "words"),
    [
        ({"maxPods": 5}, seen(), 36, ""),
        ({"maxPods": 5}, seen(), None, ""),
        ({"maxPods": 5}, seen(), 30, ""),
        ({"maxPods": 5}, seen(), 29, "a kubelet of 1.29 reads no drop-in folder"),
        ({"resolvConf": "/a"}, seen(), 31, "resolvConf: a kubelet of 1.31 ignores it"),
        ({"resolvConf": "/a"}, seen(), 32, ""),
        ({"evictionHard": None}, seen(), 36, "evictionHard: null in a drop-in leaves the kubelet without any"),
        ({"evictionHard": {"memory.available": None}}, seen(), 36, ""),
        ({"staticPodPath": "manifests"}, seen(), 36, "staticPodPath: manifests is a relative path"),
        ({"staticPodPath": ""}, seen(), 36, ""),
        ({"authentication": {"x509": {"clientCAFile": "ca"}}}, seen(), 36, "authentication.x509.clientCAFile: ca is"),
        ({}, seen(UNIT), 36, ""),
        ({}, seen(UNIT._replace(is_link=True)), 36, "is a symbolic link, which the kubelet ignores"),
        ({}, seen(UNIT._replace(is_link=True, path="/etc/k.d/")), 36, ""),
        ({}, seen(UNIT._replace(exists=False)), 36, "/etc/k.d: there is no such drop-in folder"),
        ({}, seen(UNIT._replace(other="/b")), 36, "but the kubelet reads /b"),
        # The unit's own words stay as they are; ours would need quotes.
        ({}, seen(UNIT._replace(path="/etc/k d")), 36, ""),
        ({}, seen(UNIT._replace(path="/etc/k d", source="option")), 36, "/etc/k d: a systemd unit cannot name this"),
        ({}, seen(linked=None), 36, "this file is not ours"),
        ({}, seen(unreadable="No such file"), 36, "the node's own file: No such file"),
        ({}, seen(base={"enforceNodeAllocatable": []}), 36, "enforceNodeAllocatable: /own.yaml sets it to an empty"),
        # A kubelet that reads a folder already has forgotten it already.
        ({}, seen(UNIT, base={"enforceNodeAllocatable": []}), 36, ""),
    ],
)
def test_what_is_refused(declared: dict[str, Any], found: Seen, minor: int | None, words: str) -> None:
    reasons = overridden.of_dropin(declared, found, minor)
    assert (len(reasons) == 1 and words in reasons[0]) if words else reasons == [], reasons


@pytest.mark.parametrize(("mode", "trusted"), [(0o755, True), (0o700, True), (0o775, False), (0o1777, False)])
@pytest.mark.fault(case=46)
def test_a_folder_that_others_may_write_to_is_refused(tmp_path: Path, mode: int, trusted: bool) -> None:
    """Another user could add a drop-in after ours, which root's kubelet would read."""
    place = tmp_path / "etc/k.d"
    place.mkdir(parents=True)
    (tmp_path / "etc/link").symlink_to(place)
    place.chmod(mode)
    for path in ("/etc/k.d", "/etc/link/"):
        folder = Folder(path, "unit", True, path.endswith("/"))
        reasons = overridden.of_dropin({}, seen(folder, root=str(tmp_path)), 36)
        words = f"{place}: others may write to it (mode {mode:04o}): they could replace {tmp_path}{path}; check its"
        assert not reasons if trusted else reasons[0].startswith(words), reasons
        assert trusted or reasons[0].endswith("chmod go-w it, or use delivery checkpoint")


@pytest.mark.parametrize(
    ("base", "former", "names"),
    [
        ({"maxPods": 5}, {"maxPods": 6, "kubeAPIQPS": 7}, []),
        ({}, {"evictionHard": {"memory.available": "1Gi"}}, ["evictionHard"]),
        ({"clusterDNS": ["10.0.0.1"]}, {}, ["clusterDNS"]),
        ({"featureGates": {"A": True}}, {"featureGates": {"B": True}}, ["featureGates.A"]),
    ],
)
def test_the_way_back_to_a_checkpoint(base: dict[str, Any], former: dict[str, Any], names: list[str]) -> None:
    now = merged_dropins.effective(former, None, 36)
    found = overridden.way_back(former, seen(base=base), now, 36)
    assert len(found) == bool(names) and all(name in found[0] for name in names), found
