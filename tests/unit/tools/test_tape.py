# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The tape: what it masks, and that a test has the same one each time."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.support.plays.tape import ROOT, masked

TEMPORARY = tempfile.gettempdir()
UID = "04e1aadb-c574-4591-9849-38909f8e1d70"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('"time": "2026-11-26T10:55:59Z", "began": 1795690415.19', '"time": "<time>", "began": <time>'),
        ("2026-11-26T10:54:59.500112+00:00", "<time>"),
        (f"{TEMPORARY}/pytest-of-root/pytest-7/popen-gw0/nodes0/n1/etc/hosts", "<tmp>/n1/etc/hosts"),
        (f"{ROOT}/roles", "<root>/roles"),
        (f'"uid": "{UID}", "resourceVersion": "7"', '"uid": "<uid>", "resourceVersion": "<version>"'),
        (
            rf"{{\"resourceVersion\":\"21\",\"uid\":\"{UID}\"}}",
            r"{\"resourceVersion\":\"<version>\",\"uid\":\"<uid>\"}",
        ),
        (f"store/checkpoints/{UID}/21/kubelet", "store/checkpoints/<uid>/<version>/kubelet"),
        ("?watch=1&resourceVersion=38", "?watch=1&resourceVersion=<version>"),
        ("http://127.0.0.1:38379/api healthzPort: 44317", "http://127.0.0.1:<port>/api healthzPort: <port>"),
        ("healthzPort: 10248, maxPods: 110", "healthzPort: <port>, maxPods: 110"),
        ("within 60 s, after 1.25 s", "within 60 s, after <duration>"),
        ('{"started": "2026-11-26T10:58:03Z", "time": "2026-11-26T10:58:04Z"}', '{"time": "<time>"}'),
        ('/var/lib/kubelet-config/lock 100600 "6730"', '/var/lib/kubelet-config/lock 100600 "<pid>"'),
        ("guard/current 120777 -> programs/b8209e457e159978.zip", "guard/current 120777 -> programs/<program>.zip"),
        ("logs-dropin.18eb953f79de1100", "logs-dropin.<random>"),
        ("livenodes-kubelet-rollout-682239e290", "livenodes-kubelet-rollout-<random>"),
        ("livenodes-kubelet-b5kt55mkh6 0818e398d0", "livenodes-kubelet-b5kt55mkh6 0818e398d0"),
    ],
)
def test_masks(text: str, shown: str) -> None:
    assert masked(text) == shown


def test_a_test_has_the_same_tape_twice(tmp_path: Path) -> None:
    tapes = []
    for name in ("one", "two"):
        words = ["-m", "pytest", "-q", "--tape", str(tmp_path / name), "tests/contract/test_lease.py", "-k", "PATCH"]
        subprocess.run([sys.executable, *words], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        tapes.append({file.name: file.read_text() for file in (tmp_path / name).iterdir()})
    assert tapes[0] == tapes[1]
    assert "\nPOST /apis/coordination.k8s.io/v1/namespaces/kube-system/leases " in str(*tapes[0].values())
