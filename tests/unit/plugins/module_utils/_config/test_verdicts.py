# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The verdict of each kind of item, where a value comes from, and exceptions."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._config import host_facts, profiles

PASS, FAIL, MANUAL, NOT_CHECKED, EXCEPTED = profiles.VERDICTS
CIS, STIG = "cis-1.12", "stig-v2r6"
TODAY = datetime.date(2026, 11, 27)
FILE, DROPIN = "/var/lib/kubelet/config.yaml", "/etc/kubernetes/kubelet.conf.d/10-site.conf"
CHANGED = f"file {FILE}, which has changed since"
OWNED = {"path": FILE, "mode": "0600", "owner": "root:root"}


def host(
    content: Any = None, dropins: Any = None, shadowed: Any = None, command: Any = ("kubelet",), files: Any = None
) -> dict[str, Any]:
    """Return what kubelet_preflight_info finds on a node."""
    disk = {"path": FILE, "content": {} if content is None else content, "dropins": dropins or {}}
    return {"kubelet": {"shadowed": shadowed or {}, "command": list(command)}, "disk": disk, "files": files or {}}


def row(item: str, live: Any, minor: int = 36, found: Any = None, exceptions: Any = None) -> dict[str, Any]:
    """Return the row of an item for a node of this minor with this configuration."""
    profile = CIS if item.startswith("4.") else STIG
    seen = host_facts.read(found) if found is not None else None
    facts = profiles.Facts(minor, live, "no answer of its kubelet", seen)
    checked = profiles.exceptions_of(exceptions, [profile], "x")
    (one,) = [each for each in profiles.of_node(facts, [profile], checked, TODAY) if each["item"] == item]
    return one


def nested(item: str, value: Any) -> dict[str, Any]:
    (path,) = [each.of for items in profiles.PROFILES.values() for each in items if each.id == item]
    for key in reversed(path.split(".")):
        value = {key: value}
    return value  # type: ignore[no-any-return]


STRONG = list(profiles.STRONG_CIPHERS)


@pytest.mark.parametrize(
    ("item", "good", "bad"),
    [
        ("4.2.1", [False], [True]),
        ("4.2.2", ["Webhook"], ["AlwaysAllow", None]),
        ("4.2.3", ["/etc/kubernetes/pki/ca.crt"], [None, ""]),
        ("4.2.4", [0, None], [10255]),
        ("4.2.5", ["4h0m0s", "1m", "500ms"], ["0s", None, "soon"]),
        ("4.2.6", [True], [False, None]),
        ("4.2.9", ["/etc/kubelet/site.crt"], [None, "", "/var/lib/kubelet/pki/kubelet.crt"]),
        ("4.2.10", [True], [False, None]),
        ("4.2.11", [True, None], [False]),
        ("4.2.12", [STRONG, STRONG[:1], ["TLS_AES_128_GCM_SHA256"]], [[], None, 5, [*STRONG, "TLS_RSA_WITH_RC4_SHA"]]),
        ("4.2.13", [1, 4096], [-1, 0, None]),
        ("4.2.14", [True], [False, None]),
        ("V-242387", [0], [1]),
        ("V-242392", ["Webhook"], ["AlwaysAllow", "Other"]),
        ("V-242397", [None, ""], ["/etc/kubernetes/manifests"]),
        ("V-242424", ["/etc/kubelet/site.key"], ["/var/lib/kubelet/pki/kubelet.key", None]),
        ("V-242434", [True], [False, None]),
        ("V-245541", ["5m", "4h0m0s"], ["4m59s", "0s"]),
    ],
)
def test_what_the_kubelet_runs_decides(item: str, good: list[Any], bad: list[Any]) -> None:
    assert {repr(value): row(item, nested(item, value))["verdict"] for value in good} == {repr(v): PASS for v in good}
    assert {repr(value): row(item, nested(item, value))["verdict"] for value in bad} == {repr(v): FAIL for v in bad}


