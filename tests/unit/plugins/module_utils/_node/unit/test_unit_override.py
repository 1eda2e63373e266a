# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which units a drop-in of ours can change, what it holds, and when it is made anew."""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit import unit, unit_override
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit_override import Layer
from tests.support.node.systemd_model import FOLDER, KUBEADM, KUBEADM_TEXT, PLAIN_TEXT, SERVICE, Systemd, config_of

ACTIVE = "/var/lib/kubelet-config/active/kubelet"
APPENDED = f" --config={ACTIVE}"
KUBELET = "ExecStart=/usr/bin/kubelet"
STEP = ("ExecStartPre=x",)
OURS = f"{FOLDER}/{unit.DROPIN}"
# What the file /etc/kubelet.env of these nodes holds.
ENVIRONMENT = "ARGS=--config=/etc/k.yaml --v=2\nCONFIG=/etc/k.yaml\n"
FILE = "EnvironmentFile=/etc/kubelet.env\n"
TEXTS = {"plain": f"{KUBELET} --config=/etc/k.yaml --old", "by a file": f"{FILE}{KUBELET} $ARGS --old"}


def loaded(node: Systemd, lines: str) -> unit.Unit:
    """Write the unit's own file with these lines of [Service], and let systemd read it and our drop-in."""
    node.write("/etc/kubelet.env", ENVIRONMENT)
    node.write(SERVICE, f"[Service]\n{lines}\n")
    return node.load(SERVICE, *([OURS] if (node.root / OURS[1:]).exists() else []))


def lines(dropin: str) -> list[str]:
    """Return what a drop-in of ours has below [Service], which nothing but comments precedes."""
    _comment, _other, section, *found = dropin.splitlines()
    assert section == "[Service]"
    return found


def test_kubeadms_form(node: Systemd) -> None:
    kubelet = node.kubeadm()
    assert kubelet.form() == ("kubeadm", "", "/var/lib/kubelet/config.yaml", KUBEADM, 4, "KUBELET_CONFIG_ARGS")
    assert lines(kubelet.dropin(ACTIVE)) == [f'Environment="KUBELET_CONFIG_ARGS=--config={ACTIVE}"']


def test_other_flags_of_the_variable_are_kept(node: Systemd) -> None:
    own = "ExecStart=/usr/bin/kubelet $ARGS"
    kubelet = loaded(node, f"Environment=\"ARGS=--v=2 --config /a.yaml --node-labels='a %% b'\"\n{own}")
    assert kubelet.form().config == "/a.yaml"
    assert lines(kubelet.dropin(ACTIVE)) == ["ExecStart=", own + APPENDED]


@pytest.mark.parametrize(
    "written",
    [
        "--config {config}",
        "--config={config}",
        '"--config={config}"',
        "--config '{config}'",
        "--config=/other --config {config}",
    ],
)
def test_a_plain_command_is_repeated_with_our_config_at_its_end(node: Systemd, written: str) -> None:
    node.write(SERVICE, PLAIN_TEXT.replace("--config {config}", written).format(config="/etc/kubelet.yaml"))
    kubelet = node.load(SERVICE)
    own = kubelet.argv()
    form = kubelet.form()
    assert form[:5] == ("plain", "", "/etc/kubelet.yaml", SERVICE, 5)
    kubelet.install(ACTIVE)
    assert kubelet.command().argv == [*own, APPENDED.strip()]
    assert (kubelet.own_words(), kubelet.form()) == (own, form), "as without our drop-in"


@pytest.mark.parametrize(
    ("text", "former"),
    [
        (f"{KUBELET} --a --config /etc/k.yaml --b", f"ExecStart=\n{KUBELET} --a{APPENDED} --b"),
        (f'Environment="A=--a --config=/etc/k.yaml --b"\n{KUBELET} $A', f'Environment="A=--a{APPENDED} --b"'),
        (
            f'Environment="A=--config=/etc/k.yaml --b"\n{KUBELET} $A',
            'Environment="A=--config=/etc/k.yaml --b --config-dir=/store/conf.d"',
        ),
    ],
)
def test_a_drop_in_of_a_former_version_is_understood(node: Systemd, text: str, former: str) -> None:
    """It stands in the place of the unit's own --config."""
    own = loaded(node, text).form(layered=True)
    node.write(OURS, f"[Service]\n{former}\n")
    kubelet = loaded(node, text)
    assert kubelet.form(layered=True) == own and own.config == "/etc/k.yaml"
    assert config_of(kubelet.own_words()) == "/etc/k.yaml" and "--config-dir=/store/conf.d" not in kubelet.own_words()


