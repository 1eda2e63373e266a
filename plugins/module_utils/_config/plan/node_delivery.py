# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The delivery of a node by its row in a dump, and why the node cannot get it."""

from __future__ import annotations

from typing import Any, Iterator, Mapping

from ..delivery import choice
from ..delivery.choice import AUTO, CHECKPOINT, DROPIN, NONE
from ..rules.problem import REFUSAL, Problem


def chosen(requested: str | None, row: Mapping[str, Any], minor: int) -> str:
    """Return the delivery of a node; rows of older dumps do not have one. ``minor`` is 0 if it is unknown."""
    return choice.chosen(requested or AUTO, row.get("delivery") or NONE, minor, row.get("source") is not None)


def unfit(row: Mapping[str, Any], delivery: str, minor: int, moves: bool) -> Iterator[Problem]:
    """Yield why a node cannot get a drop-in or a checkpoint. ``moves``: a drop-in takes the place of its checkpoint."""
    if choice.reads_no_file(delivery, minor):
        yield _problem(
            f"kubelet {row['kubelet_version']} reads no config file, which the delivery {CHECKPOINT} needs: "
            f"kubelets from 1.{choice.CONFIG_FILE_MINOR} on do",
            "Set kubelet_config_delivery to auto or native for the node.",
        )
    elif choice.too_old(delivery, minor):
        yield _problem(
            f"kubelet {row['kubelet_version']} does not read drop-ins, which the delivery {DROPIN} needs: kubelets "
            f"from 1.{choice.DROPIN_MINOR} on do",
            "Set kubelet_config_delivery to auto or checkpoint for the node.",
        )
    elif (
        delivery == DROPIN and not moves and row.get("source") is not None and row.get("delivery") not in (DROPIN, None)
    ):
        yield _problem(
            f"the node has a source by the delivery {row['delivery']}, which would override the drop-in",
            "Migrate the node with the playbook migrate, or set kubelet_config_delivery to auto.",
        )


def _problem(message: str, remedy: str) -> Problem:
    return Problem(REFUSAL, "", message, remedy, "delivery")
