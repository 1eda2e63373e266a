# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The files of a seed, and what becomes of it at the starts of a kubelet, on a store in a folder; on real nodes:
tests/e2e_node.
"""

from __future__ import annotations

import json
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.delivery import CHECKPOINT, DROPIN
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.follow import follow_install
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import decide, guard_main
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.decide import Facts, Unit
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard.judging import terms_of
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import preflight
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.install import (
    guard_install,
    guard_steps,
    seed_files,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.report.status_annotation import Outbox, Report
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.store import Store
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store.trial import Progress
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch import seeds, values
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.switch.seeds import Seed
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.files import StoreError
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.unit.unit import UnitError

SOURCE = {"namespace": "b", "name": "a", "uid": "u", "resource_version": "1", "kubelet_config_key": "kubelet"}
DATA = {"kubelet": json.dumps({"kind": "KubeletConfiguration", "maxPods": 61})}
OPTIONS = {"source": SOURCE, "data": DATA}
# The Node of a machine that has not joined cannot be asked for.
GOOD: dict[str, t.Any] = {"reads_store": False, "node_proof": False, "reasons": [], "warnings": [], "state_files": []}


def write(entries: list[seeds.Entry]) -> None:
    for entry in entries:
        if entry.data is None:
            Path(entry.path).mkdir(exist_ok=True)
        else:
            Path(entry.path).write_bytes(entry.data)


class Machine:
    """A machine whose kubelet has not run yet, with stand-ins for systemd, the inspection and the installations."""

    name = "kubelet.service"

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.config_dir = str(folder / "config")
        self.store = Store(self.config_dir)
        self.own = folder / "own.yaml"
        self.own.write_text("kind: KubeletConfiguration\n")
        self.found = dict(GOOD)
        self.kubeconfig, self.bootstrap = folder / "kubelet.conf", folder / "bootstrap.conf"
        self.bootstrap.write_text("")
        self.running, self.lacks = 0, ""
        self.calls: list[t.Any] = []
        self.fails: dict[str, Exception] = {}
        monkeypatch.setattr(seeds, "Unit", lambda *_name, **_child: self)
        monkeypatch.setattr(preflight, "look", self._look)
        monkeypatch.setattr(guard_steps, "present", lambda *_given: self._guard("guard"))
        monkeypatch.setattr(guard_steps, "prepared", lambda *_given, **_more: self._guard("guard alone"))
        monkeypatch.setattr(follow_install, "present", self._follow)
        # The files of systemd are those of this machine.
        monkeypatch.setattr(seed_files, "SERVICE_PATH", str(folder / "seed.service"))
        monkeypatch.setattr(seed_files, "wanted_by", lambda _unit: str(folder / "wants/seed.service"))

    root = "/"

    def run(self, argv: list[str]) -> subprocess.CompletedProcess[str]:
        self.calls.append(argv[1:])
        return subprocess.CompletedProcess(argv, 0, "", "")

    def pid(self) -> int:
        return self.running

    def lacking(self) -> str:
        """Return what the unit lacks for a start."""
        return self.lacks

    def argv(self) -> list[str]:
        if self.lacks:
            raise UnitError("there is no such unit")
        paths = {"bootstrap-kubeconfig": self.bootstrap, "kubeconfig": self.kubeconfig, "config": self.own}
        return ["/usr/bin/kubelet", *(f"--{name}={path}" for name, path in paths.items())]

    def _look(self, _name: str, _text: str, *_place: t.Any, local: bool, terms: t.Any) -> dict[str, t.Any]:
        assert not local and terms.allow_offline_guard
        kubelet = {"config": str(self.own), "local_config": str(self.own), "version": "v1.30.2"}
        return {"kubelet": kubelet, **json.loads(json.dumps(self.found))}

    def _guard(self, name: str) -> dict[str, t.Any]:
        self.calls.append(name)
        if name in self.fails:
            raise self.fails[name]
        if name == "guard":
            self.store.settle()
        return {"changed": True, "diff": [], "warnings": [], "invocation_id": "", "healthy": False}

    def _follow(self, options: dict[str, t.Any], _check: bool, _unit: t.Any) -> None:
        self.calls.append(("follower", options["namespace"], options["effect"]))
        if "follower" in self.fails:
            raise self.fails["follower"]

    def sow(self, **given: t.Any) -> None:
        seed = Seed(**{"options": OPTIONS, **given})
        write(seeds.entries(self.config_dir, self.name, seed, with_program=False))

    def start(self) -> None:
        assert guard_main.main(f"{self.config_dir}/seed", ["seed"]) == 0

    @property
    def is_sown(self) -> bool:
        return Path(seed_files.folder(self.config_dir)).exists()

    def report(self) -> Report:
        found = Outbox(self.config_dir).report()
        assert found is not None
        return found


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


@pytest.mark.parametrize("delivery", [CHECKPOINT, DROPIN])
def test_a_seed_is_assigned_and_on_trial_before_the_first_start(machine: Machine, delivery: str) -> None:
    machine.sow(options={**OPTIONS, "delivery": delivery, "trial_seconds": 90})
    machine.start()
    source = values.source(SOURCE)
    trial = machine.store.trial()
    assert trial is not None and machine.store.assigned() == machine.store.active_source() == trial.to == source
    assert machine.report().status["assigned"] == {"configMap": source}
    named = {} if delivery == CHECKPOINT else {"delivery": delivery}
    assert machine.report().source == {"configMap": source, "seed": True, **named}
    # Without a follower, and with the guard started once nothing is left of the seed.
    # What ended the kubelet before, such as the lack of a file, is no evidence against the seed.
    assert machine.calls[:2] == [["reset-failed", "kubelet.service"], "guard"] and not machine.is_sown
    assert machine.calls[-2:] == [["daemon-reload"], ["start", "--no-block", guard_main.SERVICE]]


@pytest.mark.parametrize(
    ("facts", "progress", "action"),
    [
        # What the kubelet itself refuses.
        ({"kind": "configuration", "words": "no"}, {}, decide.WAIT),
        ({"unit": Unit("activating", "auto-restart", "exit-code", "i2", 1)}, {"failures": 1}, decide.REVERT),
        ({"healthy": True, "now": 80.0}, {"healthy_since": 0.0, "was_healthy": True}, decide.WAIT),
        ({"healthy": True, "now": 99.0}, {"healthy_since": 0.0, "was_healthy": True}, decide.ASK),
        ({"healthy": True, "now": 99.0, "node": "no Node"}, {"healthy_since": 0.0, "was_healthy": True}, decide.WAIT),
        ({"healthy": True, "now": 99.0, "node": ""}, {"healthy_since": 0.0, "was_healthy": True}, decide.GRADUATE),
    ],
)
def test_the_trial_of_a_seed_needs_no_controller(
    machine: Machine, facts: dict[str, t.Any], progress: dict[str, t.Any], action: str
) -> None:
    """The kubelet never ran, so it was not healthy before; a deadly seed is reverted all the same."""
    machine.sow(options={**OPTIONS, "trial_seconds": 90})
    machine.start()
    trial = machine.store.trial()
    assert trial is not None and trial.extra.get("node_proof", True) and trial.revert_to is None
    terms = terms_of(trial)
    seen = Facts(**{"boot": terms.boot, "now": 5.0, "unit": Unit(invocation="i1"), **facts})
    known = Progress(**{"name": terms.name, "boot": terms.boot, "invocation": "i1", **progress})
    assert decide.decide(terms, known, seen).what == action


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (lambda machine: machine.found.update(reasons=["maxPods: no", "b: no"]), "maxPods: no; b: no"),
        (lambda machine: machine.fails.update({"guard": UnitError("the unit is odd")}), "installing the guard failed"),
        (lambda machine: machine.sow(options={**OPTIONS, "data": {"other": "{}"}}), "has no key 'kubelet'"),
        (lambda machine: machine.sow(format=2), "cannot be used: it is not a record of a known format"),
        (lambda machine: Path(machine.config_dir, "seed/seed.json").write_text("{"), "seed.json cannot be used"),
    ],
)
def test_a_seed_that_cannot_be_used_leaves_the_own_file_and_is_reported(
    machine: Machine, prepare: t.Callable[[Machine], None], reason: str
) -> None:
    machine.sow()
    prepare(machine)
    machine.start()
    assert not machine.is_sown and machine.store.assigned() is None
    assert machine.store.running() in (None, machine.store.target(None))
    report = machine.report()
    assert reason in report.status["error"] and report.status["reason"] == seeds.REFUSED and not report.source
    assert report.warning and "Kubelet restarting to use local config: " in report.message
    assert "guard alone" in machine.calls


@pytest.mark.parametrize(
    ("early", "shown", "reason"),
    [
        (lambda machine: machine.own.unlink(), "out", "own.yaml does not exist yet"),
        (lambda machine: machine.bootstrap.unlink(), "out", "bootstrap.conf does not exist yet"),
        # Such as a package that cloud-init installs after the seed.
        (
            lambda machine: setattr(machine, "lacks", "kubelet.service"),
            "err",
            "kubelet.service does not exist yet. If another unit runs the kubelet, make the seed with its kubelet_con",
        ),
        (lambda machine: setattr(machine, "running", 7), "out", "the kubelet runs"),
    ],
)
def test_a_seed_waits_until_the_kubelet_can_start(
    machine: Machine, early: t.Callable[[Machine], None], shown: str, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only what may never come is shown on the console: a kubelet may try to start every few seconds."""
    machine.sow()
    early(machine)
    machine.start()
    assert machine.is_sown and not machine.calls and machine.store.assigned() is None
    found = capsys.readouterr()._asdict()
    assert reason in found.pop(shown) and list(found.values()) == [""]
    machine.own.write_text("kind: KubeletConfiguration\n")
    # Once it has joined, a kubelet needs no credentials to join with.
    machine.kubeconfig.write_text("")
    machine.running, machine.lacks = 0, ""
    machine.start()
    assert not machine.is_sown and machine.store.assigned() == values.source(SOURCE)


