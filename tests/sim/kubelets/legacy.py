# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A kubelet 1.8 to 1.10 that follows spec.configSource.configMapRef (pkg/kubelet/kubeletconfig of these versions).

Its words and its fields are those of its own time: nothing here is taken from the code under test.
"""

from __future__ import annotations

import json
import typing as t

from tests.sim.api.store import stamp
from tests.sim.kubelets.kubelet import Away, Host, Kubelet

Config = dict[str, t.Any]
ALPHA, BETA = "kubeletconfig/v1alpha1", "kubelet.config.k8s.io/v1beta1"
GRADUATION = 600.0
# What it may fail to do while it follows its source, in the words of 1.8 and 1.9 and in those of 1.10.
FAULTS = {
    "informer": ("failed to read Node from informer object cache",) * 2,
    "reset": ("failed to reset to local (default or init) config", "failed to reset to local config"),
    "default": (
        "failed to set current config checkpoint to default",
        "failed to set current config checkpoint to local config",
    ),
    "look": (
        'failed to determine whether object with UID "{uid}" was already checkpointed',
        "failed to determine whether object {path} with UID {uid} was already checkpointed",
    ),
    "save": (
        'failed to save config checkpoint for object with UID "{uid}"',
        "failed to save config checkpoint for object {path} with UID {uid}",
    ),
    "set": (
        'failed to set current config checkpoint to object with UID "{uid}"',
        "failed to set current config checkpoint to object {path} with UID {uid}",
    ),
}
# What its flags set, and no default.
SET = ("clusterDomain", "featureGates", "staticPodPath", "podManifestPath", "allowPrivileged")


class LegacyKubelet(Kubelet):
    """Reads its source `delay` seconds after a change, and tries again as often.

    `init`: whether it has an --init-config-dir (1.8 and 1.9), `gate` and `folder`: whether it has the feature gate and
    --dynamic-config-dir. `graduation` seconds after a start its source is last-known-good in 1.10; in 1.8 and 1.9 it is
    at the first start that is so long after its assignment.
    """

    unit_of_relists = "microseconds"

    def __init__(
        self,
        host: Host,
        name: str,
        *,
        minor: int = 9,
        init: bool = False,
        gate: bool = True,
        folder: bool = True,
        delay: float = 1.0,
        graduation: float = GRADUATION,
    ) -> None:
        super().__init__(host, name, delay)
        self.minor, self.init, self.graduation = minor, init, graduation
        self.follows = gate and folder
        # With the gate alone, 1.8 and 1.9 report that they run their local config, and follow nothing.
        self.reports = gate and (folder or minor < 10)
        self.passed = False
        """Whether its source has passed its trial."""
        self.local = local(minor)
        self.source: t.Any = None
        self.asked: Config = {}
        """The last configMapRef of its source."""
        self.current: Config | None = None
        self.good: Config | None = None
        self.bad = self.sync = ""
        self.texts: dict[str, str | None] = {}
        """What it has on its disk, by uid."""
        self.runs = self.local
        self.refuses = ""
        """At which step it refuses every configuration from the API: load, parse (not 1.10) or validate."""
        self.fails = ""
        """What it fails to do while it follows its source, a key of FAULTS."""
        self.seen: list[str] = []
        """The messages and reasons of its condition, oldest first."""

    def configz(self) -> Config:
        """Return what it runs, without kind and apiVersion."""
        return {key: value for key, value in self.runs.items() if key not in ("kind", "apiVersion")}

    def conditions(self) -> list[Config]:
        """Return the condition that reports what it runs; none without the feature."""
        if not self.reports:
            return []
        status = "False" if self.bad or self.sync else "True"
        good = self.sync and f"failed to sync, reason: {self.sync}"
        message, reason = self._message(), good or self.bad or self._fine()
        self.seen.append(f"{message}: {reason}")
        kind = "KubeletConfigOk" if self.minor == 10 else "ConfigOK"
        times = dict.fromkeys(("lastHeartbeatTime", "lastTransitionTime"), stamp(self.host.clock()))
        return [{"type": kind, "status": status, "message": message, "reason": reason, **times}]

    def _message(self) -> str:
        which, source = ("last-known-good", self.good) if self.bad else ("current", self.current)
        if self.minor == 10:
            return f"using {which}: {_path(source) if source else 'local'}"
        place = "init" if self.init else "default"
        if source:
            place = f'UID: "{source["uid"]}"'
        return f"using {which} ({place})"

    def _fine(self) -> str:
        if self.current:
            return "passing all checks"
        if self.minor == 10:
            return "when the config source is nil, the Kubelet uses its local config"
        given = "an init config was provided" if self.init else "no init config was provided"
        return f"current is set to the local default, and {given}"

    def see(self, node: t.Mapping[str, t.Any]) -> None:
        """See its Node; a new source is read later."""
        source = node["spec"].get("configSource")
        if source != self.source:
            self.source = source
            self.asked = (source or {}).get("configMapRef") or self.asked
            self.poke()

    def poke(self) -> None:
        self.host.after(self.delay, self._sync, self.source)

    def _sync(self, source: t.Any) -> None:
        with self.lock:
            if not self.running or self.deaf or not self.follows or source != self.source:
                return
            before = self.sync
            try:
                self._follow(source)
            except Away:
                self.poke()
                return
            if self.sync:
                self.poke()
            if self.sync != before:
                self.report()

    def _follow(self, source: t.Any) -> None:
        if self._failed("informer"):
            return
        if source is None:
            if self._failed("reset") or self._failed("default"):
                return
            self.sync = ""
            if self.current is not None:
                self.current = self.good = None
                self._start()
            return
        place = source.get("configMapRef")
        if place is None:
            self.sync = "invalid NodeConfigSource, exactly one subfield must be non-nil, but all were nil"
        elif not all(place.get(part) for part in ("uid", "name", "namespace")):
            self.sync = "invalid ObjectReference, all of UID, Name, and Namespace must be specified"
        elif self._failed("look", place) or (place["uid"] not in self.texts and not self._download(place)):
            return
        elif not self._failed("set", place):
            self.sync = ""
            if place != self.current:
                self.current = place
                self._start()

    def _failed(self, what: str, place: Config | None = None) -> bool:
        """Return whether it fails to do this, which it reports then."""
        if self.fails != what:
            return False
        parts = {"path": _path(place), "uid": place["uid"]} if place else {}
        self.sync = FAULTS[what][self.minor == 10].format(**parts)
        return True

    def _download(self, place: Config) -> bool:
        status, found = self.host.request("GET", _path(place))
        if status != 200:
            name, namespace = (json.dumps(place[part]) for part in ("name", "namespace"))
            self.sync = f"failed to download ConfigMap with name {name} from namespace {namespace}"
            return False
        uid = found["metadata"]["uid"]
        if uid != place["uid"]:
            self.sync = (
                f"invalid ConfigSource.ConfigMapRef.UID: {place['uid']} does not match {_path(place)}.UID: {uid}"
                if self.minor == 10
                else f'invalid ObjectReference, UID "{place["uid"]}" does not match UID of downloaded ConfigMap "{uid}"'
            )
            return False
        if self._failed("save", place):
            return False
        self.texts[uid] = (found.get("data") or {}).get("kubelet")
        return True

    def restarted(self) -> None:
        self._load()
        super().restarted()
        if self.minor == 10:
            self.host.after(self.graduation, self._graduate, self.restarts)

    def _start(self) -> None:
        self.passed = False
        self.host.after(self.graduation, self._pass, self.current)
        self.restarted()

    def _load(self) -> None:
        self.bad = ""
        step = self._fault(self.current)
        if self.current and step:
            named = f": {_path(self.current)}" if self.minor == 10 else f' (UID: "{self.current["uid"]}")'
            self.bad = f"failed to {step} current{named}"
        runs = self.good if self.bad else self.current
        unset = {key: value for key, value in self.local.items() if key not in SET}
        self.runs = {**unset, **json.loads(self.texts[runs["uid"]] or "{}")} if runs else self.local
        if self.minor < 10 and self.passed and not self.bad:
            self.good = self.current

    def _fault(self, source: Config | None) -> str:
        if source is None:
            return ""
        text = self.texts[source["uid"]]
        if self.refuses:
            return self.refuses
        if text is None:
            # The key is looked up while 1.8 and 1.9 parse the ConfigMap, and is a file that 1.10 reads.
            return "load" if self.minor == 10 else "parse"
        try:
            config = json.loads(text)
        except ValueError:
            return "load" if self.minor == 10 else "parse"
        wanted = BETA if self.minor == 10 else ALPHA
        typed = isinstance(config.get("maxPods", 0), int) and isinstance(
            config.get("evictionHard") or self.local["evictionHard"], type(self.local["evictionHard"])
        )
        if (config.get("apiVersion"), config.get("kind")) != (wanted, "KubeletConfiguration") or not typed:
            return "load" if self.minor == 10 else "parse"
        return "validate" if any(config.get(name, 0) < 0 for name in ("maxPods", "kubeAPIQPS")) else ""

    def _graduate(self, restarts: int) -> None:
        with self.lock:
            if self.running and self.restarts == restarts and not self.bad:
                self.good = self.current

    def _pass(self, source: Config | None) -> None:
        with self.lock:
            self.passed = self.passed or self.current == source


def _path(place: t.Mapping[str, str]) -> str:
    return f"/api/v1/namespaces/{place['namespace']}/configmaps/{place['name']}"


def local(minor: int) -> Config:
    """Return some of what such a kubelet runs of itself, as its /configz shows it."""
    common: Config = {
        "address": "0.0.0.0",
        "eventRecordQPS": 5,
        "healthzPort": 10248,
        "maxPods": 110,
        "clusterDomain": "cluster.local",
        "enforceNodeAllocatable": ["pods"],
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"},
        "featureGates": {"DynamicKubeletConfig": True},
        "syncFrequency": "1m0s",
    }
    if minor == 10:
        return {**common, "staticPodPath": "/etc/kubernetes/manifests"}
    texts: Config = {
        "evictionHard": "memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%",
        "featureGates": "DynamicKubeletConfig=true",
    }
    return {
        **common,
        **(texts if minor == 8 else {}),
        "podManifestPath": "/etc/kubernetes/manifests",
        "manifestURL": "",
        "manifestURLHeader": None,
        "allowPrivileged": True,
        "cAdvisorPort": 4194,
        "hostNetworkSources": ["*"],
        "seccompProfileRoot": "/var/lib/kubelet/seccomp",
        "evictionSoft": "" if minor == 8 else None,
    }
