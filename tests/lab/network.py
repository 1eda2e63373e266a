# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's bridge: the network of the API server and the nodes, reachable from this machine only."""

from __future__ import annotations

import ipaddress
import json
import socket
from typing import Any

from .console import LabError, run
from .settings import Settings, State


def links() -> list[dict[str, Any]]:
    """Return all network interfaces of this machine with their aliases and addresses."""
    addresses = {link["ifname"]: link for link in json.loads(run("ip", "-json", "address", "show").stdout)}
    # The JSON of `ip address` lacks the alias.
    return [
        {**link, "addr_info": addresses.get(link["ifname"], {}).get("addr_info", [])}
        for link in json.loads(run("ip", "-json", "link", "show").stdout)
    ]


def raise_bridge(settings: Settings, state: State) -> None:
    """Create the bridge unless this lab has one. Raises LabError when its name or its subnet is in use."""
    present = {link["ifname"]: link for link in links()}
    bridge = present.get(settings.bridge)
    if bridge and not _is_ours(bridge, settings, state):
        raise LabError(
            f"interface {settings.bridge} exists and is not this lab's (its alias is {bridge.get('ifalias')!r}); "
            "remove that lab, or set another bridge in LIVENODES_LAB_BRIDGE and another network in LIVENODES_LAB_SUBNET"
        )
    for name, link in present.items():
        for item in link.get("addr_info", ()):
            if (
                name != settings.bridge
                and item["family"] == "inet"
                and ipaddress.ip_address(item["local"]) in settings.subnet
            ):
                raise LabError(
                    f"subnet {settings.subnet} is in use: {name} has {item['local']}; "
                    "set a free one in LIVENODES_LAB_SUBNET"
                )
    for route in json.loads(run("ip", "-json", "-4", "route", "show").stdout):
        target = route["dst"]
        if (
            target != "default"
            and route.get("dev") != settings.bridge
            and ipaddress.ip_network(target).overlaps(settings.subnet)
        ):
            raise LabError(
                f"subnet {settings.subnet} is in use: route {target} by {route.get('dev')}; "
                "set a free one in LIVENODES_LAB_SUBNET"
            )
    state.record(bridge=settings.bridge, subnet=str(settings.subnet), bridge_made=True)
    if not bridge:
        run("ip", "link", "add", "name", settings.bridge, "type", "bridge")
    run("ip", "link", "set", settings.bridge, "alias", settings.mark, "up")
    run("ip", "address", "replace", f"{settings.gateway}/{settings.subnet.prefixlen}", "dev", settings.bridge)


def plug(settings: Settings, veth: str) -> None:
    """Connect a node's interface to the bridge."""
    run("ip", "link", "set", veth, "alias", settings.mark, "master", settings.bridge, "up")


def has_link(name: str) -> bool:
    return run("ip", "link", "show", name, check=False).returncode == 0


def remove(settings: Settings, state: State) -> None:
    """Remove the bridge and all remaining interfaces of this lab."""
    for link in links():
        name = link["ifname"]
        ours = (
            _is_ours(link, settings, state)
            if name == settings.bridge
            else (
                link.get("ifalias") == settings.mark
                or (bool(state.data.get("bridge_made")) and name.startswith(f"{settings.bridge}-"))
            )
        )
        if ours:
            run("ip", "link", "delete", name, check=False)


def _is_ours(bridge: dict[str, Any], settings: Settings, state: State) -> bool:
    # A bridge without an alias may be ours: the run that created it may have been killed before it set one.
    return bridge.get("ifalias") == settings.mark or ("ifalias" not in bridge and bool(state.data.get("bridge_made")))


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 on which nothing listens."""
    held = [socket.create_server(("127.0.0.1", 0)) for dummy in range(count)]
    ports = [item.getsockname()[1] for item in held]
    for item in held:
        item.close()
    return ports