def test_one_more_folder_beside_the_units_own_config(node: Systemd) -> None:
    """Behind kubeadm's --config in its variable; else at the end of the repeated command, wherever --config is."""
    layer = Layer("/store/conf.d")
    assert lines(node.kubeadm().dropin(layer, STEP)) == [
        'Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml --config-dir=/store/conf.d"',
        *STEP,
    ]
    own = f"{KUBELET} $ARGS"
    kubespray = loaded(node, FILE + own)
    assert kubespray.form() == kubespray.form(layered=True)
    assert lines(kubespray.dropin(layer)) == ["ExecStart=", f"{own} --config-dir=/store/conf.d"]
    assert lines(kubespray.dropin(Layer(), STEP)) == [*STEP]
    with pytest.raises(unit.UnitError, match="it must begin with /"):
        kubespray.dropin(Layer("conf d"))


def test_a_folder_that_has_no_effect_is_found_out(node: Systemd) -> None:
    kubelet = node.kubeadm()
    layer = Layer("/store/conf.d")
    assert kubelet.install(layer) and not kubelet.install(layer)
    words = kubelet.next_command().argv
    assert unit_override.ineffective(layer, words) == ""
    wrong = unit_override.ineffective(Layer("/other"), words)
    assert wrong == "the kubelet would read /store/conf.d, not /other"


def test_another_program_may_start_the_kubelet(node: Systemd) -> None:
    """Only where the caller names the folder."""
    node.write("/usr/bin/agent", "#!/bin/sh\n")
    agent = loaded(node, "Type=notify\nExecStart=/usr/bin/agent run")
    assert agent.form(layered=True).kind == "refused" and "not the kubelet" in agent.form(layered=True).reason
    agent.child = True
    assert agent.form(layered=True).kind == "child"
    assert lines(agent.dropin(Layer(), STEP)) == [*STEP]
    node.properties["Type"] = "oneshot"
    agent = node.load(SERVICE)
    agent.child = True
    assert agent.form(layered=True).kind == "refused"


def test_a_braced_variable_is_a_part_of_a_plain_command(node: Systemd) -> None:
    own = "ExecStart=-/usr/bin/kubelet --config=${CONFIG} --x=$$y"
    kubelet = loaded(node, FILE + own)
    assert kubelet.form().config == "/etc/k.yaml"
    assert lines(kubelet.dropin(ACTIVE)) == ["ExecStart=", own + APPENDED]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{KUBELET} --v=2", "no --config"),
        (f"{KUBELET} --config=", "--config is empty"),
        (f"{KUBELET} -- --config=/x", "no --config"),
        ("ExecStart=/usr/local/bin/start-node --config=/x", "not the kubelet"),
        ("ExecStart=/usr/local/bin/kubelet-wrapper --config=/x", "a script"),
        ("ExecStart=/snap/bin/kubelet --config=/x", "snap"),
        ("ExecStart=/opt/kubelet --config=/x", "cannot be read: No such file"),
        ("ExecStart=@/usr/bin/kubelet kubelet --config=/x", "prefix @"),
        (f"{KUBELET} --config=/x\nExecStart=/b", "its files set 2"),
        (
            "ExecStart=/usr/local/bin/kubenswrapper /usr/bin/kubelet --config=/x --config-dir=/etc/o.d",
            "owns this unit, and its kubenswrapper starts the kubelet. Use a KubeletConfig of OpenShift, or "
            "kubelet_config_dropin_dir: /etc/o.d; do not change the unit.",
        ),
        (f"{FILE}{KUBELET} $ARGS -- x", "no flag can follow `--`"),
    ],
)
def test_other_forms_are_refused_with_the_reason(node: Systemd, text: str, reason: str) -> None:
    node.write("/usr/local/bin/kubelet-wrapper", "#!/bin/sh\nexec kubelet\n")
    kubelet = loaded(node, text)
    assert kubelet.form().kind == unit_override.REFUSED
    assert reason in kubelet.form().reason
    with pytest.raises(unit.UnitError):
        kubelet.dropin(ACTIVE)


