# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""IP addresses, read as the kubelet reads them: k8s.io/utils/net ParseIPSloppy.

Numbers of IPv4 may begin with zeros and are decimal. A zone (``fe80::1%eth0``) is no part of an address.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Union

Address = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
_ZEROS = re.compile(r"(?<![0-9])0+(?=[0-9])")


def parse(text: str) -> Address:
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
        return parse(text).is_loopback
    except ValueError:
        return False


def overlap(one: str, other: str) -> bool:
    """Return whether servers at two addresses cannot share a port: they are equal, or one stands for all.

    False for what is no address, since a name may stand for any.
    """
    try:
        first, second = parse(one), parse(other)
    except ValueError:
        return False
    return first == second or first.is_unspecified or second.is_unspecified
