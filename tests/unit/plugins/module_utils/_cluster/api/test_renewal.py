# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Credentials that a kubeconfig or a pod gets from plugins and files, and their renewal."""

from __future__ import annotations

import datetime
import json
import traceback
import types
import typing as t
from pathlib import Path

import pytest
from kubernetes.config import incluster_config

from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api import (
    client_configuration,
    kubelet_endpoint,
    parallel,
    session,
)
from ansible_collections.livenodes.kubelet.plugins.module_utils._cluster.api.errors import ApiError, ClusterError
from tests.sim.api.direct import Clock
from tests.sim.api.listener import Connection
from tests.sim.tls import Certificates
from tests.support.api.calls import NODES
from tests.support.api.server import Seen, Server, here

pytestmark = pytest.mark.usefixtures("bare_environment", "clock")


class Plugin:
    """An exec plugin whose nth call returns the token n, valid for `seconds` by the clock of this machine."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.command = folder / "plugin"

    def user(self, seconds: int) -> dict[str, t.Any]:
        """Return the user of a kubeconfig with this plugin."""
        expires = datetime.datetime.now(datetime.UTC) + datetime.timedelta(seconds=seconds)
        self.command.write_text(f"""#!/bin/sh
echo x >> {self.folder}/count
sleep 0.1
echo '{{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential",
"status": {{"token": "'$(wc -l < {self.folder}/count)'", "expirationTimestamp": "{expires:%Y-%m-%dT%H:%M:%SZ}"}}}}'
""")
        self.command.chmod(0o755)
        api = "client.authentication.k8s.io/v1"
        return {"exec": {"apiVersion": api, "command": str(self.command), "interactiveMode": "Never"}}

    @property
    def calls(self) -> int:
        """Return how often it was called."""
        return len((self.folder / "count").read_text().splitlines())


def tokens(server: Server) -> list[str]:
    return [seen.headers["authorization"] for seen in server.seen]


class Accepting(Server):
    """Accepts tokens that are numbers from `lowest` on."""

    lowest = 1

    def _serve(self, client: Connection, body: bytes) -> None:
        token = client.headers["Authorization"]
        self.seen.append(Seen(client.command, client.path, {"authorization": token}, body))
        client.reply(200 if int(token.split()[-1]) >= self.lowest else 401, b"{}")


@pytest.mark.fault(case=63)
def test_a_token_of_an_exec_plugin_is_renewed_when_it_is_refused(tmp_path: Path, clock: Clock) -> None:
    """Also where an option overrides a part of the kubeconfig, and whatever the clock of this machine shows."""
    plugin = Plugin(tmp_path)
    with Accepting() as server:
        api = session.Session({"kubeconfig": here("http://127.0.0.1:1", **plugin.user(-60)), "host": server.url})
        api.request("GET", NODES)
        server.lowest = 2
        for _turn in range(3):
            clock.sleep(client_configuration.RENEWAL)
            api.request("GET", NODES)
    assert tokens(server) == ["Bearer 1", "Bearer 1", "Bearer 2", "Bearer 2", "Bearer 2"]


@pytest.mark.fault(case=63)
def test_many_requests_at_once_renew_a_token_once(tmp_path: Path) -> None:
    """A plugin may ask a person, or a service that limits its callers."""
    plugin = Plugin(tmp_path)
    with Accepting() as server:
        server.lowest = 2
        api = session.Session({"kubeconfig": here(server.url, **plugin.user(3600))})
        parallel.each(range(32), lambda _item: api.request("GET", NODES), 8)
        assert plugin.calls == 2
        server.lowest = 4
        for _turn in range(3):
            with pytest.raises(ClusterError, match=rf"that the plugin {plugin.command} gave for the user u .*log in"):
                api.request("GET", NODES)
    assert plugin.calls == 2, "it had just renewed it"


def test_a_plugin_that_fails_later_is_the_cause(tmp_path: Path, clock: Clock) -> None:
    plugin = Plugin(tmp_path)
    with Accepting() as server:
        api = session.Session({"kubeconfig": here(server.url, **plugin.user(3600))})
        plugin.command.unlink()
        api.request("GET", NODES)
        server.lowest = 2
        with pytest.raises(ApiError, match=r"\(401\).*could not be renewed: .* the plugin .*No such file") as caught:
            api.request("GET", NODES, budget=0)
        assert (caught.value.status, caught.value.transient) == (401, True)
        # The service that it asks may be busy for a moment.
        plugin.user(3600)
        clock.sleep(client_configuration.RENEWAL)
        api.request("GET", NODES)


def test_the_credentials_of_kubelets_are_renewed_with_those_of_the_api_server(tmp_path: Path) -> None:
    plugin = Plugin(tmp_path)
    with Accepting() as kubelet:
        api = session.Session({"kubeconfig": here("http://127.0.0.1:1", **plugin.user(3600))})
        direct = api.at(kubelet.url, "n1", None)
        kubelet.lowest = 2
        with pytest.raises(ApiError):
            direct.request("GET", "/configz")
        assert plugin.calls == 1
        assert api.renewed_since(direct)
        again = api.at(kubelet.url, "n1", None)
        again.request("GET", "/configz")
        assert not api.renewed_since(again)
    assert plugin.calls == 2 and tokens(kubelet) == ["Bearer 1", "Bearer 2"]


class Lender:
    """A session with an API server that lends two kubelet sessions their credentials: first old ones."""

    def __init__(self, others: bool) -> None:
        self.seen: dict[str, t.Any] = {}
        self.others, self._made = others, iter(("old", "new"))

    def request(self, _method: str, _path: str) -> t.Any:
        """Return the Node."""
        return {"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}}

    def at(self, host: str, _name: str, _ca_cert: str | None) -> t.Any:
        """Return a session."""
        return types.SimpleNamespace(host=host, credentials=next(self._made))

    def renewed_since(self, made: t.Any) -> bool:
        """Return whether there are others than those that were refused."""
        assert made.credentials == "old"
        return self.others


@pytest.mark.parametrize("others", [True, False])
def test_a_kubelet_that_refuses_credentials_is_asked_once_more_with_others(others: bool) -> None:
    def question(client: t.Any) -> str:
        if client.credentials == "old":
            raise ApiError(401, "Unauthorized")
        return "live"

    kubelets = kubelet_endpoint.DirectClients(t.cast("t.Any", Lender(others)), None)
    if others:
        assert kubelets.ask("n1", question) == "live"
        return
    with pytest.raises(ApiError, match=r"10\.0\.0\.1"):
        kubelets.ask("n1", question)


@pytest.mark.parametrize(
    "ask",
    [
        pytest.param(lambda api: api.with_token("5").request("GET", NODES), id="of an account"),
        pytest.param(lambda api: api.request("GET", f"{NODES}/n1/proxy/configz"), id="of the API server at a kubelet"),
    ],
)
def test_credentials_that_are_not_those_of_the_user_are_not_renewed(
    tmp_path: Path, ask: t.Callable[[session.Session], t.Any]
) -> None:
    """Else the user would answer for another one, or a plugin would run for what it cannot mend."""
    plugin = Plugin(tmp_path)
    with Accepting() as server:
        api = session.Session({"kubeconfig": here(server.url, **plugin.user(3600))})
        server.lowest = 9
        with pytest.raises(ApiError):
            ask(api)
    assert (len(server.seen), plugin.calls) == (1, 1)


def test_a_client_certificate_is_read_again(tmp_path: Path) -> None:
    """Its file keeps its name. A token that was given stays the same."""
    kubeconfig = Certificates(tmp_path).kubeconfig(tmp_path / "kubeconfig", "https://127.0.0.1:1", "u")
    for options, is_other in (({"kubeconfig": str(kubeconfig)}, True), ({"host": "h", "api_key": "1"}, False)):
        fresh = client_configuration.Renewal(options).other_than(client_configuration.of(options))
        assert (fresh is not None) == is_other


def of_plugin(status: str, version: str = "v1") -> str:
    """Return a shell command that prints an ExecCredential."""
    api = f"client.authentication.k8s.io/{version}"
    return f"""echo '{{"apiVersion": "{api}", "kind": "ExecCredential", "status": {status}}}'"""


@pytest.mark.parametrize(
    ("script", "cause"),
    [
        ("", "No such file or directory"),
        ("echo 'run aws sso login' >&2; exit 7", "process returned 7. run aws sso login"),
        ("echo 'Welcome, token secret-7'", "failed to decode process output"),
        ("echo '{}'", "malformed response. missing key"),
        (of_plugin("{}"), "missing token or clientCertificateData"),
        (of_plugin("null"), "NoneType"),
        (of_plugin('{"token": "secret-7"}', "v1beta1"), "v1beta1 does not match"),
    ],
)
@pytest.mark.parametrize("given", ["mapping", "file"])
def test_a_plugin_that_gives_nothing(
    script: str, cause: str, given: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The library only logs it, and the API server refused a request without a token."""
    plugin = Plugin(tmp_path)
    config = here("http://127.0.0.1:1", **plugin.user(60))
    plugin.command.write_text(f"#!/bin/sh\n{script}\n")
    if not script:
        plugin.command.unlink()
    path = tmp_path / "some.conf"
    path.write_text(json.dumps(config))
    options: dict[str, t.Any] = {"kubeconfig": config if given == "mapping" else str(path)}
    words = rf"^kubeconfig .* the plugin {plugin.command} of its user u gave no credentials: .*{cause}.*execution envi"
    with pytest.raises(ClusterError, match=words) as caught:
        session.Session(options)
    assert "secret" not in "".join(traceback.format_exception(caught.value)) and capfd.readouterr() == ("", "")
    session.Session({**options, "api_key": "given"})


