# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is sent to the API server, what stays pending, when a Node verifies its kubelet, and whether it can be asked."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import annotation
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_annotation, status_reporter
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report.status_annotation import Outbox
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.connection import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.kubeconfig import Kubeconfig
from tests.support.api.server import kubeconfig

SOURCE = {"namespace": "kube-system", "name": "c", "uid": "u1", "resourceVersion": "7", "kubeletConfigKey": "kubelet"}
STATUS = status_annotation.status(SOURCE, None, None, "it ended", "reverted", 0)
NO_CLUSTER = ["/usr/bin/kubelet"]
PENDING = status_annotation.Report(
    STATUS, "Kubelet restarting to use local config: it ended", True, 1.5, status_annotation.suffix(1.5)
)


def test_status_and_event_have_the_shape_of_the_api() -> None:
    found = {"error": "it ended", "reason": "reverted", "time": "1970-01-01T00:00:00Z"}
    assert {"assigned": {"configMap": SOURCE}, **found} == STATUS
    assert status_annotation.restarting(SOURCE) == (
        "Kubelet restarting to use /api/v1/namespaces/kube-system/configmaps/c, UID: u1, ResourceVersion: 7, "
        "KubeletConfigKey: kubelet"
    )
    event = status_annotation.event("n1", PENDING)
    assert event["metadata"] == {"name": "n1.59682f00", "namespace": "default"}
    assert (event["reason"], event["type"]) == ("KubeletConfigChanged", "Warning")
    assert event["involvedObject"] == {"kind": "Node", "name": "n1", "uid": "n1"}
    assert event["source"] == {"component": "kubelet", "host": "n1"}


class Api:
    """An API server that refuses calls of a method with the given status; it has one Node with this condition Ready."""

    def __init__(self, ready: dict[str, str] | None = None, **refused: int) -> None:
        self.refused = refused
        self.ready = {"type": "Ready", **(ready or {})}
        self.calls: list[tuple[str, str, t.Any]] = []
        self.notes: dict[str, str] = {}
        self.policy = 0

    def node_name(self) -> str:
        return "n1"

    def call(self, method: str, path: str, body: t.Any = None, _content_type: str = "") -> t.Any:
        if method in self.refused:
            raise ApiError(f"{method} {path}: refused", self.refused[method])
        self.calls.append((method, path, body))
        if body and self.policy and annotation.SOURCE in body["metadata"].get("annotations", {}):
            raise ApiError("a node may not write its source", self.policy)
        meta = {"uid": "uid-n1", "resourceVersion": "5", "annotations": self.notes}
        status = {"conditions": [{"type": "MemoryPressure", "status": "False"}, self.ready]}
        return {"metadata": meta, "status": {**status, "nodeInfo": {"machineID": "m1"}}}

    def annotation(self) -> t.Any:
        """The status that was written last."""
        return json.loads(self.patched()["annotations"][annotation.STATUS])

    def patched(self) -> t.Any:
        """The metadata that was written last."""
        return [body for method, _path, body in self.calls if method == "PATCH"][-1]["metadata"]


@pytest.fixture
def records(tmp_path: Path) -> Outbox:
    (tmp_path / "store").mkdir()
    records = Outbox(str(tmp_path))
    records.write_report(PENDING)
    return records


def sent(records: Outbox, api: Api, started: float | None = 7.9) -> str:
    return status_reporter.report(records, lambda: t.cast(Kubeconfig, api), lambda: started)


def test_sends_both_once(records: Outbox) -> None:
    api = Api()
    assert sent(records, api) == "" and records.report() is None
    annotated, event = (call[:2] for call in api.calls)
    assert annotated == ("PATCH", "/api/v1/nodes/n1") and event == ("POST", "/api/v1/namespaces/default/events")
    assert api.annotation() == {**STATUS, "started": "1970-01-01T00:00:07Z"}
    assert sent(records, api) == "" and len(api.calls) == 2


