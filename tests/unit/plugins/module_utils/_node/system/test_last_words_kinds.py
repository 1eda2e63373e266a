# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Every error that ends a kubelet 1.36 while it starts, from its sources, and what it is evidence of.

A row is the file that the error is from, the error as far as it matters, and its kind. Older words of it follow.
"""

from __future__ import annotations

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.guard import evidence
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system import last_words
from tests.support.texts.kubelet_logs import new

RUN = "failed to run Kubelet: "
MAIN = f"{RUN}failed to create kubelet: "
START = "Failed to start ContainerManager: "
BUILD = "failed to construct kubelet dependencies: "
STATE = "could not restore state from checkpoint: "
DRAIN = "please drain this node and delete the CPU manager checkpoint file"
MISSING = "no such file or directory"
HTTP2 = (
    "http2: TLSConfig.CipherSuites is missing an HTTP/2-required AES_128_GCM_SHA256 cipher (need at least one of "
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 or TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256)"
)

SERVER, OPTIONS, AUTH = "cmd/kubelet/app/server.go", "cmd/kubelet/app/options/options.go", "cmd/kubelet/app/auth.go"
FLAGS, GATES = "component-base/cli/flag", "component-base/featuregate/feature_gate.go"
KUBELET, HTTP = "pkg/kubelet/kubelet.go", "pkg/kubelet/server/server.go"
MANAGER, ALLOCATABLE = "pkg/kubelet/cm/container_manager_linux.go", "pkg/kubelet/cm/node_container_manager_linux.go"
CPU, MEMORY, TOPOLOGY = "pkg/kubelet/cm/cpumanager", "pkg/kubelet/cm/memorymanager", "pkg/kubelet/cm/topologymanager"
EVICTION, USERNS = "pkg/kubelet/eviction/helpers.go", "pkg/kubelet/userns/userns_manager.go"
CERTIFICATE, CRI = "pkg/kubelet/certificate", "cri-client/pkg"
FILES, CADVISOR = "pkg/kubelet/kubeletconfig/configfiles", "pkg/kubelet/cadvisor/cadvisor_linux.go"
RUNTIME_MANAGER = "pkg/kubelet/kuberuntime/kuberuntime_manager.go"
DYNAMIC = "apiserver/pkg/server/dynamiccertificates"

ROWS: tuple[tuple[str, str, str], ...] = (
    # The command line.
    (SERVER, "failed to parse kubelet flag: unknown flag: --nosuch", "flag"),
    (SERVER, "unknown command rubbish", "flag"),
    (FLAGS, "failed to parse kubelet flag: malformed pair, expect string=string", "flag"),
    (FLAGS, "flag needs an argument: --v", "flag"),
    (FLAGS, 'invalid argument "x" for "--max-pods" flag: strconv.ParseInt', "flag"),
    (FLAGS, "bad flag syntax: --=x", "flag"),
    (SERVER, "failed to precedence kubeletConfigFlag: strconv.ParseInt: parsing", "flag"),
    (OPTIONS, "failed to validate kubelet flags: invalid node labels: '_' - name part must consist of", "flag"),
    (OPTIONS, "unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [kubernetes.io/x]", "flag"),
    (OPTIONS, f"{RUN}unknown 'kubernetes.io' or 'k8s.io' labels specified with --node-labels: [k8s.io/x]", "flag"),
    (SERVER, f"{RUN}cannot exit on lock file contention: no lock file specified", "flag"),
    (SERVER, f'{RUN}bad --node-ip "1.2.3": could not parse "1.2.3"', "flag"),
    (SERVER, f'{RUN}unable to acquire file lock on "/run/lock": resource temporarily unavailable', ""),
    (KUBELET, f'{MAIN}invalid root directory ""', "flag"),
    (KUBELET, f"{MAIN}cloud provider \"aws\" was specified, but built-in cloud providers are disabled", "flag"),
    (KUBELET, f'{RUN}could not init cloud provider "x": unknown cloud provider "x"', "flag"),
    (KUBELET, f'{RUN}could not init cloud provider "aws": error finding instance i-1: RequestCanceled', ""),
    ("pkg/kubelet/container/container_gc.go", f"{MAIN}invalid minimum garbage collection age: -1s", "flag"),
    (KUBELET, "Failed to initialize internal modules: rootDirectory not in canonical form: expected /a", "flag"),
    # Feature gates.
    (GATES, "failed to set feature gates from initial flags-based config: unrecognized feature gate: NoSuch", "gate"),
    (GATES, f"{RUN}cannot set feature gate A to false, feature is locked to true", "gate"),
    (GATES, f"{RUN}cannot set feature gate A to true, feature is PreAlpha at emulated version 1.36", "gate"),
    (GATES, f"{RUN}A is enabled, but depends on features that are disabled: [B]", "gate"),
    (GATES, 'invalid argument "A=x" for "--feature-gates" flag: invalid value of A: x, err: strconv.ParseBool', "gate"),
    (GATES, "failed to set feature gates from initial flags-based config: x", "gate"),
    (GATES, "panic: failed to merge global and in-flight KubeletConfiguration while setting defaults: x", "gate"),
    (SERVER, f'{RUN}topology manager policy options map[] require feature gates "TopologyManagerPolicy" on', "gate"),
    (CPU, f'{RUN}CPU Manager policy options map[] require feature gates "CPUManager", "B" enabled', "gate"),
    # The config file.
    (FILES, f'failed to load kubelet config file, path: /kubeconfig/k, error: open /kubeconfig/k: {MISSING}', "file"),
    (FILES, "failed to load kubelet config file, path: /k: quantities must match the regular expression", "validation"),
    (FILES, "failed to merge kubelet configs: failed to walk through kubelet dropin directory \"/x\"", "file"),
    # Values.
    ("component-base/logs/api/v1/options.go", "initialize logging: verbosity: Must be <= 2147483647", "validation"),
    ("component-base/logs/options.go", "unsupported log format: x", "validation"),
    ("component-base/metrics", "--show-hidden-metrics-for-version must be omitted or have the value", "validation"),
    ("pkg/kubelet/apis/config/validation", "can't use reservedSystemCPUs with systemReservedCgroup", "validation"),
    ("pkg/kubelet/apis/config", f"{RUN}kubelet is configured to not run on a host using cgroup v1", "validation"),
    ("component-base/logs/api", 'initialize logging: format: Invalid value: "x": Unsupported log format', "validation"),
    ("pkg/kubelet/apis/config", "failed to validate kubelet configuration, error: invalid taint: x", "validation"),
    (FLAGS, f"{BUILD}Cipher suite TLS_X not supported or doesn't exist", "validation"),
    (FLAGS, "Failed to construct kubelet dependencies: Cipher suite TLS_X not supported", "validation"),
    (FLAGS, "Cipher suite TLS_X not supported or doesn't exist", "validation"),
    (FLAGS, f'{BUILD}unknown tls version "VersionTLS19"', "validation"),
    (FLAGS, 'unknown tls version "VersionTLS19"', "validation"),
    (FLAGS, f"{BUILD}curve preference 7 is not supported by the current Go version", "validation"),
    (FLAGS, f"{BUILD}duplicate curve preference 29", "validation"),
    (SERVER, f"{RUN}unable to parse reserved-cpus list: strconv.Atoi: parsing \"a\": invalid syntax", "validation"),
    (SERVER, f"{RUN}reserved-cpus: 0-99 is not a subset of online-cpus: 0-3", "validation"),
    (SERVER, f"{RUN}unable to discover CPU topology info: could not detect number of cpus", ""),
    (SERVER, f'{RUN}--kube-reserved value failed to parse: cannot reserve "gpu" resource', "validation"),
    (SERVER, f'{RUN}cannot reserve "gpu" resource', "validation"),
    (SERVER, f'{RUN}resource quantity for "cpu" cannot be negative: -1', "validation"),
    (SERVER, f"{RUN}--qos-reserved value failed to parse: only 'memory' is supported", "validation"),
    (SERVER, f"{RUN}swap feature is enabled and LimitedSwap but it is only supported with cgroupv2", "validation"),
    (EVICTION, f"{RUN}unsupported eviction signal memory.free", "validation"),
    (EVICTION, f"{RUN}eviction percentage threshold memory.available must be <= 100%: 120%", "validation"),
    (EVICTION, f"{RUN}eviction threshold memory.available must be positive: -1Gi", "validation"),
    (EVICTION, f"{RUN}unable to parse quantity's suffix", "validation"),
    (EVICTION, f'{RUN}strconv.ParseFloat: parsing "a": invalid syntax', "validation"),
    (EVICTION, f"{MAIN}grace period must be specified for the soft eviction threshold memory.available", "validation"),
    (EVICTION, f"{MAIN}invalid eviction grace period specified: -1m, must be a positive value", "validation"),
    (EVICTION, f'{MAIN}time: invalid duration "x"', "validation"),
    (EVICTION, f"{MAIN}time: missing unit in duration 90", "validation"),
    (EVICTION, f"{MAIN}eviction percentage minimum reclaim memory.available must be positive: -1%", "validation"),
    (EVICTION, f"{MAIN}negative eviction minimum reclaim specified for memory.available", "validation"),
    (AUTH, f"{RUN}no client provided, cannot use webhook authentication", "validation"),
    (AUTH, f"{RUN}no client provided, cannot use webhook authorization", "validation"),
    (AUTH, f"{RUN}no authorization mode specified", "validation"),
    (AUTH, f"{RUN}unknown authorization mode RBAC", "validation"),
    ("client-go/kubernetes/clientset.go", f"{RUN}failed to initialize kubelet client: burst is required to be greater "
     "than 0 when RateLimiter is not set and QPS is set to greater than 0", "validation"),
    (KUBELET, f"{MAIN}pod logs root directory is empty", "validation"),
    (KUBELET, f"{MAIN}invalid sync frequency -1", "validation"),
    (KUBELET, f"{MAIN}unknown configmap and secret manager mode: x", "validation"),
    ("pkg/kubelet/logs", f"{MAIN}failed to initialize container log manager: invalid MaxFiles 1", "validation"),
    ("pkg/kubelet/images", f"{MAIN}failed to initialize image manager: LowThresholdPercent 90 can not be higher than "
     "HighThresholdPercent 80", "validation"),
    ("pkg/kubelet/images/pullmanager", f"{MAIN}unknown image pull credential verification policy: x", "validation"),
    ("pkg/kubelet/sysctl", f'{MAIN}the sysctls "vm.x" are not known to be namespaced', "validation"),
    ("pkg/kubelet/sysctl", f'{MAIN}sysctl "-" must have at most 253 characters and match regex', "validation"),
    (USERNS, f"{MAIN}create user namespace manager: kubelet user assigned IDs are not enough", "validation"),
    (USERNS, f"{MAIN}create user namespace manager: kubelet user namespace length 7 is not a multiple", "validation"),
    (USERNS, f"{MAIN}create user namespace manager: record pod mappings: wrong user namespace length 5", "validation"),
    (USERNS, f"{MAIN}create user namespace manager: kubelet mappings: mismatched subuids and subgids", ""),
    ("time/tick.go", "panic: non-positive interval for NewTicker", "validation"),
    ("pkg/kubelet/cm", "panic: error converting cgroup name [a-b] to systemd format: x", "validation"),
    # Values that do not fit this machine.
    (MANAGER, f"{RUN}running with swap on is not supported, please disable swap or set --fail-swap-on", "validation"),
    (MANAGER, f"{RUN}failed to determine if swap is on: open /proc/swaps: permission denied", ""),
    (MANAGER, f"{RUN}failed to get mounted cgroup subsystems: failed to find cgroup mounts", ""),
    (MANAGER, f'{RUN}invalid configuration: cgroup ["pods"] has some missing controllers: cpu', "validation"),
    (MANAGER, f"{RUN}invalid configuration: cgroup [] has some missing controllers: cpu", ""),
    (MANAGER, f"{START}[invalid kernel flag: kernel/panic, expected value: 10, actual value: 0]", "validation"),
    (MANAGER, "Failed to start ContainerManager [invalid kernel flag: vm/panic_on_oom, expected value: 0, actual "
     "value: 1]", "validation"),
    (MANAGER, f"{START}[open /proc/sys/kernel/panic: read-only file system, open /proc/sys/vm/overcommit_memory: "
     f"{MISSING}]", ""),
    (MANAGER, f'{START}system container cannot be root ("/")', "validation"),
    (MANAGER, f"{START}system validation failed - Following Cgroup subsystem not mounted: [memory]", ""),
    (MANAGER, f"{START}failed to initialize top level QOS containers: root container [kubepods] doesn't exist", ""),
    (MANAGER, f"{START}failed to get rootfs info: unable to find data in memory cache", ""),
    (ALLOCATABLE, f'{START}Failed to enforce System Reserved Cgroup Limits on "/sys": ["sys"] not there', "validation"),
    (ALLOCATABLE, f'{START}Failed to enforce Kube Reserved Cgroup Limits on "/kube": x', "validation"),
    (ALLOCATABLE, f'{START}Failed to enforce Kube Reserved Compressible Cgroup Limits on "/kube": x', "validation"),
    (ALLOCATABLE, f'{START}invalid Node Allocatable configuration. Resource "memory"', "validation"),
    (TOPOLOGY, f'{RUN}unknown policy: "best"', "validation"),
    (TOPOLOGY, f'{RUN}unknown scope: "node"', "validation"),
    (TOPOLOGY, f'{RUN}unknown Topology Manager Policy option: "x"', "validation"),
    (TOPOLOGY, f'{RUN}topology manager policy alpha-level options not enabled, but option "x" provided', "validation"),
    (TOPOLOGY, f'{RUN}bad value for option "prefer-closest-numa-nodes": strconv.ParseBool: parsing "x"', "validation"),
    (TOPOLOGY, f'{RUN}unable to convert policy option to integer "max-allowable-numa-nodes": x', "validation"),
    (TOPOLOGY, f'{RUN}the minimum value of "max-allowable-numa-nodes" should not be less than 8', "validation"),
    (TOPOLOGY, f"{RUN}unsupported on machines with more than 8 NUMA Nodes", "validation"),
    (TOPOLOGY, f"{RUN}cannot discover NUMA topology: error getting NUMA distances from cadvisor", ""),
    (CPU, f"{RUN}[cpumanager] unable to determine reserved CPU resources for static policy", "validation"),
    (CPU, "panic: [cpumanager] unable to determine reserved CPU resources for static policy", "validation"),
    (CPU, f"{RUN}[cpumanager] the static policy requires systemreserved.cpu + kubereserved.cpu", "validation"),
    (CPU, f'{RUN}new static policy error: unknown CPU Manager Policy option: "x"', "validation"),
    (CPU, f"{RUN}new none policy error: None policy: received unsupported options=map[x:true]", "validation"),
    (CPU, f"{RUN}[cpumanager] unable to reserve the required amount of CPUs (size of 0 did not equal 2)", "validation"),
    (CPU, f'{START}start cpu manager error: {STATE}configured policy "static" differs from state checkpoint policy '
     f'"none", {DRAIN}', "file"),
    (CPU, f'{START}start cpu manager error: not all reserved cpus: "0-1" are present in defaultCpuSet: "1-3"', "file"),
    (CPU, f'{START}start cpu manager error: some of strictly reserved cpus: "0" are present in defaultCpuSet', "file"),
    (CPU, f"{START}start cpu manager error: {STATE}checkpoint is corrupted, {DRAIN}", ""),
    (CPU, f'{START}start cpu manager error: current set of available CPUs "0-7" doesn\'t match with CPUs', ""),
    (CPU, f"{START}start cpu manager error: default cpuset cannot be empty", ""),
    (MEMORY, f'{RUN}the total amount "1Gi" of type "memory" is not equal to the value "2Gi" determined by Node '
     "Allocatable feature", "validation"),
    (MEMORY, f"{RUN}the reserved memory configuration references a NUMA node 9 that does not exist", "validation"),
    (MEMORY, f"{RUN}[memorymanager] you should specify the system reserved memory", "validation"),
    (MEMORY, f'{START}start memory manager error: {STATE}[memorymanager] configured policy "Static" differs from '
     'state checkpoint policy "None"', "file"),
    (MEMORY, f"{START}start memory manager error: [memorymanager] the expected machine state is different", ""),
    # The state of this kubelet, which no configuration causes.
    ("pkg/kubelet/cm/dra", f"{RUN}create ResourceClaim cache: could not initialize checkpoint manager", ""),
    ("pkg/kubelet/cm/devicemanager", f"{RUN}failed to initialize checkpoint manager: mkdir /a: read-only", ""),
    ("pkg/kubelet/cm/devicemanager", f"{START}listen unix /var/lib/kubelet/device-plugins/kubelet.sock: bind: x", ""),
    (RUNTIME_MANAGER, f"{MAIN}failed to initialize actuated state checkpoint: {STATE}checkpoint is corrupted", ""),
    (RUNTIME_MANAGER, f"{MAIN}failed to create image pull manager: failed to open directory", ""),
    (RUNTIME_MANAGER, "Failed to register CRI auth plugins: plugin binary directory /opt/bin did not exist", ""),
    ("pkg/kubelet/watchdog", f"{RUN}create health checker: configure watchdog timeout too small: 1s", ""),
    ("component-helpers/node/util/hostname.go", f"{RUN}couldn't determine hostname: x", ""),
    ("pkg/kubelet/oom", f"{MAIN}open /dev/kmsg: {MISSING}", ""),
    ("pkg/kubelet/oom", f"{RUN}open /dev/kmsg: {MISSING}", ""),
    (CADVISOR, f"{RUN}open /sys/class/net: {MISSING}", ""),
    (CADVISOR, f"{RUN}open /proc/cpuinfo: permission denied", ""),
    (CADVISOR, "Failed to start cAdvisor: inotify_init: too many open files", ""),
    (KUBELET, "Kubelet failed to get node info: nodes have not yet been read at least once", ""),
    (KUBELET, "Failed to initialize internal modules: error creating pods directory: no space left on device", ""),
    (KUBELET, 'Failed to initialize internal modules: error creating pod logs root directory "/etc/passwd/x": mkdir '
     "/etc/passwd: not a directory", "file"),
    (KUBELET, 'Failed to initialize internal modules: error creating pod logs root directory "/var/log/pods": mkdir '
     "/var/log/pods: no space left on device", ""),
    (KUBELET, f"{MAIN}could not initialize volume plugins for KubeletVolumePluginMgr: mkdir /usr: read-only", ""),
    (HTTP, "Failed to listen and serve: listen tcp 0.0.0.0:10250: bind: address already in use", ""),
    (HTTP, "Failed to create listener for podResources endpoint: unlink /x: permission denied", ""),
    # Files that the configuration names.
    (DYNAMIC, f"{RUN}open /nosuch: {MISSING}", "file"),
    (DYNAMIC, f"{RUN}read /etc/kubernetes: is a directory", "file"),
    (DYNAMIC, f'{RUN}missing content for CA bundle "client-ca-bundle::/x"', "file"),
    (DYNAMIC, f'{RUN}error loading CA bundle for "client-ca-bundle::/x"', "file"),
    (KUBELET, f"{MAIN}unable to load client CA file /x: error reading /x: data does not contain any valid", "file"),
    (KUBELET, f"{MAIN}failed to load certificate: open /nosuch: {MISSING}", "file"),
    (KUBELET, f"{MAIN}failed to load certificate: tls: failed to find any PEM data in certificate input", "file"),
    (CERTIFICATE, f"{MAIN}failed to initialize file based certificate manager: unable to set up dynamic certificate "
     f"manager for kubelet server cert files: open /nosuch: {MISSING}", "file"),
    (HTTP, f"Failed to listen and serve: open /nosuch: {MISSING}", "file"),
    (HTTP, "Failed to listen and serve: tls: private key does not match public key", "file"),
    # 1.20 and earlier: klog.Fatal with the error alone.
    (HTTP, "tls: failed to find any PEM data in certificate input", "file"),
    (HTTP, "tls: private key does not match public key", "file"),
    (HTTP, f"open /etc/kubernetes/pki/kubelet.crt: {MISSING}", "file"),
    (HTTP, f"open /etc/our own keys/the kubelet.crt: {MISSING}", "file"),
    (DYNAMIC, f"{RUN}open /etc/our own.yaml: {MISSING}", "file"),
    (HTTP, "listen tcp 0.0.0.0:10250: bind: address already in use", ""),
    (HTTP, f"Failed to listen and serve: {HTTP2}", "validation"),
    (HTTP, HTTP2, "validation"),
    (CERTIFICATE, f"{MAIN}x: open /a/tls.crt: permission denied", "file"),
    ("client-go/util/cert", f"{BUILD}open /var/lib/kubelet/pki/kubelet.key: no space left on device", ""),
    ("client-go/util/cert", f"{BUILD}error reading /a/kubelet.crt, certificate and key must be supplied as a pair", ""),
    # The container runtime.
    (CRI, f"{RUN}validate service connection: x", "runtime"),
    (CRI, f'{RUN}validate service connection: validate CRI v1 image API for endpoint "unix:///x": x', "runtime"),
    (CRI, f'{RUN}protocol "http" not supported', "validation"),
    (CRI, f"{RUN}only support unix socket endpoint", "validation"),
    (SERVER, f"{RUN}rpc error: code = Unknown desc = server is not initialized yet", "runtime"),
    (SERVER, f"{RUN}runtime returned an unknown cgroup driver 7", ""),
    (RUNTIME_MANAGER, f"{MAIN}get remote runtime typed version failed: context deadline exceeded", "runtime"),
    (RUNTIME_MANAGER, f"{MAIN}Runtime API version is not supported", "runtime"),
    (MANAGER, "Failed to start ContainerManager failed to build map of initial containers from runtime: rpc error: "
     "code = Unavailable desc = x", "runtime"),
    (MANAGER, f"{START}failed to build map of initial containers: rpc error: code = Unavailable desc = x", "runtime"),
    # The identity of this kubelet, and the network.
    (CERTIFICATE, f"{RUN}x: open /a/kubelet-client-current.pem: {MISSING}", ""),
    (CERTIFICATE, f"{MAIN}x: open /a/kubelet-server-current.pem: {MISSING}", ""),
    (SERVER, f"{RUN}invalid kubeconfig: invalid configuration: [unable to read client-cert "
     f"/a/kubelet-client-current.pem for default-auth due to open /a/kubelet-client-current.pem: {MISSING}]", ""),
    (SERVER, f"{RUN}invalid kubeconfig: stat /etc/kubernetes/kubelet.conf: {MISSING}", ""),
    (CERTIFICATE, f"{RUN}unable to load kubeconfig: invalid configuration: no configuration has been provided", ""),
    (CERTIFICATE, f"{RUN}failed to initialize client certificate store: could not convert data from "
     '"/a/kubelet-client-current.pem" into cert/key pair: tls: failed to find any PEM data in certificate input', ""),
    (CERTIFICATE, f"{MAIN}failed to initialize certificate manager: failed to initialize server certificate store: "
     "could not convert data from \"/a/kubelet-server-current.pem\": tls: failed to parse private key", ""),
    (CERTIFICATE, f"{RUN}cannot create certificate signing request: dial tcp: i/o timeout", "joining"),
    (CERTIFICATE, f"{RUN}cannot create certificate signing request: tls: failed to verify certificate: x", "joining"),
    (CERTIFICATE, f"{RUN}cannot create certificate signing request: remote error: tls: bad certificate", "joining"),
    (CERTIFICATE, f"{RUN}cannot watch on the certificate signing request: request x is denied", "joining"),
    (CERTIFICATE, f"{RUN}timed out waiting for the condition", "joining"),
    (CERTIFICATE, "No valid client certificate is found and the server is responsive, exiting.", "joining"),
    (CERTIFICATE, "It has been 5m0s since a valid client cert was found and the server is responsive.", "joining"),
)  # fmt: skip


@pytest.mark.parametrize(("source", "words", "kind"), ROWS, ids=[f"{row[0]}: {row[1][-60:]}" for row in ROWS])
@pytest.mark.fault(case=81)
def test_each_error_that_ends_a_kubelet_has_its_kind(source: str, words: str, kind: str) -> None:
    assert last_words.kind(words) == kind, source
    assert last_words.ended_at_start(words)
    assert evidence.refused(last_words.kind(words), booting=False) == (kind not in ("", "runtime", "joining"))


STRUCTURED = [(row[1], row[2]) for row in ROWS if row[1].startswith(("Failed to ", "Kubelet failed"))]


@pytest.mark.parametrize(("words", "kind"), STRUCTURED)
def test_the_message_of_an_end_outweighs_later_errors(words: str, kind: str) -> None:
    message, _colon, reason = words.partition(": ")
    log = new(reason, message=message) + new("dial tcp: connection refused", message="Failed to watch")
    assert last_words.parse(log.splitlines()) == words


@pytest.mark.parametrize(
    "words",
    [
        'x: validate CRI v1 image API for endpoint "unix:///x": x',
        "Status from runtime service failed: context deadline exceeded",
        "failed to get docker version: x",
        "Cannot connect to the Docker daemon at unix:///x",
        "Skipping pod synchronization: container runtime is down",
        f"dial unix /run/crio/crio.sock: connect: {MISSING}",
        "unknown service runtime.v1.ImageService",
    ],
)
def test_any_error_about_a_runtime_that_is_away_names_it(words: str) -> None:
    """A kubelet that was killed may have logged it by coincidence."""
    assert last_words.kind(words) == "runtime" and not last_words.ended_at_start(words)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("No valid client certificate is found and the server is responsive, exiting.", "joining"),
        ("The currently active client certificate has expired and the server is responsive, exiting.", ""),
    ],
)
def test_an_expired_certificate_ends_a_kubelet_and_incriminates_nothing(message: str, kind: str) -> None:
    """pkg/kubelet/certificate/transport.go"""
    log = f'E1122 13:38:14.1     419 transport.go:1] "{message}"\n' + new("refused", message="Failed to watch")
    assert last_words.parse(log.splitlines()) == message
    assert last_words.kind(message) == kind


@pytest.mark.parametrize(
    "words",
    [
        "Skipping pod synchronization: [container runtime status check may not have completed yet, PLEG is not "
        "healthy: pleg has yet to be successful]",
        "Failed to ensure process in container with oom score: failed to apply oom score -999 to PID 419: write "
        "/proc/419/oom_score_adj: invalid argument",
        f"Failed to load certificate: open /nosuch: {MISSING}",
        f"open /var/lib/kubelet/pods/1/volumes/x: {MISSING}",
        "[cpumanager] reconcileState: failed to add container",
        "http: TLS handshake error from 192.0.2.1:4711: tls: failed to verify certificate",
        "Failed to update node: rpc error: code = Unknown desc = x",
        "Could not parse flag: invalid kernel flag",
        'Error syncing pod, skipping: failed to "StartContainer" for "x" with RunContainerError: "invalid '
        'configuration: unknown flag: --y"',
        f'MountVolume.SetUp failed for volume "c": open /var/lib/kubelet/pods/1/volumes/tls.crt: {MISSING}',
        "Failed to watch: unable to load server certificate: unrecognized feature gate: X",
        "Unable to attach or mount volumes: could not restore state from checkpoint",
        "Unable to read config path: path does not exist, ignoring",
    ],
)
def test_routine_of_a_running_kubelet_is_no_evidence(words: str) -> None:
    """A kubelet that was killed has logged such an error last by coincidence."""
    assert last_words.kind(words) == "" and not last_words.ended_at_start(words)
    logged = last_words.parse(new(words, message=words.partition(": ")[0]).splitlines())
    assert logged and last_words.kind(logged) == ""


def test_insufficient_permissions_end_no_kubelet() -> None:
    """cmd/kubelet/app/server.go: it logs this error and goes on."""
    log = new("getuid", message="kubelet running with insufficient permissions") + new("x", message="Failed to watch")
    assert last_words.parse(log.splitlines()) == "Failed to watch: x"
