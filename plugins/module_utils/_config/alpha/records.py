# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Node records of its configuration, whichever form its kubelet has."""

from __future__ import annotations

from typing import Any, Mapping

from ..values import annotation_reader
from . import config_ok, form


def read(
    notes: Mapping[str, Any], spec: Mapping[str, Any], status: Mapping[str, Any], minor: int
) -> tuple[annotation_reader.Records, str]:
    """Return the records of a Node in the later form; and for a kubelet 1.8 to 1.10 the place that it reports.

    `notes` are its annotations, `minor` is that of its kubelet, 0 if unknown.
    """
    if not form.is_alpha(minor):
        return annotation_reader.records(notes, spec.get("configSource"), status.get("config")), ""
    records = annotation_reader.records(notes, form.holder(spec.get("configSource")), None)
    known = (records.spec, (records.previous or {}).get("configMap"))
    reported = config_ok.read(status.get("conditions") or [], known)
    faults = {annotation_reader.CONFIG: reported.fault} if reported.fault else {}
    return records._replace(config=reported.status, malformed={**records.malformed, **faults}), reported.place
