# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the product knows of a kubelet is what that kubelet does: rules of validation, starts, forms of YAML."""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules import checks
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.rules.problem import REFUSAL
from tests.lab.kubeadm import OWN_CONFIG
from tests.lab.lab import Lab
from tests.support.kubelets.kubelet_starts import ENDS, HIDES, OLDER, STARTS
from tests.support.kubelets.start_outcome import opened, outcome
from tests.support.lab_node.node_bench import PLACE, Bench
from tests.support.lab_node.preflight_node import HEADER, Node
from tests.support.texts import yaml_forms

MINOR = 20
CFS = {"featureGates": {"CustomCPUCFSQuotaPeriod": True}}
SHUTDOWN = {"featureGates": {"GracefulNodeShutdown": True}}
NO_TOPOLOGY = {"featureGates": {"TopologyManager": False}}
# On both sides of each boundary.
NUMBERS = {
    "eventBurst": (-1,),
    "eventRecordQPS": (-1,),
    "healthzPort": (0, 65535, 65536),
    "imageGCHighThresholdPercent": (100, 101),
    "imageGCLowThresholdPercent": (84, 85),
    "iptablesDropBit": (-1, 31, 32),
    "iptablesMasqueradeBit": (32,),
    "kubeAPIBurst": (-1,),
    "kubeAPIQPS": (-1, 0),
    "maxOpenFiles": (-1,),
    "maxPods": (-1, 0),
    "nodeLeaseDurationSeconds": (-1, 1),
    "nodeStatusMaxImages": (-2, -1),
    "oomScoreAdj": (-1001, -1000, 1000, 1001),
    "podsPerCore": (-1,),
    "port": (65535, 65536),
    "readOnlyPort": (65535, 65536),
    "registryBurst": (-1,),
    "registryPullQPS": (-1,),
}
CONFIGS: tuple[dict[str, t.Any], ...] = (
    *({field: number} for field, numbers in NUMBERS.items() for number in numbers),
    {"cgroupsPerQOS": False},
    {"cgroupsPerQOS": False, "enforceNodeAllocatable": ["none"]},
    {"cgroupsPerQOS": False, "enforceNodeAllocatable": []},
    {"enforceNodeAllocatable": ["pod"]},
    {"enforceNodeAllocatable": ["none", "pods"]},
    {"enforceNodeAllocatable": ["pods", "pods"]},
    {"enforceNodeAllocatable": ["system-reserved"]},
    {"enforceNodeAllocatable": ["system-reserved"], "systemReservedCgroup": "/s", "systemReserved": {"cpu": "1"}},
    {"systemCgroups": "/s"},
    {"systemCgroups": "/s", "cgroupRoot": "/"},
    {"cpuCFSQuotaPeriod": "50ms"},
    {"cpuCFSQuotaPeriod": "999ns", **CFS},
    {"cpuCFSQuotaPeriod": "1us", **CFS},
    {"cpuCFSQuotaPeriod": "1s", **CFS},
    {"cpuCFSQuotaPeriod": "1001ms", **CFS},
    {"serverTLSBootstrap": True},
    {"serverTLSBootstrap": True, "featureGates": {"RotateKubeletServerCertificate": False}},
    {"topologyManagerPolicy": "best"},
    {"topologyManagerPolicy": "restricted"},
    {"topologyManagerPolicy": "restricted", **NO_TOPOLOGY},
    {"topologyManagerScope": "node"},
    {"topologyManagerScope": "pod", **NO_TOPOLOGY},
    {"shutdownGracePeriod": "30s"},
    {"shutdownGracePeriod": "1s", **SHUTDOWN},
    {"shutdownGracePeriod": "999ms", **SHUTDOWN},
    {"shutdownGracePeriod": "10s", "shutdownGracePeriodCriticalPods": "11s", **SHUTDOWN},
    {"hairpinMode": "none"},
    {"hairpinMode": "x"},
    {"reservedSystemCPUs": "0-"},
    {"reservedSystemCPUs": "+0"},
    {"reservedSystemCPUs": " 0"},
    {"reservedSystemCPUs": "0", "kubeReservedCgroup": "/k"},
    {"showHiddenMetricsForVersion": "1.19"},
    {"showHiddenMetricsForVersion": "1.18"},
    {"logging": {"format": "xml"}},
    {"topologyManagerPolicy": "single-numa-node"},
    {"topologyManagerPolicy": "none", **NO_TOPOLOGY},
    {"shutdownGracePeriodCriticalPods": "1ns"},
    {"shutdownGracePeriod": "10s", "shutdownGracePeriodCriticalPods": "-1s", **SHUTDOWN},
    {"hairpinMode": "hairpin-veth"},
    {"reservedSystemCPUs": "0", "systemReservedCgroup": "/s"},
)
RULES = {rule for _fields, rule in (*ENDS, *HIDES, *OLDER)}
COPY = "/root/own.yaml"
RESTART = "systemctl reset-failed kubelet; systemctl restart kubelet"
READ = """
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import config_summary
with open("/var/lib/kubelet/config.yaml", encoding="utf-8") as stream:
    print(json.dumps(config_summary.load(stream.read())))
"""


