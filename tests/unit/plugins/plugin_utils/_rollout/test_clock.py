# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The seconds that guards and Leases allow, and the expected duration of a batch."""

from __future__ import annotations

import typing as t

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout import clock
from ansible_collections.livenodes.kubelet.plugins.plugin_utils._rollout.clock import BatchTime
from tests.support.plays.linear_play import Step, play, waits


class Batch(t.NamedTuple):
    """What a good batch takes: seconds of the calls on the controller, and for each host those on its node."""

    restarts: t.Sequence[float]
    other: float = 10
    forks: int = 5
    verify: float = 180
    pods: float = 120
    soak: float = 30
    failed: t.Sequence[int] = ()
    overhead: float = 0.08

    def waits(self) -> list[float]:
        """Return for each good host the seconds from its arming to its confirmation.

        The steps are those of the roles checkpoint and verify. With `failed`, a wave of nodes is restarted again.
        """
        hosts = len(self.restarts)
        reverts = [70.0 if host in self.failed else 0.0 for host in range(hosts)]
        steps = [
            Step("arm", self.other),
            Step("restart", self.restarts),
            Step("check the restart", 0),
            Step("roll back", reverts),
            Step("revert", [self.other if seconds else 0 for seconds in reverts]),
            Step("verify", self.verify, once=True),
            Step("settle", 0),
            Step("soak", self.soak + self.pods, once=True),
            Step("include", 0),
            Step("clear", 0),
            Step("include the role", 0),
            Step("confirm", self.other),
        ]
        found = waits(play(steps, hosts, self.forks, self.overhead), "arm", "confirm")
        return [seconds for host, seconds in enumerate(found) if host not in self.failed]


def deadline(batch: Batch) -> int:
    parts = {"soak_seconds": batch.soak, "wait_timeout": batch.verify, "pods_timeout": batch.pods}
    return clock.confirm_seconds(batch.restarts, batch.forks, **parts)


@given(
    st.builds(
        Batch,
        restarts=st.lists(st.floats(1, 70), min_size=1, max_size=60),
        other=st.floats(0.2, 10),
        forks=st.integers(1, 70),
        verify=st.floats(1, 600),
        pods=st.floats(0, 600),
        soak=st.floats(0, 3600),
        overhead=st.floats(0.0, 0.08),
        failed=st.just(()),
    )
)
def test_every_good_batch_is_confirmed_in_time(batch: Batch) -> None:
    assert max(batch.waits()) <= deadline(batch)


def test_the_good_nodes_of_a_batch_outlive_a_wave_that_fails() -> None:
    batch = Batch([60] * 200, forks=20, failed=range(40, 60))
    assert max(batch.waits()) <= deadline(batch)


@pytest.mark.parametrize(
    ("hosts", "forks", "seconds"),
    [
        (1, 5, 2 * 90 + 1 + 180 + 120 + 30),
        (5, 5, 2 * 90 + 5 + 180 + 120 + 30),
        (6, 5, 3 * 90 + 6 + 180 + 120 + 30),
        (200, 5, 41 * 90 + 200 + 180 + 120 + 30),
        (200, 50, 5 * 90 + 200 + 180 + 120 + 30),
        (200, 500, 2 * 90 + 200 + 180 + 120 + 30),
    ],
)
def test_the_sum_of_the_parts(hosts: int, forks: int, seconds: int) -> None:
    """The operator's own time wins, and the soak is added to it."""
    batch = ["host"] * hosts
    assert clock.confirm_seconds(batch, forks) == seconds
    assert clock.confirm_seconds(batch, str(forks), soak_seconds="60") == seconds + 60
    assert clock.confirm_seconds(batch, forks, own="", wait_timeout="200", pods_timeout=0) == seconds - 100
    assert clock.confirm_seconds(batch, forks, own=45) == 45
    assert clock.confirm_seconds(batch, forks, own="45", soak_seconds=30) == 75


@pytest.mark.parametrize(
    ("sizes", "own", "parts", "words"),
    [
        ([1, 200], None, {}, None),
        ([1, 200], "", {}, None),
        ([], 1, {}, None),
        ([1, 200], 4220, {}, None),
        ([1], 511, {}, None),
        ([1], 510, {}, "a batch of 1 with 5 forks may need 511 s"),
        ([1, 200, 3], "4219", {}, "is 4219, but a batch of 200 with 5 forks may need 4220 s"),
        ([1, 200], 1000, {"node_seconds": 10}, None),
        ([1, 200], 1000, {"node_seconds": "10", "wait_timeout": "300"}, "may need 1060 s"),
    ],
)
def test_an_own_time_that_is_too_short(
    sizes: list[int], own: t.Any, parts: dict[str, t.Any], words: str | None
) -> None:
    found = clock.confirm_problem([{f"n{number}": "" for number in range(size)} for size in sizes], 5, own, **parts)
    assert words in found if words else not found
    assert not found or found.endswith("or lower kubelet_config_node_seconds")


NATIVE, COPIED = {"delivery": "native"}, {"delivery": "checkpoint"}