def test_a_certificate_that_the_api_signs_takes_the_place_of_a_file() -> None:
    assert row("4.2.9", {"serverTLSBootstrap": True})["verdict"] == PASS
    assert row("V-242425", {"serverTLSBootstrap": True})["verdict"] == FAIL


def dynamic(given: bool | None) -> dict[str, Any]:
    return {} if given is None else {"featureGates": {"DynamicKubeletConfig": given}}


@pytest.mark.parametrize(
    ("minor", "given", "verdict"),
    [(20, None, FAIL), (20, False, PASS), (23, None, PASS), (23, True, FAIL), (26, None, PASS), (36, True, PASS)],
)
def test_a_gate_has_the_default_of_its_minor_until_it_is_gone(minor: int, given: bool | None, verdict: str) -> None:
    assert row("V-242399", dynamic(given), minor)["verdict"] == verdict


@pytest.mark.parametrize(("given", "verdict"), [(True, FAIL), (False, PASS), (None, NOT_CHECKED)])
def test_what_an_early_kubelet_has_is_not_guessed(given: bool | None, verdict: str) -> None:
    found = row("V-242399", dynamic(given), 16)
    assert found["verdict"] == verdict
    assert given is not None or found["message"] == "the default of this gate in 1.16 is not known"
    # What those kubelets call podManifestPath is not seen.
    assert row("V-242397", {"podManifestPath": "/m"}, 9)["verdict"] == NOT_CHECKED
    # Beta since 1.12.
    assert (row("4.2.11", {}, 11)["verdict"], row("4.2.11", {}, 12)["verdict"]) == (NOT_CHECKED, PASS)


def test_what_cannot_be_judged_is_named() -> None:
    about = {"profile": CIS, "item": "4.2.14", "title": "Containers have a seccomp profile by default"}
    shown = {"verdict": NOT_CHECKED, "value": "", "origin": "", "message": "kubelets of 1.20 do not have it"}
    assert row("4.2.14", {}, 20) == {**about, **shown, "exception": None}
    unread = row("4.2.4", None)
    assert (unread["verdict"], unread["message"]) == (NOT_CHECKED, "no answer of its kubelet")
    by_hand = row("4.2.8", {"eventRecordQPS": 50})
    assert (by_hand["verdict"], by_hand["value"]) == (MANUAL, "50")
    for item, found, message in (
        ("4.1.9", None, "Ansible did not log in to the node"),
        ("4.2.7", None, "Ansible did not log in to the node"),
        ("4.1.9", host(), "the node has no such file"),
        ("4.2.7", host(command=()), "the kubelet's command line is not known"),
    ):
        away = row(item, {}, found=found)
        assert (away["verdict"], away["message"]) == (NOT_CHECKED, message)


PORT_FLAG = "--read-only-port=10255"
FLAG = {"readOnlyPort": {"flag": PORT_FLAG, "file": "/etc/default/kubelet", "line": 3}}
FORMER_FLAG = {"readOnlyPort": {"flag": PORT_FLAG, "file": None}}
BY_FLAG, BY_FORMER = f"flag {PORT_FLAG}: /etc/default/kubelet, line 3", f"flag {PORT_FLAG}: no file sets it any more"
OFF, OPEN = {"readOnlyPort": 0}, {"readOnlyPort": 10255}


@pytest.mark.parametrize(
    ("port", "found", "verdict", "origin"),
    [
        pytest.param(0, host({}, {DROPIN: OFF}), PASS, f"drop-in {DROPIN}", id="a drop-in only"),
        pytest.param(0, host(OFF), PASS, f"file {FILE}", id="the file"),
        pytest.param(10255, host(OFF, shadowed=FLAG), FAIL, BY_FLAG, id="a flag over a correct file"),
        pytest.param(10255, host(OFF, shadowed=FORMER_FLAG), FAIL, BY_FORMER, id="a flag of a former unit"),
        pytest.param(0, host(OPEN, {DROPIN: OFF}), PASS, f"drop-in {DROPIN}"),
        pytest.param(10255, host(OFF), FAIL, CHANGED),
        pytest.param(0, host(), PASS, "default"),
        pytest.param(0, host({}, {DROPIN: None}), PASS, "", id="a drop-in that cannot be read"),
        pytest.param(10255, host(OFF, {DROPIN: None}), FAIL, "", id="such a drop-in over a file"),
        pytest.param(0, host({"readOnlyPort": 1}, {DROPIN: {"readOnlyPort": None}}), PASS, "default", id="a null"),
        pytest.param(0, None, PASS, "", id="no login"),
    ],
)
def test_where_a_value_comes_from(port: int, found: Any, verdict: str, origin: str) -> None:
    one = row("4.2.4", {"readOnlyPort": port}, found=found)
    assert (one["verdict"], one["origin"], one["value"]) == (verdict, origin, str(port))