@pytest.mark.parametrize(("user", "name"), [({"exec": {}}, "exec"), ({"auth-provider": {"name": "azure"}}, "azure")])
def test_a_user_without_a_plugin_that_can_be_used(user: dict[str, t.Any], name: str) -> None:
    with pytest.raises(ClusterError, match=f"the plugin {name} of its user u gave no credentials: "):
        session.Session({"kubeconfig": here("http://127.0.0.1:1", **user)})


@pytest.mark.parametrize("kind", ["tokenFile", "pod"])
def test_a_token_in_a_file_is_read_again(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kubelet replaces that of a pod before it expires, and a soak may last longer."""
    token = tmp_path / "token"
    token.write_text("1")
    certificates = Certificates(tmp_path)
    with Accepting(tls=certificates.server()) as server:
        options: dict[str, t.Any] = {"in_cluster": True}
        for name, path in (("TOKEN", token), ("CERT", certificates.authority)):
            monkeypatch.setattr(incluster_config, f"SERVICE_{name}_FILENAME", str(path))
        address = server.url.rpartition("/")[2]
        for name, value in zip(("HOST", "PORT"), address.split(":"), strict=True):
            monkeypatch.setenv(f"KUBERNETES_SERVICE_{name}", value)
        if kind == "tokenFile":
            options = {"kubeconfig": here(server.url, tokenFile=str(token)), "ca_cert": str(certificates.authority)}
        api = session.Session(options)
        api.request("GET", NODES)
        token.write_text("2")
        server.lowest = 2
        api.request("GET", NODES)
        server.lowest = 3
        with pytest.raises(ClusterError, match="of the service account of this pod" if kind == "pod" else "the user u"):
            api.request("GET", NODES)
    assert [word.split()[-1] for word in tokens(server)] == ["1", "1", "2", "2"]
