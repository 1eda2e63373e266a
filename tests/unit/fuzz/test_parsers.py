# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every parser of what others write: whatever it gets, it returns a result or its own clear error.

The short tier tries some inputs for each, the gate `fuzz` of the long tier 100,000.
"""

from __future__ import annotations

import base64
import json
import os
import tempfile
import time
import typing as t
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
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
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import observe
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.guard_files import Records, Started
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import ask_kubelet
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report.status_annotation import Report
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import meta, trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.kept_files import KeptFiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.progress import Progress
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import (
    binary,
    blockyaml,
    config_summary,
    credentials,
    last_words,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.kubeconfig import ApiError as NodeApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.kubeconfig import Kubeconfig
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.store_error import StoreError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import commandline, unitfile
from tests.support import kubelet_logs
from tests.unit.fuzz.damaged import JSON, contents, documents, texts, values

LONG = 100_000
SOURCE = {"namespace": "kube-system", "name": "c", "uid": "u1", "resourceVersion": "1", "kubeletConfigKey": "kubelet"}
CONFIG = {
    "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "maxPods": 110,
    "healthzPort": 10248,
    "healthzBindAddress": "127.0.0.1",
    "address": "0.0.0.0",
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
    "clusterDNS": ["10.96.0.10"],
    "staticPodURLHeader": {"Authorization": ["planted"]},
    "syncFrequency": "1m0s",
}
YAML = """kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
maxPods: 110   # all of them
healthzPort: "10248"
evictionHard:
  memory.available: 100Mi
clusterDNS:
- 10.96.0.10
staticPodURLHeader: {Authorization: [planted]}
"""
UNIT = r"""[Unit]
Description=kubelet
[Service]
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml" 'B=a b'
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet --a="b \x41 \u00e9 \101" \
  $KUBELET_CONFIG_ARGS ${B} %% \
# a comment
  --c
Restart=always
"""
ENVIRONMENT = "# ours\nKUBELET_EXTRA_ARGS=--max-pods=61 --node-labels='a=b'\nexport X=1\nY=\"a\\\nb\" 'c'\n"
KUBECONFIG = """apiVersion: v1
kind: Config
current-context: c
contexts:
- name: c
  context:
    cluster: k
    user: u
clusters:
- name: k
  cluster:
    server: https://127.0.0.1:9
    certificate-authority-data: YQ==
users:
- name: u
  user:
    client-certificate-data: YQ==
    client-key-data: YQ==
