# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of an upgrade, for many nodes at once. It sends no requests.

A kubelet binary on the controller is asked about nodes that have none of the target version. It judges what the files
and flags of a node set together, without secrets. What depends on the host of a node, such as its cgroups, it cannot
judge. Root asks it in the sandbox of binary.py; another user owns nothing that it could change.
"""

from __future__ import annotations

import json
import os
import tempfile
import typing as t

from .._config import host_facts
from .._config.fields import binary_facts, fields
from .._config.upgrade import node_facts, upgrade
from .._node.system import ask_binary, binary
from .api.errors import explained


def compare(options: dict[str, t.Any], _check_mode: bool) -> dict[str, t.Any]:
    """Return what an upgrade would do to each node. Raises ClusterError for a text that is not a version."""
    with explained(upgrade.UpgradeError):
        target = upgrade.target_minor(options["target_version"])
    hosts, program = options["hosts"], options.get("target_binary")
    if program:
        hosts = answered(hosts, program, target)
    nodes = {name: upgrade.row(result, target) for name, result in hosts.items()}
    counts = upgrade.summary(nodes, target)
    return {"changed": False, "nodes": nodes, "summary": counts, "text": upgrade.lines(nodes, target)}


_OF_THE_HOST = "failCgroupV1"


def answered(hosts: t.Mapping[str, t.Any], program: str, minor: int) -> dict[str, t.Any]:
    """Return results of kubelet_upgrade_info with the answer of the binary, for those that have no answer yet.

    `minor` is that of the target. What a node returned in another form stays as it is.
    """
    configs = {name: _config(given, minor) for name, given in hosts.items() if _has_no_answer(given)}
    names = {_OF_THE_HOST}.union(*map(binary_facts.asked_of, configs.values()))
    sandboxed = os.geteuid() == 0
    scratch = "/run" if sandboxed else tempfile.gettempdir()
    facts = ask_binary.ask(program, names, scratch=scratch, sandboxed=sandboxed, cache="")
    own = {}
    if facts and facts.fields.get(_OF_THE_HOST):
        own = {_OF_THE_HOST: False}
    verdicts: dict[str, binary.Verdict] = {}
    found = dict(hosts)
    for name, config in configs.items():
        text = json.dumps({**ask_binary.HEADER, **config, **own}, sort_keys=True)
        if text not in verdicts:
            verdicts[text] = binary.check(text, [], program, scratch=scratch, sandboxed=sandboxed)
        found[name] = {**hosts[name], "target": _answer(program, facts, hosts[name], verdicts[text])}
    return found


def _has_no_answer(given: t.Any) -> bool:
    known = isinstance(given, dict) and "kubelet" in given and not given.get("target")
    return known and not host_facts.of_upgrade(given)


def _config(given: t.Mapping[str, t.Any], minor: int) -> dict[str, t.Any]:
    """Return what files and flags set. The module on the node has hidden secrets, which no kubelet would accept."""
    merged = node_facts.read(given).merged(minor)
    return {name: value for name, value in merged.items() if not fields.is_secret(name)}


def _answer(
    program: str, facts: binary_facts.BinaryFacts | None, given: t.Mapping[str, t.Any], verdict: binary.Verdict
) -> dict[str, t.Any]:
    """Return the answer in the form of kubelet_upgrade_info."""
    answer: dict[str, t.Any] = {"binary": program, "version": None, "refused_flags": [], "facts": None}
    if facts:
        flags = [flag.name for flag in node_facts.read(given).flags]
        answer.update(version=facts.version, refused_flags=facts.without(flags), facts=facts._asdict())
    return {**answer, **verdict._asdict()}
