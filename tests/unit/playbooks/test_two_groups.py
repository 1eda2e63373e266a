# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One run over two groups that differ, without a cluster: a playbook that tries to connect has accepted them."""

from __future__ import annotations

import re
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import specs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.specs import OF_EVERY_PLAYBOOK, OF_ROLLOUTS
from tests.support.plays.ansible import NO_KUBECONFIG, ROOT, Ansible, extra, playbook_of

ROLES = specs.by_role()
ENTRY_POINTS = {name: specs.by_role(entry_point=name) for name in ("follow", "prune")}
"""Of the playbooks that use one entry point of a role."""
KNOWN = specs.known(ROLES)
PLAYBOOKS = {
    path.stem: set(found[0]["vars"]["require_roles"])
    for path in sorted((ROOT / "playbooks").glob("*.yml"))
    if "require_roles" in (found := yaml.safe_load(path.read_text()))[0].get("vars", {})
}
TWO: dict[str, tuple[t.Any, t.Any]] = {
    "str": ("1", "2"),
    "path": ("/a", "/b"),
    "int": (5, 6),
    "bool": (False, True),
    "list": (["--v=1"], ["--v=2"]),
    "dict": ({"host": "https://a"}, {"host": "https://b"}),
    "raw": (1, 2),
}
FEW = ("rollout", "prune", "kubelet_config_plan")
"""What stands for the others in the short tier: each playbook and each variable costs two seconds."""
MORE_READ = {"migrate": ("kubelet_config_migrate_changes",)}
MORE = {"migrate": {"kubelet_config_delivery": "native"}}


def two(name: str) -> tuple[t.Any, t.Any]:
    """Return two values that a variable accepts."""
    if name in specs.INTERNAL:
        return "", "theirs"
    choices = KNOWN[name].get("choices")
    if name in ("kubelet_config", "kubelet_config_host"):
        return {"maxPods": 1}, {"maxPods": 2}
    if name == "kubelet_config_profile":
        return "cis-1.12", ["stig-v2r6"]
    if name == "kubelet_config_hosts":
        return "all", "a"
    return (choices[0], choices[1]) if choices else TWO[KNOWN[name]["type"]]


def few(names: t.Iterable[str], short: t.Collection[str] = FEW) -> list[t.Any]:
    """Return names for a test, those beyond `short` for the long tier."""
    return [pytest.param(name, marks=() if name in short else pytest.mark.long) for name in sorted(names)]


@pytest.fixture
def ansible(tmp_path: Path) -> Ansible:
    """Return Ansible with two groups of two hosts, and no cluster."""
    groups = {"a": {"hosts": {"n1": {}, "n2": {}}}, "b": {"hosts": {"n3": {}, "n4": {}}}}
    made = Ansible.without_cluster(tmp_path, groups)
    (made.inventory / "quick.yml").unlink()
    return made


def read(playbook: str) -> set[str]:
    """Return the variables that a playbook reads."""
    own = MORE_READ.get(playbook, ())
    of_roles = ENTRY_POINTS.get(playbook, ROLES)
    return {
        *OF_EVERY_PLAYBOOK,
        *(OF_ROLLOUTS if "rollout" in PLAYBOOKS[playbook] else ()),
        *own,
        *(name for role in PLAYBOOKS[playbook] for name in of_roles[role]),
    } - specs.HANDED_ON


def test_every_variable_is_read_by_a_playbook() -> None:
    """So that the tests below go through all of them."""
    of_playbooks = {name for playbook in PLAYBOOKS for name in read(playbook)}
    assert of_playbooks | specs.HANDED_ON - specs.INTERNAL.keys() == set(KNOWN)


def differ(ansible: Ansible, names: t.Iterable[str]) -> None:
    """Let the groups differ in some variables."""
    a, b = {name: two(name)[0] for name in names}, {name: two(name)[1] for name in names}
    ansible.variables(a=a, b=b)


def refused(output: str) -> set[str]:
    """Return the variables that a run names as different."""
    return set(re.findall(r"(kubelet_config_\w+) is \S+ on (?:group [ab]|n\d)", output))


@pytest.mark.parametrize("playbook", few(PLAYBOOKS))
def test_groups_that_differ_in_variables_of_the_run_are_refused(ansible: Ansible, playbook: str) -> None:
    """All of them are named at once, with the groups. The cluster has a message of its own."""
    names = {name for name in read(playbook) if specs.is_of_the_run(name)} - {"kubelet_config_hosts"}
    differ(ansible, names)
    run = ansible.playbook(playbook)
    assert run.code != 0 and NO_KUBECONFIG not in run.output, run.output
    assert refused(run.output) == names - {specs.AUTH}, run.output
    assert "name different clusters" in run.output, run.output
    assert "group a (n1, n2): host https://a" in run.output and "group b (n3, n4): host https://b" in run.output


@pytest.mark.parametrize("playbook", few(PLAYBOOKS, ["rollout"]))
def test_groups_that_differ_in_variables_of_hosts_are_accepted(ansible: Ansible, playbook: str) -> None:
    names = {name for name in read(playbook) if not specs.is_of_the_run(name)} - {"kubelet_config_node_name"}
    differ(ansible, names)
    run = ansible.playbook(playbook, *extra(kubelet_config_target_version="1.36", **MORE.get(playbook, {})))
    assert refused(run.output) == set() and "Nothing was changed" not in run.output, run.output


