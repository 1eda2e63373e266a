# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Versions, IP addresses, lists of CPUs and flags of a command line, read as Kubernetes reads them; long texts.

Source: k8s.io/utils, net ParseIPSloppy and cpuset Parse. Numbers of IPv4 may begin with zeros and are decimal. A zone
(``fe80::1%eth0``) is not part of an address. A list of CPUs such as ``0-3,8`` is read without counting its members one
by one. In the name of a flag, underscores count as dashes.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Any, NamedTuple, Sequence, Union

Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")
_CPUS = re.compile(r"\+?([0-9]+)(?:-\+?([0-9]+))?", re.ASCII)
_VERSION = re.compile(r"v?1\.([0-9]{1,4})(?:[.+-].*)?$")


def clipped(text: str, most: int) -> str:
    """Return a text of at most so many characters, with dots in place of its end."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def items_of(value: Any) -> Sequence[Any]:
    """Return the items of a list, or of a text with commas between them: AWX surveys have no lists."""
    if isinstance(value, (list, tuple)):
        return value
    return str(value).split(",")


def minor_of(version: Any) -> int | None:
    """Return the minor of a version such as "v1.20.2" or "v1.33.1-eks-1a2b", None for any other value."""
    found = _VERSION.match(str(version or ""))
    return int(found.group(1)) if found else None


def address(text: str) -> Address:
    """Return an address. Raises ValueError for what a kubelet takes for none."""
    if "%" in text:
        raise ValueError(f'"{text}" is not an IP address')
    if "." not in text:
        return ipaddress.ip_address(text)
    head, colon, last = text.rpartition(":")
    return ipaddress.ip_address(f"{head}{colon}{_ZEROS.sub('', last)}")


def is_loopback(text: str) -> bool:
    """Return whether a text is an address that only its own machine reaches."""
    try:
        return address(text).is_loopback
    except ValueError:
        return False


def overlap(one: str, other: str) -> bool:
    """Return whether servers at two addresses cannot share a port: they are equal, or one stands for all.

    False for what is not an address, since a name may stand for any.
    """
    try:
        first, second = address(one), address(other)
    except ValueError:
        return False
    return first == second or first.is_unspecified or second.is_unspecified


class CpuRange(NamedTuple):
    """CPUs by their numbers, both ends inclusive. A range whose first number is above its last one is empty."""

    first: int
    last: int


def cpu_ranges(text: str) -> list[CpuRange]:
    """Return the ranges of a list, as written. Raises ValueError for what is not a list of CPUs."""
    found = []
    for word in text.split(","):
        numbers = _CPUS.fullmatch(word)
        if numbers is None:
            raise ValueError(f'"{text}" is not a CPU list')
        first, last = numbers.groups()
        found.append(CpuRange(int(first), int(last or first)))
    return found


def cpu_count(ranges: list[CpuRange]) -> int:
    """Return the number of different CPUs."""
    total, end = 0, -1
    for one in sorted(ranges):
        total += max(0, one.last - max(one.first - 1, end))
        end = max(end, one.last)
    return total


def flag(argv: Sequence[str], name: str) -> str | None:
    """Return the last value of a flag in a command line, None when the flag is absent."""
    place = flag_words(argv, name)
    if place is None:
        return None
    at, count = place
    if count == 2:
        return argv[at + 1]
    return argv[at].partition("=")[2]


def flag_words(argv: Sequence[str], name: str) -> tuple[int, int] | None:
    """Return position and number of words of the last use of a flag with its value; None when it is absent."""
    found = None
    for at, word in enumerate(argv):
        if word == "--":
            break
        key, equals, _value = word.partition("=")
        if key.startswith("--") and key[2:].replace("_", "-") == name:
            # The value is the next word, if there is one.
            found = (at, 1)
            if not equals and at + 1 < len(argv):
                found = (at, 2)
    return found
