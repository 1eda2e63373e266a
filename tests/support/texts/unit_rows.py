# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Units of kubelets as people have them, for a table that a real systemd starts: tests/e2e_node/test_units_table.py."""

from __future__ import annotations

import dataclasses
import typing as t

UNIT = "lnk-test.service"
ETC = "/etc/lnk-test"
FRAGMENT = f"/run/systemd/system/{UNIT}"
DROPINS = f"{FRAGMENT}.d"
PROGRAM = "/usr/local/bin/kubelet-stand-in"
# A program of 129 bytes for x86-64 that ignores its arguments and waits: pause(2), again and again.
STAND_IN = (
    b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    + b"\x02\0\x3e\0\x01\0\0\0"
    + (0x400078).to_bytes(8, "little")
    + (64).to_bytes(8, "little")
    + bytes(12)
    + b"\x40\0\x38\0\x01\0\0\0\0\0\0\0"
    + b"\x01\0\0\0\x05\0\0\0"
    + bytes(8)
    + (0x400000).to_bytes(8, "little") * 2
    + (129).to_bytes(8, "little") * 2
    + (0x1000).to_bytes(8, "little")
    + b"\xb8\x22\0\0\0\x0f\x05\xeb\xf7"
)


@dataclasses.dataclass(frozen=True)
class Row:
    """A unit. In its texts `@` stands for the program, `^` for an @, and `~` for the folder of its environment files.

    `service`: the lines of its [Service] section, or its whole text. `files`: its other files; the keys of drop-ins
    begin with a digit, those of environment files do not. `config`: the config file that its kubelet reads. `places`:
    words of its command line with file and line. `refused`: a part of the reason if it is refused.
    """

    name: str
    service: str
    config: str = "/var/lib/kubelet/config.yaml"
    files: t.Mapping[str, str] = dataclasses.field(default_factory=dict)
    form: str = "plain"
    places: t.Mapping[str, tuple[str, int]] = dataclasses.field(default_factory=dict)
    refused: str = ""
    short: bool = False

    def written(self) -> dict[str, str]:
        """Return the text of each of its files by path."""
        text = self.service if "[Service]" in self.service else f"[Service]\n{self.service}"
        texts = {FRAGMENT: text, **{path_of(name): text for name, text in self.files.items()}}
        return {path: text.replace("@", PROGRAM).replace("~", ETC).replace("^", "@") for path, text in texts.items()}


def path_of(name: str) -> str:
    """Return the path of a file of a row."""
    return FRAGMENT if not name else f"{DROPINS}/{name}" if name[0].isdigit() else f"{ETC}/{name}"


CONFIG = "--config=/var/lib/kubelet/config.yaml"
KUBEADM = f"""[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/k/b.conf --kubeconfig=/etc/k/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS={CONFIG}"
# This is a file that "kubeadm init" and "kubeadm join" generate at runtime
EnvironmentFile=-~/kubeadm-flags.env
EnvironmentFile=-~/default
ExecStart=
ExecStart=@ $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
"""
FLAGS = 'KUBELET_KUBEADM_ARGS="--pod-infra-container-image=registry.k8s.io/pause:3.9"\n'


def kubeadm(name: str, default: str = "", flags: str = FLAGS, **more: t.Any) -> Row:
    """Return kubeadm's unit with these environment files."""
    files = {"10-kubeadm.conf": KUBEADM, "kubeadm-flags.env": flags, "default": default}
    return Row(name, "ExecStart=@\nRestart=always\n", files=files, form=more.pop("form", "kubeadm"), **more)


