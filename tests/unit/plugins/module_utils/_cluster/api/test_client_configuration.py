# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sessions from options and kubeconfig, tested with requests to a server on the loopback interface.

Neither a run of Ansible nor a call leaves the keys of a kubeconfig in the folder of temporary files.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import traceback
import typing as t
from pathlib import Path

import pytest

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import client_configuration
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ClusterError
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.session import Session
from tests.lab.console import run
from tests.sim.cluster import Cluster
from tests.support.api.calls import NODES
from tests.support.api.server import Server, here, kubeconfig

pytestmark = pytest.mark.usefixtures("bare_environment", "clock")


@pytest.mark.parametrize(
    ("options", "headers"),
    [
        # Some releases of the library leave it out (kubernetes-client/python issue 2591).
        ({"api_key": "secret"}, {"authorization": "Bearer secret"}),
        ({"username": "Aladdin", "password": "open sesame"}, {"authorization": "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="}),
        (
            {"impersonate_user": "jane", "impersonate_groups": ["ops"]},
            {"impersonate-user": "jane", "impersonate-group": "ops"},
        ),
    ],
)
def test_credentials_are_really_sent(options: dict[str, t.Any], headers: dict[str, str]) -> None:
    """Also to a host with a slash at its end."""
    with Server() as server:
        Session({"host": f"{server.url}/", **options}).request("GET", NODES)
    assert headers.items() <= dict(server.seen[0].headers).items()
    assert server.seen[0].path == NODES


@pytest.mark.parametrize("shape", ["mapping", "path", "KUBECONFIG", "home"])
def test_kubeconfig(shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server() as server:
        config = here(server.url, token="of the file")
        path = tmp_path / (".kube/config" if shape == "home" else "some.conf")
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(config))
        if shape == "KUBECONFIG":
            monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'absent'}:{path}")
        given = {"mapping": config, "path": str(path)}.get(shape)
        api = Session({"kubeconfig": given})
        api.request("GET", NODES)
    assert api.host == server.url
    assert server.seen[0].headers["authorization"] == "Bearer of the file"


def test_context() -> None:
    with Server() as server:
        config = kubeconfig({"here": "http://127.0.0.1:1", "there": server.url}, {})
        assert Session({"kubeconfig": config, "context": "there"}).request("GET", NODES) == {}
        words = r"cannot be used: it has no context nowhere, only .*, there\. Set context or K8S_AUTH_CONTEXT"
        with pytest.raises(ClusterError, match=words):
            Session({"kubeconfig": config, "context": "nowhere"})


@pytest.mark.parametrize(("options", "token"), [({"api_key": "given"}, "given"), ({}, "of the file")])
def test_options_win_over_the_kubeconfig(options: dict[str, str], token: str) -> None:
    """Not only before the first request: the library loads the kubeconfig again with each."""
    with Server() as server:
        config = here("http://127.0.0.1:1", token="of the file")
        api = Session({"kubeconfig": config, "host": server.url, **options})
        assert [api.request("GET", NODES) for _try in range(2)] == [{}, {}]
    assert {seen.headers["authorization"] for seen in server.seen} == {f"Bearer {token}"}


def refused(options: dict[str, t.Any], words: str, at: str = "start") -> None:
    """Check that these options are refused at the start of a session or at a request, without their secrets.

    Those are not shown with -vvv either.
    """
    with pytest.raises(ClusterError, match=words) as raised:
        made = Session(options, first_contact=0)
        if at == "request":
            made.request("GET", NODES)
    assert "secret" not in "".join(traceback.format_exception(raised.value))


UNUSABLE = r"^kubeconfig \S+/some.conf cannot be used: "
TOKENS = [f"users:\n- user:\n    token: {token}\n".encode() for token in ("*secret", "!secret x", "[secret")]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        *((content, "") for content in (b"\x00\x80 not yaml: [", b"", b"[]", b"just words")),
        (b"users: text\nclusters: 5\ncontexts: {}", ""),
        (b"root:x:0:0:root:/root:/bin/bash\n", "it has not the form of a kubeconfig. Name another file$"),
        *((content, r"line [3-4] is not YAML$") for content in TOKENS),
    ],
)
def test_a_file_that_is_no_kubeconfig(content: bytes, words: str, tmp_path: Path) -> None:
    """It is not quoted."""
    path = tmp_path / "some.conf"
    path.write_bytes(content)
    refused({"kubeconfig": str(path)}, UNUSABLE + words)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, r"^kubeconfig \(given as a mapping\)|^no kubeconfig at"),
        *(
            (one, r"^kubeconfig \(given as a mapping\)")
            for one in ({"users": "text"}, {"clusters": [1], "contexts": None})
        ),
        *((one, r"kubeconfig is of type .*path.*mapping") for one in (5, ["a"], True)),
        # What lookup('file') returns is not a path.
        ("users:\n- user: {token: secret-4}\n", r"^kubeconfig is a text, .*path.*from_yaml"),
        ('{"users": [{"user": {"token": "secret-4"}}]}', r"^kubeconfig is a text, .*path.*from_yaml"),
    ],
)
def test_an_option_that_is_no_kubeconfig(given: t.Any, words: str) -> None:
    refused({"kubeconfig": given}, words)


