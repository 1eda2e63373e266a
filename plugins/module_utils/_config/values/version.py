# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kubernetes versions."""

from __future__ import annotations

import re
from typing import Any

_VERSION = re.compile(r"v?1\.([0-9]+)(?:[.+-].*)?$")


def minor_of(version: Any) -> int | None:
    """Return the minor of a version such as "v1.20.2" or "v1.33.1-eks-1a2b", None for any other value."""
    found = _VERSION.match(str(version or ""))
    return int(found.group(1)) if found else None