@pytest.mark.parametrize(
    ("text", "config"),
    [
        # Kubespray, kops, EKS and AKS.
        (f"{FILE}{KUBELET} $ARGS", "/etc/k.yaml"),
        (f'Environment="A=--config" B=/x\n{KUBELET} $A $B', "/x"),
        (f'Environment="B=/x --v=2"\n{KUBELET} --config $B', "/x"),
    ],
)
def test_a_command_with_its_config_elsewhere_gets_one_more(node: Systemd, text: str, config: str) -> None:
    kubelet = loaded(node, text)
    assert kubelet.form()[:3] == ("plain", "", config)
    own = text.splitlines()[-1]
    assert lines(kubelet.dropin(ACTIVE, STEP)) == ["ExecStart=", own + APPENDED, *STEP]
    assert kubelet.install(ACTIVE)
    assert config_of(kubelet.next_command().argv) == ACTIVE


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"Type": "forking"}, "Type=forking"),
        ({"Type": "oneshot"}, "Type=oneshot"),
        ({"Id": "kubelet@a.service"}, "template"),
        ({"User": "kube"}, "user kube"),
        ({"RootDirectory": "/srv"}, "root folder"),
        ({"LoadState": "masked"}, "masked"),
        ({"LoadState": "not-found"}, "no such unit. Let systemd run the kubelet"),
        ({"LoadState": "not-found", "others": "k3s-agent.service"}, "by k3s-agent.service: set kubelet_config_unit"),
        (
            {"LoadState": "not-found", "others": "rke2-agent.service rke2-server.service"},
            "run by rke2-agent.service or rke2-server.service: set kubelet_config_unit to that unit, and "
            "kubelet_config_dropin_dir to its drop-in folder, /var/lib/rancher/rke2/agent/etc/kubelet.conf.d.",
        ),
        ({"LoadState": "not-found", "others": "snap.lxd.daemon.service"}, "Let systemd run the kubelet"),
        ({"LoadState": "not-found", "others": "snap.kubelet.daemon.service"}, "snap.kubelet.daemon.service, which"),
        ({"LoadState": "not-found", "others": "snap.microk8s.daemon-kubelite.service"}, "it is not supported"),
        ({"LoadState": "not-found", "others": "k0sworker.service"}, "run by k0sworker.service, which manages"),
        ({"DropInPaths": f"{KUBEADM} {FOLDER}/zzzz.conf"}, "after ours"),
    ],
)
def test_units_that_cannot_be_judged_are_refused(node: Systemd, change: dict[str, str], reason: str) -> None:
    kubelet = node.kubeadm()
    node.write(f"{FOLDER}/zzzz.conf", "[Service]\n")
    node.properties.update(change)
    assert kubelet.form().kind == unit_override.REFUSED
    assert reason in kubelet.form().reason


