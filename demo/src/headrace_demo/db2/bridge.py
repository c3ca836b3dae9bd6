"""The process between IBM's driver and Apache Derby's server, on the loopback interface.

    python -m headrace_demo.db2.bridge PORT CREATING_PORT ENDING_PORT DERBY_PORT ZONE

The driver connects to PORT; or to CREATING_PORT, which creates a database that does not exist; or
to ENDING_PORT, which shuts the database down. ZONE is the time zone of Derby's clock.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from datetime import UTC, datetime, tzinfo
from functools import partial
from zoneinfo import ZoneInfo

from headrace_demo.db2.drda import CREATING, ENDING, Replies, Requests, Untranslatable

UTC_NAME = "Etc/UTC"
_HOST = "127.0.0.1"
_AT_ONCE = 1 << 18


class _Connections:
    """The open connections of drivers, with the database that each uses."""

    def __init__(self) -> None:
        self._writers_of: dict[Requests, tuple[asyncio.StreamWriter, ...]] = {}

    def add(self, requests: Requests, *writers: asyncio.StreamWriter) -> None:
        self._writers_of[requests] = writers

    def remove(self, requests: Requests) -> None:
        self._writers_of.pop(requests, None)

    def close_others(self, requests: Requests) -> None:
        """Closes the other connections to the same database, like a Db2 that shuts down: Derby ends
        a database during a statement, and the driver would report a protocol error."""
        if requests.database is None:
            return
        for other, writers in list(self._writers_of.items()):
            if other is not requests and other.database == requests.database:
                for writer in writers:
                    writer.transport.abort()


async def _pass_on(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    messages: Requests | Replies,
    before_sending: Callable[[], None] | None = None,
) -> None:
    try:
        while sent := await reader.read(_AT_ONCE):
            translated = messages.feed(sent)
            if before_sending is not None:
                before_sending()
            writer.write(translated)
            await writer.drain()
    except ConnectionError:
        pass
    except Untranslatable as error:
        print(f"A connection is closed, which sends {error}", flush=True)  # noqa: T201 - its log
    finally:
        writer.close()


async def _serve(
    derby: int,
    zone: tzinfo,
    attribute: str,
    connections: _Connections,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    try:
        derby_reader, derby_writer = await asyncio.open_connection(_HOST, derby)
    except ConnectionError:
        writer.close()
        return
    requests = Requests(attribute, lambda: _distance(zone))
    connections.add(requests, writer, derby_writer)
    is_ending = attribute == ENDING
    end_others = partial(connections.close_others, requests) if is_ending else None
    try:
        await asyncio.gather(
            _pass_on(reader, derby_writer, requests, end_others),
            _pass_on(derby_reader, writer, Replies()),
        )
    finally:
        connections.remove(requests)


def _distance(zone: tzinfo) -> int:
    """The current offset of a zone from UTC in seconds."""
    distance = datetime.now(zone).utcoffset()
    assert distance is not None
    return round(distance.total_seconds())


async def _run(zone: tzinfo, port: int, creating: int, ending: int, derby: int) -> None:
    connections = _Connections()
    servers = [
        await asyncio.start_server(partial(_serve, derby, zone, attribute, connections), _HOST, at)
        for at, attribute in ((port, ""), (creating, CREATING), (ending, ENDING))
    ]
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    *ports, name = sys.argv[1:]
    zone = UTC if name == UTC_NAME else ZoneInfo(name)  # UTC needs no time zone database
    asyncio.run(_run(zone, *map(int, ports)))
