# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The least that an assignment costs: one merge patch for each node over kept connections, and nothing else.

`python bare.py HOST:PORT CONNECTIONS [AUTHORITY CERTIFICATE KEY]` reads `{"nodes": [...], "source": {...}}` and prints
its seconds. With the three files it uses TLS.
"""

from __future__ import annotations

import concurrent.futures
import http.client
import json
import ssl
import sys
import threading
import time

HERE = threading.local()


def connect(address: str, files: list[str]) -> http.client.HTTPConnection:
    """Open a connection, with the certificates of these files if there are any."""
    if not files:
        return http.client.HTTPConnection(address)
    context = ssl.create_default_context(cafile=files[0])
    context.load_cert_chain(*files[1:])
    return http.client.HTTPSConnection(address, context=context)


def patch(address: str, files: list[str], name: str, body: bytes) -> None:
    """Send one merge patch over the connection of this thread, and decode the answer."""
    if not hasattr(HERE, "connection"):
        HERE.connection = connect(address, files)
    HERE.connection.request("PATCH", f"/api/v1/nodes/{name}", body, {"Content-Type": "application/merge-patch+json"})
    answer = HERE.connection.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{name}: {answer.status} {text.decode()}")
    json.loads(text)


def main() -> None:
    address, connections, files = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    given = json.load(sys.stdin)
    body = json.dumps({"spec": {"configSource": {"configMap": given["source"]}}}).encode()
    began = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(connections) as pool:
        list(pool.map(lambda name: patch(address, files, name, body), given["nodes"]))
    print(time.perf_counter() - began)


if __name__ == "__main__":
    main()
