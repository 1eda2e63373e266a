# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The local configuration: the node's own files, saved byte for byte before the first switch; `reset` returns to it.

``store/local/manifest`` lists the files with owner and mode, ``store/local/files/<n>`` holds their bytes.
``store/local/config/<key>`` is the kubelet's former config file under the name that the kubelet reads, so that a revert
to it is one rename of `active`, as to any checkpoint. With delivery `dropin` the kubelet lays this file over its own
config file, and it overrides nothing; `config` is the path of our link in the drop-in folder then.
"""

from __future__ import annotations

import os
import re
import typing as t

from ..records import blockyaml, json_file
from ..system import files
from ..system.files import OS, StoreError
from . import meta

DEFAULT_KEY = "kubelet"
LINK = "90-livenodes-kubelet.conf"
OVERRIDE = b'{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}\n'
"""What stands for the node's own configuration where a kubelet reads our file as a drop-in: nothing is overridden."""

# These are resolved against the config file's folder (pkg/kubelet/apis/config/helpers.go), podLogsDir since 1.30: in
# another folder they would name other files.
_FIELDS = (
    *("staticPodPath", "clientCAFile", "tlsCertFile", "tlsPrivateKeyFile"),
    *("resolvConf", "volumePluginDir", "podLogsDir"),
)
_NAMES = "|".join(_FIELDS)
_RELATIVE = re.compile(rf"""["']?({_NAMES})["']?[ \t]*:[ \t]*["']?([^/\s"'#{{\[,}}~][^\s"',}}]*)""")
_NO_PATH = ("null", "|", ">")


class File(t.NamedTuple):
    """A file as it was: bytes (None: it did not exist), mode, owner."""

    data: bytes | None
    mode: int = 0o644
    uid: int = 0
    gid: int = 0


class Local(t.NamedTuple):
    """The saved local configuration. `config`: the path of the kubelet's own file; `key`: its name under `active`."""

    config: str
    key: str
    files: dict[str, File]


class LocalStore:
    """The folder ``store/local``."""

    def __init__(self, folder: str, fs: OS) -> None:
        self.folder = folder
        self.config = os.path.join(folder, "config")
        self.fs = fs

    def remember(self, content: t.Mapping[str, File], config: str, key: str, pretend: bool = False) -> bool:
        """Save files as they are now, once: saved files are never replaced. Return whether this was new.

        With `pretend` nothing is saved. Raises StoreError, also for no config file or one with relative paths.
        """
        if self.exists():
            return False
        own = _fit(content, config, key)
        if pretend:
            return True
        names = sorted(content)
        manifest = {"config": config, "key": key, "files": [_row(name, content[name]) for name in names]}
        made = {}
        for index, name in enumerate(names):
            data = content[name].data
            if data is not None:
                made[f"files/{index}"] = (data, 0o600)
        made["manifest"] = (json_file.encode(manifest), 0o600)
        made[f"config/{key}"] = (own, 0o600)
        files.write_folder(self.folder, made, self.fs)
        return True

    def renew(self, content: t.Mapping[str, File], config: str, key: str, pretend: bool = False) -> None:
        """Replace the copy, damaged or not, unless `pretend`. Raises as `remember`, with the former copy in place."""
        _fit(content, config, key)
        if pretend:
            return
        following = LocalStore(os.path.join(os.path.dirname(self.folder), f"{files.TEMPORARY}local"), self.fs)
        files.remove_any(following.folder, self.fs)
        following.remember(content, config, key)
        files.remove_any(self.folder, self.fs)
        files.move(following.folder, self.folder, self.fs)

    def lay_over(self, link: str) -> None:
        """Make an empty override the local config, in the place of a link; the saved files stay.

        File by file: the folder is whole at every moment, for a guard that must revert. A cut before the last step
        leaves the former config, which `offer` repairs. Raises StoreError.
        """
        self._known()
        path = os.path.join(self.folder, "manifest")
        manifest = json_file.load(path, self.fs)
        files.write(os.path.join(self.folder, "files", str(len(manifest["files"]))), OVERRIDE, fs=self.fs)
        manifest.update(config=link, files=[*manifest["files"], _row(link, File(OVERRIDE, 0o600))])
        json_file.save(path, manifest, self.fs)
        files.write(os.path.join(self.config, manifest["key"]), OVERRIDE, fs=self.fs)

    def exists(self) -> bool:
        """Return whether anything is saved. Raises FileError."""
        return files.check_folder(os.path.dirname(self.folder), self.fs) and files.check_folder(self.folder, self.fs)

    def read(self) -> Local | None:
        """Return what is saved, None when nothing is. Raises StoreError when it is damaged."""
        if not self.exists():
            return None
        try:
            manifest = json_file.load(os.path.join(self.folder, "manifest"), self.fs)
            if manifest is None:
                raise ValueError("it is missing or empty")
            found: dict[str, File] = {}
            for index, entry in enumerate(manifest["files"]):
                place = os.path.join(self.folder, "files", str(index))
                data = None if entry["sha256"] is None else files.read(place, self.fs)
                if _sha(data) != entry["sha256"]:
                    raise StoreError(
                        f"{self.folder}/files/{index} ({entry['path']}) does not match its digest: "
                        "it was changed or damaged"
                    )
                owner = {"data": b"", "mode": entry["mode"], "uid": entry["uid"], "gid": entry["gid"]}
                found[entry["path"]] = json_file.fields(owner, File(b""))._replace(data=data)
            known = {"config": manifest["config"], "key": meta.check_key(manifest["key"]), "files": found}
            local = json_file.fields(known, Local("", "", {}))
        except (ValueError, KeyError, TypeError) as error:
            raise StoreError(f"{self.folder}/manifest is damaged ({type(error).__name__}: {error})") from error
        if local.config not in local.files:
            raise StoreError(f"{self.folder}/manifest lacks the kubelet's config file {local.config}")
        return local

    def verify(self) -> Local:
        """Return what is saved when the local config can be run. Raises StoreError when it cannot."""
        known = self._known()
        path = os.path.join(self.config, known.key)
        if not files.check_folder(self.config, self.fs) or files.read(path, self.fs) != known.files[known.config].data:
            raise StoreError(f"{path} is not the local configuration: it is missing, or was changed or damaged")
        return known

    def offer(self) -> Local:
        """Make sure that the local config can be run: restore a damaged copy. Raises as `verify`."""
        try:
            return self.verify()
        except StoreError:
            known = self._known()
            files.make_folder(self.config, self.fs)
            files.write(os.path.join(self.config, known.key), known.files[known.config].data or b"", fs=self.fs)
            return self.verify()

    def _known(self) -> Local:
        known = self.read()
        if known is None:
            raise StoreError(
                f"{self.folder}: the local configuration is not saved yet, so no revert to it would be possible: "
                "save it first"
            )
        return known