@pytest.mark.minors(last=MINOR, reason="tests/e2e_modern/test_kubelet_answers.py has the rules of later minors")
@pytest.mark.parametrize(
    "configs",
    [
        pytest.param(CONFIGS[::7], id="some values"),
        pytest.param(CONFIGS, id="both sides of each boundary", marks=pytest.mark.long),
    ],
)
def test_the_rules_of_the_plan_are_those_of_the_kubelet(
    nodes: dict[str, Node], configs: tuple[dict[str, t.Any], ...]
) -> None:
    texts = [json.dumps({**HEADER, **config}) for config in configs]
    found = nodes["n1"].python(f"""
result = [binary.check(text, ["/usr/bin/kubelet"], minor=lambda: {MINOR})[:2] for text in {texts!r}]
""")
    refused = {
        json.dumps(config): [one.message for one in checks.problems(config, MINOR) if one.severity == "refusal"]
        for config in configs
    }
    answers = dict(zip(refused, found, strict=True))
    assert {text: verdict for text, (verdict, _messages) in answers.items()} == {
        text: "invalid" if messages else "valid" for text, messages in refused.items()
    }
    # The words of a parser of Go follow in one of them.
    assert [
        (text, answers[text])
        for text, messages in refused.items()
        if not all(any(one.partition(", error")[0] in word for word in answers[text][1]) for one in messages)
    ] == []


@pytest.mark.long
@pytest.mark.minors(last=23, reason="tests/e2e_modern/test_kubelet_answers.py has the newest one")
def test_what_ends_this_kubelet(static_lab: Lab) -> None:
    minor = static_lab.node("n1").release.minor
    different, compared = [], 0
    with opened(static_lab, "n1") as node:
        for fields in (*(fields for fields, _rule in (*ENDS, *HIDES, *OLDER)), *STARTS):
            refusals = {problem.rule for problem in checks.problems(fields, minor) if problem.severity == REFUSAL}
            # Others concern fields and values that this minor does not know.
            if refusals <= RULES:
                compared += 1
                found = outcome(node, fields)
                if (found != "starts") != bool(refusals):
                    different.append((fields, found, refusals))
    assert different == []
    assert compared > len(STARTS)


@pytest.fixture
def without_guard(static_lab: Lab) -> t.Iterator[Bench]:
    """Yield node n1 with the code only; restore its own file."""
    bench = Bench(static_lab, "n1")
    bench.bring()
    bench.node.run(f"cp -a {OWN_CONFIG} {COPY}")
    try:
        yield bench
    finally:
        bench.node.run(f"cp -a {COPY} {OWN_CONFIG}; rm -rf {COPY} {PLACE} {PLACE}.b64; {RESTART}")
        bench.wait(bench.healthy, 60, "healthz with the own file", every=1)


@pytest.mark.long
def test_every_form_is_live_as_it_is_read(without_guard: Bench) -> None:
    """Several forms, one of each field, cost one start."""
    bench, own, wrong = without_guard, without_guard.local(), []
    for forms in yaml_forms.rounds(bench.node.release.minor):
        rest = {name: value for name, value in own.items() if name not in {form.field for form in forms}}
        text = yaml.safe_dump(rest) + "".join(form.text for form in forms)
        bench.node.run(f"cat > {OWN_CONFIG}; {RESTART}", stdin=text)
        bench.wait(bench.healthy, 60, f"healthz with {[form.text for form in forms]}", every=1)
        live, read = bench.configz(), bench.python(READ)
        for form in forms:
            # /configz leaves out what is empty.
            shown = live.get(form.field, type(form.live)())
            if (shown, read[form.field]) != (form.live, form.read):
                wrong.append((form.text, json.dumps(shown), json.dumps(read[form.field])))
    assert not wrong
