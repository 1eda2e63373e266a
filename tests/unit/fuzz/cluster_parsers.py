# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parsers of what a controller reads: variables, objects of the API, answers of kubelets."""

from __future__ import annotations

import json
import typing as t

from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import kubelet_on_host, timestamps
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import (
    inventory_hosts,
    kubeadm,
    kubelets,
    lease_objects,
    nodes,
    pod_usage,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout import gate
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout.drain_steps import eviction_answer
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages import edit, node_rows, verdict
from ansible_collections.livenodes.kubelet.plugins.module_utils._config import delivery as deliveries
from ansible_collections.livenodes.kubelet.plugins.module_utils._config import minors
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.drift import differing
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.forecast import pod_forecast
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan import own_values, plan_text
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.plan.plan import Request, make_plan
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import (
    amounts,
    annotation,
    document,
    paths,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import ask_kubelet
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import goals
from tests.unit.fuzz import nodes_drawn as drawn
from tests.unit.fuzz.damaged import JSON, contents, documents, texts, values
from tests.unit.fuzz.parser import Answering, Parser, sent
from tests.unit.fuzz.samples import CONFIG, METRICS, POD, RECORD, REFUSAL, SOURCE, STATUS, SUMMARY, WHOLE, YAML


def live(data: bytes) -> object:
    found = kubelets.configz(sent(data), "n1")
    config = fields.restore(found)
    return document.variant(config), fields.machine_specific(found)


def planned(given: tuple[str, t.Any]) -> None:
    """Plan from a live configuration of any shape, and compare it with a declared one."""
    delivery, value = given
    live_config = fields.restore(document.accept(value, "x"))
    row = {"variant": "v", "kubelet_version": "v1.33.1", "delivery": "none", "source": None, "status": None}
    table = {"variants": {"v": live_config}, "nodes": {"n1": row}}
    plan = make_plan(
        Request(table, {"maxPods": 80, "evictionHard": {"memory.available": "1Gi"}}, deliveries={"n1": delivery})
    )
    json.dumps([plan, plan_text.diffs(table, plan)], allow_nan=False, ensure_ascii=False).encode()
    for change in edit._changes(plan, table).values():
        pod_forecast.forecast(change, pod_usage.parse({}, [POD], SUMMARY))
    differing.between(CONFIG, live_config, 20)
    differing.of_dropin(CONFIG, live_config, 33)


def refused(data: bytes) -> None:
    """A refusal whose body is something else than a Status."""
    try:
        sent(data, 403).request("GET", "/api/v1/nodes")
    except ApiError as error:
        eviction_answer(error)
        json.dumps([error.message, error.reason, dict(error.causes)])
        raise


def shown(found: t.Any) -> None:
    """Use a Node in every way that needs no other object."""
    node = nodes.trim(found)
    row, variables = node_rows.row(node), inventory_hosts.variables(node)
    json.dumps([row, variables], ensure_ascii=False).encode()
    inventory_hosts.groups(variables, list(inventory_hosts.GROUPS), ["*"])
    assert node.references is not None and node.uids is not None
    for delivery in deliveries.REQUESTS:
        seen = node.with_delivery(delivery)
        for source in (None, SOURCE, node.source):
            verdict.at_timeout(verdict.judge(seen, source), seen.delivery, 50.0, 3.0)
    for goal in goals.GOALS:
        goals.of_goal(goal, {"nodes": {}}, {"n1": row})
    gate.unavailable(t.cast("t.Any", Answering({})), {"n1": node})


def of_kubeadm(given: tuple[str, str]) -> object:
    """Compare the ConfigMaps of kubeadm with what is declared."""
    data = {"ClusterConfiguration": given[0], "kubelet": given[1]}
    meta = {"namespace": "kube-system", "name": "kubelet-config", "resourceVersion": "5"}
    options = {"node_configs": {"n1": {"maxPods": 80}}, "other_configs": None}
    return kubeadm.synchronise(t.cast("t.Any", Answering({"metadata": meta, "data": data})), options, True)


def claim(notes: tuple[str, str, str]) -> object:
    """Read a Lease with these annotations."""
    keys = (lease_objects.NODES, lease_objects.STATE, lease_objects.GROUP)
    meta = {"namespace": "a", "name": "l", "uid": "u", "resourceVersion": "5", "annotations": dict(zip(keys, notes))}
    found = lease_objects.trim({"metadata": meta, "spec": {"leaseDurationSeconds": 30}})
    return found.shared(["n1"]), found.overlaps(["n1"]), found.lease(), found.older(found)


def printed(data: bytes) -> str:
    return data.decode("utf-8", "replace")


WORDS = st.text(max_size=12) | texts("100Mi", "1.5", "500m", "1e3", "10%", "1h2m3.5s", "-1ns", 'a.b["c.d"][0]')
PARSERS = {
    "overrides, file": Parser(
        contents(YAML, json.dumps(CONFIG)), lambda data: document.parse(data, "x"), (document.DocumentError,)
    ),
    "overrides, variable": Parser(
        values(CONFIG) | st.dictionaries(JSON.filter(lambda key: not isinstance(key, (dict, list))), JSON),
        lambda value: document.accept(value, "x"),
        (document.DocumentError,),
    ),
    "ConfigMap": Parser(
        texts(YAML, json.dumps(CONFIG)),
        lambda text: document.parse(text, "x", True, minors.api_versions(None)),
        (document.DocumentError,),
    ),
    "/configz": Parser(documents({"kubeletconfig": CONFIG}), live, (ApiError,)),
    "live configuration": Parser(
        st.tuples(st.sampled_from(["checkpoint", "dropin", "native"]), values(WHOLE)),
        planned,
        (document.DocumentError,),
    ),
    "refusal of the API server": Parser(documents(REFUSAL), refused, (ApiError,)),
    "Node": Parser(drawn.nodes(), shown),
    "ConfigMaps of kubeadm": Parser(
        st.tuples(texts("kubernetesVersion: v1.28.2\n"), texts(YAML) | values(WHOLE).map(json.dumps)),
        of_kubeadm,
        (ClusterError,),
    ),
    "Lease": Parser(st.tuples(texts('["n1"]'), texts("held"), texts("g")), claim),
    "answer from a host": Parser(
        documents(ask_kubelet.packed(200, b"{}")).map(lambda data: f"hello\n{ask_kubelet.MARK}{printed(data)}\n"),
        kubelet_on_host.answer_in,
        (ApiError,),
    ),
    "/metrics": Parser(
        texts(METRICS), lambda text: kubelets.process(t.cast("t.Any", Answering(text)), "n1"), (ApiError,)
    ),
    "/stats/summary": Parser(values(SUMMARY), lambda value: pod_usage.parse({}, [POD], value)),
    "annotations": Parser(
        st.tuples(values(STATUS), values({"configMap": SOURCE}), texts(json.dumps(STATUS))),
        lambda given: annotation.records(
            {annotation.STATUS: given[2], annotation.SOURCE: json.dumps(given[1])}, given[1], given[0]
        ),
    ),
    "annotation of own values": Parser(
        values(RECORD).map(json.dumps) | texts(json.dumps(RECORD)) | JSON, own_values.read
    ),
    "quantity": Parser(WORDS, amounts.parse_quantity, (ValueError,)),
    "percentage": Parser(WORDS, amounts.parse_percentage, (ValueError,)),
    "duration": Parser(WORDS, amounts.parse_duration, (ValueError,)),
    "path": Parser(WORDS, paths.parse, (ValueError,)),
    "time": Parser(JSON | texts("2026-01-01T00:00:00Z"), timestamps.parse),
}
