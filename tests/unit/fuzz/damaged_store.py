# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A store in the middle of a trial, one of whose files is damaged, and the guard that must do without it."""

from __future__ import annotations

import contextlib
import copy
import json
import shutil

from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.base import Started
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_annotation
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from tests.support.node.guard_node import Node, with_every_file
from tests.unit.fuzz.damaged import contents, documents
from tests.unit.fuzz.parser import FOLDER

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
