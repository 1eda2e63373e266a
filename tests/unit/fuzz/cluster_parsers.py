# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parsers of what a controller reads: variables, objects of the API, answers of kubelets."""

from __future__ import annotations

import json
import typing as t

from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import kubelet_on_host, timestamps
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import (
    configz,
    kubelet_process,
    pod_usage,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.alpha import config_ok
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import complete_config
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import (
    annotation,
    annotation_reader,
    document,
    duration,
    own_values,
    paths,
    quantity,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import ask_kubelet
from tests.unit.fuzz.damaged import JSON, contents, documents, texts, values
from tests.unit.fuzz.parser import Answering, Parser
from tests.unit.fuzz.samples import CONDITION, CONFIG, METRICS, POD, RECORD, SOURCE, STATUS, SUMMARY, YAML


def live(value: t.Any) -> object:
    found = configz.read(t.cast("t.Any", Answering(value)), "n1")
    return complete_config.restore(found), complete_config.machine_specific(found)


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
        texts(YAML, json.dumps(CONFIG)), lambda text: document.parse(text, "x", True, None), (document.DocumentError,)
    ),
    "/configz": Parser(values({"kubeletconfig": CONFIG}), live, (ApiError,)),
    "answer from a host": Parser(
        documents(ask_kubelet.packed(200, b"{}")).map(lambda data: f"hello\n{ask_kubelet.MARK}{printed(data)}\n"),
        kubelet_on_host.answer_in,
        (ApiError,),
    ),
    "/metrics": Parser(
        texts(METRICS), lambda text: kubelet_process.birth(t.cast("t.Any", Answering(text)), "n1"), (ApiError,)
    ),
    "/stats/summary": Parser(values(SUMMARY), lambda value: pod_usage.parse({}, [POD], value)),
    "annotations": Parser(
        st.tuples(values(STATUS), values({"configMap": SOURCE}), texts(json.dumps(STATUS))),
        lambda given: annotation_reader.records(
            {annotation.STATUS: given[2], annotation.SOURCE: json.dumps(given[1])}, given[1], given[0]
        ),
    ),
    "annotation of own values": Parser(
        values(RECORD).map(json.dumps) | texts(json.dumps(RECORD)) | JSON, own_values.read
    ),
    "condition of the first kubelets": Parser(
        st.lists(values(CONDITION), max_size=2), lambda found: config_ok.read(found, [SOURCE])
    ),
    "quantity": Parser(WORDS, quantity.parse, (ValueError,)),
    "percentage": Parser(WORDS, quantity.parse_percentage, (ValueError,)),
    "duration": Parser(WORDS, duration.parse, (ValueError,)),
    "path": Parser(WORDS, paths.parse, (ValueError,)),
    "time": Parser(JSON | texts("2026-01-01T00:00:00Z"), timestamps.parse),
}
