# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Valid and invalid combinations of module options, which are checked before the first request to a cluster."""

from __future__ import annotations

import importlib
import typing as t

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.doc_fragments.auth import ModuleDocFragment
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import cluster_options
from tests.support.api.objects import place, reference
from tests.support.plays.ansible import ROOT

PLUGINS = "ansible_collections.livenodes.kubelet.plugins.modules"
Run = t.Callable[..., dict[str, t.Any]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, run_main: Run, tmp_path: t.Any) -> Run:
    """Run a module's main without a cluster and return what it prints. With valid options it fails to connect."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "K8S_AUTH_KUBECONFIG", "K8S_AUTH_HOST"):
        monkeypatch.delenv(name, raising=False)

    def runner(name: str, options: dict[str, t.Any]) -> dict[str, t.Any]:
        return run_main(importlib.import_module(f"{PLUGINS}.{name}").main, **options)

    return runner


NAMED = {"nodes": ["n1"], "source": {"name": "a"}}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("kubelet_config_forecast", {"plan": {}, "current": {}, "refuse": "false", "allow_pods": "3"}),
        ("kubelet_configz_facts", {"configmap": {"name": "a", "kubeletConfigKey": "k"}}),
        ("kubelet_configmap", {"src": ["a"]}),
        ("kubelet_configmap", {"state": "pruned"}),
        ("kubelet_configmap", {"state": "kubeadm", "node_configs": {"n1": None}}),
        ("kubelet_configmap", {"state": "kubeadm", "node_configs": {"n1": None}, "other_configs": {"n2": None}}),
        ("kubelet_rollout_lease", {"nodes": ["n1"], "group": "a", "holder": "me", "duration": "60", "wait": "5"}),
        ("kubelet_rollout_gate", {"nodes": "n1,n2", "max_unavailable": 2, "allow_unready": "yes", "timeout": "10"}),
        ("kubelet_rollout_gate", {"nodes": ["n1"], "pause": "true", "started": "no", "pods": "1"}),
        ("node_soak", {"nodes": ["n1"], "seconds": "30", "allow_pod_loss": True, "pods_timeout": "10"}),
        ("node_soak", {"sources": {"n1": place()}}),
        ("node_drain", {"nodes": ["n1"], "timeout": "60", "grace_period": "0"}),
        ("node_drain", {"nodes": ["n1"], "force": "true", "delete_emptydir_data": "yes"}),
        ("node_config_source", {"state": "verified", "nodes": ["n1"], "wait_timeout": "10", "lease": {}}),
        ("node_config_source", {"state": "verified", "sources": {}}),
        ("node_config_source", {"nodes": ["n1"], "source": {"name": "a", "kubeletConfigKey": "k"}}),
        # What kubelet_configmap returns.
        ("node_config_source", {"nodes": ["n1"], "source": reference("a")}),
        ("node_config_source", {"nodes": ["n1"], "source": {**reference("a"), "variant": "0d1f", "changed": True}}),
        ("kubelet_configmap", {"config": {"maxPods": 80}}),
    ],
)
def test_valid_options(run: Run, name: str, options: dict[str, t.Any]) -> None:
    """Those that no play of tests/unit/roles has."""
    assert run(name, options)["msg"].startswith("no kubeconfig at ")


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("kubelet_configmap", {}, "state is present but any of the following are missing: config, variants, src"),
        ("kubelet_configmap", {"state": "gone"}, "value of state must be one of: present, pruned, kubeadm"),
        ("kubelet_configmap", {"state": "kubeadm"}, "kubeadm but all of the following are missing: node_configs"),
        ("node_config_source", {}, "one of the following is required: nodes, sources"),
        ("node_config_source", {"nodes": ["n1"]}, "present but any of the following are missing: source, sources"),
        ("node_config_source", {"source": {"name": "a"}}, "one of the following is required: nodes, sources"),
        ("node_config_source", {**NAMED, "sources": {}}, "parameters are mutually exclusive"),
        ("node_config_source", {"nodes": ["n1"], "source": {"namespace": "a"}}, "missing required arguments: name"),
        ("kubelet_rollout_lease", {}, "state is held but all of the following are missing: nodes, group, holder"),
        ("kubelet_rollout_lease", {"state": "released"}, "released but all of the following are missing: lease"),
        ("kubelet_rollout_gate", {}, "missing required arguments: nodes"),
        ("node_soak", {}, "one of the following is required: nodes, sources"),
        ("node_soak", {"nodes": ["n1"], "seconds": "long"}, "seconds"),
        ("node_drain", {}, "missing required arguments: nodes"),
        ("node_drain", {"nodes": ["n1"], "state": "gone"}, "value of state must be one of: drained, restored"),
        ("kubelet_config_forecast", {"plan": {}}, "missing required arguments: current"),
        ("kubelet_config_forecast", {"plan": {}, "current": {}, "allow_pods": "some"}, "'allow_pods' is of type"),
        ("kubelet_config_plan", {}, "missing required arguments: current"),
        ("kubelet_config_plan", {"current": {}, "allow_effect": "everything"}, "value of allow_effect must be one of"),
    ],
)
def test_invalid_options(run: Run, name: str, options: dict[str, t.Any], text: str) -> None:
    assert text in run(name, options)["msg"]


def test_documentation_names_every_connection_option_and_its_variables() -> None:
    documented = yaml.safe_load(ModuleDocFragment.DOCUMENTATION)["options"]
    spec = cluster_options.argument_spec()
    assert set(documented) == set(spec)
    for name, option in [*spec.items(), *spec["proxy_headers"]["options"].items()]:
        about = documented.get(name) or documented["proxy_headers"]["suboptions"][name]
        for variable in option.get("fallback", (None, []))[1]:
            assert f"E({variable})" in " ".join(about["description"]), name


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "plugins/modules").glob("*.py")))
def test_no_result_has_a_name_that_ansible_removes(name: str) -> None:
    """Ansible removes `invocation` from a registered result, for example."""
    returned = yaml.safe_load(importlib.import_module(f"{PLUGINS}.{name}").RETURN) or {}
    assert not {"invocation", "exception", "warnings", "deprecations", "ansible_job_id"} & set(returned)