def test_equal_values_in_other_words_have_the_same_origin() -> None:
    found = host({"streamingConnectionIdleTimeout": "240m", "tlsCertFile": "pki/site.crt"})
    live = {"streamingConnectionIdleTimeout": "4h0m0s", "tlsCertFile": "/var/lib/kubelet/pki/site.crt"}
    assert row("4.2.5", live, found=found)["origin"] == row("4.2.9", live, found=found)["origin"] == f"file {FILE}"
    # kubeadm writes a zero, which means the default.
    zero = {"streamingConnectionIdleTimeout": "0s"}
    for content, dropins in ((zero, None), ({"streamingConnectionIdleTimeout": "240m"}, {DROPIN: zero})):
        assert row("4.2.5", live, found=host(content, dropins))["origin"] == "default"


def test_a_drop_in_that_removes_an_object_leaves_it_to_the_default() -> None:
    own = {"authentication": {"anonymous": {"enabled": True}}}
    live = {"authentication": {"anonymous": {"enabled": False}}}
    assert row("4.2.1", live, found=host(own, {DROPIN: {"authentication": None}}))["origin"] == "default"
    other = row("4.2.1", live, found=host(own, {DROPIN: {"authentication": {"webhook": None}}}))
    assert other["origin"] == CHANGED


def test_a_zero_that_configz_omits_is_shown() -> None:
    assert (row("4.2.4", {})["value"], row("4.2.10", {})["value"]) == ("0", "not set")


LOOSE, OTHERS = [OWNED, {**OWNED, "path": DROPIN, "mode": "0644"}], {"config": [{**OWNED, "owner": "kube:root"}]}
NO_FLAG = "Remove the flag and restart the kubelet"
HAS_FLAG = "the kubelet has the flag --hostname_override=n1. Remove it and restart the kubelet"
BY_PROFILE = "Set kubelet_config_profile and run the playbook rollout"
BY_CONFIG = "Set authentication.x509.clientCAFile in kubelet_config and run the playbook rollout"


@pytest.mark.parametrize(
    ("item", "live", "found", "value", "message"),
    [
        ("4.2.4", OPEN, host(OFF, shadowed=FLAG), "10255", f"readOnlyPort is 10255 ({BY_FLAG}). {NO_FLAG}"),
        ("4.2.4", OPEN, host(OFF, {DROPIN: None}), "10255", f"readOnlyPort is 10255. {BY_PROFILE}"),
        ("4.2.4", OPEN, host(OFF), "10255", f"readOnlyPort is 10255 ({CHANGED}). {BY_PROFILE}"),
        ("4.2.13", {"podPidsLimit": -1}, None, "-1", f"podPidsLimit is -1. {BY_PROFILE}"),
        ("4.2.3", {}, host(), "not set", f"authentication.x509.clientCAFile is not set (default). {BY_CONFIG}"),
        ("4.2.7", {}, host(command=("kubelet", "--hostname_override=n1")), "--hostname_override=n1", HAS_FLAG),
        ("4.1.9", {}, host(files={"config": LOOSE}), "0644", f"the mode of {DROPIN} is 0644. Run chmod 0600 {DROPIN}"),
        ("4.1.10", {}, host(files=OTHERS), "kube:root", f"{FILE} belongs to kube:root. Run chown root:root {FILE}"),
    ],
)
def test_a_failure_names_cause_and_remedy(item: str, live: Any, found: Any, value: str, message: str) -> None:
    one = row(item, live, found=found)
    assert (one["verdict"], one["value"], one["message"]) == (FAIL, value, message)


