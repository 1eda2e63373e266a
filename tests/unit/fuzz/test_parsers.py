# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every parser of what others write: whatever it gets, it returns a result or its own clear error.

The short tier tries some inputs for each, the gate `fuzz` of the long tier 100,000.
"""

from __future__ import annotations

import json
import time
import typing as t

import pytest
from hypothesis import settings

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import last_words
from tests.unit.fuzz import cluster_parsers, node_parsers, result_parsers
from tests.unit.fuzz.parser import LONG, attempt
from tests.unit.fuzz.samples import YAML, kubeconfig

TRIAL, PROGRESS = (json.loads(node_parsers.FILES[name]) for name in ("trial", "progress"))
PARSERS = {**cluster_parsers.PARSERS, **node_parsers.PARSERS, **result_parsers.PARSERS}


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.usefixtures("no_garbage")
def test_some_inputs(name: str) -> None:
    """As many as the profile of hypothesis has."""
    attempt(PARSERS[name], settings().max_examples)


@pytest.mark.long
@pytest.mark.parametrize("name", PARSERS)
def test_many_inputs(name: str) -> None:
    attempt(PARSERS[name], LONG)


FOUND = (
    ("/metrics", "process_start_time_seconds 1x\n"),
    ("/stats/summary", None),
    ("/stats/summary", {"pods": [{}]}),
    ("config file on the node", '{"a":' * 100_000),
    ("YAML on the node", "- " * 3000),
    ("answer of the binary", '{"a":' * 100_000),
    ("certificate", b"\x06\x03\x55\x04\x03\x0c"),
    ("unit file", "[Service]\nExecStart=/k \\Uffffffff\n"),
    ("systemctl show", "Id=kubelet.service\nType=simple\nLoadState=loaded\nFragmentPath=/\0\n"),
    ("/configz", b"[" * 200_000),
    ("/configz", b'{"kubeletconfig": {"maxPods": NaN}}'),
    ("/configz", b'{"kubeletconfig": {"address": "\\ud800"}}'),
    ("live configuration", ("dropin", {"maxPods": {"a": 1}})),
    ("live configuration", ("native", {"reservedMemory": [{"numaNode": [], "limits": {"memory": "1Gi"}}]})),
    ("refusal of the API server", b"[" * 200_000),
    ("refusal of the API server", b'{"details": {"causes": [{"reason": ["a"]}]}}'),
    ("kubeconfig", json.dumps(kubeconfig({"token": "t"})).replace("127.0.0.1", "[::1").encode()),
    ("answer of a plugin", b"[" * 200_000),
    ("store of the guard", ("trial", json.dumps({**TRIAL, "extra": []}).encode())),
    ("store of the guard", ("trial", json.dumps({**TRIAL, "state_files": [{"path": "/x"}]}).encode())),
    ("store of the guard", ("progress", json.dumps({**PROGRESS, "restarts": {}}).encode())),
    ("store of the guard", ("progress", json.dumps({**PROGRESS, "reboots": [1]}).encode())),
    ("facts of a host", {"kubelet": {}, "disk": [True], "own": []}),
    ("facts of a host", {"kubelet": None}),
    ("facts of a host", {**result_parsers.FACTS, "dropin": [1]}),
    ("facts of a host", {**result_parsers.FACTS, "dropin": {"link": 5}}),
    ("facts before an upgrade", {"msg": 5}),
    ("compliance", ({"featureGates": [None]}, {})),
    ("compliance", ({"tlsCipherSuites": 5}, {})),
    ("compliance", ({"tlsCipherSuites": [{}]}, {})),
    ("facts before an upgrade", {"kubelet": {}}),
    ("facts before an upgrade", {**result_parsers.BEFORE, "runtime_version": f"{'9' * 5000}.0"}),
    ("facts before an upgrade", {**result_parsers.BEFORE, "words": [{"text": f"--max-pods={'9' * 5000}"}]}),
    ("result of a task", ("", {"ansible_facts": {"__kubelet_config_rollout": {"batches": [None]}}})),
    ("variable", ("kubelet_config_soak_seconds", "5.0")),
    ("variable", ("kubelet_config_lease_seconds", "0\x1f")),
    ("variable", ("kubelet_config_max_unavailable", "20 %")),
    ("variable", ("kubelet_config_serial", "9" * 5000)),
    ("ConfigMaps of kubeadm", ("kubernetesVersion: v1.28.2\n", f"{YAML}two words: 1\n")),
)


@pytest.mark.parametrize(("name", "value"), FOUND, ids=[f"{number}, {row[0]}" for number, row in enumerate(FOUND)])
@pytest.mark.usefixtures("no_garbage")
def test_what_was_found(name: str, value: t.Any) -> None:
    """Inputs that once ended a parser with an error of Python."""
    parser = PARSERS[name]
    try:
        parser.call(value)
    except parser.errors as error:
        assert str(error)


def test_a_long_line_of_a_log_takes_little_time() -> None:
    """A hundred times the length takes a hundred times as long without a limit, or if the time is a square of it."""

    def seconds(length: int) -> float:
        line = "F1122 13:38:14.192413     419 server.go:1] " + "[" * length
        begun = time.process_time()
        assert len(last_words.parse([line])) <= last_words.MOST
        return time.process_time() - begun

    # What disturbs one measurement makes it longer.
    shorter, longer = (min(seconds(length) for _time in range(3)) for length in (2_000, 200_000))
    assert longer < 50 * shorter
