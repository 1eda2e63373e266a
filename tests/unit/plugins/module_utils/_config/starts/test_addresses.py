# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.starts import addresses


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10.96.0.10", "10.96.0.10"),
        ("10.096.0.10", "10.96.0.10"),
        ("010.000.00.0001", "10.0.0.1"),
        ("fd00::1", "fd00::1"),
        ("::", "::"),
        ("::ffff:10.096.0.10", "::ffff:a60:a"),
    ],
)
def test_addresses_of_a_kubelet(text: str, shown: str) -> None:
    assert addresses.parse(text) == addresses.parse(shown)
    assert addresses.parse(text).version == (6 if ":" in text else 4)


@pytest.mark.parametrize(
    "text", ["", "dns.local", "10.0.0", "10.0.0.256", "fe80::1%eth0", "10.0.0.1/8", "[::1]", "0x0a.0.0.1"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError):
        addresses.parse(text)


@pytest.mark.parametrize(
    ("text", "loopback"), [("127.0.0.1", True), ("127.8.0.1", True), ("::1", True), ("0.0.0.0", False), ("x", False)]
)
def test_loopback(text: str, loopback: bool) -> None:
    assert addresses.is_loopback(text) is loopback


@pytest.mark.parametrize(
    ("one", "other", "both"),
    [
        ("0.0.0.0", "127.0.0.1", True),
        ("127.0.0.1", "::", True),
        ("127.0.0.1", "127.000.0.1", True),
        ("192.0.2.1", "127.0.0.1", False),
        ("localhost", "127.0.0.1", False),
    ],
)
def test_servers_that_cannot_share_a_port(one: str, other: str, both: bool) -> None:
    for pair in ((one, other), (other, one)):
        assert addresses.overlap(*pair) is both
