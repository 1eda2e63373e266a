# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is wrong with a variable."""

from __future__ import annotations

import os
import typing as t
from pathlib import Path

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.validation import check_type_list
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster import seed
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.rollout.gate import node_limit
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.stages.soak import allowed
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs import specs
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.inputs import MAIN, Names
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._inputs.rendered import UNKNOWN, Rendered, is_template
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.order import order
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.rows import allowed_of

KNOWN = specs.known(specs.by_role())
WAIT, DRAIN, STATE = "kubelet_config_wait_timeout", "kubelet_config_drain", "kubelet_config_state_files"
LOOK, FLAGS, PAUSE = "kubelet_config_drift_hosts", "kubelet_config_flags", "kubelet_config_pause"
NAME, LEASE = "kubelet_config_namespace", "kubelet_config_lease_seconds"
READ = "kubelet_config_read"
SEED, FORMATS = "kubelet_config_seed_dest", "kubelet_config_seed_formats"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (DRAIN, "when_needed"),
        (STATE, "switch"),
        (LOOK, "auto"),
        # A boolean of the inventory, and the text of a survey or of -e.
        *((LOOK, value) for value in (True, False, "true", "True", "false")),
        *((PAUSE, value) for value in (True, False, "true", "False", "yes", "no", "on", "off", 1, 0, "1", "0")),
        *((WAIT, value) for value in (0, 180, "180", " 60 ", 10**9)),
        (LEASE, 1),
        (NAME, "kube-system"),
        (NAME, 5),
        *((name, value) for name in sorted(specs.WRITTEN) for value in ("plan.json", "~/plan.json", f"{__file__}", 5)),
        *((SEED, value) for value in ("seeds/workers", "~/seeds", "kubelet-seed", "seeds/größe b")),
        *((FORMATS, value) for value in (["tar"], "tar", "tar,ignition", "cloud-init, tar", [*seed.BY_NAME])),
        (FLAGS, ["--max-pods=5", "--v=2"]),
        (FLAGS, "--max-pods=5,--v=2"),
        ("kubelet_config_plan", {}),
        ("kubelet_config_auth", {"kubeconfig": "a"}),
        *((READ, value) for value in ("proxy", "kubelet", "node", None)),
        ("kubelet_config", "maxPods: 5"),
        ("kubelet_config", None),
        ("kubelet_config", {}),
        ("kubelet_config_hosts", ["n1", "n2"]),
        # The roles read these as if they were not set.
        ("kubelet_config_serial", ""),
        ("kubelet_config_serial", None),
        ("kubelet_config_confirm_seconds", None),
        ("kubelet_config_canary_soak_seconds", ""),
        ("kubelet_config_delivery", ""),
        (FLAGS, None),
        ("kubelet_config_variant", ""),
    ],
)
def test_accepted(name: str, value: t.Any) -> None:
    assert specs.accepted(name, KNOWN[name], value) == ""


@pytest.mark.parametrize(
    ("name", "value", "use"),
    [
        # YAML's bare no, a capital, a typo. Each drained nodes as when_needed does.
        *((DRAIN, value, "never, when_needed or always") for value in (False, True, "Never", "no", "nevr", "", None)),
        (STATE, "Keep", "keep or switch"),
        (STATE, ["keep"], "keep or switch"),
        *((LOOK, value, "auto, true or false") for value in ("yes", "TRUE")),
        *((PAUSE, value, "true or false") for value in ("maybe", "", None, 2, 1.0, [], {})),
        *((WAIT, value, "a whole number, 0 or more") for value in (-1, "-1", "60s", 1.5, True, "", None, "inf", [60])),
        # No number of seconds, and more than a float can hold.
        *((WAIT, value, "a whole number, 0 or more") for value in (10**400, "9" * 400)),
        # Spaces that Python does not strip from a number, and digits of another script.
        *((WAIT, value, "a whole number, 0 or more") for value in ("0\x1f", "\u0663", "\u00a05")),
        (LEASE, 0, "a whole number, 1 or more"),
        *((NAME, value, "a text") for value in ("", None, True, ["a"], {"a": 1})),
        *((name, "", "a text") for name in sorted(specs.WRITTEN)),
        # Ansible would fail at the end of the run, with "could not touch target" or "can not use content with a dir".
        *(
            (name, value, "a file in a folder that exists")
            for name in sorted(specs.WRITTEN)
            for value in ("/none/a", "/", "a\0/b")
        ),
        *((SEED, value, "a folder on the controller in which") for value in (__file__, f"{__file__}/a")),
        *((FORMATS, value, "one or several of cloud-init, ignition, tar") for value in ("zip", ["cloud_init"], "", [])),
        (FLAGS, {"max-pods": 5}, "a list of texts"),
        (FLAGS, [["--v=2"]], "a list of texts"),
        ("kubelet_config_plan", "plan.json", "a mapping"),
        ("kubelet_config_auth", "token", "a mapping"),
        *((READ, value, "auto, kubelet, node or proxy") for value in ("Kubelet", "nodes", "", True)),
        ("kubelet_config_serial", True, "a number above 0, a percentage"),
        ("kubelet_config_serial", [], "a number above 0, a percentage"),
        ("kubelet_config_max_unavailable", "0", "a number above 0 or a percentage"),
        ("kubelet_config_allow_pod_loss", "some", "a number of pods, or true"),
    ],
)
def test_wrong(name: str, value: t.Any, use: str) -> None:
    assert specs.accepted(name, KNOWN[name], value).startswith(use)


