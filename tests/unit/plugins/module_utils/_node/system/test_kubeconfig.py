# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Node's name and the errors of a kubeconfig."""

from __future__ import annotations

import socket
import typing as t
from pathlib import Path

import pytest
import yaml

from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.connection import ApiError, Identity
from ansible_collections.livenodes.kubelet.plugins.module_utils._node.system.kubeconfig import Kubeconfig
from tests.support.api.server import kubeconfig


def conf(folder: Path, user: t.Any, **cluster: t.Any) -> str:
    document = kubeconfig({"c": "https://127.0.0.1:9"}, user)
    document["clusters"][0]["cluster"].update(cluster)
    (folder / "kubelet.conf").write_text(yaml.safe_dump(document))
    return str(folder / "kubelet.conf")


def test_no_answer_and_no_usable_kubeconfig_are_errors_of_one_kind(tmp_path: Path) -> None:
    with pytest.raises(ApiError, match=r"GET https://127\.0\.0\.1:9/"):
        Kubeconfig(conf(tmp_path, {})).call("GET", "/")
    with pytest.raises(ApiError, match="auth-provider"):
        Kubeconfig(conf(tmp_path, {"auth-provider": "x"}))
    with pytest.raises(ApiError, match="FileNotFoundError"):
        Kubeconfig(str(tmp_path / "none"))
    with pytest.raises(ApiError, match="plugin aws-iam-authenticator is not installed"):
        Kubeconfig(conf(tmp_path, {"exec": {"command": "aws-iam-authenticator"}})).call("GET", "/")


class Answered:
    """A connection, and its answer with status 200."""

    status = 200
    sock: t.Any = None

    def __init__(self, body: bytes) -> None:
        self.body = body

    def request(self, *_words: t.Any) -> None:
        """Send nothing."""

    def getresponse(self) -> Answered:
        return self

    def read(self) -> bytes:
        return self.body

    def close(self) -> None:
        """Close nothing."""


@pytest.mark.usefixtures("no_garbage")
@pytest.mark.parametrize("body", [b"<html>Log in first</html>", b"[" * 200_000], ids=["html", "deep"])
def test_an_answer_that_is_not_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: bytes) -> None:
    """As that of a proxy. The guard and the preflight know no other error than ApiError."""
    monkeypatch.setattr(Kubeconfig, "_connect", lambda _self, _identity: Answered(body))
    api = Kubeconfig(conf(tmp_path, {}))
    with pytest.raises(ApiError, match=r"GET https://127\.0\.0\.1:9/x: the answer is not JSON") as caught:
        api.call("GET", "/x")
    assert caught.value.status == 200
    monkeypatch.setattr(Kubeconfig, "_connect", lambda _self, _identity: Answered(b'{"a": 1}'))
    assert api.call("GET", "/x") == {"a": 1}


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        ({"server": {}}, {}),
        ({"server": "https://[::1"}, {}),
        ({"proxy-url": ["http://p"]}, {}),
        ({"certificate-authority-data": {"a": 1}}, {}),
        ({}, "token"),
        ({}, 5),
        ({}, {"exec": "plugin"}),
        ({}, {"exec": {"command": "plugin", "env": {"a": "b"}}}),
        ({}, {"client-certificate-data": "YQ==", "client-key-data": 1}),
    ],
)
def test_values_of_another_type(tmp_path: Path, cluster: t.Any, user: t.Any) -> None:
    path = conf(tmp_path, user, **cluster)
    for ask in (lambda api: api.call("GET", "/x"), lambda api: list(api.lines("/x", 150))):
        with pytest.raises(ApiError, match=r"kubelet\.conf|/x"):
            ask(Kubeconfig(path))


@pytest.mark.parametrize("token", ["*secret", "!secret", '"secret', "yes: secret", "{secret", '"\\secret"'])
def test_a_token_that_this_reader_does_not_understand_is_not_quoted(token: str, tmp_path: Path) -> None:
    """The message reaches the reasons of a preflight and the log of the guard."""
    (tmp_path / "kubelet.conf").write_text(f"users:\n- name: u\n  user:\n    token: {token}\n")
    with pytest.raises(ApiError, match=r"kubelet\.conf: line [45]: the |a ") as raised:
        Kubeconfig(str(tmp_path / "kubelet.conf"))
    assert "secret" not in str(raised.value)


