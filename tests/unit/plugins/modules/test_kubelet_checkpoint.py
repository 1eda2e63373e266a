# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The states of kubelet_checkpoint on a real folder, each in check mode and with diff too."""

from __future__ import annotations

import errno
import json
import os
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.values import document
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import preflight
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import guard_steps, restarts
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import lock
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import OS
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import UnitError
from ansible_collections.livenodes.kubelet.plugins.modules import kubelet_checkpoint
from tests.support.node.stored import source

Run = t.Callable[..., dict[str, t.Any]]


def config(**fields: t.Any) -> str:
    header = {"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1"}
    return document.render({**header, **fields})


TEXTS = {"a": config(maxPods=61), "b": config(maxPods=62, staticPodURLHeader={"Authorization": ["Bearer secret"]})}


class Node:
    """What the inspection finds and what the guard's steps return: both need systemd. `fails`: by step, why."""

    def __init__(self, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.kubelet: dict[str, t.Any] = {"config": str(own), "local_config": str(own), "version": "v1.20.2"}
        self.state_files: list[str] = []
        self.guard: dict[str, t.Any] = {"changed": False, "invocation_id": "one", "healthy": None}
        monkeypatch.setattr(preflight, "look", self._look)
        for step in ("present", "prepared", "updated", "removed"):
            monkeypatch.setattr(guard_steps, step, lambda *_given: {"diff": [], "warnings": [], **self.guard})

    def _look(self, *_given: t.Any, **_named: t.Any) -> dict[str, t.Any]:
        decided = {"reasons": [], "warnings": [], "reads_store": False, "node_proof": True}
        return {"kubelet": dict(self.kubelet), "state_files": self.state_files, **decided}


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    (tmp_path / "kubelet.yaml").write_text(config(maxPods=60))
    return Node(tmp_path / "kubelet.yaml", monkeypatch)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, run_main: Run, tmp_path: Path, node: Node) -> Run:
    """Run the module, first in check mode, which must change nothing and return the same result."""
    folder = tmp_path / "config"
    warnings: list[str] = []
    # If a test has also loaded Ansible's controller code, warnings go to its display.
    monkeypatch.setattr(kubelet_checkpoint.AnsibleModule, "warn", lambda _module, text: warnings.append(text))

    def once(options: dict[str, t.Any], check_mode: bool) -> dict[str, t.Any]:
        given = {"config_dir": str(folder), "_ansible_diff": True, "_ansible_check_mode": check_mode, **options}
        result = {**run_main(kubelet_checkpoint.main, **given), "warnings": warnings[:]}
        warnings.clear()
        return result

    def runner(state: str, name: str | None = None, **options: t.Any) -> dict[str, t.Any]:
        given = {"state": state, **options}
        if name:
            given.update(source=source(name), data={"kubelet": TEXTS[name]})
        before = sorted((str(path), path.lstat().st_mtime_ns) for path in tmp_path.rglob("*"))
        foretold = unnamed(once(given, True))
        assert sorted((str(path), path.lstat().st_mtime_ns) for path in tmp_path.rglob("*")) == before
        done = unnamed(once(given, False))
        for key in {*foretold, *done} - {"removed", "warnings", "invocation"}:
            assert foretold.get(key) == done.get(key), key
        return done

    return runner


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "config"))


