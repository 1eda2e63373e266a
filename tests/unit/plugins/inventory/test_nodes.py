# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The inventory plugin in ansible-inventory, with an API server that returns prepared answers."""

from __future__ import annotations

import json
import os
import subprocess
import typing as t
from pathlib import Path

import pytest
from ansible import constants as C

from tests.support.api.objects import items, node, place, reference, status
from tests.support.api.server import Answer, Server
from tests.support.plays.ansible import inventory
from tools.collection_tree import ROOT, link

Listing = t.Callable[..., subprocess.CompletedProcess[str]]
MINE = {"InternalIP": "10.0.0.1", "ExternalIP": "192.0.2.1"}


def labelled(name: str, labels: dict[str, str], addresses: dict[str, str], **fields: t.Any) -> dict[str, t.Any]:
    found = node(name, **fields)
    found["metadata"]["labels"] = labels
    found["status"]["addresses"] = [{"type": kind, "address": text} for kind, text in addresses.items()]
    return found


MASTER = labelled(
    "m1",
    {"node-role.kubernetes.io/control-plane": "", "zone": "a"},
    MINE,
    config=status(reference("blue-1"), reference("blue-1")),
    source=place("blue-1"),
)
WORKER = labelled("w1", {"zone": "b"}, {"InternalIP": "10.0.0.2"}, version="v1.30.1", ready="False")


@pytest.fixture
def api() -> t.Iterator[Server]:
    """An API server with two nodes."""
    with Server(Answer(body=items(MASTER, WORKER))) as server:
        yield server


@pytest.fixture
def listing(api: Server, tmp_path: Path) -> Listing:
    """Runs ansible-inventory with a configuration file. The environment selects the cluster."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ANSIBLE_", "K8S_AUTH_", "KUBECONFIG"))
    }
    environment |= {
        "HOME": str(tmp_path),
        "ANSIBLE_HOME": str(tmp_path / "home"),
        "ANSIBLE_COLLECTIONS_PATH": str(link(ROOT / ".nox" / ".cache" / "link")),
        "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
        "K8S_AUTH_HOST": api.url,
        "K8S_AUTH_API_KEY": "secret-token",
        "ANSIBLE_NOCOLOR": "1",
        "COLUMNS": "2000",
    }

    def run(
        config: dict[str, t.Any],
        *arguments: str,
        name: str = "nodes.livenodes.yml",
        program: str = "ansible-inventory",
        **more: str,
    ) -> subprocess.CompletedProcess[str]:
        (tmp_path / name).write_text(json.dumps({"plugin": "livenodes.kubelet.nodes", **config}))
        return inventory({**environment, **more}, tmp_path / name, *arguments, program=program)

    return run


def table(done: subprocess.CompletedProcess[str]) -> tuple[dict[str, dict[str, t.Any]], dict[str, list[str]]]:
    """Return the variables by host and the hosts by group."""
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return found.pop("_meta")["hostvars"], {name: group["hosts"] for name, group in found.items() if "hosts" in group}


def test_hosts_and_groups_from_one_request(listing: Listing, api: Server) -> None:
    done = listing({"label_selectors": ["a=b", "!c"], "group_by_labels": ["zone"]})
    hosts, groups = table(done)
    assert {name: row["ansible_host"] for name, row in hosts.items()} == {"m1": "10.0.0.1", "w1": "10.0.0.2"}
    assert {name: row["kubelet_config_node_name"] for name, row in hosts.items()} == {"m1": "m1", "w1": "w1"}
    assert (hosts["m1"]["node_variant"], hosts["w1"]["node_ready"]) == ("blue-1", False)
    assert hosts["m1"]["node_labels"] == MASTER["metadata"]["labels"]
    assert groups == {
        "role_control_plane": ["m1"],
        "kubelet_1_20": ["m1"],
        "kubelet_1_30": ["w1"],
        "delivery_native": ["m1"],
        "delivery_none": ["w1"],
        "variant_blue_1": ["m1"],
        "variant_local": ["w1"],
        "settled": ["m1", "w1"],
        "label_zone_a": ["m1"],
        "label_zone_b": ["w1"],
    }
    # AWX would read the mark as part of the value.
    assert "__ansible_unsafe" not in done.stdout
    (seen,) = api.seen
    assert (seen.path, seen.headers["authorization"]) == (
        "/api/v1/nodes?labelSelector=a%3Db%2C%21c&limit=250",
        "Bearer secret-token",
    )


@pytest.mark.parametrize("cache", [False, True])
def test_nodes_that_would_be_the_controller(listing: Listing, api: Server, cache: bool, tmp_path: Path) -> None:
    """Each task that is delegated to localhost, with the password in its arguments, would go to the Node's address."""
    api.answer(Answer(body=items(*map(node, C.LOCALHOST), WORKER)))
    given = {"cache": cache, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(tmp_path / "cache")}
    for _run in range(1 + cache):
        done = listing(given)
        assert list(table(done)[0]) == ["w1"]
        warned = " ".join(done.stderr.split())
        assert [name for name in C.LOCALHOST if f"the Node {name} is not in the inventory" not in warned] == []


