# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What every Python program of a simulated node loads at its start: the node's folder becomes its root file system.

`node.py` copies this file into the site-packages of the node, which is a virtual environment: the interpreter loads it
also with `-I`. It needs no rights and no namespaces: it replaces the functions of `os`, `open` and `subprocess` that
take a path. Only the paths of `TREES`, `BEGINNINGS` and `PLACES` lead into the folder; Python itself, Ansible's
temporary files and the checkout stay those of this machine. Standard library only.

Absolute targets of links are stored with the folder before them, so that the kernel can follow them, and shown without.
"""

from __future__ import annotations

import builtins
import functools
import importlib.machinery
import io
import os
import posixpath
import socket
import subprocess
import sys
import threading
import typing as t
import zipimport

ROOT = os.path.dirname(sys.prefix)
TREES = ("/etc", "/run", "/proc", "/sys", "/usr/lib/systemd", "/root/.kube")
# The store is renamed to a temporary name beside it before it is removed.
BEGINNINGS = ("/var/lib/kubelet", "/var/lib/tmp_kubelet", "/usr/bin/kubelet")
PLACES = ("/", "/var", "/var/lib", "/var/run", "/usr", "/usr/bin", "/usr/lib", "/usr/bin/python3")
PYTHON = "/usr/bin/python3"
# How the binary of a simulated kubelet begins: as an ELF file, which the collection asks for.
MARK = b"\x7fELF, simulated"
LIFE = "LIVENODES_SIM_LIFE"

ONE_PATH = (
    *("access", "chmod", "chown", "lchown", "listdir", "lstat", "mkdir", "mkfifo", "open", "rmdir", "scandir", "stat"),
    *("statvfs", "truncate", "unlink", "remove", "utime", "getxattr", "listxattr"),
)
TWO_PATHS = ("link", "rename", "replace")


def real(path: t.Any) -> t.Any:
    """Return where a path of the node lies; what is not a path of the node is returned as it is."""
    if isinstance(path, bytes):
        return os.fsencode(real(os.fsdecode(path)))
    try:
        text = os.fspath(path)
    except TypeError:
        return path
    if not isinstance(text, str) or not text.startswith("/") or text.startswith(ROOT):
        return path
    plain = posixpath.normpath(text).replace("//", "/")
    if plain in PLACES or plain.startswith(BEGINNINGS) or plain.startswith(tuple(f"{tree}/" for tree in TREES)):
        return ROOT + text
    return ROOT + text if plain in TREES else path


def shown(path: t.Any) -> t.Any:
    """Return a path as the node sees it: the reverse of `real`."""
    if isinstance(path, str) and path.startswith(f"{ROOT}/"):
        return path[len(ROOT) :]
    return path


def _one(function: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
    @functools.wraps(function)
    def mapped(path: t.Any = ".", *words: t.Any, **options: t.Any) -> t.Any:
        return function(real(path), *words, **options)

    return mapped


def _two(function: t.Callable[..., t.Any]) -> t.Callable[..., t.Any]:
    @functools.wraps(function)
    def mapped(source: t.Any, target: t.Any, *words: t.Any, **options: t.Any) -> t.Any:
        return function(real(source), real(target), *words, **options)

    return mapped


def _replace(name: str, wrapper: t.Callable[[t.Callable[..., t.Any]], t.Callable[..., t.Any]]) -> None:
    original = getattr(os, name, None)
    if original is None:
        return
    mapped = wrapper(original)
    setattr(os, name, mapped)
    # shutil and others look their functions up in these sets.
    for known in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks, os.supports_effective_ids):
        if original in known:
            known.add(mapped)


class NodePopen(subprocess.Popen):  # type: ignore[type-arg]
    """Runs the programs of the node: what a path of the node names, with PATH for all others."""

    def __init__(self, args: t.Any, *words: t.Any, **options: t.Any) -> None:
        if not isinstance(args, (str, bytes)):
            args = command(list(args))
        if options.get("cwd"):
            options["cwd"] = real(options["cwd"])
        super().__init__(args, *words, **options)


def command(words: list[t.Any]) -> list[t.Any]:
    """Return a command line with the program's place, also behind `timeout`, and that of what a Python runs."""
    at = 0
    if words[0] == "timeout":
        at = next(index for index, word in enumerate(words) if index and not word.startswith("-")) + 1
    program = words[at]
    if program == PYTHON:
        script = next((index for index in range(at + 1, len(words)) if not words[index].startswith("-")), at)
        words[script] = real(words[script])
    place = real(program)
    if place != program and os.path.exists(place):
        # The binary of a simulated kubelet is no program of this machine.
        words[at : at + 1] = [f"{ROOT}/usr/libexec/run", place] if _is_kubelet(place) else [place]
    return words


