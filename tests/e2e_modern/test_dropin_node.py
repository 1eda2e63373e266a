# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Delivery `dropin` on a real kubelet: folders, other services, migration from checkpoint and its revert."""

from __future__ import annotations

import typing as t

import pytest

from tests.lab.lab import Lab
from tests.support.lab_node.dropin_node import AGENT, FOLDER, HEADER, Calls, DropinNode, agent, dropin
from tests.support.lab_node.node_bench import STORE, Bench

# The kubelet's validation passes it, and no interface has this address.
DEADLY = {"address": "192.0.2.1"}
# Without the files that a kubelet itself writes.
LAYOUT = (
    f"find /etc/systemd /usr/lib/systemd/system/kubelet.service.d /etc/default /etc/kubernetes {STORE} -maxdepth 2 "
    "-not -path '*/pki/*' \\( -type f -o -type l -o -path '*kube*' \\) -printf '%p %y %m %l\\n' 2>/dev/null | sort; "
    "stat -c '%n %a %s' /var/lib/kubelet/*.yaml /var/lib/kubelet/*.env; cat /var/lib/kubelet/config.yaml; "
    "systemctl cat kubelet"
)
LINK = f"{STORE}/conf.d/90-livenodes-kubelet.conf"


@pytest.fixture
def calls(lab: Lab) -> t.Iterator[Calls]:
    """Yield the module on a node of 1.36; afterwards the node has its own configuration."""
    bench = Bench(lab, "n3")
    calls = Calls(bench)
    try:
        yield calls
    finally:
        bench.node.run(f"rm -f {FOLDER}/90-livenodes-kubelet.conf")
        bench.close()


def graduated(calls: Calls, fields: dict[str, t.Any], **options: t.Any) -> dict[str, t.Any]:
    """Switch to fields and make them last-known-good without a trial; return what is live."""
    result = calls.switch(fields, **options)
    assert not result.get("reasons") and not result.get("failed"), result
    calls.bench.wait(calls.bench.healthy, 60, "healthz")
    calls.bench.python("store.graduate(store.assigned(), 'v1.36.2')")
    return calls.bench.configz()


