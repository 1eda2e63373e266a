# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What old API servers do differently, and what every API server does differently for old kubelets."""

from __future__ import annotations

import typing as t

FIRST_FORM = range(8, 11)
LAST_OLD_PROXY = 9
FIRST_DRY_RUN = 12
FIRST_SERVED = {"leases": 14, "validatingadmissionpolicies": 30, "validatingadmissionpolicybindings": 30}


def has_first_form(item: t.Mapping[str, t.Any]) -> bool:
    """Return whether a Node's kubelet is one of the first."""
    version = ((item.get("status") or {}).get("nodeInfo") or {}).get("kubeletVersion") or "v1.0"
    return int(version.split(".")[1]) in FIRST_FORM
