# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A last-known-good that graduated under another kubelet version.

The lab has one kubelet, 1.20.2. The other version is a shell script bound over its binary: it reports v1.21.0, refuses
each configuration with one certain field like a kubelet (or does not), and otherwise runs the real kubelet.
"""

from __future__ import annotations

import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support.node_bench import STORE, Bench

REAL, OTHER = "/opt/kubelet-real", "/opt/kubelet-other"
REFUSED = '"maxPods": 55'
BAD = {"evictionHard": {"memory.available": "lots"}}
SCRIPT = f"""#!/bin/bash
[ "$1" = --version ] && echo "Kubernetes v1.21.0" && exit
for word in "$@"; do
  if [[ $word = --config=* ]] && grep -q 'WHAT' "${{word#--config=}}"; then
    echo 'F0101 00:00:00.000000       1 server.go:205] invalid configuration: maxPods is unknown in this version' >&2
    exit 255
  fi
done
exec -a /usr/bin/kubelet {REAL} "$@"
"""


@pytest.fixture
def bench(static_lab: Lab) -> t.Iterator[Bench]:
    """Yield node n1 with the guard and a last-known-good; restore its kubelet afterwards."""
    bench = Bench(static_lab, "n1")
    bench.open()
    try:
        yield bench
    finally:
        bench.node.run(
            f"systemctl stop kubelet; test ! -e {OTHER} || umount /usr/bin/kubelet; rm -f {REAL} {OTHER}", check=False
        )
        bench.close()
        assert bench.node.run("/usr/bin/kubelet --version") == "Kubernetes v1.20.2\n"


def other_version(bench: Bench, refuses: str) -> None:
    """Replace the kubelet by the other version, from its next start on."""
    bench.node.run(
        f"cat > {OTHER} && chmod 755 {OTHER} && cp /usr/bin/kubelet {REAL} && mount --bind {OTHER} /usr/bin/kubelet",
        stdin=SCRIPT.replace("WHAT", refuses),
    )
    assert bench.node.run("/usr/bin/kubelet --version") == "Kubernetes v1.21.0\n"


@pytest.mark.parametrize("refused", [True, False])
def test_what_the_current_version_refuses_is_skipped(bench: Bench, refused: bool) -> None:
    good = bench.assign({"maxPods": 55}, deadline=2, confirm=90)
    bench.wait(bench.healthy, 30, "healthz")
    bench.confirm()
    bench.wait(
        lambda: good["uid"] in bench.node.run(f"cat {STORE}/store/meta/last-known-good"), 60, "graduation", every=1
    )
    other_version(bench, REFUSED if refused else "nothing at all")

    bad = bench.assign(BAD, deadline=120)
    target = "store/local/config" if refused else f"store/checkpoints/{good['uid']}/1"
    took = bench.wait(lambda: bench.active() == target and bench.healthy(), 60, "revert")
    print(f"\nrecovery past a last-known-good that is {'refused' if refused else 'taken'}: {took:.1f} s")
    bench.wait(lambda: "the kubelet ended" in bench.status().get("error", ""), 30, "annotation")
    status = bench.status()
    assert status["assigned"]["configMap"] == bad
    assert (status.get("active"), status.get("lastKnownGood")) == (
        (None, None) if refused else ({"configMap": good}, {"configMap": good})
    )
    assert bench.configz()["maxPods"] == (110 if refused else 55)
