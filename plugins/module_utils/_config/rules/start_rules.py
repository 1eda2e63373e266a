# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What passes a kubelet's validation and ends it while it starts, or hides it from every user who asks it.

The words are our own: those of the kubelet do not name the field. Source: the functions of Kubernetes that the rules
name, as 1.20, 1.21, 1.23 and 1.25 to 1.36 have them; tests/support/kubelets/kubelet_starts.py has what a kubelet did.
"""

from __future__ import annotations

import re
from typing import Any, Iterator, Mapping

from ..values import short_texts
from .problem import REFUSAL, WARNING, EffectiveConfig, Finding, Problem, Rule

HTTP2_SUITES = ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256")
CLIENT_CA = "authentication.x509.clientCAFile"
_IDS_PER_POD = 65536
"""The default, and what idsPerPod is a multiple of."""
_MOST_CPUS = 2**16
"""More than any Linux kernel is built for (NR_CPUS in its Kconfig files)."""
_ENFORCED = {
    "system-reserved": ("systemReservedCgroup", "systemReserved"),
    "kube-reserved": ("kubeReservedCgroup", "kubeReserved"),
}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")


def _http2(config: EffectiveConfig) -> Iterator[Finding]:
    # ConfigureServer of golang.org/x/net/http2: an error of ListenAndServeTLS, which ends the kubelet.
    suites = config.texts("tlsCipherSuites")
    if suites and not set(HTTP2_SUITES) & set(suites) and config.text("tlsMinVersion") != "VersionTLS13":
        message = "it has none of the suites that HTTP/2 requires, and the kubelet's server ends without one"
        yield "tlsCipherSuites", message, f"Add {' or '.join(HTTP2_SUITES)}, or set tlsMinVersion: VersionTLS13."


def _http2_of_old_go(config: EffectiveConfig) -> Iterator[Finding]:
    # The same function of Go 1.15 and 1.16. A build with a newer Go, such as Debian's, does not have this.
    suites = config.texts("tlsCipherSuites")
    modern = list(map(_is_modern, suites))
    without = suites and not set(HTTP2_SUITES) & set(suites)
    if modern != sorted(modern, reverse=True):
        message = (
            "it has a suite of HTTP/2 after one that HTTP/2 forbids, and a kubelet built with Go 1.16 or older ends"
        )
        yield "tlsCipherSuites", message, "Move the suites with ECDHE and GCM or CHACHA20 to the front."
    elif without and config.text("tlsMinVersion") == "VersionTLS13":
        message = "it has none of the suites that HTTP/2 requires, and a kubelet built with Go 1.16 or older ends"
        yield "tlsCipherSuites", message, f"Add {' or '.join(HTTP2_SUITES)}."


def _is_modern(suite: str) -> bool:
    """Return whether a suite is none of those that HTTP/2 forbids (RFC 7540, appendix A)."""
    of_tls_1_3 = "_WITH_" not in suite
    return of_tls_1_3 or ("ECDHE" in suite and ("GCM" in suite or "CHACHA20" in suite))


def _root_cgroup(config: EffectiveConfig) -> Iterator[Finding]:
    # pkg/kubelet/cm/container_manager_linux.go setupNode
    if config.text("systemCgroups") == "/":
        yield "systemCgroups", "the root cgroup cannot take the system's processes", "Name another one, or remove it."


def _frequencies(config: EffectiveConfig) -> Iterator[Finding]:
    # pkg/kubelet/kubelet.go NewMainKubelet, config/file.go run (time.NewTicker), cri-client NewRemoteRuntimeService
    fields = ["syncFrequency", "runtimeRequestTimeout"]
    if config.text("staticPodPath"):
        fields.append("fileCheckFrequency")
    for field in fields:
        if (config.nanoseconds(field) or 0) < 0:
            yield field, "a kubelet with a negative duration here ends at its start", "Write a duration above 0s."


def _endpoints(config: EffectiveConfig) -> Iterator[Finding]:
    # k8s.io/cri-client/pkg/util/util_unix.go GetAddressAndDialer
    for field in ("containerRuntimeEndpoint", "imageServiceEndpoint"):
        scheme = _SCHEME.match(config.text(field))
        if scheme and scheme.group(1).lower() != "unix":
            message = f"the kubelet reaches its runtime by unix sockets only, not by {scheme.group(1)}"
            yield field, message, "Write a URL such as unix:///run/containerd/containerd.sock."


def _ports(config: EffectiveConfig) -> Iterator[Finding]:
    # pkg/kubelet/server/server.go ListenAndServe...: an address in use ends the kubelet, or healthz is not served.
    main, health = config.text("address"), config.text("healthzBindAddress")
    served = {"port": main, "readOnlyPort": main, "healthzPort": health}
    seen: dict[int, str] = {}
    for field, address in served.items():
        number = config.number(field) or 0
        other = seen.setdefault(number, field)
        if number > 0 and other != field and short_texts.overlap(address, served[other]):
            yield field, f"{other} is {number} too, and one of the two servers cannot listen", "Use another port."


def _iptables_bits(config: EffectiveConfig) -> Iterator[Finding]:
    # pkg/kubelet/kubelet.go NewMainKubelet of 1.27
    mark = config.number("iptablesMasqueradeBit")
    if config.truth("makeIPTablesUtilChains") and mark is not None and mark == config.number("iptablesDropBit"):
        message = "iptables-masquerade-bit and iptables-drop-bit must be different"
        yield "iptablesMasqueradeBit", message, "Use another bit from 0 to 31."


def _user_namespaces(config: EffectiveConfig) -> Iterator[Finding]:
    # pkg/kubelet/userns/userns_manager.go MakeUserNsManager; up to 1.34 without a look at the gate
    if config.minor >= 35 and not config.gate("UserNamespacesSupport"):
        return
    given = config.number("userNamespaces.idsPerPod") or 0
    # Validation reports others.
    ids = given if config.minor >= 33 and _IDS_PER_POD <= given < 2**32 else _IDS_PER_POD
    # The first ones are those of the host.
    most = 2**32 // ids - 1
    if (config.number("maxPods") or 0) > most:
        message = f"user namespaces of {ids} IDs are enough for {most} pods, and the kubelet ends"
        yield "maxPods", message, f"Give {most} or less."


def _ids_per_pod(config: EffectiveConfig) -> Iterator[Finding]:
    # As above. The kubelet of 1.33 and 1.34 takes the default range of IDs, which begins at 65536.
    given = config.number("userNamespaces.idsPerPod")
    if given and given != _IDS_PER_POD:
        message = f"the kubelet ends with {given}, unless its node has a user kubelet with sub-IDs of its own"
        remedy = "Give that user sub-IDs that begin at a multiple of idsPerPod, or leave it out."
        yield "userNamespaces.idsPerPod", message, remedy


def _enforced(config: EffectiveConfig) -> Iterator[Finding]:
    # pkg/kubelet/cm/node_container_manager_linux.go enforceExistingCgroup: no limits without a reservation
    for value in config.texts("enforceNodeAllocatable"):
        cgroup, reservation = _ENFORCED.get(value.replace("-compressible", ""), ("", ""))
        # Validation reports a cgroup that is not set. With reserved CPUs, the kubelet fills in systemReserved itself.
        if cgroup and config.text(cgroup) and not config.value(reservation) and not config.text("reservedSystemCPUs"):
            message = f"the kubelet ends, since {value} is enforced and {reservation} reserves nothing"
            yield "enforceNodeAllocatable", message, f"Set {reservation}, or remove {value}."


def _cpu_order(config: EffectiveConfig) -> Iterator[Finding]:
    # k8s.io/utils/cpuset Parse; before 1.27 cm/cpuset: no CPU is reserved, and the kubelet panics (seen with 1.20)
    for one in config.cpus("reservedSystemCPUs"):
        if one.first > one.last:
            message = f"the range {one.first}-{one.last} runs backwards, and a kubelet ends"
            yield "reservedSystemCPUs", message, f"Write {one.last}-{one.first}."


def _cpu_numbers(config: EffectiveConfig) -> Iterator[Finding]:
    # cmd/kubelet/app/server.go getReservedCPUs. The kubelet lists every CPU of a range before it looks at the machine.
    for one in config.cpus("reservedSystemCPUs"):
        if max(one) >= _MOST_CPUS:
            message = f"no machine has a CPU {max(one)}, and no kubelet starts without a CPU that it must reserve"
            yield "reservedSystemCPUs", message, "Name CPUs of this node: see /sys/devices/system/cpu/online there."


FATAL = (
    Rule("tls-http2", 0, None, _http2),
    # Which Go a distribution builds with differs.
    Rule("tls-http2-order", 0, 23, _http2_of_old_go, sure=False),
    Rule("system-cgroups-root", 0, None, _root_cgroup),
    Rule("frequency", 0, None, _frequencies),
    Rule("runtime-endpoint", 27, None, _endpoints),
    Rule("same-port", 0, None, _ports),
    Rule("iptables-bits", 0, 27, _iptables_bits),
    Rule("user-namespaces", 30, None, _user_namespaces),
    Rule("ids-of-user", 33, 34, _ids_per_pod, sure=False),
    Rule("enforced-reservation", 0, None, _enforced),
    Rule("reserved-cpus-order", 17, None, _cpu_order),
    Rule("reserved-cpus-number", 17, None, _cpu_numbers),
)
"""What ends the kubelet after its validation."""
HIDES = "hides-kubelet"
NO_SERVER = "enableServer"
_SERVED = {NO_SERVER: "nothing", "enableDebuggingHandlers": "no /configz, logs or exec"}
"""What a kubelet serves with a field that is false (pkg/kubelet/server/server.go NewServer)."""
NAMES = frozenset((*(rule.name for rule in FATAL), HIDES, "tls-pair"))
"""The identifiers of all rules here."""


def hidden(config: EffectiveConfig) -> Iterator[Problem]:
    """Yield a refusal for each value with which the kubelet runs and no user can ask it.

    A rollout has no proof then, nor has the next plan a live configuration. `kubectl logs` and `exec` fail too.
    """
    for field, served in _SERVED.items():
        if config.truth(field) is False:
            remedy = f"Leave {field} out, set it to true, or accept another proof: kubelet_config_allow_hidden: true."
            yield _hides(field, f"false: the kubelet serves {served} then", remedy)
    x509, address = config.value("authentication.x509"), config.text("address")
    if short_texts.is_loopback(address):
        why = f"{address}: the API server does not reach the kubelet at a loopback address"
        remedy = (
            "Write 0.0.0.0 or the address of this node, or let its host ask the kubelet: kubelet_config_read: node."
        )
        yield _hides("address", why, remedy)
    # cmd/kubelet/app/auth.go BuildAuthn
    if isinstance(x509, dict) and not config.text(CLIENT_CA) and not config.truth("authentication.anonymous.enabled"):
        yield _hides(CLIENT_CA, "empty: the kubelet knows no certificate of the API server", "Name the cluster's CA.")
    yield from _half_pair(config)


def unread_by(config: Mapping[str, Any] | None) -> str:
    """Return the field of a configuration with which its kubelet serves no /configz, empty if it serves one."""
    given = config or {}
    return next((field for field in _SERVED if given.get(field) is False), "")


def accepted(rows: list[dict[str, str]], read_on_host: bool, allow_hidden: bool) -> list[dict[str, str]]:
    """Return rows of problems with a warning for each refused value that hides a kubelet and that may.

    ``read_on_host``: the host of the node asks its kubelet. ``allow_hidden``: what its status shows is proof enough.
    """
    if not any(row["rule"] == HIDES for row in rows):
        # Equal nodes share them.
        return rows
    known = {"address": _ON_HOST} if read_on_host else {}
    if allow_hidden:
        known.update({field: _by_status(field) for field in _SERVED})
    return [known.get(row["path"], row) if row["rule"] == HIDES else row for row in rows]


def _by_status(field: str) -> dict[str, str]:
    cause = f"false: the kubelet serves {_SERVED[field]} then. Its status and its heartbeat have to show that it worked"
    return Problem(WARNING, field, cause, "Roll it back or reset the node before you plan another change.", HIDES).row()


_ON_HOST = Problem(
    WARNING,
    "address",
    "only its own host reaches the kubelet at a loopback address: kubectl logs, exec and metrics do not work",
    "Keep kubelet_config_read: node for this node.",
    HIDES,
).row()


def _hides(path: str, cause: str, remedy: str) -> Problem:
    return Problem(REFUSAL, path, f"{cause}, so that a rollout has no proof and a plan no live values", remedy, HIDES)


def _half_pair(config: EffectiveConfig) -> Iterator[Problem]:
    # cmd/kubelet/app/server.go InitializeTLS, pkg/kubelet/kubelet.go NewMainKubelet. 1.20 ends; 1.36 serves, and every
    # TLS handshake fails. With serverTLSBootstrap, versions differ.
    if config.truth("serverTLSBootstrap"):
        return
    for field, other in (("tlsCertFile", "tlsPrivateKeyFile"), ("tlsPrivateKeyFile", "tlsCertFile")):
        name = config.text(field)
        if name and not config.text(other):
            cause = f"{name} without {other}: the kubelet ends, or refuses every connection"
            yield Problem(REFUSAL, field, cause, f"Set {other} too, or leave both out.", "tls-pair")
