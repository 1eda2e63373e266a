# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Makes the seeds of a group from its plan: what a new machine of it needs before the first start of its kubelet.

Nothing is written, on the controller or in the cluster, unless all nodes of the group agree on one configuration.
A seed is one file for a builder of images, for cloud-init, or for Ignition: equal seeds give equal bytes, so that a
second run changes nothing.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import tarfile
import typing as t

from .._config import delivery as deliveries
from .._config.fields import fields
from .._config.values import document, paths
from .._config.values.node_row import first_of
from .._node.install import seed_files
from .._node.switch import seeds, values
from .._node.switch.seeds import Entry, Seed
from .._node.unit import unitfile
from .api.errors import ClusterError
from .api.session import Json, Session
from .objects import configmaps
from .stages import push

_SHOWN = 3
_USER_DATA = ("cloud-init", "ignition")
_LARGE = 16 * 1024
"""The lowest limit of bytes of user data among large providers: that of Amazon EC2, before base64."""
_LATER = "Nothing was written"
_UNIQUE = ("podCIDR", "providerID")
"""What no two machines share. Other fields of a machine, such as cgroupDriver, are checked on the new one."""


def build(session: Session, options: Json, check_mode: bool) -> Json:
    """Push the configuration of the group, and write its seed in each format. Raises ClusterError."""
    formats = formats_of(options["formats"])
    settings = _settings(options["hosts"])
    row, config = _configuration(options["plan"])
    pushed = _pushed(session, options, config, check_mode)
    key = pushed["source"]["kubeletConfigKey"]
    seed = Seed(
        options={
            **{name: value for name, value in settings["options"].items() if value not in (None, "")},
            "source": values.option(pushed["source"]),
            "data": {key: document.render(config)},
            "delivery": row["delivery"],
        },
        follow=settings.get("follow") or {},
    )
    entries = seeds.entries(settings["config_dir"], seed.options["unit"], seed, options["program"])
    changed, sizes, too_large = pushed["changed"], {}, []
    for name in formats:
        end, encode = BY_NAME[name]
        path, data = os.path.join(options["dest"], f"seed.{end}"), encode(entries)
        changed = _written(path, data, check_mode) or changed
        sizes[path] = len(data)
        if name in _USER_DATA and len(data) > _LARGE:
            too_large.append(f"{path} has {len(data)} bytes")
    result = {"files": list(sizes), "sizes": sizes, "source": pushed["source"], "kept_until": pushed["until"]}
    return {**result, "changed": changed, "warnings": _too_large(too_large, options["program"])}


def formats_of(given: t.Sequence[str]) -> list[str]:
    """Return the names of formats without spaces, which Ansible keeps when it splits a text at its commas.

    Raises ClusterError for a name of no format, and without any.
    """
    names = [name.strip() for name in given]
    unknown = [name for name in names if name not in BY_NAME]
    if unknown or not names:
        what = "no format is named"
        if unknown:
            what = f"there is no format {unknown[0]}"
        raise ClusterError(f"formats: {what}. Use {', '.join(BY_NAME)}")
    return names


def _too_large(files: t.Sequence[str], with_program: bool) -> list[str]:
    """Return the warning about files that user data may not have room for."""
    if not files:
        return []
    text = f"{' and '.join(files)}. Providers limit user data, some to {_LARGE} bytes: look up the limit of yours"
    if with_program:
        text += ". For a small seed set kubelet_config_seed_program: false, and put the tar of any group into the image"
    return [text]


def _settings(hosts: t.Mapping[str, t.Mapping[str, t.Any]]) -> t.Mapping[str, t.Any]:
    """Return how the machines of the group are switched.

    Raises ClusterError for hosts that differ in it, and for a store that the service of the seed could not name.
    """
    if not hosts:
        raise ClusterError(f"the group has no hosts, so it is not known what its machines need. {_LATER}")
    for host, found in hosts.items():
        if not _is_complete(found):
            raise ClusterError(
                f"hosts: the value of host {host} is {found!r}. {_LATER}. Set a mapping with config_dir, and with "
                "options that have unit"
            )
    first = next(iter(hosts))
    for host, found in hosts.items():
        for name, value in {**found, **found["options"]}.items():
            wanted = {**hosts[first], **hosts[first]["options"]}.get(name)
            if name != "options" and value != wanted:
                raise ClusterError(
                    f"the hosts of the group differ in {name}, which is {wanted!r} on {first} and {value!r} on {host}. "
                    f"{_LATER}. Set one value for all of them, or make a seed for each part with kubelet_config_hosts"
                )
    folder = hosts[first]["config_dir"]
    wrong = unitfile.unfit(folder)
    if wrong:
        raise ClusterError(f"{folder}: {wrong}. {_LATER}. Correct kubelet_config_dir of the hosts of the group")
    return hosts[first]