@pytest.mark.parametrize("name", sorted(specs.WRITTEN | specs.FILLED))
def test_where_this_user_may_not_write(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run would read all nodes first. A file of this user in a folder of another one can be written."""
    path = tmp_path / "a" / "b" if name in specs.FILLED else tmp_path / "a"
    monkeypatch.setattr(os, "access", lambda asked, _mode: asked != str(tmp_path) and os.path.exists(asked))
    assert "in which this user may write" in specs.accepted(name, KNOWN[name], str(path))
    if name in specs.FILLED:
        (tmp_path / "a").mkdir()
    else:
        path.touch()
    assert specs.accepted(name, KNOWN[name], str(path)) == ""


@pytest.mark.parametrize("value", [60.0, "60.0"])
def test_a_number_with_a_fraction_of_zero_is_accepted_where_modules_accept_it(value: t.Any) -> None:
    """With ansible-core 2.16 and 2.17, a module would end a rollout in the middle."""
    refused = ArgumentSpecValidator({WAIT: {"type": "int"}}).validate({WAIT: value}).error_messages
    assert bool(specs.accepted(WAIT, KNOWN[WAIT], value)) is bool(refused)


@pytest.mark.parametrize("name", [name for name, option in KNOWN.items() if "default" in option])
def test_each_default_is_accepted(name: str) -> None:
    assert specs.accepted(name, KNOWN[name], KNOWN[name]["default"]) == ""


@pytest.mark.parametrize("name", [name for name in KNOWN if KNOWN[name]["type"] != "raw"])
def test_what_is_accepted_is_accepted_by_the_validation_of_the_role(name: str) -> None:
    """The other way round, Ansible is less strict: it accepts true as a number, for example."""
    option = {key: given for key, given in KNOWN[name].items() if key in ("type", "choices", "elements")}
    for value in ("keep", "5", 5, 0, True, False, "yes", "n", "TRUE", ["a"], "a,b", {"a": 1}, 2.5, 60.0, "60.0"):
        if specs.accepted(name, KNOWN[name], value) == "":
            assert ArgumentSpecValidator({name: option}).validate({name: value}).error_messages == [], value


READERS: dict[str, t.Callable[[t.Any], t.Any]] = {
    "kubelet_config_serial": lambda value: order({"nodes": {}}, "plan", {"hosts": {}}, {}, 1, value),
    "kubelet_config_max_unavailable": lambda value: node_limit(value, 10),
    "kubelet_config_max_skipped": lambda value: allowed_of(value, 10),
    "kubelet_config_allow_pod_loss": allowed,
    FORMATS: lambda value: seed.formats_of(list(map(str, check_type_list(value)))),
}
VALUES = st.one_of(
    st.integers(-2, 200),
    st.booleans(),
    st.floats(0, 3),
    st.text("0129%,. -x", max_size=5),
    st.lists(st.sampled_from([*seed.BY_NAME, "zip", " tar"]), min_size=1, max_size=3),
    st.sampled_from(["tar", "tar, ignition", "cloud-init,tar", "tar,,ignition", "tar;ignition"]),
    st.sampled_from(
        ["true", "Yes", "no", "off", "none", "", "1,20%", "1, 10%", "2 %", "101%", [1, "10%"], ["0"], ["1", "50%"]]
    ),
)


def read(reader: t.Callable[[t.Any], t.Any], value: t.Any) -> bool:
    """Return whether a reader accepts a value."""
    try:
        reader(value)
    except Exception:
        return False
    return True


@pytest.mark.parametrize("name", specs.FORMS)
@given(value=VALUES)
def test_a_form_accepts_what_its_reader_accepts(name: str, value: t.Any) -> None:
    if name in specs.UNSET_IF_EMPTY and value == "":
        return
    assert specs.FORMS[name].accepts(value) == read(READERS[name], value), value


def test_the_tables_name_variables_of_the_roles() -> None:
    known = specs.known(specs.by_role())
    named = {*specs.FORMS, *specs.MINIMUM, *specs.UNSET_IF_EMPTY, *specs.WRITTEN, *specs.FILLED}
    assert {*named, *specs.OF_EVERY_PLAYBOOK} <= set(known)
    assert all(known[name]["type"] == "int" for name in specs.MINIMUM)
    assert not set(specs.OF_THE_PLAYBOOKS) & {name for options in specs.by_role().values() for name in options}


NAMES = Names(KNOWN)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        *((name, MAIN) for name in ("kubelet_confg", "kubelet_configs", "kubeletconfig", "kublet_config")),
        *((name, MAIN) for name in ("kubelet_conifg", "kubelet_comfig", "Kubelet_config", "kubelet_config2")),
        ("kubelet_config_", MAIN),
        ("kubelet_confg_host", "kubelet_config_host"),
        ("kubeletconfig_drain", "kubelet_config_drain"),
        ("kubelet_configdir", "kubelet_config_dir"),
        ("kubelet_config_hosst", "kubelet_config_host"),
        ("kubelet_config_max_unavailble", "kubelet_config_max_unavailable"),
        ("kubelet_config_nam", "kubelet_config_name"),
        # The first word of one of ours.
        ("kubelet_config_soak", "kubelet_config_soak_seconds"),
        ("kubelet_config_max_fail", "kubelet_config_max_failed"),
    ],
)
def test_misspelt(name: str, ours: str) -> None:
    assert NAMES.meant(name, {"maxPods": 5}) == NAMES.meant(name, "text") == ours


@pytest.mark.parametrize(
    "name",
    [
        # Kubespray's.
        *("kube_config_dir", "kubelet_config_extra_args", "kubelet_config_extra_args_cgroupfs"),
        *("kubelet_config_extra_args_systemd", "kubelet_node_config_extra_args", "kubelet_custom_flags"),
        # Those of other roles, and of users who compose kubelet_config.
        *("kubelet_config_path", "kubelet_config_file", "kubelet_config_template", "kubelet_config_owner"),
        *("kubeconfig", "kubelet_kubeconfig", "kubelet_configuration", "kube_config", "kubelet_version", "config"),
        *("my_kubelet_config", "default_kubelet_config", "kubelet_configz", "kubeadm_config"),
    ],
)
def test_those_of_others(name: str) -> None:
    assert NAMES.meant(name, {"maxPods": 5}) == NAMES.meant(name, "text") == ""


@pytest.mark.parametrize(
    ("name", "value", "ours"),
    [
        ("kubelet_conf", "/etc/kubernetes/kubelet.conf", ""),
        ("kubelet_conf", {"vm.overcommit_memory": 1}, ""),
        ("kubelet_conf", {"stat": {"exists": True}}, ""),
        ("kubelet_conf_dir", "/etc/kubernetes", ""),
        ("kubelet_conf", {"maxPods": 5}, MAIN),
        ("kubelet_conf_host", {"evictionHard": {}}, "kubelet_config_host"),
    ],
)
def test_an_abbreviation_is_ours_if_it_holds_a_configuration(name: str, value: t.Any, ours: str) -> None:
    assert NAMES.meant(name, value) == ours


def test_no_variable_of_ours_is_misspelt() -> None:
    assert [name for name in KNOWN if NAMES.near(name)] == []


@pytest.mark.parametrize(
    ("value", "variables", "renderings"),
    [
        ("plain", [{}, {}], 0),
        ("{{ lookup('store', 'key') }}", [{}, {"other": 1}, {"other": 2}], 1),
        ({"api_key": "{{ lookup('store', place) }}"}, [{"place": "a"}, {"place": "a"}, {"place": "b"}], 2),
        ("{{ a }}", [{"a": "{{ b }}", "b": 1}, {"a": "{{ b }}", "b": 2}], 2),
        ("{{ a }}", [{"a": "{{ a }}"}, {"a": "{{ a }}"}], 1),
        ("{{ inventory_hostname }}", [{"inventory_hostname": "n1"}, {"inventory_hostname": "n2"}], 2),
        ("{{ vars['x'] }}", [{"inventory_hostname": "n1"}, {"inventory_hostname": "n2"}], 2),
        (["{% if a %}x{% endif %}"], [{"a": True}, {"a": 1}], 2),
    ],
)
def test_how_often_a_template_is_rendered(value: t.Any, variables: list[dict[str, t.Any]], renderings: int) -> None:
    done: list[int] = []
    templates = Rendered()
    for number, values in enumerate(variables):
        templates.of_host(values, value, lambda number=number: done.append(number) or "x")  # type: ignore[misc]
    assert len(done) == renderings


def test_what_cannot_be_rendered_yet() -> None:
    def fail() -> t.NoReturn:
        raise KeyError

    assert Rendered().of_host({}, "{{ later }}", fail) is UNKNOWN
    assert Rendered().of_host({}, "{{ later }}", lambda: "{{ still }}") is UNKNOWN
    assert Rendered().of_host({}, "{{ now }}", lambda: 5) == 5
    assert not is_template({"a": ["b", 5, None]})


def test_why_a_template_fails_is_found_once_for_all_hosts() -> None:
    """It may be a lookup in a store of secrets that does not answer."""
    found, templates = [], Rendered()

    def find() -> str:
        found.append(1)
        return "no answer"

    for host in ("n1", "n2", "n3"):
        given = {"inventory_hostname": host}
        assert templates.failure(given, "kubelet_config_auth", "{{ lookup('x') }}", find) == "no answer"
        assert templates.failure(given, "kubelet_config_auth", "plain", find) == ""
    assert len(found) == 1