@pytest.mark.parametrize("given", ["api_key", "mapping", "file"])
@pytest.mark.parametrize("token", ["secret-1\n", "secret-1\r\nX-Other: 1", "secret-1\u2026"])
def test_a_token_that_no_header_can_have_is_not_quoted(given: str, token: str, tmp_path: Path) -> None:
    """A text block of YAML or of Ansible Vault ends with a line break. http.client quotes the whole header."""
    with Server() as server:
        config = here(server.url, token=token)
        (tmp_path / "some.conf").write_text(json.dumps(config))
        options = {
            "api_key": {"host": server.url, "api_key": token},
            "mapping": {"kubeconfig": config},
            "file": {"kubeconfig": str(tmp_path / "some.conf")},
        }
        refused(options[given], r"no HTTP header can have, such as a line break", at="request")
    assert not server.seen


@pytest.mark.parametrize("address", ["socks5://u:secret-2@h:1", "socks4a://u:secret-2@h:1"])
def test_a_proxy_of_socks_without_its_package(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An execution environment does not have it."""
    monkeypatch.setitem(sys.modules, "urllib3.contrib.socks", None)
    refused({"host": "https://127.0.0.1:1", "proxy": address}, r"the proxy .*(PySocks.*|is not a URL .*)http://")


@pytest.mark.parametrize("address", ["http://u:secret-2/x@127.0.0.1:1", "http://u:secret-2@[::1", "u:secret-2@h:1"])
@pytest.mark.parametrize("given", ["option", "kubeconfig", "HTTPS_PROXY"])
def test_a_proxy_that_is_no_url_is_not_quoted(address: str, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first has a slash in its password, which urllib3 takes for the port."""
    config = here("https://127.0.0.1:1", token="t")
    options: dict[str, t.Any] = {"kubeconfig": config}
    if given == "option":
        options["proxy"] = address
    elif given == "kubeconfig":
        config["clusters"][0]["cluster"]["proxy-url"] = address
    else:
        monkeypatch.setenv(given, address)
    if client_configuration.of(options).proxy is None:
        pytest.skip("this release of the package kubernetes does not read it")
    refused(options, r"the proxy .* is not a URL .*%XX")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"in_cluster": True}, "in-cluster credentials cannot be used"),
        *(
            ({"host": "https://127.0.0.1:1", option: "/nowhere"}, f"{option}: there is no file /nowhere")
            for option in ("ca_cert", "client_cert", "client_key")
        ),
        ({"host": "http://h", "impersonate_groups": ["ops", "dev"]}, "impersonate_groups has 2 groups, .* only one"),
        ({"kubeconfig": "/nowhere/absent"}, r"no kubeconfig at /nowhere/absent: .*K8S_AUTH_KUBECONFIG"),
        ({}, r"no kubeconfig at \S+/.kube/config"),
    ],
)
def test_options_that_lead_nowhere(options: dict[str, t.Any], words: str) -> None:
    refused(options, words)


def test_the_login_in_an_address_is_not_shown() -> None:
    options = {"host": "http://u:secret-5@127.0.0.1:1"}
    assert "secret" not in Session(options).host
    refused(options, r"API server http://\*+@127\.0\.0\.1:1: ", at="request")


def test_connection_settings_reach_the_library() -> None:
    headers = {"proxy_basic_auth": "a:b", "basic_auth": None, "user_agent": None}
    given = {"validate_certs": False, "proxy": "http://p:3128", "no_proxy": "other", "proxy_headers": headers}
    made = client_configuration.of({"host": "http://h", **given})
    assert (made.verify_ssl, made.proxy, made.no_proxy) == (False, "http://p:3128", "other")
    assert made.proxy_headers == {"proxy-authorization": "Basic YTpi"}
    assert Session({"host": "http://h"}).concurrency == 8
    assert Session({"host": "http://h", "concurrency": 3}).concurrency == 3


@pytest.fixture(scope="module")
def cluster() -> t.Iterator[Cluster]:
    with Cluster("v1.36.2") as made:
        made.simulate("n1")
        yield made


@pytest.fixture
def with_keys(cluster: Cluster, tmp_path: Path) -> Path:
    """A kubeconfig that contains a client certificate and its key."""
    return cluster.kubeconfig(tmp_path / "kubeconfig", "admin", "system:masters")


@pytest.fixture
def folder() -> t.Iterator[Path]:
    """A folder of temporary files, with a short name: Ansible makes sockets in it."""
    with tempfile.TemporaryDirectory(prefix="k") as place:
        yield Path(place)


def test_a_run_of_ansible_leaves_none(with_keys: Path, folder: Path) -> None:
    """The module runs in a worker of Ansible, which ends without the end of Python."""
    words = ("localhost", "-m", "livenodes.kubelet.kubelet_configz_facts", "-a", json.dumps({"nodes": ["n1"]}))
    run("ansible", *words, env={"TMPDIR": str(folder), "K8S_AUTH_KUBECONFIG": str(with_keys)})
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_files_of_the_calls_before_stay(with_keys: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(folder))

    def nodes() -> int:
        return len(Session({"kubeconfig": str(with_keys)}).request("GET", "/api/v1/nodes")["items"])

    for _turn in (1, 2):
        with client_configuration.files_removed():
            assert nodes() == 1 and len(os.listdir(folder)) == 3
        assert os.listdir(folder) == []
    assert nodes() == 1
    with client_configuration.files_removed():
        assert nodes() == 1
    assert len(os.listdir(folder)) == 3
