# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The node's own file in every form of YAML: what our reader finds is what the kubelet runs with."""

from __future__ import annotations

import json
import typing as t

import pytest
import yaml

from tests.lab.lab import Lab
from tests.support import yaml_forms
from tests.support.node_bench import PLACE, Bench
from tests.support.settled import LOCAL

COPY = "/root/own.yaml"
RESTART = "systemctl reset-failed kubelet; systemctl restart kubelet"
READ = """
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import config_summary
with open("/var/lib/kubelet/config.yaml", encoding="utf-8") as stream:
    print(json.dumps(config_summary.load(stream.read())))
"""


@pytest.fixture
def without_guard(static_lab: Lab) -> t.Iterator[Bench]:
    """Yield node n1 with the code only; restore its own file."""
    bench = Bench(static_lab, "n1")
    bench.bring()
    bench.node.run(f"cp -a {LOCAL} {COPY}")
    try:
        yield bench
    finally:
        bench.node.run(f"cp -a {COPY} {LOCAL}; rm -rf {COPY} {PLACE} {PLACE}.b64; {RESTART}")
        bench.wait(bench.healthy, 60, "healthz with the own file", every=1)


@pytest.mark.long
def test_every_form_is_live_as_it_is_read(without_guard: Bench) -> None:
    """Several forms, one of each field, cost one start."""
    bench, own, wrong = without_guard, without_guard.local(), []
    for forms in yaml_forms.rounds(bench.node.release.minor):
        rest = {name: value for name, value in own.items() if name not in {form.field for form in forms}}
        text = yaml.safe_dump(rest) + "".join(form.text for form in forms)
        bench.node.run(f"cat > {LOCAL}; {RESTART}", stdin=text)
        bench.wait(bench.healthy, 60, f"healthz with {[form.text for form in forms]}", every=1)
        live, read = bench.configz(), bench.python(READ)
        for form in forms:
            # /configz leaves out what is empty.
            shown = live.get(form.field, type(form.live)())
            if (shown, read[form.field]) != (form.live, form.read):
                wrong.append((form.text, json.dumps(shown), json.dumps(read[form.field])))
    assert not wrong