def test_the_start_of_the_kubelet_is_sent_as_soon_as_it_runs(records: Outbox) -> None:
    api = Api()
    for _time in range(2):
        assert sent(records, api, None) == "" and records.report() is not None
    assert api.annotation() == STATUS and [call[0] for call in api.calls] == ["PATCH", "POST"]
    assert sent(records, api) == "" and records.report() is None
    assert api.annotation() == {**STATUS, "started": "1970-01-01T00:00:07Z"}
    assert [call[0] for call in api.calls] == ["PATCH", "POST", "PATCH"]


def test_the_start_sent_with_a_report_is_never_that_of_the_former_kubelet(records: Outbox) -> None:
    """A kubelet that is restarted while the status of the former one is being sent."""
    newer, api = PENDING._replace(status={**STATUS, "reason": "on trial"}, name_suffix="other"), Api()

    def since() -> float:
        records.write_report(newer)
        return 99.0

    status_reporter.report(records, lambda: t.cast(Kubeconfig, api), since)
    assert api.annotation() == {**STATUS, "started": "1970-01-01T00:01:39Z"} and records.report() == newer


@pytest.mark.parametrize(
    ("notes", "policy", "written"),
    [
        ({}, 0, {"configMap": SOURCE, "machineID": "m1", "nodeUID": "uid-n1"}),
        ({annotation.SOURCE: "of a controller"}, 0, None),
        ({}, 403, None),
        ({}, 422, None),
    ],
)
def test_the_source_of_a_seed_is_sent_once_and_replaces_none(
    records: Outbox, notes: dict[str, str], policy: int, written: dict[str, t.Any] | None
) -> None:
    """It waits for its Node together with the status, and a newer status does not lose it."""
    records.queue(STATUS, "", False, 2.0, {"configMap": SOURCE})
    api = Api(GET=404)
    assert "refused" in sent(records, api)
    records.queue({**STATUS, "reason": "on trial"}, "", False, 3.0)
    api = Api()
    api.notes, api.policy = notes, policy
    assert sent(records, api) == "" and records.report() is None
    last = api.patched()
    assert api.annotation()["reason"] == "on trial"
    found = last["annotations"].get(annotation.SOURCE)
    assert (json.loads(found) if found else None) == written
    assert last.get("resourceVersion") == ("5" if written else None)


