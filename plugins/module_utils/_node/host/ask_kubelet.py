# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A program that a controller sends to a node: one GET to the kubelet there, over the loopback interface.

It arrives on the standard input of Python together with the request, so that the token is in no file, no list of
processes and no log of the node. Python 3.7, standard library only, imports nothing of the collection.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import signal
import socket
import ssl
import sys
import typing as t
import zlib

# A login may print other lines.
MARK = "livenodes.kubelet answers "
_ADDRESSES = ("127.0.0.1", "::1")
# Bytes of an answer; /stats/summary of a node with 500 pods has about 2 MB.
LARGEST = 1 << 26


def _connected(port: int, seconds: float) -> socket.socket:
    """Return a socket to a port of this host. Raises OSError, that of the first address."""
    try:
        return socket.create_connection((_ADDRESSES[0], port), seconds)
    except OSError as error:
        try:
            return socket.create_connection((_ADDRESSES[1], port), seconds)
        except OSError:
            raise error from None


def _verifying(asked: t.Mapping[str, t.Any]) -> ssl.SSLContext:
    """Return the TLS context of a request. Raises ssl.SSLError if the authorities are not certificates."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if not asked["verify"]:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context
    if asked["authorities"]:
        context.load_verify_locations(cadata=asked["authorities"])
    else:
        context.load_default_certs()
    _trust_own(context, asked["own"])
    return context


def _trust_own(context: ssl.SSLContext, path: str) -> None:
    """Accept the certificate that the kubelet here signed for itself too, if only root can have written it."""
    with contextlib.suppress(OSError, ssl.SSLError):
        found = os.stat(path)
        if found.st_uid in (0, os.geteuid()) and not found.st_mode & 0o022:
            context.load_verify_locations(path)


def answer(asked: t.Mapping[str, t.Any]) -> dict[str, t.Any]:
    """Return what is printed of a request: `packed`, else `error`, and `untrusted` if it is the certificate."""
    try:
        context = _verifying(asked)
    except ssl.SSLError as error:
        return {"error": f"the certificates of its authorities cannot be read: {error}", "untrusted": True}
    try:
        with context.wrap_socket(_connected(asked["port"], asked["seconds"]), server_hostname=asked["name"]) as door:
            connection = http.client.HTTPConnection(asked["name"], asked["port"])
            connection.sock = door
            connection.request("GET", asked["path"], headers={"Authorization": "Bearer " + asked["token"]})
            got = connection.getresponse()
            body = got.read(LARGEST + 1)
    except ssl.SSLCertVerificationError as error:
        return {"error": str(error), "untrusted": True}
    except (OSError, http.client.HTTPException) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    if len(body) > LARGEST:
        return {"error": f"its answer has more than {LARGEST} bytes"}
    # Reading a number of bytes accepts fewer without an error.
    return {"error": "its answer ends early"} if got.length else packed(got.status, body)


def packed(status: int, body: bytes) -> dict[str, t.Any]:
    """Return an answer: /metrics shrinks to a tenth."""
    return {"status": status, "body": base64.b64encode(zlib.compress(body)).decode()}


def main(asked: t.Mapping[str, t.Any]) -> None:
    """Print the answer as one line."""
    try:
        # A server that sends a byte now and then must not keep the login open.
        signal.alarm(int(asked["seconds"]) + 5)
        found = answer(asked)
    # A traceback would show the line with the token.
    except Exception as error:  # pylint: disable=broad-except
        found = {"error": f"the request failed: {type(error).__name__}"}
    sys.stdout.write(f"\n{MARK}{json.dumps(found)}\n")
