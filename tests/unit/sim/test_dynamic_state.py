# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the simulated kubelet with the model written from the kubelet's source; tests/e2e compares both with a real
one.
"""

from __future__ import annotations

import typing as t

from tests.contract import source_model
from tests.sim.kubelets.configs import outcome, shown
from tests.sim.kubelets.dynamic_state import State
from tests.support.api import objects

LOCAL = objects.live(tlsCertFile="/own.crt", tlsPrivateKeyFile="/own.key")
TEXTS = {
    "good_a": objects.text(maxPods=50),
    "good_b": objects.text(maxPods=51),
    "unparsable": "{",
    "invalid": objects.text(kubeAPIQPS=-1),
    "missing_key": None,
}


def _assign(kubelet: State, state: str) -> bool:
    if state == "nil":
        return kubelet.reset()
    if state == "missing_configmap":
        kubelet.missing()
        return False
    return kubelet.follow(objects.reference(state), outcome(TEXTS[state]))


def _name(reference: dict[str, str] | None) -> str | None:
    return reference["name"].removeprefix("config-") if reference else None


def test_every_step_from_every_state() -> None:
    """Restarts, error, assigned, active and /configz are compared for all ordered pairs of states."""
    kubelet, model = State(LOCAL), source_model.Model()
    for _before, after in source_model.circuit():
        assert _assign(kubelet, after) == model.assign(after)
        status = kubelet.status()
        assert (_name(kubelet.assigned), _name(kubelet.active)) == (model.assigned, model.active)
        assert (status["error"] or "") == model.error
        wanted = {"good_a": 50, "good_b": 51}.get(model.active or "")
        assert kubelet.configz.get("maxPods") == wanted if wanted else kubelet.configz == LOCAL


def test_the_same_source_again() -> None:
    """The kubelet does not restart, and the error of a fetch that failed in between is cleared."""
    kubelet, model = State(LOCAL), source_model.Model()
    for state in ("good_a", "missing_configmap", "good_a", "good_a"):
        assert (_assign(kubelet, state), kubelet.status()["error"] or "") == (model.assign(state), model.error)
    assert kubelet.starts == 1


def test_reverts_to_last_known_good() -> None:
    """A graduated source becomes active again when a later one is invalid; without any source there is none."""
    kubelet = State(LOCAL)
    assert not kubelet.graduate()
    _assign(kubelet, "good_a")
    assert kubelet.graduate() and not kubelet.graduate()
    _assign(kubelet, "invalid")
    assert not kubelet.graduate()
    assert (_name(kubelet.active), _name(kubelet.good), kubelet.configz["maxPods"]) == ("good_a", "good_a", 50)
    _assign(kubelet, "nil")
    assert kubelet.status() == {"assigned": None, "active": None, "lastKnownGood": None, "error": None}


def test_shown_as_go_writes_it() -> None:
    """Defaults are filled in, empty values that Go omits are absent, durations have one form, unknown names vanish."""
    status: dict[str, t.Any] = shown(
        {
            "syncFrequency": "90s",
            "enforceNodeAllocatable": [],
            "evictionHard": {},
            "kubeAPIQPS": 0,
            "readOnlyPort": 0,
            "podPidsLimit": -7,
            "misspelled": 1,
            "nodeStatusUpdateFrequency": "20s",
            "authentication": {"x509": {"clientCAFile": "/ca"}},
        },
        LOCAL,
    )
    assert {"enforceNodeAllocatable", "evictionHard", "readOnlyPort", "misspelled", "kind"}.isdisjoint(status)
    wanted = {"syncFrequency": "1m30s", "kubeAPIQPS": 0, "podPidsLimit": -1, "nodeStatusReportFrequency": "20s"}
    wanted |= {"tlsCertFile": "/own.crt", "maxPods": 110}
    assert {name: status[name] for name in wanted} == wanted
    assert status["authentication"]["x509"] == {"clientCAFile": "/ca"}
    assert status["authentication"]["webhook"]["cacheTTL"] == "2m0s"
