# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Configurations that pass the validation of a kubelet and then end it or hide it, and their neighbours that do not.

Each was started with the kubelet v1.36.2 on a machine with two CPUs and cgroup v1. A unit test compares the rules of
the plan with these tables, `tests/e2e_modern/test_kubelet_answers.py` compares the kubelet of a node with them.
`tests/e2e_node/test_kubelet_answers.py` compares an older kubelet with the rules of its minor.
"""

from __future__ import annotations

import typing as t

Fields = dict[str, t.Any]

STATIC_MEMORY: Fields = {
    "memoryManagerPolicy": "Static",
    "kubeReserved": {"memory": "400Mi"},
    "evictionHard": {"memory.available": "100Mi"},
}
RSA_ONLY = ["TLS_RSA_WITH_AES_128_GCM_SHA256"]
HALF_GIBIBYTE: Fields = {
    "kubeReserved": {"memory": "412Mi"},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "0.5Gi"}}],
}
BY_SOCKET: Fields = {
    "cpuManagerPolicy": "static",
    "kubeReserved": {"cpu": "100m"},
    "cpuManagerPolicyOptions": {"align-by-socket": "true"},
    "featureGates": {"CPUManagerPolicyAlphaOptions": True},
    "topologyManagerPolicy": "single-numa-node",
}
NO_CLIENT_CA: Fields = {"anonymous": {"enabled": False}, "webhook": {"enabled": True}, "x509": {"clientCAFile": ""}}
PATTERN_POLICY = {"imagePullCredentialsVerificationPolicy": "NeverVerifyAllowlistedImages"}


def memory(numa_node: int = 0, **limits: str) -> Fields:
    """Return a Static memory manager with a reservation of memory, and of what is given."""
    named = {name.replace("_", "-"): amount for name, amount in limits.items()}
    return {**STATIC_MEMORY, "reservedMemory": [{"numaNode": numa_node, "limits": {"memory": "500Mi", **named}}]}


def images(*patterns: str) -> Fields:
    """Return a pull policy with these image patterns."""
    return {**PATTERN_POLICY, "preloadedImagesVerificationAllowlist": list(patterns)}


def enforced(what: str, **fields: t.Any) -> Fields:
    """Return a configuration that enforces a reservation."""
    return {"cgroupsPerQOS": True, "enforceNodeAllocatable": ["pods", what], **fields}


ENDS: tuple[tuple[Fields, str], ...] = (
    ({"tlsCipherSuites": RSA_ONLY}, "tls-http2"),
    ({"tlsCipherSuites": ["TLS_AES_128_GCM_SHA256"]}, "tls-http2"),
    ({"tlsCurvePreferences": [29, 99]}, "tls-curve"),
    ({"systemCgroups": "/", "cgroupRoot": "/"}, "system-cgroups-root"),
    ({"containerLogMaxSize": "0.5Gi"}, "log-size"),
    ({"containerLogMaxSize": "1.5Ki"}, "log-size"),
    ({"containerLogMaxSize": "100000Gi"}, "log-size"),
    ({"containerLogMaxSize": "10.0"}, "log-size"),
    ({"allowedUnsafeSysctls": ["kernel.msgmn*"]}, "sysctl"),
    ({"allowedUnsafeSysctls": ["kernel.shm_next_id"]}, "sysctl"),
    ({"maxPods": 65536}, "user-namespaces"),
    ({"userNamespaces": {"idsPerPod": 2**26}}, "user-namespaces"),
    (BY_SOCKET, "cpu-policy-options"),
    ({"syncFrequency": "-1s"}, "frequency"),
    ({"fileCheckFrequency": "-1s", "staticPodPath": "/etc/kubernetes/manifests"}, "frequency"),
    ({"runtimeRequestTimeout": "-1s"}, "frequency"),
    ({"containerRuntimeEndpoint": "tcp://127.0.0.1:1"}, "runtime-endpoint"),
    ({"containerRuntimeEndpoint": "npipe://x"}, "runtime-endpoint"),
    ({"imageServiceEndpoint": "tcp://127.0.0.1:1"}, "runtime-endpoint"),
    ({"readOnlyPort": 10250}, "same-port"),
    ({"address": "fe80::1%lo"}, "address"),
    ({"memoryManagerPolicy": "BestEffort"}, "memory-policy"),
    (memory(hugepages_2Mi="2Mi"), "static-memory"),
    (memory(-1), "static-memory"),
    (dict(STATIC_MEMORY, **HALF_GIBIBYTE), "static-memory"),
    (enforced("system-reserved", systemReservedCgroup="/system"), "enforced-reservation"),
    (enforced("kube-reserved", kubeReservedCgroup="/kube"), "enforced-reservation"),
    (enforced("kube-reserved-compressible", kubeReservedCgroup="/kube"), "enforced-reservation"),
    ({"reservedSystemCPUs": "3-1"}, "reserved-cpus-order"),
    ({"reservedSystemCPUs": "70000"}, "reserved-cpus-number"),
    (images("example.com/a:1"), "image-patterns"),
    (images("*.example.com/a"), "image-patterns"),
    (images("example.com/*/a"), "image-patterns"),
    (images("/*"), "image-patterns"),
    (images(" example.com/a"), "image-patterns"),
    (images(""), "image-patterns"),
    (images("example.com/A"), "image-patterns"),
    (images(f"example.com/a@sha256:{'0' * 64}"), "image-patterns"),
)
"""What ends the kubelet, and the rule about it."""

HIDES: tuple[tuple[Fields, str], ...] = (
    ({"enableServer": False}, "hides-kubelet"),
    ({"enableDebuggingHandlers": False}, "hides-kubelet"),
    ({"address": "127.0.0.1"}, "hides-kubelet"),
    ({"authentication": NO_CLIENT_CA}, "hides-kubelet"),
    ({"port": 10248}, "same-port"),
    ({"healthzPort": 10250}, "same-port"),
    ({"tlsCertFile": "/etc/hostname"}, "tls-pair"),
    ({"tlsPrivateKeyFile": "/etc/hostname"}, "tls-pair"),
)
"""What lets the kubelet run, and closes the way to its /configz or its healthz."""

OLDER: tuple[tuple[Fields, str], ...] = (({"iptablesMasqueradeBit": 15}, "iptables-bits"),)
"""What ended the kubelet v1.20.2, and no new one."""

STARTS: tuple[Fields, ...] = (
    {"tlsCipherSuites": RSA_ONLY, "tlsMinVersion": "VersionTLS13"},
    {"tlsCipherSuites": ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"]},
    {"tlsCipherSuites": ["TLS_RSA_WITH_AES_128_CBC_SHA", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]},
    {"tlsCipherSuites": []},
    {"tlsCurvePreferences": [29, 4588]},
    # The node's own file has a folder of static pods.
    {"fileCheckFrequency": "-1s", "staticPodPath": ""},
    {"httpCheckFrequency": "-1s"},
    {"nodeStatusUpdateFrequency": "-1s"},
    {"volumeStatsAggPeriod": "-1s"},
    {"readOnlyPort": 10255},
    {"containerLogMaxSize": "-1"},
    {"containerLogMaxSize": "10.5M"},
    {"containerLogMaxSize": "99999Gi"},
    {"allowedUnsafeSysctls": ["kernel.msg*", "kernel.shm_rmid_forced", "kernel.sem*", "net.core.*", "fs/mqueue/*"]},
    {"maxPods": 65535},
    {"userNamespaces": {"idsPerPod": 2**25}},
    {"authentication": {**NO_CLIENT_CA, "anonymous": {"enabled": True}}, "authorization": {"mode": "AlwaysAllow"}},
    {"clusterDNS": ["10.096.0.10"]},
    {"healthzBindAddress": "localhost"},
    {"reservedSystemCPUs": "0-1"},
    {"systemReserved": {"pid": "99999999999"}},
    {"evictionSoft": {"memory.available": "80Gi"}, "evictionSoftGracePeriod": {"memory.available": "1h"}},
    {"memoryManagerPolicy": "None", "reservedMemory": [{"numaNode": 0, "limits": {"hugepages-2Mi": "2Mi"}}]},
    memory(),
    images("example.com/a", "example.com/team/*", "localhost:5000/a", "a"),
)
"""What starts all the same."""
