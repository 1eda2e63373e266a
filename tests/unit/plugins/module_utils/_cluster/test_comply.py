# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of profiles: its requests, what cannot be read, what is refused, and the evidence."""

from __future__ import annotations

import typing as t
from xml.etree import ElementTree

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster import comply
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._config import profiles
from tests.sim.api.direct import Direct
from tests.support.api.calls import NODES
from tests.support.api.objects import live, node

CIS, STIG = "cis-1.12", "stig-v2r6"
FILE = "/var/lib/kubelet/config.yaml"
TERMS = {"owner": "ops", "until": "9999-12-31", "reason": "no CA yet"}
HOST = {
    "kubelet": {"shadowed": {}, "command": ["kubelet"]},
    "disk": {"path": FILE, "content": {"readOnlyPort": 0}, "dropins": {}},
    "files": {"config": [{"path": FILE, "mode": "0644", "owner": "root:root"}]},
}


def options(**given: t.Any) -> dict[str, t.Any]:
    return {"profiles": {"n1": CIS, "n2": [CIS]}, "exceptions": None, "hosts": None, **given}


def cluster(second: t.Any = None) -> Direct:
    """Return n1 and n2. `second`: what the kubelet of n2 answers, by default the same as that of n1."""
    return Direct(node("n1"), node("n2"), live={"n1": live(), "n2": second or live()})


def checked(api: Direct | None = None, **given: t.Any) -> dict[str, t.Any]:
    return comply.check(api or cluster(), options(**given), False)


def verdict(result: dict[str, t.Any], name: str, item: str) -> tuple[str, str, str]:
    (row,) = [row for row in result["nodes"][name]["rows"] if row["item"] == item]
    return row["verdict"], row["origin"], row["message"]


def test_one_read_of_each_kubelet_and_no_write() -> None:
    api = cluster()
    result = checked(api, hosts={"n1": HOST}, exceptions={"n2": {"4.2.9": TERMS}})
    wanted = [("GET", NODES), *(("GET", f"{NODES}/{name}/proxy/configz") for name in ("n1", "n2"))]
    assert sorted(api.requests) == sorted(wanted)
    assert result["changed"] is False and result["nodes"].keys() == {"n1", "n2"}
    assert verdict(result, "n1", "4.2.4") == ("pass", f"file {FILE}", "")
    words = f"the mode of {FILE} is 0644. Run chmod 0600 {FILE}"
    assert verdict(result, "n1", "4.1.9") == ("fail", f"file {FILE}", words)
    assert verdict(result, "n2", "4.1.9") == ("not checked", "", "Ansible did not log in to the node")
    assert verdict(result, "n2", "4.2.9")[0] == "excepted"
    summary = result["summary"]
    counted = [summary[each] for each in ("pass", "fail", "manual", "not checked", "excepted")]
    assert sum(counted) == 2 * len(profiles.CIS_1_12)
    assert (summary["nodes"], summary["excepted"], summary["compliant"]) == (2, 1, False)
    assert summary["checked"].endswith("Z")


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ({"unreachable": True, "msg": "no route to host"}, "the node was not inspected: no route to host"),
        ({"failed": True, "msg": "no systemd"}, "the node was not inspected: no systemd"),
        ({"kubelet": {}, "files": {"unit": 5}}, "what its host returned is malformed at files"),
        ({"kubelet": {}, "files": {"unit": [{"path": "/x", "mode": "rwx", "owner": "a"}]}}, "malformed at files"),
        ({"skipped": True}, "Ansible did not log in"),
        # What a follower reports.
        ({"kubelet": {"command": ["kubelet"]}, "disk": {}}, "Ansible did not log in"),
    ],
)
def test_a_node_that_was_not_inspected_is_checked_without_its_files(host: t.Any, words: str) -> None:
    result = checked(hosts={"n1": host})
    found, _origin, message = verdict(result, "n1", "4.1.9")
    assert found == "not checked" and words in message
    assert verdict(result, "n1", "4.2.4")[0] == "pass"


