# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The parsers of what is read on a node: files of the store, of the kubelet and of systemd, output of the kubelet.

The guard must do without any file of a store in the middle of a trial.
"""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import shutil
import subprocess
import typing as t
from unittest import mock

from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import observe
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.base import Records, Started
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.records import blockyaml
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_annotation
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report.status_annotation import Outbox, Report
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import meta, trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.kept_files import KeptFiles
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Progress, ProgressFile
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import (
    binary,
    config_summary,
    files,
    health,
    last_words,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.connection import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.kubeconfig import (
    Kubeconfig,
    PluginError,
    _credential,
    not_after,
    subject,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unit_override, unitfile
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import Unit, UnitError
from tests.support.node.guard_node import Node, with_every_file
from tests.unit.fuzz.damaged import contents, documents, texts
from tests.unit.fuzz.parser import FOLDER, Parser, kept
from tests.unit.fuzz.samples import (
    CONFIG,
    DER,
    ENVIRONMENT,
    KUBECONFIG,
    LOADED,
    LOGS,
    SHOWN,
    SOURCE,
    STATUS,
    TRIAL,
    UNIT,
    USERS,
    YAML,
    kubeconfig,
)

WHOLE, PLACE = FOLDER / "whole", FOLDER / "damaged"
# When the guard looks: after how many seconds, and whether the kubelet is well then.
LOOKS = ((5, True), (61, False), (61, False), (700, True))


WHOLE.mkdir()
NODE = with_every_file(Node(WHOLE), PLACE, state_files=[{"path": str(PLACE / "cpu_manager_state"), "data": "YQ=="}])
FILES = {
    name: (WHOLE / "config/store" / name).read_text()
    for name in (
        "binary",
        "graduated",
        "kept-files",
        "local/manifest",
        "meta/assigned",
        "meta/last-known-good",
        "progress",
        "report",
        "trial",
    )
}
DAMAGED = st.one_of(
    [
        st.tuples(st.just(name), contents(text) if name.startswith("meta/") else documents(json.loads(text)))
        for name, text in FILES.items()
    ]
)


def guarded(given: tuple[str, bytes]) -> None:
    """Let the guard look at a store with this file, some times, and send what it reports then."""
    shutil.rmtree(PLACE, ignore_errors=True)
    shutil.copytree(WHOLE, PLACE, symlinks=True)
    name, data = given
    (PLACE / "config/store" / name).write_bytes(data)
    node = copy.copy(NODE)
    node.store, node.started = Store(str(PLACE / "config")), Started(str(PLACE / "run/started"))
    node.properties = {**NODE.properties, "NRestarts": "1"}
    # The errors that the guard's program expects, see guard_main.
    expected = contextlib.suppress(StoreError, OSError)
    with expected:
        node.guard().prestart()
    for seconds, node.well in LOOKS:
        with expected:
            node.later(seconds)
    report = node.guard().records.report()
    if report:
        status_annotation.event("n1", report)
        json.dumps({**report.status, "started": ""})


def unit_file(text: str) -> object:
    found = list(unitfile.settings(text, "/unit"))
    return unitfile.effective(found, "ExecStart"), unitfile.place("--config=/a", [("/unit", text)])


def loaded_by(text: str) -> object:
    # `command.execute` puts a question mark or a replacement in the place of what is not text.
    text = text.encode(errors="replace").decode()
    return unitfile.ask("kubelet.service", lambda words: subprocess.CompletedProcess(list(words), 0, text, ""))


def unit(text: str) -> None:
    """Ask systemd for the kubelet and its unit, and get this."""

    def run(words: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(list(words), 0, text, "")

    place = FOLDER / "root/unit"
    place.parent.mkdir(exist_ok=True)
    place.write_text("[Service]\nExecStart=/usr/bin/kubelet --a\nEnvironment='A=b c' D=e\n")
    observe.kubelet("kubelet.service", run)
    shown = Unit("kubelet.service", str(FOLDER / "root"), run)
    shown.pid()
    shown.form()
    shown.command()


def overridden(text: str) -> None:
    """Make our drop-in for a unit with this file, and read the unit without it."""
    own = list(unitfile.settings(text, "/unit"))
    for command in unitfile.effective(own, "ExecStart"):
        words = command.value.split()
        found = unit_override.Found(command, "/k", words, own, [("/unit", text)], [])
        form = unit_override.judge({"Id": "kubelet.service", "Type": "simple"}, found, "/", child=True)
        for path in ("/a/b", unit_override.Layer("/c/d")):
            ours = unit_override.dropin(form, command, path)
            unit_override.repeats(ours, command, own, path)
            unit_override.without([*words, "--config=/a/b"], ours, own)


def environment(data: bytes) -> object:
    path = FOLDER / "root/etc/default/kubelet"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return unitfile.place("--max-pods=61", [(str(path), files.text(str(path)))])


def user(data: bytes) -> object:
    """Read a kubeconfig, and send a request with it up to the connection. No plugin runs that it names."""
    path = FOLDER / "kubelet.conf"
    path.write_bytes(data)
    refused = mock.Mock(side_effect=ConnectionRefusedError)
    with mock.patch("http.client.HTTPConnection.connect", refused), mock.patch("subprocess.run", refused):
        api = Kubeconfig(str(path), cert_dir=str(FOLDER / "none"))
        api.node_name()
        return api.call("GET", "/x")


def endpoints(data: bytes) -> object:
    path = FOLDER / "config.yaml"
    path.write_bytes(data)
    words = ["kubelet", f"--config={path}"]
    return observe.target(words), health.runtime_socket(observe.config_of(str(path)), words, "v1.28.7")


def pem(data: bytes) -> object:
    text = f"-----BEGIN CERTIFICATE-----\n{base64.b64encode(data).decode()}\n-----END CERTIFICATE-----\n"
    return subject(text), not_after(text)


BINARY = st.tuples(st.binary(max_size=4), st.integers(0, len(DER)), st.integers(0, len(DER))).map(
    lambda cut: DER[: cut[1]] + cut[0] + DER[cut[2] :]
)
PARSERS = {
    "meta file": Parser(contents(meta.encode(SOURCE).decode(), json.dumps(SOURCE)), meta.decode, (StoreError,)),
    "trial": Parser(documents(TRIAL), trial.decode, (trial.TrialError,)),
    "progress of the guard": Parser(
        documents(Progress(name="t", boot="b")._asdict()),
        kept(lambda folder: ProgressFile(folder).read(), "store/progress"),
    ),
    "progress of the guard, in memory": Parser(
        documents({"on_disk": Progress()._asdict(), "now": Progress(name="t")._asdict()}),
        kept(lambda folder: Records(folder, files.DISK, f"{folder}/spare").progress(), "spare"),
    ),
    "report of the guard": Parser(
        documents(Report(STATUS, "m", True, 1.0, "s")._asdict()),
        kept(lambda folder: Outbox(folder).report(), "store/report"),
    ),
    "start of the guard": Parser(
        documents({"invocation": "i", "target": "a"}), kept(lambda folder: Started(f"{folder}/s").target("i"), "s")
    ),
    "state files": Parser(
        documents({"root": "/r", "boot": "b", "data": {"cpu_manager_state": "YQ=="}, "reverted": None}),
        kept(lambda folder: KeptFiles(folder).read(), "store/kept-files"),
    ),
    "store of the guard": Parser(DAMAGED, guarded),
    "unit file": Parser(texts(UNIT), unit_file),
    "drop-in of a unit": Parser(
        texts(UNIT, UNIT.replace("$KUBELET_CONFIG_ARGS", "--config=/a")), overridden, (ValueError,)
    ),
    "systemctl show": Parser(texts(SHOWN), unit, (UnitError,)),
    "environment file": Parser(contents(ENVIRONMENT), environment),
    "what systemd has loaded": Parser(texts(LOADED), loaded_by),
    "kubeconfig": Parser(
        contents(KUBECONFIG) | st.one_of([documents(kubeconfig(one)) for one in USERS]), user, (ApiError,)
    ),
    "answer of a plugin": Parser(
        documents({"status": {"token": "t", "clientCertificateData": "c", "clientKeyData": "k"}}),
        lambda data: _credential(data, "p"),
        (PluginError,),
    ),
    "certificate": Parser(BINARY, pem, (ValueError,)),
    "answer of the binary": Parser(texts(*LOGS), lambda text: binary.verdict(text, "/none", 1)),
    "log of the kubelet": Parser(texts(*LOGS), lambda text: last_words.kind(last_words.parse(text.splitlines()))),
    "config file on the node": Parser(texts(YAML, json.dumps(CONFIG)), config_summary.load, (ValueError,)),
    "secrets of a config file": Parser(
        texts(YAML, json.dumps(CONFIG)), lambda text: config_summary.without_secrets(["a planted error"], text)
    ),
    "endpoints in a config file": Parser(contents(YAML, json.dumps(CONFIG)), endpoints),
    "YAML on the node": Parser(texts(YAML, KUBECONFIG), blockyaml.load, (blockyaml.Unreadable,)),
}
