# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet of 1.24 or later: its own file, from 1.30 on its drop-ins, and its flags, read once at each start."""

from __future__ import annotations

import functools
import tempfile
import typing as t
from pathlib import Path

from ansible_collections.livenodes.kubelet.plugins.module_utils._config.fields import fields
from tests.lab.kubeadm import OWN_CONFIG
from tests.sim.kubelets import configs
from tests.sim.kubelets.configs import Config
from tests.sim.kubelets.kubelet import Host, Kubelet
from tests.sim.nodes import kubelet_config
from tests.sim.nodes.kubelet_config import Ended

FOLDER = "/etc/kubernetes/kubelet.conf.d"
AUTHORITY = "/etc/kubernetes/pki/ca.crt"


class StaticKubelet(Kubelet):
    """Serves what is in the files that `write` last wrote; a restart reads them.

    `folder`: whether it has --config-dir. `flags` are the fields that its command line sets.
    """

    def __init__(
        self,
        host: Host,
        name: str,
        own: str,
        *,
        minor: int,
        flags: t.Mapping[str, t.Any] | None = None,
        folder: bool = False,
        delay: float = 1.0,
    ) -> None:
        super().__init__(host, name, delay)
        self.minor, self.flags, self.folder = minor, dict(flags or {}), folder
        self.own = own
        self.dropins: dict[str, str] = {}
        self.words = ""
        """Its last message before it ended; empty while it runs."""
        self._live = self._read()

    def write(self, own: str | None = None, dropins: t.Mapping[str, str] | None = None) -> None:
        """Replace its own file, or all of its drop-ins (text by path below the folder): it reads them at a start."""
        self.own = self.own if own is None else own
        self.dropins = self.dropins if dropins is None else dict(dropins)

    def restart(self) -> None:
        with self.lock:
            self.restarted()

    def configz(self) -> Config:
        return self._live

    def dies(self) -> bool:
        try:
            self._live, self.words = self._read(), ""
        except Ended as error:
            self.words = str(error)
        return bool(self.words)

    def _read(self) -> Config:
        words = tuple(f"--{fields.flags_of(path)[0]}={value}" for path, value in self.flags.items())
        return read(self.own, tuple(self.dropins.items()) if self.folder else None, words, self.minor)


@functools.lru_cache(maxsize=512)
def read(own: str, dropins: tuple[tuple[str, str], ...] | None, words: tuple[str, ...], minor: int) -> Config:
    """Return the /configz of a kubelet with this config file, drop-ins (text by path; None: no folder) and flags.

    Raises Ended, also for what would end it later. The result must not be changed.
    """
    files = {OWN_CONFIG: own, AUTHORITY: "", **{f"{FOLDER}/{path}": text for path, text in dropins or ()}}
    given = [f"--config={OWN_CONFIG}", *([] if dropins is None else [f"--config-dir={FOLDER}"]), *words]
    with tempfile.TemporaryDirectory(prefix="livenodes-sim-") as place:
        root = Path(place)
        for path, text in files.items():
            target = root / path.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        config = kubelet_config.read(given, minor, root).config
        if why := kubelet_config.deadly(config, minor, root):
            raise Ended(f"failed to run Kubelet: {why}")
    return {**configs.CERTIFICATE, **kubelet_config.shown(config, minor)}