@pytest.mark.parametrize("where", ["group", "import"])
def test_templates_are_compared_as_each_host_sees_them(ansible: Ansible, tmp_path: Path, where: str) -> None:
    """Also those of import_playbook, which are no variables of hosts."""
    given = {"kubelet_config_auth": {"host": "https://{{ mine }}"}, "kubelet_config_name": "{{ name }}"}
    ansible.variables(
        all={"name": "{{ 'same' }}", **(given if where == "group" else {})},
        a={"mine": "{{ 'of-a' }}"},
        b={"mine": "of-b"},
    )
    mine = {"import_playbook": "livenodes.kubelet.plan", "vars": given if where == "import" else {}}
    run = ansible.playbook(playbook_of(tmp_path, mine))
    assert run.code != 0 and refused(run.output) == set(), run.output
    assert "group a (n1, n2): host https://of-a" in run.output and "group b (n3, n4): host https://of-b" in run.output


def test_the_destination_of_a_migration_is_that_of_the_run(ansible: Ansible) -> None:
    differ(ansible, ["kubelet_config_delivery"])
    assert refused(ansible.playbook("migrate").output) == {"kubelet_config_delivery"}


@pytest.mark.parametrize("name", few(specs.HANDED_ON))
@pytest.mark.parametrize("place", ["extra", "group", "import"])
def test_what_roles_hand_to_each_other_is_no_input(ansible: Ansible, tmp_path: Path, place: str, name: str) -> None:
    """The plan that is shown would not be the plan that is applied."""
    # The value of a role's default is the same as none.
    given = {name: next(value for value in two(name) if value != KNOWN.get(name, {}).get("default"))}
    playbook, arguments = "rollout", extra()
    if place == "extra":
        arguments = extra(**given)
    elif place == "group":
        ansible.variables(b=given)
    else:
        playbook = playbook_of(tmp_path, {"import_playbook": "livenodes.kubelet.rollout", "vars": given})
    run = ansible.playbook(playbook, *arguments)
    assert run.code != 0 and NO_KUBECONFIG not in run.output, run.output
    assert f"{name}: roles hand these to each other" in run.output, run.output


@pytest.mark.parametrize("name", ["localhost", "::1"])
def test_a_node_that_would_be_the_controller_is_refused(ansible: Ansible, name: str) -> None:
    """All tasks of the controller, with the credentials in their arguments, would go to its address."""
    ansible.groups(c={"hosts": {name: {"ansible_host": "192.0.2.9"}}})
    run = ansible.playbook("plan", "-e", "kubelet_config_hosts=a")
    assert run.code != 0 and f"the inventory has the host {name} with the connection" in run.output, run.output
    assert "192.0.2.9" not in run.output and NO_KUBECONFIG not in run.output


def test_a_host_localhost_with_the_connection_local_is_accepted(ansible: Ansible) -> None:
    ansible.groups(c={"hosts": {"localhost": {"ansible_connection": "{{ 'local' }}"}}})
    run = ansible.playbook("plan", "-e", "kubelet_config_hosts=a")
    assert "the inventory has the host" not in run.output and NO_KUBECONFIG in run.output, run.output


@pytest.mark.parametrize("playbook", [pytest.param("drift", marks=pytest.mark.long), "prune"])
def test_groups_that_are_rolled_out_apart_may_differ_in_what_a_playbook_does_not_read(
    ansible: Ansible, playbook: str
) -> None:
    differ(ansible, {name for name in KNOWN if specs.is_of_the_run(name)} - read(playbook))
    run = ansible.playbook(playbook)
    assert refused(run.output) == set() and NO_KUBECONFIG in run.output, run.output


def test_prune_has_the_credentials_of_its_group(ansible: Ansible) -> None:
    """And not those of localhost."""
    ansible.variables(a={"kubelet_config_auth": {"kubeconfig": "/of-group-a"}})
    run = ansible.playbook("prune", "-e", "kubelet_config_hosts=a", K8S_AUTH_HOST="https://127.0.0.1:1")
    assert run.code != 0 and "no kubeconfig at /of-group-a" in run.output, run.output


@pytest.mark.parametrize("playbook", few(PLAYBOOKS, ["rollout", "upgrade_check"]))
def test_each_playbook_names_its_cluster_before_it_connects(ansible: Ansible, playbook: str) -> None:
    """Except for the one that sends no request."""
    ansible.variables(a={"kubelet_config_auth": {"host": "https://u:hunter2@h", "client_cert": "/nowhere"}})
    given = extra(kubelet_config_hosts="a", kubelet_config_target_version="1.36", **MORE.get(playbook, {}))
    output = " ".join(ansible.playbook(playbook, *given).output.split())
    before, named, after = output.partition("This run is about the cluster https://********@h")
    assert bool(named) == (playbook != "upgrade_check") and "hunter2" not in output, output
    assert not named or ("no file /nowhere" not in before and "no file /nowhere" in after), output
