# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading real kubelets without nodes/proxy: at their port from 1.33 on, and on their hosts over SSH."""

from __future__ import annotations

import dataclasses
import json
import re
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.objects import kubelets
from tests.contract.test_permissions import USER as ALLOWED
from tests.contract.test_permissions import allowing
from tests.lab.lab import Lab
from tests.support.api.reader import NAMESPACE, Rule, reading
from tests.support.lab.views import eventually
from tests.support.lab_node.node_bench import Bench
from tests.support.plays.ansible import Ansible, Run
from tests.support.plays.permissions import USER, Objects, Permission, manifest, without

NODE = "n2"
FINE = ("nodes/configz", "nodes/metrics", "nodes/healthz")
N3 = ("-e", "kubelet_config_hosts=n3")
SOAK = ("-e", "kubelet_config_soak_seconds=1")
JWT = re.compile(r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}")
# What a login could leave on a node; files of the kernel and of the runtime have no end.
PLACES = "/root /tmp /var/tmp /var/log /run/log"
OWN = "kubelet-configz-n1"


@pytest.fixture
def grant(lab: Lab) -> t.Iterator[t.Callable[..., None]]:
    """Return what sets the permissions of the user: read Nodes, and get these resources."""

    def give(*resources: str) -> None:
        rules = (("", "nodes", "get"), *(("", resource, "get") for resource in resources))
        lab.kubectl("apply", "-f", "-", stdin=listed(*rules))

    yield give
    lab.kubectl("delete", "-f", "-", stdin=listed())


def listed(*rules: tuple[str, str, str]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": allowing(*rules)})


def test_without_nodes_proxy(lab: Lab, tmp_path: Path, grant: t.Callable[..., None]) -> None:
    """The smaller permissions are enough; without one of them the kubelet names what it needs."""
    options = {"kubeconfig": str(lab.user_kubeconfig(ALLOWED)), "read": "kubelet"}
    grant()
    with pytest.raises(ApiError, match=r"(?s)cannot be verified .*serverTLSBootstrap"):
        kubelets.configz(Session(options), NODE)
    authority = tmp_path / "kubelet.crt"
    authority.write_text(lab.node(NODE).run("cat /var/lib/kubelet/pki/kubelet.crt"))
    user = Session({**options, "kubelet_ca_cert": str(authority)})
    with pytest.raises(ApiError, match=r"configz proxy.*nodes/configz") as caught:
        kubelets.configz(user, NODE)
    assert caught.value.status == 403
    grant(*FINE)

    def may() -> bool:
        # The kubelet keeps a refusal for some seconds (authorization.webhook.cacheUnauthorizedTTL).
        try:
            return bool(kubelets.configz(user, NODE))
        except ApiError as error:
            if error.status != 403:
                raise
            return False

    eventually(may, 60, "the kubelet accepts nodes/configz")
    assert kubelets.configz(user, NODE) == kubelets.configz(Session({"kubeconfig": str(lab.kubeconfig)}), NODE)
    assert kubelets.process(user, NODE).started > 0
    assert kubelets.healthy(user, NODE)
    with pytest.raises(ApiError, match='cannot get resource "nodes/proxy"'):
        kubelets.configz(Session({"kubeconfig": str(lab.user_kubeconfig(ALLOWED))}), NODE)


@dataclasses.dataclass
class Login:
    """A user without nodes/proxy who can log in to the nodes."""

    lab: Lab
    ansible: Ansible
    authorities: Path
    given: Objects

    def grant(self, objects: Objects) -> None:
        self.given += objects
        self.lab.kubectl("apply", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))

    def play(self, name: str, *more: str, **auth: t.Any) -> Run:
        """Run a playbook at the highest verbosity; no token is in its output."""
        options = {"read": "node", "kubelet_ca_cert": str(self.authorities), **auth}
        run = self.ansible.playbook(name, "-e", json.dumps({"kubelet_config_auth": options}), "-vvvv", *more)
        assert not JWT.search(run.output), run.output
        return run


