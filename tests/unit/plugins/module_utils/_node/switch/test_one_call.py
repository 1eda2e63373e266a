# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A whole switch and a whole reset on a store in a folder: the order of the steps, and what a failure names."""

from __future__ import annotations

import functools
import json
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import preflight
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_steps, restarts, seed_files
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store, Trial
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import checkpoint_module, one_call, values
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch.one_call import StepError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.lock import LockError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import UnitError

SECRET = "planted-secret"
CONFIG = {"kind": "KubeletConfiguration", "maxPods": 61, "staticPodURLHeader": {"Authorization": [f"Bearer {SECRET}"]}}
SOURCE = {"namespace": "b", "name": "a", "uid": "u", "resource_version": "1", "kubelet_config_key": "kubelet"}
GIVEN = {"source": SOURCE, "data": {"kubelet": json.dumps(CONFIG)}}
TERMS = {"allow_unchecked": True, "trial_seconds": 60, "confirm_seconds": 60}
OPTIONS: dict[str, t.Any] = {**values.defaults(), **GIVEN, **TERMS}


class Node:
    """A store in a folder, and stand-ins for the steps that need systemd. They write down that they ran."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.steps: list[str] = []
        self.fails: dict[str, Exception] = {}
        self.store = Store(str(folder / "config"))
        self.own = folder / "kubelet.yaml"
        self.own.write_text("kind: KubeletConfiguration\n")
        self.asked: list[tuple[t.Any, ...]] = []
        self.given: dict[str, tuple[t.Any, ...]] = {}
        self.found: dict[str, t.Any] = {
            "kubelet": {"config": str(self.own), "local_config": str(self.own), "version": "v1.30.2"},
            "reasons": [],
            "warnings": ["a warning"],
            "state_files": [],
            "reads_store": False,
            "node_proof": False,
        }
        monkeypatch.setattr(preflight, "look", self._look)
        steps = {"present": "install", "prepared": "program", "updated": "update", "removed": "remove"}
        for step, name in steps.items():
            monkeypatch.setattr(guard_steps, step, functools.partial(self._guard, name))
        apply = checkpoint_module.apply

        def state(options: dict[str, t.Any], pretend: bool, *found: t.Any) -> dict[str, t.Any]:
            self._step(options["state"])
            return apply(options, pretend, *found)

        monkeypatch.setattr(checkpoint_module, "apply", state)

    def _step(self, name: str) -> None:
        self.steps.append(name)
        if name in self.fails:
            raise self.fails[name]

    def _look(self, _name: str, text: str | None, *_place: t.Any, local: bool, terms: t.Any) -> dict[str, t.Any]:
        self._step("look")
        self.asked.append((text, local, list(terms.files), terms.state_files, terms.config_dir, terms.node))
        return json.loads(json.dumps(self.found))

    def _guard(self, name: str, config_dir: str, _unit: t.Any, *given: t.Any) -> dict[str, t.Any]:
        self._step(name)
        self.given[name] = given
        if name == "install" and not given[1]:
            # With the drop-in the kubelet reads the store.
            Store(config_dir).settle()
        diff = [{"after_header": name, "before": "", "after": name}]
        seen = {"invocation_id": "i0", "healthy": True}
        return {"changed": True, "diff": diff, "warnings": [f"{name} warns"], **seen}

    def trial(self) -> Trial:
        found = self.store.trial()
        assert found
        return found

    def call(self, state: str, pretend: bool = False, **options: t.Any) -> dict[str, t.Any]:
        self.steps.clear()
        given = {**OPTIONS, "state": state, "config_dir": self.store.config_dir, **options}
        return one_call.apply(given, pretend)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    return Node(tmp_path, monkeypatch)


def test_a_switch(node: Node) -> None:
    before = sorted(node.folder.rglob("*"))
    foretold = node.call("assigned", pretend=True)
    assert foretold["changed"] and foretold["restart_needed"] and sorted(node.folder.rglob("*")) == before
    done = node.call("assigned", node="n1")
    assert node.steps == ["look", "staged", "install", "assigned"]
    assert node.asked[-1] == (json.dumps(CONFIG), False, ["kubelet"], "keep", node.store.config_dir, "n1")
    assert (done["changed"], done["restart_needed"], done["reasons"]) == (True, True, [])
    assert done["preflight"]["kubelet"]["version"] == "v1.30.2" and "warnings" not in done["preflight"]
    assert done["warnings"][:2] == ["a warning", "install warns"]
    assert [entry["after_header"] for entry in done["diff"]] == ["install", f"{node.store.active} (after)"]
    assert SECRET not in json.dumps(done)
    armed = node.trial()
    assert (armed.invocation, armed.kubelet_version) == ("i0", "v1.30.2")
    assert armed.extra == {"confirm_seconds": 60, "was_healthy": True, "node_proof": False}


def test_a_switch_restores_the_follower(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"changed": False, "warnings": ["the follower has no limits"]}
    monkeypatch.setattr(one_call.follow_install, "restored", lambda *_given: found)
    assert "the follower has no limits" in node.call("assigned")["warnings"]


@pytest.mark.parametrize(("asked", "handed"), [(None, ""), ("", ""), ("/m", "/m")])
def test_the_guard_gets_the_folder_of_its_metrics(node: Node, asked: str | None, handed: str) -> None:
    for state, name in (("staged", "program"), ("assigned", "install")):
        node.call(state, metrics_dir=asked)
        assert node.given[name] == ("kubelet", False, None, handed)


def test_a_staging_leaves_the_kubelet_and_its_own_file_alone(node: Node) -> None:
    """The switch saves the node's file, which may change until then, and finds the checkpoint and the program."""
    before = sorted(node.folder.rglob("*"))
    assert node.call("staged", pretend=True)["changed"] and sorted(node.folder.rglob("*")) == before
    done = node.call("staged")
    assert node.steps == ["look", "staged", "program"]
    assert (done["changed"], done["restart_needed"], done["reasons"]) == (True, False, [])
    assert node.store.local() is None and node.store.running() is None and node.store.trial() is None
    staged = Path(done["checkpoint"], "kubelet")
    written = staged.stat().st_mtime_ns
    node.own.write_text("kind: KubeletConfiguration\nmaxPods: 7\n")
    assert node.call("assigned")["restart_needed"]
    assert staged.stat().st_mtime_ns == written
    known = node.store.local()
    assert known is not None and b"maxPods: 7" in known.files[known.config].data


