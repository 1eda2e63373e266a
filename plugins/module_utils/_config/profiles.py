# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The items of security benchmarks that concern a kubelet, as data; the layer that a profile declares; and what the
profiles find of a node: a verdict for each item, from what its kubelet runs and not from its files.

Numbers are those of the CIS Kubernetes Benchmark 1.12, section 4, and of the Kubernetes STIG of DISA, version 2 release
6. Titles and values are ours. What a site must choose itself, such as certificates, is only checked.
"""

from __future__ import annotations

import datetime
import json
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from .fields import compare, fields, gates, overlay, shadow
from .host_facts import HostFacts
from .values import amounts, paths, short_texts
from .values.document import DocumentError
from .values.node_row import first_of

FIELD, FLAG, FILE = "field", "flag", "file"
IS, NOT, GIVEN, ABSENT, AMONG, ABOVE, DURATION = ("is", "not", "given", "absent", "among", "above", "duration")
SITE_FILE, GATE, MODE, OWNER, BY_HAND = ("site file", "gate", "mode", "owner", "by hand")
"""The rules."""
UNIT, KUBECONFIG, CLIENT_CA, CONFIG = "unit", "kubeconfig", "client_ca", "config"
"""The files of a kubelet whose owner and mode count."""


class Item(NamedTuple):
    """One item of a benchmark. Minors are those of the kubelet (25 for 1.25)."""

    id: str
    title: str
    of: str
    """The path of a field, a flag, or one of the kinds of files."""
    rule: str
    wanted: Any = None
    """What the rule compares with. For a site file, a field that may be on in its place."""
    sets: Any = None
    """What the profile declares; None: the item is only checked."""
    since: int = 0
    until: int = 99

    @property
    def kind(self) -> str:
        """The kind of what it is about."""
        if self.of.startswith("--"):
            return FLAG
        return FILE if self.of in (UNIT, KUBECONFIG, CLIENT_CA, CONFIG) else FIELD

    def is_of(self, minor: int) -> bool:
        """Return whether a kubelet of this minor has what the item is about."""
        return self.since <= minor <= self.until


STRONG_CIPHERS = (
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
)
_ACCEPTED_CIPHERS = (
    *STRONG_CIPHERS,
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    # Of TLS 1.3, which has no others.
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
)

_ANONYMOUS, _AUTHORIZATION = "authentication.anonymous.enabled", "authorization.mode"
_CA_FILE, _READ_ONLY, _IDLE = "authentication.x509.clientCAFile", "readOnlyPort", "streamingConnectionIdleTimeout"
_ROOT = "root:root"

CIS_1_12 = (
    Item("4.1.1", "Only root can read and write the kubelet's unit and its drop-ins", UNIT, MODE, 0o600),
    Item("4.1.2", "The kubelet's unit and its drop-ins belong to root", UNIT, OWNER, _ROOT),
    Item("4.1.5", "Only root can read and write the kubelet's kubeconfig", KUBECONFIG, MODE, 0o600),
    Item("4.1.6", "The kubelet's kubeconfig belongs to root", KUBECONFIG, OWNER, _ROOT),
    Item("4.1.7", "Only root can write the file of the client CA", CLIENT_CA, MODE, 0o644),
    Item("4.1.8", "The file of the client CA belongs to root", CLIENT_CA, OWNER, _ROOT),
    Item("4.1.9", "Only root can read and write the kubelet's configuration", CONFIG, MODE, 0o600),
    Item("4.1.10", "The kubelet's configuration belongs to root", CONFIG, OWNER, _ROOT),
    Item("4.2.1", "No request to the kubelet is anonymous", _ANONYMOUS, IS, False, False),
    Item("4.2.2", "The kubelet does not allow every request", _AUTHORIZATION, NOT, "AlwaysAllow", "Webhook"),
    Item("4.2.3", "The kubelet knows clients by a CA", _CA_FILE, GIVEN),
    Item("4.2.4", "The port without authentication is closed", _READ_ONLY, IS, 0, 0),
    Item("4.2.5", "Idle streams end", _IDLE, DURATION, "1ns", "4h"),
    Item("4.2.6", "The kubelet keeps its iptables chains", "makeIPTablesUtilChains", IS, True, True),
    Item("4.2.7", "The name of the Node is that of its host", "--hostname-override", ABSENT),
    Item("4.2.8", "The limit of events suits the site", "eventRecordQPS", BY_HAND),
    Item("4.2.9", "The serving certificate is one of the site", "tlsCertFile", SITE_FILE, "serverTLSBootstrap"),
    Item("4.2.10", "The client certificate is renewed", "rotateCertificates", IS, True, True),
    Item("4.2.11", "The serving certificate can be renewed", "featureGates.RotateKubeletServerCertificate", GATE, True),
    Item("4.2.12", "All cipher suites are strong", "tlsCipherSuites", AMONG, _ACCEPTED_CIPHERS, list(STRONG_CIPHERS)),
    Item("4.2.13", "A pod has a limit of processes", "podPidsLimit", ABOVE, 0, 4096, since=10),
    # Before, the feature gate SeccompDefault is alpha.
    Item("4.2.14", "Containers have a seccomp profile by default", "seccompDefault", IS, True, True, since=25),
)
STIG_V2R6 = (
    Item("V-242387", "The port without authentication is closed", _READ_ONLY, IS, 0, 0),
    Item("V-242391", "No request to the kubelet is anonymous", _ANONYMOUS, IS, False, False),
    Item("V-242392", "The API server authorizes each request", _AUTHORIZATION, IS, "Webhook", "Webhook"),
    # A control plane of kubeadm consists of static pods. Before 1.10 the field has another name.
    Item("V-242397", "The kubelet runs no static pods", "staticPodPath", ABSENT, since=10),
    # Delivery native needs it.
    Item("V-242399", "Nodes take no configuration from the API", "featureGates.DynamicKubeletConfig", GATE, False),
    Item("V-242404", "The name of the Node is that of its host", "--hostname-override", ABSENT),
    Item("V-242406", "The kubelet's configuration belongs to root", CONFIG, OWNER, _ROOT),
    Item("V-242407", "Only root can write the kubelet's configuration", CONFIG, MODE, 0o644),
    Item("V-242420", "The kubelet knows clients by a CA", _CA_FILE, GIVEN),
    Item("V-242424", "The serving key is one of the site", "tlsPrivateKeyFile", SITE_FILE),
    Item("V-242425", "The serving certificate is one of the site", "tlsCertFile", SITE_FILE),
    Item("V-242434", "The kubelet insists on its kernel settings", "protectKernelDefaults", IS, True, True),
    Item("V-242449", "Only root can write the file of the client CA", CLIENT_CA, MODE, 0o644),
    Item("V-242450", "The file of the client CA belongs to root", CLIENT_CA, OWNER, _ROOT),
    Item("V-242452", "Only root can write the kubelet's kubeconfig", KUBECONFIG, MODE, 0o644),
    Item("V-242453", "The kubelet's kubeconfig belongs to root", KUBECONFIG, OWNER, _ROOT),
    Item("V-242456", "Only root can write the file that --config names", CONFIG, MODE, 0o644),
    Item("V-242457", "The file that --config names belongs to root", CONFIG, OWNER, _ROOT),
    Item("V-245541", "Streams may be idle for five minutes or more, and end", _IDLE, DURATION, "5m", "5m"),
)
PROFILES: Mapping[str, Sequence[Item]] = {"cis-1.12": CIS_1_12, "stig-v2r6": STIG_V2R6}


def named(given: Any, origin: str) -> list[str]:
    """Return the profiles that a variable names: none, one, or a list. Raises DocumentError, which names `origin`."""
    names = [given] if isinstance(given, str) and given else given or []
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise DocumentError(f"{origin} is {given!r}: use the name of a profile, or a list of them")
    unknown = [name for name in names if name not in PROFILES]
    if unknown:
        raise DocumentError(f"{origin}: there is no profile {', '.join(unknown)}. Use {' or '.join(PROFILES)}")
    return list(names)


def layer(names: Sequence[str], minor: int | None) -> dict[str, Any]:
    """Return what these profiles declare for a kubelet of this minor (None: not known). The last one wins."""
    found = []
    for name in names:
        for item in PROFILES[name]:
            if item.sets is not None and item.is_of(minor or fields.NEWEST_MINOR):
                found.append(overlay.put({}, {item.of: item.sets}))
    return overlay.compose(found)


PASS, FAIL, MANUAL, NOT_CHECKED, EXCEPTED = VERDICTS = ("pass", "fail", "manual", "not checked", "excepted")
_GATES = "featureGates"
_DEFAULT, _UNKNOWN = "default", ""
_ROLLOUT = "Set kubelet_config_profile and run the playbook rollout"
_KEYS = ("owner", "until", "reason")


class ExceptionError(ValueError):
    """An exception cannot be used. The text names it, the cause and the remedy."""


class Facts(NamedTuple):
    """What is known of a node. `host`: what was seen there, with its disk; None without a result of it."""

    minor: int | None
    live: Mapping[str, Any] | None
    """The configuration that its kubelet runs, None if that could not be read."""
    unread: str = ""
    """Why not."""
    host: HostFacts | None = None
    no_host: str = "Ansible did not log in to the node"
    """Why there is no result of the node."""


class _Found(NamedTuple):
    verdict: str
    value: str = ""
    origin: str = _UNKNOWN
    message: str = ""


def of_node(
    facts: Facts, names: Sequence[str], exceptions: Mapping[str, Mapping[str, Any]], today: datetime.date
) -> list[dict[str, Any]]:
    """Return a row for each item of these profiles; ``exceptions`` as exceptions_of() returns them.

    An exception counts until the end of its last day, and changes every verdict but `pass`.
    """
    rows = []
    for name in dict.fromkeys(names):
        for item in PROFILES[name]:
            excepted = exceptions.get(item.id)
            found = _judged(item, facts)
            if excepted and found.verdict != PASS:
                found = _with_exception(found, excepted, today)
            row = {"profile": name, "item": item.id, "title": item.title, **found._asdict()}
            rows.append({**row, "exception": dict(excepted) if excepted else None})
    return rows


def exceptions_of(given: Any, names: Sequence[str], origin: str) -> dict[str, dict[str, str]]:
    """Return the exceptions of a node by item: `owner`, `until` (a date such as 2027-03-31) and `reason`.

    Raises ExceptionError, which names `origin`, for an item that no profile of these `names` has, and for an exception
    without an owner or a date.
    """
    if not isinstance(given or {}, Mapping):
        raise ExceptionError(f"{origin} is not a mapping: name the items, each with owner, until and reason")
    known = {item.id for name in names for item in PROFILES[name]}
    found = {}
    for key, terms in (given or {}).items():
        fault = _fault_of_terms(terms)
        if key not in known:
            fault = f"{' and '.join(names) or 'no profile'} has no such item. Correct its number"
        if fault:
            raise ExceptionError(f"{origin}, item {key}: {fault}")
        found[key] = {part: str(terms.get(part) or "") for part in _KEYS}
    return found


def _fault_of_terms(terms: Any) -> str:
    """Return what is wrong with the terms of an exception, empty if nothing is."""
    if not isinstance(terms, Mapping) or not terms.get("owner") or not set(terms) <= set(_KEYS):
        return "set owner, until (a date) and reason, and nothing else"
    try:
        datetime.date.fromisoformat(str(terms.get("until")))
    except ValueError:
        return f"until is {terms.get('until')}, not a date such as 2027-03-31"
    return ""


def _with_exception(found: _Found, excepted: Mapping[str, Any], today: datetime.date) -> _Found:
    owner, until = excepted["owner"], excepted["until"]
    if today <= datetime.date.fromisoformat(until):
        why = f"excepted by {owner} until {until}: {excepted['reason']}"
        if found.verdict == NOT_CHECKED:
            why += f"; not checked: {found.message}"
        return found._replace(verdict=EXCEPTED, message=why)
    ended = f"the exception by {owner} ended on {until}"
    return found._replace(verdict=FAIL, message="; ".join(filter(None, [found.message, ended])))


def _judged(item: Item, facts: Facts) -> _Found:
    if facts.minor is not None and not item.is_of(facts.minor):
        return _Found(NOT_CHECKED, message=f"kubelets of 1.{facts.minor} do not have it")
    return _KINDS[item.kind](item, facts)


def _of_field(item: Item, facts: Facts) -> _Found:
    if facts.live is None:
        return _Found(NOT_CHECKED, message=facts.unread)
    value = _value(item, facts.live, facts.minor)
    if item.rule == GATE and value is None:
        return _Found(NOT_CHECKED, message=f"the default of this gate in 1.{facts.minor} is not known")
    shown, (origin, remedy) = _shown(value), _origin(item.of, value, facts.host)
    if item.rule == BY_HAND:
        return _Found(MANUAL, shown, origin, "the site decides whether the value suits")
    if _RULES[item.rule](value, item, facts.live):
        return _Found(PASS, shown, origin)
    if not remedy:
        remedy = _ROLLOUT if item.sets is not None else f"Set {item.of} in kubelet_config and run the playbook rollout"
    return _Found(FAIL, shown, origin, f"{item.of} is {shown}{f' ({origin})' if origin else ''}. {remedy}")


def _value(item: Item, live: Mapping[str, Any], minor: int | None) -> Any:
    if item.rule != GATE:
        value = paths.value_at(live, paths.parse(item.of))
        # /configz omits some values that are zero.
        return item.wanted if item.rule == IS and _is_equal(value, item.wanted) else value
    gate, given = gates.lookup(item.of.partition(".")[2]), paths.typed(live.get(_GATES), dict)
    if gate and minor and minor < gate.states[0].since:
        return given.get(gate.name)
    if gate is None or minor is None or gate.at(minor) is None:
        return item.wanted
    return gate.enabled(minor, given)


def _shown(value: Any) -> str:
    if value is None or value == "":
        return "not set"
    return value if isinstance(value, str) else json.dumps(value)


def _is_equal(value: Any, wanted: Any) -> bool:
    """Return whether a value is the wanted one. None is equal to a zero."""
    return value == wanted or (not value and not wanted)


def _lasts(value: Any, item: Item, dummy: Mapping[str, Any]) -> bool:
    try:
        return amounts.parse_duration(str(value)) >= amounts.parse_duration(item.wanted)
    except ValueError:
        return False


def _is_of_site(value: Any, item: Item, live: Mapping[str, Any]) -> bool:
    if item.wanted and live.get(item.wanted):
        return True
    return bool(value) and not fields.is_created(item.of, value)


_RULES: Mapping[str, Callable[[Any, Item, Mapping[str, Any]], bool]] = {
    IS: lambda value, item, live: _is_equal(value, item.wanted),
    GATE: lambda value, item, live: value is item.wanted,
    NOT: lambda value, item, live: bool(value) and value != item.wanted,
    GIVEN: lambda value, item, live: bool(value),
    ABSENT: lambda value, item, live: not value,
    AMONG: lambda value, item, live: (
        isinstance(value, list) and bool(value) and all(one in item.wanted for one in value)
    ),
    ABOVE: lambda value, item, live: isinstance(value, int) and value > item.wanted,
    DURATION: _lasts,
    SITE_FILE: _is_of_site,
}


def _origin(path: str, live: Any, host: HostFacts | None) -> tuple[str, str]:
    """Return where a live value comes from, and the remedy that follows from that; both empty if unknown."""
    if host is None:
        return _UNKNOWN, ""
    use = shadow.shadow_of(path, host.flags)
    if use:
        where = f"{use['file']}, line {use['line']}" if use.get("file") else "no file sets it any more"
        return f"flag {use['flag']}: {where}", "Remove the flag and restart the kubelet"
    layers = [(f"file {host.file}", host.content)]
    layers += [(f"drop-in {file}", content) for file, content in host.dropins.items()]
    keys = paths.parse(path)
    for origin, content in reversed(layers):
        if content is None:
            return _UNKNOWN, ""
        if not _decides(content, keys):
            continue
        value = paths.value_at(content, keys)
        if value is None or _is_unset(path, value):
            break
        return origin if _is_same(path, value, live) else f"{origin}, which has changed since", ""
    return _DEFAULT, ""


def _decides(content: Any, keys: paths.Path) -> bool:
    """Return whether a file sets a path, or removes it with a null, itself or an object above it."""
    for key in keys:
        if not isinstance(content, Mapping) or key not in content:
            return content is None
        content = content[key]
    return True


def _is_unset(path: str, value: Any) -> bool:
    """Return whether a kubelet takes a zero in a file for unset, such as the 0s that kubeadm writes."""
    field = fields.owner(path)
    return field is not None and field.unset == "zero" and compare.is_zero(value, field)


def _is_same(path: str, value: Any, live: Any) -> bool:
    """Return whether a kubelet that reads this value runs the live one. It makes the paths of files absolute."""
    field = fields.owner(path)
    if field is None or field.path_ref:
        return True
    one, other = (compare.canonical(each, field, fields.NEWEST_MINOR) for each in (value, live))
    return _is_equal(one, other)


def _of_flag(item: Item, facts: Facts) -> _Found:
    if facts.host is None:
        return _Found(NOT_CHECKED, message=facts.no_host)
    words = facts.host.command
    if not words:
        return _Found(NOT_CHECKED, message="the kubelet's command line is not known")
    place = short_texts.flag_words(words, item.of[len("--") :])
    if place is None:
        return _Found(PASS, "not set", _DEFAULT)
    used = words[place[0]]
    return _Found(FAIL, used, "flag", f"the kubelet has the flag {used}. Remove it and restart the kubelet")


def _fault_of_file(item: Item, row: Mapping[str, Any]) -> str:
    """Return what is wrong with the mode or the owner of a file, and how to correct it; empty if nothing is."""
    mode, path = row["mode"], row["path"]
    if item.rule == MODE and int(mode, 8) & ~item.wanted:
        return f"the mode of {path} is {mode}. Run chmod {item.wanted:04o} {path}"
    if item.rule == OWNER and row["owner"] != item.wanted:
        return f"{path} belongs to {row['owner']}. Run chown {item.wanted} {path}"
    return ""


def _of_file(item: Item, facts: Facts) -> _Found:
    if facts.host is None or facts.host.owned is None:
        return _Found(NOT_CHECKED, message=facts.no_host)
    rows = facts.host.owned.get(item.of) or []
    if not rows:
        return _Found(NOT_CHECKED, message="the node has no such file")
    for row in rows:
        message = _fault_of_file(item, row)
        if message:
            return _Found(FAIL, row[item.rule], f"file {row['path']}", message)
    values = dict.fromkeys(row[item.rule] for row in rows)
    return _Found(PASS, ", ".join(values), first_of([f"file {row['path']}" for row in rows], most=1))


_KINDS: Mapping[str, Callable[[Item, Facts], _Found]] = {FIELD: _of_field, FLAG: _of_flag, FILE: _of_file}
