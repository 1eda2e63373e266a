# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""`python -m tests.sim`, which is what `make sim` does: a simulated cluster until Ctrl-C."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import os
import signal
import sys
import tempfile
import threading
import typing as t
from pathlib import Path

import yaml

from tests.sim.api.faults import Fault
from tests.sim.cluster import DEFAULT, Cluster, minor_of
from tests.sim.nodes.node import SimNode

STATES = {
    "deaf": "ignores new sources and sends no heartbeat, but answers",
    "down": "does not run",
    "not-ready": "reports NotReady",
}
FIRST_ON_NODE = 24
"""The first minor without native delivery: the configuration of a kubelet is a file on its node."""
MOST_ON_NODE = 20
"""Each has processes of its own."""
TYPES = {field.name: field.type for field in dataclasses.fields(Fault)}


def main() -> int:
    """Start, print how to use it, wait. Exit 0 after Ctrl-C, 2 for an option that cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description="A simulated cluster. Ends with Ctrl-C.")
    parser.add_argument("--nodes", type=int, default=3, help="how many nodes, n1 first (default 3)")
    parser.add_argument(
        "--kubernetes",
        nargs="+",
        default=(),
        metavar="VERSION",
        help=f"v1.36.2 for all, n2=v1.28.7 for one node (default {DEFAULT})",
    )
    parser.add_argument("--scale", type=float, default=1.0, help="how many times faster kubelets are than real ones")
    parser.add_argument(
        "--fault",
        action="append",
        default=[],
        metavar='"status=503 method=PATCH node=n2 times=3"',
        help=f"a fault of the API server, any of {', '.join(name for name in TYPES if name not in _NOT_WORDS)}",
    )
    parser.add_argument(
        "--kubelet",
        action="append",
        default=[],
        metavar="NODE=STATE",
        help="; ".join(f"{name}: {what}" for name, what in STATES.items()),
    )
    chosen = parser.parse_args()
    try:
        versions = _versions(chosen.kubernetes)
        faults = [_fault(words) for words in chosen.fault]
        states = _states(chosen.kubelet)
        names = [f"n{number + 1}" for number in range(chosen.nodes)]
        _refuse_unknown(names, [*versions, *states, *(fault.get("node", "") for fault in faults)])
        on_node = _on_node(names, versions, states)
        if chosen.scale <= 0:
            raise ValueError("--scale must be above 0")
    except (ValueError, TypeError) as error:
        parser.error(str(error))
    ended, parent = threading.Event(), os.getppid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_about: ended.set())
    with (
        tempfile.TemporaryDirectory(prefix="livenodes-sim-") as home,
        Cluster(versions.pop(""), chosen.scale) as cluster,
        contextlib.ExitStack() as stack,
    ):
        nodes = {
            name: stack.enter_context(SimNode(cluster, Path(home), name, version)) for name, version in on_node.items()
        }
        for name in names:
            if name not in nodes:
                cluster.simulate(name, versions.get(name, ""))
        for name, state in states.items():
            _put(cluster, name, state)
        for fault in faults:
            cluster.faults.add(**fault)
        _show(cluster, Path(home), {name: nodes[name].variables() if name in nodes else {} for name in names})
        # A parent that gets SIGTERM, such as nox, does not pass it on.
        while not ended.wait(1) and os.getppid() == parent:
            pass
        print(f"\n{len(cluster.counter.requests)} requests, {cluster.counter.sent / 1e6:.1f} MB answered")
    return 0


_READ: dict[str, t.Callable[[str], t.Any]] = {"str": str, "float": float}
_NOT_WORDS = ("kubelets", "stale", "drop", "then", "seen")


def _versions(words: t.Iterable[str]) -> dict[str, str]:
    """Return versions by node, that of the API server and all others by an empty name. Raises ValueError."""
    found = {"": DEFAULT}
    for word in (part for item in words for part in item.split()):
        name, _equals, version = word.rpartition("=")
        minor_of(version)
        found[name] = version
    return found


def _states(words: t.Iterable[str]) -> dict[str, str]:
    """Return the states of kubelets by node. Raises ValueError."""
    found = {}
    for word in words:
        name, _equals, state = word.partition("=")
        if state not in STATES:
            raise ValueError(f"{word} is no state of a kubelet: use NODE=STATE with one of {', '.join(STATES)}")
        found[name] = state
    return found


def _refuse_unknown(names: t.Sequence[str], given: t.Iterable[str]) -> None:
    """Raise ValueError if one that is given is no node."""
    if unknown := sorted(set(given) - {*names, ""}):
        raise ValueError(f"there is no node {', '.join(unknown)}, only {', '.join(names) or 'none'}: see --nodes")


def _on_node(names: t.Iterable[str], versions: t.Mapping[str, str], states: t.Container[str]) -> dict[str, str]:
    """Return the version of each kubelet that needs a node of its own. Raises ValueError."""
    chosen = {name: versions.get(name, versions[""]) for name in names}
    # An API server from that minor on has no native delivery for older kubelets either.
    found = {
        name: version
        for name, version in chosen.items()
        if max(minor_of(version), minor_of(versions[""])) >= FIRST_ON_NODE
    }
    if len(found) > MOST_ON_NODE:
        raise ValueError(
            f"{len(found)} kubelets need a simulated node each, since they or the API server are of 1.{FIRST_ON_NODE} "
            f"or later, and this machine gets at most {MOST_ON_NODE}: use fewer nodes, or older versions"
        )
    unfit = sorted(name for name in found if name in states)
    if unfit:
        raise ValueError(
            f"--kubelet is only for kubelets and API servers before 1.{FIRST_ON_NODE}: leave out {unfit[0]}"
        )
    return found


def _fault(words: str) -> dict[str, t.Any]:
    """Return the options of a fault. Raises ValueError."""
    made: dict[str, t.Any] = {}
    for word in words.split():
        name, _equals, value = word.partition("=")
        if name not in TYPES or name in _NOT_WORDS:
            raise ValueError(f"a fault has no {name}: use {', '.join(key for key in TYPES if key not in _NOT_WORDS)}")
        made[name] = _READ.get(str(TYPES[name]), int)(value)
    return made


def _put(cluster: Cluster, name: str, state: str) -> None:
    kubelet = cluster.kubelet(name)
    if state == "deaf":
        kubelet.deaf = True
    elif state == "down":
        kubelet.stop()
    else:
        kubelet.set_ready(False)


def _show(cluster: Cluster, home: Path, hosts: t.Mapping[str, t.Mapping[str, t.Any]]) -> None:
    names = list(hosts)
    kubeconfig = cluster.kubeconfig(home / "kubeconfig")
    inventory = home / "inventory.yml"
    given = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
    groups = {
        group: {"hosts": {name: dict(hosts[name]) for name in names[start::2]}}
        for start, group in enumerate(("workers_a", "workers_b"))
    }
    inventory.write_text(yaml.safe_dump({"all": {"vars": given, "children": groups}}), encoding="utf-8")
    programs = Path(sys.executable).parent
    print(
        f"""\
{len(names)} simulated kubelets behind a simulated API server {cluster.version}
at {cluster.url}, which asks for no credentials

  kubeconfig  {kubeconfig}
  inventory   {inventory}

  export PATH={programs}:$PATH ANSIBLE_COLLECTIONS_PATH={os.environ.get("ANSIBLE_COLLECTIONS_PATH", "")}
  export K8S_AUTH_KUBECONFIG={kubeconfig} ANSIBLE_INVENTORY={inventory}
  ansible-playbook livenodes.kubelet.plan -e kubelet_config_hosts=all -e '{{"kubelet_config": {{"maxPods": 80}}}}'

Ctrl-C ends it.""",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