def changed(before: dict[str, t.Any], after: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return the fields that differ, as they are after."""
    return {key: after.get(key) for key in {*before, *after} if before.get(key) != after.get(key)}


def test_a_folder_of_the_unit(calls: Calls, lab: Lab) -> None:
    """One link in it is all that the kubelet reads of ours; what comes after ours is refused by name."""
    bench, own = calls.bench, DropinNode(lab, "n3")
    own.open()
    try:
        own.write(
            {}, {"10-site.conf": dropin({"maxPods": 60, "eventBurst": 7}), "95-late.conf": dropin({"podPidsLimit": 9})}
        )
        before = own.live()
        layout = own.run(f"{LAYOUT}; ls -l {FOLDER}")
        result = calls.switch({"podPidsLimit": 10})
        assert [reason for reason in result["reasons"] if "95-late.conf comes after ours" in reason], result
        live = graduated(calls, {"maxPods": 61})
        assert changed(before, live) == {"maxPods": 61}
        assert own.run(f"readlink {FOLDER}/90-livenodes-kubelet.conf").strip() == f"{STORE}/active/kubelet"
        assert "--config-dir" not in own.run("cat /etc/systemd/system/kubelet.service.d/zzz-livenodes-kubelet.conf")
        result = calls.switch({"maxPods": 62})
        assert [layer["path"] for layer in result["preflight"]["own"]][1:] == [
            f"{FOLDER}/10-site.conf",
            f"{FOLDER}/95-late.conf",
        ]
        bench.wait(bench.healthy, 60, "healthz")
        calls.reset()
        assert own.run(f"{LAYOUT}; ls -l {FOLDER}") == layout and changed(before, bench.configz()) == {}
        # Where the folder is a link, the kubelet would ignore it.
        own.run(f"ln -sfn {FOLDER} /root/folder")
        own.name("--config-dir=/root/folder")
        own.live()
        result = calls.switch({"maxPods": 63})
        assert [reason for reason in result["reasons"] if "is a symbolic link, which the kubelet ignores" in reason]
        own.name("--config-dir=/root/folder/")
        assert changed(before, own.live()) == {}
        assert changed(before, graduated(calls, {"maxPods": 63})) == {"maxPods": 63}
        calls.reset()
    finally:
        own.run("rm -f /root/folder")
        own.close()


def test_a_kubelet_that_another_service_starts(calls: Calls, lab: Lab) -> None:
    """The folder is named by the caller; the service gets the guard's step, and its command line stays."""
    bench, own = calls.bench, DropinNode(lab, "n3")
    before = bench.configz()
    with agent(own):
        refused = Calls(bench, unit=AGENT).switch({"maxPods": 61})
        assert [reason for reason in refused["reasons"] if "is not the kubelet" in reason], refused
        own.run(f"cat > {FOLDER}/00-agent.conf", stdin=dropin({"maxPods": 60}))
        child = Calls(bench, unit=AGENT, dropin_dir=FOLDER)
        layout = own.run(f"{LAYOUT}; systemctl cat {AGENT}; ls -l {FOLDER}")
        result = child.switch({"maxPods": 61, "healthzPort": 10333})
        assert result["reasons"] == [] and result["preflight"]["kubelet"]["form"] == "child", result
        assert result["preflight"]["kubelet"]["binary"] == "/usr/bin/kubelet"
        bench.wait(lambda: bench.healthy(10333), 60, "healthz at the declared port")
        bench.confirm()
        bench.wait(lambda: not bench.on_trial(), 60, "graduation", every=0.5)
        assert changed(before, bench.configz()) == {"maxPods": 61, "healthzPort": 10333}
        dropins = own.run(f"cat /etc/systemd/system/{AGENT}.d/*")
        assert "ExecStartPre=" in dropins and "ExecStart=" not in dropins.splitlines()
        good = bench.active()
        # So does the check of an upgrade, which reads the command line of the kubelet and not that of the service.
        assert child.upgrade_info()["words"][0] == "/usr/bin/kubelet"
        assert Calls(bench, unit=AGENT).upgrade_info()["words"][0] != "/usr/bin/kubelet"
        # The step that installs the guard knows the folder too, and finds nothing to do.
        assert child.guard()["changed"] is False
        assert "is not the kubelet" in Calls(bench, unit=AGENT).guard()["message"]

        assert child.switch({**DEADLY, "maxPods": 62})["reasons"] == []
        bench.wait(lambda: bench.active() == good and bench.healthy(10333), 90, "revert to last-known-good")
        assert changed(before, bench.configz()) == {"maxPods": 61, "healthzPort": 10333}

        child.reset()
        assert own.run(f"{LAYOUT}; systemctl cat {AGENT}; ls -l {FOLDER}").splitlines() == layout.splitlines()
        assert changed(before, bench.configz()) == {"maxPods": 60}


def test_migration_from_checkpoint_and_its_way_back(calls: Calls) -> None:
    """One trial: what fails leads back to what the checkpoint was, and a second try to the drop-in."""
    bench = calls.bench
    before = bench.configz()
    whole = {**bench.local(), **HEADER, "maxPods": 83, "kubeAPIQPS": 51}
    former = graduated(calls, whole, delivery="checkpoint")
    assert changed(before, former) == {"maxPods": 83, "kubeAPIQPS": 51}
    target = bench.active()

    result = calls.switch({**DEADLY, "maxPods": 84})
    assert result["reasons"] == [], result
    bench.wait(lambda: bench.active() == target and bench.healthy(), 90, "revert to the checkpoint")
    assert changed(former, bench.configz()) == {}
    bench.wait(lambda: "192.0.2.1" in bench.status().get("error", ""), 30, "error in the annotation")

    # The other way needs a reset.
    refused = calls.switch(whole, delivery="checkpoint")
    assert [reason for reason in refused["reasons"] if "Reset it before" in reason], refused

    live = graduated(calls, {"maxPods": 83})
    assert changed(before, live) == {"maxPods": 83}
    assert "--config=/var/lib/kubelet/config.yaml" in bench.node.run(
        "tr '\\0' ' ' < /proc/$(systemctl show -P MainPID kubelet)/cmdline"
    )
    calls.reset()
    assert changed(before, bench.configz()) == {}
