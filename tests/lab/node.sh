#!/bin/sh
# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs one node. Only this script holds the namespaces of its mounts and its network, so the kernel removes them when
# the script ends, however it ends.
set -eu
stage=$1 name=$2 veth=$3 address=$4 host=$5 folder=$6 tree=$7 binaries=$8
if [ "$stage" = outside ]; then
    shift 8
    for cgroup in "$@"; do echo $$ > "$cgroup/cgroup.procs"; done
    exec unshare --mount --net --propagation private -- \
        sh "$0" inside "$name" "$veth" "$address" "$host" "$folder" "$tree" "$binaries"
fi

ip link set lo up
ip link add eth0 type veth peer name "$veth" netns "$host"
ip address add "$address" dev eth0
# No default route: with one, this kubelet's look-ups of cloud credentials hang for seconds.
ip link set eth0 up
# systemd-nspawn never removes its files there.
mkdir -p /run/systemd/nspawn
mount -t tmpfs -o mode=0755 "$name" /run/systemd/nspawn
mount -t overlay "$name" -o "lowerdir=$tree,upperdir=$folder/upper,workdir=$folder/work" "$folder/root"

# The node's process 1 gets this script's mark: it survives when only systemd-nspawn is killed, and must be found then.
# A reboot of the node ends systemd-nspawn with 133 (--keep-unit asks for that).
status=133
while [ "$status" = 133 ]; do
    status=0
    # A node with another version than Debian's has its own kubelet on its disk, also after an upgrade.
    if [ ! -s "$folder/upper/usr/bin/kubelet" ]; then
        set -- --bind-ro="$binaries/kubelet:/usr/bin/kubelet" --bind-ro="$binaries/kubeadm:/usr/bin/kubeadm"
    else
        set --
    fi
    SYSTEMD_NSPAWN_API_VFS_WRITABLE=network systemd-nspawn --quiet --boot \
        --directory="$folder/root" --machine="$veth" --hostname="$name" \
        --settings=no --register=no --keep-unit --console=pipe --link-journal=no --resolv-conf=off --timezone=off \
        --capability=all --system-call-filter="@keyring bpf @privileged" --bind=/dev/kmsg \
        --setenv="LIVENODES_LAB_PROCESS=$LIVENODES_LAB_PROCESS" --network-namespace-path=/proc/self/ns/net \
        --bind="$folder/containerd:/var/lib/containerd" "$@" || status=$?
done
exit "$status"
