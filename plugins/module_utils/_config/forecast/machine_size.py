# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a machine has, in units for templates, and what is reserved of it: by a published formula or by size classes.

Every amount is exact until its end: memory and storage are rounded up to whole steps, by default 1Mi, and cpu to whole
millicores.

Sources, read in November 2026:

* eks: awslabs/amazon-eks-ami, nodeadm/internal/kubelet/config.go (withDefaultReservedResources).
* gke: https://cloud.google.com/kubernetes-engine/docs/concepts/plan-node-sizes
* aks: https://learn.microsoft.com/azure/aks/node-resource-reservations, the formula of 1.29 and later. The page writes
  MB; the command line of an AKS kubelet has Mi (8 cores, maxPods 110: ``cpu=180m,memory=2250Mi``).
* ocp: openshift/machine-config-operator, templates/common/_base/files/kubelet-auto-sizing.yaml at 11e313d.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Callable, Dict, Iterator, Mapping, NamedTuple, Sequence, Tuple

from ..values import amounts
from .allocatable import HUGE_PAGES, RESERVABLE

_Amounts = Dict[str, Fraction]
"""By resource: cpu in millicores, the others in bytes."""
_Steps = Sequence[Tuple[int, Fraction]]
"""How much is reserved of each unit, for so many units each. The last share holds for all further units too."""

_MI, _GI = 2**20, 2**30
_KEYS = {"memory": "memory", "storage": "ephemeral-storage", "pods": "pods"}
"""The resources of a Node by the keys of a capacity."""


def capacity(given: Mapping[str, str]) -> dict[str, Any]:
    """Return Node.status.capacity as whole numbers: ``cpu`` in cores, ``memory`` and ``storage`` in bytes, ``pods``,
    and ``hugepages`` in bytes by the size of a page. What is unknown or malformed is absent.
    """
    known = {}
    for resource, text in given.items():
        try:
            known[resource] = int(amounts.parse_quantity(text))
        except (TypeError, ValueError):
            # The kubelet writes its Node itself.
            continue
    found: dict[str, Any] = {key: known[resource] for key, resource in _KEYS.items() if resource in known}
    if "cpu" in known:
        found["cpu"] = known["cpu"]
    pages = {name[len(HUGE_PAGES) :]: known[name] for name in sorted(known) if name.startswith(HUGE_PAGES)}
    return {**found, "hugepages": pages}


def reserved(machine: Any, by: Any, step: str = "1Mi") -> dict[str, str]:
    """Return what is reserved of a machine, as kubeReserved has it.

    ``machine`` is a result of capacity(). ``by`` is a key of _FORMULAS, or a list of size classes. A class has
    ``reserved``, and ``up_to`` with the most ``cpu``, ``memory``, ``storage`` and ``pods`` of its machines, as
    quantities. The first class that fits counts, and its amounts are returned as they are.

    Raises ValueError, which states what is wrong.
    """
    if not isinstance(machine, Mapping):
        raise ValueError("the capacity is not a mapping: pass kubelet_capacity")
    if not isinstance(by, str):
        return _of_class(machine, by)
    if by not in _FORMULAS:
        raise ValueError(f"there is no formula {by!r}: use one of {', '.join(_FORMULAS)}, or a list of size classes")
    size = _size(step)
    formula = _FORMULAS[by]
    missing = [key for key in formula.needs if not isinstance(machine.get(key), int)]
    if missing:
        raise ValueError(f"the formula {by} needs {' and '.join(missing)} of the machine, which the capacity lacks")
    return dict(_shown(formula.of(machine), size))


def _size(step: str) -> Fraction:
    size = _quantity(step, "step")
    if size <= 0 or size % _MI:
        raise ValueError(f"the step {step} is not a number of Mi, such as 1Mi or 64Mi")
    return size


def _shown(found: _Amounts, step: Fraction) -> Iterator[tuple[str, str]]:
    for resource in RESERVABLE:
        if resource not in found:
            continue
        if resource == "cpu":
            yield resource, f"{_up(found[resource])}m"
        else:
            yield resource, f"{_up(found[resource] / step) * int(step / _MI)}Mi"