def test_a_kubelet_that_cannot_be_read_does_not_end_the_check() -> None:
    result = checked(cluster(ApiError(503, "no route", transient=True)))
    assert verdict(result, "n1", "4.2.4")[0] == "pass"
    found, _origin, message = verdict(result, "n2", "4.2.4")
    assert found == "not checked" and "no route" in message


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"profiles": {}}, "no node has a profile, so there is nothing to check. Set kubelet_config_profile"),
        ({"profiles": {"n1": "cis"}}, "kubelet_config_profile of node n1: there is no profile cis."),
        ({"exceptions": {"n1": {"4.2.9": {}}}}, "kubelet_config_exceptions of node n1, item 4.2.9: set owner"),
        ({"exceptions": {"n9": {"4.2.9": TERMS}}}, "kubelet_config_exceptions of node n9, item 4.2.9: no profile"),
    ],
)
def test_what_cannot_be_used_is_refused_before_the_first_request(given: t.Any, words: str) -> None:
    api = cluster()
    with pytest.raises(ClusterError, match=words):
        checked(api, **given)
    assert api.requests == []


def test_the_table_has_equal_nodes_in_one_line() -> None:
    text = checked(cluster(live(readOnlyPort=10255)))["text"]
    heads, first, *_others = text
    assert heads.split() == ["item", "verdict", "value", "from", "nodes"]
    assert first.split()[0] == "4.1.1" and first.endswith("2 nodes (n1, n2)")
    assert [line.split()[:2] for line in text if line.startswith("4.2.4  ")] == [["4.2.4", "pass"], ["4.2.4", "fail"]]
    words = "The port without authentication is closed: readOnlyPort is 10255. Set kubelet_config_profile and run the"
    assert f"4.2.4 fail on 1 node (n2): {words} playbook rollout" in text
    assert text[-1].startswith("compliance: 2 nodes: ")


def test_equal_nodes_are_in_one_line_whatever_other_profiles_they_have() -> None:
    both, one = [CIS, STIG, CIS], [STIG]
    result = checked(profiles={"n1": both, "n2": one})
    lines = [line for line in result["text"] if line.startswith("V-242387  ")]
    assert len(lines) == 1 and lines[0].endswith("2 nodes (n1, n2)")
    # A profile that is named twice counts once.
    assert len(result["nodes"]["n1"]["rows"]) == len(profiles.CIS_1_12) + len(profiles.STIG_V2R6)
    found = [group.row["item"] for group in comply.groups(result["nodes"])]
    assert found == [item.id for item in (*profiles.CIS_1_12, *profiles.STIG_V2R6)]


def test_junit_has_a_suite_for_each_node_and_a_case_for_each_item() -> None:
    result = checked(exceptions={"n2": {"4.2.9": TERMS}})
    top = ElementTree.fromstring(result["junit"].encode())
    suites = {suite.get("name"): suite for suite in top}
    assert suites.keys() == {"n1", "n2"} and len(suites["n1"]) == len(profiles.CIS_1_12)
    rows = result["nodes"]["n2"]["rows"]
    for row, case in zip(rows, suites["n2"]):
        assert (case.get("classname"), case.get("name")) == (CIS, f"{row['item']} {row['title']}")
        failed, skipped = row["verdict"] == "fail", row["verdict"] not in ("pass", "fail")
        assert [case.find(kind) is not None for kind in ("failure", "skipped")] == [failed, skipped]
    verdicts = [row["verdict"] for row in rows]
    suite = suites["n2"]
    assert (suite.get("tests"), suite.get("failures")) == (str(len(rows)), str(verdicts.count("fail")))
    assert suite.get("skipped") == str(sum(each not in ("pass", "fail") for each in verdicts))


def test_what_a_node_returns_never_breaks_the_xml() -> None:
    row = {"profile": CIS, "item": "4.2.4", "title": "t", "verdict": "fail", "value": "\x00<&", "origin": "\x1b]]>"}
    nodes = {"n<1": {"rows": [{**row, "message": "\ud800 \x07 & <b>", "exception": None}]}}
    top = ElementTree.fromstring(comply.junit(nodes, "2026-11-27T00:00:00Z").encode())
    assert top[0].get("name") == "n<1"
    assert top[0][0][0].get("message") == "\ufffd \ufffd & <b>"
    assert "\x1b" not in "".join(comply.lines(nodes))
    assert top[0][0][1].text == "value: \ufffd<&\nfrom: \ufffd]]>"
