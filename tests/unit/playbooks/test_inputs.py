# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every playbook checks its hosts and their variables before it connects to a cluster, and names all its roles."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.support.plays.ansible import NO_KUBECONFIG, ROOT, Ansible, extra, playbook_of
from tests.support.plays.runner import PROJECT

PLAYBOOKS = sorted(
    path.stem for path in (ROOT / "playbooks").glob("*.yml") if "livenodes.kubelet." in path.read_text(encoding="utf-8")
)
WRONG = {
    "kubelet_config_drain": False,  # YAML's bare no
    "kubelet_config_state_files": "Keep",
    "kubelet_config_serial": "1,20 nodes",
    "kubelet_config_max_unavailable": 0,
    "kubelet_config_wait_timout": 60,
}
ROLLOUT = {"awx_job_template_name": "Rollout", "awx_workflow_job_name": "Rollout"}
UNSEEN = "kubelet_config is set in the vars of a play, a role or import_playbook"


@pytest.fixture
def ansible(tmp_path: Path) -> Ansible:
    """Three hosts in two groups, and no cluster: a playbook that tries to connect to it has accepted the variables."""
    groups = {"workers": ("n1", "n2"), "others": ("n3",)}
    return Ansible.without_cluster(tmp_path, {name: {"hosts": dict.fromkeys(hosts)} for name, hosts in groups.items()})


def message(output: str) -> str:
    """Return the error of the check as the operator reads it."""
    found = re.search(
        r'"msg": "(\d+ variables? .*?[^\\])"[,}]|(?<=Task failed: )(\d+ variables? (?:.|\n)*?)\n\n', output
    )
    assert found, output
    return (found[1] or found[2]).replace("\\n", "\n").replace('\\"', '"')


@pytest.mark.parametrize(
    ("playbook", "named"),
    [
        ("rollout", {"drain", "state_files", "serial", "max_unavailable", "wait_timout"}),
        pytest.param("prune", {"wait_timout"}, marks=pytest.mark.long),
    ],
)
@pytest.mark.fault(case=50)
def test_all_wrong_variables_are_named_at_once(ansible: Ansible, playbook: str, named: set[str]) -> None:
    run = ansible.playbook(playbook, "--check", *extra(**WRONG))
    assert run.code != 0 and NO_KUBECONFIG not in run.output, run.output
    lines = message(run.output).splitlines()
    assert named <= {re.findall(r"kubelet_config_(\w+)", line)[0] for line in lines[1:]}, lines
    assert "Nothing was changed" in lines[0]
    assert all("on all hosts" in line for line in lines[1:])
    assert "Did you mean kubelet_config_wait_timeout?" in lines[-1]


@pytest.mark.fault(case=50)
def test_hosts_that_differ_are_checked_and_named(ansible: Ansible) -> None:
    """Values of groups and hosts, templates, and variables of import_playbook."""
    ansible.variables(all={"kubelet_config_drain": "{{ drain }}", "kubelet_config_delivery": "{{ later }}"})
    ansible.host_variables(n1={"drain": "never"}, n2={"drain": "Never"}, n3={"drain": "{{ 'Never' }}"})
    lines = message(ansible.playbook("rollout").output).splitlines()
    assert [line for line in lines if "drain" in line] == [
        'kubelet_config_drain is "Never" on n2, n3: use never, when_needed or always'
    ]


def test_templates_that_cannot_be_rendered_are_named_by_host(ansible: Ansible) -> None:
    """But for those of the capacity of a machine, which the role dump finds out later."""
    ansible.variables(
        all={"kubelet_config": {"maxPods": "{{ pods }}"}, "kubelet_config_host": "{{ {'a': kubelet_capacity.cpu} }}"}
    )
    ansible.host_variables(n1={"pods": 50}, n3={"kubelet_config_flags": ["{{ flag }}"], "pods": 50})
    run = ansible.playbook("rollout")
    assert NO_KUBECONFIG not in run.output and "Finalization" not in run.output, run.output
    lines = message(run.output).splitlines()[1:]
    assert [line.partition(":")[0].partition(",")[0] for line in lines] == [
        "kubelet_config on n2",
        "kubelet_config_flags on n3",
    ]
    assert "pods" in lines[0] and "flag" in lines[1] and all("or " in line for line in lines)


def test_an_undefined_variable_does_not_count_as_unset(ansible: Ansible) -> None:
    """A rollout would connect to another cluster, in other batches. A role's default is known in its tasks alone."""
    later = {
        "kubelet_config_canary_soak_seconds": "{{ kubelet_config_wait_timeout }}",
        "kubelet_config_dropin_dir": "{{ nothing | default(omit) }}",
    }
    ansible.variables(all={"kubelet_config_auth": "{{ login }}", "kubelet_config_serial": "{{ sizes }}", **later})
    run = ansible.playbook("rollout")
    assert NO_KUBECONFIG not in run.output, run.output
    assert [line.partition(".")[0] for line in message(run.output).splitlines()[1:]] == [
        "kubelet_config_auth on all hosts: 'login' is undefined",
        "kubelet_config_serial on all hosts: 'sizes' is undefined",
    ]


