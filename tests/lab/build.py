# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lab's binaries and the nodes' root tree: built once from Debian's packages, then kept in a cache folder.

Debian's source package `kubernetes` is the only source of a kubelet with Dynamic Kubelet Configuration that needs
nothing but apt. Every product is built under a temporary name and renamed when complete. A later run therefore never
mistakes the remains of an interrupted build for a finished one.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

from . import images
from .console import LabError, progress, run, run_long
from .releases import DEFAULT as KUBE_VERSION

CACHE = Path(os.environ.get("LIVENODES_LAB_CACHE", "/var/cache/livenodes-kubelet-lab"))
COMMANDS = ("kubelet", "kube-apiserver", "kubeadm")
HOST_PACKAGES = (
    *("debootstrap", "dpkg-dev", "etcd-server", "gcc", "golang-go", "iproute2", "libc6-dev", "make"),
    *("openssh-client", "openssl", "rsync", "systemd-container"),
)
NODE_PACKAGES = (
    *("systemd", "systemd-sysv", "dbus", "python3", "openssh-server", "iproute2", "iptables", "ca-certificates"),
    *("containerd", "runc", "conntrack", "ethtool", "kmod", "procps"),
)
NO_UNITS = (
    *("systemd-timesyncd.service", "apt-daily.timer", "apt-daily-upgrade.timer"),
    *("systemd-networkd-wait-online.service", "e2scrub_all.timer", "fstrim.timer", "dpkg-db-backup.timer"),
    *("getty.target", "console-getty.service", "systemd-resolved.service"),
)
"""What no node needs."""
# What configures a new machine at its first boot, and the units of the former.
PROVISIONERS = ("cloud-init", "ignition")
CLOUD_INIT = ("cloud-init-local", "cloud-init")
# Raise this number when a recipe below changes its product, so that old caches are not used.
RECIPE = "1"


def ensure() -> Cache:
    """Return the cache with everything the lab needs; build what is missing."""
    _install_host_packages()
    cache = Cache(CACHE / f"{_candidate('kubernetes-client')}-{RECIPE}")
    cache.root.mkdir(parents=True, exist_ok=True)
    for product, make in (
        (cache.kubectl, _make_kubectl),
        (cache.binaries, _make_binaries),
        (cache.tree, _make_tree),
        (cache.image, _make_image),
    ):
        if not product.exists():
            make(product)
    return cache


class Cache:
    """Paths of the finished products."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.binaries = root / "bin"
        self.kubectl = root / "kubectl"
        self.tree = root / "tree"
        self.image = root / "image.tar"
        self.provisioners = root / "provisioners"


def provisioners(cache: Cache) -> Path:
    """Return a folder with Debian's cloud-init and Ignition and all that the nodes' root tree lacks for them.

    Made at the first request, since most labs do not need it. The folder lies over the tree.
    """
    if not cache.provisioners.exists():
        _make_provisioners(cache.provisioners, cache.tree)
    return cache.provisioners


def _update_lists() -> None:
    """Update apt's lists. apt does not wait for their lock, so flock does, as in tools/environments.py."""
    run("flock", "/var/lib/dpkg", "apt-get", "update", "-q")


