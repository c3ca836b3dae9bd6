"""Ranges sent by the source process to the one task that reads them all.

Spark has planned one micro-batch for a whole backlog. Its task requests range after range from the
source process, so that no more of the log is in memory than at any other time. Both authenticate
with a key that Spark sends to the task.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import pickle
import secrets
import shutil
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import AuthenticationError
from multiprocessing.connection import (
    Client,
    Connection,
    Listener,
    answer_challenge,
    deliver_challenge,
)
from pathlib import Path

from pyspark.sql.datasource import InputPartition

from headrace.errors import HeadraceError
from headrace.spark.slice_partition import SlicePartition, driver_command, is_local

log = logging.getLogger(__name__)

_WAITING = 8  # tasks: one is served, the others are attempts and further readers of the micro-batch
_LOGIN_S = 10
"""Seconds in which a client must prove that it has the key."""
_PAUSE_S = 0.1
_DOCUMENTATION_ADDRESS = ("192.0.2.1", 9)
"""An address that no host has (RFC 5737): the route to it shows the address of this host."""


class FeedPartition(InputPartition):
    """All ranges of a micro-batch: the address at which the source process sends them, one by
    one."""

    def __init__(self, address: str | tuple[str, int], key: bytes) -> None:
        self.address, self._key = address, key

    def parts(self) -> Iterator[SlicePartition]:
        """Yield the slices in total order, range by range. Runs in a task. Raises HeadraceError."""
        try:
            with Client(self.address, authkey=self._key) as source:
                while parts := _received(source):
                    yield from parts
                    source.send_bytes(b"next")
        except (AuthenticationError, EOFError, OSError) as error:
            raise HeadraceError(
                "spark.process_lost",
                f"The source process of the query ended unexpectedly ({type(error).__name__})",
                "Start the query again with the same checkpoint: it continues where it stopped.",
                retriable=True,
            ) from error


Parts = Callable[[], Iterator[Sequence[SlicePartition]]]
"""A function that yields the slices of each range in turn, from the first one on at each call."""
_feeds: dict[Path, FeedPartition] = {}
"""The feeds of this process, by journals: Spark may plan a micro-batch several times."""


def feed(journal: Path, parts: Parts) -> FeedPartition:
    """Serve the ranges of a micro-batch from here on, to one task at a time; each gets all. Spark
    makes no other call to this process meanwhile."""
    if journal not in _feeds:
        _feeds[journal] = _serve(parts)
    return _feeds[journal]


def _serve(parts: Parts) -> FeedPartition:
    key = secrets.token_bytes(32)
    listener = Listener(_address(), backlog=_WAITING)
    atexit.register(listener.close)  # before its folder is removed

    def serve() -> None:
        while True:
            try:
                with listener.accept() as client:
                    _log_in(client, key)
                    _give(client, parts())
            except (AuthenticationError, EOFError, OSError):
                # A task that is gone, a client without the key, or too many open files.
                time.sleep(_PAUSE_S)

    threading.Thread(target=serve, name="headrace feed", daemon=True).start()
    address = listener.address
    if isinstance(address, tuple):
        return FeedPartition((_host(), address[1]), key)
    return FeedPartition(address, key)


def _log_in(client: Connection, key: bytes) -> None:
    """Require that a client has the key, and prove to it that this process has it, as
    `Listener.accept` does, but without waiting for ever for a client that sends nothing. Raises
    AuthenticationError, EOFError and OSError."""
    with socket.socket(fileno=os.dup(client.fileno())) as connection:
        _limit_reads(connection, _LOGIN_S)
        deliver_challenge(client, key)
        answer_challenge(client, key)
        _limit_reads(connection, 0)


def _limit_reads(connection: socket.socket, seconds: int) -> None:
    """Let each read of a connection fail after some seconds; 0: never."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("@ll", seconds, 0))


def _give(task: Connection, ranges: Iterator[Sequence[SlicePartition]]) -> None:
    """Send all ranges to one task, which acknowledges each; errors here are raised in the task.
    Raises EOFError and ConnectionError if the task is gone."""
    while True:
        try:
            parts = next(ranges, None)
        except HeadraceError as error:
            task.send_bytes(pickle.dumps(error))
            return
        except Exception as error:
            log.exception("the log cannot be read")
            failure = HeadraceError(
                "spark.query_failed",
                f"The source failed: {error!r}",
                "Its log has the whole trace.",
            )
            task.send_bytes(pickle.dumps(failure))
            return
        if parts is None:
            task.send_bytes(pickle.dumps([]))
            return
        if parts:
            task.send_bytes(pickle.dumps(list(parts)))
            task.recv_bytes()


def _received(source: Connection) -> list[SlicePartition]:
    received = pickle.loads(source.recv_bytes())  # noqa: S301 - of the source process
    if isinstance(received, HeadraceError):
        raise received
    parts: list[SlicePartition] = received
    return parts


def _address() -> str | tuple[str, int]:
    """Return a socket in a folder of this user alone, unless tasks run on other hosts."""
    if not is_local(driver_command()):
        return ("", 0)
    folder = tempfile.mkdtemp(prefix="headrace-feed-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return str(Path(folder) / "ranges")


def _host() -> str:
    """Return the address of this host for executors, as for the driver."""
    for argument in driver_command():
        name, _, value = argument.decode(errors="replace").partition("=")
        if name.removeprefix("-D") == "spark.driver.host" and value:
            return value
    named = os.environ.get("SPARK_LOCAL_IP") or socket.gethostbyname(socket.getfqdn())
    # Debian's /etc/hosts has a loopback address for the name of the host.
    return _outgoing_address() or named if named.startswith("127.") else named


def _outgoing_address() -> str | None:
    """Return the address by which this host reaches others; None: it reaches none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe, contextlib.suppress(OSError):
        probe.connect(_DOCUMENTATION_ADDRESS)  # sends nothing
        return str(probe.getsockname()[0])
    return None
