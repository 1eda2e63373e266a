# Copyright (c) 2026, livenodes.kubelet contributors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""systemctl, busctl, journalctl and systemd-run of a simulated node: hand the words to its stand-in for systemd.

Runs without the site module, so that a call takes 20 ms: `python -I -S client.py ROOT NAME WORD...`.
"""

from __future__ import annotations

import json
import socket
import sys


def main() -> int:
    """Print the answer; return its exit status, 1 without an answer."""
    root, words = sys.argv[1], sys.argv[2:]
    try:
        with open(f"{root}/run/systemd/port", encoding="ascii") as stream:
            port = int(stream.read())
        with socket.create_connection(("127.0.0.1", port)) as connection:
            connection.sendall(json.dumps(words).encode() + b"\n")
            answer = b""
            while part := connection.recv(1 << 16):
                answer += part
        code, output, errors = json.loads(answer)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"Failed to connect to bus: {error}\n")
        return 1
    sys.stdout.buffer.write(output.encode("utf-8", "surrogateescape"))
    sys.stdout.flush()
    sys.stderr.write(errors)
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
