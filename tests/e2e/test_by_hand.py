# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The commands of the guide The workflow by hand, on real kubelets: the five roles, then three modules."""

from __future__ import annotations

import json

from tests.lab.lab import Lab
from tests.support.lab.views import look_at_all as views
from tests.support.plays import by_hand
from tests.support.plays.ansible import Ansible

GROUP = ("n1", "n3")


def test_the_commands_of_the_page(lab: Lab, fleet: tuple[str, ...], ansible: Ansible) -> None:
    """One node, then the other, then nothing to change; n2 is in no group of the page."""
    check, first, rest, modules = by_hand.commands()
    declared = by_hand.declared()
    group = {"hosts": {name: {} for name in GROUP}}
    (ansible.inventory / "docs.yml").write_text(json.dumps({"all": {"children": {"workers": group}}}))
    ansible.variables(workers={"kubelet_config": declared})
    before = views(lab, fleet)
    assert declared["maxPods"] != before["n1"].configz["maxPods"]

    for command, changed in ((check, ()), (first, ("n1",)), (rest, GROUP)):
        run = by_hand.types(ansible, command, ansible.home)
        assert run.code == 0, run.output
        after = views(lab, fleet)
        assert {name for name in fleet if after[name].invocation != before[name].invocation} == set(changed)
        assert all(after[name].configz == {**before[name].configz, **declared} for name in changed)

    again = by_hand.types(ansible, rest, ansible.home)
    assert again.code == 0 and again.recap("n1")["changed"] == 0, again.output
    assert views(lab, fleet)["n3"].invocation == after["n3"].invocation

    more = by_hand.types(ansible, modules, ansible.home, "-e", json.dumps({"fields": {"maxPods": 70}}))
    assert more.code == 0, more.output
    assert {name: view.configz["maxPods"] for name, view in views(lab, GROUP).items()} == {"n1": 70, "n3": 80}