def test_options_of_constructed_inventories(listing: Listing) -> None:
    hosts, groups = table(
        listing(
            {
                "group_by": [],
                "host_address": "ExternalIP",
                "compose": {"where": "node_addresses.InternalIP ~ ':22'"},
                "groups": {"broken": "not node_ready"},
                "keyed_groups": [{"key": "node_labels.zone", "prefix": "zone"}],
            }
        )
    )
    assert [row.get("ansible_host") for row in hosts.values()] == ["192.0.2.1", None]
    assert "10.0.0.1:22" in str(hosts["m1"]["where"])
    assert groups == {"broken": ["w1"], "zone_a": ["m1"], "zone_b": ["w1"]}


def test_failing_strict_expression(listing: Listing) -> None:
    config = {"compose": {"x": "node_labels.pool.upper()"}}
    assert "x" not in table(listing(config))[0]["m1"]
    done = listing({**config, "strict": True})
    assert done.returncode != 0
    assert "Could not set x for host m1" in " ".join(done.stderr.split()), done.stderr


TEMPLATES = {
    "n1": "v1.20.2 {{ 6 * 7 }}",
    "n2": "{% if true %}{{ 6 * 7 }}{% endif %}",
    "n3": "#jinja2:variable_start_string:'[[',variable_end_string:']]'\n[[ 6 * 7 ]]",
}


def test_texts_from_a_node_are_not_templates(listing: Listing, api: Server) -> None:
    api.answer(Answer(body=items(*(node(name, version=text) for name, text in TEMPLATES.items()))))
    hosts, _groups = table(listing({"compose": {"copy": "node_kubelet_version"}}))
    assert "42" not in str([host["copy"] for host in hosts.values()])
    unsafe = {name: {"__ansible_unsafe": text} for name, text in TEMPLATES.items()}
    assert {name: host["node_kubelet_version"] for name, host in hosts.items()} == unsafe


def test_cache(listing: Listing, api: Server, tmp_path: Path) -> None:
    config = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(tmp_path / "cache")}
    first = table(listing(config))
    assert len(api.seen) == 1
    assert table(listing(config)) == first
    assert len(api.seen) == 1
    # A cache entry of other options is not used.
    listing({**config, "label_selectors": "a=b"})
    assert len(api.seen) == 2
    with Server(Answer(body=items(WORKER))) as other:
        assert list(table(listing(config, K8S_AUTH_HOST=other.url))[0]) == ["w1"]
    (tmp_path / "play.yml").write_text(json.dumps([{"hosts": "all"}]))
    assert listing(config, "play.yml", "--list-hosts", program="ansible-playbook").returncode == 0
    assert len(api.seen) == 2
    assert listing(config, "play.yml", "--list-hosts", "--flush-cache", program="ansible-playbook").returncode == 0
    assert len(api.seen) == 3
    assert not [path for path in (tmp_path / "cache").iterdir() if "secret-token" in path.read_text()]


def test_the_cache_is_that_of_the_current_context(listing: Listing, api: Server, tmp_path: Path) -> None:
    """After `kubectl config use-context`, hosts had the addresses of the former cluster's nodes."""
    config = {"cache": True, "cache_plugin": "ansible.builtin.jsonfile", "cache_connection": str(tmp_path / "cache")}
    with Server(Answer(body=items(WORKER))) as other:
        clusters = [{"name": name, "cluster": {"server": server.url}} for name, server in (("a", api), ("b", other))]
        contexts = [{"name": name, "context": {"cluster": name, "user": "me"}} for name in ("a", "b")]
        users = [{"name": "me", "user": {"token": "t"}}]
        for current, hosts in (("a", ["m1", "w1"]), ("b", ["w1"]), ("a", ["m1", "w1"])):
            whole = {"clusters": clusters, "contexts": contexts, "users": users, "current-context": current}
            (tmp_path / "kubeconfig").write_text(json.dumps(whole))
            done = listing(config, K8S_AUTH_HOST="", K8S_AUTH_API_KEY="", KUBECONFIG=str(tmp_path / "kubeconfig"))
            assert list(table(done)[0]) == hosts
        assert (len(api.seen), len(other.seen)) == (1, 1)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (
            {"label_selector": "a=b", "colour": 1},
            "unknown options colour, label_selector: "
            "`ansible-doc -t inventory livenodes.kubelet.nodes` lists all options",
        ),
        ({"validate_certs": "maybe"}, "The value 'maybe' is not a valid boolean"),
        (
            {"kubeconfig": "/nowhere"},
            "no kubeconfig at /nowhere: set the option kubeconfig, K8S_AUTH_KUBECONFIG or KUBECONFIG",
        ),
        ({"host_address": "InternalIp"}, "InternalIP, ExternalIP, Hostname"),
    ],
)
def test_errors_in_the_file(listing: Listing, api: Server, config: dict[str, t.Any], words: str) -> None:
    done = listing(config)
    output = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert words in output
    assert "nodes.livenodes.yml" in output
    assert not api.seen


def test_errors_of_the_cluster(listing: Listing, api: Server) -> None:
    api.answer(Answer(403, {"message": "nodes is forbidden: user x cannot list", "reason": "Forbidden"}))
    done = listing({})
    output = " ".join(done.stderr.split())
    assert done.returncode != 0
    assert (
        "nodes.livenodes.yml: nodes is forbidden: user x cannot list (this user lacks the permission; docs/rbac.yaml"
        in output
    )


@pytest.mark.parametrize(("name", "mine"), [("a.livenodes.yaml", True), ("nodes.yml", False)])
def test_file_name(listing: Listing, api: Server, name: str, mine: bool) -> None:
    assert (listing({}, name=name).returncode == 0) == mine
    assert len(api.seen) == mine
