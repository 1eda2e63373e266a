# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Good ones of what the parsers read."""

from __future__ import annotations

import json
import typing as t

import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.store import trial
from tests.support.texts import kubelet_logs

SOURCE = {"namespace": "kube-system", "name": "c", "uid": "u1", "resourceVersion": "1", "kubeletConfigKey": "kubelet"}
CONFIG = {
    "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "maxPods": 110,
    "healthzPort": 10248,
    "healthzBindAddress": "127.0.0.1",
    "address": "0.0.0.0",
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
    "clusterDNS": ["10.96.0.10"],
    "staticPodURLHeader": {"Authorization": ["planted"]},
    "syncFrequency": "1m0s",
}
WHOLE = {
    **CONFIG,
    "authentication": {"x509": {"clientCAFile": "/ca"}, "webhook": {"enabled": True, "cacheTTL": "0s"}},
    "kubeReserved": {"cpu": "100m"},
    "featureGates": {"MemoryQoS": True},
    "reservedMemory": [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
    "shutdownGracePeriodByPodPriority": [{"priority": 1, "shutdownGracePeriodSeconds": 2}],
    "logging": {"format": "text", "flushFrequency": 5},
    "cpuManagerPolicy": "static",
    "reservedSystemCPUs": "0-1",
    "allowedUnsafeSysctls": ["a*"],
    "enforceNodeAllocatable": ["pods"],
}
YAML = """kind: KubeletConfiguration
apiVersion: kubelet.config.k8s.io/v1beta1
maxPods: 110   # all of them
healthzPort: "10248"
evictionHard:
  memory.available: 100Mi
clusterDNS:
- 10.96.0.10
staticPodURLHeader: {Authorization: [planted]}
"""
UNIT = r"""[Unit]
Description=kubelet
[Service]
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml" 'B=a b'
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet --a="b \x41 \u00e9 \101" \
  $KUBELET_CONFIG_ARGS ${B} %% \
# a comment
  --c
Restart=always
"""
LOADED = r"""a(sasbttttuii) 1 "/k" 3 "/k" "$A" "--b=\303\274\"" false 0 0 0 0 0 0 0
as 1 "A=b c"
a(sb) 1 "/etc/default/kubelet" true
"""
SHOWN = """Id=kubelet.service
Type=simple
LoadState=loaded
FragmentPath=/unit
ActiveState=active
SubState=running
InvocationID=ab
NRestarts=0
MainPID=0
ExecMainStartTimestampMonotonic=12
ExecStart={ path=/usr/bin/kubelet ; argv[]=/usr/bin/kubelet --a ; ignore_errors=no ; }
Environment="A=b c" D=e
EnvironmentFiles=/etc/default/kubelet (ignore_errors=yes)
"""
ENVIRONMENT = "# ours\nKUBELET_EXTRA_ARGS=--max-pods=61 --node-labels='a=b'\nexport X=1\nY=\"a\\\nb\" 'c'\n"
USERS: tuple[dict[str, t.Any], ...] = (
    {"token": "t"},
    {"client-certificate": "/none", "client-key": "/none"},
    {"exec": {"command": "p", "args": ["a"], "env": [{"name": "a", "value": "b"}], "provideClusterInfo": True}},
)


def kubeconfig(user: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return a kubeconfig with this user, as JSON has it."""
    return {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://127.0.0.1:9", "insecure-skip-tls-verify": True}}],
        "users": [{"name": "u", "user": user}],
    }


PAIR = {"client-certificate-data": "YQ==", "client-key-data": "YQ=="}
AUTHORITY = "certificate-authority-data: YQ=="
KUBECONFIG = yaml.safe_dump(kubeconfig(PAIR)).replace("insecure-skip-tls-verify: true", AUTHORITY)


# The beginning of a certificate as openssl writes it: issuer, validity, subject.
DER = (
    b"\x30\x82\x01\x00\x06\x03\x55\x04\x03\x0c\x02ca\x30\x1e\x17\x0d260101000000Z\x17\x0d270101000000Z"
    b"\x06\x03\x55\x04\x03\x0c\x0esystem:node:n1"
)
METRICS = (
    "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 1.70000000012e+09\n"
    "kubelet_pleg_relist_interval_seconds_sum 407.70496115200007\n"
)
SUMMARY = {
    "node": {
        "memory": {"availableBytes": 1, "workingSetBytes": 2},
        "fs": {"availableBytes": 1, "capacityBytes": 2, "inodesFree": 1, "inodes": 2},
        "runtime": {"imageFs": {"availableBytes": 1, "capacityBytes": 2}},
        "rlimit": {"maxpid": 5, "curproc": 1},
        "systemContainers": [{"name": "pods", "memory": {"workingSetBytes": 1}}],
    },
    "pods": [
        {
            "podRef": {"namespace": "default", "name": "a"},
            "memory": {"workingSetBytes": 1},
            "process_stats": {"process_count": 1},
            "ephemeral-storage": {"usedBytes": 1, "inodesUsed": 1},
            "containers": [{"rootfs": {"usedBytes": 1}, "memory": {"workingSetBytes": 1}}],
        }
    ],
}
POD = {"metadata": {"namespace": "default", "name": "a"}, "spec": {"containers": [{"name": "main"}]}}
STATUS = {
    "assigned": {"configMap": SOURCE},
    "active": {"configMap": SOURCE},
    "error": "e",
    "started": "2026-01-01T00:00:00Z",
}
RECORD = {"source": "c", "absent": ["maxPods"], "own": {"maxPods": [110], "eventBurst": []}, "complete": True}
CAUSES = [{"reason": "DisruptionBudget", "message": "m"}]
REFUSAL = {"kind": "Status", "message": "m", "reason": "TooManyRequests", "details": {"causes": CAUSES}}
TRIAL = json.loads(trial.Trial(SOURCE, None, trial.Moment("b1", 1.0, 2.0)).encode())
LOGS = tuple(case[1] for case in kubelet_logs.CASES)