def _is_complete(host: t.Any) -> bool:
    options = host.get("options") if isinstance(host, t.Mapping) else None
    return isinstance(options, t.Mapping) and bool(options.get("unit") and host.get("config_dir"))


def _configuration(plan: t.Mapping[str, t.Any]) -> tuple[t.Mapping[str, t.Any], Json]:
    """Return the row of a node and the configuration that all nodes of the group have. Raises ClusterError."""
    rows = plan["nodes"]
    for name, row in rows.items():
        if deliveries.of(row["delivery"]).on_node:
            continue
        raise ClusterError(
            f"node {name} has delivery {row['delivery']}: its kubelet gets its configuration from the API server, once "
            f"its Node names it. A seed is for the deliveries {' and '.join(deliveries.ON_NODE)}. {_LATER}"
        )
    names: dict[tuple[str, str], list[str]] = {}
    for name, row in rows.items():
        names.setdefault((row["variant"], row["delivery"]), []).append(name)
    if len(names) != 1:
        raise ClusterError(_differing(plan, names))
    first = rows[next(iter(rows))]
    of_all = plan["variants"][first["variant"]]
    # A new kubelet creates its certificate, and would not start with the path of one that is not there.
    config = {name: value for name, value in of_all.items() if not fields.is_created(name, value)}
    _check_fit(config)
    if plan["summary"].get("from_live"):
        raise ClusterError(
            "the own config file of a node was not read, so its configuration is what its kubelet runs, with values "
            f"of this machine. {_LATER}. Correct what the plan names, then run again"
        )
    return first, config


def _differing(plan: t.Mapping[str, t.Any], names: t.Mapping[tuple[str, str], t.Sequence[str]]) -> str:
    """Return in words that the nodes of a group have several configurations, and the first difference."""
    (one, by_one), (other, by_other) = list(names)[:2]
    what = f"delivery {by_one} and {by_other}"
    if by_one == by_other:
        before, after = plan["variants"][one], plan["variants"][other]
        apart = [name for name in sorted({**before, **after}) if before.get(name) != after.get(name)]
        what = ", ".join(apart[:_SHOWN]) + (", and more" if len(apart) > _SHOWN else "")
    groups = [first_of(found, _SHOWN) for found in list(names.values())[:2]]
    return (
        f"the nodes of the group do not have one configuration: {groups[0]} and {groups[1]} differ in {what}. "
        f"{_LATER}. Declare the same for all of them, or make a seed for each part with kubelet_config_hosts"
    )


def _check_fit(config: t.Mapping[str, t.Any]) -> None:
    """Raise ClusterError for a configuration that must not be in a file, or not on several machines."""
    for name in config:
        if fields.is_secret(name):
            raise ClusterError(
                f"{name} holds secrets, and a seed is a file without protection. {_LATER}. Keep the field in the file "
                "of the kubelet itself, or assign it with a rollout"
            )
        if name in _UNIQUE:
            raise ClusterError(
                f"{name} belongs to one machine, and a seed is for several. {_LATER}. Keep the field out of the file "
                "of the kubelet of these nodes, for example as a flag"
            )


def _pushed(session: Session, options: Json, config: t.Mapping[str, t.Any], check_mode: bool) -> Json:
    """Push the configuration, and mark one that was there as needed for some days, after which no node may have it.

    Not on the ConfigMap itself: a write would change its resourceVersion.
    """
    days, variant = options["keep_days"], document.variant(config)
    found = push.push(
        session, {**options, "state": "present", "config": None, "src": None, "variants": {variant: config}}, check_mode
    )
    row = found["configmaps"][variant]
    until = push.last_day(days)
    labels, notes = {configmaps.STAGED_LABEL: until}, {configmaps.SEED_ANNOTATION: row["name"]}
    mark = configmaps.body(options["namespace"], f"{row['name']}-seed-{until}", labels, notes)
    if days and not found["changed"]:
        configmaps.create(session, mark, check_mode)
    return {"changed": found["changed"], "source": paths.only(row, configmaps.REFERENCE), "until": until}