def _is_kubelet(place: str) -> bool:
    try:
        with _open(place, "rb") as stream:
            return bool(stream.read(len(MARK)) == MARK)
    except OSError:
        return False


class NodeFinder:
    """A hook of `sys.path_hooks` for the folders and zip files of the node."""

    def __init__(self) -> None:
        self.inner = importlib.machinery.FileFinder.path_hook(
            (importlib.machinery.SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES)
        )

    def __call__(self, path: str) -> t.Any:
        """Return the finder for a folder or zip file. Raises ImportError for one of this machine."""
        place = real(path)
        if place == path:
            raise ImportError(path)
        return zipimport.zipimporter(place) if place.endswith(".zip") else self.inner(place)


class TlsFinder:
    """A finder that lets the module `ssl` map the paths of certificates, once some program imports it."""

    def find_spec(self, name: str, path: t.Any = None, target: t.Any = None) -> t.Any:
        """Return how to load `ssl`, None for any other module."""
        if name != "ssl":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name)
        if spec and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = TlsLoader(spec.loader.name, spec.loader.path)
        return spec


class TlsLoader(importlib.machinery.SourceFileLoader):
    """Loads `ssl`."""

    def exec_module(self, module: t.Any) -> None:
        """Run the module's code, then replace what opens files without Python."""
        super().exec_module(module)
        context = module.SSLContext
        load, verify = context.load_cert_chain, context.load_verify_locations
        context.load_cert_chain = lambda self, certfile, keyfile=None, password=None: load(
            self, real(certfile), keyfile and real(keyfile), password
        )
        context.load_verify_locations = lambda self, cafile=None, capath=None, cadata=None: verify(
            self, cafile and real(cafile), capath and real(capath), cadata
        )


def _end_with(handle: int) -> None:
    """End this process when the process that holds the other end of a pipe has ended."""
    os.read(handle, 1)
    os._exit(1)


_open = builtins.open


def install() -> None:
    """Make the node's folder the root file system of this process."""
    for name in ONE_PATH:
        _replace(name, _one)
    for name in TWO_PATHS:
        _replace(name, _two)
    readlink, symlink, abspath = os.readlink, os.symlink, posixpath.abspath
    os.readlink = lambda path, **options: shown(readlink(real(path), **options))
    os.symlink = lambda target, path, *words, **options: symlink(real(target), real(path), *words, **options)
    posixpath.abspath = lambda path: shown(abspath(path))
    builtins.open = io.open = _one(_open)
    subprocess.Popen = NodePopen  # type: ignore[misc]
    connect = socket.socket.connect
    # The path of a socket may have 107 bytes, and a link on the way to it any number.
    socket.socket.connect = lambda self, place: connect(  # type: ignore[method-assign]
        self, os.path.realpath(real(place)) if isinstance(place, str) else place
    )
    sys.path_hooks.insert(0, NodeFinder())
    sys.meta_path.insert(0, TlsFinder())
    sys.executable = PYTHON
    os.environ["PATH"] = f"{ROOT}/usr/bin:{os.environ.get('PATH', os.defpath)}"
    if os.environ.get(LIFE):
        # Only this process has the pipe, not the programs that it runs.
        threading.Thread(target=_end_with, args=(int(os.environ.pop(LIFE)),), daemon=True).start()


install()