def test_once_the_kubelet_reads_the_store_the_switch_stages(node: Node) -> None:
    node.call("assigned")
    node.found["reads_store"] = True
    node.own.unlink()
    again = node.call("assigned", source={**SOURCE, "uid": "u2"}, data={"kubelet": CONFIG})
    assert node.steps == ["look", "install", "assigned"]
    assert again["restart_needed"]
    # The text of a push, which ansible-core before 2.19 has turned into a mapping.
    assert Path(again["checkpoint"], "kubelet").read_text() == json.dumps(CONFIG, indent=2, sort_keys=True) + "\n"
    node.call("assigned", source={**SOURCE, "uid": "u2"}, data=None)
    assert json.loads(node.asked[-1][0]) == CONFIG


@pytest.mark.fault(case=41)
@pytest.mark.fault(case=42)
@pytest.mark.fault(case=43)
def test_reasons_change_nothing(node: Node) -> None:
    node.found["reasons"] = ["refused"]
    for state in ("staged", "assigned", "reset"):
        done = node.call(state)
        assert node.steps == ["look"] and not done["changed"]
        assert (done["reasons"], done["restart_needed"], done["trial"]) == (["refused"], False, None)
    assert not Path(node.store.config_dir).exists()


NAMES = {"look": "inspecting the node", "staged": "storing the configuration", "install": "installing the guard"}