"""
# The beginning of a certificate as openssl writes it: issuer, validity, subject.
DER = (
    b"\x30\x82\x01\x00\x06\x03\x55\x04\x03\x0c\x02ca\x30\x1e\x17\x0d260101000000Z\x17\x0d270101000000Z"
    b"\x06\x03\x55\x04\x03\x0c\x0esystem:node:n1"
)
METRICS = "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.70000000012e+09\n"
SUMMARY = {
    "node": {
        "memory": {"availableBytes": 1, "workingSetBytes": 2},
        "fs": {"availableBytes": 1, "capacityBytes": 2, "inodesFree": 1, "inodes": 2},
        "runtime": {"imageFs": {"availableBytes": 1, "capacityBytes": 2}},
        "rlimit": {"maxpid": 5, "curproc": 1},
        "systemContainers": [{"name": "pods", "memory": {"workingSetBytes": 1}}],
    },
    "pods": [
        {
            "podRef": {"namespace": "default", "name": "a"},
            "memory": {"workingSetBytes": 1},
            "process_stats": {"process_count": 1},
            "ephemeral-storage": {"usedBytes": 1, "inodesUsed": 1},
            "containers": [{"rootfs": {"usedBytes": 1}, "memory": {"workingSetBytes": 1}}],
        }
    ],
}
POD = {"metadata": {"namespace": "default", "name": "a"}, "spec": {"containers": [{"name": "main"}]}}
STATUS = {
    "assigned": {"configMap": SOURCE},
    "active": {"configMap": SOURCE},
    "error": "e",
    "started": "2026-01-01T00:00:00Z",
}
RECORD = {"source": "kube-system/c/1", "absent": ["maxPods"], "values": {"maxPods": 110}, "complete": True}
CONDITION = {
    "type": "ConfigOK",
    "status": "False",
    "message": 'using current (UID: "u1")',
    "reason": "passing all checks",
}
TRIAL = json.loads(trial.Trial(SOURCE, None, trial.Moment("b1", 1.0, 2.0)).encode())
LOGS = tuple(case[1] for case in kubelet_logs.CASES)


class Answering:
    """A session of which each request has the same answer."""

    kubelets = None

    def __init__(self, value: t.Any) -> None:
        self.value = value

    def request(self, *_words: t.Any, **_options: t.Any) -> t.Any:
        return self.value

    def text(self, *_words: t.Any, **_options: t.Any) -> t.Any:
        return self.value


class Parser(t.NamedTuple):
    """What it gets, the call, and the errors that it documents."""

    inputs: st.SearchStrategy[t.Any]
    call: t.Callable[[t.Any], object]
    errors: tuple[type[Exception], ...] = ()


# Removed when Python ends.
HOLDER = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
FOLDER = Path(HOLDER.name)


def kept(read: t.Callable[[str], object], name: str) -> t.Callable[[bytes], object]:
    """Return a call that reads a file of this name below a config folder."""

    def call(data: bytes) -> object:
        path = FOLDER / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return read(str(FOLDER))

    return call


def command_line(text: str) -> object:
    found = commandline.CommandLine([("/unit", text)], str(FOLDER / "root"))
    return found.words(), found.shown(), found.program


def environment(data: bytes) -> object:
    path = FOLDER / "root/etc/default/kubelet"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return command_line("[Service]\nEnvironmentFile=/etc/default/kubelet\nExecStart=/k $KUBELET_EXTRA_ARGS ${Y}\n")


def user(data: bytes) -> object:
    path = FOLDER / "kubelet.conf"
    path.write_bytes(data)
    return Kubeconfig(str(path), cert_dir=str(FOLDER / "none")).node_name("n1")


def live(value: t.Any) -> object:
    found = configz.read(t.cast("t.Any", Answering(value)), "n1")
    return complete_config.restore(found), complete_config.machine_specific(found)


def endpoints(data: bytes) -> object:
    path = FOLDER / "config.yaml"
    path.write_bytes(data)
    words = ["kubelet", f"--config={path}"]
    return observe.target(words), observe.runtime_socket(observe.config_of(str(path)), words, "v1.28.7")


def printed(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def pem(data: bytes) -> object:
    text = f"-----BEGIN CERTIFICATE-----\n{base64.b64encode(data).decode()}\n-----END CERTIFICATE-----\n"
    return credentials.subject(text), credentials.not_after(text)


BINARY = st.tuples(st.binary(max_size=4), st.integers(0, len(DER)), st.integers(0, len(DER))).map(
    lambda cut: DER[: cut[1]] + cut[0] + DER[cut[2] :]
)
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
    "meta file": Parser(contents(meta.encode(SOURCE).decode(), json.dumps(SOURCE)), meta.decode, (StoreError,)),
    "trial": Parser(documents(TRIAL), trial.decode, (trial.TrialError,)),
    "progress of the guard": Parser(
        documents(Progress(name="t", boot="b")._asdict()),
        kept(lambda folder: Records(folder).progress(), "store/progress"),
    ),
    "progress of the guard, in memory": Parser(
        documents({"on_disk": Progress()._asdict(), "now": Progress(name="t")._asdict()}),
        kept(lambda folder: Records(folder, spare=f"{folder}/spare").progress(), "spare"),
    ),
    "report of the guard": Parser(
        documents(Report(STATUS, "m", True, 1.0, "s")._asdict()),
        kept(lambda folder: Records(folder).report(), "store/report"),
    ),
    "start of the guard": Parser(
        documents({"invocation": "i", "target": "a"}), kept(lambda folder: Started(f"{folder}/s").target("i"), "s")
    ),
    "state files": Parser(
        documents({"root": "/r", "boot": "b", "data": {"cpu_manager_state": "YQ=="}, "reverted": None}),
        kept(lambda folder: KeptFiles(folder).read(), "store/kept-files"),
    ),
    "unit file": Parser(texts(UNIT), command_line, (ValueError,)),
    "environment file": Parser(contents(ENVIRONMENT), environment, (ValueError,)),
    "values of an environment file": Parser(
        texts(ENVIRONMENT), lambda text: [unitfile.split(one.value, False) for one in unitfile.environment_file(text)]
    ),
    "kubeconfig": Parser(contents(KUBECONFIG), user, (NodeApiError,)),
    "certificate": Parser(BINARY, pem, (ValueError,)),
    "answer of the binary": Parser(texts(*LOGS), lambda text: binary.verdict(text, "/none", 1)),
    "log of the kubelet": Parser(texts(*LOGS), lambda text: last_words.kind(last_words.parse(text.splitlines()))),
    "config file on the node": Parser(texts(YAML, json.dumps(CONFIG)), config_summary.load, (ValueError,)),
    "secrets of a config file": Parser(
        texts(YAML, json.dumps(CONFIG)), lambda text: config_summary.without_secrets(["a planted error"], text)
    ),
    "endpoints in a config file": Parser(contents(YAML, json.dumps(CONFIG)), endpoints),
    "YAML on the node": Parser(texts(YAML, KUBECONFIG), blockyaml.load, (blockyaml.Unreadable,)),
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


def attempt(parser: Parser, examples: int) -> None:
    """Call a parser with many inputs. An error that it does not document fails the test, with the input."""

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(parser.inputs)
    def call(value: t.Any) -> None:
        try:
            parser.call(value)
        except parser.errors as error:
            assert str(error)

    call()


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.usefixtures("no_garbage")
def test_some_inputs(name: str) -> None:
    """As many as the profile of hypothesis has."""
    attempt(PARSERS[name], settings().max_examples)


@pytest.mark.long
@pytest.mark.parametrize("name", PARSERS)
def test_many_inputs(name: str) -> None:
    attempt(PARSERS[name], int(os.environ.get("LIVENODES_FUZZ", LONG)))


FOUND = (
    ("/metrics", "process_start_time_seconds 1x\n"),
    ("/stats/summary", None),
    ("/stats/summary", {"pods": [{}]}),
    ("trial", b"[" * 200_000),
    ("progress of the guard", b"[" * 200_000),
    ("report of the guard", b"[" * 200_000),
    ("state files", b"[" * 200_000),
    ("config file on the node", '{"a":' * 100_000),
    ("YAML on the node", "- " * 3000),
    ("answer of the binary", '{"a":' * 100_000),
    ("certificate", b"\x06\x03\x55\x04\x03\x0c"),
    ("unit file", "[Service]\nExecStart=/k \\Uffffffff\n"),
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


def test_a_long_line_of_a_log_takes_no_more_time() -> None:
    """Ten times the length: the time does not grow, where it would grow a hundred times without a limit."""

    def seconds(length: int) -> float:
        begun = time.process_time()
        line = "F1122 13:38:14.192413     419 server.go:1] " + "[" * length
        assert len(last_words.parse([line])) <= last_words.MOST
        return time.process_time() - begun

    assert seconds(300_000) < 5 * seconds(30_000)