def _install_host_packages() -> None:
    absent = [name for name in HOST_PACKAGES if run("dpkg", "-s", name, check=False).returncode]
    if absent:
        progress(f"installing Debian packages: {' '.join(absent)}")
        _update_lists()
        # etcd's package would start its service; the lab starts etcd itself.
        environment = {"DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        # The gate `browser` may install packages at the same time.
        wait = ["-o", "DPkg::Lock::Timeout=600"]
        run("apt-get", *wait, "install", "-y", "-q", "--no-install-recommends", *absent, env=environment)


def _candidate(package: str) -> str:
    """Return the version of a package that apt would install."""
    for attempt in range(2):
        found = re.search(r"Candidate: (\d\S*)", run("apt-cache", "policy", package).stdout)
        if found:
            return found.group(1)
        if not attempt:
            _update_lists()
    raise LabError(f"apt knows no package {package}: the lab needs Debian 12 (bookworm) with its main component")


def _unpack_package(package: str, folder: Path) -> Path:
    """Download a binary package and unpack it beside the system, without installing it."""
    folder.mkdir(parents=True)
    run("apt-get", "download", "-o", "APT::Sandbox::User=root", package, cwd=folder)
    archive = next(folder.glob("*.deb"))
    run("dpkg-deb", "-x", archive, folder / "root")
    return folder / "root"


def _make_kubectl(product: Path) -> None:
    progress("unpacking Debian's kubectl")
    scratch = _scratch(product)
    # Unpacked, not installed: this machine may have another kubectl at /usr/bin/kubectl.
    (_unpack_package("kubernetes-client", scratch / "deb") / "usr/bin/kubectl").rename(scratch / "kubectl")
    (scratch / "kubectl").rename(product)
    shutil.rmtree(scratch)


def _make_binaries(product: Path) -> None:
    scratch = _scratch(product)
    source = _fetch_source(scratch)
    _patch_reflect2(source, scratch)
    version = scratch / "version"
    number = KUBE_VERSION.lstrip("v").split(".")
    version.write_text(
        f"KUBE_GIT_COMMIT='unknown'\nKUBE_GIT_TREE_STATE='clean'\nKUBE_GIT_VERSION='{KUBE_VERSION}'\n"
        f"KUBE_GIT_MAJOR='{number[0]}'\nKUBE_GIT_MINOR='{number[1]}'\n"
    )
    environment = {
        "KUBE_GIT_VERSION_FILE": str(version),
        "GOFLAGS": "-v",
        "GOCACHE": str(scratch / "gocache"),
        "GOPROXY": "off",
        "GOPATH": str(scratch / "go"),
        "HOME": str(scratch),
        "GOTOOLCHAIN": "local",
    }
    run_long(
        f"building {', '.join(COMMANDS)} {KUBE_VERSION} (minutes, this once)",
        "make",
        "WHAT=" + " ".join(f"cmd/{name}" for name in COMMANDS),
        log=product.with_suffix(".log"),
        cwd=source,
        env=environment,
    )
    finished = scratch / "bin"
    finished.mkdir()
    for name in COMMANDS:
        built = next(source.glob(f"_output/local/bin/*/*/{name}"), source / "_output/bin" / name)
        shutil.copy2(built.resolve(), finished / name)
        run("strip", "--strip-debug", finished / name)
        shown = run(finished / name, "version" if name == "kubeadm" else "--version").stdout
        if KUBE_VERSION not in shown:
            raise LabError(f"the built {name} calls itself {shown.strip()!r}, not {KUBE_VERSION}")
    finished.rename(product)
    run("chmod", "-R", "u+w", scratch)
    shutil.rmtree(scratch)


def _fetch_source(scratch: Path) -> Path:
    """Fetch and unpack the source package from this machine's package sources without changing its apt settings."""
    progress("fetching Debian's source package kubernetes (34 MB)")
    parts = scratch / "sources.list.d"
    parts.mkdir()
    (scratch / "lists/partial").mkdir(parents=True)
    for own in (Path("/etc/apt/sources.list"), *Path("/etc/apt/sources.list.d").glob("*")):
        if own.is_file() and own.suffix in (".list", ".sources"):
            text = (
                re.sub(r"(?m)^Types:.*", "Types: deb-src", own.read_text())
                if own.suffix == ".sources"
                else re.sub(r"(?m)^deb(-src)?\s", "deb-src ", own.read_text())
            )
            (parts / own.name).write_text(text)
    private = ["-o", "Dir::Etc::sourcelist=/dev/null", "-o", f"Dir::Etc::sourceparts={parts}"]
    private += ["-o", f"Dir::State::lists={scratch}/lists", "-o", "APT::Sandbox::User=root"]
    private += ["-o", f"Dir::Cache::pkgcache={scratch}/pkgcache.bin"]
    private += ["-o", f"Dir::Cache::srcpkgcache={scratch}/srcpkgcache.bin"]
    run("apt-get", *private, "update", "-q")
    run("apt-get", *private, "source", "-q", "kubernetes", cwd=scratch)
    return next(path for path in scratch.glob("kubernetes-*") if path.is_dir())


def _patch_reflect2(source: Path, scratch: Path) -> None:
    """The vendored reflect2 1.0.1 panics under Go 1.18 and later; Debian packages 1.0.2."""
    vendored = source / "vendor/github.com/modern-go/reflect2"
    fresh = (
        _unpack_package("golang-github-modern-go-reflect2-dev", scratch / "reflect2")
        / "usr/share/gocode/src/github.com/modern-go/reflect2"
    )
    shutil.rmtree(vendored)
    shutil.copytree(fresh, vendored, ignore=shutil.ignore_patterns("*_test.go"))


def _make_tree(product: Path) -> None:
    scratch = _scratch(product)
    site, suite = (
        run("apt-get", "indextargets", "--format", "$(SITE)|$(CODENAME)", "Created-By: Packages", "Codename: bookworm")
        .stdout.splitlines()[0]
        .split("|")
    )
    try:
        run_long(
            "making the nodes' root tree (debootstrap)",
            "debootstrap",
            "--variant=minbase",
            f"--include={','.join(NODE_PACKAGES)}",
            suite,
            scratch / "tree",
            site,
            log=product.with_suffix(".log"),
        )
        _trim_tree(scratch / "tree")
        (scratch / "tree").rename(product)
    finally:
        for mount in ("proc", "sys", "dev"):
            run("umount", "-q", "-R", scratch / "tree" / mount, check=False)
    shutil.rmtree(scratch)


def _make_image(product: Path) -> None:
    progress("packing the image that pods run, from Debian's busybox-static")
    scratch = _scratch(product)
    busybox = _unpack_package("busybox-static", scratch / "deb") / "bin/busybox"
    (scratch / "image.tar").write_bytes(images.archive(busybox.read_bytes()))
    (scratch / "image.tar").rename(product)
    shutil.rmtree(scratch)


def _make_provisioners(product: Path, tree: Path) -> None:
    progress(f"unpacking Debian's {' and '.join(PROVISIONERS)}")
    scratch = _scratch(product)
    (scratch / "archives/partial").mkdir(parents=True)
    beside = ["-o", f"Dir::State::status={tree}/var/lib/dpkg/status", "-o", f"Dir::Cache={scratch}"]
    beside += ["-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=true", "--no-install-recommends"]
    run("apt-get", *beside, "install", "-y", "-q", "--download-only", *PROVISIONERS)
    # In the tree, /lib and its kind are links to folders in /usr.
    root = scratch / "root"
    for link in (path for path in tree.iterdir() if path.is_symlink()):
        (root / link.readlink()).mkdir(parents=True, exist_ok=True)
        (root / link.name).symlink_to(link.readlink())
    for archive in sorted((scratch / "archives").glob("*.deb")):
        # Unpacked, not installed: the node's systemd enables nothing, and no script of a package runs.
        run("sh", "-c", f"dpkg-deb --fsys-tarfile {archive} | tar -x --keep-directory-symlink -C {root}")
    for link in (path for path in root.iterdir() if path.is_symlink()):
        link.unlink()
    wants = root / "etc/systemd/system/cloud-init.target.wants"
    wants.mkdir()
    for unit in CLOUD_INIT:
        (wants / f"{unit}.service").symlink_to(f"/usr/lib/systemd/system/{unit}.service")
    root.rename(product)
    shutil.rmtree(scratch)


def _trim_tree(tree: Path) -> None:
    """Remove the identity, so that every node generates its own at boot, and disable the services no node needs."""
    (tree / "etc/machine-id").write_text("")
    for key in tree.glob("etc/ssh/ssh_host_*"):
        key.unlink()
    for unit in NO_UNITS:
        (tree / "etc/systemd/system" / unit).unlink(missing_ok=True)
        (tree / "etc/systemd/system" / unit).symlink_to("/dev/null")
    shutil.rmtree(tree / "var/cache/apt/archives", ignore_errors=True)


def _scratch(product: Path) -> Path:
    """Return an empty folder beside the product, for work that may be interrupted at any point."""
    scratch = product.with_name(f".{product.name}.partial")
    if scratch.exists():
        run("chmod", "-R", "u+w", scratch, check=False)
        shutil.rmtree(scratch)
    scratch.mkdir(parents=True)
    return scratch
