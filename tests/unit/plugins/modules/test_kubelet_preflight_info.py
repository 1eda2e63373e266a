# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
import subprocess
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import host_facts
from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields.binary_facts import BinaryFacts
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import dropin_look, preflight
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host.preflight_decisions import Terms
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report import status_reporter
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import ask_binary, binary
from ansible_collections.livenodes.kubelet.plugins.modules import kubelet_preflight_info
from tests.sim.nodes import unit_words

UNIT = "/lib/kubelet.service"
SHOWN = {"Id": "kubelet.service", "LoadState": "loaded", "Type": "simple", "FragmentPath": UNIT}
DROPINS = ("10-a.conf", "20-b.conf", "sub/30-c.conf")
HEADER = "--manifest-url-header=Authorization:hunter2"
ARGV = ["/usr/bin/kubelet", "--config=/etc/kubelet.yaml", "--config-dir=/etc/kubelet.d", HEADER, "--max-pods=61"]
OWN, KIND = "/etc/kubelet.yaml", "kind: KubeletConfiguration\n"
LINK = "/etc/kubelet.d/90-livenodes-kubelet.conf"


class Node:
    """A node with a plain unit and a running kubelet."""

    def __init__(self, root: Path) -> None:
        self.root = root
        command = f"{{ path={ARGV[0]} ; argv[]={' '.join(ARGV)} ; ignore_errors=no }}"
        self.shown = {**SHOWN, "MainPID": "72", "ActiveState": "active", "ExecStart": command}
        self.write(UNIT, f"[Service]\nExecStart={' '.join(ARGV)}\n")
        self.runs(ARGV)
        self.write("/usr/bin/kubelet", "\x7fELF")
        self.write(OWN, f"{KIND}resolvConf: /etc/nowhere\n")
        for name in ("notes.txt", *reversed(DROPINS)):
            self.write(f"/etc/kubelet.d/{name}", KIND)

    def runs(self, argv: t.Sequence[str]) -> None:
        """Let the running kubelet have this command line."""
        self.write("/proc/72/cmdline", "\0".join([*argv, ""]))

    def write(self, path: str, text: str) -> None:
        place = self.root / path[1:]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)

    def run(self, argv: t.Sequence[str]) -> subprocess.CompletedProcess[str]:
        words, out = list(argv), ""
        if words[:2] == ["systemctl", "show"]:
            out = "".join(f"{key}={value}\n" for key, value in self.shown.items())
        elif words[1:] == ["--version"]:
            out = "Kubernetes v1.20.2\n"
        elif words[0] == "busctl":
            command = self.shown["ExecStart"].partition("argv[]=")[2].partition(" ;")[0].split(" ")
            out = unit_words.shown_on_bus(command, {}, [])
        elif words[0] == "systemd-run" and "%s\\0" in words:
            out = "".join(f"{word}\0" for word in words[words.index("%s\\0") + 1 :])
        return subprocess.CompletedProcess(words, 0 if out else 1, out, "")

    def with_disk(self) -> dict[str, t.Any]:
        return preflight.look("kubelet.service", None, str(self.root), self.run, with_disk=True)

    def look(self, text: str | None = None, local: bool = False, **terms: t.Any) -> dict[str, t.Any]:
        return preflight.look("kubelet.service", text, str(self.root), self.run, local, terms=Terms(**terms))

    def wants(self, wanted: dict[str, t.Any] | None = None, **terms: t.Any) -> dict[str, t.Any]:
        """Look with a staged configuration that the binary need not check."""
        return self.look(json.dumps(wanted or {}), allow_unchecked=True, **terms)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_the_binary_is_asked_about_the_names_of_the_node_and_of_the_caller(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[set[str]] = []

    def ask(_program: str, names: set[str], *_rest: t.Any) -> BinaryFacts:
        asked.append({*names})
        return BinaryFacts("v1.36.2", [], {"NodeSwap": "x"}, {})

    monkeypatch.setattr(ask_binary, "ask", ask)
    found = node.look(ask=["featureGates.Mine"])["kubelet"]
    assert asked == [{"resolvConf", "featureGates.Mine"}]
    assert found["facts"]["gates"] == {"NodeSwap": "x"}
    assert found["differences"] == ["this kubelet has no feature gate NodeSwap that the tables give to 1.36"]
    # A configuration that is going to be assigned is judged by the binary itself.
    assert "facts" not in node.look("{}")["kubelet"] and len(asked) == 1


def test_unit_and_host(node: Node) -> None:
    found = node.look()
    kubelet = found["kubelet"]
    assert (kubelet["form"], kubelet["version"], kubelet["command_source"]) == ("plain", "v1.20.2", "process")
    assert kubelet["changes_at_restart"] is False and found["warnings"] == []
    assert kubelet["config_dir_files"] == [f"/etc/kubelet.d/{name}" for name in DROPINS]
    assert kubelet["shadowed"]["maxPods"] == {"flag": "--max-pods=61", "file": UNIT, "line": 2}
    assert "hunter2" not in json.dumps(found)
    assert "--manifest-url-header=********" in kubelet["command"]
    assert found["check"] is None
    assert [(problem["path"], problem["rule"]) for problem in found["problems"]] == [("resolvConf", "resolv-conf")]


def test_an_edited_file_is_a_change_at_restart(node: Node) -> None:
    node.runs([*ARGV[:-1], "--max-pods=99"])
    kubelet = node.look()["kubelet"]
    assert kubelet["changes_at_restart"] is True
    assert (kubelet["command"][-1], kubelet["next_command"][-1]) == ("--max-pods=99", "--max-pods=61")
    assert kubelet["shadowed"]["maxPods"] == {"flag": "--max-pods=99", "file": None, "line": None}


def test_an_unknown_form_of_unit_is_refused(node: Node) -> None:
    node.shown["ExecStart"] += "\nExecStart={ path=/other ; argv[]=/other ; ignore_errors=no }"
    kubelet = node.look()["kubelet"]
    assert kubelet["form"] == "refused" and "systemd has 2 commands" in kubelet["reason"]
    assert kubelet["command"][0] == ARGV[0] and kubelet["shadowed"]["maxPods"]["file"] == UNIT
    node.shown.update(LoadState="not-found", MainPID="0")
    kubelet = node.look()["kubelet"]
    assert (kubelet["form"], kubelet["version"], kubelet["command"], kubelet["binary"]) == ("refused", None, [], None)


def test_a_staged_config_is_checked_and_compared_with_the_host(node: Node) -> None:
    found = node.look('{"resolvConf": ""}')
    assert found["check"]["verdict"] == "not checked", "the sandbox needs systemd, which is missing here"
    assert found["problems"] == []
    assert node.look("&what\n")["problems"] == [], "an unreadable configuration is not judged"


def test_the_host_of_another_node(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an agent, the credentials are in its folder."""
    agent = {"node": "n1", "delivery": "dropin", "dropin_dir": "/r/agent/etc/kubelet.conf.d"}
    with monkeypatch.context() as seen:
        seen.setattr(status_reporter, "elsewhere", lambda argv, _name: argv[-1])
        assert "--kubeconfig=/r/agent/kubelet.kubeconfig" in node.wants(**agent)["reasons"]
    monkeypatch.setattr(status_reporter, "elsewhere", lambda argv, name: f"{argv[0]} is not that of {name}")
    assert node.wants()["reasons"] == [], "nothing is known of the node"
    for text, local in (("{}", False), (None, True)):
        found = node.look(text, local, allow_unchecked=True, node="n1")["reasons"]
        assert f"{ARGV[0]} is not that of n1" in found


def heads(texts: list[str]) -> list[str]:
    return [text.partition(":")[0] for text in texts]


def test_the_decisions_follow_from_the_facts(node: Node) -> None:
    found = node.wants({"resolvConf": "/etc/nowhere"})
    assert (found["reasons"], found["state_files"], found["reads_store"]) == ([], [], False)
    assert heads(found["warnings"]) == ["resolvConf", "the kubelet binary did not check the configuration"]
    node.shown["LoadState"] = "masked"
    (reason,) = node.wants()["reasons"]
    assert "Repair or unmask" in reason


def test_what_the_node_overrides_or_lacks_is_refused(node: Node) -> None:
    node.write("/etc/kubelet.d/10-a.conf", "eventBurst: 3\n")
    node.write("/etc/kubelet.d/sub/30-c.conf", "x: &broken\n")
    lacked = {"staticPodPath": "/nowhere/x", "systemReservedCgroup": "/nowhere"}
    wanted = {"maxPods": 50, "eventBurst": 4, "authentication": {"x509": {"clientCAFile": "ca.crt"}}}
    wanted["enforceNodeAllocatable"] = ["system-reserved"]
    (node.root / "sys/fs/cgroup/memory").mkdir(parents=True)
    found = node.wants({**wanted, **lacked})
    assert heads(found["reasons"]) == ["maxPods", "eventBurst", "authentication.x509.clientCAFile", *lacked]
    assert any("30-c.conf cannot be read" in warning for warning in found["warnings"])
    node.write(OWN, "maxPods: 50\neventBurst: 4\n")
    assert node.wants(wanted, files=["ca.crt"])["reasons"] == []


def test_an_empty_list_is_refused_where_the_kubelet_has_a_folder(node: Node) -> None:
    wanted: dict[str, t.Any] = {"enforceNodeAllocatable": []}
    (reason,) = node.wants(wanted)["reasons"]
    assert reason.startswith("enforceNodeAllocatable: a kubelet with --config-dir forgets")
    node.runs([word for word in ARGV if "--config-dir" not in word])
    assert not any("forgets" in reason for reason in node.wants(wanted)["reasons"])


def test_our_link_is_none_of_the_others(node: Node) -> None:
    """On the disk it is listed: drift compares its content."""
    node.write("/store/active/kubelet", "maxPods: 7\n")
    (node.root / LINK[1:]).symlink_to(node.root / "store/active/kubelet")
    found = node.with_disk()
    assert LINK not in found["kubelet"]["config_dir_files"]
    assert found["disk"]["dropins"][LINK] == {"maxPods": 7}


def test_a_slash_at_the_end_of_the_folder_of_the_store_means_nothing(node: Node) -> None:
    (node.root / LINK[1:]).symlink_to("/store/active/kubelet")
    assert node.look(delivery="dropin", config_dir="/store/")["dropin"]["linked"]


def test_a_drop_in_is_judged_with_what_the_node_has(node: Node) -> None:
    node.write("/etc/kubelet.d/95-late.conf", "eventBurst: 3\n")
    found = node.wants({"maxPods": 61, "eventBurst": 4}, delivery="dropin")
    assert heads(found["reasons"]) == ["a kubelet of 1.20 reads no drop-in folder, 1.30 is the first", "eventBurst"]
    assert found["dropin"]["folder"] == "/etc/kubelet.d" and found["dropin"]["named_by"] == "unit"
    assert [layer["path"] for layer in found["own"]][:2] == [OWN, "/etc/kubelet.d/10-a.conf"]
    assert found["reads_store"] is False
    # Without a configuration, what prevents every one is returned.
    assert "reads no drop-in folder" in node.look(delivery="dropin")["reasons"][0]


def test_edits_that_wait_for_a_restart_are_refused(node: Node) -> None:
    node.write(UNIT, f"[Service]\nExecStart={' '.join(ARGV)} --event-qps=7\n")
    node.shown["ExecStart"] = node.shown["ExecStart"].replace(ARGV[-1], f"{ARGV[-1]} --event-qps=7")
    (reason,) = node.wants()["reasons"]
    assert "wait for a restart: + --event-qps=7." in reason
    assert node.wants(allow_pending_edits=True)["reasons"] == []
    node.runs([*ARGV, "--event-qps=7"])
    assert node.wants()["reasons"] == []
    node.shown["NeedDaemonReload"] = "yes"
    (reason,) = node.wants()["reasons"]
    assert "daemon-reload" in reason


def test_the_local_configuration_is_compared_with_the_host(node: Node) -> None:
    node.runs([word.replace(OWN, "/store/kubelet") for word in ARGV])
    node.write("/store/kubelet", f'{KIND}resolvConf: ""\n')
    assert node.look()["problems"] == []
    found = node.look(local=True)
    assert [problem["path"] for problem in found["problems"]] == ["resolvConf"]
    assert found["kubelet"]["local_config"] == OWN and found["check"]["verdict"] == "not checked"


def test_the_binary_checks_the_local_configuration_before_a_reset(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def check(text: str, *_arguments: object) -> binary.Verdict:
        asked.append(text)
        return binary.Verdict("invalid", ["maxPods is negative"], [])

    monkeypatch.setattr(binary, "check", check)
    found = node.look(local=True)
    assert asked == [f"{KIND}resolvConf: /etc/nowhere\n"] and "maxPods" in found["reasons"][0]
    (node.root / "etc/kubelet.yaml").unlink()
    assert "/etc/kubelet.yaml, the node's own file: No such file" in node.look(local=True)["reasons"][0]
    assert len(asked) == 1


def test_the_disk_is_read_on_request(node: Node) -> None:
    assert "disk" not in node.look()
    node.write("/etc/kubelet.d/10-a.conf", "maxPods: 7\n")
    found = node.with_disk()["disk"]
    assert (found["path"], found["content"]["resolvConf"]) == (OWN, "/etc/nowhere")
    assert found["dropins"]["/etc/kubelet.d/10-a.conf"] == {"maxPods": 7}


def test_owner_and_mode_of_the_kubelets_files(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are there: a kubeconfig and a relative path of a CA are not."""
    kubeadm = node.shown["DropInPaths"] = "/etc/systemd/system/kubelet.service.d/10-kubeadm.conf"
    node.write(kubeadm, "[Service]\n")
    node.write(OWN, f"{KIND}authentication: {{x509: {{clientCAFile: ca.crt}}}}\n")
    (node.root / "etc/kubelet.yaml").chmod(0o604)
    (node.root / "etc/kubelet.d/20-b.conf").chmod(0o400)
    monkeypatch.setattr(dropin_look.pwd, "getpwuid", lambda _uid: ("kube",))
    monkeypatch.setattr(dropin_look.grp, "getgrgid", {}.__getitem__)
    found = node.with_disk()
    group = (node.root / "etc/kubelet.yaml").stat().st_gid
    paths = {kind: [one["path"] for one in rows] for kind, rows in found["files"].items()}
    layers = [OWN, *(f"/etc/kubelet.d/{name}" for name in DROPINS)]
    assert paths == {"unit": [UNIT, kubeadm], "kubeconfig": [], "client_ca": [], "config": layers}
    config = found["files"]["config"]
    assert config[0] == {"path": OWN, "mode": "0604", "owner": f"kube:{group}"}
    assert config[2]["mode"] == "0400" and host_facts.of_preflight(found) == ""
    node.write("/pki/ca.crt", "")
    node.write(OWN, f"{KIND}authentication: {{x509: {{clientCAFile: /pki/ca.crt}}}}\n")
    found = node.with_disk()
    assert [one["path"] for one in found["files"]["client_ca"]] == ["/pki/ca.crt"]


Run = t.Callable[..., dict[str, t.Any]]


def test_the_module_passes_options_on_and_masks_secrets(monkeypatch: pytest.MonkeyPatch, run_main: Run) -> None:
    seen: list[t.Any] = []

    def look(*arguments: t.Any, **dummy: t.Any) -> dict[str, t.Any]:
        seen.extend(arguments)
        warned = {"check": {"messages": ["hunter22 is quoted"]}, "warnings": ["hunter22 is odd"]}
        return {"kubelet": {"form": "plain"}, "host": {}, "problems": [], **warned}

    monkeypatch.setattr(preflight, "look", look)
    config = {"staticPodURLHeader": {"A": ["hunter22"]}}
    result = run_main(kubelet_preflight_info.main, config=config, files=["a"])
    assert seen[0] == "kubelet.service" and json.loads(seen[1]) == config
    assert result["changed"] is False and "hunter22" not in json.dumps(result)


def test_warnings_are_those_of_the_task(monkeypatch: pytest.MonkeyPatch, run_main: Run) -> None:
    monkeypatch.setattr(preflight, "look", lambda *_words, **_named: {"warnings": ["a flag wins"]})
    # Where a controller's Ansible is loaded too, as by the tests of filters, it shows the warnings itself.
    warned: list[str] = []
    module = kubelet_preflight_info.AnsibleModule
    monkeypatch.setattr(module, "warn", lambda _module, words, **_named: warned.append(words))
    result = run_main(kubelet_preflight_info.main)
    assert warned == ["a flag wins"] and "deprecations" not in result


def test_an_unknown_field_of_the_own_file_does_not_prevent_a_switch(
    node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as a field that the next version needs: the kubelet ignores it already, and it is not ours to remove."""
    answer = binary.Verdict("valid", [], ["failCgroupV1", "memorySwap.swap"])
    monkeypatch.setattr(binary, "check", lambda *_given: answer)
    wanted = json.dumps({"failCgroupV1": False, "memorySwap": {"swap": 1}, "resolvConf": ""})

    def reasons() -> str:
        return " ".join(node.look(wanted, allow_offline_guard=True)["reasons"])

    assert "does not know failCgroupV1, memorySwap.swap and" in reasons()
    node.write(OWN, f"{KIND}failCgroupV1: false\n")
    assert "does not know memorySwap.swap and" in reasons()
    node.write(OWN, f"{KIND}failCgroupV1: false\nmemorySwap:\n  swap: 2\n")
    assert "does not know" not in reasons()
    found = node.look(wanted, allow_offline_guard=True)["warnings"]
    ignored = [f"{name}: this kubelet ignores it, as in the own file" for name in ("failCgroupV1", "memorySwap.swap")]
    assert [text for text in found if "ignores it" in text] == ignored
