"""Settings of the connections between the stand-in and its drivers."""

from __future__ import annotations

import os
import socket
from multiprocessing.connection import Connection


def send_at_once(connection: Connection) -> None:
    """Make the kernel send messages without delay. It would hold back a message until the previous
    one is acknowledged, which takes 40 milliseconds: if two follow each other, and within each
    message of more than 16 KB."""
    with socket.socket(fileno=os.dup(connection.fileno())) as same:
        same.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
