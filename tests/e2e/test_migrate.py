# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A node with a native config source migrates to checkpoint delivery and back, and always runs its configuration."""

from __future__ import annotations

import contextlib
import threading
import typing as t

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import textfile
from tests.e2e.test_drift import notes
from tests.lab.lab import Lab
from tests.support.lab.views import eventually, look
from tests.support.plays.ansible import Ansible

N1 = ("-e", "kubelet_config_hosts=n1")
TEXTFILES = "/run/textfile"
LAYOUT = (
    "find /etc/systemd /etc/kubernetes /etc/default /var/lib/kubelet/config.yaml "
    "/var/lib/kubelet/kubeadm-flags.env /var/lib/kubelet-config "
    "-printf '%p %y %m %s %l\\n' 2>/dev/null | sort; systemctl cat kubelet; cat /var/lib/kubelet/config.yaml"
)


def to(delivery: str) -> tuple[str, ...]:
    return (*N1, "-e", f"kubelet_config_delivery={delivery}")


@pytest.fixture
def assigned(lab: Lab, fleet: tuple[str, ...], ansible: Ansible) -> t.Iterator[str]:
    """Yield the source of n1 in native delivery; its files must be unchanged afterwards."""
    layout = lab.node("n1").run(LAYOUT)
    lab.node("n1").run(f"mkdir -p {TEXTFILES}")
    ansible.variables(all={"kubelet_config": {"kubeAPIQPS": 57}, "kubelet_config_metrics_dir": TEXTFILES})
    run = ansible.playbook("rollout", *N1)
    assert run.code == 0, run.output
    try:
        yield layout
    finally:
        back = ansible.playbook("reset", *N1)
        lab.node("n1").set_dynamic(True)
        lab.wait_listening()
        assert back.code == 0, back.output
        assert lab.node("n1").run(LAYOUT) == layout
        # It must be empty.
        lab.node("n1").run(f"rmdir {TEXTFILES}")


def series(text: str) -> list[str]:
    """Return the series of a kubelet's configuration among metrics."""
    return sorted(line for line in text.splitlines() if line.startswith(textfile.PREFIX))


def of_kubelet(lab: Lab) -> list[str]:
    """Return what the kubelet of n1 serves itself."""
    return series(lab.kubectl("get", "--raw", "/api/v1/nodes/n1/proxy/metrics"))


def of_guard(lab: Lab) -> list[str]:
    """Return what the guard of n1 has written for node_exporter."""
    return series(lab.node("n1").run(f"cat {TEXTFILES}/{textfile.NAME}", check=False))


@contextlib.contextmanager
def always(lab: Lab, field: str, value: t.Any) -> t.Iterator[list[t.Any]]:
    """Check that the kubelet of n1 runs with this value whenever it answers."""
    seen: list[t.Any] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.3):
            with contextlib.suppress(Exception):
                seen.append(lab.get("/api/v1/nodes/n1/proxy/configz")["kubeletconfig"][field])

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield seen
    finally:
        done.set()
        watcher.join()
    assert len(seen) > 5 and set(seen) == {value}, seen


def test_there_and_back(lab: Lab, ansible: Ansible, assigned: str) -> None:
    node, native = lab.node("n1"), look(lab, "n1")
    checked = ansible.playbook("migrate", *to("checkpoint"), "--check")
    assert checked.code == 0, checked.output
    assert (look(lab, "n1"), notes(lab, "n1"), node.run(LAYOUT)) == (native, {}, assigned)
    served = of_kubelet(lab)
    assert len(served) == 4 and (served, of_guard(lab)) == (series(textfile.metrics(native.status)), [])

    with always(lab, "kubeAPIQPS", 57):
        there = ansible.playbook("migrate", *to("checkpoint"))
        assert there.code == 0, there.output
        moved = look(lab, "n1")
        assert (moved.spec, moved.status, moved.configz) == (None, {}, native.configz)
        assert notes(lab, "n1")["source"]["configMap"] == native.status["active"]["configMap"]
        # A dashboard shows the same as before.
        assert of_guard(lab) == served

        # As in a cluster after 1.23: the kubelet runs without --dynamic-config-dir.
        node.set_dynamic(False)
        eventually(lambda: look(lab, "n1").invocation != moved.invocation, 30, "the kubelet without the flag")
        assert ansible.playbook("rollout", *N1).recap("n1")["changed"] == 0
        assert (of_kubelet(lab), of_guard(lab)) == ([f"{textfile.PREFIX}_error 0"], served)

        node.set_dynamic(True)
        lab.wait_ready()
        back = ansible.playbook("migrate", *to("native"))
        assert back.code == 0, back.output
    # A kubelet that has just started serves them only after its first look at the Node.
    eventually(lambda: of_kubelet(lab) == served, 30, "the kubelet's own series")
    now = look(lab, "n1")
    assert (now.spec, now.status["active"], now.configz) == (native.spec, native.status["active"], native.configz)
    assert (notes(lab, "n1"), node.run(LAYOUT)) == ({}, assigned)
    assert of_guard(lab) == []
    assert ansible.playbook("rollout", *N1).recap("n1")["changed"] == 0
