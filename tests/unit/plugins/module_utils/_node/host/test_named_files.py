# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import socket
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.host import named_files

STORE = "/var/lib/kubelet-config"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a node with a CA, a TLS pair, and a runtime's socket."""
    for name in ("pki/ca.crt", "pki/tls.crt", "pki/tls.key", "run/file"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    return tmp_path


def ca(path: str) -> dict[str, t.Any]:
    return {"authentication": {"x509": {"clientCAFile": path}}}


CERT, KEY = {"tlsCertFile": "/pki/tls.crt"}, {"tlsPrivateKeyFile": "/pki/tls.key"}
RUNTIME = "containerRuntimeEndpoint"


@pytest.mark.parametrize(
    ("config", "reasons"),
    [
        ({}, []),
        (ca("/pki/ca.crt"), []),
        (ca(""), []),
        (ca("/pki/none.crt"), ["authentication.x509.clientCAFile: /pki/none.crt does not exist"]),
        (ca("/pki"), ["authentication.x509.clientCAFile: /pki is not a file"]),
        # A relative path is beside the config file: another key of the ConfigMap, or relative to the link `active`.
        (ca("ca.crt"), []),
        (ca("./ca.crt"), []),
        (ca("other.crt"), [f"authentication.x509.clientCAFile: {STORE}/active/other.crt does not exist"]),
        (ca("../../../../pki/ca.crt"), []),
        ({**CERT, **KEY}, []),
        (CERT, ["tlsPrivateKeyFile is not set, and tlsCertFile is"]),
        (KEY, ["tlsCertFile is not set, and tlsPrivateKeyFile is"]),
        ({**CERT, "enableServer": False}, []),
        ({**CERT, "tlsPrivateKeyFile": "/pki/no.key"}, ["tlsPrivateKeyFile: /pki/no.key does not exist"]),
        ({"staticPodPath": "/pki/manifests"}, []),
        ({"staticPodPath": "/none/manifests"}, ["staticPodPath: the folder /none of /none/manifests does not exist"]),
        ({"staticPodPath": "manifests"}, []),
        ({RUNTIME: "unix:///run/cri.sock"}, []),
        ({RUNTIME: "/run/cri.sock"}, []),
        ({RUNTIME: "unix:///run/none.sock"}, [f"{RUNTIME}: /run/none.sock does not exist"]),
        ({RUNTIME: "unix:///run/file"}, [f"{RUNTIME}: /run/file is not a socket"]),
        ({RUNTIME: "tcp://127.0.0.1:1"}, []),
        ({"imageServiceEndpoint": "unix:///run/none.sock"}, ["imageServiceEndpoint: /run/none.sock does not exist"]),
    ],
)
@pytest.mark.fault(case=41)
def test_what_the_config_names_and_the_node_lacks(config: dict[str, t.Any], reasons: list[str], root: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "run/cri.sock"))
        found = named_files.missing(config, STORE, {"ca.crt"}, frozenset(), str(root))
    assert [reason[: len(start)] for reason, start in zip(found, reasons)] == reasons
    assert len(found) == len(reasons), found


def test_a_field_that_the_config_does_not_decide_is_not_checked(root: Path) -> None:
    config = {**ca("/none"), "staticPodPath": "/none/x", RUNTIME: "/none", "tlsCertFile": "/none"}
    hidden = {"authentication.x509.clientCAFile", "staticPodPath", RUNTIME, "tlsCertFile"}
    assert named_files.missing(config, STORE, set(), hidden, str(root)) == []


def test_a_config_of_other_types_is_left_to_the_binary(root: Path) -> None:
    config = {"authentication": {"x509": None}, "staticPodPath": 7, RUNTIME: ["x"], "tlsCertFile": None}
    assert named_files.missing(config, STORE, set(), frozenset(), str(root)) == []
