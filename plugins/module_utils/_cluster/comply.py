# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads what kubelets run, and compares it with security profiles. Nothing is ever written. The verdicts are evidence:
counts, a table for people, and JUnit for programs.
"""

from __future__ import annotations

import datetime
import re
import typing as t
from collections import Counter
from xml.etree import ElementTree

from .._config import host_facts, profiles
from .._config.profiles import FAIL, NOT_CHECKED, PASS, VERDICTS
from .._config.values import document
from .._config.values.node_row import counted, printable, shown_nodes
from .api.errors import ClusterError, explained
from .api.session import Session
from .objects import node_requests, nodes
from .stages import drift


def check(session: Session, options: dict[str, t.Any], _check_mode: bool) -> dict[str, t.Any]:
    """Return the verdict on each item of the profiles of every node, a summary, text and JUnit.

    Requests: those of `node_requests.read`, and one GET of configz for each node. Raises ClusterError for unusable
    options, and if the cluster cannot be read. What cannot be read of one node is not checked.
    """
    chosen, exceptions = _read(options["profiles"], options["exceptions"] or {})
    found = node_requests.read(session, list(chosen))
    live, unread = drift.live_configs(session, found, {})
    hosts = {**drift.reported(found), **(options["hosts"] or {})}
    now = datetime.datetime.now(datetime.timezone.utc)
    rows = {}
    for name, node in found.items():
        facts = _facts(node, live.get(name), unread.get(name), hosts.get(name))
        items = profiles.of_node(facts, chosen[name], exceptions.get(name, {}), now.date())
        rows[name] = {"kubelet_version": node.kubelet_version, "rows": items}
    at = now.isoformat(timespec="seconds").replace("+00:00", "Z")
    counts = {"checked": at, **summary(rows)}
    return {"changed": False, "nodes": rows, "summary": counts, "text": lines(rows), "junit": junit(rows, at)}


def _read(
    given: t.Mapping[str, t.Any], excepted: t.Mapping[str, t.Any]
) -> tuple[dict[str, list[str]], dict[str, dict[str, dict[str, str]]]]:
    """Return the profiles and the exceptions by node, of the nodes that have profiles. Raises ClusterError."""
    chosen, exceptions = {}, {}
    with explained(document.DocumentError, profiles.ExceptionError, after=". Nothing was checked"):
        for name, value in given.items():
            chosen[name] = profiles.named(value, f"kubelet_config_profile of node {name}")
        for name, value in excepted.items():
            origin = f"kubelet_config_exceptions of node {name}"
            exceptions[name] = profiles.exceptions_of(value, chosen.get(name, ()), origin)
    chosen = {name: names for name, names in chosen.items() if names}
    if not chosen:
        known = " or ".join(profiles.PROFILES)
        raise ClusterError(
            f"no node has a profile, so there is nothing to check. Set kubelet_config_profile to {known}"
        )
    return chosen, exceptions


def _facts(node: nodes.Node, live: t.Any, unread: str | None, host: t.Any) -> profiles.Facts:
    facts = profiles.Facts(node.minor, live, unread or "")
    if not host_facts.is_result(host):
        return facts
    seen = host_facts.read(host)
    if seen.fault:
        return facts._replace(no_host=f"the node was not inspected: {seen.fault}")
    return facts._replace(host=seen)


Nodes = t.Mapping[str, t.Mapping[str, t.Any]]
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEADS = ("item", "verdict", "value", "from", "nodes")
_WIDEST = 60


class Group(t.NamedTuple):
    """The nodes on which an item has the same verdict, value and origin. `row`: that of one of them."""

    row: t.Mapping[str, t.Any]
    nodes: list[str]


def summary(nodes: Nodes) -> dict[str, t.Any]:
    """Return the number of nodes, the number of items by verdict, and whether no item fails."""
    counts: dict[str, t.Any] = dict.fromkeys(VERDICTS, 0)
    for node in nodes.values():
        for row in node["rows"]:
            counts[row["verdict"]] += 1
    return {"nodes": len(nodes), **counts, "compliant": counts[FAIL] == 0}


def groups(nodes: Nodes, excepted: bool = False) -> list[Group]:
    """Return all items in the sequence of their profiles, equal rows of nodes as one.

    With `excepted`, only those with an exception: rows of one group have the same.
    """
    found: dict[tuple[t.Any, ...], Group] = {}
    for name, node in nodes.items():
        numbers: Counter[str] = Counter()
        for row in node["rows"]:
            numbers[row["profile"]] += 1
            if excepted and not row["exception"]:
                continue
            same = (row["verdict"], row["value"], row["origin"], row["message"])
            terms = row["exception"].values() if excepted else ()
            key = (row["profile"], numbers[row["profile"]], *same, *terms)
            found.setdefault(key, Group(row, [])).nodes.append(name)
    return [found[key] for key in sorted(found, key=lambda key: (key[0], key[1], VERDICTS.index(key[2])))]


def lines(nodes: Nodes) -> list[str]:
    """Return a table of all items, then the message of each that did not pass, then the totals."""
    found = groups(nodes)
    table = [_HEADS]
    for row, names in found:
        table.append((row["item"], row["verdict"], row["value"], row["origin"], shown_nodes(names)))
    widths = [min(_WIDEST, max(len(line[column]) for line in table)) for column in range(len(_HEADS) - 1)]
    text = []
    for line in table:
        cells = [cell.ljust(width) for cell, width in zip(line, widths)]
        text.append("  ".join([*cells, line[-1]]))
    for row, names in found:
        if row["verdict"] != PASS:
            text.append(f"{row['item']} {row['verdict']} on {shown_nodes(names)}: {row['title']}: {row['message']}")
    counts = summary(nodes)
    totals = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS)
    return [*map(printable, text), f"compliance: {counted(counts['nodes'], 'node')}: {totals}"]


def junit(nodes: Nodes, at: str) -> str:
    """Return a document with a test suite for each node and a test case for each item. `at`: when, in RFC 3339.

    What is neither passed nor failed is skipped, with its verdict in the message.
    """
    top = ElementTree.Element("testsuites", name="kubelet compliance")
    for name, node in nodes.items():
        verdicts = [row["verdict"] for row in node["rows"]]
        failures, passed = verdicts.count(FAIL), verdicts.count(PASS)
        counts = {"tests": len(verdicts), "failures": failures, "skipped": len(verdicts) - failures - passed}
        numbers = {key: str(number) for key, number in {**counts, "errors": 0}.items()}
        suite = ElementTree.SubElement(top, "testsuite", {"name": _clean(name), "timestamp": at, **numbers})
        for row in node["rows"]:
            _case(suite, row)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(top, encoding="unicode")}\n'


def _case(suite: ElementTree.Element, row: t.Mapping[str, t.Any]) -> None:
    name, message = f"{row['item']} {row['title']}", _clean(row["message"])
    case = ElementTree.SubElement(suite, "testcase", classname=row["profile"], name=name)
    if row["verdict"] == FAIL:
        ElementTree.SubElement(case, "failure", message=message, type=FAIL)
    elif row["verdict"] != PASS:
        ElementTree.SubElement(case, "skipped", message=f"{row['verdict']}: {message}")
    if row["verdict"] != NOT_CHECKED:
        ElementTree.SubElement(case, "system-out").text = _clean(f"value: {row['value']}\nfrom: {row['origin']}")


def _clean(text: str) -> str:
    """Return a text of a node without the characters that XML does not have."""
    return _NOT_XML.sub("\ufffd", text)
