# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The temporary files into which the package `kubernetes` writes certificates and private keys of a kubeconfig.

It removes them when Python ends in the usual way. A worker of Ansible ends without that, so they would stay.
"""

from __future__ import annotations

import contextlib
import os
import sys
import typing as t


@contextlib.contextmanager
def removed() -> t.Iterator[None]:
    """Remove at the end the files that were made in between. Those of the process that forked this one stay."""
    before = set(_known())
    try:
        yield
    finally:
        known = _known()
        for content in known.keys() - before:
            with contextlib.suppress(OSError):
                os.remove(known.pop(content))


def _known() -> dict[str, str]:
    """Return the package's own record, the path by content; an empty one if it was not imported."""
    loaded = sys.modules.get("kubernetes.config.kube_config")
    return t.cast("dict[str, str]", getattr(loaded, "_temp_files", {}))