def test_the_drop_in_folder_of_an_agent_is_there_before_its_first_start(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An agent of RKE2 or k3s makes it itself, too late. With the labels that the policy has for all that is new."""
    labeled: list[t.Any] = []
    monkeypatch.setattr(guard_install, "restore_labels", lambda paths, _run: labeled.append(paths) or ["no policy"])
    folder = tmp_path / "rancher/agent/etc/kubelet.conf.d"
    for _seed in range(2):
        machine.sow(options={**OPTIONS, "delivery": DROPIN, "dropin_dir": f"{folder}/"})
        machine.start()
    assert folder.is_dir() and folder.parent.stat().st_mode & 0o777 == 0o755 and not machine.is_sown
    assert labeled == [[str(tmp_path / "rancher")]]


@pytest.mark.parametrize("is_on_trial", [True, False])
def test_a_seed_changes_no_machine_that_has_a_configuration(machine: Machine, is_on_trial: bool) -> None:
    """It waited while the kubelet ran, and a rollout came first; or the image is that of a node."""
    machine.sow()
    machine.start()
    before = machine.report()
    if not is_on_trial:
        machine.store.graduate(values.source(SOURCE), "v1.30.2")
    machine.sow(options={**OPTIONS, "source": {**SOURCE, "uid": "other"}})
    machine.start()
    assert not machine.is_sown and machine.store.assigned() == values.source(SOURCE)
    if is_on_trial:
        # A report of the seed would be the status of the trial, and an error of it.
        assert machine.report() == before
        return
    report = machine.report()
    assert "is assigned to this machine already, as on an image" in report.status["error"]
    assert report.message.startswith("Kubelet restarting to use /api/v1/namespaces/b/configmaps/a, ")


def test_a_seed_whose_own_trial_is_not_confirmed_is_reported(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its guard will revert it."""
    apply = seeds.checkpoint_module.apply

    def full(options: dict[str, t.Any], *more: t.Any) -> t.Any:
        if options["state"] == "confirmed":
            raise StoreError("the disk is full")
        return apply(options, *more)

    monkeypatch.setattr(seeds.checkpoint_module, "apply", full)
    machine.sow()
    machine.start()
    assert machine.report().status["error"] == "the disk is full"


def test_a_seed_that_was_interrupted_is_continued(machine: Machine) -> None:
    trials = []
    for _start in range(2):
        machine.sow()
        machine.start()
        trials.append(machine.store.trial())
    assert not machine.is_sown and trials[0] is not None and trials[0] == trials[1]


@pytest.mark.parametrize("fails", [False, True])
def test_a_follower_is_installed_if_wanted(machine: Machine, fails: bool, capsys: pytest.CaptureFixture[str]) -> None:
    if fails:
        machine.fails["follower"] = StoreError("the disk is full")
    machine.sow(follow={"namespace": "kube-system", "effect": "drain"})
    machine.start()
    assert ("follower", "kube-system", "drain") in machine.calls and not machine.is_sown
    assert ("the follower is not installed: the disk is full" in capsys.readouterr().err) is fails


def test_no_follower_is_installed_unasked(machine: Machine, capsys: pytest.CaptureFixture[str]) -> None:
    machine.sow()
    machine.start()
    assert "follower" not in [call[0] for call in machine.calls]
    assert "the follower is not installed" not in capsys.readouterr().err


SEED = Seed(options={"source": {"name": "a"}, "data": {"kubelet": "{}"}}, follow={"effect": "drain"})


def test_the_program_of_a_seed_knows_its_store_and_is_the_program_that_it_installs(tmp_path: Path) -> None:
    found = {entry.path: entry for entry in seeds.entries(str(tmp_path), "kubelet.service", SEED)}
    program = tmp_path / "seed/program.zip"
    program.parent.mkdir()
    program.write_bytes(found[str(program)].data or b"")
    usage = subprocess.run([sys.executable, "-I", "-B", program, "-"], capture_output=True, text=True, check=False)
    assert usage.returncode == 2 and f"usage: {tmp_path}/seed prestart" in usage.stderr
    ask = f"""import sys
sys.path.insert(0, {str(program)!r})
from {guard_install.PACKAGE}._node.install import guard_install
print(guard_install.place(guard_install.program()))"""
    done = subprocess.run([sys.executable, "-I", "-B", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == guard_install.place(guard_install.program())


def test_the_service_is_ordered_before_the_kubelet_and_wanted_by_it_and_at_boot() -> None:
    found = {entry.path: entry for entry in seeds.entries("/x", "k3s.service", SEED)}
    service = (found[seed_files.SERVICE_PATH].data or b"").decode()
    assert "\nBefore=k3s.service\n" in service and "\nConditionPathExists=/x/seed/seed.json\n" in service
    # The image may have the seed of another group, which user data replace.
    assert "\nAfter=cloud-init.service cloud-init-network.service\n" in service
    # A kubelet that cannot start yet is started again and again.
    assert "\nStartLimitIntervalSec=0\n" in service.partition("[Service]")[0]
    for unit in ("k3s.service", "multi-user.target"):
        # At boot also, so that it reports a kubelet's unit that does not exist.
        link = found[f"/etc/systemd/system/{unit}.wants/{seed_files.SERVICE}"]
        assert link.link == seed_files.SERVICE_PATH
    # What it writes about itself is where a provider shows it.
    assert "\nStandardError=journal+console\n" in service


def test_a_unit_without_an_ending_and_a_folder_with_a_slash_are_what_they_are_elsewhere() -> None:
    """systemd ignores `kubelet.wants` and `Before=kubelet`, and Ignition refuses a path with a slash at its end."""
    assert seeds.entries("/x/", "kubelet", SEED) == seeds.entries("/x", "kubelet.service", SEED)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [("{", "Expecting"), ("[]", "not a record"), ('{"format": 2}', "known format"), ('{"options": 1}', "options has")],
)
def test_what_is_no_seed(tmp_path: Path, text: str, wrong: str) -> None:
    write(seeds.entries(str(tmp_path), "kubelet.service", SEED, with_program=False))
    assert seeds.read(str(tmp_path)) == SEED
    Path(seed_files.content(str(tmp_path))).write_text(text)
    with pytest.raises(ValueError, match=wrong):
        seeds.read(str(tmp_path))