LAYOUTS = [
    kubeadm(
        "kubeadm, deb",
        "KUBELET_EXTRA_ARGS=--max-pods=61\n",
        places={"--max-pods=61": ("default", 1), CONFIG: ("10-kubeadm.conf", 3)},
        short=True,
    ),
    kubeadm("kubeadm, no environment files", flags=""),
    kubeadm("kubeadm with export", "export A=b\nKUBELET_EXTRA_ARGS='--node-labels=a=b,c=d' \\\n  --v=2\n"),
    kubeadm(
        "kubeadm, a second --config in its extra arguments",
        "KUBELET_EXTRA_ARGS=--config=/etc/other.yaml\n",
        config="/etc/other.yaml",
        form="plain",
        places={"--config=/etc/other.yaml": ("default", 1)},
    ),
    kubeadm(
        "kubeadm, its variable in an environment file too",
        f"KUBELET_CONFIG_ARGS={CONFIG}\n",
        form="plain",
        places={CONFIG: ("default", 1)},
    ),
    kubeadm("kubeadm with the name of the host", "KUBELET_EXTRA_ARGS=--hostname-override=a.b --node-ip=10.0.0.1\n"),
    Row(
        "Kubespray",
        "EnvironmentFile=-~/kubelet.env\nExecStart=@ \\\n\t\t$KUBE_LOGTOSTDERR \\\n\t\t$KUBE_LOG_LEVEL \\\n"
        "\t\t$KUBELET_API_SERVER \\\n\t\t$KUBELET_ADDRESS \\\n\t\t$KUBELET_ARGS\nRestart=always\n",
        "/etc/kubernetes/kubelet-config.yaml",
        {
            "kubelet.env": 'KUBE_LOG_LEVEL="--v=2"\nKUBELET_ADDRESS="--node-ip=10.0.0.1"\n\n\nKUBELET_ARGS="'
            "--hostname-override=n1 \\\n--config=/etc/kubernetes/kubelet-config.yaml \\\n"
            '--kubeconfig=/etc/kubernetes/kubelet.conf \\\n "\nPATH=/usr/bin\n'
        },
        places={"--config=/etc/kubernetes/kubelet-config.yaml": ("kubelet.env", 6)},
        short=True,
    ),
    Row(
        "kops",
        'EnvironmentFile=~/sysconfig\nExecStart=@ "$DAEMON_ARGS"\nKillMode=process\n',
        "/var/lib/kubelet/kubelet.conf",
        {"sysconfig": 'DAEMON_ARGS="--cloud-provider=external --config=/var/lib/kubelet/kubelet.conf"\nHOME=/root\n'},
    ),
    Row(
        "EKS, Amazon Linux 2",
        "ExecStart=@ --config /etc/k/kubelet-config.json \\\n    --kubeconfig /var/lib/kubelet/kubeconfig \\\n"
        "    $KUBELET_ARGS $KUBELET_EXTRA_ARGS\n",
        "/etc/k/kubelet-config.json",
        {
            "10-args.conf": "[Service]\nEnvironment='KUBELET_ARGS=--node-ip=10.0.0.1 --v=2'\n",
            "30-extra.conf": "[Service]\nEnvironment='KUBELET_EXTRA_ARGS=--node-labels=a=b,c=d --max-pods=29'\n",
        },
        places={"--max-pods=29": ("30-extra.conf", 2), "--config": ("", 2), "/etc/k/kubelet-config.json": ("", 2)},
    ),
    Row(
        "EKS, nodeadm",
        "EnvironmentFile=~/environment\nExecStart=@ $NODEADM_KUBELET_ARGS\nDelegate=yes\n",
        "/etc/k/config.json",
        {"environment": "NODEADM_KUBELET_ARGS=--config=/etc/k/config.json --config-dir=/etc/k/config.json.d --v=2\n"},
    ),
    Row(
        "AKS",
        'EnvironmentFile=~/default\nExecStart=@ \\\n        --enable-server \\\n    --node-labels="${NODE_LABELS}" \\\n'
        "        --v=2 \\\n        --volume-plugin-dir=/etc/k/volumeplugins \\\n        $KUBELET_TLS_FLAGS \\\n"
        "        $KUBELET_CONFIG_FILE_FLAGS $KUBELET_FLAGS\n",
        "/etc/default/k.json",
        {
            "default": "NODE_LABELS=a=b,kubernetes.azure.com/mode=system\nKUBELET_FLAGS=--max-pods=30 --cloud=\n",
            "10-tls.conf": '[Service]\nEnvironment="KUBELET_TLS_FLAGS=--bootstrap-kubeconfig /b --kubeconfig /k"\n',
            "10-file.conf": '[Service]\nEnvironment="KUBELET_CONFIG_FILE_FLAGS=--config /etc/default/k.json"\n',
        },
    ),
    Row(
        "GKE",
        "EnvironmentFile=~/default\nExecStart=@ $KUBELET_OPTS\n",
        "/home/k/kubelet-config.yaml",
        {"default": 'KUBELET_OPTS="--v=2 --config /home/k/kubelet-config.yaml --cert-dir=/var/lib/kubelet/pki"\n'},
    ),
    Row(
        "minikube",
        f"ExecStart=\nExecStart=@ --bootstrap-kubeconfig=/etc/k/b {CONFIG} --hostname-override=m --node-ip=10.0.0.1\n",
    ),
    kubeadm("kind", "KUBELET_EXTRA_ARGS=--runtime-cgroups=/system.slice/containerd.service\n"),
    Row(
        "Bottlerocket",
        'Environment="LABELS=a=b"\nEnvironmentFile=~/env\nExecStart=@ \\\n    --cloud-provider "" \\\n'
        '    --config /etc/k/config \\\n    --node-ip ${NODE_IP} \\\n    --node-labels "${LABELS}" \\\n'
        '    --register-with-taints "${TAINTS}" \\\n    --pod-infra-container-image ${PAUSE}\n',
        "/etc/k/config",
        {"env": "NODE_IP=10.0.0.1\nTAINTS=\nPAUSE=pause:3.9\n"},
    ),
    Row(
        "Gardener",
        "EnvironmentFile=/etc/environment\nEnvironmentFile=-~/extra_args\nExecStart=@ \\\n"
        "    --bootstrap-kubeconfig=/var/lib/b \\\n    --config=/var/lib/kubelet/config/kubelet \\\n    --v=2 "
        "$KUBELET_EXTRA_ARGS\n",
        "/var/lib/kubelet/config/kubelet",
    ),
    Row("kubeasz", f"WorkingDirectory=/\nExecStart=@ \\\n  {CONFIG} \\\n  --root-dir=/var/lib/kubelet \\\n  --v=2\n"),
    Row(
        "MetalK8s",
        "ExecStart=@ $KUBELET_CONFIG_ARGS $A\nEnvironmentFile=-~/a\n",
        files={"10-a.conf": f'[Service]\nEnvironment="KUBELET_CONFIG_ARGS={CONFIG}" "A=--b=c"\n'},
    ),
    Row(
        "tutorials, KUBELET_OPTS",
        "EnvironmentFile=~/kubelet.conf\nExecStart=@ $KUBELET_OPTS\n",
        "/opt/k/cfg/config.yml",
        {"kubelet.conf": 'KUBELET_OPTS="--hostname-override=m \\\n--config=/opt/k/cfg/config.yml \\\n--v=2"\n'},
    ),
    Row(
        "Kubernetes the hard way",
        "ExecStart=@ \\\n  --config=/var/lib/kubelet/kubelet-config.yaml \\\n  --v=2\n",
        "/var/lib/kubelet/kubelet-config.yaml",
    ),
    Row(
        "Fedora's drop-in of all services",
        f"ExecStart=@ {CONFIG}\n",
        files={"10-timeout-abort.conf": "[Service]\nTimeoutStopFailureMode=abort\n"},
    ),
]
WORDS = [
    Row(
        "globs",
        "EnvironmentFile=~/*.env\nExecStart=@ $A $B\n",
        "/b",
        {"a.env": "A=--config=/a\n", "b.env": "B=--config=/b\n"},
        places={"--config=/b": ("b.env", 1)},
    ),
    Row(
        "resets",
        'Environment=A=--no\nEnvironment=\nEnvironment="B=--yes"\nExecStart=@ --no\nExecStart=\n'
        f"ExecStart=@ $A $B {CONFIG}\n",
    ),
    Row("per cent", f"Environment=A=--a=100%%\nExecStart=@ $A --b=%% {CONFIG}\n"),
    Row("prefixes", f"ExecStart=-+@ {CONFIG} --x=$$y\n"),
    Row("no replaced variables", f"Environment=A=b\nExecStart=:@ {CONFIG} --a=${{A}} $A\n"),
    Row(
        "a comment in a command",
        f"ExecStart=@ \\\n  # why not\n  {CONFIG} \\\n; or\n  --v=2\n",
        places={CONFIG: ("", 4), "--v=2": ("", 6)},
    ),
    Row("--config twice", "ExecStart=@ --config=/a --config /b --v=2\n", "/b", places={"/b": ("", 2)}),
    Row(
        "quotes",
        'ExecStart=@ "--a=b c" \'--d="e"\' --f="g h"i --j=\\x20\\101 --config \'/var/lib/kubelet/config.yaml\'\n',
    ),
    Row(
        "the name of the host in the command",
        f"ExecStart=@ --hostname-override=%H {CONFIG}\n",
        short=True,
        places={"--hostname-override=n1": ("", 2)},
    ),
    Row(
        "specifiers everywhere",
        f'Environment="A=--a=%n" B=--b=%p\nEnvironmentFile=-~/%p\nExecStart=@ $A $B $C --i=%i --m=%m {CONFIG}\n',
        files={"lnk-test": "C=--c=%n\n"},
        places={"--c=%n": ("lnk-test", 1)},
    ),
    Row(
        "kubeadm's variable with a specifier",
        'Environment="A=--config=/etc/%p.yaml"\nExecStart=@ $A\n',
        "/etc/lnk-test.yaml",
        places={"--config=/etc/lnk-test.yaml": ("", 2)},
    ),
    Row("a config file with a specifier", "ExecStart=@ --config=/etc/%p/%i.yaml\n", "/etc/lnk-test/.yaml"),
    Row(
        "a second --config in a file with a specifier",
        f"EnvironmentFile=-~/%p\nExecStart=@ {CONFIG} $A\n",
        "/other",
        {"lnk-test": "A=--config=/other\n"},
        places={"--config=/other": ("lnk-test", 1)},
        short=True,
    ),
    Row(
        "kubeadm, a second --config in a file with a specifier",
        f'Environment="A={CONFIG}"\nEnvironmentFile=-~/%p\nExecStart=@ $A $B\n',
        "/other",
        {"lnk-test": "B=--config=/other\n"},
    ),
    Row(
        "a dollar and a backtick",
        'Environment="HTTPS_PROXY=http://u:p$a`b@p:1" X=$Y "Z=a\\\\b"\n'
        f"ExecStart=@ {CONFIG} --p=${{HTTPS_PROXY}} $X $Z\n",
        short=True,
    ),
    Row("a variable without quotes", f"Environment=A=--x --y=50\nExecStart=@ $A {CONFIG}\n"),
    Row("an unknown escape", f"ExecStart=@ --a=\\. --b='\\q' {CONFIG}\n"),
    Row("an unknown escape in a variable", f"Environment=A=--a=\\.b\nEnvironment=B=--b\nExecStart=@ $A $B {CONFIG}\n"),
    Row(
        "an unbalanced quote in a variable",
        f'Environment="A=--a\nEnvironment=B=--b "C=d\nExecStart=@ $A $B {CONFIG}\n',
        short=True,
    ),
    Row("a byte-order mark", f"\ufeff[Service]\nExecStart=@ {CONFIG} --v=2\n", places={"--v=2": ("", 2)}, short=True),
    Row("carriage returns", f"[Service]\r\nExecStart=@ {CONFIG} --v=2\r\n"),
    Row("a program without a path", f"ExecStart=kubelet-stand-in {CONFIG} --v=2\n", short=True),
    Row(
        "a relative config file",
        "WorkingDirectory=/etc\nExecStart=@ --config k/config.yaml --v=2\n",
        "/etc/k/config.yaml",
        short=True,
    ),
    Row("a relative config file in the root folder", "ExecStart=@ --config=k/config.yaml\n", "/k/config.yaml"),
    Row(
        "a relative config file at home",
        "WorkingDirectory=-%h\nExecStart=@ --config=k.yaml\n",
        "/root/k.yaml",
    ),
    Row(
        "quoted parts in a file",
        "EnvironmentFile=~/e\nExecStart=@ $A $B $C\n",
        files={"e": f"A='x'\\\n'y'\nB=\"--q='1 2' \\\" \\$z \\d\" --e \nC={CONFIG} '--g h'\n"},
    ),
    Row("whole words that a shell would replace", f"ExecStart=@ $1 $(hostname) $NONE ${{NONE}} {CONFIG} $2x\n"),
    Row("words that are not ASCII", f'Environment="A=--a=ü ß"\nExecStart=@ --b=ä $A ${{A}} {CONFIG}\n'),
    Row("a semicolon that is a word", f"ExecStart=@ \\; --a=; {CONFIG}\n"),
    Row("a tab and a newline in a variable", f'Environment="A=--a\\n--b\\t--c"\nExecStart=@ $A ${{A}} {CONFIG}\n'),
    Row("nothing but an empty word", f"ExecStart=@ \"\" {CONFIG} ''\n"),
    Row("an unset variable", f"Environment=A=--a\nUnsetEnvironment=A\nExecStart=@ $A {CONFIG}\n"),
    Row(
        "a drop-in that resets",
        "EnvironmentFile=~/none\nExecStart=@ --old\n",
        files={"20-a.conf": f"[Service]\nEnvironmentFile=\nExecStart=\nExecStart=@ {CONFIG} --new\n"},
        places={"--new": ("20-a.conf", 4)},
    ),
    Row("flags with underscores", "ExecStart=@ --node_labels=a=b --config=/a\n", "/a"),
    Row("a missing environment file", f"EnvironmentFile=-~/none\nExecStart=@ {CONFIG} $A\n"),
]
REFUSED = [
    Row("no --config", "ExecStart=@ --v=2\n", refused="has no --config", short=True),
    Row("a shell", f"ExecStart=/bin/bash -c 'exec @ {CONFIG}'\n", refused="is not the kubelet"),
    Row("hyperkube", "ExecStart=/usr/bin/sleep 1000\n", refused="runs /usr/bin/sleep, which is not the kubelet"),
    Row("another root", f"RootDirectory=/\nRootDirectory=/usr\nExecStart=@ {CONFIG}\n", refused="root folder"),
    Row("forking", f"Type=forking\nExecStart=@ {CONFIG}\n", refused="Type=forking"),
    Row(
        "OpenShift",
        f"ExecStart=/usr/local/bin/kubenswrapper @ {CONFIG} --config-dir=/etc/openshift/kubelet.conf.d\n",
        refused="Use a KubeletConfig of OpenShift, or kubelet_config_dropin_dir: /etc/openshift/kubelet.conf.d",
    ),
    Row("a snap", f"ExecStart=/snap/bin/kubelet {CONFIG}\n", refused="belongs to a snap"),
    Row(
        "k0s",
        "ExecStart=/usr/local/bin/k0s worker --token-file=/t\n",
        refused="/usr/local/bin/k0s, which is not the kubelet",
    ),
    Row("a user", f"User=daemon\nExecStart=@ {CONFIG}\n", refused="user daemon"),
    Row("another name", f"ExecStart=^@ kubelet {CONFIG}\n", refused="prefix @"),
    Row("two commands", f"Type=oneshot\nExecStart=@ {CONFIG}\nExecStart=/bin/true\n", refused="2 commands"),
    Row("two commands in a line", f"Type=oneshot\nExecStart=@ {CONFIG} ; /bin/true\n", refused="2 commands"),
    Row("an unbalanced quote in the command", f'ExecStart=@ {CONFIG} "--a\n', refused="LoadState=bad-setting"),
    Row("what follows --", f"ExecStart=@ {CONFIG} -- x\n", refused="no flag can follow `--`"),
]
ROWS = [*LAYOUTS, *WORDS, *REFUSED]