@pytest.mark.parametrize("path", [ACTIVE, Layer("/store/conf.d"), Layer()])
@pytest.mark.parametrize("form", ["kubeadm", "plain"])
@pytest.mark.fault(case=80)
def test_the_kubelet_waits_for_the_mount_of_the_store(node: Systemd, form: str, path: str | Layer) -> None:
    """The drop-in without that, from a former version, is replaced; both are read alike."""
    kubelet = node.kubeadm() if form == "kubeadm" else loaded(node, TEXTS["plain"])
    assert kubelet.form().kind == form
    assert kubelet.install(path, STEP)
    former = kubelet.installed() or ""
    assert kubelet.install(path, STEP, "/store") and not kubelet.install(path, STEP, "/store")
    text = kubelet.installed() or ""
    assert text == former.replace("[Service]\n", "[Unit]\nRequiresMountsFor=/store\n\n[Service]\n")
    assert [unit_override.mounts(each) for each in (former, text)] == ["", "/store"]
    assert unit_override.extra_lines(text) == unit_override.extra_lines(former) == STEP
    assert unit_override.repeated(text) == unit_override.repeated(former)
    with pytest.raises(unit.UnitError, match="digits"):
        kubelet.dropin(path, STEP, "/my store")


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("folder", ["", "/store/conf.d"], ids=["checkpoint", "dropin"])
@pytest.mark.parametrize("mounts", ["", "/store"], ids=["former", "with the mount"])
def test_a_changed_command_is_taken_up(node: Systemd, form: str, folder: str, mounts: str) -> None:
    reads = Layer(folder) if folder else ACTIVE
    loaded(node, TEXTS[form]).install(reads, STEP, mounts)
    assert not loaded(node, TEXTS[form]).renew(ACTIVE, folder)

    changed = loaded(node, TEXTS[form].replace("--old", "--new"))
    assert changed.renew(ACTIVE, folder)
    words = changed.next_command().argv
    assert "--new" in words and "--old" not in words
    assert (f"--config-dir={folder}" if folder else f"--config={ACTIVE}") in words
    text = changed.installed() or ""
    assert text.endswith(f"{STEP[0]}\n") and (f"RequiresMountsFor={mounts}\n" in text) == bool(mounts)
    assert not changed.renew(ACTIVE, folder)


def test_other_flags_of_the_variable_of_kubeadm_are_taken_up(node: Systemd) -> None:
    node.kubeadm().install(ACTIVE, STEP)
    node.write(KUBEADM, KUBEADM_TEXT.replace("config.yaml", "config.yaml --v=4"))
    kubelet = node.load(SERVICE, KUBEADM, OURS)
    assert kubelet.renew(ACTIVE)
    assert kubelet.next_command().argv[-1] == f"--config={ACTIVE}" and "--v=4" in kubelet.next_command().argv
    assert not kubelet.renew(ACTIVE)


@pytest.mark.parametrize("folder", ["", "/store/conf.d"], ids=["checkpoint", "dropin"])
def test_nothing_is_asked_before_a_start_while_the_unit_is_the_same(node: Systemd, folder: str) -> None:
    """The system bus may start after the kubelet."""
    for kubelet in (node.kubeadm(), loaded(node, TEXTS["plain"])):
        kubelet.install(Layer(folder) if folder else ACTIVE, STEP)
        node.bus = False
        assert not kubelet.renew(ACTIVE, folder)
        node.bus = True
        kubelet.remove()


def test_a_command_that_no_longer_has_the_variable_of_kubeadm(node: Systemd) -> None:
    node.kubeadm().install(ACTIVE, STEP)
    node.write(KUBEADM, KUBEADM_TEXT.replace("$KUBELET_CONFIG_ARGS", "--config=/etc/k.yaml"))
    kubelet = node.load(SERVICE, KUBEADM, OURS)
    assert kubelet.renew(ACTIVE)
    assert kubelet.next_command().argv[-1] == f"--config={ACTIVE}"


def test_nothing_is_made_anew_without_a_command_of_the_unit(node: Systemd) -> None:
    kubelet = loaded(node, TEXTS["plain"])
    assert not kubelet.renew(ACTIVE), "no drop-in of ours"
    kubelet.install(Layer(), STEP)
    assert not loaded(node, TEXTS["plain"].replace("--old", "--new")).renew(ACTIVE, "/etc/kubelet.conf.d")


def test_edits_that_wait_for_a_reload_are_not_taken_up(node: Systemd) -> None:
    loaded(node, TEXTS["plain"]).install(ACTIVE, STEP)
    kubelet = loaded(node, TEXTS["plain"].replace("--old", "--new"))
    node.properties["NeedDaemonReload"] = "yes"
    assert not kubelet.renew(ACTIVE)


def test_a_unit_that_is_refused_now_keeps_the_former_command(node: Systemd) -> None:
    loaded(node, TEXTS["plain"]).install(ACTIVE, STEP)
    kubelet = loaded(node, f"{KUBELET} --v=2")
    before = kubelet.installed()
    with pytest.raises(StoreError, match=r"ours stays as it was.*no --config"):
        kubelet.renew(ACTIVE)
    assert kubelet.installed() == before