class Watched(Answered):
    """A connection that answers a watch with these lines, each of which may be an exception."""

    def __init__(self, status: int, *lines: t.Any, closes: bool = False) -> None:
        super().__init__(b"refused")
        self.status, self.lines, self.closes = status, [*lines, b""], closes
        self.sock = self
        self.quiet = 0.0
        self.set: dict[tuple[int, int], int] = {}

    def settimeout(self, seconds: float) -> None:
        """Note how long a silence may last."""
        self.quiet = seconds

    def setsockopt(self, level: int, option: int, value: int) -> None:
        """Note what the kernel does about a server that is silent."""
        self.set[level, option] = value

    def getresponse(self) -> Watched:
        if self.closes:
            # As http.client does: the answer has the connection from now on.
            self.sock = None
        return self

    def readline(self) -> bytes:
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        return t.cast("bytes", line)


def watched(folder: Path, monkeypatch: pytest.MonkeyPatch, *answers: Watched) -> t.Iterator[bytes]:
    """Return the lines of a watch of a kubelet with two credentials, the second of which is tried after a 401."""
    left = list(answers)
    monkeypatch.setattr(Kubeconfig, "_connect", lambda *_words: left.pop(0))
    monkeypatch.setattr(Kubeconfig, "identities", lambda _self: [Identity(token="old"), Identity(token="new")])
    return Kubeconfig(conf(folder, {"token": "x"})).lines("/watch", 150)


def test_the_lines_of_a_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = Watched(200, b"one", b"two")
    assert list(watched(tmp_path, monkeypatch, Watched(401), answer)) == [b"one", b"two"]
    assert answer.quiet == 150
    assert answer.set[socket.SOL_SOCKET, socket.SO_KEEPALIVE] == 1
    options = (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
    idle, between, probes = (answer.set[socket.IPPROTO_TCP, option] for option in options)
    assert idle + between * probes <= 120


def test_a_watch_on_a_connection_that_is_closed_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As that of a server that stops (`Connection: close`), or of a proxy with HTTP/1.0."""
    answer = Watched(200, b"one", closes=True)
    assert list(watched(tmp_path, monkeypatch, answer)) == [b"one"]
    assert answer.quiet == 150


@pytest.mark.parametrize(
    ("answers", "seen", "words"),
    [
        ([Watched(200, b"one", TimeoutError("timed out"))], [b"one"], "timed out"),
        ([Watched(403)], [], "403 refused"),
        ([Watched(401), Watched(401)], [], "401 refused"),
    ],
)
def test_a_watch_that_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answers: list[Watched], seen: list[bytes], words: str
) -> None:
    found = []
    with pytest.raises(ApiError, match=words):
        found.extend(watched(tmp_path, monkeypatch, *answers))
    assert found == seen


# As nodeadm and the earlier bootstrap script of EKS write it.
EKS = """---
apiVersion: v1
kind: Config
clusters:
  - name: kubernetes
    cluster:
      certificate-authority: /etc/kubernetes/pki/ca.crt
      server: https://ABCDEF.gr7.eu-west-1.eks.amazonaws.com
current-context: kubelet
contexts:
  - name: kubelet
    context:
      cluster: kubernetes
      user: kubelet
users:
  - name: kubelet
    user:
      exec:
        apiVersion: client.authentication.k8s.io/v1beta1
        command: aws-iam-authenticator
        args:
          - token
          - -i
          - "my-cluster"
          - --region
          - "eu-west-1"
        env:
          - name: AWS_STS_REGIONAL_ENDPOINTS
            value: regional
"""


def test_the_kubeconfig_of_a_node_of_eks(tmp_path: Path) -> None:
    (tmp_path / "kubeconfig").write_text(EKS)
    api = Kubeconfig(str(tmp_path / "kubeconfig"))
    assert api.server == "https://ABCDEF.gr7.eu-west-1.eks.amazonaws.com"
    assert api.user["exec"]["args"] == ["token", "-i", "my-cluster", "--region", "eu-west-1"]
    with pytest.raises(ApiError, match="plugin aws-iam-authenticator is not installed"):
        api.call("GET", "/")