def test_a_misspelt_main_variable_and_groups_that_both_set_it(ansible: Ansible) -> None:
    """Both would revert fields of a host as no longer declared."""
    ansible.variables(all={"kubelet_confg": {"maxPods": 5}}, a={"kubelet_config": 1}, b={"kubelet_config": 2})
    ansible.groups(**{name: {"hosts": {"n1": {}}} for name in "ab"})
    ansible.host_variables(n2={"kubelet_config_node_name": "n1"}, n3={"kubelet_config_host": "maxPods: ["})
    run = ansible.playbook("plan", "-e", "kubelet_config_path=/etc")
    assert "hosts n1, n2 name the same node n1. Nothing was changed" in run.output, run.output
    assert "kubelet_config_host on n3: its value, line 1" in run.output, run.output
    assert "kubelet_confg on all hosts: unknown. Did you mean kubelet_config?" in message(run.output)
    warned = " ".join(run.output.split())
    assert "groups a and b both set kubelet_config: that of b counts on n1" in warned
    assert "kubelet_config_path: this collection has no such variable and ignores it" in warned


def test_variables_of_import_playbook_are_checked(ansible: Ansible, tmp_path: Path) -> None:
    """They are not variables of the hosts."""
    given = {"kubelet_config_allow_effect": "dran"}
    mine = playbook_of(tmp_path, {"import_playbook": "livenodes.kubelet.plan", "vars": given})
    assert 'kubelet_config_allow_effect is "dran" on all hosts' in message(ansible.playbook(mine).output)


def test_the_main_variable_of_import_playbook_alone_is_refused(ansible: Ansible, tmp_path: Path) -> None:
    """Otherwise a rollout would find no change and succeed."""
    given = {"kubelet_config": {"maxPods": 30}}
    run = ansible.playbook(playbook_of(tmp_path, {"import_playbook": "livenodes.kubelet.plan", "vars": given}))
    assert run.code != 0 and UNSEEN in run.output and "group_vars" in run.output, run.output
    assert NO_KUBECONFIG not in run.output


@pytest.mark.parametrize("place", [pytest.param("group", marks=pytest.mark.long), "nowhere"])
def test_the_main_variable_of_hosts_is_used(ansible: Ansible, place: str) -> None:
    if place == "group":
        ansible.variables(all={"kubelet_config": {"maxPods": 30}})
    ansible.host_variables(n2={"kubelet_config_host": {"maxPods": 20}})
    run = ansible.playbook("plan")
    assert run.code != 0 and UNSEEN not in run.output and NO_KUBECONFIG in run.output, run.output


def test_hosts_that_only_the_inventory_names_are_refused(ansible: Ansible) -> None:
    """The playbook would not see them, and would change all hosts."""
    ansible.variables(all={"kubelet_config_hosts": "workers"})
    run = ansible.playbook("require_hosts")
    assert run.code != 0
    assert "kubelet_config_hosts=workers" in run.output and "-e" in run.output and "n3" in run.output, run.output
    # In a workflow of another name than that of its template, a job is no slice.
    given = {"kubelet_config_hosts": "workers", **ROLLOUT, "awx_workflow_job_name": "Workflow"}
    assert ansible.playbook("require_hosts", *extra(**given)).code == 0


@pytest.mark.parametrize(
    ("text", "variables", "limit"),
    [
        ("job_slice_count", ROLLOUT, ()),
        # It would be a success in which nothing was done.
        ("No host matches kubelet_config_hosts=wokers", {"kubelet_config_hosts": "wokers"}, ("--limit", "n1")),
    ],
)
def test_hosts_that_are_refused(ansible: Ansible, text: str, variables: dict[str, str], limit: tuple[str, ...]) -> None:
    run = ansible.playbook("require_hosts", *extra(**variables), *limit)
    assert run.code != 0 and text in run.output, run.output


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        # A budget of 50 nodes, and maxPods removed.
        ("kubelet_config_max_unavailable=50 percent", True),
        pytest.param("kubelet_config_max_unavailable='50 %' kubelet_config_hosts=n1", False, marks=pytest.mark.long),
    ],
)
def test_a_value_that_ansible_cuts_at_a_space_is_refused(ansible: Ansible, given: str, refused: bool) -> None:
    run = ansible.playbook("require_hosts", "-e", given)
    assert (run.code != 0) is refused and ("-e has words that belong to no variable. " in run.output) is refused
    # What was cut off may be a secret.
    assert not refused or (given.partition("=")[0] in run.output and given.partition(" ")[2] not in run.output)