def _written(path: str, data: bytes, check_mode: bool) -> bool:
    """Write a file of the controller as a whole; return whether that is a change. Raises ClusterError."""
    try:
        if os.path.exists(path):
            with open(path, "rb") as stream:
                if stream.read() == data:
                    return False
        if not check_mode:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(f"{path}.new", "wb") as stream:
                stream.write(data)
            os.replace(f"{path}.new", path)
    except OSError as error:
        raise ClusterError(f"{path} cannot be written: {error.strerror}. Correct kubelet_config_seed_dest") from error
    return True


_DONE = "/var/lib/cloud/instance/livenodes-kubelet-seed"
"""A file of cloud-init's folder of this instance: a machine that is made from its image is another instance."""
_IGNITION = "3.0.0"
"""The first stable version of the specification; every later 3.x reads it."""
_WIDTH = 76
_KEEP_LINKS = "$(tar --help | grep -o -m1 -e --keep-directory-symlink)"
"""GNU tar has it from 1.27 on. Without it, a folder of the image that is a link becomes a folder."""
_MERGED = """merge_how:
  - {name: list, settings: [append]}
  - {name: dict, settings: [no_replace, recurse_list]}
"""
"""By default, the commands of one part of user data replace those of the parts before it."""


def tar(entries: t.Sequence[Entry]) -> bytes:
    """Return a compressed tar to unpack in the root folder of an image, with `--keep-directory-symlink` of GNU tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for entry in entries:
            member = tarfile.TarInfo(entry.path.lstrip("/"))
            member.mode = entry.mode
            if entry.link:
                member.type, member.linkname = tarfile.SYMTYPE, entry.link
            elif entry.data is None:
                member.type = tarfile.DIRTYPE
            else:
                member.size = len(entry.data)
            archive.addfile(member, io.BytesIO(entry.data or b""))
    return gzip.compress(out.getvalue(), mtime=0)


def cloud_init(entries: t.Sequence[Entry]) -> bytes:
    """Return user data for cloud-init: a module that runs early in each boot unpacks the files in the first one.

    The kubelet may be about to start. So the service of the seed, which it must wait for, is started too.
    """
    text = base64.b64encode(tar(entries)).decode()
    lines = [text[at : at + _WIDTH] for at in range(0, len(text), _WIDTH)]
    started = f"systemctl daemon-reload && systemctl start --no-block {seed_files.SERVICE}"
    script = [
        f"if ! test -e {_DONE}; then",
        f"base64 -d <<'END' | tar -xz {_KEEP_LINKS} -C / && sync && {started} && touch {_DONE}",
        *lines,
        "END",
        "fi",
    ]
    body = "\n".join(f"    {line}" for line in script)
    return f"#cloud-config\n# Written by livenodes.kubelet.\n{_MERGED}bootcmd:\n  - |\n{body}\n".encode()


def ignition(entries: t.Sequence[Entry]) -> bytes:
    """Return a configuration for Ignition, which writes the files before systemd starts."""
    storage: dict[str, list[Json]] = {"directories": [], "files": [], "links": []}
    for entry in entries:
        if entry.link:
            storage["links"].append({"path": entry.path, "target": entry.link})
        elif entry.data is None:
            storage["directories"].append({"path": entry.path, "mode": entry.mode})
        else:
            packed = base64.b64encode(gzip.compress(entry.data, mtime=0)).decode()
            contents = {"compression": "gzip", "source": f"data:;base64,{packed}"}
            storage["files"].append({"path": entry.path, "mode": entry.mode, "overwrite": True, "contents": contents})
    value = {"ignition": {"version": _IGNITION}, "storage": storage}
    return (json.dumps(value, indent=2, sort_keys=True) + "\n").encode()


BY_NAME: t.Mapping[str, tuple[str, t.Callable[[t.Sequence[Entry]], bytes]]] = {
    "cloud-init": ("cloud-init.yaml", cloud_init),
    "ignition": ("ignition.json", ignition),
    "tar": ("tar.gz", tar),
}
"""The formats, each with the end of its file's name."""
