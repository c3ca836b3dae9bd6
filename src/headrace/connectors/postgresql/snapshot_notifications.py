"""What is told of the initial snapshot: decided with the chunks, and written by their tasks."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg import sql

from headrace.connect.kernels.memory import address_of
from headrace.connect.records import Records, group_by_shape
from headrace.connect.rows import RowTable
from headrace.connectors.postgresql.config import PostgresConfig
from headrace.connectors.postgresql.inserts import notification_block, transaction_of
from headrace.connectors.postgresql.reading.chunks import Chunk
from headrace.signals.notifications import INITIAL, Notification, write_to_log
from headrace.signals.progress import Insert
from headrace.streaming.facts import EventSettings, shape_of


def tell(
    config: PostgresConfig, names: Sequence[str], chunks: Sequence[Chunk], *, begins: bool
) -> tuple[dict[str, Any], ...]:
    """The notifications of a range of chunks, each with the number of its chunk in the range and
    whether it comes `behind` it. `names` are all tables; `begins`: the snapshot does here."""
    if not config.notification_enabled_channels:
        return ()
    listed = ",".join(names)
    told: list[dict[str, Any]] = []

    def say(number: int, behind: bool, kind: str, **data: str) -> None:
        more = {"connector_name": config.topic_prefix, **data}
        now = time.time_ns() // 1_000_000
        found = Notification(str(uuid.uuid4()), kind, INITIAL, more, now)
        if "log" in config.notification_enabled_channels:
            write_to_log(found)
        told.append({"chunk": number, "behind": behind, "notification": found.to_json()})

    for number, chunk in enumerate(chunks):
        name = names[chunk.table]
        if chunk.first:
            if begins and number == 0:
                say(number, False, "STARTED")
            say(
                number,
                False,
                "IN_PROGRESS",
                current_collection_in_progress=name,
                data_collections=listed,
            )
        if chunk.last:
            say(
                number,
                True,
                "TABLE_SCAN_COMPLETED",
                scanned_collection=name,
                data_collections=listed,
                status="SUCCEEDED",
            )
            if chunk.last == "run":
                say(number, True, "COMPLETED")
    return tuple(told) if "sink" in config.notification_enabled_channels else ()


@dataclass(frozen=True)
class Told:
    """The notifications around one chunk; `count` is the query of the table's rows, which is run
    when the chunk is not all of the table."""

    topic: str
    before: tuple[dict[str, Any], ...] = ()
    behind: tuple[dict[str, Any], ...] = ()
    count: str | None = None

    def scanned(self, connection: psycopg.Connection, rows: int) -> int:
        """How many rows the table has in this snapshot; `rows` came in this chunk."""
        if self.count is None or not self.behind:
            return rows
        try:
            with connection.transaction():
                row = connection.execute(self.count.encode()).fetchone()
        except (psycopg.DataError, psycopg.ProgrammingError):
            return rows  # a signal's filter fails on a row
        return rows if row is None else int(row[0])


def count_statement(leaves: Sequence[tuple[str, str]], condition: str | None) -> sql.Composed:
    """Rows of these tables."""
    where = sql.SQL("") if condition is None else sql.SQL(" WHERE {}").format(sql.SQL(condition))
    counts = [
        sql.SQL("(SELECT count(*) FROM ONLY {}{})").format(sql.Identifier(*leaf), where)
        for leaf in leaves
    ]
    return sql.SQL("SELECT {}").format(sql.SQL(" + ").join(counts))


def records_of(
    told: Sequence[dict[str, Any]],
    topic: str,
    place: tuple[int, int, int, int],
    scanned: int,
    settings: EventSettings,
) -> Iterator[list[Records]]:
    """A piece per notification at `place`: position, kind, ordinal, first part."""
    position, kind, ordinal, part = place
    for number, found in enumerate(told):
        data = dict(found["additional_data"])
        if found["type"] == "TABLE_SCAN_COMPLETED":
            data["total_rows_scanned"] = str(scanned)
        insert = Insert(
            (position, kind, ordinal, part + number),
            position,
            None,
            found["timestamp"] * 1000,
            notification={**found, "additional_data": data},
        )
        block = notification_block(insert, topic)
        rows = block.rows.copy()
        rows["new"] = address_of(block.images)
        table = RowTable(rows, transaction_of(insert), (block.images,))
        yield group_by_shape(table, {0: shape_of(block.facts, settings)})