@pytest.mark.parametrize(("failing", "name"), [*NAMES.items(), ("assigned", "switching")])
@pytest.mark.parametrize("error", [StoreError, UnitError, OSError, LockError])
def test_a_failure_names_its_step_and_no_secret(node: Node, failing: str, name: str, error: type[Exception]) -> None:
    node.fails[failing] = error(f"near Bearer {SECRET}")
    with pytest.raises(StepError, match=f"^{name} failed: near ") as caught:
        node.call("assigned")
    assert caught.value.step == name and SECRET not in str(caught.value)
    assert node.steps[-1] == failing and node.store.trial() is None


def test_an_error_in_the_program_is_not_a_failed_step(node: Node) -> None:
    node.fails["assigned"] = KeyError("x")
    with pytest.raises(KeyError):
        node.call("assigned")


def test_a_source_whose_key_the_data_lacks(node: Node) -> None:
    with pytest.raises(StepError, match="the ConfigMap has no key 'kubelet'"):
        node.call("assigned", data={"other": "{}"})
    with pytest.raises(StepError, match="inspecting the node failed: "):
        node.call("assigned", data=None)
    assert not Path(node.store.config_dir).exists()


@pytest.fixture
def guarded(node: Node, monkeypatch: pytest.MonkeyPatch) -> Node:
    """Return a node with a confirmed configuration whose guard is installed."""
    node.call("assigned")
    node.call("confirmed")
    service = node.folder / "guard.service"
    service.touch()
    monkeypatch.setattr(checkpoint_module, "GUARD", str(service))
    monkeypatch.setattr(checkpoint_module, "start_guard", lambda *_trial: "")
    return node


def test_a_reset(guarded: Node) -> None:
    node = guarded
    node.found["state_files"] = ["/var/lib/kubelet/cpu_manager_state"]
    assert node.call("reset", pretend=True)["trial"]["to"] is None
    assert node.store.active_source() is not None
    begun = node.call("reset")
    assert node.steps == ["look", "update", "reset"] and node.asked[-1][:3] == (None, True, [])
    assert begun["restart_needed"] and begun["trial"]["to"] is None and node.store.active_source() is None
    ended = node.call("removed", state_files="switch")
    # The trial of the reset has moved the state files: nothing is left to inspect.
    assert node.steps == ["confirmed", "remove", "removed"] and node.given["remove"][-2:] == ((), False)
    assert ended["changed"] and not Path(node.store.config_dir).exists()
    assert ended["warnings"] == ["remove warns"]


def test_a_reset_of_a_configuration_on_trial(guarded: Node) -> None:
    """It is reverted, and the local configuration needs no trial and no confirmation."""
    node = guarded
    node.call("assigned", source={**SOURCE, "uid": "u2"})
    node.store.record(node.trial()._replace(revert_to=None))
    begun = node.call("reset")
    assert begun["restart_needed"] and begun["trial"]["failed"]
    node.call("removed")
    assert node.steps == ["remove", "removed"] and not Path(node.store.config_dir).exists()


def test_a_slash_at_the_end_of_the_folder_means_nothing(node: Node) -> None:
    """The guard knows its folder without one."""
    given = f"{node.folder}//config/"
    assert node.call("assigned", config_dir=given)["config"] == f"{node.store.active}/kubelet"
    assert node.asked[-1][4] == node.store.config_dir
    node.call("reset", config_dir=given)
    node.call("removed", config_dir=given)
    assert not Path(node.store.config_dir).exists()


def test_a_reset_of_a_node_without_a_store(node: Node) -> None:
    node.found["state_files"] = ["/s"]
    assert node.call("reset", state_files="switch")["trial"] is None
    node.call("removed", state_files="switch")
    assert node.steps == ["look", "remove", "removed"] and node.asked[-1][:4] == (None, True, [], "switch")
    assert node.given["remove"][-2] == ["/s"], "no trial has moved them"
    assert not Path(node.store.config_dir).exists()