def unnamed(result: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return a result without the name of its trial: each arming gives another one, also one that is predicted."""
    if result.get("trial"):
        assert result["trial"].pop("name")
    return result


def status(result: dict[str, t.Any]) -> tuple[t.Any, ...]:
    return (
        *(result[part] and result[part]["name"] for part in ("assigned", "active", "lastKnownGood")),
        result["error"],
    )


def outcome(result: dict[str, t.Any]) -> tuple[t.Any, ...]:
    """Return whether the store changed, whether the kubelet must be restarted, and the status."""
    return (result["changed"], result["restart_needed"], *status(result))


def change(result: dict[str, t.Any]) -> tuple[str, str]:
    """Return the texts of the active configuration before and after, both empty if they are the same."""
    shown = result["diff"] if isinstance(result["diff"], list) else [result["diff"]]
    return (shown[-1]["before"], shown[-1]["after"]) if shown else ("", "")


def test_all_states_in_sequence(run: Run, store: Store, tmp_path: Path, node: Node) -> None:
    run("staged", "b")
    first = run("staged", "a")
    assert outcome(first) == (True, False, None, None, None, "")
    assert Path(first["checkpoint"], "kubelet").read_text() == TEXTS["a"]
    assert not run("staged", "a")["changed"]

    node.guard["healthy"], node.state_files = True, ["/x"]
    done = run("assigned", "a", trial_seconds=300, confirm_seconds=60)
    assert outcome(done) == (True, True, "a", "a", None, "")
    assert done["removed"] == [str(Path(first["checkpoint"]).parents[1] / "uid-b/7")]
    terms = {"seconds": 300, "confirmed": False, "failed": "", "kubelet_version": "v1.20.2"}
    assert done["trial"] == {"to": source("a"), "revert_to": None, **terms}
    assert Path(done["config"]).read_text() == TEXTS["a"]
    assert change(done)[0] == "" and '"maxPods": 61' in change(done)[1]
    armed = store.trial()
    assert armed is not None
    assert armed.extra == {"confirm_seconds": 60, "was_healthy": True}
    assert [item["path"] for item in armed.state_files] == ["/x"]
    node.guard.update(healthy=None, invocation_id="two")
    node.state_files = []
    again = run("assigned", "a", trial_seconds=300)
    assert (again["changed"], again["restart_needed"], again["diff"]) == (False, False, [])

    assert run("confirmed", "a")["trial"]["confirmed"]
    assert not run("confirmed")["changed"]
    store.graduate(source("a"), "v1.20.2")
    assert not run("confirmed")["changed"]
    assert not run("rolled_back")["changed"], "a last-known-good configuration is not reverted"

    done = run("assigned", "b")
    assert outcome(done) == (True, True, "b", "b", "a", "") and done["trial"]["revert_to"] == source("a")
    assert "Bearer" not in json.dumps(done)
    assert '"maxPods": 61' in change(done)[0] and "********" in change(done)[1]
    done = run("rolled_back", reason="pods were lost")
    assert outcome(done) == (True, True, "b", "a", "a", "pods were lost")
    again = run("rolled_back", reason="another reason")
    assert (again["changed"], again["restart_needed"], again["error"]) == (False, False, "pods were lost")
    assert "the node reverted it: pods were lost" in run("confirmed")["msg"]

    done = run("assigned", "b")
    assert outcome(done) == (True, True, "b", "b", "a", "")
    done = run("assigned", "a")
    assert status(done) == ("a", "a", "a", "")
    assert done["trial"]["revert_to"] == source("a"), "last-known-good stays: b was never confirmed"

    done = run("reset")
    assert outcome(done) == (True, True, None, None, None, "")
    assert Path(done["config"]).read_text() == config(maxPods=60)
    assert outcome(run("reset"))[:2] == (False, False)
    assert outcome(run("removed"))[:2] == (True, False)
    assert not run("removed")["changed"]
    assert os.listdir(tmp_path) == ["kubelet.yaml"]
    assert (tmp_path / "kubelet.yaml").read_text() == config(maxPods=60)


def test_restart_that_an_interrupted_run_left_out(run: Run, node: Node) -> None:
    """The InvocationID is still the one from before the switch."""
    run("assigned", "a")
    assert outcome(run("assigned", "a"))[:2] == (False, True)
    node.guard["invocation_id"] = "two"
    assert not run("assigned", "a")["restart_needed"]


@pytest.mark.parametrize(
    ("state", "options", "words"),
    [
        ("assigned", {}, "state is assigned but all of the following are missing: source"),
        ("staged", {"source": {"name": "a"}}, "missing required arguments: resource_version, uid"),
        ("assigned", {"source": source("a")}, "does not exist: stage ConfigMap kube-system/a at resourceVersion 7"),
        ("staged", {"source": source("a"), "data": {"a/b": "x", "kubelet": "x"}}, "only base names"),
        ("staged", {"source": {**source("a"), "uid": "../x"}, "data": {"kubelet": "x"}}, "uid '../x'"),
        ("confirmed", {}, "the local config cannot be confirmed, because the assigned source is local"),
    ],
)
def test_refusals(run: Run, state: str, options: dict[str, t.Any], words: str) -> None:
    assert words in run(state, **options)["msg"]


NOT_SAVED = "the local configuration is not saved, so no revert to it would be possible: reset the node"


@pytest.mark.parametrize(("own", "words"), [(None, NOT_SAVED), ("/no/such/file", "no kubelet config file")])
def test_the_nodes_own_file_is_needed_for_a_revert(run: Run, node: Node, own: str | None, words: str) -> None:
    node.kubelet["config"] = own
    assert words in run("assigned", "a")["msg"]


def test_a_restart_and_an_update(run: Run, node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "restarted", lambda *_given, **_more: {"changed": True, "seconds": 1.5})
    assert run("restarted")["seconds"] == 1.5
    assert not run("updated", metrics_dir="/m")["changed"]

    def fail(*_given: t.Any, **_more: t.Any) -> t.NoReturn:
        raise UnitError("kubelet.service: it did not stay up")

    monkeypatch.setattr(restarts, "restarted", fail)
    assert run("restarted")["msg"] == "kubelet.service: it did not stay up"


def test_what_cannot_be_confirmed(run: Run, store: Store) -> None:
    """A source that is not assigned, and one whose trial is lost."""
    run("assigned", "a")
    reason = "b at resourceVersion 7 cannot be confirmed, because the assigned source is ConfigMap kube-system/a"
    assert reason in run("confirmed", "b")["msg"]
    os.remove(store.trial_path)
    message = f"{store.config_dir}: ConfigMap kube-system/a at resourceVersion 7 cannot be confirmed, it has no trial"
    assert f"{message}: assign it again" in run("confirmed")["msg"]


@pytest.mark.parametrize("what", ["its trial failed", "active leads elsewhere", "its checkpoint is damaged"])
def test_assigning_again_arms_a_trial_where_one_is_needed(run: Run, store: Store, node: Node, what: str) -> None:
    """What is assigned is on the disk already: only this shows that it is not what runs well."""
    node.guard["invocation_id"] = ""
    run("assigned", "a")
    if what == "its trial failed":
        armed = store.trial()
        assert armed
        store.record(armed._replace(failed="it ended"))
    elif what == "active leads elsewhere":
        store.point("store/local/config")
    else:
        store.graduate(source("a"), "v1.20.2")
        run("assigned", "b")
        (Path(store.config_dir) / store.target(source("a")) / "kubelet").write_text("torn")
    done = run("assigned", "a")
    assert done["changed"] and done["active"] == source("a") and not done["error"]
    assert (done["trial"]["to"], done["trial"]["failed"]) == (source("a"), "")


@pytest.mark.parametrize(
    ("trial", "only", "reverted"),
    [
        ("open", True, True),
        ("confirmed", True, False),
        ("confirmed", False, True),
        ("lost", True, False),
        ("lost", False, True),
    ],
)
@pytest.mark.fault(case=71)
def test_which_trial_a_revert_ends(run: Run, store: Store, trial: str, only: bool, reverted: bool) -> None:
    """`only`: unconfirmed_only, as after a failed run. By hand, also what was confirmed, or has no trial any more."""
    run("assigned", "a")
    store.graduate(source("a"), "v1.20.2")
    run("assigned", "b")
    if trial == "confirmed":
        run("confirmed")
    if trial == "lost":
        os.remove(store.trial_path)
    done = run("rolled_back", reason="pods were lost", unconfirmed_only=only)
    assert (done["changed"], done["active"]) == (reverted, source("a" if reverted else "b"))
    if reverted:
        found = (done["trial"]["to"], done["trial"]["revert_to"], done["error"])
        assert found == (source("b"), source("a"), "pods were lost")


def test_revert_on_a_full_disk(run: Run, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run("assigned", "a")

    def full(_self: OS, _handle: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(OS, "write", full)
    done = run("rolled_back", reason="pods were lost")
    assert outcome(done) == (True, True, "a", None, None, "pods were lost"), done
    assert "store/progress: cannot write: No space left on device" in json.dumps(done["warnings"])
    assert store.active_source() is None


def test_text_that_is_not_a_configuration_is_not_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its secrets cannot be identified."""
    monkeypatch.setitem(TEXTS, "a", "staticPodURLHeader: {Authorization: [Bearer secret]\n")
    done = run("assigned", "a")
    assert "not shown" in change(done)[1]
    assert "Bearer" not in json.dumps(done)


def test_damaged_meta_files_are_reported_and_repaired(run: Run, store: Store) -> None:
    run("assigned", "a")
    Path(store.meta, "assigned").write_bytes(b"\0\0")
    assert "store/meta/assigned" in run("rolled_back")["error"]
    assert status(run("assigned", "a")) == ("a", "a", None, "")
    Path(store.meta, "assigned").write_bytes(b"\0\0")
    assert status(run("reset")) == (None, None, None, "")


def test_locked_store(run: Run, run_main: Run, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run("assigned", "a")
    monkeypatch.setattr(lock, "PATIENCE", 0)
    with lock.locked(store.config_dir):
        result = run_main(kubelet_checkpoint.main, config_dir=store.config_dir, state="reset")
    assert f"in use by process {os.getpid()}" in result["msg"]
    assert store.active_source() == source("a")


def test_a_folder_that_others_may_write_to_holds_no_new_configuration(run: Run, store: Store, tmp_path: Path) -> None:
    """What is on the node already can still be reverted and reset: refusing that would keep a bad configuration."""
    tmp_path.chmod(0o777)
    refusal = f"{tmp_path}: others may write to it (mode 0777): they could replace {store.config_dir}; "
    for state, name in (("staged", "a"), ("assigned", "a")):
        assert refusal in run(state, name)["msg"]
    assert not Path(store.config_dir).exists()
    tmp_path.chmod(0o700)
    run("assigned", "a")
    tmp_path.chmod(0o777)
    assert run("confirmed", "a")["msg"].startswith(refusal)
    assert status(run("rolled_back"))[:2] == ("a", None)
    assert status(run("reset")) == (None, None, None, "")
    assert run("removed")["changed"]