@pytest.mark.parametrize("mode", ["0600", "0400", "0000"])
def test_a_mode_may_be_more_restrictive(mode: str) -> None:
    one = row("4.1.9", {}, found=host(files={"config": [{**OWNED, "mode": mode}]}))
    assert (one["verdict"], one["value"], one["origin"]) == (PASS, mode, f"file {FILE}")
    assert row("4.1.9", {}, found=host(files={"config": [{**OWNED, "mode": "0700"}]}))["verdict"] == FAIL
    assert row("V-242407", {}, found=host(files={"config": [{**OWNED, "mode": "0644"}]}))["verdict"] == PASS
    assert row("4.2.7", {}, found=host())["verdict"] == PASS
    several = host(files={"unit": [{**OWNED, "path": "/a"}, {**OWNED, "path": "/b"}]})
    assert row("4.1.2", {}, found=several)["origin"] == "file /a and 1 more"


OWNER = {"owner": "platform team", "until": "2026-11-27", "reason": "until the CA is there"}


@pytest.mark.parametrize(
    ("item", "live", "until", "verdict", "message"),
    [
        ("4.2.9", {}, "2026-11-27", EXCEPTED, "excepted by platform team until 2026-11-27: until the CA is there"),
        ("4.2.9", {}, "2026-11-26", FAIL, "the exception by platform team ended on 2026-11-26"),
        # YAML makes a date of it.
        ("4.2.9", {}, datetime.date(2026, 11, 28), EXCEPTED, "until 2026-11-28"),
        ("4.2.8", {}, "2026-12-31", EXCEPTED, "excepted by platform team"),
        ("4.1.9", {}, "2026-12-31", EXCEPTED, "is there; not checked: Ansible did not log in to the node"),
        ("4.1.9", {}, "2026-01-01", FAIL, "Ansible did not log in to the node; the exception by platform team ended"),
        ("4.2.3", nested("4.2.3", "/ca"), "2026-01-01", PASS, ""),
    ],
)
def test_an_exception_counts_until_its_day_ends(item: str, live: Any, until: Any, verdict: str, message: str) -> None:
    one = row(item, live, exceptions={item: {**OWNER, "until": until}})
    assert one["verdict"] == verdict and message in one["message"]
    assert one["exception"] == {**OWNER, "until": str(until)}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["4.2.9"], "x is not a mapping"),
        ({"4.2.99": OWNER}, r"x, item 4.2.99: cis-1.12 has no such item"),
        ({"4.2.9": "platform team"}, "x, item 4.2.9: set owner, until"),
        ({"4.2.9": {"until": "2027-01-01"}}, "x, item 4.2.9: set owner, until"),
        ({"4.2.9": {**OWNER, "ticket": 5}}, "x, item 4.2.9: set owner, until"),
        ({"4.2.9": {"owner": "me"}}, "x, item 4.2.9: until is None, not a date such as 2027-03-31"),
        ({"4.2.9": {**OWNER, "until": "soon"}}, "x, item 4.2.9: until is soon, not a date"),
    ],
)
def test_an_exception_without_owner_or_date_is_refused(given: Any, message: str) -> None:
    with pytest.raises(profiles.ExceptionError, match=f"^{message}"):
        profiles.exceptions_of(given, [CIS], "x")


def test_each_item_of_each_profile_has_a_row() -> None:
    rows = profiles.of_node(profiles.Facts(36, {}), [CIS, STIG], {}, TODAY)
    wanted = [(name, item.id) for name, items in profiles.PROFILES.items() for item in items]
    assert [(one["profile"], one["item"]) for one in rows] == wanted
    assert {one["verdict"] for one in rows} == {PASS, FAIL, MANUAL, NOT_CHECKED}
