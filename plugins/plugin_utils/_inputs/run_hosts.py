# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Refuses a run without hosts, in which nothing would be done, or all nodes would change."""

from __future__ import annotations

import typing as t

HOSTS, LIMIT = "kubelet_config_hosts", "ansible_limit"
ANY, NAMED = "any", "named"


def asked(given: t.Any) -> list[str]:
    """Return the patterns of hosts in kubelet_config_hosts, a text or lists of texts, one after the other."""
    return [one for inner in given for one in asked(inner)] if isinstance(given, (list, tuple)) else [str(given)]


class Run(t.NamedTuple):
    """The hosts of a run."""

    patterns: t.Sequence[str] | None
    """Those of kubelet_config_hosts, None if it is not set."""
    matching: t.Collection[str]
    """The hosts of the inventory that the patterns have; all without any."""
    limit: str | None
    """The text of --limit."""
    playing: t.Collection[str]
    """The hosts of the play for all hosts, of which --limit leaves some out."""
    by_user: bool
    """Whether the user names the patterns, and not a playbook for several groups, of which --limit may leave some out.
    """

    def problem(self, must: str) -> str:
        """Return why these hosts are refused, for the operator; empty if they are not.

        With `must` NAMED, the operator must name hosts.
        """
        if must == NAMED and self.patterns is None and self.limit is None:
            return (
                f"A run without hosts would take all nodes. Nothing was changed. Name them with -e {HOSTS}, such as a "
                "group or all, or with --limit."
            )
        patterns = ["all"] if self.patterns is None else self.patterns
        if not "".join(patterns).strip():
            return f"{HOSTS} is empty. Nothing was changed. Set it to a group or hosts of the inventory."
        shown = f"{HOSTS}={':'.join(patterns)}"
        if not self.matching:
            return (
                f"No host matches {shown}. Set it to a group or hosts of the inventory that represent nodes of the "
                "cluster."
            )
        if self.by_user and not set(self.matching) & set(self.playing):
            return (
                f"No host of {shown} is in --limit {self.limit}. Nothing was changed. Name hosts that both have, or "
                "leave one of the two out."
            )
        return ""
