# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster of a run, for the operator."""

from __future__ import annotations

import typing as t

from ...module_utils._cluster.api import cluster_options
from ...module_utils._cluster.api.errors import ClusterError

WITHOUT = frozenset({"upgrade_check"})
"""The roles that send no request to an API server."""


def in_words(given: t.Any) -> str:
    """Return the cluster that kubelet_config_auth and the environment name; empty if the first request reports why
    it is not known.
    """
    try:
        return cluster_options.in_words(cluster_options.completed(given if isinstance(given, dict) else {}))
    except ClusterError:
        return ""