def _fit(content: t.Mapping[str, File], config: str, key: str) -> bytes:
    """Return the config file's bytes. Raises StoreError unless they can be run from the store."""
    data = content[config].data if config in content else None
    if data is None or not data.strip():
        raise StoreError(
            f"{config}: there is no kubelet config file to revert to. "
            "Let the kubelet run with a config file of its own first"
        )
    for field, path in _relative(data):
        raise StoreError(
            f"{config}: {field} is the relative path {path!r}, "
            "which names another file when the config is in another folder: make it absolute first"
        )
    meta.check_key(key)
    return data


def _relative(data: bytes) -> list[tuple[str, str]]:
    """Return the relative paths in a config file, each with its field."""
    try:
        return list(_relative_in(blockyaml.load(data.decode())))
    except ValueError:
        # YAML that can have two meanings, such as an anchor: the lines still show these fields.
        found = _RELATIVE.findall(data.decode("utf-8", "replace"))
        return [(field, path) for field, path in found if path not in _NO_PATH]


def _relative_in(value: t.Any) -> t.Iterator[tuple[str, str]]:
    if not isinstance(value, dict):
        return
    for name, inner in value.items():
        yield from _relative_in(inner)
        if name in _FIELDS and isinstance(inner, str) and inner and not inner.startswith("/"):
            yield name, inner


def take(path: str) -> File:
    """Return a file as it is on this node, following links (a config file may be one). Raises FileError.

    In the place of our link in a drop-in folder there was nothing before us: that is an empty override.
    """
    if os.path.basename(path) == LINK:
        return File(OVERRIDE)
    try:
        with open(path, "rb", opener=files.at_once) as file:
            found = os.fstat(file.fileno())
            return File(file.read(), found.st_mode & 0o7777, found.st_uid, found.st_gid)
    except FileNotFoundError:
        return File(None)
    except OSError as error:
        raise files.FileError.of(path, "read", error) from error


def _row(path: str, file: File) -> dict[str, t.Any]:
    """Return what the manifest has of a file."""
    return {"path": path, "mode": file.mode, "uid": file.uid, "gid": file.gid, "sha256": _sha(file.data)}


def _sha(data: bytes | None) -> str | None:
    return None if data is None else files.sha256(data)