def _up(amount: Fraction) -> int:
    return int(-(-amount // 1))


def _in_steps(units: Fraction, steps: _Steps) -> Fraction:
    """Return the sum of what is reserved of these units."""
    total = Fraction(0)
    for size, share in steps[:-1]:
        part = min(units, Fraction(size))
        total += part * share
        units -= part
    return total + units * steps[-1][1]


_CPU = ((1, Fraction(60)), (1, Fraction(10)), (2, Fraction(5)), (0, Fraction(5, 2)))
"""Millicores of cores: 6 % of the first, 1 % of the next, 0.5 % of the next two, 0.25 % of all others."""
_CPU_OF_AKS = ((1, Fraction(60)), (1, Fraction(40)), (2, Fraction(20)), (0, Fraction(10)))
"""The table of AKS for 1, 2, 4, 8, 16, 32 and 64 cores, and the straight lines between them."""
_MEMORY = tuple((gib * _GI, Fraction(percent, 100)) for gib, percent in ((4, 25), (4, 20), (8, 10), (112, 6), (0, 2)))


def _eks(machine: Mapping[str, int]) -> _Amounts:
    memory = (255 + 11 * machine["pods"]) * _MI
    return {
        "cpu": _in_steps(Fraction(machine["cpu"]), _CPU),
        "memory": Fraction(memory),
        "ephemeral-storage": Fraction(_GI),
    }


def _gke(machine: Mapping[str, int]) -> _Amounts:
    memory = Fraction(255 * _MI)
    if machine["memory"] >= _GI:
        memory = _in_steps(Fraction(machine["memory"]), _MEMORY)
    storage = Fraction(machine["storage"])
    return {
        "cpu": _in_steps(Fraction(machine["cpu"]), _CPU),
        "memory": memory,
        "ephemeral-storage": min(storage / 2, 6 * _GI + storage * Fraction(35, 100), Fraction(100 * _GI)),
    }


def _aks(machine: Mapping[str, int]) -> _Amounts:
    by_pods = Fraction((20 * machine["pods"] + 50) * _MI)
    return {
        "cpu": _in_steps(Fraction(machine["cpu"]), _CPU_OF_AKS),
        "memory": min(by_pods, Fraction(machine["memory"], 4)),
    }


def _ocp(machine: Mapping[str, int]) -> _Amounts:
    """Return what the script of OpenShift prints, with its own rounding: to the nearest GiB, and to 10 millicores."""
    cpu = 60 + 12 * (machine["cpu"] - 1)
    above = max(machine["memory"] // _GI - 8, 0)
    gib = 1 + Fraction(6 * above, 100)
    if above > 120:
        # The script goes on with 2 % from 112 GiB, not from 120 GiB.
        gib = 1 + Fraction(672, 100) + Fraction(2 * (above - 112), 100)
    return {
        "cpu": Fraction(max(500, (cpu + 5) // 10 * 10)),
        "memory": Fraction(int(gib + Fraction(1, 2)) * _GI),
        "ephemeral-storage": Fraction(_GI),
    }


class _Formula(NamedTuple):
    """A published formula, and the keys of a capacity that it needs."""

    of: Callable[[Mapping[str, int]], _Amounts]
    needs: tuple[str, ...]


_FORMULAS = {
    "eks": _Formula(_eks, ("cpu", "pods")),
    "gke": _Formula(_gke, ("cpu", "memory", "storage")),
    "aks": _Formula(_aks, ("cpu", "memory", "pods")),
    "ocp": _Formula(_ocp, ("cpu", "memory")),
}


def _of_class(machine: Mapping[str, Any], classes: Any) -> dict[str, str]:
    if not isinstance(classes, (list, tuple)):
        raise ValueError(f"size classes are a list, and a formula is one of {', '.join(_FORMULAS)}")
    for number, one in enumerate(classes, 1):
        place = f"size class {number}"
        limits, kept = _class(one, place)
        for name, text in kept.items():
            _quantity(text, f"{place}, reserved.{name}")
        if all(_fits(machine, key, _quantity(limit, f"{place}, up_to.{key}"), place) for key, limit in limits.items()):
            return {str(name): str(text) for name, text in kept.items()}
    has = f"{machine.get('cpu')} cores and {amounts.show_bytes(Fraction(machine.get('memory') or 0))} of memory"
    raise ValueError(f"no size class is large enough for {has}: add one, or a last one without up_to")


def _class(one: Any, place: str) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the limits and the reservations of a size class. Raises ValueError."""
    if not isinstance(one, Mapping) or not one.keys() <= {"up_to", "reserved"} or "reserved" not in one:
        raise ValueError(f"{place} is not a mapping of reserved, and of up_to if it has a limit")
    limits, kept = one.get("up_to") or {}, one["reserved"]
    if not isinstance(limits, Mapping) or not isinstance(kept, Mapping):
        raise ValueError(f"{place}: up_to and reserved are mappings of quantities")
    return limits, kept


def _fits(machine: Mapping[str, Any], key: str, limit: Fraction, place: str) -> bool:
    if key not in ("cpu", *_KEYS):
        raise ValueError(f"{place}: up_to has no key {key}. Use cpu, {', '.join(_KEYS)}")
    if not isinstance(machine.get(key), int):
        raise ValueError(f"{place} needs {key} of the machine, which the capacity lacks")
    return bool(machine[key] <= limit)


def _quantity(text: Any, place: str) -> Fraction:
    try:
        return amounts.parse_quantity(str(text))
    except ValueError:
        raise ValueError(f"{place} is {text!r}, which is no quantity such as 512Mi or 100m") from None
