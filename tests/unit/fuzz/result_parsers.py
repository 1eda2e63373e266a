# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The readers of what modules on nodes return to a controller, and of the variables of an inventory."""

from __future__ import annotations

import contextlib
import datetime
import json
import typing as t

from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster import comply
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import gate
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import drift, soak
from ansible_collections.livenodes.kubelet.plugins.module_utils._config import host_facts, profiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift import differing, drift_cause
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import own_values
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.plan import Request, make_plan
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.profiles import PROFILES
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.upgrade import upgrade
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values.document import DocumentError
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import inputs, specs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report import events, model, output
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._report.page import page
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import order, value
from tests.support.api.upgrading import OWN, result
from tests.support.kubelets.table_minors import BEYOND, NEWEST
from tests.unit.fuzz.damaged import JSON, SCALARS, texts, values
from tests.unit.fuzz.parser import Parser
from tests.unit.fuzz.samples import CONFIG

FILE, DROPIN = "/var/lib/kubelet/config.yaml", "/d/10.conf"
LIVE = fields.restore(CONFIG)
BEFORE = result(
    "v1.28.7",
    "--max-pods=61",
    config=CONFIG,
    dropins={DROPIN: {"maxPods": 3}},
    huge_pages=2**30,
    lines={OWN: {"maxPods": 3}},
    static_pods=[{"file": "/m/a.yaml", "name": "a", "refers_to": ["Secret s"], "unreadable": None}],
)
BEFORE["target"] = {
    "binary": "/k",
    "version": "v1.36.2",
    "verdict": "invalid",
    "messages": ["m"],
    "refused_flags": ["a"],
    "unknown_fields": ["f"],
}
FACTS = {
    "kubelet": {
        "version": "v1.33.1",
        "local_config": FILE,
        "reason": "",
        "shadowed": {"maxPods": {"flag": "--max-pods=61", "file": "/f", "line": 3}},
        "config_given_by": {"file": "/e", "line": 2},
        "config_dir_files": [DROPIN],
        "changes_at_restart": True,
    },
    "disk": {**BEFORE["disk"], "started": 1.0, "changed": 2.0},
    "dropin": {"link": "/d/90-livenodes-kubelet.conf"},
    "own": [{"path": FILE, "content": CONFIG}, {"path": DROPIN, "content": {"maxPods": 3}}],
}
FILES = {"config": [{"path": FILE, "mode": "0644", "owner": "root:root"}]}
JUDGED = {
    **CONFIG,
    **profiles.layer(list(PROFILES), 33),
    "featureGates": {"RotateKubeletServerCertificate": True},
    "tlsCertFile": "/c",
    "tlsPrivateKeyFile": "/k",
    "staticPodPath": "/m",
}
TASK = {
    "changed": True,
    "msg": "m",
    "error": "e",
    "nodes": {"n1": {"ok": True, "changed": True, "state": "active", "message": "m", "delivery": "native"}},
    "summary": {"a": 1},
    "text": ["a"],
    "paused": {"since": "s"},
    "seconds": 3,
    "ansible_facts": {"__kubelet_config_rollout": {"text": ["n1: a"], "batches": [{"names": ["n1"]}]}},
    "invocation": {"module_args": {"state": "assigned", "nodes": ["n1"], "group": "g", "seconds": 0}},
}
KNOWN = specs.known(specs.by_role())
INPUTS = sorted(name for name in KNOWN if KNOWN[name]["type"] != "dict")


def explaining(facts: t.Any) -> None:
    """Use the facts of a host for a drift, a plan and a verdict."""
    seen = host_facts.read(facts)
    node = differing.Inspected(seen)
    node.causes({"maxPods": 4, 'evictionHard["memory.available"]': None}, {"maxPods": 80}, 33)
    node.overrides("maxPods", CONFIG, 33)
    drift._host(facts, seen, True)
    with contextlib.suppress(own_values.OwnFileError):
        own_values.files_of(seen, LIVE)
    row = {"variant": "v", "kubelet_version": "v1.33.1", "delivery": "none", "source": None, "status": None}
    for delivery in ("checkpoint", "dropin"):
        table = {"variants": {"v": LIVE}, "nodes": {"n1": row}}
        make_plan(Request(table, {"maxPods": 80}, deliveries={"n1": delivery}, own={"n1": facts}))
    if isinstance(facts, dict) and facts.get("kubelet"):
        drift_cause.of_override(["maxPods", "eventBurst"], facts["kubelet"])


def complying(given: tuple[t.Any, t.Any]) -> None:
    """Judge a live configuration and the facts of its host by all profiles."""
    live, host = given
    seen = host_facts.read(host)
    facts = profiles.Facts(33, document.accept(live, "x"), "", seen)
    if not seen.fault:
        comply.lines({"n1": {"rows": profiles.of_node(facts, list(PROFILES), {}, datetime.date(2026, 11, 27))}})


def upgrading(facts: t.Any) -> None:
    """Check the upgrade of a node with these facts, to the end of the tables and beyond it."""
    for target in (NEWEST, BEYOND):
        row = upgrade.row(facts if isinstance(facts, dict) else None, target)
        upgrade.lines({"n1": row}, target)


def reported(given: tuple[str, t.Any]) -> None:
    """Report the result of a task."""
    name, found = given
    rollout = model.Rollout(0.0)
    for trouble in ("", "failed"):
        for event in events.read(name, found if isinstance(found, dict) else {}, "n1", trouble, "task"):
            rollout.apply(event, 1.0)
    rollout.end(2.0)
    document = output.document(rollout)
    json.dumps(document)
    page.make(document)


def accepted(given: tuple[str, t.Any]) -> None:
    """Check a variable; what is accepted can be used."""
    name, found = given
    checked = inputs.Inputs(KNOWN, INPUTS)
    checked.add("n1", name, found)
    if checked.message(1) or found in (None, ""):
        return
    if name == "kubelet_config_serial":
        order.order({"nodes": {}}, "plan", {"hosts": {}}, {}, 1, found)
    elif name == "kubelet_config_max_unavailable":
        gate.node_limit(found, 10)
        order.order({"nodes": {}}, "plan", {"hosts": {}}, {}, found)
    elif name == "kubelet_config_allow_pod_loss":
        soak.allowed(found)
    elif KNOWN[name]["type"] == "int":
        value.Options(soak_seconds=found).soak(True)


PARSERS = {
    "facts of a host": Parser(values(FACTS), explaining),
    "compliance": Parser(st.tuples(values(JUDGED), values({**FACTS, "files": FILES})), complying, (DocumentError,)),
    "facts before an upgrade": Parser(values(BEFORE), upgrading),
    "result of a task": Parser(st.tuples(st.sampled_from([*sorted(events.MODULES), ""]), values(TASK)), reported),
    "variable": Parser(
        st.tuples(st.sampled_from(INPUTS), JSON | SCALARS | texts("1", "20%", "1,20%", "true", "5.0", " 7 ")), accepted
    ),
}