@pytest.mark.parametrize("state", ["assigned", "reset", "removed"])
@pytest.mark.parametrize("pretend", [False, True])
def test_a_seed_that_waits_is_removed_before_the_restart(
    node: Node, monkeypatch: pytest.MonkeyPatch, state: str, pretend: bool
) -> None:
    """Else it would be planted with that restart, or with the next one after a reset."""
    monkeypatch.setattr(seed_files, "SERVICE_PATH", str(node.folder / "seed.service"))
    monkeypatch.setattr(seed_files, "wanted_by", lambda _unit: str(node.folder / "wants/seed.service"))
    waiting = Path(seed_files.content(node.store.config_dir))
    waiting.parent.mkdir(parents=True)
    waiting.write_text("{}")
    node.found["reasons"] = ["it is another machine"]
    if state != "removed":
        node.call(state, pretend)
        assert waiting.exists(), "a refusal changes nothing"
    node.found["reasons"] = []
    assert node.call(state, pretend)["changed"]
    assert waiting.parent.exists() == pretend


def test_the_end_of_a_reset_in_check_mode(guarded: Node) -> None:
    """The local configuration is not active then, because the begin of the reset was a prediction too."""
    assert guarded.call("removed", pretend=True)["changed"]
    assert guarded.steps == ["remove", "reset"] and guarded.store.active_source() is not None


def test_nothing_is_removed_unless_the_local_configuration_is_active_and_did_not_fail(guarded: Node) -> None:
    node = guarded
    with pytest.raises(StepError, match="leads to another configuration: reset the node first"):
        node.call("removed")
    assert node.steps == []
    node.call("reset")
    node.store.revert("it ended")
    with pytest.raises(StepError, match=r"confirming the local configuration failed: .*the node reverted it: it ended"):
        node.call("removed")
    assert node.steps == ["confirmed"]


def test_the_other_states_inspect_nothing(node: Node) -> None:
    node.call("assigned")
    for state in ("confirmed", "rolled_back"):
        node.call(state)
        assert node.steps == [state]


def test_an_update_of_the_guard(node: Node) -> None:
    done = node.call("updated", metrics_dir="/m")
    assert done == {"changed": True, "warnings": ["update warns"]}
    assert node.steps == ["update"] and node.given["update"] == (False, "/m")


@pytest.mark.parametrize(
    ("ended", "named", "expected"), [(True, True, True), (False, True, False), (True, False, False)]
)
def test_a_restart(node: Node, monkeypatch: pytest.MonkeyPatch, ended: bool, named: bool, expected: bool) -> None:
    """The kubelet is only verified where it was started since the revert of the trial that is named: a trial that
    failed weeks ago prevents no restart.
    """
    node.call("assigned")
    armed = node.trial()
    (Path(node.store.config_dir) / "guard").mkdir()
    (Path(node.store.config_dir) / "guard/settings.json").write_text('{"folder": "/d"}')
    monkeypatch.setattr(Store, "revert_ended", lambda _store: ended)
    seen: list[t.Any] = []
    monkeypatch.setattr(restarts, "restarted", lambda unit, *given, **more: seen.append((unit.name, given, more)) or {})
    node.call("restarted", unit="other.service", pretend=True, trial=armed.name if named else None)
    assert seen == [("other.service", (60, True, "/d"), {"only_verify": expected})] and node.steps == []


def test_a_mapping_becomes_the_text_of_a_push() -> None:
    config = {"maxPods": 1, "clusterDomain": "b\u00fccher.example"}
    assert values.texts({"kubelet": config, "more": "a: 1"}) == {"kubelet": document.render(config), "more": "a: 1"}


def test_the_source_has_the_keys_of_the_api() -> None:
    parts = {"resourceVersion": "1", "kubeletConfigKey": "kubelet"}
    assert values.source(SOURCE) == {"namespace": "b", "name": "a", "uid": "u", **parts}
    assert values.option(values.source(SOURCE)) == SOURCE
    assert values.source(None) is values.option(None) is None
