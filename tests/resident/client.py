"""`python -I -S client.py SOCKET WORD…`: what `Resident` calls `headrace`. It hands its
words, environment, folder and standard streams over, and the signals that it gets; its exit status
is that of the command line."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

_GONE = 70


def main(path: str, *words: str) -> int:
    """The status of the command line."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)

        def pass_on(number: int, _frame: object) -> None:
            connection.send(bytes([number]))

        request = {"words": words, "folder": os.getcwd(), "environment": dict(os.environ)}
        socket.send_fds(connection, [b"."], [0, 1, 2])
        connection.sendall(json.dumps(request).encode() + b"\n")
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, pass_on)
        status = connection.makefile().readline()
    return int(status or _GONE)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
