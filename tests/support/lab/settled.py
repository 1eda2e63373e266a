# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What must hold on a node after any interruption: its kubelet runs a complete configuration, and kubelet, store and
Node object agree about it.
"""

from __future__ import annotations

import json

import yaml

from tests.lab.console import LabError
from tests.support.lab_node.node_bench import STORE, Bench

FIELD = "registryPullQPS"
"""A field with the same default in all versions, which no flag of the lab's nodes overrides."""
OLD, NEW = 5, 77
"""Values of this field: its default, and the one on trial."""
GUARD = "livenodes-kubelet-guard.service"
DROPIN = "/etc/systemd/system/kubelet.service.d/zzz-livenodes-kubelet.conf"


def qps(bench: Bench) -> int | None:
    """Return the live value of the field; None while the kubelet does not answer."""
    try:
        return int(bench.configz()[FIELD])
    except LabError:
        return None


def quiet(bench: Bench) -> bool:
    """Return whether the guard has nothing left to do or to report."""
    busy = bench.node.run(f"test -e {STORE}/store/report && echo busy", check=False).strip()
    return not busy and bench.node.unit_property("ActiveState", GUARD) == "inactive"


def confirmed(bench: Bench, source: dict[str, str]) -> bool:
    """Return whether this source is confirmed according to the node's own files."""
    trial = json.loads(bench.node.run(f"cat {STORE}/store/trial 2>/dev/null || echo null"))
    good = bench.node.run(f"cat {STORE}/store/meta/last-known-good 2>/dev/null", check=False)
    return bool(trial and trial["confirmed"]) or source["uid"] in good


def runs(bench: Bench, value: int, seconds: float) -> float:
    """Wait until the kubelet is healthy and runs the configuration with this value; return the seconds that took."""
    return bench.wait(
        lambda: bench.healthy() and qps(bench) == value,
        seconds,
        f"healthy kubelet with {FIELD} {value}",
        every=1,
    )


def settled(bench: Bench, value: int, seconds: float) -> float:
    """Like `runs`, and check that store and Node object agree; return the seconds until the kubelet was healthy."""
    took = runs(bench, value, seconds)
    bench.wait(lambda: quiet(bench) and qps(bench) == value, seconds, "end of the guard's work", every=1)
    assert bench.healthy()
    agree(bench)
    return took


def agree(bench: Bench) -> None:
    """Assert that the kubelet, `active`, the store and the Node's annotation name the same configuration, and that no
    file is half written.
    """
    node = bench.node
    if node.run(f"test -e {DROPIN} && echo yes", check=False).strip():
        text = node.run(f"cat {STORE}/active/kubelet")
        assert (f'"{FIELD}": {NEW}' in text) == (qps(bench) == NEW), (
            f"{node.name}: the kubelet runs something else than {bench.active()}"
        )
        own = json.loads(node.run(f"python3 -I -B {STORE}/guard/__main__.py status"))
        reported = bench.status()
        parts = ("assigned", "active", "lastKnownGood", "error")
        assert {part: reported.get(part) for part in parts} == {part: own.get(part) for part in parts} and own[
            "reported"
        ], (
            reported,
            own,
        )
    else:
        assert qps(bench) == OLD and bench.status() == {}
    whole(bench)


def whole(bench: Bench) -> None:
    """Assert, without the code under test, that no file of the store is half written."""
    bench.node.run(f"""
cd {STORE}/store/checkpoints 2>/dev/null || exit 0
for sums in $(find . -name '*.sha256' ! -name 'tmp_*'); do folder=${{sums%.sha256}}
    test ! -d $folder || (cd $folder && sha256sum --quiet --strict -c ../$(basename $sums)) || exit 1
done
for folder in $(find . -mindepth 2 -maxdepth 2 -type d ! -name 'tmp_*'); do test -s $folder.sha256 || exit 1; done""")
    for path in bench.node.run(
        # The guard may be writing, and a temporary file is gone a moment later.
        f"find {STORE}/store {STORE}/store/meta -maxdepth 1 -type f ! -name 'tmp_*'",
        check=False,
    ).split():
        if path.startswith(STORE):
            found = yaml.safe_load(bench.node.run(f"cat {path} 2>/dev/null", check=False))
            assert found is None or isinstance(found, dict), f"{bench.node.name}: {path} holds {found!r}"
