# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The items of security benchmarks that concern a kubelet, as data, and the layer that a profile declares.

Numbers are those of the CIS Kubernetes Benchmark 1.12, section 4, and of the Kubernetes STIG of DISA, version 2 release
6. Titles and values are ours. What a site must choose itself, such as certificates, is only checked.
"""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Sequence

from ..fields import overlay
from ..fields.fields import NEWEST_MINOR
from ..values import paths
from ..values.document import DocumentError

FIELD, FLAG, FILE = "field", "flag", "file"
IS, NOT, GIVEN, ABSENT, AMONG, ABOVE, DURATION = ("is", "not", "given", "absent", "among", "above", "duration")
SITE_FILE, GATE, MODE, OWNER, BY_HAND = ("site file", "gate", "mode", "owner", "by hand")
"""The rules: verdicts.py applies them."""
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
    fields = []
    for name in names:
        for item in PROFILES[name]:
            if item.sets is not None and item.is_of(minor or NEWEST_MINOR):
                fields.append(_nested(item.of, item.sets))
    return overlay.compose(fields)


def _nested(path: str, value: Any) -> dict[str, Any]:
    for key in reversed(paths.parse(path)):
        value = {key: value}
    found: dict[str, Any] = value
    return found
