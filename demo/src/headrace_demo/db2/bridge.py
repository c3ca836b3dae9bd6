"""The process between IBM's driver and Apache Derby's server, on the loopback interface.

    python -m headrace_demo.db2.bridge PORT CREATING_PORT ENDING_PORT DERBY_PORT ZONE

The driver connects to PORT; or to CREATING_PORT, where a database that is not there is made; or to
ENDING_PORT, where the database is shut down. ZONE is the time zone of Derby's clock.
"""

from __future__ import annotations

import asyncio
import sys
from datetime import UTC, datetime, tzinfo
from functools import partial
from zoneinfo import ZoneInfo

from headrace_demo.db2.drda import CREATING, ENDING, Replies, Requests, Untranslatable

UTC_NAME = "Etc/UTC"
_HOST = "127.0.0.1"
_AT_ONCE = 1 << 18


async def _pass_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, messages: Requests | Replies
) -> None:
    try:
        while sent := await reader.read(_AT_ONCE):
            writer.write(messages.feed(sent))
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
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    try:
        replies, requests = await asyncio.open_connection(_HOST, derby)
    except ConnectionError:
        writer.close()
        return
    await asyncio.gather(
        _pass_on(reader, requests, Requests(attribute, lambda: _distance(zone))),
        _pass_on(replies, writer, Replies()),
    )


def _distance(zone: tzinfo) -> int:
    """The seconds that the clock of a zone is ahead of UTC now."""
    distance = datetime.now(zone).utcoffset()
    assert distance is not None
    return round(distance.total_seconds())


async def _run(zone: tzinfo, port: int, creating: int, ending: int, derby: int) -> None:
    servers = [
        await asyncio.start_server(partial(_serve, derby, zone, attribute), _HOST, at)
        for at, attribute in ((port, ""), (creating, CREATING), (ending, ENDING))
    ]
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    *ports, name = sys.argv[1:]
    own = UTC if name == UTC_NAME else ZoneInfo(name)  # UTC needs no database of time zones
    asyncio.run(_run(own, *map(int, ports)))