@pytest.fixture
def login(lab: Lab, tmp_path: Path) -> t.Iterator[Login]:
    """Yield the user, with the permissions of a rollout."""
    folder = tmp_path / "user"
    folder.mkdir()
    authorities = tmp_path / "kubelets.crt"
    authorities.write_text("".join(lab.node(name).run("cat /var/lib/kubelet/pki/kubelet.crt") for name in ("n1", "n3")))
    found = Login(lab, Ansible(folder, lab.user_kubeconfig(USER), lab.inventory), authorities, [])
    found.grant(manifest("rollout"))
    yield found
    everything = {"apiVersion": "v1", "kind": "List", "items": found.given}
    lab.kubectl("delete", "--ignore-not-found", "-f", "-", stdin=json.dumps(everything))


def flat(run: Run) -> str:
    """Return the output with the quotes and ends of lines of messages as an operator reads them."""
    return run.output.replace('\\"', '"').replace("\\n", "\n")


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
def test_a_rollout_without_the_proxy(bench: Bench, lab: Lab, login: Login) -> None:
    """First what each missing part answers, then a whole rollout with a soak."""
    refused = login.play("dump", *N3)
    assert 'cannot create resource "serviceaccounts/token"' in flat(refused), refused.output
    whole = manifest("option-read-node")
    login.grant(without(whole, Permission("get", "nodes/configz")))
    missing = login.play("dump", *N3)
    assert f"user=system:serviceaccount:{NAMESPACE}:kubelet-configz" in flat(missing), missing.output
    assert "Grant it the verb get on nodes/configz" in flat(missing), missing.output
    login.grant(whole)
    # A kubelet keeps a refusal for some seconds.
    eventually(lambda: login.play("dump", *N3).code == 0, 60, "the kubelet accepts nodes/configz")
    # The host knows the certificate that its kubelet has signed itself.
    own = login.play("dump", *N3, kubelet_ca_cert=None)
    assert own.code == 0, own.output
    lost = login.play("dump", *N3, "-e", "ansible_port=1")
    assert "n3: its host cannot be reached" in flat(lost), lost.output

    login.ansible.variables(workers_a={"kubelet_config": {"maxPods": 77}, "kubelet_config_trial_seconds": 1})
    run = login.play("rollout", *N3, *SOAK)
    assert run.code == 0, run.output
    assert bench.configz()["maxPods"] == 77
    left = bench.node.run(f"grep -rIlE 'eyJ[A-Za-z0-9_-]{{10,}}[.]eyJ' {PLACES} 2>/dev/null || true")
    assert left == ""
    assert not JWT.search(bench.node.run("journalctl --no-pager -o cat"))


@pytest.mark.parametrize("bench", ["n3"], indirect=True)
def test_the_host_proves_a_kubelet_at_a_loopback_address(bench: Bench, login: Login) -> None:
    login.grant([*manifest("option-read-node"), *manifest("reset")])
    eventually(lambda: login.play("dump", *N3).code == 0, 60, "the kubelet accepts nodes/configz")
    login.ansible.variables(workers_a={"kubelet_config": {"address": "127.0.0.1"}, "kubelet_config_trial_seconds": 1})
    run = login.play("rollout", *N3, *SOAK)
    assert run.code == 0, run.output
    assert "only its own host reaches the kubelet" in flat(run), run.output
    served = bench.node.run("ss -Hltn 'sport = :10250'").split()
    assert "127.0.0.1:10250" in served, served
    run = login.play("reset", *N3)
    assert run.code == 0, run.output


def test_an_earlier_kubelet_has_an_account_of_its_own(lab: Lab, login: Login) -> None:
    """It needs nodes/proxy. A token that allows it on all nodes is not sent."""
    rules = (Rule(("nodes/metrics", "nodes/stats")),)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": OWN, "namespace": NAMESPACE}}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": USER}
    role, binding = reading("livenodes-tokens", Rule(("serviceaccounts/token",), ("create",), names=(OWN,)))
    login.grant([account, role, {**binding, "subjects": [subject]}])
    name = f"{NAMESPACE}/kubelet-configz-{{node}}"
    n1 = ("-e", "kubelet_config_hosts=n1")
    login.grant(reading(OWN, *rules, Rule(("nodes/proxy",))))
    refused = login.play("dump", *n1, read_service_account=name)
    assert "may get nodes/proxy, which includes exec" in flat(refused), refused.output
    login.grant(reading(OWN, *rules, Rule(("nodes/proxy",), names=("n1",))))
    run = login.play("dump", *n1, read_service_account=name)
    assert run.code == 0, run.output
