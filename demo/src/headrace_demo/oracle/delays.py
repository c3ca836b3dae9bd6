"""Messages between the stand-in and its drivers."""

from __future__ import annotations

import os
import socket
from multiprocessing.connection import Connection


def send_at_once(connection: Connection) -> None:
    """The kernel keeps back no message until the one before is acknowledged, which takes it 40
    milliseconds: where two follow each other, and within each of more than 16 KB."""
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        same.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
