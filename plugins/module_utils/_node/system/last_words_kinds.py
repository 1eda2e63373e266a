# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The words with which a kubelet ends, and what they are evidence of: the tables of last_words.py.

From the sources of Kubernetes 1.20 to 1.36: the errors that end `run` of cmd/kubelet/app/server.go, and those before an
`os.Exit` in pkg/kubelet. An error of this machine or of the kubelet's own files has no kind.
"""

from __future__ import annotations

import re

VALIDATION, FLAG, GATE, FILE, RUNTIME, JOINING = "validation", "flag", "gate", "file", "runtime", "joining"
NONE = ""

# After these messages the kubelet ends itself (1.21 and later).
_LOGGED = (
    r"failed to (?:run kubelet|load kubelet config|validate kubelet|parse kubelet flag|set feature gates|precedence|"
    r"construct kubelet|start ContainerManager|start cAdvisor|initialize internal modules|listen and serve|"
    r"register CRI auth plugins|create listener for p|serve(?:: |$))|kubelet failed to get node info"
)
# transport.go of pkg/kubelet/certificate; the second one up to 1.20.
_NO_CERTIFICATE = (
    r"no valid client certificate is found and the server is responsive|it has been \S+ since a valid client cert was "
    r"found and the server is responsive"
)
ENDS = re.compile(
    rf"command failed|{_LOGGED}|{_NO_CERTIFICATE}|"
    r"the currently active client certificate has expired and the server",
    re.IGNORECASE,
)
"""Messages after which the kubelet ends."""

# A path may have spaces, or colons.
_PATH = r"(?:\S+|[^:]+)"

STARTING = re.compile(
    rf"{_NO_CERTIFICATE}|"
    rf"(?:Error: |panic: |fatal error: )?(?:{_LOGGED}|\[?invalid configuration: |failed to merge |failed to read "
    r"kubelet config file|the \w+ feature gate must be enabled|unrecognized feature gate|cannot set feature gate|"
    r"unknown (?:shorthand )?flag|unknown command|unknown 'kubernetes\.io' or|flag needs an|invalid argument |bad flag "
    r"syntax|unable to load client CA file|can't use reservedSystemCPUs|unable to parse reservedSystemCPUs|"
    r"--show-hidden-metrics-for-version must be|unsupported log format|initialize logging|Cipher suite |unknown tls "
    r"version|non-positive interval for|error converting cgroup name |http2: TLSConfig|tls: (?:failed to|private key)|"
    rf"listen tcp |open {_PATH}\.(?:crt|key|pem): )|panic: \[cpumanager\] ",
    re.IGNORECASE,
)
"""How the messages begin with which a kubelet ends while it starts. Other errors may quote the same words, and only by
coincidence are they the last ones of a kubelet that was killed.
"""

# The causes for which a file of the configuration cannot be read, and not those of a full or broken disk.
_UNREADABLE = r"(?:no such file or directory|permission denied|is a directory|not a directory)"

# In this order: a message of one kind may quote words of a later one.
_KINDS = (
    (
        GATE,
        (
            r"unrecognized feature gate",
            r"cannot set feature gate",
            r"failed to set feature gates",
            r"but depends on features that are disabled",
            r"failed to merge global and in-flight KubeletConfiguration",
            r"feature gate must be enabled",
            r"require feature gates",
            r"invalid value of \w+: .*ParseBool",
        ),
    ),
    (
        FLAG,
        (
            r"unknown (?:shorthand )?flag",
            r"unknown command",
            r"flag needs an argument",
            r"failed to parse kubelet flag",
            r"failed to precedence kubeletConfigFlag",
            r'invalid argument ".*" for ".*" flag',
            r"failed to validate kubelet flags",
            r"bad flag syntax",
            r"labels specified with --node-labels",
            r"cannot exit on lock file contention",
            r"bad --node-ip",
            r"invalid root directory",
            r"rootDirectory not in canonical form",
            r"built-in cloud providers are disabled",
            r"unknown cloud provider",
            r"invalid minimum garbage collection age",
        ),
    ),
    (
        VALIDATION,
        (
            r"failed to validate kubelet configuration",
            r"^initialize logging",
            r"quantities must match the regular expression",
            r"unable to parse (?:numeric part of quantity|quantity's suffix)",
        ),
    ),
    (FILE, (r"failed to (?:load|read|decode) kubelet config", r"failed to merge kubelet configs")),
    (
        JOINING,
        (
            r"certificate signing request",
            # It was not approved within an hour: WaitForCertificate of client-go/util/certificate/csr.
            r"^failed to run kubelet: timed out waiting for the condition$",
            _NO_CERTIFICATE,
        ),
    ),
    # The identity of the node's kubelet, and the machine's own cgroups, are not part of its configuration.
    (NONE, (r"kubeconfig", r"kubelet-client", r"kubelet-server-", r"cgroup(?:-root)? \[\] ")),
    (
        VALIDATION,
        (
            r"invalid configuration",
            r"unsupported log format",
            r"--show-hidden-metrics-for-version must be",
            r"non-positive interval for",
            # Amounts and thresholds
            r"value failed to parse",
            r'cannot reserve ".*" resource',
            r"resource quantity for .* cannot be negative",
            r"(?:unsupported|negative|invalid) eviction",
            r"eviction (?:percentage|threshold)",
            r"^failed to run kubelet: (?:failed to create kubelet: )?(?:time: |strconv\.ParseFloat: )",
            r"invalid sync frequency",
            r"burst is required to be greater than 0",
            # What this machine must have
            r"running with swap on is not supported",
            r"only supported with cgroupv2",
            r"configured to not run on a host using cgroup v1",
            r"is different from docker cgroup driver",
            r"invalid kernel flag",
            r"failed to enforce (?:system|kube) reserved (?:compressible )?cgroup limits",
            r"invalid Node Allocatable configuration",
            r"system container cannot be root",
            r"converting cgroup name .* to systemd format",
            r"kubelet user (?:assigned|namespace)",
            r"wrong user namespace length",
            # CPUs, memory and topology
            r"can't use reservedSystemCPUs",
            r"unable to parse reserved",
            r"is not a subset of online-cpus",
            r"unable to determine reserved CPU resources",
            r"the static policy requires",
            r"unable to reserve the required amount of CPUs",
            r"new (?:static|none) policy error",
            r"is not equal to the value .* determined by Node Allocatable",
            r"references a NUMA node",
            r"should specify the system reserved memory",
            r"unsupported on machines with more than .* NUMA",
            r"unknown (?:policy|scope): ",
            r"(?:CPU|topology) manager policy (?:option|alpha|beta)",
            r"bad value for option",
            r"unable to convert policy option",
            r"the minimum value of .* should not be less than",
            # Names of choices
            r"cipher suite \S+ not supported",
            r"unknown tls version",
            r"http2: TLSConfig\.CipherSuites",
            r"curve preference",
            r"no client provided, cannot use webhook",
            r"(?:no|unknown) authorization mode",
            r"unknown configmap and secret manager mode",
            r"unknown image pull credential verification policy",
            r"failed to initialize (?:container log|image) manager",
            r"pod logs root directory is empty",
            r"sysctls? .*(?:known to be namespaced|must have at most)",
            r"only support unix socket endpoint",
            r'protocol ".*" not supported',
        ),
    ),
    (
        FILE,
        (
            r"unable to load client CA file",
            r"failed to load (?:TLS|certificate)",
            r"error loading (?:TLS|CA bundle)",
            r"missing content for (?:CA bundle|serving cert)",
            r"certificate manager for kubelet server cert files",
            r"^(?:failed to listen and serve: )?tls: ",
            # Files of CPU and memory managers that another policy or reservation has written.
            r"differs from state checkpoint policy",
            r"reserved cpus: .* present in defaultCpuSet",
            rf"error creating pod logs root directory .*{_UNREADABLE}$",
            rf"open {_PATH}\.(?:crt|key|pem): {_UNREADABLE}",
            r"^failed to (?:run kubelet|listen and serve): (?:open|read) (?!/dev/|/proc/|/sys/)"
            rf"{_PATH}: {_UNREADABLE}$",
        ),
    ),
    (
        RUNTIME,
        (
            r"validate service connection",
            r"CRI v1 (?:runtime|image) API",
            r"runtime API version",
            r"remote runtime",
            r"runtime service",
            r"failed to get docker version",
            r"Cannot connect to the Docker daemon",
            r"container runtime is down",
            r"(?:containerd|crio|cri-dockerd|dockershim|docker)\.sock\b.{0,20}(?:refused|no such file|reset by peer)",
            r"unknown service runtime\.",
            r"^failed to (?:run kubelet|start ContainerManager)\b.*rpc error: code = ",
        ),
    ),
)
PATTERNS = tuple((name, re.compile("|".join(patterns), re.IGNORECASE)) for name, patterns in _KINDS)
"""Kinds and their words, in the order in which they are looked for."""
