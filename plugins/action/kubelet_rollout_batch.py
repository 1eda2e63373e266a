# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs one step of a batch: it finds the options of a module, calls it, and adds its result to what was found out."""

from __future__ import annotations

import typing as t

from ansible.errors import AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.livenodes.kubelet.plugins.plugin_utils import host_table
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import stages
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import endings, moves, steps, value
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.batch import At, Batch, Found, Play
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.steps import Step

Vars = t.Dict[str, t.Any]
COLLECTION = "livenodes.kubelet"
ROLLOUT = "__kubelet_config_rollout"
BATCH = "__kubelet_config_batch"

OF_ROLLOUT = frozenset({"gate", "admit", "drain", "revert", "uncordon", "stop"})
"""The steps of the role C(rollout). A play may list the roles with the other ones itself."""
STEPS: dict[str, Step] = {**steps.STEPS, **moves.STEPS, **endings.STEPS}


class ActionModule(ActionBase):  # type: ignore[misc]  # ansible-core has no types
    """See the module. There is no module to run: only Ansible's own process has the variables of all hosts."""

    TRANSFERS_FILES = False

    def run(self, tmp: t.Any = None, task_vars: Vars | None = None) -> Vars:
        """Return the result of the module, with what is known after it in C(batch)."""
        result: Vars = super().run(tmp, task_vars)
        given = dict(self._task.args)
        own = {name: given.pop(name) for name in ("step", "batch", "reason") if name in given}
        # Callbacks get the arguments. What is left in C(given) are the credentials of the cluster.
        self._task.args = {"step": own.get("step")}
        step = STEPS.get(own.get("step", ""))
        if step is None:
            return {**result, "failed": True, "msg": f"step is one of {', '.join(STEPS)}, not {own.get('step')!r}"}
        variables = task_vars or {}
        try:
            at = step.begin(self._at(own, variables))
            options = step.options(at)
        except (AnsibleError, ValueError) as error:
            return {**result, "failed": True, "msg": str(error), "batch": own.get("batch") or {}}
        if options is None:
            answer = _without_call(step, at, str(own.get("reason") or ""))
        else:
            answer = self._called(step, at, {**given, **options}, variables)
        return {**result, **answer}

    def _at(self, own: Vars, variables: Vars) -> At:
        """Return what the step reads."""
        play = self._play(variables)
        found = Found.of(own.get("batch") or {})
        # By hand it is an empty mapping, else a template.
        if own["step"] in OF_ROLLOUT or variables.get(BATCH):
            rollout = _rollout(play, variables)
            return At(Batch(**value.of_host(rollout, play.host)), found, play, rollout)
        if found.begun:
            # What a rollout of the same run has found out ends with it.
            found = Found()
        return At(self._by_hand(play, variables), found, play, {})

    def _by_hand(self, play: Play, variables: Vars) -> Batch:
        """Return the hosts of a play that lists the roles itself, with what its plan or its sources assign."""
        wrong = host_table.unseen(variables, variables["hostvars"])
        if wrong:
            raise AnsibleError(wrong)
        plan = stages.found(play.variable("kubelet_config_plan"), "edit", variables)
        table = host_table.node_table(self._hosts(variables), variables["hostvars"])
        return Batch(**value.of_plan(plan, play.variable("kubelet_config_sources"), table))

    def _hosts(self, variables: Vars) -> list[str]:
        """Return the hosts that the task works for: under some strategies each host works alone."""
        strategy = str(self._templar.template(self._task.get_play().strategy))
        if strategy.endswith(stages.ALONE):
            return [variables["inventory_hostname"]]
        return list(variables["ansible_play_batch"])

    def _play(self, variables: Vars) -> Play:
        hostvars, left = variables["hostvars"], variables["ansible_play_batch"]
        every = variables["ansible_play_hosts_all"]
        untouched = []
        # None is left where all have failed and the nodes are uncordoned.
        if left:
            untouched = every[every.index(left[-1]) + 1 :]

        def variable(name: str) -> t.Any:
            return self._templar.template(variables[name]) if name in variables else None

        def of_host(host: str, name: str) -> t.Any:
            return hostvars[host].get(name)

        return Play(
            variable=variable,
            of_host=of_host,
            dump=stages.found(None, "dump", variables),
            host=variables["inventory_hostname"],
            present=list(left),
            untouched=untouched,
            check_mode=bool(self._task.check_mode),
            forks=int(variables["ansible_forks"]),
        )

    def _called(self, step: Step, at: At, options: t.Mapping[str, t.Any], variables: Vars) -> Vars:
        """Call the module of a step as its own task would."""
        task = self._task.copy()
        task.action = f"{COLLECTION}.{step.module}"
        task.args = dict(options)
        task.check_mode = task.check_mode or step.dry_run
        result = self._action(task).run(task_vars=variables)
        # As that module shows them.
        self._task.args = {**self._task.args, **task.args}
        at = at._replace(found=step.after(at, result))
        if result.get("failed") and step.goes_on(result):
            result["failed"] = False
        more: t.Mapping[str, t.Any] = {}
        if not result.get("failed"):
            more = step.more(at, result)
        return {**result, **more, "batch": at.found.passed()}

    def _action(self, task: t.Any) -> ActionBase:
        loader = self._shared_loader_obj.action_loader
        name = task.action if loader.has_plugin(task.action) else "ansible.legacy.normal"
        return loader.get(
            name,
            task=task,
            connection=self._connection,
            play_context=self._play_context,
            loader=self._loader,
            templar=self._templar,
            shared_loader_obj=self._shared_loader_obj,
        )


def _rollout(play: Play, variables: Vars) -> Vars:
    """Return the value of the rollout. As a template, Ansible would render each of its texts again."""
    if isinstance(variables[ROLLOUT], str):
        known = variables["hostvars"].raw_get("localhost")
        if ROLLOUT in known:
            return t.cast("Vars", known[ROLLOUT])
    return t.cast("Vars", play.variable(ROLLOUT))


def _without_call(step: Step, at: At, reason: str) -> Vars:
    """Return the result of a step that has nothing to call."""
    problem = step.problem(at, reason)
    if problem:
        # All that the operator reads.
        return {"changed": False, "failed": True, "msg": problem}
    known = {"changed": False, **step.more(at, {}), "batch": at.found.passed()}
    return {**known, "skipped": True, "skip_reason": "nothing to do"}