@pytest.mark.parametrize(
    ("started", "options", "refused"),
    [
        (str(ROOT / "playbooks/rollout.yml"), ["--tags", "x"], True),
        (str(PROJECT / "rollout.yml"), ["--skip-tags", "untagged"], True),
        pytest.param("rollout", ["--tags", "x"], True, marks=pytest.mark.long),
        pytest.param("rollout", ["--start-at-task", "Kubeadm"], True, marks=pytest.mark.long),
        ("rollout", ["--tags", "untagged"], False),
    ],
)
def test_options_that_leave_out_tasks_are_refused(
    ansible: Ansible, started: str, options: list[str], refused: bool
) -> None:
    """With them, no task or the last one alone would run, and the run would succeed."""
    run = ansible.playbook(started, *options)
    assert run.code != 0 and ("leaves out tasks of this playbook" in run.output) == refused, run.output
    assert (NO_KUBECONFIG in run.output) != refused


def test_tags_of_a_playbook_that_imports_one_are_its_own(ansible: Ansible, tmp_path: Path) -> None:
    ours = {"import_playbook": "livenodes.kubelet.plan", "tags": "kubelets"}
    mine = playbook_of(tmp_path, ours, {"tasks": [{"ansible.builtin.debug": {"msg": "mine"}, "tags": "others"}]})
    assert NO_KUBECONFIG in ansible.playbook(mine, "--tags", "kubelets").output
    run = ansible.playbook(mine, "--tags", "others")
    assert run.code == 0 and '"mine"' in run.output, run.output


@pytest.mark.parametrize("arguments", [(), pytest.param(("--limit", "all"), marks=pytest.mark.long)])
def test_a_reset_takes_only_hosts_that_are_named(ansible: Ansible, arguments: tuple[str, ...]) -> None:
    """Without them, it would remove the configurations of the whole cluster."""
    run = ansible.playbook(str(ROOT / "playbooks/reset.yml"), *arguments)
    assert run.code != 0 and (NO_KUBECONFIG in run.output) == bool(arguments), run.output
    assert ("Name them with -e kubelet_config_hosts, such as a group or all" in run.output) != bool(arguments)


@pytest.mark.parametrize("playbook", ["rollout", "reset", pytest.param("plan", marks=pytest.mark.long)])
def test_what_a_rollback_returns_to_is_refused_elsewhere(ansible: Ansible, playbook: str) -> None:
    """A rollout to a ConfigMap would roll out what is declared, and a reset of one rollout would undo all of them."""
    given = extra(kubelet_config_hosts="all", kubelet_config_variant="good", kubelet_config_rollout_id="")
    run = ansible.playbook(playbook, *given)
    output = " ".join(run.output.split())
    assert run.code != 0 and NO_KUBECONFIG not in output, output
    assert "Only the playbook rollback reads kubelet_config_variant, so this run would ignore it" in output


def test_a_rollback_accepts_what_it_returns_to(ansible: Ansible) -> None:
    assert NO_KUBECONFIG in ansible.playbook("rollback", *extra(kubelet_config_variant="good")).output


def test_a_migration_needs_a_destination(ansible: Ansible) -> None:
    output = " ".join(ansible.playbook("migrate").output.split())
    assert "Set kubelet_config_delivery to checkpoint, dropin or native" in output and NO_KUBECONFIG not in output


def included(text: str) -> set[str]:
    """Return the roles that a playbook or a tasks file uses."""
    return set(re.findall(r"name: livenodes\.kubelet\.(\w+)$", text, re.MULTILINE))


def closure(roles: set[str]) -> set[str]:
    """Return the roles with those that their tasks use."""
    more = {
        other
        for role in roles
        for path in (ROOT / "roles" / role / "tasks").glob("*.yml")
        for other in included(path.read_text(encoding="utf-8"))
    }
    return roles if more <= roles else closure(roles | more)


@pytest.mark.parametrize("playbook", PLAYBOOKS)
def test_each_playbook_names_all_its_roles(playbook: str) -> None:
    """Otherwise the variables of a role would not be checked."""
    text = (ROOT / "playbooks" / f"{playbook}.yml").read_text(encoding="utf-8")
    plays = yaml.safe_load(text)
    # Parts of other playbooks, which check the variables.
    if playbook in ("require_hosts", "batches"):
        return
    for other in re.findall(r"(?:import_playbook: |import_tasks: )(batches\.yml|tasks/\w+\.yml)", text):
        text += (ROOT / "playbooks" / other).read_text(encoding="utf-8")
    named = plays[0]["vars"]["require_roles"] if "vars" in plays[0] else None
    if named is None:
        (named,) = (
            task["livenodes.kubelet.kubelet_config_inputs"]["roles"]
            for task in plays[0]["tasks"]
            if "livenodes.kubelet.kubelet_config_inputs" in task
        )
    assert set(named) == closure(included(text))