@pytest.mark.parametrize(
    ("status", "beat", "more", "wrong"),
    [
        ("True", "01:46:40", {}, "^$"),
        ("True", "01:46:50", {}, "^$"),
        ("True", "01:46:39", {}, "its last heartbeat is from 2001-09-09T01:46:39Z, .* started at 2001-09-09T01:46:40Z"),
        # Of a clock that was set back since: as old as any other.
        ("True", "02:46:40", {}, "last heartbeat"),
        ("False", "01:46:50", {"reason": "NoNet", "message": "no network"}, r"^it is not Ready \(NoNet\): no network"),
        ("Unknown", "01:46:50", {}, "not Ready"),
        ("", "", {}, "not Ready"),
    ],
)
def test_a_ready_node_with_a_heartbeat_since_the_start_verifies_the_kubelet(
    status: str, beat: str, more: dict[str, str], wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time", lambda: 1e9 + 60)
    ready = {"status": status, "lastHeartbeatTime": f"2001-09-09T{beat}Z", **more} if status else {}
    assert re.search(wrong, status_reporter.unverified(lambda: t.cast(Kubeconfig, Api(ready)), 1e9 + 0.9))


def test_unverified_without_an_answer_or_a_kubelet_and_not_needed_without_a_cluster() -> None:
    ready = {"status": "True", "lastHeartbeatTime": status_annotation.stamp(time.time())}
    assert "did not answer" in status_reporter.unverified(lambda: t.cast(Kubeconfig, Api(ready, GET=503)), 0.0)
    assert "no kubelet" in status_reporter.unverified(lambda: t.cast(Kubeconfig, Api(ready)), None)
    assert status_reporter.unverified(lambda: status_reporter.api_of(["kubelet"], 0), 0.0) == ""


@pytest.mark.parametrize(("refused", "rest"), [({"PATCH": 0}, ["PATCH", "POST"]), ({"POST": 503}, ["POST"])])
def test_continues_where_it_stopped(records: Outbox, refused: dict[str, int], rest: list[str]) -> None:
    api = Api()
    assert "refused" in sent(records, Api(**refused)) and sent(records, api) == ""
    assert [call[0] for call in api.calls] == rest


def test_an_event_that_exists_counts_as_sent_and_so_does_all_without_a_cluster(records: Outbox) -> None:
    assert sent(records, Api(POST=409)) == "" and records.report() is None
    records.write_report(PENDING)
    assert status_reporter.report(records, lambda: status_reporter.api_of(NO_CLUSTER, 0), lambda: None) == ""
    assert records.report() is None


@pytest.fixture
def kubelet(tmp_path: Path) -> list[str]:
    """Return the command line of a kubelet whose API server does not answer."""
    path = tmp_path / "kubelet.conf"
    path.write_text(json.dumps(kubeconfig({"c": "https://127.0.0.1:9"}, {"token": "secret-1"})))
    return [f"--kubeconfig={path}", "--hostname-override=N7"]


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Let the API server refuse each request with a status, the parameter."""

    def call(_self: Kubeconfig, method: str, path: str, *_body: t.Any) -> None:
        raise ApiError(f"{method} {path}: refused", request.param)

    monkeypatch.setattr(Kubeconfig, "call", call)


def test_the_guard_gets_an_answer_about_its_own_node(kubelet: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[t.Any] = []
    monkeypatch.setattr(Kubeconfig, "call", lambda _self, *words: calls.append(words))
    assert status_reporter.failure(kubelet, 0) == "" == status_reporter.failure(NO_CLUSTER, 0)
    assert calls == [("GET", "/api/v1/nodes/n7")]


@pytest.mark.parametrize(
    ("refused", "hint", "warnings"),
    # Annotations of a Node that is gone are gone, too.
    [(404, "--hostname-override", 0), (403, "GET", 1), (0, "GET", 1)],
    indirect=["refused"],
)
@pytest.mark.usefixtures("refused")
@pytest.mark.fault(case=44)
def test_what_the_api_server_refuses(hint: str, warnings: int, kubelet: list[str]) -> None:
    found = status_reporter.failure(kubelet, 0)
    assert hint in found and "/api/v1/nodes/n7" in found
    left = status_reporter.withdraw(kubelet, 0, [annotation.STATUS])
    assert [f"annotate node NAME {annotation.STATUS}-" in warning for warning in left] == [True] * warnings


def test_the_api_server_is_reached_as_by_the_running_kubelet(kubelet: list[str]) -> None:
    """A drop-in of its unit may name a proxy."""
    environ = {**os.environ, "HTTPS_PROXY": "proxy:3128"}
    pipe = subprocess.PIPE
    with subprocess.Popen(["sh", "-c", "echo; read _"], env=environ, stdin=pipe, stdout=pipe) as running:
        try:
            # Linux shows the environment of a process only some time after its start.
            assert running.stdout and running.stdout.readline()
            assert status_reporter.api_of(kubelet, running.pid).environ == environ
        finally:
            running.kill()
    assert status_reporter.api_of(kubelet, 0).environ == {}


def test_the_host_of_another_node(kubelet: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A node may have written the address of another one into its own status, from where the inventory has it."""
    # A token names no node.
    for words in (kubelet, ["--kubeconfig=/none"], NO_CLUSTER):
        assert status_reporter.elsewhere(words, "n1") == ""
    monkeypatch.setattr(Kubeconfig, "certified_name", lambda _self: "n2")
    assert status_reporter.elsewhere(kubelet, "n2") == ""
    assert status_reporter.elsewhere(kubelet, "n1").startswith("this is the host of the node n2")