@pytest.mark.parametrize(
    ("sizes", "rows", "forks", "more", "seconds"),
    [
        # Each call on the controller renews the Lease of a native batch.
        ([100], {"n1": NATIVE}, 5, {}, 300),
        ([100], {}, 5, {}, 300),
        ([], {"n1": COPIED}, 5, {}, 300),
        ([1], {"n1": COPIED}, 5, {"own": "60"}, 60),
        ([1], {"n1": COPIED}, 5, {"own": "60.0"}, 60),
        ([1], {"n1": COPIED}, 5, {"own": ""}, 317),
        ([1], {"n1": COPIED}, 5, {"node_seconds": "20"}, 300),
        # The largest batch counts; any delivery with steps on the node does.
        ([1, 100, 10], {"n1": NATIVE, "n2": {"delivery": "dropin"}}, "5", {}, 3030),
        ([1, 100, 10], {"n1": COPIED}, 100, {"own": 900}, 900),
        # A migration copies checkpoints to nodes with native delivery. A follower needs no step on its node.
        ([100], {"n1": NATIVE}, 5, {"on_nodes": True}, 3030),
        ([100], {"n1": COPIED}, 5, {"on_nodes": False}, 300),
    ],
)
def test_lease_seconds(
    sizes: list[int], rows: dict[str, t.Any], forks: t.Any, more: dict[str, t.Any], seconds: int
) -> None:
    """The operator's choice, else one and a half times the steps on the nodes of the largest batch."""
    assert clock.lease_seconds([range(size) for size in sizes], rows, forks, **more) == seconds


@given(st.integers(1, 300), st.integers(1, 300), st.integers(1, 600), st.integers(0, 3000))
def test_the_steps_on_the_nodes_do_not_outlast_the_lease(hosts: int, forks: int, node_seconds: int, since: int) -> None:
    """Whenever the last call before them renewed it: at most a third of the duration before its end."""
    duration = clock.lease_seconds([range(hosts)], {"n": COPIED}, forks, None, node_seconds)
    left = duration - min(since, duration / 3)
    assert left + 1 >= clock.needed_seconds(hosts, forks, 0, 0, 0, node_seconds)


MOST, DRAIN = 600.0, 300.0
CANARY, NEXT, WIDE = BatchTime(1, 60, False), BatchTime(1, 30, False), BatchTime(4, 30, False)
DRAINED = BatchTime(1, 30, True)


@pytest.mark.parametrize(
    ("batch", "done", "took", "expected"),
    [
        pytest.param(CANARY, [], [], MOST, id="before the first batch only the guards' time is known"),
        pytest.param(DRAINED, [], [], MOST + DRAIN, id="the first batch drains"),
        pytest.param(NEXT, [CANARY], [90], 30 + 30, id="the soak is that of this batch"),
        pytest.param(NEXT, [CANARY, NEXT, NEXT], [90, 75, 60], 45 + 30, id="the slowest batch counts"),
        pytest.param(WIDE, [CANARY], [90], 4 * 30 + 30, id="more waves take longer"),
        pytest.param(NEXT, [WIDE], [110], 80 + 30, id="fewer waves are not assumed to be faster"),
        pytest.param(WIDE, [CANARY, WIDE], [90, 200], 170 + 30, id="a batch as wide as this one"),
        pytest.param(NEXT, [CANARY], [20], 0 + 30, id="a batch that failed early was shorter than its soak"),
        pytest.param(DRAINED, [NEXT], [50], 20 + 30 + DRAIN, id="no batch has shown how long a drain takes"),
        pytest.param(DRAINED, [NEXT, DRAINED], [50, 400], 370 + 30, id="a batch has shown it"),
    ],
)
def test_needed(batch: BatchTime, done: list[BatchTime], took: list[float], expected: float) -> None:
    assert clock.needed(batch, done, took, MOST, DRAIN) == expected


def batch(number: int, hosts: int, **given: t.Any) -> dict[str, t.Any]:
    names = [f"n{number}-{host}" for host in range(hosts)]
    return {"hosts": {name: name for name in names}, "soak": 0, "drain": [], "on_nodes": True, "done": number, **given}


ROLLOUT: dict[str, t.Any] = {
    "began": 1000.0,
    "batches": [
        batch(1, 1, soak=60),
        batch(2, 25, soak=30),
        batch(3, 25, soak=30, on_nodes=False, drain=["n3-1"]),
        batch(4, 25, drain=["n4-1"]),
    ],
}


@pytest.mark.parametrize(
    ("number", "began", "now", "needs"),
    [
        pytest.param(0, [], 1010, MOST, id="first"),
        pytest.param(1, [1010], 1010 + 40 + 60, 3 * 40 + 30, id="three waves with ten forks"),
        pytest.param(1, [], 1110, MOST, id="no gate has reported when its batch began"),
        pytest.param(2, [1010, 1110], 1110 + 50 + 30, 50 + 30 + DRAIN, id="one wave without steps on nodes"),
        pytest.param(3, [1010, 1110, 1190], 1190 + 200 + 30, 3 * 200, id="a batch has shown how long a drain takes"),
    ],
)
def test_of_rollout(number: int, began: list[float], now: float, needs: float) -> None:
    """The gate of the batch before this one has returned when all batches until then began."""
    hostvars: dict[str, dict[str, t.Any]] = {host: {} for one in ROLLOUT["batches"] for host in one["hosts"]}
    if number:
        last = list(ROLLOUT["batches"][number - 1]["hosts"])[-1]
        hostvars[last] = {"rollout_gate": {"window": {"began": began}}}
    this = ROLLOUT["batches"][number]

    def of_host(host: str, name: str) -> t.Any:
        return hostvars[host].get(name)

    # AWX passes some variables as text.
    found = clock.of_rollout(ROLLOUT, this, "30", "10", of_host, now, MOST, DRAIN)
    assert found == {"minutes": 30, "ends": 1000 + 1800, "needs": needs, "began": began}
    assert clock.of_rollout(ROLLOUT, this, "30.0", 10, of_host, now, MOST, DRAIN) == found
