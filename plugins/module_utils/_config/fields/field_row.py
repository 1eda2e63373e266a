# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The row types of the field table and the flag table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

SAFE, DISRUPT, DRAIN, REBOOT, FORBIDDEN = EFFECTS = ("safe", "disrupt", "drain", "reboot", "forbidden")
"""What a change of a field costs, in ascending order."""


@dataclass(frozen=True)
class Field:
    """A field of KubeletConfiguration v1beta1. Versions are Kubernetes minors (20 for 1.20)."""

    path: str
    """Dotted name; ``[]`` stands for any element of a list."""
    type: str
    """bool, int32, int64, uint32, float, string, duration, quantity, time, object, list[T] or map[string]T.

    ``duration or nanoseconds`` takes a whole number, too. Every object has a row for each member, also in list[object].
    """
    effect: str = DISRUPT
    reason: str = ""
    since: int | None = None
    """First minor that has the field; None: 1.12 or earlier."""
    until: int | None = None
    """Last minor that has the field; None: still there in the newest minor of the table."""
    default: Any = None
    """The default of an unset field in 1.20; None: no default, and the field stays unset."""
    later_defaults: tuple[tuple[int, Any], ...] = ()
    """The defaults of later minors, ascending: (from this minor on, default)."""
    unknown_since: int | None = None
    """From this minor on the default depends on more than the configuration, and is not known."""
    unset: str = "none"
    """What counts as unset: ``nil`` only absence, ``zero`` also a zero or empty value. ``none``: the field has no
    default, and zero equals absent.
    """
    nil_since: int | None = None
    """From this minor on ``unset`` is ``nil``, because the Go type became a pointer."""
    zero_omitted: bool = False
    """Whether /configz omits a zero or empty value."""
    flags: tuple[str, ...] = ()
    """Command line flags that set the same field and override any configuration."""
    whole: bool = False
    """The kubelet replaces the map as a whole."""
    machine: bool = False
    """The value belongs to one machine."""
    fatal: bool = False
    """Bad values pass the kubelet's validation and crash it later."""
    path_ref: bool = False
    """A relative file path is resolved against the folder of the configuration file."""
    secret: bool = False
    """The value must not be shown."""
    later: tuple[tuple[int, str, str], ...] = ()
    """The effects and reasons of later minors, ascending: (from this minor on, effect, reason)."""

    def default_at(self, minor: int) -> Any:
        """Return the default in a minor from 1.20 on that has the field; None where there is none or it is unknown."""
        if self.unknown_since is not None and minor >= self.unknown_since:
            return None
        found = self.default
        for since, default in self.later_defaults:
            if minor >= since:
                found = default
        return found

    def unset_at(self, minor: int) -> str:
        """Return the ``unset`` that applies to a minor."""
        return "nil" if self.nil_since is not None and minor >= self.nil_since else self.unset

    def cost_at(self, minor: int) -> tuple[str, str]:
        """Return the effect of a change on a kubelet of this minor, and its reason."""
        found = (self.effect, self.reason)
        for since, effect, reason in self.later:
            if minor >= since:
                found = (effect, reason)
        return found

    def exists_at(self, minor: int) -> bool:
        """Return whether a kubelet of this minor knows the field."""
        return (self.since is None or self.since <= minor) and (self.until is None or minor <= self.until)


@dataclass(frozen=True)
class Flag:
    """A kubelet command line flag that sets a field of the configuration."""

    field: str
    since: int | None = None
    """First minor in which it sets the field; before, it is unknown or a flag of its own. None: 1.20 or earlier."""
    until: int | None = None
    """Last minor that knows it; None: the newest minor of the table does."""

    def exists_at(self, minor: int | None) -> bool:
        """Return whether it sets the field of a kubelet of this minor; for an unknown minor, whether it ever does."""
        return minor is None or (
            (self.since is None or self.since <= minor) and (self.until is None or minor <= self.until)
        )


class Meaning(NamedTuple):
    """A value that kubelets from a minor on take for something else."""

    path: str
    since: int
    """The first minor with the new meaning."""
    value: Any
    before: str
    after: str
